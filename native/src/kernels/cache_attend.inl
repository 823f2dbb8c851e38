// Attention over codes.
//
// Attention unpacks a block's codes into bytes (one kilobyte, in the first-level cache), for all
// queries at once; from there on every width is the same: products of bytes with queries, then with
// softmax weights, of 8 bits. On text of 1,536 tokens their rounding moves the model's output by a
// divergence of 0.00005, codes of 3.5 bits by a hundred times that; 16 bits would double the work.

// Vector j of a block's n, as bytes, to out + 64 * (j % 4 + j / 4 * QuadStride). Not inlined, like
// the other parts of attention: one copy, and each can be profiled and modelled.
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

void prepare_queries(const float* q, int n_queries, int head_dim, CodeQueries* out) {
  const int stride = head_dim / 32 * kNumberBytes;
  out->values = q;
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
