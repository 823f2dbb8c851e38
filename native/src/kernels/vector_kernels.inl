// The vector kernels, written once over 16-lane primitives. An instruction set's file opens its
// target region and an anonymous namespace, defines the primitives, and includes this; what the
// quantized cache wants besides is said in cache_common.inl.
//
// It must define
//   F            16 floats: f_zero f_set1 f_load f_store f_add f_sub f_mul f_max f_fma(a,b,c)=a*b+c
//                f_half (16 halves from memory) f_round f_pow2 (2^n of integral lanes) f_div
//                f_sum f_top (largest lane) f_abs f_zero_below(x, limit, w) f_keep_first(s, n)
//   W, P, Dot    64 bytes of weight codes; the same made ready for products; running sums of 16
//   rows:
//                w_load w_low w_high (nibbles) prepare4 prepare8 dot_zero dot_start8 dot_step
//                dot_end
//   quantize_codes(const F v[2], F inverse, int8_t* codes) -> int32_t sum of the codes
//   kGemmTokens  tokens that share one pass over the weights: 1, 2, 4 or 8
//   kAttendQueries, kScoreSums, kValueLanes  register blocking of attention

constexpr float kLowestExponent = -87.0f;  // exp of anything smaller counts as zero
// Weights are fetched this many bytes early: the multiplications fill the pipeline, so that too few
// loads would be under way otherwise.
constexpr int kCodesAhead = 4096;
constexpr int kScoreTokens = 128;  // tokens between two rescalings of an output

inline float lowest() { return -__builtin_inff(); }

// exp(x) for x <= 88, relative error below 2e-7; exactly 0 below kLowestExponent.
inline F f_exp(F x) {
  const F clamped = f_max(x, f_set1(kLowestExponent));
  const F n = f_round(f_mul(clamped, f_set1(1.44269504088896341f)));
  F r = f_fma(n, f_set1(-0.693359375f), clamped);
  r = f_fma(n, f_set1(2.12194440e-4f), r);
  F p = f_set1(1.9875691500e-4f);
  p = f_fma(p, r, f_set1(1.3981999507e-3f));
  p = f_fma(p, r, f_set1(8.3334519073e-3f));
  p = f_fma(p, r, f_set1(4.1665795894e-2f));
  p = f_fma(p, r, f_set1(1.6666665459e-1f));
  p = f_fma(p, r, f_set1(5.0000001201e-1f));
  p = f_add(f_fma(p, f_mul(r, r), r), f_set1(1.0f));
  return f_zero_below(x, kLowestExponent, f_mul(p, f_pow2(n)));
}

void quantize(const Activations& x, int token) {
  const size_t base = static_cast<size_t>(token) * static_cast<size_t>(x.groups);
  for (int g = 0; g < x.groups; ++g) {
    const size_t at = base + static_cast<size_t>(g);
    const float* values = x.values + at * kGroup;
    const F v[2] = {f_load(values), f_load(values + 16)};
    const float largest = f_top(f_max(f_abs(v[0]), f_abs(v[1])));
    const float inverse = largest > 0.0f ? kActivationTop / largest : 0.0f;
    const int32_t sum = quantize_codes(v, f_set1(inverse), x.codes + at * 64);
    x.scale[at] = largest / kActivationTop;
    x.sum[at] = x.scale[at] * static_cast<float>(sum);
    x.code_sum[at] = sum;
  }
}

template <int NT>
void gemm_q4(const uint8_t* codes, const uint16_t* scales, const Activations& x, size_t token,
             float* out, size_t stride) {
  const size_t groups = static_cast<size_t>(x.groups);
  F acc[NT];
  for (int t = 0; t < NT; ++t) acc[t] = f_zero();
  for (size_t g = 0; g < groups; ++g, codes += 256, scales += 32) {
    Dot dot[NT];
    for (int t = 0; t < NT; ++t) dot[t] = dot_zero();
    // Unrolled, or the sums would change registers in every round.
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      __builtin_prefetch(codes + kCodesAhead + 64 * j);
      const W raw = w_load(codes + 64 * j);
      const P low = prepare4(w_low(raw)), high = prepare4(w_high(raw));
      for (int t = 0; t < NT; ++t) {
        const int8_t* v = x.codes + ((token + static_cast<size_t>(t)) * groups + g) * 64;
        dot_step(dot[t], low, v, j);
        dot_step(dot[t], high, v, j + 4);
      }
    }
    const F d = f_half(scales), m = f_half(scales + 16);
    for (int t = 0; t < NT; ++t) {
      const size_t at = (token + static_cast<size_t>(t)) * groups + g;
      acc[t] = f_fma(dot_end(dot[t]), f_mul(d, f_set1(x.scale[at])), acc[t]);
      acc[t] = f_fma(m, f_set1(x.sum[at]), acc[t]);
    }
  }
  for (int t = 0; t < NT; ++t) f_store(out + static_cast<size_t>(t) * stride, acc[t]);
}

template <int NT>
void gemm_q8(const uint8_t* codes, const uint16_t* scales, const Activations& x, size_t token,
             float* out, size_t stride) {
  const size_t groups = static_cast<size_t>(x.groups);
  F acc[NT];
  for (int t = 0; t < NT; ++t) acc[t] = f_zero();
  for (size_t g = 0; g < groups; ++g, codes += 512, scales += 16) {
    Dot dot[NT];
    for (int t = 0; t < NT; ++t) {
      dot[t] = dot_start8(x.code_sum[(token + static_cast<size_t>(t)) * groups + g]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      __builtin_prefetch(codes + kCodesAhead + 64 * j);
      const P w = prepare8(w_load(codes + 64 * j));
      for (int t = 0; t < NT; ++t) {
        dot_step(dot[t], w, x.codes + ((token + static_cast<size_t>(t)) * groups + g) * 64, j);
      }
    }
    const F d = f_half(scales);
    for (int t = 0; t < NT; ++t) {
      const size_t at = (token + static_cast<size_t>(t)) * groups + g;
      acc[t] = f_fma(dot_end(dot[t]), f_mul(d, f_set1(x.scale[at])), acc[t]);
    }
  }
  for (int t = 0; t < NT; ++t) f_store(out + static_cast<size_t>(t) * stride, acc[t]);
}

template <int NT>
void gemm_f16(const uint8_t* codes, const uint16_t*, const Activations& x, size_t token, float* out,
              size_t stride) {
  const size_t cols = static_cast<size_t>(x.groups) * kGroup;
  const auto* w = reinterpret_cast<const uint16_t*>(codes);
  // Two sums a token hide the latency of the additions when there is one token only.
  F even[NT], odd[NT];
  for (int t = 0; t < NT; ++t) even[t] = odd[t] = f_zero();
  for (size_t c = 0; c < cols; c += 2, w += 32) {
    const F w0 = f_half(w), w1 = f_half(w + 16);
    for (int t = 0; t < NT; ++t) {
      const float* v = x.values + (token + static_cast<size_t>(t)) * cols + c;
      even[t] = f_fma(w0, f_set1(v[0]), even[t]);
      odd[t] = f_fma(w1, f_set1(v[1]), odd[t]);
    }
  }
  for (int t = 0; t < NT; ++t) {
    f_store(out + static_cast<size_t>(t) * stride, f_add(even[t], odd[t]));
  }
}

template <int NT>
void gemm_tokens(const PackedMatrix& w, int tile, const Activations& x, int token, float* out,
                 size_t stride) {
  const auto pass = w.format == Format::kQ4   ? gemm_q4<NT>
                    : w.format == Format::kQ8 ? gemm_q8<NT>
                                              : gemm_f16<NT>;
  const size_t t = static_cast<size_t>(token);
  pass(w.tile_codes(tile), w.tile_scale(tile), x, t, out + t * stride + 16 * tile, stride);
}

void gemm(const PackedMatrix& w, int tile0, int tile1, const Activations& x, int token0, int token1,
          float* out, size_t stride) {
  for (int tile = tile0; tile < tile1; ++tile) {
    int t = token0;
    if constexpr (kGemmTokens >= 8) {
      for (; token1 - t >= 8; t += 8) gemm_tokens<8>(w, tile, x, t, out, stride);
    }
    if constexpr (kGemmTokens >= 4) {
      for (; token1 - t >= 4; t += 4) gemm_tokens<4>(w, tile, x, t, out, stride);
    }
    if constexpr (kGemmTokens >= 2) {
      for (; token1 - t >= 2; t += 2) gemm_tokens<2>(w, tile, x, t, out, stride);
    }
    for (; t < token1; ++t) gemm_tokens<1>(w, tile, x, t, out, stride);
  }
}

void rms_norm(const float* x, const float* weight, float epsilon, int n, float* y) {
  F squares = f_zero();
  for (int i = 0; i < n; i += 16) {
    const F v = f_load(x + i);
    squares = f_fma(v, v, squares);
  }
  const F scale = f_set1(1.0f / __builtin_sqrtf(f_sum(squares) / static_cast<float>(n) + epsilon));
  for (int i = 0; i < n; i += 16) {
    f_store(y + i, f_mul(f_mul(f_load(x + i), scale), f_load(weight + i)));
  }
}

void silu_mul(const float* gate, const float* up, int n, float* y) {
  const F one = f_set1(1.0f);
  for (int i = 0; i < n; i += 16) {
    const F g = f_load(gate + i);
    // Beyond -87 the quotient is below the smallest normal float; the clamp keeps exp finite.
    const F e = f_exp(f_sub(f_zero(), f_max(g, f_set1(kLowestExponent))));
    f_store(y + i, f_mul(f_div(g, f_add(one, e)), f_load(up + i)));
  }
}

// Scores of block b: s[i][16 * b - first ..], tokens that a query does not see at -inf. Columns go
// into KS sums in turn, which hides the latency of an addition. The block's values are fetched
// meanwhile: memory is kept busy all the time, or reading and computing would take turns.
template <int NQ, int KS>
void score_block(const float* q, int head_dim, const uint16_t* k_block, const uint16_t* v_block,
                 int at, int first, const int* visible, float (*s)[kScoreTokens], F* top) {
  F acc[NQ][KS];
  for (int i = 0; i < NQ; ++i) {
    for (int n = 0; n < KS; ++n) acc[i][n] = f_zero();
  }
  for (int d = 0; d < head_dim; d += KS) {
    __builtin_prefetch(v_block + kBlockTokens * d);
    for (int n = 0; n < KS; ++n) {
      const F k = f_half(k_block + kBlockTokens * (d + n));
      for (int i = 0; i < NQ; ++i) {
        acc[i][n] = f_fma(k, f_set1(q[i * head_dim + d + n]), acc[i][n]);
      }
    }
  }
  for (int i = 0; i < NQ; ++i) {
    for (int n = 1; n < KS; ++n) acc[i][0] = f_add(acc[i][0], acc[i][n]);
    const F masked = f_keep_first(acc[i][0], visible[i] - at);
    f_store(s[i] + at - first, masked);
    top[i] = f_max(top[i], masked);
  }
}

// o[i][d0 ..] = o * keep[i] + sum over n tokens of weight * v, for DC * 16 dimensions. ahead: the
// key blocks that are wanted next, fetched meanwhile.
template <int NQ, int DC>
void add_values(const uint16_t* const* v_blocks, const uint16_t* const* ahead, int first, int n,
                int head_dim, int d0, const float (*s)[kScoreTokens], const float* keep, float* o) {
  F acc[NQ][DC];
  for (int i = 0; i < NQ; ++i) {
    for (int c = 0; c < DC; ++c) {
      acc[i][c] = f_mul(f_load(o + i * head_dim + d0 + 16 * c), f_set1(keep[i]));
    }
  }
  for (int t = 0; t < n; ++t) {
    const int at = first + t;
    const uint16_t* v = v_blocks[at / kBlockTokens] + at % kBlockTokens * head_dim + d0;
    const uint16_t* next = ahead[t / kBlockTokens] + t % kBlockTokens * head_dim + d0;
    F value[DC];
    for (int c = 0; c < DC; ++c) {
      value[c] = f_half(v + 16 * c);
      if (c % 2 == 0) __builtin_prefetch(next + 16 * c);
    }
    for (int i = 0; i < NQ; ++i) {
      const F weight = f_set1(s[i][t]);
      for (int c = 0; c < DC; ++c) acc[i][c] = f_fma(value[c], weight, acc[i][c]);
    }
  }
  for (int i = 0; i < NQ; ++i) {
    for (int c = 0; c < DC; ++c) f_store(o + i * head_dim + d0 + 16 * c, acc[i][c]);
  }
}

template <int NQ>
void attend_queries(const float* q, int head_dim, const uint16_t* const* k_blocks,
                    const uint16_t* const* v_blocks, int n_tokens, int readable, const int* visible,
                    AttendState* state, float* o) {
  alignas(64) float s[NQ][kScoreTokens];
  for (int first = 0; first < n_tokens; first += kScoreTokens) {
    const int n = n_tokens - first < kScoreTokens ? n_tokens - first : kScoreTokens;
    const int end = (first + n + kBlockTokens - 1) / kBlockTokens;
    F top[NQ];
    float keep[NQ];
    for (int i = 0; i < NQ; ++i) top[i] = f_set1(lowest());
    for (int b = first / kBlockTokens; b < end; ++b) {
      score_block<NQ, kScoreSums>(q, head_dim, k_blocks[b], v_blocks[b], kBlockTokens * b, first,
                                  visible, s, top);
    }
    for (int i = 0; i < NQ; ++i) {
      const float here = f_top(top[i]);
      const float largest = here > state[i].max ? here : state[i].max;
      // A query that has seen nothing yet keeps weights of zero instead of exp(-inf + inf).
      const float shift = largest == lowest() ? 0.0f : largest;
      keep[i] = state[i].max == lowest() ? 0.0f : f_top(f_exp(f_set1(state[i].max - shift)));
      F total = f_zero();
      for (int t = 0; t < kBlockTokens * end - first; t += 16) {
        const F weight = f_exp(f_sub(f_load(s[i] + t), f_set1(shift)));
        f_store(s[i] + t, weight);
        total = f_add(total, weight);
      }
      state[i].max = largest;
      state[i].total = state[i].total * keep[i] + f_sum(total);
    }
    const uint16_t* ahead[kScoreTokens / kBlockTokens];
    for (int i = 0; i < kScoreTokens / kBlockTokens; ++i) {
      ahead[i] = k_blocks[end + i < readable ? end + i : readable - 1];
    }
    int d = 0;
    for (; head_dim - d >= 16 * kValueLanes; d += 16 * kValueLanes) {
      add_values<NQ, kValueLanes>(v_blocks, ahead, first, n, head_dim, d, s, keep, o);
    }
    if constexpr (kValueLanes > 1) {
      for (; d < head_dim; d += 16) {
        add_values<NQ, 1>(v_blocks, ahead, first, n, head_dim, d, s, keep, o);
      }
    }
  }
}

void attend(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
            const uint16_t* const* v_blocks, int n_blocks, int n_ahead, const int* visible,
            AttendState* state, float* o) {
  for (int i = 0; i < n_queries;) {
    int group = n_queries - i;
    if (group > kAttendQueries) group = kAttendQueries;
    if (group > 3 && group < 6) group = 3;
    int n_tokens = 0;
    for (int j = i; j < i + group; ++j) n_tokens = visible[j] > n_tokens ? visible[j] : n_tokens;
    if (n_tokens > n_blocks * kBlockTokens) n_tokens = n_blocks * kBlockTokens;
    const auto run = [&](auto attend_group) {
      attend_group(q + i * head_dim, head_dim, k_blocks, v_blocks, n_tokens, n_blocks + n_ahead,
                   visible + i, state + i, o + i * head_dim);
    };
    switch (group) {
      case 1:
        run(attend_queries<1>);
        break;
      case 2:
        run(attend_queries<2>);
        break;
      case 3:
        run(attend_queries<3>);
        break;
      default:
        if constexpr (kAttendQueries >= 6) run(attend_queries<6>);
        break;
    }
    i += group;
  }
}

#include "kernels/cache_kernels.inl"
