// NEON of ARMv8.0 (Raspberry Pi 4 and older): widening 16-bit products. A quad of columns is stored
// as (0, 2, 1, 3), the order in which masking and shifting weight bytes yields pairs.
#include "kernels/cache_layout.h"
#include "kernels/cache_scalar.h"
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

namespace kvq {
namespace {

constexpr int kGemmTokens = 2;
constexpr int kAttendQueries = 3;
constexpr int kScoreSums = 1;
constexpr int kValueLanes = 1;

#include "kernels/neon_common.inl"

struct P {
  int16x8_t even[4], odd[4];  // columns (0, 2) and (1, 3) of 4 rows
};
struct Dot {
  int32x4_t v[8];  // two partial sums a row
};
inline P prepare8(W w) {
  P p;
  for (int i = 0; i < 4; ++i) {
    const uint16x8_t pairs = vreinterpretq_u16_u8(w.v[i]);
    p.even[i] = vreinterpretq_s16_u16(vandq_u16(pairs, vdupq_n_u16(255)));
    p.odd[i] = vreinterpretq_s16_u16(vshrq_n_u16(pairs, 8));
  }
  return p;
}
inline P prepare4(W w) { return prepare8(w); }
inline Dot dot_zero() {
  Dot dot;
  for (int i = 0; i < 8; ++i) dot.v[i] = vdupq_n_s32(0);
  return dot;
}
inline Dot dot_start8(int32_t code_sum) {
  Dot dot;
  for (int i = 0; i < 8; ++i) dot.v[i] = vdupq_n_s32(-64 * code_sum);
  return dot;
}
inline int16x8_t pair(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return vreinterpretq_s16_s32(vdupq_n_s32(word));
}
inline void dot_step(Dot& dot, const P& w, const int8_t* v, int j) {
  const int16x8_t even = pair(v + 8 * j), odd = pair(v + 8 * j + 4);
  for (int i = 0; i < 4; ++i) {
    dot.v[2 * i] = vmlal_s16(dot.v[2 * i], vget_low_s16(w.even[i]), vget_low_s16(even));
    dot.v[2 * i + 1] = vmlal_high_s16(dot.v[2 * i + 1], w.even[i], even);
    dot.v[2 * i] = vmlal_s16(dot.v[2 * i], vget_low_s16(w.odd[i]), vget_low_s16(odd));
    dot.v[2 * i + 1] = vmlal_high_s16(dot.v[2 * i + 1], w.odd[i], odd);
  }
}
inline F dot_end(const Dot& dot) {
  KVQ_EACH(vcvtq_f32_s32(vpaddq_s32(dot.v[2 * i], dot.v[2 * i + 1])))
}

inline int32_t quantize_codes(const F v[2], F inverse, int8_t* codes) {
  int32x4_t sum = vdupq_n_s32(0);
  for (int i = 0; i < 8; ++i) {
    const int32x4_t q = vcvtnq_s32_f32(vmulq_f32(v[i / 4].v[i % 4], inverse.v[0]));
    const int16x4_t narrow = vmovn_s32(q);
    const int32x2_t even = vreinterpret_s32_s16(vuzp1_s16(narrow, narrow));
    const int32x2_t odd = vreinterpret_s32_s16(vuzp2_s16(narrow, narrow));
    vst1_s8(codes + 8 * i, vreinterpret_s8_s32(vzip1_s32(even, odd)));
    sum = vaddq_s32(sum, q);
  }
  return vaddvq_s32(sum);
}

// A product of two bytes fits 16 bits; pairs of them are added into 32.
struct KeyDot {
  int32x4_t v[8];  // two partial sums a lane
};
struct ValueDot {
  uint32x4_t v[8];
};
inline KeyDot key_zero() {
  KeyDot dot;
  for (int i = 0; i < 8; ++i) dot.v[i] = vdupq_n_s32(0);
  return dot;
}
inline ValueDot value_zero() {
  ValueDot dot;
  for (int i = 0; i < 8; ++i) dot.v[i] = vdupq_n_u32(0);
  return dot;
}
inline void key_step(KeyDot& dot, const W& w, const int8_t* v, int j) {
  const int8x16_t numbers = quad(v + 4 * j);
  for (int i = 0; i < 4; ++i) {
    const int8x16_t c = vreinterpretq_s8_u8(w.v[i]);
    dot.v[2 * i] = vpadalq_s16(dot.v[2 * i], vmull_s8(vget_low_s8(c), vget_low_s8(numbers)));
    dot.v[2 * i + 1] = vpadalq_s16(dot.v[2 * i + 1], vmull_high_s8(c, numbers));
  }
}
inline void value_step(ValueDot& dot, const W& w, const int8_t* v, int j) {
  const uint8x16_t numbers = vreinterpretq_u8_s8(quad(v + 4 * j));
  for (int i = 0; i < 4; ++i) {
    dot.v[2 * i] = vpadalq_u16(dot.v[2 * i], vmull_u8(vget_low_u8(w.v[i]), vget_low_u8(numbers)));
    dot.v[2 * i + 1] = vpadalq_u16(dot.v[2 * i + 1], vmull_high_u8(w.v[i], numbers));
  }
}
inline F key_end(const KeyDot& dot) {
  KVQ_EACH(vcvtq_f32_s32(vpaddq_s32(dot.v[2 * i], dot.v[2 * i + 1])))
}
inline F value_end(const ValueDot& dot) {
  KVQ_EACH(vcvtq_f32_u32(vpaddq_u32(dot.v[2 * i], dot.v[2 * i + 1])))
}

#include "kernels/vector_kernels.inl"

}  // namespace

const Kernels kNeonKernels = {"neon",
                              quantize,
                              gemm,
                              nullptr,
                              nullptr,
                              rms_norm,
                              silu_mul,
                              attend,
                              hadamard,
                              quantize_key,
                              quantize_value,
                              scalar::dequantize_key,
                              scalar::dequantize_value,
                              prepare_queries,
                              attend_codes,
                              attend_window,
                              turn_keys,
                              add_weights,
                              pack_mlp,
                              mlp_layer};

}  // namespace kvq
#endif
