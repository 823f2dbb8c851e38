// Float primitives that every NEON variant shares: 16 lanes in four registers.
struct F {
  float32x4_t v[4];
};
#define KVQ_EACH(expression)                         \
  F r;                                               \
  for (int i = 0; i < 4; ++i) r.v[i] = (expression); \
  return r;
inline F f_set1(float x) { KVQ_EACH(vdupq_n_f32(x)) }
inline F f_zero() { KVQ_EACH(vdupq_n_f32(0.0f)) }
inline F f_load(const float* p) { KVQ_EACH(vld1q_f32(p + 4 * i)) }
inline void f_store(float* p, F x) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, x.v[i]);
}
inline F f_add(F x, F y) { KVQ_EACH(vaddq_f32(x.v[i], y.v[i])) }
inline F f_sub(F x, F y) { KVQ_EACH(vsubq_f32(x.v[i], y.v[i])) }
inline F f_mul(F x, F y) { KVQ_EACH(vmulq_f32(x.v[i], y.v[i])) }
inline F f_div(F x, F y) { KVQ_EACH(vdivq_f32(x.v[i], y.v[i])) }
inline F f_max(F x, F y) { KVQ_EACH(vmaxq_f32(x.v[i], y.v[i])) }
inline F f_fma(F x, F y, F z) { KVQ_EACH(vfmaq_f32(z.v[i], x.v[i], y.v[i])) }
inline F f_abs(F x) { KVQ_EACH(vabsq_f32(x.v[i])) }
inline F f_round(F x) { KVQ_EACH(vrndnq_f32(x.v[i])) }
inline F f_pow2(F n) {
  KVQ_EACH(
      vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n.v[i]), vdupq_n_s32(127)), 23)))
}
// Widening a half is part of ARMv8.0; half arithmetic is not.
inline F f_half(const uint16_t* p) {
  F r;
  for (int i = 0; i < 2; ++i) {
    const float16x8_t h = vreinterpretq_f16_u16(vld1q_u16(p + 8 * i));
    r.v[2 * i] = vcvt_f32_f16(vget_low_f16(h));
    r.v[2 * i + 1] = vcvt_high_f32_f16(h);
  }
  return r;
}
inline void f_store_half(uint16_t* p, F x) {
  for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.v[i])));
}
inline float f_sum(F x) {
  return vaddvq_f32(vaddq_f32(vaddq_f32(x.v[0], x.v[1]), vaddq_f32(x.v[2], x.v[3])));
}
inline float f_top(F x) {
  return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.v[0], x.v[1]), vmaxq_f32(x.v[2], x.v[3])));
}
inline F f_zero_below(F x, float limit, F w) {
  KVQ_EACH(vreinterpretq_f32_u32(
      vandq_u32(vcgeq_f32(x.v[i], vdupq_n_f32(limit)), vreinterpretq_u32_f32(w.v[i]))))
}
inline F f_keep_first(F s, int n) {
  constexpr int32_t kLanes[4] = {0, 1, 2, 3};
  const int32x4_t lanes = vld1q_s32(kLanes);
  KVQ_EACH(
      vbslq_f32(vcltq_s32(lanes, vdupq_n_s32(n - 4 * i)), s.v[i], vdupq_n_f32(-__builtin_inff())))
}

inline F f_min(F x, F y) { KVQ_EACH(vminq_f32(x.v[i], y.v[i])) }
inline float f_first(F x) { return vgetq_lane_f32(x.v[0], 0); }
inline F f_split(F x, F* n) {
  for (int i = 0; i < 4; ++i) n->v[i] = vrndmq_f32(x.v[i]);
  return f_sub(x, *n);
}
inline F f_ldexp(F p, F n) {
  KVQ_EACH(vreinterpretq_f32_u32(
      vandq_u32(vcgeq_f32(n.v[i], vdupq_n_f32(-126.0f)),
                vreinterpretq_u32_s32(vaddq_s32(vreinterpretq_s32_f32(p.v[i]),
                                                vshlq_n_s32(vcvtq_s32_f32(n.v[i]), 23))))))
}
template <int H>
inline F f_swap(F x) {
  if constexpr (H == 1) {
    KVQ_EACH(vrev64q_f32(x.v[i]))
  }
  if constexpr (H == 2) {
    KVQ_EACH(vextq_f32(x.v[i], x.v[i], 2))
  }
  if constexpr (H >= 4) {
    KVQ_EACH(x.v[i ^ (H / 4)])
  }
}
template <int H>
inline F f_pick(F x, F y) {
  if constexpr (H == 1) {
    constexpr uint32_t kOdd[4] = {0, ~0u, 0, ~0u};
    KVQ_EACH(vbslq_f32(vld1q_u32(kOdd), y.v[i], x.v[i]))
  }
  if constexpr (H == 2) {
    KVQ_EACH(vcombine_f32(vget_low_f32(x.v[i]), vget_high_f32(y.v[i])))
  }
  if constexpr (H >= 4) {
    KVQ_EACH(i & (H / 4) ? y.v[i] : x.v[i])
  }
}
inline void f_ints(F x, int32_t* p) {
  for (int i = 0; i < 4; ++i) vst1q_s32(p + 4 * i, vcvtnq_s32_f32(x.v[i]));
}
struct Wide {
  uint32x4_t v[4];
};
inline Wide widen(const uint8_t* p) {
  const uint8x16_t bytes = vld1q_u8(p);
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
  return {vmovl_u16(vget_low_u16(low)), vmovl_high_u16(low), vmovl_u16(vget_low_u16(high)),
          vmovl_high_u16(high)};
}
inline F f_bytes(const uint8_t* p) {
  const Wide w = widen(p);
  KVQ_EACH(vcvtq_f32_u32(w.v[i]))
}
inline F f_scales(const uint8_t* p, int exponent) {
  const Wide w = widen(p);
  const uint32x4_t bias = vdupq_n_u32(static_cast<uint32_t>(127 + exponent) << 23);
  KVQ_EACH(vreinterpretq_f32_u32(vaddq_u32(vshlq_n_u32(w.v[i], 19), bias)))
}
inline F f_keep_lanes(F s, unsigned bits) {
  constexpr uint32_t kLanes[4] = {1, 2, 4, 8};
  const uint32x4_t lanes = vld1q_u32(kLanes);
  KVQ_EACH(vbslq_f32(vtstq_u32(lanes, vdupq_n_u32(bits >> (4 * i))), s.v[i],
                     vdupq_n_f32(-__builtin_inff())))
}

struct W {
  uint8x16_t v[4];  // register i: rows 4i .. 4i+3, four columns each
};
inline W w_load(const uint8_t* p) {
  W w;
  for (int i = 0; i < 4; ++i) w.v[i] = vld1q_u8(p + 16 * i);
  return w;
}
inline W w_low(W w) {
  for (int i = 0; i < 4; ++i) w.v[i] = vandq_u8(w.v[i], vdupq_n_u8(15));
  return w;
}
inline W w_high(W w) {
  for (int i = 0; i < 4; ++i) w.v[i] = vshrq_n_u8(w.v[i], 4);
  return w;
}
inline void w_store(uint8_t* p, W w) {
  for (int i = 0; i < 4; ++i) vst1q_u8(p + 16 * i, w.v[i]);
}
inline W w_flip(W w) {
  for (int i = 0; i < 4; ++i) w.v[i] = veorq_u8(w.v[i], vdupq_n_u8(128));
  return w;
}
template <int S>
inline W w_shift(W w) {
  for (int i = 0; i < 4; ++i) {
    if constexpr (S > 0) w.v[i] = vshrq_n_u8(w.v[i], S);
    if constexpr (S < 0) w.v[i] = vshlq_n_u8(w.v[i], -S);
  }
  return w;
}
template <int S, int M>
inline W w_bits(W w) {
  if constexpr (S > 0) w = w_shift<S>(w);
  // What a shift by 4 leaves are 4 bits.
  for (int i = 0; (S < 4 || M < 15) && i < 4; ++i) w.v[i] = vandq_u8(w.v[i], vdupq_n_u8(M));
  return w;
}
inline W w_merge(W a, W b) {
  for (int i = 0; i < 4; ++i) a.v[i] = vbslq_u8(vdupq_n_u8(0x33), a.v[i], b.v[i]);
  return a;
}

// Numbers of 8 bits for the quantized cache, in order.
constexpr int kFlipKeys = 128, kFlipValues = 0, kNumberBytes = 32, kSums = 3, kQueriesAtOnce = 0;
inline void store_bytes(F v[2], int8_t* codes) {
  for (int i = 0; i < 2; ++i) v[i] = f_round(v[i]);
  for (int i = 0; i < 4; ++i) {
    const int16x4_t a = vmovn_s32(vcvtq_s32_f32(v[i / 2].v[i % 2 * 2]));
    const int16x4_t b = vmovn_s32(vcvtq_s32_f32(v[i / 2].v[i % 2 * 2 + 1]));
    vst1_s8(codes + 8 * i, vmovn_s16(vcombine_s16(a, b)));
  }
}
inline int8x16_t quad(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(word));
}
