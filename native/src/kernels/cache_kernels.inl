// The kernels of the quantized cache over 16-lane primitives; included behind vector_kernels.inl.
//
// Beyond what that needs, an instruction set must define
//   F      f_min f_swap<H>(x) (lanes i and i ^ H change places) f_ints (integral lanes to int32_t)
//          f_bytes (16 unsigned bytes) f_scales (16 scale bytes) f_keep_lanes(s, bits)
//   W      w_store w_or w_bits<S, M> (every byte shifted right by S, left if negative, and M)
//   kFlip  what an 8-bit code is flipped by for prepare4: 128 where products want signed bytes
//   kStreams  vectors of codes that share a load of the other operand: 1 or 2
//
// Attention unpacks a block's codes into bytes (one kilobyte, in the first-level cache), for all
// queries at once; from there on every width is the same: products of bytes with 16-bit integers.

// Softmax weight exp(s - shift), relative error below 1e-5; exactly 0 far below.
inline F softmax_weight(F s, float shift) {
  constexpr float kLog2e = 1.44269504088896341f, kLowest = -126.0f;
  const F x = f_fma(s, f_set1(kLog2e), f_set1(-shift * kLog2e));
  const F clamped = f_max(x, f_set1(kLowest));
  const F n = f_round(clamped);
  const F r = f_sub(clamped, n);
  F p = f_fma(f_set1(0.00957010221f), r, f_set1(0.0559178591f));
  p = f_fma(p, r, f_set1(0.240247443f));
  p = f_fma(p, r, f_set1(0.693121791f));
  p = f_fma(p, r, f_set1(0.999999285f));
  return f_zero_below(x, kLowest, f_mul(p, f_pow2(n)));
}

// n scores -> weights, taken into the state. Returns what the output so far must be multiplied by.
inline float softmax_step(const float* scores, int n, F top, AttendState* state, float* weights) {
  const float here = f_top(top);
  const float largest = here > state->max ? here : state->max;
  // A query that has seen nothing yet keeps weights of zero instead of exp(-inf + inf).
  const float shift = largest == lowest() ? 0.0f : largest;
  const float keep = state->max == lowest() ? 0.0f : f_top(f_exp(f_set1(state->max - shift)));
  F total = f_zero();
  for (int t = 0; t < n; t += 16) {
    const F weight = softmax_weight(f_load(scores + t), shift);
    f_store(weights + t, weight);
    total = f_add(total, weight);
  }
  state->max = largest;
  state->total = state->total * keep + f_sum(total);
  return keep;
}

// Queries that one pass takes, of those that are left.
inline int queries_together(int left) {
  return left >= 6 && kAttendQueries >= 6 ? 6 : left >= 3 ? 3 : left;
}

// Calls body with queries_together(n) as a constant.
template <class Body>
inline void with_count(int n, Body body) {
  switch (n) {
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 3:
      return body.template operator()<3>();
    default:
      if constexpr (kAttendQueries >= 6) body.template operator()<6>();
  }
}

// ------------------------------------------------------------------------------- transform

template <int H>
inline F butterfly(F x) {
  alignas(64) static constexpr auto kSigns = [] {
    struct {
      float v[16];
    } s{};
    for (int i = 0; i < 16; ++i) s.v[i] = i & H ? -1.0f : 1.0f;
    return s;
  }();
  return f_fma(x, f_load(kSigns.v), f_swap<H>(x));
}

void hadamard(float* x, int dim) {
  const int n = dim & -dim;
  const F scale = f_set1(1.0f / __builtin_sqrtf(static_cast<float>(n)));
  for (int i = 0; i < dim; i += 16) {
    const F v = f_mul(f_load(x + i), scale);
    f_store(x + i, butterfly<8>(butterfly<4>(butterfly<2>(butterfly<1>(v)))));
  }
  for (int h = 16; h < n; h *= 2) {
    for (int base = 0; base < dim; base += 2 * h) {
      for (int i = base; i < base + h; i += 16) {
        const F a = f_load(x + i), b = f_load(x + i + h);
        f_store(x + i, f_add(a, b));
        f_store(x + i + h, f_sub(a, b));
      }
    }
  }
}

// ------------------------------------------------------------------------------- quantizing

// Code of the best scale among the candidates around the centre (see scalar::best_scale).
inline int best_scale(const float* x, int dim, int bits, int exponent) {
  constexpr int kTogether = 6;
  const float top = static_cast<float>((1 << bits) - 1);
  F squares = f_zero();
  for (int d = 0; d < dim; d += 16) squares = f_fma(f_load(x + d), f_load(x + d), squares);
  const float rms = __builtin_sqrtf(f_sum(squares) / static_cast<float>(dim));
  const int centre = nearest_scale(kCentre[bits] * rms, exponent);
  int best = 0;
  float least = __builtin_inff();
  for (int i = 0; i < kScaleCandidates; i += kTogether) {
    int code[kTogether];
    float scale[kTogether];
    F half_step[kTogether], error[kTogether];
    for (int c = 0; c < kTogether; ++c) {
      const int wanted = centre - kBelowCentre + i + c;
      code[c] = wanted < 0 ? 0 : wanted > 255 ? 255 : wanted;
      scale[c] = decode_scale(static_cast<uint8_t>(code[c]), exponent);
      half_step[c] = f_set1(0.5f / scale[c]);
      error[c] = f_zero();
    }
    for (int d = 0; d < dim; d += 16) {
      const F v = f_load(x + d);
      for (int c = 0; c < kTogether; ++c) {
        const F exact = f_fma(v, half_step[c], f_set1(0.5f * top));
        const F rounded = f_min(f_max(f_round(exact), f_zero()), f_set1(top));
        const F e = f_sub(exact, rounded);
        error[c] = f_fma(e, e, error[c]);
      }
    }
    for (int c = 0; c < kTogether; ++c) {
      const float sum = f_sum(error[c]) * scale[c] * scale[c];
      if (sum < least) {
        least = sum;
        best = code[c];
      }
    }
  }
  return best;
}

// Codes of one vector; its scale and zero point into lane `lane` of scales.
inline void quantize_vector(const float* values, int dim, int bits, int exponent, int lane,
                            uint8_t* scales, int32_t* codes) {
  alignas(64) float x[kMaxHeadDim];
  F lo = f_zero(), hi = f_zero();
  for (int d = 0; d < dim; d += 16) {
    const F v = f_load(values + d);
    const F finite = f_zero_below(v, -__builtin_inff(), v);  // NaN compares false
    const F tame = f_min(f_max(finite, f_set1(-kLargestHalf)), f_set1(kLargestHalf));
    f_store(x + d, tame);
    lo = f_min(lo, tame);
    hi = f_max(hi, tame);
  }
  float factor, offset;
  const float top = static_cast<float>((1 << bits) - 1);
  if (bits == 8) {
    const float least = -f_top(f_sub(f_zero(), lo));
    scales[lane] = static_cast<uint8_t>(scale_above((f_top(hi) - least) / 255.0f, exponent));
    factor = 1.0f / decode_scale(scales[lane], exponent);
    const float zero = __builtin_nearbyintf(-least * factor);
    offset = zero > 255.0f ? 255.0f : zero;
    scales[16 + lane] = static_cast<uint8_t>(offset);
  } else {
    scales[lane] = static_cast<uint8_t>(best_scale(x, dim, bits, exponent));
    factor = 0.5f / decode_scale(scales[lane], exponent);
    offset = 0.5f * top;
  }
  for (int d = 0; d < dim; d += 16) {
    const F code = f_round(f_fma(f_load(x + d), f_set1(factor), f_set1(offset)));
    f_ints(f_min(f_max(code, f_zero()), f_set1(top)), codes + d);
  }
}

// One lane of a plane of n vectors. A word holds the four codes that meet one output lane of a
// vector: of one token in keys (which own the word), of four tokens in values (who share it).
inline void put_key_plane(const uint32_t* words, int n, int width, int drop, int lane,
                          uint8_t* plane) {
  const int packed = n * width / 8;
  const uint32_t mask = ((1u << width) - 1) * 0x01010101u;
  for (int i = 0; i < packed; ++i) {
    uint32_t word = 0;
    for (int f = 0; f < 8 / width; ++f) {
      word |= (words[i + f * packed] >> drop & mask) << (f * width);
    }
    __builtin_memcpy(plane + 64 * i + 4 * lane, &word, 4);
  }
}

inline void put_value_plane(const int32_t* codes, int n, int width, int drop, int lane,
                            uint8_t* plane) {
  const int packed = n * width / 8;
  for (int j = lane / 4; j < n; j += 4) {
    uint8_t* at = plane + 64 * (j % packed);
    const int shift = j / packed * width + 8 * (lane % 4);
    const uint32_t mask = (1u << width) - 1;
    uint32_t words[16];
    __builtin_memcpy(words, at, 64);
    for (int r = 0; r < 16; ++r) {
      const uint32_t code = static_cast<uint32_t>(codes[j / 4 * 16 + r]) >> drop & mask;
      words[r] = (words[r] & ~(mask << shift)) | code << shift;
    }
    __builtin_memcpy(at, words, 64);
  }
}

void quantize_key(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                  uint8_t* scales) {
  if (bits == 16) return scalar::quantize_key(x, dim, bits, exponent, lane, codes, scales);
  alignas(64) int32_t c[kMaxHeadDim];
  uint32_t words[kMaxHeadDim / 4];
  quantize_vector(x, dim, bits, exponent, lane, scales, c);
  const int n = dim / 4;
  for (int j = 0; j < n; ++j) {
    words[j] = static_cast<uint32_t>(c[4 * j] | c[4 * j + 1] << 8 | c[4 * j + 2] << 16) |
               static_cast<uint32_t>(c[4 * j + 3]) << 24;
  }
  put_key_plane(words, n, plane_width(bits), 0, lane, codes);
  if (bits == 3) put_key_plane(words, n, 1, 2, lane, codes + 16 * n);
}

void quantize_value(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                    uint8_t* scales) {
  if (bits == 16) return scalar::quantize_value(x, dim, bits, exponent, lane, codes, scales);
  alignas(64) int32_t c[kMaxHeadDim];
  quantize_vector(x, dim, bits, exponent, lane, scales, c);
  const int n = dim / 4;
  put_value_plane(c, n, plane_width(bits), 0, lane, codes);
  if (bits == 3) put_value_plane(c, n, 1, 2, lane, codes + 16 * n);
}

// ------------------------------------------------------------------------------- products

// acc[i][s] = products of stream s, `steps` vectors of byte codes, with the 16-bit integers of
// query i: codes + i * stride, 64 bytes for 8 vectors. steps: a multiple of 4.
template <int NQ, int NS>
inline void dots(const uint8_t* const* streams, int steps, const int8_t* codes, int stride,
                 F (*out)[NS]) {
  Dot acc[NQ][NS];
  for (int i = 0; i < NQ; ++i) {
    for (int s = 0; s < NS; ++s) acc[i][s] = dot_zero();
  }
  for (int step = 0; step < steps; step += 4) {
    const int8_t* at = codes + step / 8 * 64;
    for (int j = 0; j < 4; ++j) {
      P p[NS];
      for (int s = 0; s < NS; ++s) p[s] = prepare4(w_load(streams[s] + 64 * (step + j)));
      for (int i = 0; i < NQ; ++i) {
        for (int s = 0; s < NS; ++s) dot_step(acc[i][s], p[s], at + i * stride, step % 8 + j);
      }
    }
  }
  for (int i = 0; i < NQ; ++i) {
    for (int s = 0; s < NS; ++s) out[i][s] = dot_end(acc[i][s]);
  }
}

// Vector j of a block's n, as bytes, to out + 64 * (j % 4 + j / 4 * quad_stride).
inline void unpack(const uint8_t* codes, int n, int bits, int quad_stride, uint8_t* out) {
  const auto put = [&](int j, W w) { w_store(out + 64 * (j % 4 + j / 4 * quad_stride), w); };
  const auto get = [&](int i) { return w_load(codes + 64 * i); };
  if (bits == 8) {
    for (int i = 0; i < n; ++i) put(i, w_flip(get(i)));
  } else if (bits == 4) {
    for (int i = 0; i < n / 2; ++i) {
      const W w = get(i);
      put(i, w_bits<0, 15>(w));
      put(i + n / 2, w_bits<4, 15>(w));
    }
  } else if (bits == 2) {
    for (int i = 0; i < n / 4; ++i) {
      const W w = get(i);
      put(i, w_bits<0, 3>(w));
      put(i + n / 4, w_bits<2, 3>(w));
      put(i + n / 4 * 2, w_bits<4, 3>(w));
      put(i + n / 4 * 3, w_bits<6, 3>(w));
    }
  } else if (bits == 3) {
    const int rows = n / 8;
    for (int i = 0; i < rows; ++i) {
      const W even = get(i), odd = get(i + rows), top = get(i + 2 * rows);
      put(i, w_or(w_bits<0, 3>(even), w_bits<-2, 4>(top)));
      put(i + rows, w_or(w_bits<0, 3>(odd), w_bits<-1, 4>(top)));
      put(i + rows * 2, w_or(w_bits<2, 3>(even), w_bits<0, 4>(top)));
      put(i + rows * 3, w_or(w_bits<2, 3>(odd), w_bits<1, 4>(top)));
      put(i + rows * 4, w_or(w_bits<4, 3>(even), w_bits<2, 4>(top)));
      put(i + rows * 5, w_or(w_bits<4, 3>(odd), w_bits<3, 4>(top)));
      put(i + rows * 6, w_or(w_bits<6, 3>(even), w_bits<4, 4>(top)));
      put(i + rows * 7, w_or(w_bits<6, 3>(odd), w_bits<5, 4>(top)));
    }
  }
}

// What a code c of lane t stands for: step[t] * (c - zero[t]).
inline void code_meaning(const uint8_t* scales, int bits, int exponent, F* step, F* zero) {
  const F scale = f_scales(scales, exponent);
  *step = bits == 8 ? scale : f_add(scale, scale);
  *zero = bits == 8 ? f_sub(f_bytes(scales + 16), f_set1(static_cast<float>(kFlip)))
                    : f_set1(0.5f * static_cast<float>((1 << bits) - 1));
}

inline void prefetch_codes(const uint8_t* codes, const uint8_t* scales, int dim, int bits) {
  for (int i = 0; i < 2 * dim * bits; i += 64) __builtin_prefetch(codes + i);
  if (bits != 16) __builtin_prefetch(scales);
}

// ------------------------------------------------------------------------------- attention

constexpr int kPassBlocks = kScoreTokens / kBlockTokens;  // blocks between two rescalings

// A block on its way through a pass, whatever class it is of.
struct Part {
  const CodeList* list;
  const CodeBlock* block;
  int tokens;
};

// Hands out the lists' blocks, a pass at a time.
struct Walk {
  const CodeList *list, *end;
  int block = 0;
  int take(Part* parts) {
    int n = 0;
    while (list < end && n < kPassBlocks) {
      const int left = list->n_tokens - block * kBlockTokens;
      if (left > 0) {
        parts[n++] = {list, list->blocks + block, left < kBlockTokens ? left : kBlockTokens};
        ++block;
      } else {
        ++list;
        block = 0;
      }
    }
    return n;
  }
};

template <int NQ>
void score_parts(const CodeQueries& q, int first, const Part* parts, int n, uint8_t* bytes,
                 float (*s)[kScoreTokens], F* top) {
  const int dim = q.head_dim, vectors = dim / 4;
  for (int b = 0; b < n; b += kStreams) {
    const uint8_t* streams[kStreams];
    for (int k = 0; k < kStreams; ++k) {
      streams[k] = bytes + 64 * vectors * k;
      if (b + k >= n) continue;
      const Part& part = parts[b + k];
      prefetch_codes(part.block->v_codes, part.block->v_scales, dim, part.list->v_bits);
      unpack(part.block->k_codes, vectors, part.list->k_bits, 4, bytes + 64 * vectors * k);
    }
    F sum[NQ][kStreams];
    dots<NQ, kStreams>(streams, vectors, q.codes + first * 2 * dim, 2 * dim, sum);
    for (int k = 0; k < kStreams && b + k < n; ++k) {
      const Part& part = parts[b + k];
      F step, zero;
      if (part.list->k_bits == 16) {
        const auto* halves = reinterpret_cast<const uint16_t*>(part.block->k_codes);
        for (int i = 0; i < NQ; ++i) sum[i][k] = f_zero();
        for (int d = 0; d < dim; ++d) {
          const F key = f_half(halves + kBlockTokens * d);
          for (int i = 0; i < NQ; ++i) {
            sum[i][k] = f_fma(key, f_set1(q.values[(first + i) * dim + d]), sum[i][k]);
          }
        }
      } else {
        code_meaning(part.block->k_scales, part.list->k_bits, part.list->k_exponent, &step, &zero);
        for (int i = 0; i < NQ; ++i) {
          const F query_sum = f_set1(static_cast<float>(q.code_sum[first + i]));
          sum[i][k] = f_mul(f_sub(sum[i][k], f_mul(zero, query_sum)),
                            f_mul(step, f_set1(q.scale[first + i])));
        }
      }
      for (int i = 0; i < NQ; ++i) {
        const F score = f_keep_first(sum[i][k], part.tokens);
        f_store(s[i] + kBlockTokens * (b + k), score);
        top[i] = f_max(top[i], score);
      }
    }
  }
}

// Weights times scales as 16-bit integers: codes [NQ][256 bytes], and their scales. zeros: what the
// codes' zero points add up to.
template <int NQ>
void weigh_parts(const Part* parts, int n, const float (*weights)[kScoreTokens], int8_t* codes,
                 float* scale, float* zeros) {
  F step[kPassBlocks], zero[kPassBlocks];
  for (int b = 0; b < n; ++b) {
    const CodeList& list = *parts[b].list;
    step[b] = zero[b] = f_zero();
    if (list.v_bits == 16) continue;
    code_meaning(parts[b].block->v_scales, list.v_bits, list.v_exponent, step + b, zero + b);
  }
  for (int i = 0; i < NQ; ++i) {
    F product[kPassBlocks + 1];
    F top = f_zero(), sum = f_zero();
    for (int b = 0; b < n; ++b) {
      product[b] = f_mul(f_load(weights[i] + kBlockTokens * b), step[b]);
      top = f_max(top, product[b]);
      sum = f_fma(product[b], zero[b], sum);
    }
    product[n] = f_zero();
    const float largest = f_top(top);
    const F inverse = f_set1(largest > 0.0f ? kActivationTop / largest : 0.0f);
    for (int b = 0; b < n; b += 2) quantize_codes(product + b, inverse, codes + 256 * i + 32 * b);
    scale[i] = largest / kActivationTop;
    zeros[i] = f_sum(sum);
  }
}

template <int NQ>
void attend_parts(const CodeQueries& q, int first, const Part* parts, int n, const Part* next,
                  int n_next, AttendState* state, float* o) {
  constexpr int kQuadStride = 4 * kPassBlocks;
  alignas(64) float s[NQ][kScoreTokens];
  alignas(64) uint8_t bytes[kMaxHeadDim * kScoreTokens];
  alignas(64) int8_t codes[NQ * 2 * kScoreTokens];
  const int dim = q.head_dim;
  F top[NQ];
  for (int i = 0; i < NQ; ++i) top[i] = f_set1(lowest());
  score_parts<NQ>(q, first, parts, n, bytes, s, top);
  float keep[NQ], scale[NQ], zeros[NQ];
  for (int i = 0; i < NQ; ++i) {
    keep[i] = softmax_step(s[i], kBlockTokens * n, top[i], state + i, s[i]);
  }
  weigh_parts<NQ>(parts, n, s, codes, scale, zeros);
  for (int b = 0; b < n; ++b) {
    unpack(parts[b].block->v_codes, dim / 4, parts[b].list->v_bits, kQuadStride, bytes + 256 * b);
    if (b < n_next) {
      prefetch_codes(next[b].block->k_codes, next[b].block->k_scales, dim, next[b].list->k_bits);
    }
  }
  for (int d = 0; d < dim; d += 16 * kStreams) {
    const uint8_t* streams[kStreams];
    for (int k = 0; k < kStreams; ++k) streams[k] = bytes + 64 * kQuadStride * (d / 16 + k);
    F sum[NQ][kStreams];
    dots<NQ, kStreams>(streams, 4 * n, codes, 2 * kScoreTokens, sum);
    for (int i = 0; i < NQ; ++i) {
      for (int k = 0; k < kStreams; ++k) {
        float* at = o + i * dim + d + 16 * k;
        const F added = f_fma(sum[i][k], f_set1(scale[i]), f_set1(-zeros[i]));
        f_store(at, f_fma(f_load(at), f_set1(keep[i]), added));
      }
    }
  }
  for (int b = 0; b < n; ++b) {
    if (parts[b].list->v_bits != 16) continue;
    const auto* halves = reinterpret_cast<const uint16_t*>(parts[b].block->v_codes);
    for (int t = 0; t < parts[b].tokens; ++t, halves += dim) {
      for (int i = 0; i < NQ; ++i) {
        const F weight = f_set1(s[i][kBlockTokens * b + t]);
        for (int d = 0; d < dim; d += 16) {
          f_store(o + i * dim + d, f_fma(f_half(halves + d), weight, f_load(o + i * dim + d)));
        }
      }
    }
  }
}

void prepare_queries(const float* q, int n_queries, int head_dim, CodeQueries* out) {
  out->values = q;
  out->n_queries = n_queries;
  out->head_dim = head_dim;
  for (int i = 0; i < n_queries; ++i, q += head_dim) {
    F top = f_zero();
    for (int d = 0; d < head_dim; d += 16) top = f_max(top, f_abs(f_load(q + d)));
    const float largest = f_top(top);
    const F inverse = f_set1(largest > 0.0f ? kActivationTop / largest : 0.0f);
    out->scale[i] = largest / kActivationTop;
    out->code_sum[i] = 0;
    for (int d = 0; d < head_dim; d += 32) {
      const F v[2] = {f_load(q + d), f_load(q + d + 16)};
      out->code_sum[i] += quantize_codes(v, inverse, out->codes + 2 * (i * head_dim + d));
    }
  }
}

void attend_codes(const CodeQueries& q, const CodeList* lists, int n_lists, AttendState* state,
                  float* o) {
  for (int first = 0; first < q.n_queries;) {
    const int count = queries_together(q.n_queries - first);
    Walk walk{lists, lists + n_lists};
    Part parts[2][kPassBlocks];
    int n = walk.take(parts[0]);
    for (int now = 0; n > 0; now ^= 1) {
      const int n_next = walk.take(parts[now ^ 1]);
      with_count(count, [&]<int NQ>() {
        attend_parts<NQ>(q, first, parts[now], n, parts[now ^ 1], n_next, state + first,
                         o + first * q.head_dim);
      });
      n = n_next;
    }
    first += count;
  }
}

// o = o * keep + sum of weight * v over the lanes of n blocks that `seen` marks.
template <int NQ>
void add_lanes(const uint16_t* const* v_blocks, const uint16_t* seen, int n, int head_dim,
               const float (*weights)[kScoreTokens], const float* keep, float* o) {
  for (int d = 0; d < head_dim; d += 16) {
    F acc[NQ];
    for (int i = 0; i < NQ; ++i) acc[i] = f_mul(f_load(o + i * head_dim + d), f_set1(keep[i]));
    for (int b = 0; b < n; ++b) {
      for (unsigned left = seen[b]; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        const F v = f_half(v_blocks[b] + t * head_dim + d);
        for (int i = 0; i < NQ; ++i) {
          acc[i] = f_fma(v, f_set1(weights[i][kBlockTokens * b + t]), acc[i]);
        }
      }
    }
    for (int i = 0; i < NQ; ++i) f_store(o + i * head_dim + d, acc[i]);
  }
}

template <int NQ>
void attend_lanes(const float* q, int head_dim, const uint16_t* const* k_blocks,
                  const uint16_t* const* v_blocks, int n_blocks, const uint16_t* lanes,
                  const int* visible, AttendState* state, float* o, float* scores) {
  alignas(64) float s[NQ][kScoreTokens];
  for (int first = 0; first < n_blocks; first += kPassBlocks) {
    const int n = n_blocks - first < kPassBlocks ? n_blocks - first : kPassBlocks;
    const int start = kBlockTokens * first, size = kBlockTokens * n;
    uint16_t seen[kPassBlocks] = {};
    F top[NQ];
    for (int i = 0; i < NQ; ++i) top[i] = f_set1(lowest());
    for (int b = first; b < first + n; ++b) {
      F ignored[NQ];
      for (int i = 0; i < NQ; ++i) ignored[i] = top[i];
      score_block<NQ, kScoreSums>(q, head_dim, k_blocks[b], v_blocks[b], kBlockTokens * b, start,
                                  visible, s, ignored);
      for (int i = 0; i < NQ; ++i) {
        float* at = s[i] + kBlockTokens * b - start;
        const F score = f_keep_lanes(f_load(at), lanes[b]);
        f_store(at, score);
        f_store(scores + kBlockTokens * (i * n_blocks + b), score);
        top[i] = f_max(top[i], score);
        const int here = visible[i] - kBlockTokens * b;
        const unsigned mask = here >= 16 ? 0xFFFFu : here <= 0 ? 0u : (1u << here) - 1;
        seen[b - first] = static_cast<uint16_t>(seen[b - first] | (mask & lanes[b]));
      }
    }
    float keep[NQ];
    for (int i = 0; i < NQ; ++i) keep[i] = softmax_step(s[i], size, top[i], state + i, s[i]);
    add_lanes<NQ>(v_blocks + first, seen, n, head_dim, s, keep, o);
  }
}

void attend_window(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
                   const uint16_t* const* v_blocks, int n_blocks, const uint16_t* lanes,
                   const int* visible, AttendState* state, float* o, float* scores) {
  for (int first = 0; first < n_queries;) {
    const int count = queries_together(n_queries - first);
    with_count(count, [&]<int NQ>() {
      attend_lanes<NQ>(q + first * head_dim, head_dim, k_blocks, v_blocks, n_blocks, lanes,
                       visible + first, state + first, o + first * head_dim,
                       scores + kBlockTokens * n_blocks * first);
    });
    first += count;
  }
}

void add_weights(const float* scores, int n, float max, float factor, float* sum) {
  for (int t = 0; t < n; t += 16) {
    const F weight = softmax_weight(f_load(scores + t), max);
    f_store(sum + t, f_fma(weight, f_set1(factor), f_load(sum + t)));
  }
}

// ------------------------------------------------------------------------------- small network

// Weights as attention's keys: a stream of n_in / 4 vectors for each 16 outputs.
void pack_mlp(const int8_t* weights, int n_in, int n_out, uint8_t* packed) {
  const int tiles = (n_out + 15) / 16;
  for (int row = 0; row < 16 * tiles; ++row) {
    for (int i = 0; i < n_in; ++i) {
      const int w = row < n_out ? weights[row * n_in + i] : 0;
      packed[row / 16 * 16 * n_in + i / 4 * 64 + row % 16 * 4 + i % 4] =
          static_cast<uint8_t>((w + 128) ^ kFlip);
    }
  }
}

template <int NQ>
void mlp_rows(const MlpLayer& layer, const float* x, float* y) {
  alignas(64) int8_t codes[NQ * 2 * kMaxHeadDim];
  const int n_in = layer.n_in;
  float scale[NQ], offset[NQ];
  for (int i = 0; i < NQ; ++i, x += n_in) {
    F top = f_zero();
    for (int d = 0; d < n_in; d += 16) top = f_max(top, f_abs(f_load(x + d)));
    const float largest = f_top(top);
    const F inverse = f_set1(largest > 0.0f ? 127.0f / largest : 0.0f);
    int32_t sum = 0;
    for (int d = 0; d < n_in; d += 32) {
      const F v[2] = {f_load(x + d), f_load(x + d + 16)};
      sum += quantize_codes(v, inverse, codes + 2 * (i * n_in + d));
    }
    scale[i] = largest / 127.0f;
    offset[i] = static_cast<float>((128 - kFlip) * sum);
  }
  for (int j = 0; j < layer.n_out; j += 16 * kStreams) {
    const uint8_t* streams[kStreams];
    for (int k = 0; k < kStreams; ++k) {
      const int tile = j + 16 * k < layer.n_out ? j + 16 * k : j;
      streams[k] = layer.weights + tile * n_in;
    }
    F sum[NQ][kStreams];
    dots<NQ, kStreams>(streams, n_in / 4, codes, 2 * n_in, sum);
    for (int k = 0; k < kStreams; ++k) {
      const int row = j + 16 * k, left = layer.n_out - row;
      for (int i = 0; i < NQ; ++i) {
        alignas(64) float out[16];
        f_store(out, f_sub(sum[i][k], f_set1(offset[i])));
        for (int r = 0; r < 16 && r < left; ++r) {
          const float value = out[r] * (scale[i] * layer.scale[row + r]) + layer.bias[row + r];
          y[i * layer.n_out + row + r] = layer.relu && value < 0.0f ? 0.0f : value;
        }
      }
    }
  }
}

void mlp_layer(const MlpLayer& layer, const float* x, int rows, float* y) {
  for (int r = 0; r < rows;) {
    const int count = queries_together(rows - r);
    with_count(count,
               [&]<int NQ>() { mlp_rows<NQ>(layer, x + r * layer.n_in, y + r * layer.n_out); });
    r += count;
  }
}
