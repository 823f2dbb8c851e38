#include "dequant.h"

#include <cstring>

#include "fp16.h"

namespace kvq {
namespace {

uint16_t load_u16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}

float load_half(const uint8_t* p) { return fp16_to_float(load_u16(p)); }

void decode_q4_0(const uint8_t* b, float* y) {
  const float d = load_half(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
    y[i + 16] = d * static_cast<float>((b[2 + i] >> 4) - 8);
  }
}

void decode_q4_1(const uint8_t* b, float* y) {
  const float d = load_half(b), m = load_half(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>(b[4 + i] & 15) + m;
    y[i + 16] = d * static_cast<float>(b[4 + i] >> 4) + m;
  }
}

// The fifth bits of 32 codes follow the scales as one little-endian word.
void decode_q5(const uint8_t* b, bool with_min, float* y) {
  const float d = load_half(b);
  const float m = with_min ? load_half(b + 2) : -16.0f * d;
  const uint8_t* high = b + (with_min ? 4 : 2);
  uint32_t bits;
  std::memcpy(&bits, high, 4);
  const uint8_t* low = high + 4;
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>((low[i] & 15) | (((bits >> i) & 1) << 4)) + m;
    y[i + 16] = d * static_cast<float>((low[i] >> 4) | (((bits >> (i + 16)) & 1) << 4)) + m;
  }
}

void decode_q8_0(const uint8_t* b, float* y) {
  const float d = load_half(b);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(static_cast<int8_t>(b[2 + i]));
}

// Six-bit scale and minimum of sub-block j of 8, packed into 12 bytes.
void scale_and_min(const uint8_t* s, int j, int& scale, int& min) {
  if (j < 4) {
    scale = s[j] & 63;
    min = s[j + 4] & 63;
  } else {
    scale = (s[j + 4] & 15) | ((s[j - 4] >> 6) << 4);
    min = (s[j + 4] >> 4) | ((s[j] >> 6) << 4);
  }
}

// Q4_K and Q5_K: 256 values, 8 sub-blocks of 32, two of which share 32 bytes of low nibbles.
void decode_k45(const uint8_t* b, bool five, float* y) {
  const float d = load_half(b), dmin = load_half(b + 2);
  const uint8_t* scales = b + 4;
  const uint8_t* high = b + 16;
  const uint8_t* low = five ? b + 48 : b + 16;
  for (int j = 0; j < 8; ++j) {
    int scale, min;
    scale_and_min(scales, j, scale, min);
    const uint8_t* q = low + 32 * (j / 2);
    for (int i = 0; i < 32; ++i) {
      int code = (j & 1) ? q[i] >> 4 : q[i] & 15;
      if (five) code |= ((high[i] >> j) & 1) << 4;
      y[32 * j + i] =
          d * static_cast<float>(scale) * static_cast<float>(code) - dmin * static_cast<float>(min);
    }
  }
}

void decode_q6_k(const uint8_t* b, float* y) {
  const uint8_t* low = b;
  const uint8_t* high = b + 128;
  const uint8_t* scales = b + 192;
  const float d = load_half(b + 208);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 128; ++i) {
      const int quarter = i / 32, l = i % 32;
      const uint8_t byte = low[64 * half + l + 32 * (quarter & 1)];
      const int nibble = quarter < 2 ? byte & 15 : byte >> 4;
      const int top = (high[32 * half + l] >> (2 * quarter)) & 3;
      const int scale = static_cast<int8_t>(scales[8 * half + i / 16]);
      y[128 * half + i] =
          d * static_cast<float>(scale) * static_cast<float>((nibble | top << 4) - 32);
    }
  }
}

void decode_block(TensorType type, const uint8_t* b, float* y) {
  switch (type) {
    case TensorType::kF32:
      std::memcpy(y, b, 4);
      return;
    case TensorType::kF16:
      y[0] = load_half(b);
      return;
    case TensorType::kBF16:
      y[0] = bf16_to_float(load_u16(b));
      return;
    case TensorType::kQ4_0:
      decode_q4_0(b, y);
      return;
    case TensorType::kQ4_1:
      decode_q4_1(b, y);
      return;
    case TensorType::kQ5_0:
      decode_q5(b, false, y);
      return;
    case TensorType::kQ5_1:
      decode_q5(b, true, y);
      return;
    case TensorType::kQ8_0:
      decode_q8_0(b, y);
      return;
    case TensorType::kQ4_K:
      decode_k45(b, false, y);
      return;
    case TensorType::kQ5_K:
      decode_k45(b, true, y);
      return;
    case TensorType::kQ6_K:
      decode_q6_k(b, y);
      return;
  }
}

}  // namespace

const TypeTraits* type_traits(uint32_t type) {
  static constexpr TypeTraits kF32{"F32", 1, 4}, kF16{"F16", 1, 2}, kBF16{"BF16", 1, 2};
  static constexpr TypeTraits kQ4_0{"Q4_0", 32, 18}, kQ4_1{"Q4_1", 32, 20};
  static constexpr TypeTraits kQ5_0{"Q5_0", 32, 22}, kQ5_1{"Q5_1", 32, 24}, kQ8_0{"Q8_0", 32, 34};
  static constexpr TypeTraits kQ4_K{"Q4_K", 256, 144}, kQ5_K{"Q5_K", 256, 176};
  static constexpr TypeTraits kQ6_K{"Q6_K", 256, 210};
  switch (static_cast<TensorType>(type)) {
    case TensorType::kF32:
      return &kF32;
    case TensorType::kF16:
      return &kF16;
    case TensorType::kBF16:
      return &kBF16;
    case TensorType::kQ4_0:
      return &kQ4_0;
    case TensorType::kQ4_1:
      return &kQ4_1;
    case TensorType::kQ5_0:
      return &kQ5_0;
    case TensorType::kQ5_1:
      return &kQ5_1;
    case TensorType::kQ8_0:
      return &kQ8_0;
    case TensorType::kQ4_K:
      return &kQ4_K;
    case TensorType::kQ5_K:
      return &kQ5_K;
    case TensorType::kQ6_K:
      return &kQ6_K;
  }
  return nullptr;
}

void dequantize(TensorType type, const uint8_t* src, size_t n, float* dst) {
  const TypeTraits& traits = *type_traits(static_cast<uint32_t>(type));
  for (size_t i = 0; i < n; i += traits.block_values, src += traits.block_bytes) {
    decode_block(type, src, dst + i);
  }
}

}  // namespace kvq
