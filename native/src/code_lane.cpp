#include "code_lane.h"

#include <cstring>

#include "kernels/cache_layout.h"
#include "kernels/kernels.h"

namespace kvq {
namespace {

void copy_scales(int bits, const LaneFrom& from, const LaneTo& to) {
  to.scales[to.lane] = from.scales[from.lane];
  if (bits == 8) to.scales[kBlockTokens + to.lane] = from.scales[kBlockTokens + from.lane];
}

// Which bits of which vector hold a quad of tokens' codes for a group of 16 dimensions.
struct Field {
  int vector, shift;
};
Field field(int group, int lane, int width, int packed) {
  const int j = 4 * group + lane / 4;
  return {j % packed, j / packed * width};
}

void copy_value_plane(int dim, int width, const uint8_t* from, int from_lane, uint8_t* to,
                      int to_lane) {
  const int packed = dim / 4 * width / 8, mask = (1 << width) - 1;
  for (int g = 0; g < dim / 16; ++g) {
    const Field a = field(g, from_lane, width, packed), b = field(g, to_lane, width, packed);
    const uint8_t* source = from + 64 * a.vector + from_lane % 4;
    uint8_t* target = to + 64 * b.vector + to_lane % 4;
    for (int d = 0; d < 16; ++d) {
      const int code = source[4 * d] >> a.shift & mask;
      target[4 * d] = static_cast<uint8_t>((target[4 * d] & ~(mask << b.shift)) | code << b.shift);
    }
  }
}

}  // namespace

void copy_key_lane(int dim, int bits, const LaneFrom& from, const LaneTo& to) {
  // Whatever is packed into a byte belongs to one token: four bytes of a vector, or a half.
  const size_t step = bits == 16 ? 2 * kBlockTokens : 64, size = step / kBlockTokens;
  const size_t source = size * static_cast<size_t>(from.lane);
  const size_t target = size * static_cast<size_t>(to.lane);
  for (size_t at = 0; at < code_bytes(dim, bits); at += step) {
    std::memcpy(to.codes + at + target, from.codes + at + source, size);
  }
  if (bits != 16) copy_scales(bits, from, to);
}

void copy_value_lane(int dim, int bits, const LaneFrom& from, const LaneTo& to) {
  if (bits == 16) {
    std::memcpy(to.codes + 2 * dim * to.lane, from.codes + 2 * dim * from.lane,
                static_cast<size_t>(2 * dim));
    return;
  }
  const int width = plane_width(bits);
  copy_value_plane(dim, width, from.codes, from.lane, to.codes, to.lane);
  if (bits == 3) {
    copy_value_plane(dim, 1, from.codes + 4 * dim, from.lane, to.codes + 4 * dim, to.lane);
  }
  copy_scales(bits, from, to);
}

}  // namespace kvq
