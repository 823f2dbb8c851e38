// The quantization kernels alone, with a plain C interface. One file, nothing else needed:
//
//   g++ -O3 -march=armv8-a+simd -shared -fPIC -o libquant.so native/quant_kernel.cpp   (Raspberry
//   Pi) g++ -O3 -march=native -shared -fPIC -o libquant.so native/quant_kernel.cpp         (this
//   machine)
//
// A matrix of rows x cols floats is cut into groups of `group` numbers along each row (the last
// group of a row may be short). Each group has one scale byte: code 16e + m stands for the scale
// 2^(exponent + e) * (1 + m / 16); `exponent` is one number for the whole matrix.
//
//   bits    value of code c             stored for a group               bits a number, groups of
//   64 2 3 4   scale * (2c - (2^bits-1))   codes, scale; no level is zero   2.125  3.125  4.125 8
//   scale * (c - zero)          codes, scale, zero point         8.25 16      IEEE half halves only
//   16
//
// Layout, all in row order: `codes` has kvq_row_bytes() bytes a row, code i of a row in bits
// i * bits and up, lowest bit first (16 bits: halves in the machine's byte order); `scales` and
// `zeros` have kvq_groups() bytes a row. `zeros` is used for 8 bits only, `scales` not for 16;
// where they are not used they may be null.
//
// NaN is stored as 0, and what lies beyond +-65504, infinities too, as +-65504. For 2 to 4 bits the
// scale is the best of sixteen around 0.498, 0.293 and 0.1675 times the root mean square; codes
// round half to even.
//
// Every function returns 0 (or the number asked for) when all went well and a negative KVQ_ERROR_…
// otherwise, and then has written nothing. None allocates, throws or keeps anything between calls:
// all may be called from any thread. Arrays must not overlap and have the sizes said here; no
// alignment is asked for.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define KVQ_API extern "C" __attribute__((visibility("default")))

enum {
  KVQ_OK = 0,
  KVQ_ERROR_NULL = -1,      // a pointer that is needed is null
  KVQ_ERROR_BITS = -2,      // bits that this function does not know
  KVQ_ERROR_SIZE = -3,      // a negative size, or one whose bytes cannot be counted
  KVQ_ERROR_GROUP = -4,     // a group of fewer than 1 or more than 65,536 numbers
  KVQ_ERROR_EXPONENT = -5,  // an exponent outside -100 … 100
};

// Number of this interface: it grows when something that was there changes.
KVQ_API int kvq_version(void);

// One sentence on a result of any function here; never null.
KVQ_API const char* kvq_error_text(int code);

// Bytes of codes of a row.
KVQ_API int64_t kvq_row_bytes(int64_t cols, int bits);

// Groups of a row.
KVQ_API int64_t kvq_groups(int64_t cols, int64_t group);

// The smallest exponent whose scales reach what `x` [rows][cols] needs, into *exponent.
KVQ_API int kvq_choose_exponent(const float* x, int64_t rows, int64_t cols, int bits, int64_t group,
                                int* exponent);

// Quantizes x [rows][cols].
KVQ_API int kvq_quantize(const float* x, int64_t rows, int64_t cols, int bits, int64_t group,
                         int exponent, uint8_t* codes, uint8_t* scales, uint8_t* zeros);

// The numbers back: x [rows][cols].
KVQ_API int kvq_dequantize(const uint8_t* codes, const uint8_t* scales, const uint8_t* zeros,
                           int64_t rows, int64_t cols, int bits, int64_t group, int exponent,
                           float* x);

// y[r] = sum over c of W[r][c] * x[c], of a matrix W [rows][cols] quantized to 2 or 4 bits. Sums
// are floats: the relative error is that of adding cols floats in a few dozen partial sums. Groups
// that are multiples of 64 take the fast way.
KVQ_API int kvq_matvec(const uint8_t* codes, const uint8_t* scales, int64_t rows, int64_t cols,
                       int bits, int64_t group, int exponent, const float* x, float* y);

namespace {

// Vectors as GCC and clang know them, as wide as -march says: AVX-512, AVX, else NEON or SSE.
#if defined(__AVX512F__)
constexpr int kWide = 16;
#elif defined(__AVX__)
constexpr int kWide = 8;
#else
constexpr int kWide = 4;
#endif
using Floats = float __attribute__((vector_size(4 * kWide)));
using HalfFloats = float __attribute__((vector_size(2 * kWide)));
using Doubles = double __attribute__((vector_size(4 * kWide)));
using Codes = uint8_t __attribute__((vector_size(16)));

constexpr int kVersion = 1;
constexpr float kLargestHalf = 65504.0f;
constexpr float kCentre[5] = {0.0f, 0.0f, 0.498f, 0.293f, 0.1675f};
constexpr int kBelow = 7, kAbove = 8;
constexpr int64_t kMaxGroup = 65536;
constexpr int kMaxExponent = 100;
constexpr int64_t kMaxBytes = INT64_MAX / 64;
// Adding and subtracting this rounds a small float half to even.
constexpr float kRound = 12582912.0f;

bool known(int bits) { return bits == 2 || bits == 3 || bits == 4 || bits == 8 || bits == 16; }

int64_t row_bytes(int64_t cols, int bits) { return cols / 8 * bits + (cols % 8 * bits + 7) / 8; }
int64_t groups(int64_t cols, int64_t group) { return cols / group + (cols % group != 0); }

int check(int64_t rows, int64_t cols, int bits, int64_t group) {
  if (!known(bits)) return KVQ_ERROR_BITS;
  if (group < 1 || group > kMaxGroup) return KVQ_ERROR_GROUP;
  if (rows < 0 || cols < 0) return KVQ_ERROR_SIZE;
  // Floats are the largest of what a matrix takes.
  if (cols > 0 && rows > kMaxBytes / 4 / cols) return KVQ_ERROR_SIZE;
  if (cols > kMaxBytes / 4) return KVQ_ERROR_SIZE;
  return KVQ_OK;
}

bool bad_exponent(int exponent) { return exponent < -kMaxExponent || exponent > kMaxExponent; }

uint32_t bits_of(float x) {
  uint32_t b;
  std::memcpy(&b, &x, 4);
  return b;
}
float float_of(uint32_t b) {
  float x;
  std::memcpy(&x, &b, 4);
  return x;
}

float scale_of(int code, int exponent) {
  return float_of((static_cast<uint32_t>(code) << 19) +
                  (static_cast<uint32_t>(127 + exponent) << 23));
}
int clamp_code(int64_t code) { return code < 0 ? 0 : code > 255 ? 255 : static_cast<int>(code); }

// Not clamped: the code whose scale is nearest to s > 0, the smaller of two.
int64_t nearest_scale(double s, int exponent) {
  int e;
  const double m = std::frexp(s, &e) * 2.0;
  return 16 * (static_cast<int64_t>(e) - 1 - exponent) +
         static_cast<int64_t>(std::ceil((m - 1.0) * 16.0 - 0.5));
}
// Not clamped: the smallest code whose scale is at least s > 0.
int64_t scale_above(double s, int exponent) {
  int e;
  const double m = std::frexp(s, &e) * 2.0;
  return 16 * (static_cast<int64_t>(e) - 1 - exponent) +
         static_cast<int64_t>(std::ceil((m - 1.0) * 16.0));
}

float tame(float x) {
  if (x != x) return 0.0f;
  return x < -kLargestHalf ? -kLargestHalf : x > kLargestHalf ? kLargestHalf : x;
}

float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t e = (h >> 10) & 31, m = h & 1023;
  if (e == 31) return float_of(sign | 0x7F800000u | (m << 13));
  if (e != 0) return float_of(sign | ((e + 112) << 23) | (m << 13));
  const float magnitude = static_cast<float>(m) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}
uint16_t float_to_half(float x) {
  const uint32_t b = bits_of(x), sign = (b >> 16) & 0x8000u, magnitude = b & 0x7FFFFFFFu;
  if (magnitude < 0x38800000u) {
    return static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3F000000u));
  }
  return static_cast<uint16_t>(sign |
                               ((magnitude + 0xFFF + ((magnitude >> 13) & 1) - 0x38000000u) >> 13));
}

double sum_of(Doubles v) {
  double s = v[0];
  for (int i = 1; i < kWide / 2; ++i) s += v[i];
  return s;
}
float sum_of(Floats v) {
  using Four = float __attribute__((vector_size(16)));
  Four part[kWide / 4];
  std::memcpy(part, &v, sizeof part);
  for (int i = 1; i < kWide / 4; ++i) part[0] += part[i];
  return (part[0][0] + part[0][1]) + (part[0][2] + part[0][3]);
}

// Adds the products of a and b, as doubles.
void add_products(Floats a, Floats b, Doubles* sum) {
  HalfFloats x[2], y[2];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (int i = 0; i < 2; ++i) {
    *sum += __builtin_convertvector(x[i], Doubles) * __builtin_convertvector(y[i], Doubles);
  }
}

// Sixteen codes as floats.
struct Sixteen {
  Floats v[16 / kWide];
};
Sixteen floats_of(Codes c) {
  Sixteen out;
#if defined(__AVX512F__)
  out.v[0] = _mm512_maskz_cvtepi32_ps(
      0xFFFF, _mm512_maskz_cvtepu8_epi32(0xFFFF, reinterpret_cast<__m128i>(c)));
#elif defined(__AVX2__)
  const __m128i low = reinterpret_cast<__m128i>(c);
  out.v[0] = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(low));
  out.v[1] = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(low, 8)));
#elif defined(__ARM_NEON) && defined(__aarch64__)
  const uint16x8_t low = vmovl_u8(vget_low_u8(c)), high = vmovl_high_u8(c);
  out.v[0] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(low)));
  out.v[1] = vcvtq_f32_u32(vmovl_high_u16(low));
  out.v[2] = vcvtq_f32_u32(vmovl_u16(vget_low_u16(high)));
  out.v[3] = vcvtq_f32_u32(vmovl_high_u16(high));
#else
  for (int i = 0; i < 16; ++i) out.v[i / kWide][i % kWide] = static_cast<float>(c[i]);
#endif
  return out;
}

Floats clamp(Floats v, float least, float most) {
  const Floats low = Floats{} + least, high = Floats{} + most;
  v = v < low ? low : v;
  return v > high ? high : v;
}

// kWide numbers of x, tamed; zeros from `n` on.
Floats load(const float* x, int64_t n) {
  Floats v = {};
  if (n >= kWide) {
    std::memcpy(&v, x, sizeof v);
  } else {
    std::memcpy(&v, x, static_cast<size_t>(n) * sizeof(float));
  }
  v = v == v ? v : Floats{};
  return clamp(v, -kLargestHalf, kLargestHalf);
}

// Levels 2c - top of some numbers.
Floats levels(Floats x, float s, float top) {
  return (clamp((x / s + top) * 0.5f, 0.0f, top) + kRound - kRound) * 2.0f - top;
}

// Root mean square over the n numbers of a group.
double rms_of(const float* x, int64_t n) {
  Doubles squares = {};
  for (int64_t i = 0; i < n; i += kWide) {
    const Floats v = load(x + i, n - i);
    add_products(v, v, &squares);
  }
  return std::sqrt(sum_of(squares) / static_cast<double>(n));
}

// The scale code with the smallest squared error; of two the smaller code.
int best_scale(const float* x, int64_t n, int bits, int exponent) {
  const double rms = rms_of(x, n);
  if (rms == 0.0) return 0;
  const float top = static_cast<float>((1 << bits) - 1);
  const int nearest = clamp_code(nearest_scale(static_cast<double>(kCentre[bits]) * rms, exponent));
  const int centre = nearest < kBelow ? kBelow : nearest > 255 - kAbove ? 255 - kAbove : nearest;
  int best = 0;
  double least = INFINITY;
  for (int step = -kBelow; step <= kAbove; ++step) {
    const int code = centre + step;
    const float s = scale_of(code, exponent);
    // Sums of squares of levels are whole numbers, and doubles hold them.
    Doubles products = {}, squares = {};
    for (int64_t i = 0; i < n; i += kWide) {
      const Floats v = load(x + i, n - i), l = levels(v, s, top);
      add_products(v, l, &products);
      add_products(l, l, &squares);
    }
    double square = sum_of(squares);
    if (n % kWide != 0) {
      const float l = levels(Floats{}, s, top)[0];
      square -= static_cast<double>(kWide - n % kWide) * static_cast<double>(l * l);
    }
    // The squared error without the term that all candidates share.
    const double d = static_cast<double>(s);
    const double error = d * (d * square - 2.0 * sum_of(products));
    if (error < least) {
      least = error;
      best = code;
    }
  }
  return best;
}

// Writes codes of up to 64 numbers one after the other into the bits of a row.
class BitWriter {
 public:
  explicit BitWriter(uint8_t* out) : out_(out) {}
  void put(uint32_t code, int bits) {
    held_ |= code << count_;
    count_ += bits;
    while (count_ >= 8) {
      *out_++ = static_cast<uint8_t>(held_);
      held_ >>= 8;
      count_ -= 8;
    }
  }
  void finish() {
    if (count_ > 0) *out_ = static_cast<uint8_t>(held_);
  }

 private:
  uint8_t* out_;
  uint32_t held_ = 0;
  int count_ = 0;
};

uint32_t code_at(const uint8_t* row, int64_t i, int bits) {
  // In two factors: i * bits alone might not fit.
  const int64_t at = i / 8 * bits + i % 8 * bits / 8;
  const int shift = static_cast<int>(i % 8) * bits % 8;
  uint32_t v = row[at] >> shift;
  if (shift + bits > 8) v |= static_cast<uint32_t>(row[at + 1]) << (8 - shift);
  return v & ((1u << bits) - 1);
}

void range_of(const float* x, int64_t n, float* lo, float* hi) {
  Floats a = {}, b = {};
  for (int64_t i = 0; i < n; i += kWide) {
    const Floats v = load(x + i, n - i);
    a = v < a ? v : a;
    b = v > b ? v : b;
  }
  *lo = *hi = 0.0f;
  for (int i = 0; i < kWide; ++i) {
    *lo = a[i] < *lo ? a[i] : *lo;
    *hi = b[i] > *hi ? b[i] : *hi;
  }
}

int byte_scale(float lo, float hi, int exponent) {
  const double s = (static_cast<double>(hi) - static_cast<double>(lo)) / 255.0;
  return s > 0.0 ? clamp_code(scale_above(s, exponent)) : 0;
}

void quantize_bytes(const float* x, int64_t n, int exponent, uint8_t* codes, uint8_t* scale,
                    uint8_t* zero) {
  float lo, hi;
  range_of(x, n, &lo, &hi);
  const int code = byte_scale(lo, hi, exponent);
  const float s = scale_of(code, exponent);
  float z = -lo / s;
  z = z > 255.0f ? 255.0f : z;
  z = z + kRound - kRound;
  for (int64_t i = 0; i < n; i += kWide) {
    const Floats c = clamp(load(x + i, n - i) / s + z, 0.0f, 255.0f) + kRound - kRound;
    for (int j = 0; j < kWide && i + j < n; ++j) codes[i + j] = static_cast<uint8_t>(c[j]);
  }
  *scale = static_cast<uint8_t>(code);
  *zero = static_cast<uint8_t>(z);
}

void quantize_few(const float* x, int64_t n, int bits, int exponent, BitWriter& out,
                  uint8_t* scale) {
  const float top = static_cast<float>((1 << bits) - 1);
  const int code = best_scale(x, n, bits, exponent);
  const float s = scale_of(code, exponent);
  for (int64_t i = 0; i < n; i += kWide) {
    const Floats c = (levels(load(x + i, n - i), s, top) + top) * 0.5f;
    for (int j = 0; j < kWide && i + j < n; ++j) out.put(static_cast<uint32_t>(c[j]), bits);
  }
  *scale = static_cast<uint8_t>(code);
}

// A block is 16 bytes of codes: per * 16 numbers, code k of byte j being number per * j + k.
template <int kBits>
struct Block {
  static constexpr int kPer = 8 / kBits;
  static constexpr int kNumbers = 16 * kPer;

  // Adds scale * code * x. Part k of x holds the numbers that meet code k of the 16 bytes.
  static void add_dot(const uint8_t* bytes, const float* x, float scale, Sixteen* sum) {
    Codes packed;
    std::memcpy(&packed, bytes, 16);
    Sixteen dot = {};
    for (int k = 0; k < kPer; ++k) {
      const Codes mask = Codes{} + static_cast<uint8_t>((1 << kBits) - 1);
      const Sixteen codes = floats_of((packed >> (k * kBits)) & mask);
      for (int i = 0; i < 16 / kWide; ++i) {
        Floats part;
        std::memcpy(&part, x + 16 * k + kWide * i, sizeof part);
        dot.v[i] += codes.v[i] * part;
      }
    }
    for (int i = 0; i < 16 / kWide; ++i) sum->v[i] += dot.v[i] * scale;
  }
};

// Columns at a time: x of them, sorted into parts, lies on the stack.
constexpr int64_t kChunk = 1024;

template <int kBits>
void matvec_blocks(const uint8_t* codes, const uint8_t* scales, int64_t rows, int64_t cols,
                   int64_t group, int exponent, const float* x, float* y) {
  using B = Block<kBits>;
  constexpr float kTop = static_cast<float>((1 << kBits) - 1);
  const int64_t bytes = row_bytes(cols, kBits), n_groups = groups(cols, group);
  for (int64_t c0 = 0; c0 < cols; c0 += kChunk) {
    const int64_t n = cols - c0 < kChunk ? cols - c0 : kChunk;
    const int64_t blocks = (n + B::kNumbers - 1) / B::kNumbers;
    alignas(64) float parts[kChunk];
    float sums[kChunk / B::kNumbers];
    for (int64_t b = 0; b < blocks; ++b) {
      float sum = 0.0f;
      for (int i = 0; i < B::kNumbers; ++i) {
        const int64_t at = b * B::kNumbers + i;
        const float v = at < n ? x[c0 + at] : 0.0f;
        parts[b * B::kNumbers + i % B::kPer * 16 + i / B::kPer] = v;
        sum += v;
      }
      sums[b] = sum;
    }
    const int64_t whole = n / B::kNumbers;
    const int64_t first_group = c0 / group, first_left = (group - c0 % group) / B::kNumbers;
    for (int64_t r = 0; r < rows; ++r) {
      const uint8_t* row = codes + r * bytes + c0 / B::kPer;
      Sixteen dots = {};
      float shift = 0.0f;
      const uint8_t* scale = scales + r * n_groups + first_group;
      int64_t left = cols <= group ? blocks : first_left;
      for (int64_t b = 0; b < blocks; ++b) {
        if (left == 0) {
          ++scale;
          left = group / B::kNumbers;
        }
        --left;
        const float s = scale_of(*scale, exponent);
        const uint8_t* at = row + 16 * b;
        uint8_t tail[16] = {};
        if (b == whole) {
          std::memcpy(tail, at, static_cast<size_t>(row_bytes(n % B::kNumbers, kBits)));
          at = tail;
        }
        B::add_dot(at, parts + b * B::kNumbers, s, &dots);
        shift += s * sums[b];
      }
      Floats total = dots.v[0];
      for (int i = 1; i < 16 / kWide; ++i) total += dots.v[i];
      const float value = 2.0f * sum_of(total) - kTop * shift;
      y[r] = c0 == 0 ? value : y[r] + value;
    }
  }
}

void matvec_plain(const uint8_t* codes, const uint8_t* scales, int64_t rows, int64_t cols, int bits,
                  int64_t group, int exponent, const float* x, float* y) {
  const int64_t bytes = row_bytes(cols, bits), n_groups = groups(cols, group);
  const int top = (1 << bits) - 1;
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* row = codes + r * bytes;
    float total = 0.0f;
    for (int64_t g = 0; g < n_groups; ++g) {
      const int64_t end = (g + 1) * group < cols ? (g + 1) * group : cols;
      float sum = 0.0f;
      for (int64_t c = g * group; c < end; ++c) {
        sum += static_cast<float>(2 * static_cast<int>(code_at(row, c, bits)) - top) * x[c];
      }
      total += scale_of(scales[r * n_groups + g], exponent) * sum;
    }
    y[r] = total;
  }
}

}  // namespace

int kvq_version(void) { return kVersion; }

const char* kvq_error_text(int code) {
  switch (code) {
    case KVQ_ERROR_NULL:
      return "a pointer that is needed is null";
    case KVQ_ERROR_BITS:
      return "this width is not known here";
    case KVQ_ERROR_SIZE:
      return "a size is negative or too large";
    case KVQ_ERROR_GROUP:
      return "a group must have 1 to 65536 numbers";
    case KVQ_ERROR_EXPONENT:
      return "the exponent must lie between -100 and 100";
    default:
      return code < 0 ? "unknown error" : "no error";
  }
}

int64_t kvq_row_bytes(int64_t cols, int bits) {
  const int error = check(1, cols, bits, 1);
  return error ? error : row_bytes(cols, bits);
}

int64_t kvq_groups(int64_t cols, int64_t group) {
  const int error = check(1, cols, 8, group);
  return error ? error : groups(cols, group);
}

int kvq_choose_exponent(const float* x, int64_t rows, int64_t cols, int bits, int64_t group,
                        int* exponent) {
  const int error = check(rows, cols, bits, group);
  if (error) return error;
  if (!exponent || (!x && rows > 0 && cols > 0)) return KVQ_ERROR_NULL;
  double largest = 0.0;
  for (int64_t r = 0; r < rows && bits != 16; ++r) {
    for (int64_t c = 0; c < cols; c += group) {
      const float* at = x + r * cols + c;
      const int64_t n = cols - c < group ? cols - c : group;
      double s;
      if (bits == 8) {
        float lo, hi;
        range_of(at, n, &lo, &hi);
        s = (static_cast<double>(hi) - static_cast<double>(lo)) / 255.0;
      } else {
        s = static_cast<double>(kCentre[bits]) * rms_of(at, n);
      }
      largest = s > largest ? s : largest;
    }
  }
  int chosen = -kMaxExponent;
  // The search may want some codes more than the centre.
  const int64_t spare = bits == 8 ? 0 : kAbove;
  while (largest > 0.0 && chosen < kMaxExponent && scale_above(largest, chosen) + spare > 255) {
    ++chosen;
  }
  *exponent = chosen;
  return KVQ_OK;
}

int kvq_quantize(const float* x, int64_t rows, int64_t cols, int bits, int64_t group, int exponent,
                 uint8_t* codes, uint8_t* scales, uint8_t* zeros) {
  const int error = check(rows, cols, bits, group);
  if (error) return error;
  if (bad_exponent(exponent)) return KVQ_ERROR_EXPONENT;
  if (rows == 0 || cols == 0) return KVQ_OK;
  if (!x || !codes || (bits != 16 && !scales) || (bits == 8 && !zeros)) return KVQ_ERROR_NULL;
  const int64_t bytes = row_bytes(cols, bits), n_groups = groups(cols, group);
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * cols;
    uint8_t* to = codes + r * bytes;
    if (bits == 16) {
      for (int64_t c = 0; c < cols; ++c) {
        const uint16_t h = float_to_half(tame(from[c]));
        std::memcpy(to + 2 * c, &h, 2);
      }
      continue;
    }
    BitWriter out(to);
    for (int64_t g = 0; g < n_groups; ++g) {
      const int64_t c = g * group, n = cols - c < group ? cols - c : group;
      uint8_t* scale = scales + r * n_groups + g;
      if (bits == 8) {
        quantize_bytes(from + c, n, exponent, to + c, scale, zeros + r * n_groups + g);
      } else {
        quantize_few(from + c, n, bits, exponent, out, scale);
      }
    }
    if (bits != 8) out.finish();
  }
  return KVQ_OK;
}

int kvq_dequantize(const uint8_t* codes, const uint8_t* scales, const uint8_t* zeros, int64_t rows,
                   int64_t cols, int bits, int64_t group, int exponent, float* x) {
  const int error = check(rows, cols, bits, group);
  if (error) return error;
  if (bad_exponent(exponent)) return KVQ_ERROR_EXPONENT;
  if (rows == 0 || cols == 0) return KVQ_OK;
  if (!x || !codes || (bits != 16 && !scales) || (bits == 8 && !zeros)) return KVQ_ERROR_NULL;
  const int64_t bytes = row_bytes(cols, bits), n_groups = groups(cols, group);
  const int top = (1 << bits) - 1;
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* row = codes + r * bytes;
    float* to = x + r * cols;
    if (bits == 16) {
      for (int64_t c = 0; c < cols; ++c) {
        uint16_t h;
        std::memcpy(&h, row + 2 * c, 2);
        to[c] = half_to_float(h);
      }
      continue;
    }
    for (int64_t g = 0; g < n_groups; ++g) {
      const int64_t end = (g + 1) * group < cols ? (g + 1) * group : cols;
      const float s = scale_of(scales[r * n_groups + g], exponent);
      if (bits == 8) {
        const int zero = zeros[r * n_groups + g];
        for (int64_t c = g * group; c < end; ++c) to[c] = s * static_cast<float>(row[c] - zero);
        continue;
      }
      for (int64_t c = g * group; c < end; ++c) {
        to[c] = s * static_cast<float>(2 * static_cast<int>(code_at(row, c, bits)) - top);
      }
    }
  }
  return KVQ_OK;
}

int kvq_matvec(const uint8_t* codes, const uint8_t* scales, int64_t rows, int64_t cols, int bits,
               int64_t group, int exponent, const float* x, float* y) {
  const int error = check(rows, cols, bits, group);
  if (error) return error;
  if (bits != 2 && bits != 4) return KVQ_ERROR_BITS;
  if (bad_exponent(exponent)) return KVQ_ERROR_EXPONENT;
  if (rows == 0) return KVQ_OK;
  if (!y || (cols > 0 && (!codes || !scales || !x))) return KVQ_ERROR_NULL;
  if (cols == 0) {
    for (int64_t r = 0; r < rows; ++r) y[r] = 0.0f;
  } else if (group % 64 != 0 && cols > group) {
    matvec_plain(codes, scales, rows, cols, bits, group, exponent, x, y);
  } else if (bits == 4) {
    matvec_blocks<4>(codes, scales, rows, cols, group, exponent, x, y);
  } else {
    matvec_blocks<2>(codes, scales, rows, cols, group, exponent, x, y);
  }
  return KVQ_OK;
}
