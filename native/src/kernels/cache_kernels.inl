// The kernels of the quantized cache over 16-lane primitives; included behind vector_kernels.inl.
//
// Beyond what that needs, an instruction set must define
//   F      f_min f_first (lane 0) f_swap<H>(x) (lanes i and i ^ H change places) f_bytes (16
//   unsigned
//          bytes) f_scales (16 scale bytes) f_keep_lanes(s, bits) f_split(x, &n) (x less its
//          floor; n is for f_ldexp) f_ldexp(p, n) (p * 2^n; exactly 0 for x far below -126) f_ints
//          (integral lanes to int32_t)
//   W      w_store w_flip (every byte ^ 128) w_bits<S, M> (every byte shifted right by S, and M)
//          w_shift<S> (right by S, left if negative; bits that cross into another byte are any)
//          w_merge(a, b) (bits 0, 1, 4, 5 of a, bits 2 and 6 of b, others any)
//   products of byte codes with numbers of 8 bits, 32 of which take kNumberBytes:
//          store_bytes (rounds two F, in place and to numbers)
//          KeyDot key_zero key_step key_end: numbers are -127..127
//          ValueDot value_zero value_step value_end: numbers are 0..255
//   kFlipKeys, kFlipValues  what 8-bit codes are flipped by for key_step and value_step: 128 where
//          these want signed bytes, else 0
//   kSums  how many KeyDots or ValueDots registers hold beside their operands
//
// Attention unpacks a block's codes into bytes (one kilobyte, in the first-level cache), for all
// queries at once; from there on every width is the same: products of bytes with queries, then with
// softmax weights, of 8 bits. On text of 1,536 tokens their rounding moves the model's output by a
// divergence of 0.00005, codes of 3.5 bits by a hundred times that; 16 bits would double the work.

// Softmax weight exp(s - shift), relative error below 1e-5; exactly 0 for s - shift < -88.
__attribute__((always_inline)) inline F softmax_weight(F s, float shift) {
  constexpr float kLog2e = 1.44269504088896341f;
  const F x = f_fma(s, f_set1(kLog2e), f_set1(-shift * kLog2e));
  F n;
  const F r = f_split(x, &n);
  F p = f_fma(f_set1(0.013534168f), r, f_set1(0.052011460f));
  p = f_fma(p, r, f_set1(0.241442755f));
  p = f_fma(p, r, f_set1(0.693003833f));
  p = f_fma(p, r, f_set1(1.000002623f));
  return f_ldexp(p, n);
}

// Takes a score into a state's maximum: what weights are relative to, and what the output so far
// must be multiplied by.
inline float raise(AttendState* state, F top, float* keep) {
  const float here = f_top(top);
  const float largest = here > state->max ? here : state->max;
  // A query that has seen nothing yet keeps weights of zero instead of exp(-inf + inf).
  const float shift = largest == lowest() ? 0.0f : largest;
  *keep = state->max == lowest() ? 0.0f : f_first(f_exp(f_set1(state->max - shift)));
  state->max = largest;
  return shift;
}

// Queries that are taken together, of those that are left: 1, 2, 3, 6 or 12.
inline int queries_together(int left, int most) {
  return left >= 12 && most >= 12 ? 12 : left >= 6 && most >= 6 ? 6 : left >= 3 ? 3 : left;
}

// Calls body with such a number as a constant.
template <int Most, class Body>
inline void with_count(int n, Body body) {
  switch (n) {
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 3:
      return body.template operator()<3>();
    case 6:
      if constexpr (Most >= 6) body.template operator()<6>();
      return;
    default:
      if constexpr (Most >= 12) body.template operator()<12>();
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

// Code of the best scale among the candidates around the centre (see scalar::best_scale), which are
// the lanes here.
inline int best_scale(const float* x, int dim, int bits, int exponent) {
  static_assert(kScaleCandidates == 16);
  const float top = static_cast<float>((1 << bits) - 1);
  F squares = f_zero();
  for (int d = 0; d < dim; d += 16) squares = f_fma(f_load(x + d), f_load(x + d), squares);
  const float rms = __builtin_sqrtf(f_sum(squares) / static_cast<float>(dim));
  const int centre = nearest_scale(kCentre[bits] * rms, exponent);
  const int first = centre < kBelowCentre         ? 0
                    : centre > 255 - kAboveCentre ? 255 - kBelowCentre - kAboveCentre
                                                  : centre - kBelowCentre;
  uint8_t candidates[kScaleCandidates];
  for (int i = 0; i < kScaleCandidates; ++i) candidates[i] = static_cast<uint8_t>(first + i);
  const F scale = f_scales(candidates, exponent);
  const F half_step = f_div(f_set1(0.5f), scale);
  F error[4] = {f_zero(), f_zero(), f_zero(), f_zero()};
  for (int d = 0; d < dim; d += 4) {
    for (int i = 0; i < 4; ++i) {
      const F exact = f_fma(half_step, f_set1(x[d + i]), f_set1(0.5f * top));
      const F e = f_sub(exact, f_min(f_max(f_round(exact), f_zero()), f_set1(top)));
      error[i] = f_fma(e, e, error[i]);
    }
  }
  float errors[kScaleCandidates];
  const F sum = f_add(f_add(error[0], error[1]), f_add(error[2], error[3]));
  f_store(errors, f_mul(sum, f_mul(scale, scale)));
  int best = 0;
  for (int i = 1; i < kScaleCandidates; ++i) {
    if (errors[i] < errors[best]) best = i;
  }
  return first + best;
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

struct KeyProduct {
  using Sum = KeyDot;
  static Sum zero() { return key_zero(); }
  static void step(Sum& sum, const W& w, const int8_t* v, int j) { key_step(sum, w, v, j); }
  static F end(const Sum& sum) { return key_end(sum); }
};
struct ValueProduct {
  using Sum = ValueDot;
  static Sum zero() { return value_zero(); }
  static void step(Sum& sum, const W& w, const int8_t* v, int j) { value_step(sum, w, v, j); }
  static F end(const Sum& sum) { return value_end(sum); }
};

// Vectors of codes that share a load of the queries' or weights' side: 1, 2 or 4.
constexpr int streams_together(int queries) {
  if (queries > kAttendQueries) queries = kAttendQueries;
  return kSums / queries >= 4 ? 4 : kSums / queries >= 2 ? 2 : 1;
}

// out[i][s] = products of stream s, `steps` vectors of byte codes, with the numbers of query i:
// codes + i * stride, kNumberBytes for 8 vectors. steps: a multiple of 8.
template <class Product, int NQ, int NS>
inline void dots(const uint8_t* const* streams, int steps, const int8_t* codes, int stride,
                 F (*out)[NS]) {
  if constexpr (NQ > kAttendQueries) {
    for (int i = 0; i < NQ; i += kAttendQueries) {
      dots<Product, kAttendQueries, NS>(streams, steps, codes + i * stride, stride, out + i);
    }
    return;
  }
  typename Product::Sum sum[NQ][NS];
  for (int i = 0; i < NQ; ++i) {
    for (int s = 0; s < NS; ++s) sum[i][s] = Product::zero();
  }
  for (int step = 0; step < steps; step += 8, codes += kNumberBytes) {
    for (int j = 0; j < 8; ++j) {
      W w[NS];
      for (int s = 0; s < NS; ++s) w[s] = w_load(streams[s] + 64 * (step + j));
      for (int i = 0; i < NQ; ++i) {
        for (int s = 0; s < NS; ++s) Product::step(sum[i][s], w[s], codes + i * stride, j);
      }
    }
  }
  for (int i = 0; i < NQ; ++i) {
    for (int s = 0; s < NS; ++s) out[i][s] = Product::end(sum[i][s]);
  }
}

// Vector j of a block's n, as bytes, to out + 64 * (j % 4 + j / 4 * QuadStride). Not
// inlined, like the other parts of attention: one copy, and each can be profiled and modelled.
template <int QuadStride>
__attribute__((noinline)) void unpack(const uint8_t* codes, int n, int bits, bool flip,
                                      uint8_t* out) {
  const auto put = [&](int j, W w) { w_store(out + 64 * (j + j / 4 * (QuadStride - 4)), w); };
  const auto get = [&](int i) { return w_load(codes + 64 * i); };
  if (bits == 8) {
    for (int i = 0; i < n; ++i) put(i, flip ? w_flip(get(i)) : get(i));
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
    // Merged first, two codes to a byte: top bit b belongs to vector i + b * rows.
    const int rows = n / 8;
    for (int i = 0; i < rows; ++i) {
      const W even = get(i), odd = get(i + rows), top = get(i + 2 * rows);
      const auto put_pair = [&](int b, W pair) {
        put(i + b * rows, w_bits<0, 7>(pair));
        put(i + (b + 4) * rows, w_bits<4, 7>(pair));
      };
      put_pair(0, w_merge(even, w_shift<-2>(top)));
      put_pair(1, w_merge(odd, w_shift<-1>(top)));
      put_pair(2, w_merge(w_shift<2>(even), top));
      put_pair(3, w_merge(w_shift<2>(odd), w_shift<1>(top)));
    }
  }
}

// What a code c of lane t stands for: step[t] * (c - zero[t]); flip: what 8-bit codes were flipped
// by.
inline void code_meaning(const uint8_t* scales, int bits, int exponent, int flip, F* step,
                         F* zero) {
  const F scale = f_scales(scales, exponent);
  *step = bits == 8 ? scale : f_add(scale, scale);
  *zero = bits == 8 ? f_sub(f_bytes(scales + 16), f_set1(static_cast<float>(flip)))
                    : f_set1(0.5f * static_cast<float>((1 << bits) - 1));
}

inline void prefetch_codes(const uint8_t* codes, const uint8_t* scales, int dim, int bits) {
  for (int i = 0; i < 2 * dim * bits; i += 64) __builtin_prefetch(codes + i);
  if (bits != 16) __builtin_prefetch(scales);
}

// ------------------------------------------------------------------------------- attention

constexpr int kPassBlocks = 16;  // blocks between two rescalings
constexpr int kPassTokens = kPassBlocks * kBlockTokens;

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

// What code_meaning says about the blocks of a pass.
struct Meanings {
  F step[kPassBlocks], zero[kPassBlocks];
};

// Sums of query codes times key codes: the scores of lane t less its zero's and scales' share.
template <int NQ>
__attribute__((noinline)) void multiply_keys(const CodeQueries& q, int first, const Part* parts,
                                             int n, uint8_t* bytes, float (*s)[kPassTokens],
                                             Meanings* keys) {
  constexpr int kStreams = streams_together(NQ);
  const int dim = q.head_dim, vectors = dim / 4, stride = dim / 32 * kNumberBytes;
  for (int b = 0; b < n; b += kStreams) {
    const uint8_t* streams[kStreams];
    for (int k = 0; k < kStreams; ++k) {
      streams[k] = bytes + 64 * vectors * k;
      if (b + k >= n) continue;
      const CodeBlock& block = *parts[b + k].block;
      const CodeList& list = *parts[b + k].list;
      prefetch_codes(block.v_codes, block.v_scales, dim, list.v_bits);
      unpack<4>(block.k_codes, vectors, list.k_bits, kFlipKeys != 0, bytes + 64 * vectors * k);
      keys->step[b + k] = f_set1(1.0f);
      keys->zero[b + k] = f_zero();
      if (list.k_bits == 16) continue;
      code_meaning(block.k_scales, list.k_bits, list.k_exponent, kFlipKeys, keys->step + b + k,
                   keys->zero + b + k);
    }
    F sum[NQ][kStreams];
    dots<KeyProduct, NQ, kStreams>(streams, vectors, q.codes + first * stride, stride, sum);
    for (int k = 0; k < kStreams && b + k < n; ++k) {
      if (parts[b + k].list->k_bits == 16) {
        // Products of floats, divided by the scale that all sums will be multiplied by.
        const auto* halves = reinterpret_cast<const uint16_t*>(parts[b + k].block->k_codes);
        for (int i = 0; i < NQ; ++i) {
          const float scale = q.scale[first + i], inverse = scale > kLeastTop ? 1.0f / scale : 0.0f;
          sum[i][k] = f_zero();
          for (int d = 0; d < dim; ++d) {
            sum[i][k] = f_fma(f_half(halves + kBlockTokens * d),
                              f_set1(q.values[(first + i) * dim + d] * inverse), sum[i][k]);
          }
        }
      }
      for (int i = 0; i < NQ; ++i) f_store(s[i] + kBlockTokens * (b + k), sum[i][k]);
    }
  }
}

// Sums of multiply_keys become scores, these weights, and these times the values' scales integers
// of 8 bits: codes [NQ][kNumberBytes for 2 blocks], and their scales. zeros: what the codes' zero
// points add up to.
template <int NQ>
__attribute__((noinline)) void weigh_parts(const CodeQueries& q, int first, const Part* parts,
                                           int n, const Meanings& keys, AttendState* state,
                                           float (*s)[kPassTokens], float* keep, int8_t* codes,
                                           float* scale, float* zeros) {
  constexpr float kTop = 255.0f;
  Meanings values;
  for (int b = 0; b < n; ++b) {
    const CodeList& list = *parts[b].list;
    values.step[b] = values.zero[b] = f_zero();
    if (list.v_bits == 16) continue;
    code_meaning(parts[b].block->v_scales, list.v_bits, list.v_exponent, kFlipValues,
                 values.step + b, values.zero + b);
  }
  F top[NQ];
  for (int i = 0; i < NQ; ++i) {
    const F factor = f_set1(q.scale[first + i]);
    const F sum = f_set1(-static_cast<float>(q.code_sum[first + i]));
    top[i] = f_set1(lowest());
    for (int b = 0; b < n; ++b) {
      float* at = s[i] + kBlockTokens * b;
      F score = f_mul(f_fma(keys.zero[b], sum, f_load(at)), f_mul(keys.step[b], factor));
      if (parts[b].tokens < kBlockTokens) score = f_keep_first(score, parts[b].tokens);
      f_store(at, score);
      top[i] = f_max(top[i], score);
    }
  }
  // All queries together where lanes are joined: each of that waits for many others.
  F product[NQ][kPassBlocks + 1], total[NQ], largest[NQ];
  float shift[NQ], inverse[NQ];
  for (int i = 0; i < NQ; ++i) shift[i] = raise(state + i, top[i], keep + i);
  for (int i = 0; i < NQ; ++i) {
    total[i] = largest[i] = f_zero();
    for (int b = 0; b < n; ++b) {
      const F weight = softmax_weight(f_load(s[i] + kBlockTokens * b), shift[i]);
      f_store(s[i] + kBlockTokens * b, weight);
      total[i] = f_add(total[i], weight);
      product[i][b] = f_mul(weight, values.step[b]);
      largest[i] = f_max(largest[i], product[i][b]);
    }
    product[i][n] = f_zero();
  }
  for (int i = 0; i < NQ; ++i) {
    const float most = f_top(largest[i]);
    inverse[i] = most > kLeastTop ? kTop / most : 0.0f;
    scale[i] = most / kTop;
    state[i].total = state[i].total * keep[i] + f_sum(total[i]);
  }
  F sum[NQ];
  for (int i = 0; i < NQ; ++i, codes += kNumberBytes * kPassBlocks / 2) {
    sum[i] = f_zero();
    for (int b = 0; b < n; b += 2) {
      F pair[2] = {f_mul(product[i][b], f_set1(inverse[i])),
                   f_mul(product[i][b + 1], f_set1(inverse[i]))};
      store_bytes(pair, codes + b / 2 * kNumberBytes);
      // Of the rounded weight, or its error would meet the code instead of the code less its zero.
      sum[i] = f_fma(pair[0], values.zero[b], sum[i]);
      if (b + 1 < n) sum[i] = f_fma(pair[1], values.zero[b + 1], sum[i]);
    }
  }
  for (int i = 0; i < NQ; ++i) zeros[i] = scale[i] * f_sum(sum[i]);
}

template <int NQ>
void attend_parts(const CodeQueries& q, int first, const Part* parts, int n, const Part* next,
                  int n_next, AttendState* state, float* o) {
  // Not a multiple of 4 KiB, or stores would seem to meet the loads of later ones.
  constexpr int kQuadStride = 4 * kPassBlocks + 2;
  constexpr int kStride = kNumberBytes * kPassBlocks / 2;
  alignas(64) float s[NQ][kPassTokens];
  alignas(64) uint8_t bytes[64 * kQuadStride * (kMaxHeadDim / 16)];
  alignas(64) int8_t codes[NQ * kStride];
  const int dim = q.head_dim;
  Meanings keys;
  multiply_keys<NQ>(q, first, parts, n, bytes, s, &keys);
  float keep[NQ], scale[NQ], zeros[NQ];
  weigh_parts<NQ>(q, first, parts, n, keys, state, s, keep, codes, scale, zeros);
  for (int b = 0; b < n; ++b) {
    unpack<kQuadStride>(parts[b].block->v_codes, dim / 4, parts[b].list->v_bits, kFlipValues != 0,
                        bytes + 256 * b);
    if (b < n_next) {
      prefetch_codes(next[b].block->k_codes, next[b].block->k_scales, dim, next[b].list->k_bits);
    }
  }
  // Products take blocks in pairs; the missing one has weights of zero.
  for (int g = 0; n % 2 && g < dim / 16; ++g) {
    __builtin_memset(bytes + 64 * (kQuadStride * g + 4 * n), 0, 256);
  }
  const auto add = [&]<int NS>(int d) {
    const uint8_t* streams[NS];
    for (int k = 0; k < NS; ++k) streams[k] = bytes + 64 * kQuadStride * (d / 16 + k);
    F sum[NQ][NS];
    dots<ValueProduct, NQ, NS>(streams, 4 * (n + n % 2), codes, kStride, sum);
    for (int i = 0; i < NQ; ++i) {
      for (int k = 0; k < NS; ++k) {
        float* at = o + i * dim + d + 16 * k;
        const F added = f_fma(sum[i][k], f_set1(scale[i]), f_set1(-zeros[i]));
        f_store(at, f_fma(f_load(at), f_set1(keep[i]), added));
      }
    }
  };
  constexpr int kStreams = streams_together(NQ);
  int d = 0;
  for (; dim - d >= 16 * kStreams; d += 16 * kStreams) add.template operator()<kStreams>(d);
  // Dimensions are pairs of 16.
  if constexpr (kStreams > 2) {
    if (d < dim) add.template operator()<2>(d);
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

// n numbers as 8-bit integers, the largest magnitude as 127: their scale, and the integers' sum.
struct Rounded {
  float scale;
  int32_t sum;
};
inline Rounded round_row(const float* x, int n, int8_t* codes) {
  constexpr float kTop = 127.0f;
  F top = f_zero(), sum = f_zero();
  for (int d = 0; d < n; d += 16) top = f_max(top, f_abs(f_load(x + d)));
  const float largest = f_top(top);
  const F inverse = f_set1(largest > kLeastTop ? kTop / largest : 0.0f);
  for (int d = 0; d < n; d += 32, codes += kNumberBytes) {
    F v[2] = {f_mul(f_load(x + d), inverse), f_mul(f_load(x + d + 16), inverse)};
    store_bytes(v, codes);
    sum = f_add(sum, f_add(v[0], v[1]));
  }
  return {largest / kTop, static_cast<int32_t>(f_sum(sum))};
}

void prepare_queries(const float* q, int n_queries, int head_dim, CodeQueries* out) {
  const int stride = head_dim / 32 * kNumberBytes;
  out->values = q;
  out->n_queries = n_queries;
  out->head_dim = head_dim;
  for (int i = 0; i < n_queries; ++i) {
    const Rounded row = round_row(q + i * head_dim, head_dim, out->codes + i * stride);
    out->scale[i] = row.scale;
    out->code_sum[i] = row.sum;
  }
}

void attend_codes(const CodeQueries& q, const CodeList* lists, int n_lists, AttendState* state,
                  float* o) {
  for (int first = 0; first < q.n_queries;) {
    const int count = queries_together(q.n_queries - first, kMaxQueries);
    Walk walk{lists, lists + n_lists};
    Part parts[2][kPassBlocks];
    int n = walk.take(parts[0]);
    for (int now = 0; n > 0; now ^= 1) {
      const int n_next = walk.take(parts[now ^ 1]);
      with_count<kMaxQueries>(count, [&]<int NQ>() {
        attend_parts<NQ>(q, first, parts[now], n, parts[now ^ 1], n_next, state + first,
                         o + first * q.head_dim);
      });
      n = n_next;
    }
    first += count;
  }
}

constexpr int kWindowBlocks = kScoreTokens / kBlockTokens;

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
  for (int first = 0; first < n_blocks; first += kWindowBlocks) {
    const int n = n_blocks - first < kWindowBlocks ? n_blocks - first : kWindowBlocks;
    const int start = kBlockTokens * first, size = kBlockTokens * n;
    uint16_t seen[kWindowBlocks] = {};
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
    for (int i = 0; i < NQ; ++i) {
      const float shift = raise(state + i, top[i], keep + i);
      F total = f_zero();
      for (int t = 0; t < size; t += 16) {
        const F weight = softmax_weight(f_load(s[i] + t), shift);
        f_store(s[i] + t, weight);
        total = f_add(total, weight);
      }
      state[i].total = state[i].total * keep[i] + f_sum(total);
    }
    add_lanes<NQ>(v_blocks + first, seen, n, head_dim, s, keep, o);
  }
}

void attend_window(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
                   const uint16_t* const* v_blocks, int n_blocks, const uint16_t* lanes,
                   const int* visible, AttendState* state, float* o, float* scores) {
  for (int first = 0; first < n_queries;) {
    const int count = queries_together(n_queries - first, kAttendQueries);
    with_count<kAttendQueries>(count, [&]<int NQ>() {
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
          static_cast<uint8_t>((w + 128) ^ kFlipKeys);
    }
  }
}

template <int NQ>
void mlp_rows(const MlpLayer& layer, const float* x, float* y) {
  alignas(64) int8_t codes[NQ * kMaxHeadDim / 32 * kNumberBytes];
  const int n_in = layer.n_in, stride = n_in / 32 * kNumberBytes;
  float scale[NQ], offset[NQ];
  for (int i = 0; i < NQ; ++i) {
    const Rounded row = round_row(x + i * n_in, n_in, codes + i * stride);
    scale[i] = row.scale;
    offset[i] = static_cast<float>((128 - kFlipKeys) * row.sum);
  }
  constexpr int kStreams = streams_together(NQ);
  for (int j = 0; j < layer.n_out; j += 16 * kStreams) {
    const uint8_t* streams[kStreams];
    for (int k = 0; k < kStreams; ++k) {
      const int tile = j + 16 * k < layer.n_out ? j + 16 * k : j;
      streams[k] = layer.weights + tile * n_in;
    }
    F sum[NQ][kStreams];
    dots<KeyProduct, NQ, kStreams>(streams, n_in / 4, codes, stride, sum);
    for (int k = 0; k < kStreams; ++k) {
      const int row = j + 16 * k;
      const int left = layer.n_out - row < 16 ? layer.n_out - row : 16;
      if (left <= 0) break;
      float factor[16] = {}, bias[16] = {}, out[16];
      __builtin_memcpy(factor, layer.scale + row, sizeof(float) * static_cast<size_t>(left));
      __builtin_memcpy(bias, layer.bias + row, sizeof(float) * static_cast<size_t>(left));
      for (int i = 0; i < NQ; ++i) {
        const F product = f_mul(f_load(factor), f_set1(scale[i]));
        const F value = f_fma(f_sub(sum[i][k], f_set1(offset[i])), product, f_load(bias));
        const F result = layer.relu ? f_max(value, f_zero()) : value;
        float* to = y + i * layer.n_out + row;
        f_store(left == 16 ? to : out, result);
        for (int r = 0; left < 16 && r < left; ++r) to[r] = out[r];
      }
    }
  }
}

void mlp_layer(const MlpLayer& layer, const float* x, int rows, float* y) {
  for (int r = 0; r < rows;) {
    const int count = queries_together(rows - r, kAttendQueries);
    with_count<kAttendQueries>(
        count, [&]<int NQ>() { mlp_rows<NQ>(layer, x + r * layer.n_in, y + r * layer.n_out); });
    r += count;
  }
}
