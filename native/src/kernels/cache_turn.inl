// Keys that are stored before RoPE, made ready for attention: a block at a time, so that every lane
// is a token and no lanes are ever joined.

using Four = float __attribute__((vector_size(16)));

template <int A, int B, int C, int D>
inline Four pick(Four x, Four y) {
#if defined(__clang__)
  return __builtin_shufflevector(x, y, A, B, C, D);
#else
  using Places = int32_t __attribute__((vector_size(16)));
  return __builtin_shuffle(x, y, Places{A, B, C, D});
#endif
}

// Rows [16][dim] become columns [dim][16], in squares of four by four.
inline void columns_of(const float* const* rows, int dim, float (*out)[kBlockTokens]) {
  for (int d = 0; d < dim; d += 4) {
    for (int t = 0; t < kBlockTokens; t += 4) {
      Four row[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(row + i, rows[t + i] + d, sizeof(Four));
      const Four a = pick<0, 4, 1, 5>(row[0], row[1]), b = pick<2, 6, 3, 7>(row[0], row[1]);
      const Four c = pick<0, 4, 1, 5>(row[2], row[3]), e = pick<2, 6, 3, 7>(row[2], row[3]);
      const Four column[4] = {pick<0, 1, 4, 5>(a, c), pick<2, 3, 6, 7>(a, c),
                              pick<0, 1, 4, 5>(b, e), pick<2, 3, 6, 7>(b, e)};
      for (int i = 0; i < 4; ++i) __builtin_memcpy(out[d + i] + t, column + i, sizeof(Four));
    }
  }
}

// The transform of hadamard over columns, not yet divided by the root of its size.
inline void transform_columns(float (*x)[kBlockTokens], int dim) {
  const int n = dim & -dim;
  int h = 1;
  for (; 4 * h <= n; h *= 4) {
    for (int base = 0; base < dim; base += 4 * h) {
      for (int i = base; i < base + h; ++i) {
        const F a = f_load(x[i]), b = f_load(x[i + h]);
        const F c = f_load(x[i + 2 * h]), d = f_load(x[i + 3 * h]);
        const F sum_ab = f_add(a, b), sum_cd = f_add(c, d);
        const F rest_ab = f_sub(a, b), rest_cd = f_sub(c, d);
        f_store(x[i], f_add(sum_ab, sum_cd));
        f_store(x[i + h], f_add(rest_ab, rest_cd));
        f_store(x[i + 2 * h], f_sub(sum_ab, sum_cd));
        f_store(x[i + 3 * h], f_sub(rest_ab, rest_cd));
      }
    }
  }
  if (h == n) return;
  for (int base = 0; base < dim; base += 2 * h) {
    for (int i = base; i < base + h; ++i) {
      const F a = f_load(x[i]), b = f_load(x[i + h]);
      f_store(x[i], f_add(a, b));
      f_store(x[i + h], f_sub(a, b));
    }
  }
}

// What the codes of a block stand for, times a factor, as columns.
inline void decode_columns(const uint8_t* codes, const uint8_t* scales, int dim, int bits,
                           int exponent, float factor, float (*out)[kBlockTokens]) {
  if (bits == 16) {
    const auto* halves = reinterpret_cast<const uint16_t*>(codes);
    for (int d = 0; d < dim; ++d) {
      f_store(out[d], f_mul(f_half(halves + kBlockTokens * d), f_set1(factor)));
    }
    return;
  }
  alignas(64) uint8_t bytes[16 * kMaxHeadDim];
  unpack<4>(codes, dim / 4, bits, false, bytes);
  F step, zero;
  code_meaning(scales, bits, exponent, 0, &step, &zero);
  step = f_mul(step, f_set1(factor));
  for (int j = 0; j < dim / 4; ++j) {
    uint32_t words[kBlockTokens];
    __builtin_memcpy(words, bytes + 64 * j, sizeof words);
    for (int i = 0; i < 4; ++i) {
      float code[kBlockTokens];
      for (int t = 0; t < kBlockTokens; ++t) {
        code[t] = static_cast<float>(static_cast<int32_t>(words[t] >> 8 * i & 255));
      }
      f_store(out[4 * j + i], f_mul(f_sub(f_load(code), zero), step));
    }
  }
}

void turn_keys(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
               const float* mean, const float* const* turns, uint16_t* out) {
  alignas(64) float x[kMaxHeadDim][kBlockTokens], turn[kMaxHeadDim][kBlockTokens];
  const int half = dim / 2;
  const float factor = 1.0f / __builtin_sqrtf(static_cast<float>(dim & -dim));
  decode_columns(codes, scales, dim, bits, exponent, factor, x);
  transform_columns(x, dim);
  columns_of(turns, dim, turn);
  const F most = f_set1(kLargestHalf), least = f_set1(-kLargestHalf);
  for (int i = 0; i < half; ++i) {
    const F a = f_add(f_load(x[i]), f_set1(mean[i]));
    const F b = f_add(f_load(x[half + i]), f_set1(mean[half + i]));
    const F cosine = f_load(turn[i]), sine = f_load(turn[half + i]);
    const F first = f_sub(f_mul(a, cosine), f_mul(b, sine));
    const F second = f_fma(a, sine, f_mul(b, cosine));
    f_store_half(out + kBlockTokens * i, f_min(f_max(first, least), most));
    f_store_half(out + kBlockTokens * (half + i), f_min(f_max(second, least), most));
  }
}
