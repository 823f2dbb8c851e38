// Truncate, fork, requantize, evict, slide and compact; what happens when the pool is exhausted.
#include <cstring>

#include "code_cache_fixture.h"
#include "error.h"

using namespace kvq;
using namespace kvq::test;

TEST(code_cache_truncates_anywhere_and_fills_again) {
  const CacheSetup setup{.layers = 1, .capacity = 300};
  CodeCache cache = make(setup);
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 300, 64);
  const std::vector<uint8_t> full = contents(cache);
  const int front = cache.front();
  for (const int n : {0, 1, 3, 4, 5, 19, 20, 21, 36, 128, 131, front - 16, front - 1, front,
                      front + 1, 299, 300, 400}) {
    cache.truncate(n);
    const int left = std::min(n, 300);
    CHECK(cache.length() == left && cache.front() == std::clamp(left, 4, front), "%d", n);
    CHECK(wrong_tokens(cache, stream, 4) == 0, "%d", n);
    // The same as a cache that never held more, but for the window that has been quantized already.
    CHECK(cache.kv_bytes() <= static_cast<size_t>(left) * 3 * 256 + 18);
    feed(cache, stream, 300 - left, n % 2 ? 1 : 64);
    CHECK(contents(cache) == full, "%d", n);
  }
}

TEST(code_cache_drops_an_abandoned_plan) {
  CodeCache cache = make({});
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 100, 10);
  const std::vector<uint8_t> before = contents(cache);
  const size_t cells = cells_held(cache.pool());
  std::vector<uint8_t> classes;
  for (int i = 0; i < 20 * 6; ++i) classes.push_back(static_cast<uint8_t>(i % kClasses));
  const float x[64] = {1.0f};
  cache.plan(20, classes.data());
  cache.append(0, 0, 0, x, x);
  CHECK(contents(cache) == before);
  cache.plan(0, nullptr);
  CHECK(contents(cache) == before && cells_held(cache.pool()) == cells);
  feed(cache, stream, 100, 10);
  CHECK(wrong_tokens(cache, stream, 4) == 0);
}

TEST(code_cache_forks_share_until_they_differ) {
  const CacheSetup setup{.capacity = 400};
  const auto pool = pool_of(setup, 800);
  {
    CodeCache cache = make(setup, pool);
    const Stream stream{cache.model(), kernels()}, other{cache.model(), kernels(), 2};
    feed(cache, stream, 200, 64);
    const std::vector<uint8_t> before = contents(cache);
    const size_t cells = cells_held(*pool), window = 2 * 3 * 6;
    CodeCache fork = cache.fork();
    CHECK(contents(fork) == before);
    CHECK(cells_held(*pool) == cells + window);  // all quantized cells are shared
    CHECK(fork.kv_bytes() == cache.kv_bytes() && fork.page_bytes() == cache.page_bytes());

    feed(fork, other, 150, 7);
    CHECK(contents(cache) == before);
    feed(cache, stream, 150, 64);
    CHECK(wrong_tokens(cache, stream, 4) == 0);
    CHECK(wrong_tokens(fork, other, 200) == 0);
    // What both had quantized before is the same still.
    CodeCache cut = fork.fork();
    cut.truncate(168);
    CHECK(wrong_tokens(cut, stream, 4) == 0);
    // A cache that cuts into shared blocks and writes there leaves the others alone.
    const std::vector<uint8_t> forked = contents(fork);
    feed(cut, other, 100, 3);
    CHECK(contents(fork) == forked);
    std::vector<CodeCache> many;
    for (int i = 0; i < 300; ++i) many.push_back(cut.fork());
    CHECK(contents(many[299]) == contents(cut));
    many.erase(many.begin(), many.begin() + 280);
    fork = std::move(many.back());
    CHECK(contents(fork) == contents(cut));
  }
  CHECK(cells_held(*pool) == 0 && pool->counters().pages_taken == 0);
}

TEST(code_cache_requantizes) {
  for (const int dim : {32, 64, 96}) {
    const CacheSetup setup{.head_dim = dim, .ladder = {2, 4, 8, 16}, .capacity = 400};
    CodeCache cache = make(setup);
    const Stream stream{cache.model(), kernels()};
    feed(cache, stream, 300, 64);
    const std::vector<uint8_t> classes = cache.classes();
    const size_t bytes = cache.kv_bytes();
    alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim], k2[kMaxHeadDim], v2[kMaxHeadDim];
    alignas(64) float narrow[kMaxHeadDim];
    alignas(64) uint8_t codes[32 * kMaxHeadDim], scales[32];
    CodeCache lower = cache.fork();
    lower.requantize(1);
    int wrong = 0;
    for (int p = 4; p < cache.front(); ++p) {
      for (int place = 0; place < 6; ++place) {
        const int before = cache.class_of(place / 3, place % 3, p);
        const int after = lower.class_of(place / 3, place % 3, p);
        CHECK(k_tag(after) == std::max(0, k_tag(before) - 1));
        CHECK(v_tag(after) == std::max(0, v_tag(before) - 1));
        cache.read(place / 3, place % 3, p, k, v);
        lower.read(place / 3, place % 3, p, k2, v2);
        // What had the lowest width keeps its codes; the rest is quantized from what was stored.
        const int bits = setup.ladder[static_cast<size_t>(k_tag(after))];
        const int exponent = cache.model().k_exponent[static_cast<size_t>(place)];
        kernels().quantize_key(k, dim, bits, exponent, 0, codes, scales);
        kernels().dequantize_key(codes, scales, dim, bits, exponent, 0, narrow);
        const float* expected = k_tag(before) == 0 ? k : narrow;
        wrong += !std::equal(k2, k2 + dim, expected);
        if (v_tag(before) == 0) wrong += !std::equal(v2, v2 + dim, v);
      }
    }
    CHECK(wrong == 0, "dim %d: %d", dim, wrong);
    CHECK(cache.classes() == classes && cache.kv_bytes() == bytes);
    CHECK(wrong_tokens(cache, stream, 4) == 0);
    lower.requantize(3);
    CHECK(lower.class_tokens()[0] == static_cast<uint64_t>(6 * (lower.front() - 4)));
    feed(lower, stream, 100, 64);
    lower.truncate(lower.front());

    // One head alone, upwards: nothing is won, nothing may be lost.
    const std::vector<uint8_t> most(static_cast<size_t>(cache.front() - 4), 15);
    cache.requantize(1, 1, most.data());
    CHECK(cache.tokens(1, 1, 15) == cache.front() - 4);
    CodeCache wide = make(setup);
    CHECK(cache.tokens(0, 1, 15) < cache.front() - 4);
    alignas(64) float old_k[kMaxHeadDim], old_v[kMaxHeadDim];
    CodeCache again = make(setup);
    feed(again, stream, 300, 64);
    for (int p = 4; p < cache.front(); ++p) {
      cache.read(1, 1, p, k, v);
      again.read(1, 1, p, old_k, old_v);
      for (int d = 0; d < dim; ++d)
        CHECK(std::fabs(k[d] - old_k[d]) <= 2e-3f * std::fabs(old_k[d]));
    }
  }
}

TEST(code_cache_evicts_for_good) {
  const CacheSetup setup{.capacity = 500};
  CodeCache cache = make(setup);
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 300, 64);
  const size_t before = cache.kv_bytes();
  cache.evict(50, 50);
  CHECK(cache.gaps().empty());
  cache.evict(50, 81);
  CHECK(cache.kv_bytes() < before && cache.live_tokens() == 269 && cache.length() == 300);
  CHECK(wrong_tokens(cache, stream, 4) == 0);
  float k[64], v[64];
  CHECK(!cache.read(0, 0, 50, k, v) && !cache.read(1, 2, 80, k, v) && cache.read(0, 0, 81, k, v));
  CodeCache fork = cache.fork();
  cache.evict(100, 140);
  cache.evict(4, 9);
  cache.evict(81, 90);
  CHECK((cache.gaps() == std::vector<CodeCache::Gap>{{4, 9}, {50, 90}, {100, 140}}));
  cache.evict(40, 120);
  CHECK((cache.gaps() == std::vector<CodeCache::Gap>{{4, 9}, {40, 140}}));
  CHECK(wrong_tokens(cache, stream, 4) == 0);
  CHECK(fork.live_tokens() == 269 && wrong_tokens(fork, stream, 4) == 0);
  uint64_t tokens = 0;
  for (const uint64_t n : cache.class_tokens()) tokens += n;
  CHECK(tokens == 6u * (268 - 4 - 5 - 100));
  // Counted as it is stored.
  CHECK(cache.live_tokens() == 300 - 105);

  feed(cache, stream, 150, 20);
  CHECK(wrong_tokens(cache, stream, 4) == 0);
  cache.requantize(1);
  CodeCache back = make(setup);
  const std::vector<uint8_t> bytes = contents(cache);
  back.restore({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  CHECK(back.gaps() == cache.gaps() && contents(back) == bytes);
  cache.truncate(60);
  CHECK((cache.gaps() == std::vector<CodeCache::Gap>{{4, 9}, {40, 60}}));
  CHECK(cache.live_tokens() == 35 && cache.front() == 60);
  cache.truncate(20);
  CHECK(cache.gaps().size() == 1);
  feed(cache, stream, 200, 64);
  cache.slide(7);  // the gap goes with what is before it, or moves along
  CHECK(cache.gaps().empty());
  cache.evict(30, 40);
  cache.slide(31);
  CHECK((cache.gaps() == std::vector<CodeCache::Gap>{{4, 9}}));
  cache.evict(4, cache.front());
  CHECK(cache.live_tokens() == 36 && cache.blocks(0, 0) == 0);
}

TEST(code_cache_slides_and_turns_keys_back) {
  for (const auto& ladder : {std::array{2, 3, 4, 8}, std::array{2, 4, 8, 16}}) {
    for (const int dim : {32, 64, 96}) {
      const CacheSetup setup{.head_dim = dim, .ladder = ladder, .capacity = 200};
      CodeCache cache = make(setup);
      const Stream stream{cache.model(), kernels()};
      alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim], k2[kMaxHeadDim], v2[kMaxHeadDim];
      int ahead = 0;
      std::array<double, 4> base{};
      for (int round = 0; round <= 3; ++round) {
        feed(cache, stream, 200 - cache.length(), 33, ahead);
        CHECK(cache.length() == 200 && cache.front() == 168);
        std::array<double, 4> error{}, size{};
        int wrong_values = 0;
        for (int p = 4; p < 168; ++p) {
          for (int place = 0; place < 6; ++place) {
            CHECK(cache.read(place / 3, place % 3, p, k, v));
            stream.stored(p + ahead, p, place, k2, v2);
            const int cls = cache.class_of(place / 3, place % 3, p);
            CHECK(cls == stream.cls(p + ahead, place));
            const auto tag = static_cast<size_t>(k_tag(cls));
            for (int d = 0; d < dim; ++d) {
              error[tag] += std::pow(k[d] - k2[d], 2.0);
              size[tag] += std::pow(k2[d], 2.0);
            }
            // Values only change their place.
            alignas(64) uint8_t codes[32 * kMaxHeadDim], scales[32];
            const int bits = ladder[static_cast<size_t>(v_tag(cls))];
            const int exponent = cache.model().v_exponent[static_cast<size_t>(place)];
            kernels().quantize_value(v2, dim, bits, exponent, 0, codes, scales);
            kernels().dequantize_value(codes, scales, dim, bits, exponent, 0, v2);
            wrong_values += !std::equal(v, v + dim, v2);
          }
        }
        CHECK(wrong_values == 0, "round %d", round);
        for (size_t tag = 0; tag < 4; ++tag) {
          const double relative = error[tag] / size[tag];
          if (round == 0) base[tag] = relative;
          // Each round adds one rounding to the oldest tokens, at most.
          CHECK(relative <= 1.15 * (1 + round) * base[tag] + 1e-7 * round,
                "%d bits, round %d: %g after %g", ladder[tag], round, relative, base[tag]);
        }
        // Sinks stay; the window is as exact as halves are.
        for (int p = 0; p < 200; p == 3 ? p = 168 : ++p) {
          for (int place = 0; place < 6; ++place) {
            cache.load(place / 3, place % 3, p, k, v);
            stream.stored(p < 4 ? p : p + ahead, p, place, k2, v2);
            for (int d = 0; d < dim; ++d) CHECK(std::fabs(k[d] - k2[d]) < 0.02f);
            CHECK(std::equal(v, v + dim, v2));
            const float mass = static_cast<float>(p < 4 ? p : p + ahead);
            CHECK(cache.mass(place / 3, place % 3)[cache.model().slot(p)] == mass);
          }
        }
        const int n = round == 1 ? 1 : 50 + 9 * round;
        cache.slide(n);
        ahead += n;
        CHECK(cache.length() == 200 - n && cache.front() == 168 - n);
      }
      // Further than the quantized tokens reach, and all of them.
      cache.slide(cache.front() + 5 - 4);
      CHECK(cache.front() == 4 && cache.length() == 31 && cache.blocks(1, 1) == 0);
      cache.slide(27);
      CHECK(cache.length() == 4 && cache.front() == 4);
      feed(cache, stream, 100, 64);
      CHECK(wrong_tokens(cache, stream, 4) == 0);
    }
  }
}

TEST(code_cache_slides_apart_from_its_forks) {
  const CacheSetup setup{.capacity = 200};
  CodeCache cache = make(setup);
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 200, 64);
  const std::vector<uint8_t> before = contents(cache);
  CodeCache fork = cache.fork();
  fork.slide(64);
  CHECK(contents(cache) == before);
  CodeCache alone = make(setup);
  feed(alone, stream, 200, 64);
  alone.slide(64);
  CHECK(contents(fork) == contents(alone));
}

TEST(code_cache_loses_nothing_when_the_pool_is_exhausted) {
  const CacheSetup setup{.layers = 2, .capacity = 2000};
  const auto pool = pool_of(setup, 10);
  CodeCache cache = make(setup, pool);
  const Stream stream{cache.model(), kernels()};
  std::string code;
  while (code.empty() && cache.length() < 2000) code = ERROR_CODE(feed(cache, stream, 1, 1));
  CHECK(code == "memory");
  const int reached = cache.length();
  CHECK(reached > 500 && reached < 1900, "%d", reached);
  const std::vector<uint8_t> full = contents(cache);
  CHECK(wrong_tokens(cache, stream, 4) == 0);
  CHECK(ERROR_CODE(feed(cache, stream, 1, 1)) == "memory");
  CHECK(ERROR_CODE((void)cache.fork()) == "memory");
  CHECK(contents(cache) == full);
  const std::vector<uint8_t> most(static_cast<size_t>(cache.front() - 4), 15);
  CHECK(ERROR_CODE(cache.requantize(1, 1, most.data())) == "memory");
  CHECK(contents(cache) == full);
  std::vector<int32_t> tokens;
  CHECK(ERROR_CODE(tokens = cache.restore(
                       {reinterpret_cast<const char*>(full.data()), full.size()})) == "memory");
  CHECK(contents(cache) == full);
  CHECK(ERROR_CODE(make(setup, pool)) == "memory");

  // Without any memory left, lower widths make room, and so do dropped tokens.
  CodeCache copy = make(setup, pool_of(setup, 200));
  copy.restore({reinterpret_cast<const char*>(full.data()), full.size()});
  cache.requantize(1);
  copy.requantize(1);
  CHECK(contents(cache) == contents(copy));
  const size_t pages = pool->counters().pages_taken;
  CHECK(pages <= 9, "%zu", pages);
  feed(cache, stream, 60, 1);
  code.clear();
  while (code.empty() && cache.length() < 2000) code = ERROR_CODE(feed(cache, stream, 1, 1));
  const int further = cache.length();
  cache.slide(100);
  CHECK(cache.length() == further - 100);
  cache.evict(10, 60);
  feed(cache, stream, 40, 1, 100);
  CHECK(cache.length() == further - 60);
}

TEST(code_cache_changes_nothing_when_what_it_shares_cannot_be_copied) {
  const CacheSetup setup{.layers = 2, .capacity = 1000};
  const auto pool = pool_of(setup, 13);
  CodeCache cache = make(setup, pool);
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 900, 64);
  CodeCache fork = cache.fork();
  const std::vector<uint8_t> before = contents(cache);
  CHECK(ERROR_CODE(fork.slide(10)) == "memory");
  CHECK(contents(fork) == before && contents(cache) == before);
  CHECK(ERROR_CODE(fork.evict(20, 21)) == "memory");
  CHECK(contents(fork) == before && fork.gaps().empty());
  const std::vector<uint8_t> most(static_cast<size_t>(fork.front() - 4), 15);
  for (const int head : {0, 1, 2}) {
    const std::string code = ERROR_CODE(fork.requantize(1, head, most.data()));
    CHECK(code.empty() || code == "memory");
  }
  CHECK(wrong_tokens(cache, stream, 4) == 0 && contents(cache) == before);
  // Nothing is shared any more: nothing needs to be copied.
  {
    const CodeCache gone = std::move(cache);
  }
  fork.slide(10);
  fork.evict(20, 21);
  CHECK(fork.length() == 890 && fork.live_tokens() == 889);
}

TEST(code_cache_compacts) {
  const CacheSetup setup{.layers = 3, .capacity = 800};
  const auto pool = pool_of(setup, 400);
  CodeCache cache = make(setup, pool);
  const Stream stream{cache.model(), kernels()};
  {
    // Two caches that grow side by side have cells in the same pages.
    CodeCache other = make(setup, pool);
    for (int i = 0; i < 35; ++i) {
      feed(cache, stream, 20, 20);
      feed(other, stream, 20, 20);
    }
  }
  const std::vector<uint8_t> before = contents(cache);
  const CellPool::Counters sparse = pool->counters();
  CHECK(sparse.unused > 0.3, "%f", sparse.unused);
  cache.compact();
  CHECK(contents(cache) == before);
  const CellPool::Counters dense = pool->counters();
  CHECK(dense.page_bytes == cache.page_bytes(), "%zu %zu", dense.page_bytes, cache.page_bytes());
  CHECK(dense.page_bytes < sparse.page_bytes);
  feed(cache, stream, 100, 10);
  CHECK(wrong_tokens(cache, stream, 4) == 0);
}
