// AVX2 with FMA and F16C: two registers of 8 lanes stand for 16. Activations stay 16-bit integers,
// so that vpmaddwd cannot saturate; a quad of columns is stored as (0, 2, 1, 3), the order in which
// masking and shifting a register of weight bytes yields pairs.
#include "kernels/cache_layout.h"
#include "kernels/cache_scalar.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/target_region.h"

KVQ_TARGET_BEGIN("avx2,fma,f16c")
namespace kvq {
namespace {

constexpr int kGemmTokens = 2;
constexpr int kAttendQueries = 3;
constexpr int kScoreSums = 1;
constexpr int kValueLanes = 1;

struct F {
  __m256 a, b;
};
inline F f_set1(float v) { return {_mm256_set1_ps(v), _mm256_set1_ps(v)}; }
inline F f_zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline F f_load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void f_store(float* p, F v) {
  _mm256_storeu_ps(p, v.a);
  _mm256_storeu_ps(p + 8, v.b);
}
inline F f_add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline F f_sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline F f_mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline F f_div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline F f_max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline F f_fma(F x, F y, F z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
inline F f_abs(F x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
inline F f_half(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
inline void f_store_half(uint16_t* p, F x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8),
                   _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
inline F f_round(F x) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.a, kNearest), _mm256_round_ps(x.b, kNearest)};
}
inline __m256 pow2_8(__m256 n) {
  const __m256i e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
}
inline F f_pow2(F n) { return {pow2_8(n.a), pow2_8(n.b)}; }
inline float f_sum(F x) {
  const __m256 s = _mm256_add_ps(x.a, x.b);
  __m128 r = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  r = _mm_add_ps(r, _mm_movehl_ps(r, r));
  return _mm_cvtss_f32(_mm_add_ss(r, _mm_movehdup_ps(r)));
}
inline float f_top(F x) {
  const __m256 s = _mm256_max_ps(x.a, x.b);
  __m128 r = _mm_max_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  r = _mm_max_ps(r, _mm_movehl_ps(r, r));
  return _mm_cvtss_f32(_mm_max_ss(r, _mm_movehdup_ps(r)));
}
inline F f_zero_below(F x, float limit, F w) {
  const __m256 l = _mm256_set1_ps(limit);
  return {_mm256_and_ps(_mm256_cmp_ps(x.a, l, _CMP_GE_OQ), w.a),
          _mm256_and_ps(_mm256_cmp_ps(x.b, l, _CMP_GE_OQ), w.b)};
}
inline F f_keep_first(F s, int n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 none = _mm256_set1_ps(-__builtin_inff());
  const __m256i a = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes);
  const __m256i b = _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), lanes);
  return {_mm256_blendv_ps(none, s.a, _mm256_castsi256_ps(a)),
          _mm256_blendv_ps(none, s.b, _mm256_castsi256_ps(b))};
}

struct W {
  __m256i a, b;
};
struct P {
  __m256i even_a, odd_a, even_b, odd_b;  // columns (0, 2) and (1, 3) of 8 rows as 16-bit pairs
};
struct Dot {
  __m256i a, b;
};
inline W w_load(const uint8_t* p) {
  const auto* v = reinterpret_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)};
}
inline W w_low(W w) {
  const __m256i m = _mm256_set1_epi8(15);
  return {_mm256_and_si256(w.a, m), _mm256_and_si256(w.b, m)};
}
inline W w_high(W w) { return w_low({_mm256_srli_epi16(w.a, 4), _mm256_srli_epi16(w.b, 4)}); }
inline P prepare8(W w) {
  const __m256i m = _mm256_set1_epi16(255);
  return {_mm256_and_si256(w.a, m), _mm256_srli_epi16(w.a, 8), _mm256_and_si256(w.b, m),
          _mm256_srli_epi16(w.b, 8)};
}
inline P prepare4(W w) { return prepare8(w); }
inline Dot dot_zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline Dot dot_start8(int32_t code_sum) {
  const __m256i start = _mm256_set1_epi32(-128 * code_sum);
  return {start, start};
}
inline __m256i pair(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm256_set1_epi32(word);
}
inline void dot_step(Dot& dot, const P& w, const int8_t* v, int j) {
  const __m256i even = pair(v + 8 * j), odd = pair(v + 8 * j + 4);
  dot.a = _mm256_add_epi32(dot.a, _mm256_madd_epi16(w.even_a, even));
  dot.a = _mm256_add_epi32(dot.a, _mm256_madd_epi16(w.odd_a, odd));
  dot.b = _mm256_add_epi32(dot.b, _mm256_madd_epi16(w.even_b, even));
  dot.b = _mm256_add_epi32(dot.b, _mm256_madd_epi16(w.odd_b, odd));
}
inline F dot_end(const Dot& dot) { return {_mm256_cvtepi32_ps(dot.a), _mm256_cvtepi32_ps(dot.b)}; }

inline int32_t quantize_codes(const F v[2], F inverse, int8_t* codes) {
  __m256i sum = _mm256_setzero_si256();
  for (int i = 0; i < 2; ++i) {
    const __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(v[i].a, inverse.a));
    const __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(v[i].b, inverse.b));
    const __m256i packed = _mm256_packs_epi32(_mm256_shuffle_epi32(a, _MM_SHUFFLE(3, 1, 2, 0)),
                                              _mm256_shuffle_epi32(b, _MM_SHUFFLE(3, 1, 2, 0)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + 32 * i),
                        _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)));
    sum = _mm256_add_epi32(sum, _mm256_add_epi32(a, b));
  }
  __m128i r = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  r = _mm_add_epi32(r, _mm_shuffle_epi32(r, _MM_SHUFFLE(1, 0, 3, 2)));
  r = _mm_add_epi32(r, _mm_shuffle_epi32(r, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(r);
}

inline F f_min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
inline float f_first(F x) { return _mm256_cvtss_f32(x.a); }
inline F f_split(F x, F* n) {
  *n = {_mm256_floor_ps(x.a), _mm256_floor_ps(x.b)};
  return f_sub(x, *n);
}
inline __m256 ldexp_8(__m256 p, __m256 n) {
  const __m256i e = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  const __m256 scaled = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), e));
  return _mm256_and_ps(_mm256_cmp_ps(n, _mm256_set1_ps(-126.0f), _CMP_GE_OQ), scaled);
}
inline F f_ldexp(F p, F n) { return {ldexp_8(p.a, n.a), ldexp_8(p.b, n.b)}; }
template <int H>
inline F f_swap(F x) {
  if constexpr (H == 1) return {_mm256_permute_ps(x.a, 0xB1), _mm256_permute_ps(x.b, 0xB1)};
  if constexpr (H == 2) return {_mm256_permute_ps(x.a, 0x4E), _mm256_permute_ps(x.b, 0x4E)};
  if constexpr (H == 4) {
    return {_mm256_permute2f128_ps(x.a, x.a, 1), _mm256_permute2f128_ps(x.b, x.b, 1)};
  }
  if constexpr (H == 8) return {x.b, x.a};
}
template <int H>
inline F f_pick(F x, F y) {
  if constexpr (H == 8) return {x.a, y.b};
  constexpr int kFromY = H == 1 ? 0xAA : H == 2 ? 0xCC : 0xF0;
  return {_mm256_blend_ps(x.a, y.a, kFromY), _mm256_blend_ps(x.b, y.b, kFromY)};
}
inline void f_ints(F x, int32_t* p) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_cvtps_epi32(x.a));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), _mm256_cvtps_epi32(x.b));
}
inline __m256i widen(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
inline F f_bytes(const uint8_t* p) {
  return {_mm256_cvtepi32_ps(widen(p)), _mm256_cvtepi32_ps(widen(p + 8))};
}
inline F f_scales(const uint8_t* p, int exponent) {
  const __m256i bias = _mm256_set1_epi32((127 + exponent) << 23);
  return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(widen(p), 19), bias)),
          _mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(widen(p + 8), 19), bias))};
}
inline F f_keep_lanes(F s, unsigned bits) {
  const __m256 none = _mm256_set1_ps(-__builtin_inff());
  const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const auto keep = [&](__m256 v, unsigned b) {
    const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(b)), lane);
    return _mm256_blendv_ps(none, v, _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, lane)));
  };
  return {keep(s.a, bits), keep(s.b, bits >> 8)};
}
inline void w_store(uint8_t* p, W w) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), w.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), w.b);
}
inline W w_flip(W w) {
  const __m256i top = _mm256_set1_epi8(-128);
  return {_mm256_xor_si256(w.a, top), _mm256_xor_si256(w.b, top)};
}
template <int S>
inline W w_shift(W w) {
  if constexpr (S > 0) return {_mm256_srli_epi16(w.a, S), _mm256_srli_epi16(w.b, S)};
  if constexpr (S < 0) return {_mm256_slli_epi16(w.a, -S), _mm256_slli_epi16(w.b, -S)};
}
template <int S, int M>
inline W w_bits(W w) {
  if constexpr (S > 0) w = w_shift<S>(w);
  const __m256i m = _mm256_set1_epi8(M);
  return {_mm256_and_si256(w.a, m), _mm256_and_si256(w.b, m)};
}
inline __m256i merge_32(__m256i a, __m256i b) {
  const __m256i m = _mm256_set1_epi8(0x33);
  return _mm256_or_si256(_mm256_and_si256(m, a), _mm256_andnot_si256(m, b));
}
inline W w_merge(W x, W y) { return {merge_32(x.a, y.a), merge_32(x.b, y.b)}; }

// Products take 16-bit numbers here; the integers that meet them are the same.
constexpr int kFlipKeys = 0, kFlipValues = 0, kNumberBytes = 64, kSums = 3, kQueriesAtOnce = 0;
using KeyDot = Dot;
using ValueDot = Dot;
inline KeyDot key_zero() { return dot_zero(); }
inline ValueDot value_zero() { return dot_zero(); }
inline void key_step(KeyDot& dot, const W& w, const int8_t* v, int j) {
  dot_step(dot, prepare4(w), v, j);
}
inline void value_step(ValueDot& dot, const W& w, const int8_t* v, int j) {
  dot_step(dot, prepare4(w), v, j);
}
inline F key_end(const KeyDot& dot) { return dot_end(dot); }
inline F value_end(const ValueDot& dot) { return dot_end(dot); }
inline void store_bytes(F v[2], int8_t* codes) {
  quantize_codes(v, f_set1(1.0f), codes);
  for (int i = 0; i < 2; ++i) v[i] = f_round(v[i]);
}

#include "kernels/vector_kernels.inl"

}  // namespace

const Kernels kAvx2Kernels = {"avx2",
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
