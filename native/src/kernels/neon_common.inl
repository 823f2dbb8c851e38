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
