// Weight matrices in the one layout that every instruction set reads: tiles of 16 rows, interleaved
// so that one vector load brings the same 4 columns of 16 (or 8, or 4) rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dequant.h"

namespace kvq {

constexpr int kTileRows = 16;
constexpr int kGroup = 32;  // columns that share a scale

enum class Format : uint8_t {
  // w = d*q + m, q in 0..15. Codes: per tile and group 4 x [16 rows][4 bytes]; byte (j, row, i)
  // holds
  // column 4j+i in its low and column 16+4j+i in its high nibble. Scales: [16] d, [16] m as halves.
  kQ4,
  // w = d*(q-128), q in 0..255. Codes: per tile and group 8 x [16 rows][4 bytes]; byte (j, row, i)
  // is column 4j+i. Scales: [16] d as halves.
  kQ8,
  // Halves: per tile and column [16 rows].
  kF16,
};

struct PackedMatrix {
  Format format = Format::kQ4;
  int rows = 0;  // as in the model; rows of the last tile beyond it are zero
  int cols = 0;  // multiple of kGroup
  uint8_t* codes = nullptr;
  uint16_t* scales = nullptr;

  int tiles() const { return (rows + kTileRows - 1) / kTileRows; }
  int groups() const { return cols / kGroup; }
  // Bytes and halves of one tile.
  size_t tile_code_bytes() const {
    const size_t per_group = format == Format::kQ4 ? 256 : format == Format::kQ8 ? 512 : 1024;
    return per_group * static_cast<size_t>(groups());
  }
  size_t tile_scales() const {
    const size_t per_group = format == Format::kQ4 ? 32 : format == Format::kQ8 ? 16 : 0;
    return per_group * static_cast<size_t>(groups());
  }
  size_t code_bytes() const { return tile_code_bytes() * static_cast<size_t>(tiles()); }
  size_t scale_bytes() const { return 2 * tile_scales() * static_cast<size_t>(tiles()); }
  const uint8_t* tile_codes(int tile) const {
    return codes + tile_code_bytes() * static_cast<size_t>(tile);
  }
  const uint16_t* tile_scale(int tile) const {
    return scales + tile_scales() * static_cast<size_t>(tile);
  }
};

// The format that keeps a file type's values: exactly for Q4_0, Q4_1, Q8_0 and F16, rounded to
// halves for F32 and BF16, requantized to 8 bits (relative error 0.4 % of a group's largest value)
// for the rest.
Format packed_format(TensorType type);

// Fills one tile. rows[r] points to the file bytes of the tile's row r, or is nullptr for padding.
// Returns false when a value or scale is not finite.
bool pack_tile(TensorType type, const uint8_t* const rows[kTileRows], PackedMatrix& w, int tile);

// Decodes one row to cols floats.
void unpack_row(const PackedMatrix& w, int row, float* out);

}  // namespace kvq
