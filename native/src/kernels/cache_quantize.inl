// Transforming vectors, and writing them into a lane of a block.

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
