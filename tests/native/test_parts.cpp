// The pieces below the engine: halves, tensor types, thread pool, pages, sampler, snapshots.
#include <atomic>
#include <cmath>
#include <limits>
#include <set>

#include "check.h"
#include "error.h"
#include "fp16.h"
#include "kernels/kernels.h"
#include "kv_cache.h"
#include "pace.h"
#include "packed_matrix.h"
#include "sampler.h"
#include "snapshot.h"
#include "thread_pool.h"
#include "tiny_model.h"

using namespace kvq;
using kvq::test::Random;

TEST(every_half_survives_a_round_trip) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float f = fp16_to_float(static_cast<uint16_t>(h));
    if (f != f) {
      CHECK((float_to_fp16(f) & 0x7C00) == 0x7C00);
    } else {
      CHECK(float_to_fp16(f) == h, "%04x", h);
    }
  }
  CHECK(float_to_fp16(65519.9f) == 0x7BFF);
  CHECK(float_to_fp16(65520.0f) == 0x7C00);
  CHECK(float_to_fp16(1.00048828125f) == 0x3C00);  // half-way: to even
  CHECK(float_to_fp16(1.00146484375f) == 0x3C02);
  CHECK(float_to_bf16(1.00390625f) == 0x3F80);
}

TEST(packed_rows_decode_to_the_file_values) {
  Random random(2);
  for (const uint32_t type : {0u, 1u, 3u, 8u}) {
    const int rows = 16, cols = 96;
    const std::vector<uint8_t> file = test::random_rows(type, rows, cols, random);
    const size_t row_bytes = file.size() / rows;
    PackedMatrix w;
    w.format = packed_format(static_cast<TensorType>(type));
    w.rows = rows;
    w.cols = cols;
    std::vector<uint8_t> codes(w.code_bytes());
    std::vector<uint16_t> scales(w.scale_bytes() / 2 + 1);
    w.codes = codes.data();
    w.scales = scales.data();
    const uint8_t* pointers[kTileRows];
    for (size_t r = 0; r < kTileRows; ++r) pointers[r] = file.data() + r * row_bytes;
    CHECK(pack_tile(static_cast<TensorType>(type), pointers, w, 0));
    for (int r = 0; r < rows; ++r) {
      float expected[96], got[96];
      dequantize(static_cast<TensorType>(type), pointers[r], cols, expected);
      unpack_row(w, r, got);
      for (int c = 0; c < cols; ++c) {
        CHECK(
            std::fabs(got[c] - expected[c]) <= (type == 0 ? 1e-3f * std::fabs(expected[c]) : 0.0f),
            "type %u", type);
      }
    }
  }
}

TEST(weights_that_are_not_finite_are_refused) {
  std::vector<uint8_t> block(20 * 1, 0);
  block[1] = 0x7C;  // an infinite scale
  PackedMatrix w;
  w.rows = 1;
  w.cols = 32;
  std::vector<uint8_t> codes(w.code_bytes());
  std::vector<uint16_t> scales(w.scale_bytes() / 2);
  w.codes = codes.data();
  w.scales = scales.data();
  const uint8_t* rows[kTileRows] = {block.data()};
  CHECK(!pack_tile(TensorType::kQ4_1, rows, w, 0));
}

TEST(all_threads_pass_every_barrier_together) {
  for (const int threads : {1, 2, 4, 16}) {
    ThreadPool pool(threads);
    std::atomic<int> count{0};
    std::atomic<bool> wrong{false};
    for (int run = 0; run < 20; ++run) {
      count = 0;
      pool.run([&](int index) {
        for (int i = 1; i <= 25; ++i) {
          count.fetch_add(1);
          pool.barrier(index);
          if (count.load() != i * threads) wrong = true;
          pool.barrier(index);
        }
      });
      CHECK(count == 25 * threads);
    }
    CHECK(!wrong, "%d threads", threads);
  }
}

TEST(pages_are_taken_and_given_back) {
  KvCache cache({2, 3, 64, 2000});
  CHECK(cache.bytes() == 0);
  cache.reserve(1);
  CHECK(cache.bytes() == 4 * kPageBytes);
  cache.set_length(1);
  cache.reserve(2000);
  const size_t full = cache.bytes();
  std::set<const uint16_t*> blocks;
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 3; ++head) {
      for (int b = 0; b < 125; ++b) {
        blocks.insert(cache.k_blocks(layer, head)[b]);
        blocks.insert(cache.v_blocks(layer, head)[b]);
      }
    }
  }
  CHECK(blocks.size() == 2 * 3 * 125 * 2);
  cache.set_length(2000);
  cache.truncate(100);
  CHECK(cache.length() == 100 && cache.bytes() < full / 4);
  cache.truncate(0);
  CHECK(cache.bytes() == 0);
  cache.reserve(2000);
  CHECK(cache.bytes() == full);
}

TEST(no_infinity_or_nan_enters_a_page) {
  KvCache cache({1, 1, 16, 16});
  cache.reserve(1);
  float k[16] = {1e30f, -1e30f, std::numeric_limits<float>::quiet_NaN(), 1.5f};
  cache.store(0, 0, 0, k, k);
  CHECK(cache.v_blocks(0, 0)[0][0] == 0x7BFF && cache.v_blocks(0, 0)[0][1] == 0xFBFF);
  CHECK(cache.v_blocks(0, 0)[0][2] == 0 && cache.k_blocks(0, 0)[0][3 * 16] == float_to_fp16(1.5f));
}

TEST(a_snapshot_is_refused_unless_it_is_whole_and_ours) {
  const CacheShape shape{2, 3, 16, 64};
  KvCache cache(shape), other(shape), smaller({2, 3, 16, 32}), fewer({2, 1, 16, 64});
  Random random(4);
  float k[16];
  cache.reserve(37);
  for (int t = 0; t < 37; ++t) {
    for (float& v : k) v = random.uniform();
    for (int l = 0; l < 2; ++l) {
      for (int h = 0; h < 3; ++h) cache.store(l, h, t, k, k);
    }
  }
  cache.set_length(37);
  std::vector<int32_t> tokens(37, 5);
  const std::vector<uint8_t> bytes = save_snapshot(cache, 99, tokens);
  const std::string good(bytes.begin(), bytes.end());
  CHECK(load_snapshot(other, 99, good) == tokens && other.length() == 37);
  CHECK(save_snapshot(other, 99, tokens) == bytes);
  other.truncate(0);
  CHECK(ERROR_CODE(load_snapshot(other, 98, good)) == "snapshot");
  CHECK(ERROR_CODE(load_snapshot(smaller, 99, good)) == "snapshot");
  CHECK(ERROR_CODE(load_snapshot(fewer, 99, good)) == "snapshot");
  for (size_t n = 0; n < good.size(); n += 97) {
    CHECK(ERROR_CODE(load_snapshot(other, 99, good.substr(0, n))) == "snapshot");
    std::string bad = good;
    bad[n] = static_cast<char>(bad[n] ^ 4);
    CHECK(ERROR_CODE(load_snapshot(other, 99, bad)) == "snapshot", "byte %zu", n);
  }
  CHECK(other.length() == 0 && other.bytes() == 0);
}

TEST(sampling_settings_are_checked) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, inf, -inf, -1.0f}) {
    CHECK(ERROR_CODE(Sampler({.temperature = bad})) == "argument");
    CHECK(ERROR_CODE(Sampler({.top_p = bad})) == "argument");
    CHECK(ERROR_CODE(Sampler({.min_p = bad})) == "argument");
    CHECK(ERROR_CODE(Sampler({.repetition_penalty = bad})) == "argument");
  }
  CHECK(ERROR_CODE(Sampler({.top_k = -1})) == "argument");
  CHECK(ERROR_CODE(Sampler({.top_p = 0.0f})) == "argument");
}

TEST(sampling_follows_the_distribution_and_the_seed) {
  std::vector<float> logits(1000, -50.0f);
  logits[7] = std::log(0.5f);
  logits[8] = std::log(0.3f);
  logits[999] = std::log(0.2f);
  const auto draw = [&](SamplerSettings s, int n) {
    Sampler sampler(s);
    std::vector<int32_t> out;
    for (int i = 0; i < n; ++i) out.push_back(sampler.pick(logits.data(), 1000, nullptr, 0));
    return out;
  };
  const auto count = [](const std::vector<int32_t>& v, int32_t t) {
    return static_cast<double>(std::count(v.begin(), v.end(), t)) / static_cast<double>(v.size());
  };
  const auto all = draw({.temperature = 1.0f, .seed = 1}, 20000);
  CHECK(std::fabs(count(all, 7) - 0.5) < 0.02 && std::fabs(count(all, 999) - 0.2) < 0.02);
  CHECK(draw({.temperature = 1.0f, .seed = 2}, 50) == draw({.temperature = 1.0f, .seed = 2}, 50));
  CHECK(draw({.temperature = 1.0f, .seed = 2}, 50) != draw({.temperature = 1.0f, .seed = 3}, 50));
  CHECK(count(draw({.temperature = 1.0f, .top_k = 2, .seed = 1}, 2000), 999) == 0.0);
  CHECK(count(draw({.temperature = 1.0f, .top_p = 0.79f, .seed = 1}, 2000), 999) == 0.0);
  CHECK(count(draw({.temperature = 1.0f, .min_p = 0.5f, .seed = 1}, 2000), 999) == 0.0);
  for (const float cold : {0.0f, 1e-8f, 1e-30f}) {
    CHECK(count(draw({.temperature = cold}, 10), 7) == 1.0);
  }
  Sampler penalty({.repetition_penalty = 5.0f});
  const int32_t recent[2] = {7, 7};
  CHECK(penalty.pick(logits.data(), 1000, recent, 2) == 8);
  logits[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(ERROR_CODE(draw({}, 1)) == "argument");
  std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
  CHECK(ERROR_CODE(draw({}, 1)) == "argument");
}

TEST(a_busy_machine_is_met_with_one_thread) {
  Pace pace;
  const auto together = [&](double seconds, double slept) {
    CHECK(pace.threads(2) == 2);
    pace.note(2, seconds, slept, 1);
  };
  const auto alone = [&](double seconds) {
    int steps = 0;
    for (; pace.threads(2) == 1; ++steps) pace.note(1, seconds, 0.0, 1);
    return steps;
  };
  for (int i = 0; i < 10; ++i) together(0.002, 0.0);
  // A single hiccup changes nothing.
  together(0.2, 0.1);
  together(0.002, 0.0);
  together(0.2, 0.1);
  together(0.2, 0.1);
  // One step to compare, which is faster, then a quarter of a second.
  CHECK(alone(0.02) == 1 + 13);
  // Still busy: one bad step is enough now, and it stays alone for longer.
  together(0.2, 0.1);
  CHECK(alone(0.02) == 1 + 25);
  // Waits, but together still faster: the comparison only.
  together(0.01, 0.005);
  CHECK(alone(0.02) == 1);
  // Idle again: forgiving again.
  together(0.002, 0.0);
  together(0.2, 0.1);
  CHECK(alone(0.02) == 0);
  CHECK(pace.threads(1) == 1);
}
