// What the kernels of the quantized cache share, over 16-lane primitives.
//
// Beyond what vector_kernels.inl wants, an instruction set must define
//   F      f_min f_first (lane 0) f_swap<H>(x) (lanes i and i ^ H change places)
//          f_bytes (16 unsigned bytes) f_scales (16 scale bytes) f_keep_lanes(s, bits)
//          f_ints (integral lanes to int32_t) f_store_half (to 16 halves in memory)
//          f_split(x, &n) (x less its floor; n is for f_ldexp)
//          f_pick<H>(a, b) (lanes whose number has bit H from b, the others from a)
//          f_ldexp(p, n) (p * 2^n; exactly 0 for x far below -126, infinity too)
//   W      w_store w_flip (every byte ^ 128)
//          w_bits<S, M> (every byte shifted right by S, and M)
//          w_shift<S> (right by S, left if negative; bits that cross into another byte are any)
//          w_merge(a, b) (bits 0, 1, 4, 5 of a, bits 2 and 6 of b, others any)
//   products of byte codes with numbers of 8 bits, 32 of which take kNumberBytes:
//          store_bytes (rounds two F, in place and to numbers)
//          KeyDot key_zero key_step key_end: numbers are -127..127
//          ValueDot value_zero value_step value_end: numbers are 0..255
//   kFlipKeys, kFlipValues  what 8-bit codes are flipped by for key_step and value_step: 128 where
//          these want signed bytes, else 0
//   kQueriesAtOnce  most queries that meet a block of keys in registers
//   kSums  how many KeyDots or ValueDots registers hold beside their operands

// Softmax weight exp(s - shift), relative error below 1e-5; exactly 0 far below.
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

// One number per query, as lanes.
template <int NQ>
struct Lanes {
  static_assert(NQ <= 16);
  alignas(64) float v[16] = {};
};

struct Larger {
  F operator()(F a, F b) const { return f_max(a, b); }
};
struct Added {
  F operator()(F a, F b) const { return f_add(a, b); }
};

// Lane i: all lanes of v[i] joined by op, for NQ vectors at once; what lanes from NQ on hold means
// nothing. Halves the number of vectors, or else of the lanes that matter, at each level.
template <int NQ, int H = 8, class Op>
__attribute__((always_inline)) inline F join_lanes(const F* v, Op op) {
  constexpr bool kPairs = NQ > H;
  constexpr int kLeft = kPairs ? H : NQ;
  F w[kLeft];
  for (int i = 0; i < kLeft; ++i) {
    if constexpr (kPairs) {
      const F& other = v[i + H < NQ ? i + H : i];
      w[i] = op(f_pick<H>(v[i], other), f_swap<H>(f_pick<H>(other, v[i])));
    } else {
      w[i] = op(v[i], f_swap<H>(v[i]));
    }
  }
  if constexpr (H == 1) {
    return w[0];
  } else {
    return join_lanes<kLeft, H / 2>(w, op);
  }
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

inline float largest_magnitude(const float* x, int n) {
  F top = f_zero();
  for (int d = 0; d < n; d += 16) top = f_max(top, f_abs(f_load(x + d)));
  return f_top(top);
}

// n numbers as 8-bit integers, the largest magnitude as 127: their scale, and the integers' sum.
struct Rounded {
  float scale;
  int32_t sum;
};
inline Rounded round_row(const float* x, int n, float largest, int8_t* codes) {
  constexpr float kTop = 127.0f;
  F sum = f_zero();
  const F inverse = f_set1(largest > kLeastTop ? kTop / largest : 0.0f);
  for (int d = 0; d < n; d += 32, codes += kNumberBytes) {
    F v[2] = {f_mul(f_load(x + d), inverse), f_mul(f_load(x + d + 16), inverse)};
    store_bytes(v, codes);
    sum = f_add(sum, f_add(v[0], v[1]));
  }
  return {largest / kTop, static_cast<int32_t>(f_sum(sum))};
}
