// Format of the quantized cache: where a code lies, and what a scale byte means.
//
// A block's codes are n = dim / 4 vectors of 64 bytes, one code a byte, before packing:
//   keys    vector j, byte 4 * token + d % 4                d = 4j .. 4j + 3
//   values  vector j, byte 4 * (d % 16) + token % 4         d / 16 = j / 4, token / 4 = j % 4
// so that one vector meets four numbers of a query, or the weights of four tokens, in 16 lanes.
// Packing puts 8 / width vectors into one: field f of packed vector i is vector i + f * n * width
// / 8. 3-bit codes are a plane of their low two bits, then a plane of their top bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace kvq {

constexpr float kLargestHalf = 65504.0f;
// Rows of numbers that are all below this count as zeros: their inverse might overflow.
constexpr float kLeastTop = 1e-30f;
// Scale codes tried around the centre's, which stays within 1 % of trying all of them.
constexpr int kBelowCentre = 7, kAboveCentre = 8;
constexpr int kScaleCandidates = kBelowCentre + 1 + kAboveCentre;
// Best scale of a Gaussian vector over its root mean square; [bits].
constexpr float kCentre[5] = {0.0f, 0.0f, 0.498f, 0.293f, 0.1675f};

inline size_t code_bytes(int dim, int bits) {
  return static_cast<size_t>(2 * dim) * static_cast<size_t>(bits);
}
// Bytes beside a block's codes: scales and zero points.
inline size_t scale_bytes(int bits) { return bits == 16 ? 0 : bits == 8 ? 32 : 16; }

// A scale byte is 16e + m: 2^(exponent + e) * (1 + m / 16).
inline float decode_scale(uint8_t code, int exponent) {
  return std::bit_cast<float>((static_cast<uint32_t>(code) << 19) +
                              (static_cast<uint32_t>(127 + exponent) << 23));
}
inline int encode_scale(float s, int exponent, int32_t rounding) {
  const int32_t bits = std::bit_cast<int32_t>(s) - ((127 + exponent) << 23) + rounding;
  return bits < 0 ? 0 : bits >> 19 > 255 ? 255 : bits >> 19;
}
// Code of the nearest scale, and the smallest code whose scale is at least s.
inline int nearest_scale(float s, int exponent) { return encode_scale(s, exponent, 1 << 18); }
inline int scale_above(float s, int exponent) { return encode_scale(s, exponent, (1 << 19) - 1); }

// Width of the plane that holds a code's low bits; 3 bits have another of width 1 behind it.
inline int plane_width(int bits) { return bits == 3 ? 2 : bits; }

}  // namespace kvq
