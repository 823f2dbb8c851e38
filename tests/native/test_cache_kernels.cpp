// The quantized cache: its format, its errors, and every instruction set against the scalar
// reference.
//
// The codes mean the same everywhere. Attention in the vector sets rounds queries, and softmax
// weights times scales, to 8 bits of the largest one's, which the reference does not: queries that
// are such integers, and equal weights, must give the reference's results nearly exactly, others
// within what the rounding explains.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "check.h"
#include "fp16.h"
#include "kernels/cache_layout.h"
#include "kernels/kernels.h"

using namespace kvq;
using kvq::test::Random;

namespace {

constexpr int kExponent = -11;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Floats = std::vector<float>;
using Bytes = std::vector<uint8_t>;

std::vector<Kernels> every_set() {
  std::vector<Kernels> list;
  for (const std::string& name : available_isas()) list.push_back(select_kernels(name));
  return list;
}

float gauss(Random& random) {
  float sum = 0.0f;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return 0.5f * sum;
}

Floats gaussian(int n, Random& random, float size = 1.0f) {
  Floats x(static_cast<size_t>(n));
  for (float& v : x) v = size * gauss(random);
  return x;
}

double squared_error(const Floats& a, const Floats& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2.0);
  return sum;
}
double squares(const Floats& a) { return squared_error(a, Floats(a.size(), 0.0f)); }

float worst_error(const Floats& a, const Floats& b) {
  float worst = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) {
    const float error = std::fabs(a[i] - b[i]);
    worst = error <= worst ? worst : error;  // takes NaN too
  }
  return worst;
}

// One block of keys or values.
struct Half {
  int dim, bits;
  bool value;
  Bytes codes, scales;

  Half(int head_dim, int width, bool is_value, uint8_t fill)
      : dim(head_dim),
        bits(width),
        value(is_value),
        codes(code_bytes(head_dim, width), fill),
        scales(scale_bytes(width), fill) {}
  void put(const Kernels& k, int lane, const Floats& x, int exponent = kExponent) {
    (value ? k.quantize_value : k.quantize_key)(x.data(), dim, bits, exponent, lane, codes.data(),
                                                scales.data());
  }
  Floats get(const Kernels& k, int lane, int exponent = kExponent) const {
    Floats x(static_cast<size_t>(dim));
    (value ? k.dequantize_value : k.dequantize_key)(codes.data(), scales.data(), dim, bits,
                                                    exponent, lane, x.data());
    return x;
  }
};

Floats round_trip(const Kernels& k, int bits, const Floats& x, int exponent = kExponent) {
  Half half(static_cast<int>(x.size()), bits, false, 0);
  half.put(k, 7, x, exponent);
  return half.get(k, 7, exponent);
}

}  // namespace

TEST(codes_lie_where_the_format_says) {
  Random random(1);
  for (const int dim : {32, 64, 96, 128, 256}) {
    const int n = dim / 4;
    for (const int bits : {2, 3, 4, 8}) {
      Bytes plain(static_cast<size_t>(64 * n));
      for (uint8_t& c : plain) c = static_cast<uint8_t>(random.below(1 << bits));
      Bytes packed(code_bytes(dim, bits), 0), scales(scale_bytes(bits), 0);
      // A plane puts vector j at j mod (n * width / 8), and so many fields up.
      const auto plane = [&](size_t base, int width, int drop) {
        const int rows = n * width / 8;
        for (int j = 0; j < n; ++j) {
          for (int i = 0; i < 64; ++i) {
            const int code = plain[static_cast<size_t>(64 * j + i)] >> drop & ((1 << width) - 1);
            uint8_t& byte = packed[base + static_cast<size_t>(64 * (j % rows) + i)];
            byte = static_cast<uint8_t>(byte | code << (j / rows * width));
          }
        }
      };
      plane(0, bits == 3 ? 2 : bits, 0);
      if (bits == 3) plane(static_cast<size_t>(16 * n), 1, 2);
      for (int t = 0; t < 16; ++t) {
        scales[static_cast<size_t>(t)] = static_cast<uint8_t>(random.below(256));
        if (bits == 8) scales[static_cast<size_t>(16 + t)] = static_cast<uint8_t>(3 * t);
      }
      for (int t = 0; t < 16; ++t) {
        Floats key(static_cast<size_t>(dim)), value(key);
        const int code = scales[static_cast<size_t>(t)];
        const float s = std::ldexp(1.0f + static_cast<float>(code % 16) / 16.0f, code / 16 - 11);
        kScalarKernels.dequantize_key(packed.data(), scales.data(), dim, bits, -11, t, key.data());
        kScalarKernels.dequantize_value(packed.data(), scales.data(), dim, bits, -11, t,
                                        value.data());
        for (int d = 0; d < dim; ++d) {
          const auto meaning = [&](int at) {
            const int c = plain[static_cast<size_t>(at)];
            return s * static_cast<float>(bits == 8 ? c - 3 * t : 2 * c - ((1 << bits) - 1));
          };
          const size_t i = static_cast<size_t>(d);
          CHECK(key[i] == meaning(64 * (d / 4) + 4 * t + d % 4), "key bits=%d d=%d", bits, d);
          CHECK(value[i] == meaning(64 * (d / 16 * 4 + t / 4) + 4 * (d % 16) + t % 4),
                "value bits=%d d=%d", bits, d);
        }
      }
    }
  }
}

TEST(quantizing_a_lane_equals_scalar_and_leaves_the_others) {
  Random random(2);
  for (const Kernels& k : every_set()) {
    for (const int dim : {32, 64, 96, 128, 256}) {
      for (const int bits : {2, 3, 4, 8, 16}) {
        for (const bool value : {false, true}) {
          Half half(dim, bits, value, 0xA5), reference = half;
          std::vector<Floats> before;
          for (int t = 0; t < 16; ++t) before.push_back(half.get(k, t));
          for (const int lane : {0, 3, 6, 15}) {
            const Floats x = gaussian(dim, random, std::exp(3.0f * random.uniform()));
            half.put(k, lane, x);
            reference.put(kScalarKernels, lane, x);
            // Sums in another order may prefer another scale, or round a tie
            // the other way.
            const double error = squared_error(x, half.get(k, lane));
            const double expected = squared_error(x, reference.get(k, lane));
            CHECK(std::fabs(error - expected) <= 1e-4 * expected, "%s dim=%d bits=%d: %g, not %g",
                  k.name, dim, bits, error, expected);
            before[static_cast<size_t>(lane)] = half.get(k, lane);
            for (int t = 0; t < 16; ++t) {
              // Bytes, since the filling may decode to NaN.
              CHECK(std::memcmp(half.get(k, t).data(), before[static_cast<size_t>(t)].data(),
                                sizeof(float) * static_cast<size_t>(dim)) == 0,
                    "%s dim=%d bits=%d lane=%d changed lane %d", k.name, dim, bits, lane, t);
            }
          }
        }
      }
    }
  }
}

TEST(errors_stay_below_their_bounds_and_near_a_full_search) {
  Random random(3);
  // Mean squared error over the mean square, of Gaussian vectors of 64.
  const double bound[17] = {0, 0, 0.118, 0.035, 0.0094, 0, 0, 0, 4e-5, 0, 0, 0, 0, 0, 0, 0, 1e-7};
  std::vector<Floats> vectors;
  double square = 0.0;
  for (int i = 0; i < 200; ++i) {
    vectors.push_back(gaussian(64, random));
    square += squares(vectors.back());
  }
  for (const int bits : {2, 3, 4, 8, 16}) {
    double least = 0.0;
    for (const Floats& x : vectors) {
      double best = squares(x);
      for (int code = 110; bits <= 4 && code < 190; ++code) {
        const float s = decode_scale(static_cast<uint8_t>(code), kExponent);
        const float top = static_cast<float>((1 << bits) - 1);
        Floats y = x;
        for (float& v : y) {
          const float c = std::clamp(std::nearbyint((v / s + top) / 2.0f), 0.0f, top);
          v = s * (2.0f * c - top);
        }
        best = std::min(best, squared_error(x, y));
      }
      least += best;
    }
    for (const Kernels& k : every_set()) {
      double error = 0.0;
      for (const Floats& x : vectors) error += squared_error(x, round_trip(k, bits, x));
      CHECK(error <= bound[bits] * square, "%s bits=%d error %g", k.name, bits, error / square);
      if (bits <= 4) CHECK(error <= 1.01 * least, "%s bits=%d %g", k.name, bits, error / least);
    }
  }
}

TEST(extreme_vectors_have_a_defined_meaning) {
  for (const Kernels& k : every_set()) {
    for (const int bits : {2, 3, 4, 8, 16}) {
      const Floats zero(64, 0.0f), denormal(64, 1e-40f);
      for (const Floats& x : {zero, denormal}) {
        Half half(64, bits, false, 0xFF);
        half.put(k, 2, x);
        if (bits != 16) CHECK(half.scales[2] == 0, "%s bits=%d", k.name, bits);
        const float limit = bits >= 8 ? 0.0f : decode_scale(0, kExponent);
        CHECK(worst_error(half.get(k, 2), zero) <= limit, "%s bits=%d", k.name, bits);
      }
      for (const float c : {1.0f, -3.7f}) {
        const Floats x(64, c);
        // With two bits the levels around a constant are 1 and 3 scales away.
        const float limit = bits >= 8 ? 0.01f : bits == 4 ? 0.03f : bits == 3 ? 0.1f : 0.35f;
        CHECK(worst_error(round_trip(k, bits, x), x) <= limit * std::fabs(c), "%s bits=%d error %g",
              k.name, bits, static_cast<double>(worst_error(round_trip(k, bits, x), x)));
      }
      Random random(4);
      Floats odd = gaussian(64, random), tame = odd;
      odd[5] = kNan;
      tame[5] = 0.0f;
      CHECK(round_trip(k, bits, odd) == round_trip(k, bits, tame), "%s bits=%d", k.name, bits);
      odd[6] = kInf;
      odd[7] = -kInf;
      odd[8] = 3e38f;
      tame[6] = tame[8] = 65504.0f;
      tame[7] = -65504.0f;
      // A scale that holds them, and one that does not.
      for (const int exponent : {2, -11}) {
        const Floats got = round_trip(k, bits, odd, exponent);
        CHECK(got == round_trip(k, bits, tame, exponent), "%s bits=%d", k.name, bits);
        CHECK(worst_error(got, Floats(64, 0.0f)) <= 131008.0f, "%s bits=%d", k.name, bits);
        if (bits == 8 && exponent == 2) CHECK(std::fabs(got[6] - 65504.0f) < 600.0f, "%s", k.name);
      }
    }
  }
}

TEST(hadamard_is_orthonormal_and_its_own_inverse) {
  Random random(5);
  for (const Kernels& k : every_set()) {
    for (const int dim : {32, 64, 96, 128, 192, 256}) {
      const int n = dim & -dim;
      const Floats x = gaussian(dim, random);
      Floats y = x, expected(x.size());
      for (int i = 0; i < dim; ++i) {
        float sum = 0.0f;
        for (int j = 0; j < n; ++j) {
          const float v = x[static_cast<size_t>(i / n * n + j)];
          sum += __builtin_parity(static_cast<unsigned>(i % n & j)) ? -v : v;
        }
        expected[static_cast<size_t>(i)] = sum / std::sqrt(static_cast<float>(n));
      }
      k.hadamard(y.data(), dim);
      CHECK(worst_error(y, expected) < 1e-5f, "%s dim=%d", k.name, dim);
      k.hadamard(y.data(), dim);
      CHECK(worst_error(y, x) < 1e-5f, "%s dim=%d", k.name, dim);
    }
  }
}

namespace {

// A list of tokens of one class; lanes that no token fills hold garbage.
struct List {
  std::vector<Half> halves;
  std::vector<CodeBlock> blocks;
  CodeList list;

  List(int tokens, int dim, int k_bits, int v_bits, Random& random) {
    const int n = (tokens + 15) / 16;
    for (int b = 0; b < n; ++b) {
      halves.emplace_back(dim, k_bits, false, b % 2 ? 0xFF : 0x7E);
      halves.emplace_back(dim, v_bits, true, b % 2 ? 0x7E : 0xFF);
    }
    for (int t = 0; t < tokens; ++t) {
      Half* at = &halves[static_cast<size_t>(t / 16 * 2)];
      at[0].put(kScalarKernels, t % 16, gaussian(dim, random));
      at[1].put(kScalarKernels, t % 16, gaussian(dim, random, std::exp(random.uniform())));
    }
    for (int b = 0; b < n; ++b) {
      const Half *k = &halves[static_cast<size_t>(2 * b)], *v = k + 1;
      blocks.push_back({k->codes.data(), k->scales.data(), v->codes.data(), v->scales.data()});
    }
    list = {blocks.data(), tokens, k_bits, v_bits, kExponent, kExponent};
  }
};

struct Attended {
  Floats out, scores;
  std::vector<AttendState> state;

  Attended(int n, int dim) : out(static_cast<size_t>(n * dim)) {
    state.assign(static_cast<size_t>(n), {-kInf, 0.0f});
  }
  // Outputs divided by the totals.
  Floats result() const {
    Floats r = out;
    for (size_t i = 0; i < r.size(); ++i) {
      const float total = state[i / (out.size() / state.size())].total;
      r[i] = total > 0.0f ? r[i] / total : 0.0f;
    }
    return r;
  }
  // log of the sum of exp(score).
  Floats totals() const {
    Floats r;
    for (const AttendState& s : state) r.push_back(s.total > 0.0f ? s.max + std::log(s.total) : 0);
    return r;
  }
};

Attended attend(const Kernels& k, const Floats& q, int n, int dim,
                const std::vector<CodeList>& lists) {
  Attended a(n, dim);
  auto queries = std::make_unique<CodeQueries>();
  k.prepare_queries(q.data(), n, dim, queries.get());
  k.attend_codes(*queries, lists.data(), static_cast<int>(lists.size()), a.state.data(),
                 a.out.data());
  return a;
}

// Queries of integers up to 127 times a factor: scores are exact but for the sums' order. Values
// have scales around 1; an output's error is some of 255 steps of the largest weight.
void compare(const std::vector<CodeList>& lists, int dim, int n, float sharpness) {
  Random random(static_cast<uint64_t>(dim * 131 + n));
  const float factor = sharpness / (60.0f * std::sqrt(static_cast<float>(dim)));
  Floats q(static_cast<size_t>(n * dim));
  for (size_t i = 0; i < q.size(); ++i) {
    const int integer = i % static_cast<size_t>(dim) == 5 ? -127 : random.below(255) - 127;
    q[i] = factor * static_cast<float>(integer);
  }
  const Attended expected = attend(kScalarKernels, q, n, dim, lists);
  for (const Kernels& k : every_set()) {
    const Attended got = attend(k, q, n, dim, lists);
    const float error = worst_error(got.result(), expected.result());
    const float total_error = worst_error(got.totals(), expected.totals());
    CHECK(error <= 0.05f && total_error <= 2e-5f * std::max(1.0f, sharpness),
          "%s dim=%d queries=%d widths %d %d tokens %d: errors %g %g", k.name, dim, n,
          lists[0].k_bits, lists[0].v_bits, lists[0].n_tokens, static_cast<double>(error),
          static_cast<double>(total_error));
  }
}

}  // namespace

TEST(attend_codes_equals_scalar_for_all_widths) {
  Random random(6);
  for (const int k_bits : {2, 3, 4, 8, 16}) {
    for (const int v_bits : {2, 3, 4, 8, 16}) {
      for (const int tokens : {1, 15, 17, 129}) {
        List list(tokens, 64, k_bits, v_bits, random);
        for (const int n : {1, 3}) compare({list.list}, 64, n, 1.0f);
      }
    }
  }
}

TEST(attend_codes_equals_scalar_at_odd_lengths) {
  Random random(7);
  for (const int tokens : {1, 15, 16, 17, 31, 33, 127, 128, 129, 4095}) {
    List list(tokens, 64, 3, 4, random);
    for (const int n : {3, 6}) compare({list.list}, 64, n, 1.0f);
  }
}

TEST(attend_codes_equals_scalar_for_every_head_size_and_count) {
  Random random(8);
  for (const int dim : {32, 64, 96, 128, 256}) {
    for (const int bits : {2, 3, 4, 8}) {
      List list(77, dim, bits, bits, random);
      for (int n = 1; n <= kMaxQueries; ++n) compare({list.list}, dim, n, 1.0f);
    }
  }
}

TEST(attend_codes_joins_lists_of_all_classes) {
  Random random(9);
  std::vector<List> parts;
  parts.reserve(32);
  std::vector<CodeList> lists;
  int tokens = 0;
  for (const int k_bits : {2, 3, 4, 8, 16}) {
    for (const int v_bits : {2, 3, 4, 8, 16}) {
      parts.emplace_back(tokens * 7 % 53, 64, k_bits, v_bits, random);
      lists.push_back(parts.back().list);
      ++tokens;
    }
  }
  compare(lists, 64, 3, 1.0f);
  compare(lists, 64, 6, 1.0f);
  compare({lists[0]}, 64, 3, 1.0f);  // the empty one
  compare(lists, 64, 3, 60.0f);      // sharp scores
}

TEST(attend_codes_adds_equal_weights_exactly) {
  Random random(13);
  for (const int dim : {32, 64, 96, 128, 256}) {
    for (const int bits : {2, 3, 4, 8}) {
      List a(150, dim, 4, bits, random), b(35, dim, 2, bits, random);
      for (List* list : {&a, &b}) {
        for (size_t i = 1; i < list->halves.size(); i += 2) {
          std::fill_n(list->halves[i].scales.begin(), 16, uint8_t{180});
        }
      }
      for (const int n : {1, 2, 3, 6}) {
        const Floats q(static_cast<size_t>(n * dim), 0.0f);
        const Floats expected = attend(kScalarKernels, q, n, dim, {a.list, b.list}).result();
        for (const Kernels& k : every_set()) {
          const Floats got = attend(k, q, n, dim, {a.list, b.list}).result();
          CHECK(worst_error(got, expected) < 2e-4f, "%s dim=%d bits=%d n=%d error %g", k.name, dim,
                bits, n, static_cast<double>(worst_error(got, expected)));
        }
      }
    }
  }
}

TEST(attend_codes_rounds_queries_and_weights_little) {
  Random random(14);
  List list(1000, 64, 8, 8, random);
  const Floats q = gaussian(6 * 64, random, 0.3f);
  const Attended expected = attend(kScalarKernels, q, 6, 64, {list.list});
  for (const Kernels& k : every_set()) {
    const Attended got = attend(k, q, 6, 64, {list.list});
    CHECK(worst_error(got.totals(), expected.totals()) < 0.02f, "%s", k.name);
    const double error = squared_error(got.result(), expected.result());
    // Codes of 4 bits would leave 0.009.
    CHECK(error < 0.001 * squares(expected.result()), "%s error %g", k.name,
          error / squares(expected.result()));
  }
}

TEST(attend_codes_survives_queries_and_weights_near_zero) {
  Random random(15);
  List list(600, 64, 4, 4, random);
  // The first pass holds a key that outdoes all others by far.
  Floats q(3 * 64, 1e-40f);
  const Floats key = list.halves[0].get(kScalarKernels, 3);
  for (size_t d = 0; d < 64; ++d) q[d] = 1.4f * key[d];
  for (const Kernels& k : every_set()) {
    const Attended expected = attend(kScalarKernels, q, 3, 64, {list.list});
    const Attended got = attend(k, q, 3, 64, {list.list});
    CHECK(worst_error(got.result(), expected.result()) < 0.05f, "%s", k.name);
  }
}

TEST(attend_codes_takes_the_largest_codes_and_scales) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const int dim : {64, 256}) {
      Half k(dim, bits, false, 0xFF), v(dim, bits, true, 0xFF);
      // Zero points at 0: no code means more than 255 steps.
      if (bits == 8) std::fill(k.scales.begin() + 16, k.scales.end(), uint8_t{0});
      if (bits == 8) std::fill(v.scales.begin() + 16, v.scales.end(), uint8_t{0});
      const CodeBlock block{k.codes.data(), k.scales.data(), v.codes.data(), v.scales.data()};
      const std::vector<CodeBlock> blocks(8, block);
      const CodeList list{blocks.data(), 128, bits, bits, -18, kExponent};
      for (const float value : {1.0f, -1.0f}) {
        const Floats q(static_cast<size_t>(dim), value);
        const float expected = 31.0f * (bits == 8 ? 255.0f : static_cast<float>((1 << bits) - 1));
        for (const Kernels& kernels : every_set()) {
          const Attended a = attend(kernels, q, 1, dim, {list});
          CHECK(std::fabs(a.result()[0] - expected) < 1e-4f * expected, "%s bits=%d %g",
                kernels.name, bits, static_cast<double>(a.result()[0]));
        }
      }
    }
  }
}

TEST(attend_window_sees_marked_lanes_and_tells_scores) {
  Random random(10);
  const int n_blocks = 11;
  for (const int dim : {32, 64, 96, 256}) {
    std::vector<std::vector<uint16_t>> halves;
    std::vector<const uint16_t*> k, v;
    std::vector<uint16_t> lanes;
    for (int b = 0; b < n_blocks; ++b) {
      lanes.push_back(static_cast<uint16_t>(b == 2 ? 0 : b == 3 ? 0xFFFF : random.next()));
      for (const bool value : {false, true}) {
        std::vector<uint16_t> block(static_cast<size_t>(16 * dim),
                                    0x7E00);  // NaN
        for (int t = 0; t < 16; ++t) {
          if (!(lanes.back() >> t & 1)) continue;
          for (int d = 0; d < dim; ++d) {
            block[static_cast<size_t>(value ? t * dim + d : 16 * d + t)] =
                float_to_fp16(gauss(random));
          }
        }
        halves.push_back(std::move(block));
      }
    }
    for (int b = 0; b < n_blocks; ++b) {
      k.push_back(halves[static_cast<size_t>(2 * b)].data());
      v.push_back(halves[static_cast<size_t>(2 * b + 1)].data());
    }
    for (int n = 1; n <= kMaxQueries; ++n) {
      const Floats q = gaussian(n * dim, random, 1.0f / std::sqrt(static_cast<float>(dim)));
      const std::vector<int> visible = {176, 175, 176, 0, 33, 1, 100, 161, 170, 16, 15, 17};
      const auto run = [&](const Kernels& kernels) {
        Attended a(n, dim);
        a.scores.assign(static_cast<size_t>(16 * n_blocks * n), kNan);
        kernels.attend_window(q.data(), n, dim, k.data(), v.data(), n_blocks, lanes.data(),
                              visible.data(), a.state.data(), a.out.data(), a.scores.data());
        return a;
      };
      const Attended expected = run(kScalarKernels);
      for (const Kernels& kernels : every_set()) {
        const Attended got = run(kernels);
        CHECK(worst_error(got.result(), expected.result()) < 3e-5f, "%s dim=%d n=%d", kernels.name,
              dim, n);
        for (size_t i = 0; i < got.scores.size(); ++i) {
          CHECK(got.scores[i] == expected.scores[i] ||
                    std::fabs(got.scores[i] - expected.scores[i]) < 1e-5f,
                "%s score %g, not %g", kernels.name, static_cast<double>(got.scores[i]),
                static_cast<double>(expected.scores[i]));
        }
        Floats sum(static_cast<size_t>(16 * n_blocks), 1.0f);
        kernels.add_weights(got.scores.data(), 16 * n_blocks, got.state[0].max,
                            0.5f / got.state[0].total, sum.data());
        double all = 0.0;
        for (size_t t = 0; t < sum.size(); ++t) {
          const bool seen = lanes[t / 16] >> t % 16 & 1;
          CHECK(seen ? sum[t] > 1.0f - 1e-6f : sum[t] == 1.0f, "%s lane %d", kernels.name,
                static_cast<int>(t));
          all += static_cast<double>(sum[t]) - 1.0;
        }
        CHECK(std::fabs(all - 0.5) < 1e-4, "%s sum %g", kernels.name, all);
      }
    }
  }
}

TEST(one_state_goes_through_all_kinds_of_attention) {
  Random random(11);
  List coded(40, 64, 4, 3, random), whole(32, 64, 16, 16, random);
  const Floats q = gaussian(64, random, 0.2f);
  std::vector<const uint16_t*> k, v;
  for (const CodeBlock& b : whole.blocks) {
    k.push_back(reinterpret_cast<const uint16_t*>(b.k_codes));
    v.push_back(reinterpret_cast<const uint16_t*>(b.v_codes));
  }
  const int visible = 32;
  const uint16_t lanes[2] = {0xFFFF, 0xFFFF};
  Floats first;
  float total = 0.0f;
  for (const Kernels& kernels : every_set()) {
    auto queries = std::make_unique<CodeQueries>();
    kernels.prepare_queries(q.data(), 1, 64, queries.get());
    for (const bool codes_first : {true, false}) {
      Attended a(1, 64);
      Floats scores(32);
      const auto codes = [&] {
        kernels.attend_codes(*queries, &coded.list, 1, a.state.data(), a.out.data());
      };
      if (codes_first) codes();
      kernels.attend_window(q.data(), 1, 64, k.data(), v.data(), 1, lanes, &visible, a.state.data(),
                            a.out.data(), scores.data());
      kernels.attend(q.data(), 1, 64, k.data() + 1, v.data() + 1, 1, 0, &visible, a.state.data(),
                     a.out.data());
      if (!codes_first) codes();
      if (first.empty()) {
        first = a.result();
        total = a.totals()[0];
      }
      CHECK(worst_error(a.result(), first) < 0.02f, "%s", kernels.name);
      CHECK(std::fabs(a.totals()[0] - total) < 0.01f, "%s", kernels.name);
    }
  }
}

TEST(mlp_sums_are_exact) {
  Random random(12);
  const int shapes[][2] = {{32, 128}, {128, 128}, {128, 2}, {256, 17}, {32, 1}};
  for (const auto& shape : shapes) {
    const int n_in = shape[0], n_out = shape[1];
    std::vector<int8_t> weights(static_cast<size_t>(n_in * n_out));
    for (int8_t& w : weights) w = static_cast<int8_t>(random.below(256) - 128);
    std::fill(weights.begin(), weights.begin() + n_in, int8_t{-128});
    Floats scale(static_cast<size_t>(n_out), 2.0f), bias(scale);
    for (float& b : bias) b = static_cast<float>(random.below(2000) - 1000);
    for (const int rows : {1, 2, 3, 5, 6, 7, 90}) {
      // Integers, and 127 in each row but the one of zeros: every result is
      // exact in a float.
      Floats x(static_cast<size_t>(rows * n_in));
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = i % static_cast<size_t>(n_in) == 3 ? -127.0f
                                                  : static_cast<float>(random.below(255) - 127);
      }
      if (rows > 1) std::fill(x.begin(), x.begin() + n_in, 0.0f);
      if (rows > 2) std::fill(x.begin() + n_in, x.begin() + 2 * n_in, 127.0f);
      for (const bool relu : {false, true}) {
        for (const Kernels& k : every_set()) {
          Bytes packed(mlp_bytes(n_in, n_out));
          k.pack_mlp(weights.data(), n_in, n_out, packed.data());
          Floats y(static_cast<size_t>(rows * n_out), kNan);
          k.mlp_layer({n_in, n_out, packed.data(), scale.data(), bias.data(), relu}, x.data(), rows,
                      y.data());
          for (int r = 0; r < rows; ++r) {
            for (int j = 0; j < n_out; ++j) {
              int sum = 0;
              for (int i = 0; i < n_in; ++i) {
                sum += weights[static_cast<size_t>(j * n_in + i)] *
                       static_cast<int>(x[static_cast<size_t>(r * n_in + i)]);
              }
              float expected = 2.0f * static_cast<float>(sum) + bias[static_cast<size_t>(j)];
              if (relu) expected = std::max(expected, 0.0f);
              const float got = y[static_cast<size_t>(r * n_out + j)];
              CHECK(got == expected, "%s %dx%d rows=%d: %g, not %g", k.name, n_in, n_out, rows,
                    static_cast<double>(got), static_cast<double>(expected));
            }
          }
        }
      }
    }
  }
}
