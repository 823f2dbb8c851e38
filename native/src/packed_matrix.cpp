#include "packed_matrix.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "fp16.h"

namespace kvq {
namespace {

bool finite_half(uint16_t h) { return (h & 0x7C00) != 0x7C00; }

uint16_t load_u16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}

// One group of one row of a 4-bit matrix: the nibble order is the file's own, so only 4-byte words
// move.
bool pack_q4_group(const uint8_t* block, bool has_min, int row, uint8_t* codes, uint16_t* scales) {
  const uint16_t d = load_u16(block);
  const uint16_t m = has_min ? load_u16(block + 2) : float_to_fp16(-8.0f * fp16_to_float(d));
  const uint8_t* nibbles = block + (has_min ? 4 : 2);
  for (int j = 0; j < 4; ++j) std::memcpy(codes + 64 * j + 4 * row, nibbles + 4 * j, 4);
  scales[row] = d;
  scales[16 + row] = m;
  return finite_half(d) && finite_half(m);
}

bool pack_q8_group(const uint8_t* block, int row, uint8_t* codes, uint16_t* scales) {
  const uint16_t d = load_u16(block);
  for (int j = 0; j < 8; ++j) {
    uint32_t word;
    std::memcpy(&word, block + 2 + 4 * j, 4);
    word ^= 0x80808080u;
    std::memcpy(codes + 64 * j + 4 * row, &word, 4);
  }
  scales[row] = d;
  return finite_half(d);
}

// A Q8_0 block made from 32 floats.
bool encode_q8(const float* x, uint8_t* block) {
  float largest = 0.0f;
  for (int i = 0; i < kGroup; ++i) {
    if (!std::isfinite(x[i])) return false;
    largest = std::max(largest, std::fabs(x[i]));
  }
  const uint16_t d = float_to_fp16(largest / 127.0f);
  const float step = fp16_to_float(d);
  const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
  std::memcpy(block, &d, 2);
  for (int i = 0; i < kGroup; ++i) {
    const float q = std::nearbyint(x[i] * inverse);
    block[2 + i] =
        static_cast<uint8_t>(static_cast<int8_t>(std::min(127.0f, std::max(-127.0f, q))));
  }
  return finite_half(d);
}

bool pack_f16_row(TensorType type, const uint8_t* src, int cols, int row, uint8_t* codes) {
  bool ok = true;
  for (int c = 0; c < cols; ++c) {
    uint16_t h;
    if (type == TensorType::kF16) {
      h = load_u16(src + 2 * c);
    } else {
      float f;
      dequantize(type, src + (type == TensorType::kF32 ? 4 : 2) * c, 1, &f);
      h = float_to_fp16(f);
    }
    ok = ok && finite_half(h);
    std::memcpy(codes + 32 * static_cast<size_t>(c) + 2 * row, &h, 2);
  }
  return ok;
}

}  // namespace

Format packed_format(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
    case TensorType::kQ4_1:
      return Format::kQ4;
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      return Format::kF16;
    default:
      return Format::kQ8;
  }
}

bool pack_tile(TensorType type, const uint8_t* const rows[kTileRows], PackedMatrix& w, int tile) {
  uint8_t* codes = const_cast<uint8_t*>(w.tile_codes(tile));
  uint16_t* scales = const_cast<uint16_t*>(w.tile_scale(tile));
  const int groups = w.groups();
  bool ok = true;
  std::vector<float> values;
  for (int r = 0; r < kTileRows; ++r) {
    if (!rows[r]) continue;  // the buffer is zero already, and zero scales make zero weights
    if (w.format == Format::kF16) {
      ok = pack_f16_row(type, rows[r], w.cols, r, codes) && ok;
      continue;
    }
    if (type == TensorType::kQ4_0 || type == TensorType::kQ4_1) {
      const bool has_min = type == TensorType::kQ4_1;
      const int bytes = has_min ? 20 : 18;
      for (int g = 0; g < groups; ++g) {
        ok = pack_q4_group(rows[r] + bytes * g, has_min, r, codes + 256 * g, scales + 32 * g) && ok;
      }
      continue;
    }
    if (type == TensorType::kQ8_0) {
      for (int g = 0; g < groups; ++g) {
        ok = pack_q8_group(rows[r] + 34 * g, r, codes + 512 * g, scales + 16 * g) && ok;
      }
      continue;
    }
    values.resize(static_cast<size_t>(w.cols));
    dequantize(type, rows[r], values.size(), values.data());
    for (int g = 0; g < groups; ++g) {
      uint8_t block[34];
      ok = encode_q8(values.data() + kGroup * g, block) && ok;
      if (ok) pack_q8_group(block, r, codes + 512 * g, scales + 16 * g);
    }
  }
  return ok;
}

void unpack_row(const PackedMatrix& w, int row, float* out) {
  const int tile = row / kTileRows, r = row % kTileRows;
  const uint8_t* codes = w.tile_codes(tile);
  const uint16_t* scales = w.tile_scale(tile);
  if (w.format == Format::kF16) {
    for (int c = 0; c < w.cols; ++c) out[c] = fp16_to_float(load_u16(codes + 32 * c + 2 * r));
    return;
  }
  for (int g = 0; g < w.groups(); ++g, out += kGroup) {
    if (w.format == Format::kQ4) {
      const float d = fp16_to_float(scales[32 * g + r]), m = fp16_to_float(scales[32 * g + 16 + r]);
      for (int c = 0; c < 16; ++c) {
        const uint8_t byte = codes[256 * g + 64 * (c / 4) + 4 * r + c % 4];
        out[c] = d * static_cast<float>(byte & 15) + m;
        out[16 + c] = d * static_cast<float>(byte >> 4) + m;
      }
    } else {
      const float d = fp16_to_float(scales[16 * g + r]);
      for (int c = 0; c < kGroup; ++c) {
        const int q = codes[512 * g + 64 * (c / 4) + 4 * r + c % 4];
        out[c] = d * static_cast<float>(q - 128);
      }
    }
  }
}

}  // namespace kvq
