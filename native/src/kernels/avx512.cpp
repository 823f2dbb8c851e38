// AVX-512 with VNNI: 16 rows or 16 cached tokens in one register, 64 byte products an instruction.
// A 16-bit activation is two signed bytes, x = 256 * high + low; sums of products with unsigned
// weights stay far below 2^31 (see Activations).
#include "kernels/cache_layout.h"
#include "kernels/cache_scalar.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/target_region.h"

KVQ_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")
namespace kvq {
namespace {

constexpr int kGemmTokens = 8;
constexpr int kAttendQueries = 6;
constexpr int kScoreSums = 2;
constexpr int kValueLanes = 4;

using F = __m512;
inline F f_zero() { return _mm512_setzero_ps(); }
inline F f_set1(float v) { return _mm512_set1_ps(v); }
inline F f_load(const float* p) { return _mm512_loadu_ps(p); }
inline void f_store(float* p, F v) { _mm512_storeu_ps(p, v); }
inline F f_add(F a, F b) { return _mm512_add_ps(a, b); }
inline F f_sub(F a, F b) { return _mm512_sub_ps(a, b); }
inline F f_mul(F a, F b) { return _mm512_mul_ps(a, b); }
inline F f_div(F a, F b) { return _mm512_div_ps(a, b); }
inline F f_max(F a, F b) { return _mm512_max_ps(a, b); }
inline F f_fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
inline F f_abs(F a) { return _mm512_abs_ps(a); }
inline F f_half(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline void f_store_half(uint16_t* p, F a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline F f_round(F a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline F f_pow2(F n) { return _mm512_scalef_ps(_mm512_set1_ps(1.0f), n); }
inline float f_sum(F a) { return _mm512_reduce_add_ps(a); }
inline float f_top(F a) { return _mm512_reduce_max_ps(a); }
inline F f_zero_below(F x, float limit, F w) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_GE_OQ), w);
}
inline F f_keep_first(F s, int n) {
  const unsigned mask = n >= 16 ? 0xFFFFu : n <= 0 ? 0u : (1u << n) - 1;
  return _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), static_cast<__mmask16>(mask), s);
}

using W = __m512i;
using P = __m512i;
struct Dot {
  __m512i high, low;
};
inline W w_load(const uint8_t* p) { return _mm512_loadu_si512(p); }
inline W w_low(W w) { return _mm512_and_si512(w, _mm512_set1_epi8(15)); }
inline W w_high(W w) { return _mm512_and_si512(_mm512_srli_epi16(w, 4), _mm512_set1_epi8(15)); }
inline P prepare4(W w) { return w; }
inline P prepare8(W w) { return w; }
inline Dot dot_zero() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
inline Dot dot_start8(int32_t code_sum) {
  return {_mm512_setzero_si512(), _mm512_set1_epi32(-128 * code_sum)};
}
inline __m512i quad(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, 4);
  return _mm512_set1_epi32(word);
}
// sum += w * quad(p): GCC does not fold the broadcast into the product by itself.
inline void add_products(__m512i& sum, __m512i w, const int8_t* p) {
  __asm__("vpdpbusd %2%{1to16%}, %1, %0"
          : "+v"(sum)
          : "v"(w), "m"(*reinterpret_cast<const int8_t (*)[4]>(p)));
}
// Codes of a group: 32 high bytes, then 32 low bytes, in column order.
inline void dot_step(Dot& dot, P w, const int8_t* v, int j) {
  add_products(dot.high, w, v + 4 * j);
  add_products(dot.low, w, v + 32 + 4 * j);
}
inline F dot_end(const Dot& dot) {
  return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(dot.high, 8), dot.low));
}

inline int32_t quantize_codes(const F v[2], F inverse, int8_t* codes) {
  __m512i sum = _mm512_setzero_si512();
  for (int i = 0; i < 2; ++i) {
    const __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(v[i], inverse));
    const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8);
    const __m512i low = _mm512_sub_epi32(q, _mm512_slli_epi32(high, 8));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * i), _mm512_cvtepi32_epi8(high));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 32 + 16 * i), _mm512_cvtepi32_epi8(low));
    sum = _mm512_add_epi32(sum, q);
  }
  return _mm512_reduce_add_epi32(sum);
}

inline F f_min(F a, F b) { return _mm512_min_ps(a, b); }
inline float f_first(F a) { return _mm512_cvtss_f32(a); }
// The scaling takes the floor itself; what is left of an infinity is 0.
inline F f_split(F x, F* n) {
  *n = x;
  return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
inline F f_ldexp(F p, F n) { return _mm512_scalef_ps(p, n); }
template <int H>
inline F f_swap(F x) {
  if constexpr (H == 1) return _mm512_permute_ps(x, 0xB1);
  if constexpr (H == 2) return _mm512_permute_ps(x, 0x4E);
  if constexpr (H == 4) return _mm512_shuffle_f32x4(x, x, 0xB1);
  if constexpr (H == 8) return _mm512_shuffle_f32x4(x, x, 0x4E);
}
template <int H>
inline F f_pick(F a, F b) {
  constexpr __mmask16 kFromB = H == 1 ? 0xAAAA : H == 2 ? 0xCCCC : H == 4 ? 0xF0F0 : 0xFF00;
  return _mm512_mask_mov_ps(a, kFromB, b);
}
inline void f_ints(F x, int32_t* p) { _mm512_storeu_si512(p, _mm512_cvtps_epi32(x)); }
inline __m512i widen(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline F f_bytes(const uint8_t* p) { return _mm512_cvtepi32_ps(widen(p)); }
inline F f_scales(const uint8_t* p, int exponent) {
  return _mm512_castsi512_ps(
      _mm512_add_epi32(_mm512_slli_epi32(widen(p), 19), _mm512_set1_epi32((127 + exponent) << 23)));
}
inline F f_keep_lanes(F s, unsigned bits) {
  return _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), static_cast<__mmask16>(bits), s);
}
inline void w_store(uint8_t* p, W w) { _mm512_storeu_si512(p, w); }
inline W w_flip(W w) { return _mm512_xor_si512(w, _mm512_set1_epi8(-128)); }
template <int S>
inline W w_shift(W w) {
  return S > 0 ? _mm512_srli_epi16(w, S) : _mm512_slli_epi16(w, -S);
}
template <int S, int M>
inline W w_bits(W w) {
  if constexpr (S > 0) w = w_shift<S>(w);
  return _mm512_and_si512(w, _mm512_set1_epi8(M));
}
inline W w_merge(W a, W b) {
  return _mm512_ternarylogic_epi32(_mm512_set1_epi8(0x33), a, b, 0xCA);  // mask ? a : b
}

// Keys' codes are the unsigned operand, values' codes the signed one.
constexpr int kFlipKeys = 0, kFlipValues = 128, kNumberBytes = 32, kSums = 12, kQueriesAtOnce = 12;
using KeyDot = __m512i;
using ValueDot = __m512i;
inline KeyDot key_zero() { return _mm512_setzero_si512(); }
inline ValueDot value_zero() { return _mm512_setzero_si512(); }
inline void key_step(KeyDot& dot, W w, const int8_t* v, int j) { add_products(dot, w, v + 4 * j); }
inline void value_step(ValueDot& dot, W w, const int8_t* v, int j) {
  dot = _mm512_dpbusd_epi32(dot, quad(v + 4 * j), w);
}
inline F key_end(KeyDot dot) { return _mm512_cvtepi32_ps(dot); }
inline F value_end(ValueDot dot) { return _mm512_cvtepi32_ps(dot); }
inline void store_bytes(F v[2], int8_t* codes) {
  for (int i = 0; i < 2; ++i) {
    const __m512i integers = _mm512_cvtps_epi32(v[i]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * i), _mm512_cvtepi32_epi8(integers));
    v[i] = _mm512_cvtepi32_ps(integers);
  }
}

#include "kernels/vector_kernels.inl"

}  // namespace

const Kernels kAvx512Kernels = {"avx512",
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
