// Attention over codes.
//
// Attention unpacks a block's codes into bytes, for all queries at once: in registers where these
// hold the sums besides, else into memory (one kilobyte, in the first-level cache). From there on
// every width is the same: products of bytes with queries, then with softmax weights, of 8 bits. On
// text of 1,536 tokens their rounding moves the model's output by a divergence of 0.00005, codes
// of 3.5 bits by a hundred times that; 16 bits would double the work.

// Calls body(0 .. n - 1); unrolled where N says beforehand how often.
template <int N, class Body>
__attribute__((always_inline)) inline void repeat(int n, Body body) {
  if constexpr (N > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) body(i);
  } else {
    for (int i = 0; i < n; ++i) body(i);
  }
}

// Calls put(j, w) with each vector j of a block's as bytes. N: how many there are, or 0 for n of
// them; with a constant number nothing about j is left to compute.
template <int N, class Put>
__attribute__((always_inline)) inline void each_vector(const uint8_t* codes, int n, int bits,
                                                       bool flip, Put put) {
  if constexpr (N > 0) n = N;
  const auto get = [&](int i) __attribute__((always_inline)) { return w_load(codes + 64 * i); };
  if (bits == 8) {
    repeat<N>(
        n, [&](int i) __attribute__((always_inline)) { put(i, flip ? w_flip(get(i)) : get(i)); });
  } else if (bits == 4) {
    repeat<N / 2>(n / 2, [&](int i) __attribute__((always_inline)) {
      const W w = get(i);
      put(i, w_bits<0, 15>(w));
      put(i + n / 2, w_bits<4, 15>(w));
    });
  } else if (bits == 2) {
    repeat<N / 4>(n / 4, [&](int i) __attribute__((always_inline)) {
      const W w = get(i);
      put(i, w_bits<0, 3>(w));
      put(i + n / 4, w_bits<2, 3>(w));
      put(i + n / 4 * 2, w_bits<4, 3>(w));
      put(i + n / 4 * 3, w_bits<6, 3>(w));
    });
  } else if (bits == 3) {
    // Merged first, two codes to a byte: top bit b belongs to vector i + b * rows.
    const int rows = n / 8;
    repeat<N / 8>(rows, [&](int i) __attribute__((always_inline)) {
      const W even = get(i), odd = get(i + rows), top = get(i + 2 * rows);
      const auto put_pair = [&](int b, W pair) __attribute__((always_inline)) {
        put(i + b * rows, w_bits<0, 7>(pair));
        put(i + (b + 4) * rows, w_bits<4, 7>(pair));
      };
      put_pair(0, w_merge(even, w_shift<-2>(top)));
      put_pair(1, w_merge(odd, w_shift<-1>(top)));
      put_pair(2, w_merge(w_shift<2>(even), top));
      put_pair(3, w_merge(w_shift<2>(odd), w_shift<1>(top)));
    });
  }
}

// Vectors of a block of heads of 64 numbers, the size that has code of its own.
constexpr int kUsualVectors = 16;

// Vector j of a block's n, as bytes, to out + 64 * (j % 4 + j / 4 * QuadStride). Not inlined, like
// the other parts of attention: one copy, and each can be profiled and modelled.
template <int QuadStride>
__attribute__((noinline)) void unpack(const uint8_t* codes, int n, int bits, bool flip,
                                      uint8_t* out) {
  const auto put = [&](int j, W w) __attribute__((always_inline)) {
    w_store(out + 64 * (j + j / 4 * (QuadStride - 4)), w);
  };
  if (n == kUsualVectors) {
    each_vector<0>(codes, kUsualVectors, bits, flip, put);
  } else {
    each_vector<0>(codes, n, bits, flip, put);
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

// Blocks between two rescalings: so many, or what is left when that is at most kPassBlocks.
constexpr int kUsualPass = 16, kPassBlocks = 20;
constexpr int kPassTokens = kPassBlocks * kBlockTokens;

// A block on its way through a pass, whatever class it is of.
struct Part {
  const CodeList* list;
  const CodeBlock* block;
  int tokens;
};

// Into the second-level cache: a pass's time is long for the first, whose loads are few.
constexpr int kFetchInto = 2;

// Inlined by force: a call of what only fetches looks to a compiler like one without effect.
__attribute__((always_inline)) inline void prefetch_keys(const Part& part, int dim) {
  for (int i = 0; i < 2 * dim * part.list->k_bits; i += 64) {
    __builtin_prefetch(part.block->k_codes + i, 0, kFetchInto);
  }
  if (part.list->k_bits != 16) __builtin_prefetch(part.block->k_scales, 0, kFetchInto);
}
__attribute__((always_inline)) inline void prefetch_values(const Part& part, int dim) {
  for (int i = 0; i < 2 * dim * part.list->v_bits; i += 64) {
    __builtin_prefetch(part.block->v_codes + i, 0, kFetchInto);
  }
  if (part.list->v_bits != 16) __builtin_prefetch(part.block->v_scales, 0, kFetchInto);
}

// The blocks of a pass, and those of the pass that follows: these are fetched meanwhile, keys while
// keys are computed with and values while values are, so that memory always has something to do and
// a pass's time to do it.
struct Pass {
  const Part *parts, *next;
  int n, n_next;
  // Calls fetch for what falls to block b of the pass, which may be shorter than the next.
  template <class Fetch>
  __attribute__((always_inline)) void ahead(int b, Fetch fetch) const {
    for (int i = b * n_next / n; i < (b + 1) * n_next / n; ++i) fetch(next[i]);
  }
};

// Hands out the lists' blocks, a pass at a time.
struct Walk {
  Walk(const CodeList* lists, int n_lists) : list(lists) {
    for (int i = 0; i < n_lists; ++i) left += (lists[i].n_tokens + kBlockTokens - 1) / kBlockTokens;
  }
  int take(Part* parts) {
    const int n = left <= kPassBlocks ? left : kUsualPass;
    left -= n;
    for (int i = 0; i < n; ++block) {
      const int tokens = list->n_tokens - block * kBlockTokens;
      if (tokens > 0) {
        parts[i++] = {list, list->blocks + block, tokens < kBlockTokens ? tokens : kBlockTokens};
      } else {
        ++list;
        block = -1;
      }
    }
    return n;
  }
  const CodeList* list;
  int block = 0, left = 0;
};

// What code_meaning says about the blocks of a pass.
struct Meanings {
  F step[kPassBlocks], zero[kPassBlocks];
};

// Products of a block's keys, of any width but 16 bits, with NQ queries.
template <int NQ>
__attribute__((always_inline)) inline void block_dots(const uint8_t* block, int n, int bits,
                                                      const int8_t* codes, int stride, F* out) {
  KeyDot sum[NQ];
  for (int i = 0; i < NQ; ++i) sum[i] = key_zero();
  const auto put = [&](int j, const W& w) __attribute__((always_inline)) {
    const int8_t* v = codes + j / 8 * kNumberBytes;
    for (int i = 0; i < NQ; ++i) key_step(sum[i], w, v + i * stride, j % 8);
  };
  // With many queries the loop is a small part, and unrolled code would be large.
  if (NQ <= 6 && n == kUsualVectors) {
    each_vector<kUsualVectors>(block, n, bits, kFlipKeys != 0, put);
  } else {
    each_vector<0>(block, n, bits, kFlipKeys != 0, put);
  }
  for (int i = 0; i < NQ; ++i) out[i] = key_end(sum[i]);
}

// The same of 16 bits: products of floats, divided by the scale that all sums will be multiplied
// by.
template <int NQ>
__attribute__((noinline)) void half_dots(const CodeQueries& q, int first, const uint8_t* block,
                                         F* out) {
  const auto* halves = reinterpret_cast<const uint16_t*>(block);
  for (int i = 0; i < NQ; ++i) {
    const float scale = q.scale[first + i], inverse = scale > kLeastTop ? 1.0f / scale : 0.0f;
    out[i] = f_zero();
    for (int d = 0; d < q.head_dim; ++d) {
      out[i] = f_fma(f_half(halves + kBlockTokens * d),
                     f_set1(q.values[(first + i) * q.head_dim + d] * inverse), out[i]);
    }
  }
}

// Sums of query codes times key codes: the scores of lane t less its zero's and scales' share.
// Few queries meet the codes as they are unpacked; more of them find them unpacked in memory.
template <int NQ>
__attribute__((noinline)) void multiply_keys(const CodeQueries& q, int first, const Pass& pass,
                                             uint8_t* bytes, float (*s)[kPassTokens],
                                             Meanings* keys) {
  constexpr bool kAtOnce = NQ <= kQueriesAtOnce;
  constexpr int kStreams = kAtOnce ? 1 : streams_together(NQ);
  const int dim = q.head_dim, vectors = dim / 4, stride = dim / 32 * kNumberBytes;
  const int8_t* codes = q.codes + first * stride;
  const Part* parts = pass.parts;
  const int n = pass.n;
  for (int b = 0; b < n; b += kStreams) {
    const uint8_t* streams[kStreams];
    F sum[NQ][kStreams];
    for (int k = 0; k < kStreams; ++k) {
      streams[k] = bytes + 64 * vectors * k;
      if (b + k >= n) continue;
      const CodeBlock& block = *parts[b + k].block;
      const CodeList& list = *parts[b + k].list;
      pass.ahead(b + k, [dim](const Part& part)
                            __attribute__((always_inline)) { prefetch_keys(part, dim); });
      keys->step[b + k] = f_set1(1.0f);
      keys->zero[b + k] = f_zero();
      if (list.k_bits == 16) continue;
      code_meaning(block.k_scales, list.k_bits, list.k_exponent, kFlipKeys, keys->step + b + k,
                   keys->zero + b + k);
      if constexpr (!kAtOnce) {
        unpack<4>(block.k_codes, vectors, list.k_bits, kFlipKeys != 0, bytes + 64 * vectors * k);
      }
    }
    if constexpr (kAtOnce) {
      F of_block[NQ];
      block_dots<NQ>(parts[b].block->k_codes, vectors, parts[b].list->k_bits, codes, stride,
                     of_block);
      for (int i = 0; i < NQ; ++i) sum[i][0] = of_block[i];
    } else {
      dots<KeyProduct, NQ, kStreams>(streams, vectors, codes, stride, sum);
    }
    for (int k = 0; k < kStreams && b + k < n; ++k) {
      if (parts[b + k].list->k_bits == 16) {
        F of_block[NQ];
        half_dots<NQ>(q, first, parts[b + k].block->k_codes, of_block);
        for (int i = 0; i < NQ; ++i) sum[i][k] = of_block[i];
      }
      for (int i = 0; i < NQ; ++i) f_store(s[i] + kBlockTokens * (b + k), sum[i][k]);
    }
  }
}

// Sums of multiply_keys become scores, these weights, and these times the values' scales integers
// of 8 bits: codes [NQ][kNumberBytes for 2 blocks], and their scales. zeros: what the codes' zero
// points add up to. weights: of blocks whose values have 16 bits; their codes are zero.
template <int NQ>
__attribute__((noinline)) void weigh_parts(const CodeQueries& q, int first, const Part* parts,
                                           int n, const Meanings& keys, AttendState* state,
                                           float (*s)[kPassTokens], float (*weights)[kPassTokens],
                                           float* keep, int8_t* codes, float* scale, float* zeros) {
  constexpr float kTop = 255.0f;
  Meanings values;
  bool half[kPassBlocks];
  for (int b = 0; b < n; ++b) {
    const CodeList& list = *parts[b].list;
    values.step[b] = values.zero[b] = f_zero();
    half[b] = list.v_bits == 16;
    if (half[b]) continue;
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
  // What there is one of per query, all queries together: lane i is query i.
  Lanes<NQ> before, shift, inverse, factor;
  for (int i = 0; i < NQ; ++i) before.v[i] = state[i].max;
  const F old = f_load(before.v);
  const F largest_score = f_max(old, join_lanes<NQ>(top, Larger{}));
  // A query that has seen nothing yet keeps weights of zero instead of exp(-inf + inf).
  const F from = f_zero_below(largest_score, -3.4e38f, largest_score);
  f_store(shift.v, from);
  f_store(before.v, largest_score);
  f_store(factor.v, f_exp(f_sub(old, from)));
  F total[NQ], largest[NQ];
  for (int i = 0; i < NQ; ++i) {
    F weight_sum = f_zero(), most = f_zero();
    for (int b = 0; b < n; ++b) {
      float* at = s[i] + kBlockTokens * b;
      const F weight = softmax_weight(f_load(at), shift.v[i]);
      const F product = f_mul(weight, values.step[b]);
      f_store(at, product);
      if (half[b]) f_store(weights[i] + kBlockTokens * b, weight);
      weight_sum = f_add(weight_sum, weight);
      most = f_max(most, product);
    }
    // Numbers are pairs of blocks.
    if (n % 2) f_store(s[i] + kBlockTokens * n, f_zero());
    total[i] = weight_sum;
    largest[i] = most;
  }
  const F most = join_lanes<NQ>(largest, Larger{});
  const F scales = f_mul(most, f_set1(1.0f / kTop));
  f_store(inverse.v,
          f_zero_below(most, kLeastTop, f_div(f_set1(kTop), f_max(most, f_set1(kLeastTop)))));
  Lanes<NQ> totals, rounded;
  f_store(totals.v, join_lanes<NQ>(total, Added{}));
  F sum[NQ];
  for (int i = 0; i < NQ; ++i, codes += kNumberBytes * kPassBlocks / 2) {
    sum[i] = f_zero();
    const F by = f_set1(inverse.v[i]);
    for (int b = 0; b < n; b += 2) {
      const float* at = s[i] + kBlockTokens * b;
      F pair[2] = {f_mul(f_load(at), by), f_mul(f_load(at + kBlockTokens), by)};
      store_bytes(pair, codes + b / 2 * kNumberBytes);
      // Of the rounded weight, or its error would meet the code instead of the code less its zero.
      sum[i] = f_fma(pair[0], values.zero[b], sum[i]);
      if (b + 1 < n) sum[i] = f_fma(pair[1], values.zero[b + 1], sum[i]);
    }
  }
  f_store(rounded.v, f_mul(scales, join_lanes<NQ>(sum, Added{})));
  f_store(inverse.v, scales);
  for (int i = 0; i < NQ; ++i) {
    state[i].max = before.v[i];
    state[i].total = state[i].total * factor.v[i] + totals.v[i];
    keep[i] = factor.v[i];
    scale[i] = inverse.v[i];
    zeros[i] = rounded.v[i];
  }
}

// The same products as dots of unpacked values, straight from the codes of a head of 64 numbers.
template <int NQ>
__attribute__((noinline)) void multiply_values(const Pass& pass, const int8_t* codes, int stride,
                                               F (*out)[kUsualVectors / 4]) {
  constexpr int kGroups = kUsualVectors / 4;
  ValueDot sum[NQ][kGroups];
  for (int i = 0; i < NQ; ++i) {
    for (int g = 0; g < kGroups; ++g) sum[i][g] = value_zero();
  }
  for (int b = 0; b < pass.n; ++b) {
    const CodeBlock& block = *pass.parts[b].block;
    const int8_t* v = codes + b / 2 * kNumberBytes;
    const int first = b % 2 * 4;
    pass.ahead(b, [](const Part& part)
                      __attribute__((always_inline)) { prefetch_values(part, 4 * kUsualVectors); });
    each_vector<kUsualVectors>(block.v_codes, kUsualVectors, pass.parts[b].list->v_bits,
                               kFlipValues != 0,
                               [&](int j, const W& w) __attribute__((always_inline)) {
                                 for (int i = 0; i < NQ; ++i)
                                   value_step(sum[i][j / 4], w, v + i * stride, first + j % 4);
                               });
  }
  for (int i = 0; i < NQ; ++i) {
    for (int g = 0; g < kGroups; ++g) out[i][g] = value_end(sum[i][g]);
  }
}

template <int NQ>
void attend_parts(const CodeQueries& q, int first, const Pass& pass, AttendState* state, float* o) {
  // Not a multiple of 4 KiB, or stores would seem to meet the loads of later ones.
  constexpr int kQuadStride = 4 * kPassBlocks + 2;
  constexpr int kStride = kNumberBytes * kPassBlocks / 2;
  alignas(64) float s[NQ][kPassTokens], weights[NQ][kPassTokens];
  alignas(64) uint8_t bytes[64 * kQuadStride * (kMaxHeadDim / 16)];
  alignas(64) int8_t codes[NQ * kStride];
  const int dim = q.head_dim, n = pass.n;
  const Part* parts = pass.parts;
  Meanings keys;
  multiply_keys<NQ>(q, first, pass, bytes, s, &keys);
  float keep[NQ], scale[NQ], zeros[NQ];
  weigh_parts<NQ>(q, first, parts, n, keys, state, s, weights, keep, codes, scale, zeros);
  const auto add = [&](int i, int d, F sum) __attribute__((always_inline)) {
    float* at = o + i * dim + d;
    const F added = f_fma(sum, f_set1(scale[i]), f_set1(-zeros[i]));
    f_store(at, f_fma(f_load(at), f_set1(keep[i]), added));
  };
  const auto unpack_values = [&] {
    for (int b = 0; b < n; ++b) {
      unpack<kQuadStride>(parts[b].block->v_codes, dim / 4, parts[b].list->v_bits, kFlipValues != 0,
                          bytes + 256 * b);
      pass.ahead(b, [dim](const Part& part)
                        __attribute__((always_inline)) { prefetch_values(part, dim); });
    }
    // Products take blocks in pairs; the missing one has weights of zero.
    for (int g = 0; n % 2 && g < dim / 16; ++g) {
      __builtin_memset(bytes + 64 * (kQuadStride * g + 4 * n), 0, 256);
    }
  };
  const auto add_streams = [&]<int NS>(int d) {
    const uint8_t* streams[NS];
    for (int k = 0; k < NS; ++k) streams[k] = bytes + 64 * kQuadStride * (d / 16 + k);
    F sum[NQ][NS];
    dots<ValueProduct, NQ, NS>(streams, 4 * (n + n % 2), codes, kStride, sum);
    for (int i = 0; i < NQ; ++i) {
      for (int k = 0; k < NS; ++k) add(i, d + 16 * k, sum[i][k]);
    }
  };
  const auto add_unpacked = [&] {
    constexpr int kStreams = streams_together(NQ);
    unpack_values();
    int d = 0;
    for (; dim - d >= 16 * kStreams; d += 16 * kStreams) {
      add_streams.template operator()<kStreams>(d);
    }
    // Dimensions are pairs of 16.
    if constexpr (kStreams > 2) {
      if (d < dim) add_streams.template operator()<2>(d);
    }
  };
  if constexpr (4 * NQ <= kSums) {
    if (dim == 4 * kUsualVectors) {
      F sum[NQ][kUsualVectors / 4];
      multiply_values<NQ>(pass, codes, kStride, sum);
      for (int i = 0; i < NQ; ++i) {
        for (int g = 0; g < kUsualVectors / 4; ++g) add(i, 16 * g, sum[i][g]);
      }
    } else {
      add_unpacked();
    }
  } else {
    add_unpacked();
  }
  for (int b = 0; b < n; ++b) {
    if (parts[b].list->v_bits != 16) continue;
    const auto* halves = reinterpret_cast<const uint16_t*>(parts[b].block->v_codes);
    for (int t = 0; t < parts[b].tokens; ++t, halves += dim) {
      for (int i = 0; i < NQ; ++i) {
        const F weight = f_set1(weights[i][kBlockTokens * b + t]);
        for (int d = 0; d < dim; d += 16) {
          f_store(o + i * dim + d, f_fma(f_half(halves + d), weight, f_load(o + i * dim + d)));
        }
      }
    }
  }
}

void prepare_queries(const float* q, int n_queries, int head_dim, CodeQueries* out) {
  const int stride = head_dim / 32 * kNumberBytes;
  out->values = q;
  out->ahead = nullptr;
  out->n_ahead = 0;
  out->n_queries = n_queries;
  out->head_dim = head_dim;
  for (int i = 0; i < n_queries; ++i) {
    const float* x = q + i * head_dim;
    const Rounded row =
        round_row(x, head_dim, largest_magnitude(x, head_dim), out->codes + i * stride);
    out->scale[i] = row.scale;
    out->code_sum[i] = row.sum;
  }
}

void attend_codes(const CodeQueries& q, const CodeList* lists, int n_lists, AttendState* state,
                  float* o) {
  for (int first = 0; first < q.n_queries;) {
    const int count = queries_together(q.n_queries - first, kMaxQueries);
    const bool last = first + count == q.n_queries;
    Walk walk(lists, n_lists);
    // What comes after: the same again for other queries, or what the caller says.
    Walk after(last ? q.ahead : lists, last ? q.n_ahead : n_lists);
    Part parts[2][kPassBlocks];
    int n = walk.take(parts[0]);
    for (int now = 0; n > 0; now ^= 1) {
      Part* next = parts[now ^ 1];
      const int n_next = walk.take(next), n_after = n_next > 0 ? n_next : after.take(next);
      with_count<kMaxQueries>(count, [&]<int NQ>() {
        attend_parts<NQ>(q, first, {parts[now], next, n, n_after}, state + first,
                         o + first * q.head_dim);
      });
      n = n_next;
    }
    first += count;
  }
}
