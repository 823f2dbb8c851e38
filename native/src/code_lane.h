// Copies one token's codes and scales from a lane of a block to a lane of another, bit for bit.
#pragma once

#include <cstdint>

namespace kvq {

// One block of keys or of values (see kernels/cache_layout.h).
struct LaneFrom {
  const uint8_t* codes;
  const uint8_t* scales;  // unused at 16 bits
  int lane;
};
struct LaneTo {
  uint8_t* codes;
  uint8_t* scales;
  int lane;
};

// bits: 2, 3, 4, 8 or 16. The other lanes stay as they are.
void copy_key_lane(int dim, int bits, const LaneFrom& from, const LaneTo& to);
void copy_value_lane(int dim, int bits, const LaneFrom& from, const LaneTo& to);

}  // namespace kvq
