// Every instruction set of this CPU against the scalar reference.
//
// Integer sums are equal by construction, so matrix products differ by the rounding of float sums
// only; attention also by the vector exp (relative error 2e-7).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "check.h"
#include "error.h"
#include "fp16.h"
#include "kernels/kernels.h"

using namespace kvq;
using kvq::test::Random;

namespace {

std::vector<Kernels> vector_kernels() {
  std::vector<Kernels> list;
  for (const std::string& name : available_isas()) {
    if (name != "scalar") list.push_back(select_kernels(name));
  }
  return list;
}

struct Inputs {
  std::vector<int8_t> codes;
  std::vector<float> scale, sum, values;
  std::vector<int32_t> code_sum;
  std::vector<uint16_t> bf16;
  Activations x;

  Inputs(int cols, int tokens, Random& random) {
    const size_t groups = static_cast<size_t>(cols / kGroup), n = static_cast<size_t>(tokens);
    codes.resize(n * groups * 64);
    scale.resize(n * groups);
    sum.resize(n * groups);
    code_sum.resize(n * groups);
    values.resize(n * groups * kGroup);
    bf16.resize((n + 32) * groups * kGroup);
    for (float& v : values) v = random.uniform() * std::exp(4.0f * random.uniform());
    x = {codes.data(),
         scale.data(),
         sum.data(),
         code_sum.data(),
         values.data(),
         bf16.data(),
         static_cast<int>(groups)};
  }
  void quantize(const Kernels& k, int tokens) {
    for (int t = 0; t < tokens; ++t) k.quantize(x, t);
  }
};

struct Weights {
  std::vector<uint8_t> codes;
  std::vector<uint16_t> scales;
  PackedMatrix w;

  Weights(Format format, int rows, int cols, Random& random) {
    w.format = format;
    w.rows = rows;
    w.cols = cols;
    codes.resize(w.code_bytes());
    scales.resize(w.scale_bytes() / 2);
    w.codes = codes.data();
    w.scales = scales.data();
    for (uint8_t& c : codes) c = static_cast<uint8_t>(random.next());
    if (format == Format::kF16) {
      auto* halves = reinterpret_cast<uint16_t*>(codes.data());
      for (size_t i = 0; i < codes.size() / 2; ++i) halves[i] = float_to_fp16(random.uniform());
    }
    for (uint16_t& s : scales) s = float_to_fp16(random.uniform() * 0.1f);
  }
};

// What rounding may do: 1e-5 of the sum of the products' magnitudes.
void check_close(const std::vector<float>& a, const std::vector<float>& b, float scale,
                 const char* isa, const char* what, int n) {
  float worst = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) {
    const float error = std::fabs(a[i] - b[i]);
    worst = error <= worst ? worst : error;  // takes NaN too
  }
  CHECK(worst <= scale, "%s %s n=%d error %g limit %g", isa, what, n, static_cast<double>(worst),
        static_cast<double>(scale));
}

void compare_gemm(Format format, int rows, int cols, int tokens) {
  Random random(static_cast<uint64_t>(rows * 7919 + cols * 31 + tokens));
  Weights weights(format, rows, cols, random);
  Inputs inputs(cols, tokens, random);
  const size_t stride = static_cast<size_t>(weights.w.tiles()) * kTileRows;
  std::vector<float> expected(stride * static_cast<size_t>(tokens)), got(expected.size());
  inputs.quantize(kScalarKernels, tokens);
  kScalarKernels.gemm(weights.w, 0, weights.w.tiles(), inputs.x, 0, tokens, expected.data(),
                      stride);
  float largest = 0.0f;
  for (float v : inputs.values) largest = std::max(largest, std::fabs(v));
  const float weight = format == Format::kF16 ? 1.0f : format == Format::kQ4 ? 1.6f : 12.8f;
  for (const Kernels& k : vector_kernels()) {
    std::fill(got.begin(), got.end(), std::numeric_limits<float>::quiet_NaN());
    inputs.quantize(k, tokens);
    k.gemm(weights.w, 0, weights.w.tiles(), inputs.x, 0, tokens, got.data(), stride);
    check_close(got, expected, 2e-6f * static_cast<float>(cols) * largest * weight, k.name, "gemm",
                cols);
  }
}

}  // namespace

TEST(quantize_keeps_16_bits_and_its_sums) {
  Random random(3);
  Inputs inputs(96, 3, random);
  std::fill(inputs.values.begin() + 32, inputs.values.begin() + 64, 0.0f);
  inputs.quantize(kScalarKernels, 3);
  const std::vector<float> scale = inputs.scale;
  const std::vector<int32_t> sums = inputs.code_sum;
  CHECK(sums[1] == 0 && scale[1] == 0.0f);
  for (const Kernels& k : vector_kernels()) {
    inputs.quantize(k, 3);
    for (size_t i = 0; i < scale.size(); ++i) {
      CHECK(inputs.scale[i] == scale[i], "%s", k.name);
      // A product may round to either side where it lies half-way.
      CHECK(std::abs(inputs.code_sum[i] - sums[i]) <= 2, "%s", k.name);
    }
  }
}

TEST(gemm_equals_scalar_at_every_shape) {
  for (const Format format : {Format::kQ4, Format::kQ8, Format::kF16}) {
    for (const int cols : {32, 64, 96, 192, 576, 1536}) {
      for (const int rows : {1, 15, 16, 17, 40}) compare_gemm(format, rows, cols, 1);
    }
    for (const int tokens : {2, 3, 4, 5, 7, 8, 9, 17}) compare_gemm(format, 33, 576, tokens);
    for (const int tokens : {31, 32, 33, 63, 65}) compare_gemm(format, 16, 192, tokens);
  }
}

TEST(gemm_stays_in_range_for_extreme_codes) {
  Random random(5);
  for (const Format format : {Format::kQ4, Format::kQ8}) {
    Weights weights(format, 16, 64, random);
    std::fill(weights.codes.begin(), weights.codes.end(), uint8_t{255});
    std::fill(weights.scales.begin(), weights.scales.end(), float_to_fp16(1.0f));
    Inputs inputs(64, 1, random);
    for (const float value : {1.0f, -1.0f}) {
      std::fill(inputs.values.begin(), inputs.values.end(), value);
      std::vector<float> out(16);
      const float expected = format == Format::kQ4 ? 64.0f * 16.0f * value : 64.0f * 127.0f * value;
      inputs.quantize(kScalarKernels, 1);
      kScalarKernels.gemm(weights.w, 0, 1, inputs.x, 0, 1, out.data(), 16);
      CHECK(std::fabs(out[3] - expected) < 0.01f, "scalar %g", static_cast<double>(out[3]));
      for (const Kernels& k : vector_kernels()) {
        inputs.quantize(k, 1);
        k.gemm(weights.w, 0, 1, inputs.x, 0, 1, out.data(), 16);
        CHECK(std::fabs(out[3] - expected) < 0.01f, "%s %g", k.name, static_cast<double>(out[3]));
      }
    }
  }
}

TEST(rms_norm_and_silu_equal_scalar) {
  Random random(7);
  for (const int n : {16, 48, 576, 1536}) {
    std::vector<float> x(static_cast<size_t>(n)), w(x.size()), expected(x.size()), got(x.size());
    for (float& v : x) v = random.uniform() * 10.0f;
    for (float& v : w) v = random.uniform();
    for (const Kernels& k : vector_kernels()) {
      kScalarKernels.rms_norm(x.data(), w.data(), 1e-5f, n, expected.data());
      k.rms_norm(x.data(), w.data(), 1e-5f, n, got.data());
      check_close(got, expected, 1e-5f, k.name, "rms_norm", n);
      x[0] = 1000.0f;
      x[1] = -1000.0f;
      x[2] = 88.5f;
      x[3] = -88.5f;
      x[4] = 0.0f;
      kScalarKernels.silu_mul(x.data(), w.data(), n, expected.data());
      k.silu_mul(x.data(), w.data(), n, got.data());
      check_close(got, expected, 1e-4f, k.name, "silu_mul", n);
    }
  }
}

namespace {

struct Cache {
  int dim;
  std::vector<uint16_t> keys, values;
  std::vector<const uint16_t*> k, v;

  Cache(int tokens, int head_dim, Random& random) : dim(head_dim) {
    const size_t blocks = static_cast<size_t>((tokens + kBlockTokens - 1) / kBlockTokens);
    const size_t block = static_cast<size_t>(kBlockTokens * head_dim);
    keys.resize(blocks * block);
    values.resize(blocks * block);
    for (size_t b = 0; b < blocks; ++b) {
      k.push_back(keys.data() + b * block);
      v.push_back(values.data() + b * block);
    }
    for (uint16_t& h : keys) h = float_to_fp16(2.0f * random.uniform());
    for (uint16_t& h : values) h = float_to_fp16(random.uniform());
    // Lanes that no token has filled may hold anything; none of it may be seen.
    for (int t = tokens; t < static_cast<int>(blocks) * kBlockTokens; ++t) {
      for (int d = 0; d < dim; ++d) {
        keys[static_cast<size_t>(t / 16) * block + static_cast<size_t>(d * 16 + t % 16)] = 0x7E00;
        values[static_cast<size_t>(t / 16) * block + static_cast<size_t>(t % 16 * dim + d)] =
            0x7E00;
      }
    }
  }
};

void compare_attend(int tokens, int dim, std::vector<int> visible, float sharpness) {
  Random random(static_cast<uint64_t>(tokens * 131 + dim));
  Cache cache(tokens, dim, random);
  const size_t n = visible.size(), size = n * static_cast<size_t>(dim);
  std::vector<float> q(size);
  for (float& v : q) v = random.uniform() * sharpness;
  const auto run = [&](const Kernels& k, std::vector<float>& out, std::vector<AttendState>& state) {
    out.assign(size, 0.0f);
    state.assign(n, {-std::numeric_limits<float>::infinity(), 0.0f});
    k.attend(q.data(), static_cast<int>(n), dim, cache.k.data(), cache.v.data(),
             static_cast<int>(cache.k.size()), 0, visible.data(), state.data(), out.data());
    for (size_t i = 0; i < size; ++i) {
      const float total = state[i / static_cast<size_t>(dim)].total;
      out[i] = total > 0.0f ? out[i] / total : 0.0f;
    }
  };
  std::vector<float> expected, got;
  std::vector<AttendState> state;
  run(kScalarKernels, expected, state);
  for (const Kernels& k : vector_kernels()) {
    run(k, got, state);
    check_close(got, expected, 2e-5f, k.name, "attend", tokens);
    for (size_t i = 0; i < n; ++i) {
      if (visible[i] == 0) CHECK(state[i].total == 0.0f, "%s", k.name);
    }
  }
}

}  // namespace

TEST(attend_equals_scalar_at_odd_lengths) {
  for (const int tokens : {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 127, 128, 129, 255, 257}) {
    compare_attend(tokens, 64, {tokens, tokens, tokens}, 1.0f);
  }
  for (const int tokens : {4095, 4096, 8191}) {
    compare_attend(tokens, 64, {tokens, tokens, tokens}, 1.0f);
  }
}

TEST(attend_equals_scalar_for_every_head_size_and_count) {
  for (const int dim : {16, 32, 48, 64, 80, 128, 256}) {
    for (int n = 1; n <= kMaxQueries; ++n) {
      compare_attend(77, dim, std::vector<int>(static_cast<size_t>(n), 77), 0.5f);
    }
  }
}

TEST(attend_hides_later_tokens_from_each_query) {
  compare_attend(200, 64, {0, 1, 200}, 1.0f);
  compare_attend(200, 64, {197, 197, 197, 198, 198, 198}, 1.0f);
  compare_attend(40, 64, {0, 0, 0}, 1.0f);
  compare_attend(300, 64, {16, 299, 128, 129, 3, 0, 300}, 1.0f);
}

TEST(attend_survives_sharp_scores) {
  // Scores of several hundred: exp of the differences under- and overflows if the maximum is
  // missed.
  compare_attend(150, 64, {150, 150, 150}, 60.0f);
}

TEST(attend_goes_on_from_a_state) {
  Random random(11);
  Cache cache(96, 64, random);
  std::vector<float> q(64), once(64, 0.0f), twice(64, 0.0f);
  for (float& v : q) v = random.uniform();
  for (const Kernels& k : vector_kernels()) {
    std::fill(once.begin(), once.end(), 0.0f);
    std::fill(twice.begin(), twice.end(), 0.0f);
    AttendState a{-std::numeric_limits<float>::infinity(), 0.0f}, b = a;
    const int all = 96, first = 32, rest = 64;
    k.attend(q.data(), 1, 64, cache.k.data(), cache.v.data(), 6, 0, &all, &a, once.data());
    k.attend(q.data(), 1, 64, cache.k.data(), cache.v.data(), 2, 4, &first, &b, twice.data());
    k.attend(q.data(), 1, 64, cache.k.data() + 2, cache.v.data() + 2, 4, 0, &rest, &b,
             twice.data());
    for (size_t d = 0; d < 64; ++d) {
      CHECK(std::fabs(once[d] / a.total - twice[d] / b.total) < 1e-5f, "%s", k.name);
    }
  }
}

TEST(an_unknown_instruction_set_is_refused) {
  CHECK(ERROR_CODE(select_kernels("sse9")) == "isa");
#if defined(__x86_64__)
  CHECK(ERROR_CODE(select_kernels("neon")) == "isa");
#else
  CHECK(ERROR_CODE(select_kernels("avx2")) == "isa");
#endif
}
