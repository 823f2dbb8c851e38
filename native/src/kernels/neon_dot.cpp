// NEON with dot products (Raspberry Pi 5): sdot takes 16 byte products an instruction. A 16-bit
// activation is two signed bytes, x = 256 * high + low.
#include "kernels/cache_layout.h"
#include "kernels/cache_scalar.h"
#include "kernels/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/target_region.h"

#if defined(__clang__)
KVQ_TARGET_BEGIN("dotprod,fullfp16")
#else
KVQ_TARGET_BEGIN("arch=armv8.2-a+dotprod+fp16")
#endif
namespace kvq {
namespace {

constexpr int kGemmTokens = 2;
constexpr int kAttendQueries = 3;
constexpr int kScoreSums = 1;
constexpr int kValueLanes = 1;

#include "kernels/neon_common.inl"

struct P {
  int8x16_t v[4];
};
struct Dot {
  int32x4_t high[4], low[4];
};
inline P prepare4(W w) {
  P p;
  for (int i = 0; i < 4; ++i) p.v[i] = vreinterpretq_s8_u8(w.v[i]);
  return p;
}
// 8-bit codes carry an offset of 128; sdot wants them signed, which flipping the top bit does.
inline P prepare8(W w) {
  P p;
  for (int i = 0; i < 4; ++i) p.v[i] = vreinterpretq_s8_u8(veorq_u8(w.v[i], vdupq_n_u8(128)));
  return p;
}
inline Dot dot_zero() {
  Dot dot;
  for (int i = 0; i < 4; ++i) dot.high[i] = dot.low[i] = vdupq_n_s32(0);
  return dot;
}
inline Dot dot_start8(int32_t) { return dot_zero(); }
// Codes of a group: 32 high bytes, then 32 low bytes, in column order.
inline void dot_step(Dot& dot, const P& w, const int8_t* v, int j) {
  const int8x16_t high = quad(v + 4 * j), low = quad(v + 32 + 4 * j);
  for (int i = 0; i < 4; ++i) {
    dot.high[i] = vdotq_s32(dot.high[i], w.v[i], high);
    dot.low[i] = vdotq_s32(dot.low[i], w.v[i], low);
  }
}
inline F dot_end(const Dot& dot) {
  KVQ_EACH(vcvtq_f32_s32(vaddq_s32(vshlq_n_s32(dot.high[i], 8), dot.low[i])))
}

inline int32_t quantize_codes(const F v[2], F inverse, int8_t* codes) {
  int32x4_t sum = vdupq_n_s32(0);
  for (int i = 0; i < 8; i += 2) {
    int16x4_t high[2], low[2];
    for (int k = 0; k < 2; ++k) {
      const int at = i + k;
      const int32x4_t q = vcvtnq_s32_f32(vmulq_f32(v[at / 4].v[at % 4], inverse.v[0]));
      const int32x4_t h = vshrq_n_s32(vaddq_s32(q, vdupq_n_s32(128)), 8);
      high[k] = vmovn_s32(h);
      low[k] = vmovn_s32(vsubq_s32(q, vshlq_n_s32(h, 8)));
      sum = vaddq_s32(sum, q);
    }
    vst1_s8(codes + 4 * i, vmovn_s16(vcombine_s16(high[0], high[1])));
    vst1_s8(codes + 32 + 4 * i, vmovn_s16(vcombine_s16(low[0], low[1])));
  }
  return vaddvq_s32(sum);
}

struct KeyDot {
  int32x4_t v[4];
};
struct ValueDot {
  uint32x4_t v[4];
};
inline KeyDot key_zero() {
  KeyDot dot;
  for (int i = 0; i < 4; ++i) dot.v[i] = vdupq_n_s32(0);
  return dot;
}
inline ValueDot value_zero() {
  ValueDot dot;
  for (int i = 0; i < 4; ++i) dot.v[i] = vdupq_n_u32(0);
  return dot;
}
inline void key_step(KeyDot& dot, const W& w, const int8_t* v, int j) {
  const int8x16_t numbers = quad(v + 4 * j);
  for (int i = 0; i < 4; ++i) {
    dot.v[i] = vdotq_s32(dot.v[i], vreinterpretq_s8_u8(w.v[i]), numbers);
  }
}
inline void value_step(ValueDot& dot, const W& w, const int8_t* v, int j) {
  const uint8x16_t numbers = vreinterpretq_u8_s8(quad(v + 4 * j));
  for (int i = 0; i < 4; ++i) dot.v[i] = vdotq_u32(dot.v[i], w.v[i], numbers);
}
inline F key_end(const KeyDot& dot) { KVQ_EACH(vcvtq_f32_s32(dot.v[i])) }
inline F value_end(const ValueDot& dot) { KVQ_EACH(vcvtq_f32_u32(dot.v[i])) }

#include "kernels/vector_kernels.inl"

}  // namespace

const Kernels kNeonDotKernels = {"neon_dot",
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
KVQ_TARGET_END
#endif
