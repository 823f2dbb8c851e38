// Filling, reading and accounting of the quantized cache.
#include <cstring>
#include <set>

#include "code_cache_fixture.h"
#include "error.h"

using namespace kvq;
using namespace kvq::test;

TEST(code_cache_codes_do_not_depend_on_how_it_was_filled) {
  for (const int dim : {32, 64, 96}) {
    const CacheSetup setup{.head_dim = dim};
    std::vector<uint8_t> first;
    for (const int chunk : {1, 64, 300}) {
      CodeCache cache = make(setup);
      const Stream stream{cache.model(), kernels()};
      feed(cache, stream, 300, chunk);
      CHECK(cache.length() == 300 && cache.front() == 268);
      CHECK(wrong_tokens(cache, stream, 4) == 0, "dim %d chunk %d", dim, chunk);
      if (first.empty()) first = contents(cache);
      CHECK(contents(cache) == first, "dim %d chunk %d", dim, chunk);
    }
  }
}

TEST(code_cache_takes_any_class_after_any_other) {
  for (const auto& ladder : {std::array{2, 3, 4, 8}, std::array{2, 4, 8, 16}}) {
    const CacheSetup setup{.layers = 2, .kv_heads = 2, .ladder = ladder, .capacity = 600};
    CodeCache cache = make(setup);
    const Stream stream{cache.model(), kernels()};
    // Every pair of neighbours, by walking all edges of the complete graph of classes; each place
    // starts at another point of the walk.
    std::vector<uint8_t> walk;
    for (int a = 0; a < kClasses; ++a) {
      walk.push_back(static_cast<uint8_t>(a));
      for (int b = a + 1; b < kClasses; ++b) {
        walk.push_back(static_cast<uint8_t>(a));
        walk.push_back(static_cast<uint8_t>(b));
      }
    }
    std::set<int> pairs;
    for (size_t i = 0; i < walk.size(); ++i) {
      pairs.insert(walk[i] * kClasses + walk[(i + 1) % walk.size()]);
    }
    CHECK(pairs.size() == 256);
    const int n = static_cast<int>(walk.size()) + 1;
    std::vector<uint8_t> classes;
    for (int t = 0; t < n; ++t) {
      for (size_t place = 0; place < 4; ++place) {
        classes.push_back(walk[(static_cast<size_t>(t) + 61 * place) % walk.size()]);
      }
    }
    cache.plan(n, classes.data());
    alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim];
    for (int t = 0; t < n; ++t) {
      for (int place = 0; place < 4; ++place) {
        stream.stored(4 + t, 4 + t, place, k, v);
        cache.append(place / 2, place % 2, classes[static_cast<size_t>(4 * t + place)], k, v);
      }
    }
    cache.commit();
    CHECK(cache.classes() == classes);
    CHECK(wrong_tokens(cache, stream, 4) == 0);
  }
}

TEST(code_cache_gives_attention_all_tokens_once) {
  const CacheSetup setup{.capacity = 900};
  CodeCache cache = make(setup);
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 900, 50);
  const int dim = setup.head_dim;
  std::vector<float> q(static_cast<size_t>(dim));
  Random random(3);
  for (float& x : q) x = 0.3f * random.uniform();
  // The plain kernels: how exact the others are is their own tests' business.
  const Kernels plain = select_kernels("scalar");
  CodeQueries queries;
  plain.prepare_queries(q.data(), 1, dim, &queries);
  for (const int part : {1, 5, 1000}) {
    AttendState state{-INFINITY, 0.0f};
    std::vector<float> o(static_cast<size_t>(dim));
    std::vector<CodeBlock> blocks(1000);
    CodeList lists[kClasses];
    const int total = cache.blocks(1, 2);
    int tokens = 0;
    for (int b = 0; b < total; b += part) {
      const int n = std::min(part, total - b);
      const int found = cache.blocks(1, 2, b, n, blocks.data(), lists);
      for (int i = 0; i < found; ++i) tokens += lists[i].n_tokens;
      plain.attend_codes(queries, lists, found, &state, o.data());
    }
    CHECK(tokens == cache.front() - setup.sinks);
    uint16_t lanes[3];
    const int visible = 48;
    std::vector<float> scores(48);
    cache.window_lanes(cache.length(), lanes);
    int filled = 0;
    for (const uint16_t l : lanes) filled += std::popcount(l);
    CHECK(filled == setup.sinks + setup.window);
    plain.attend_window(q.data(), 1, dim, cache.k_window(1, 2), cache.v_window(1, 2), 3, lanes,
                        &visible, &state, o.data(), scores.data());

    double weights = 0.0;
    std::vector<double> expected(static_cast<size_t>(dim));
    alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim];
    for (int p = 0; p < cache.length(); ++p) {
      if (p >= setup.sinks && p < cache.front()) {
        CHECK(cache.read(1, 2, p, k, v));
      } else {
        cache.load(1, 2, p, k, v);
      }
      double score = 0.0;
      for (int d = 0; d < dim; ++d) score += static_cast<double>(k[d]) * q[static_cast<size_t>(d)];
      weights += std::exp(score);
      for (int d = 0; d < dim; ++d) expected[static_cast<size_t>(d)] += std::exp(score) * v[d];
    }
    for (int d = 0; d < dim; ++d) {
      const auto at = static_cast<size_t>(d);
      CHECK(std::fabs(o[at] / state.total - expected[at] / weights) < 1e-4, "part %d", part);
    }
  }
}

TEST(code_cache_keeps_the_window_exact) {
  CodeCache cache = make({});
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 333, 64);
  alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim], k2[kMaxHeadDim], v2[kMaxHeadDim];
  for (int p = 0; p < cache.length(); p == 3 ? p = cache.front() : ++p) {
    for (int place = 0; place < 6; ++place) {
      cache.load(place / 3, place % 3, p, k, v);
      stream.stored(p, p, place, k2, v2);
      CHECK(std::equal(k, k + 64, k2) && std::equal(v, v + 64, v2), "position %d", p);
      CHECK(cache.mass(place / 3, place % 3)[cache.model().slot(p)] == static_cast<float>(p));
    }
  }
  // A new token has received nothing; a NaN or an infinity does not get in.
  const int slot = cache.model().slot(333);
  cache.mass(0, 0)[slot] = cache.late(0, 0)[slot] = cache.peak(0, 0)[slot] = 5.0f;
  std::fill(k, k + 64, NAN);
  std::fill(v, v + 64, -INFINITY);
  cache.store(0, 0, 333, k, v);
  cache.load(0, 0, 333, k, v);
  CHECK(k[63] == 0.0f && v[63] == -65504.0f);
  CHECK(cache.mass(0, 0)[slot] == 0.0f && cache.late(0, 0)[slot] == 0.0f);
  CHECK(cache.peak(0, 0)[slot] == 0.0f);
}

TEST(code_cache_reports_the_bytes_that_are_stored) {
  for (const auto& ladder : {std::array{2, 3, 4, 8}, std::array{2, 4, 8, 16}}) {
    const CacheSetup setup{.ladder = ladder, .capacity = 700};
    CodeCache cache = make(setup);
    CHECK(cache.kv_bytes() == 0 && cache.bits_mean() == 0.0);
    const Stream stream{cache.model(), kernels()};
    feed(cache, stream, 650, 64);
    // Each vector by the width of its tag: 64 codes, a scale, at 8 bits a zero point too.
    const auto vector_bytes = [](int bits) {
      return 8 * bits + (bits == 16 ? 0 : bits == 8 ? 2 : 1);
    };
    std::array<uint64_t, kClasses> counted{};
    size_t bytes = 36 * 6 * 256 + (650 - 36) * 3;  // halves; two classes a byte
    for (int p = 4; p < cache.front(); ++p) {
      for (int place = 0; place < 6; ++place) {
        const int cls = stream.cls(p, place);
        ++counted[static_cast<size_t>(cls)];
        bytes += static_cast<size_t>(vector_bytes(ladder[static_cast<size_t>(cls & 3)]) +
                                     vector_bytes(ladder[static_cast<size_t>(cls >> 2)]));
      }
    }
    CHECK(cache.class_tokens() == counted);
    CHECK(cache.kv_bytes() == bytes, "%zu %zu", cache.kv_bytes(), bytes);
    CHECK(std::fabs(cache.bits_mean() - 8.0 * static_cast<double>(bytes) / (650 * 6 * 128)) < 1e-9);

    // The cells of the pool hold exactly these tokens, the last block of a list partly.
    const CellPool::Counters c = cache.pool().counters();
    std::array<size_t, 17> cells{};
    cells[16] = 6 * 2 * 3;
    for (int place = 0; place < 6; ++place) {
      for (int cls = 0; cls < kClasses; ++cls) {
        const auto n = static_cast<size_t>((cache.tokens(place / 3, place % 3, cls) + 15) / 16);
        cells[static_cast<size_t>(ladder[static_cast<size_t>(cls & 3)])] += n;
        cells[static_cast<size_t>(ladder[static_cast<size_t>(cls >> 2)])] += n;
      }
    }
    for (size_t bits = 0; bits < cells.size(); ++bits) CHECK(c.cells[bits] == cells[bits]);
    CHECK(cache.page_bytes() == c.page_bytes);
    CHECK(c.page_bytes >= bytes - 614 * 3);
    cache.truncate(0);
    CHECK(cache.kv_bytes() == 0);
    CHECK(cache.pool().counters().page_bytes == 2 * CellPool::kPageBytes);  // the window's
  }
}

namespace {

struct Footprint {
  double bits, pages, tags, metadata, all;  // bytes
};

// A cache of 8,192 tokens of a model with 30 layers and 3 KV heads of 64, whose tags are drawn at
// random so that the mean over all numbers (halves, scales and tags included) is as given.
Footprint footprint_of_8192(double bits) {
  constexpr int kTokens = 8192, kPlaces = 90;
  const CacheSetup setup{.layers = 30, .capacity = kTokens, .pool_bytes = size_t{1} << 30};
  Kernels cheap = kernels();
  cheap.quantize_key = cheap.quantize_value = [](const float*, int, int, int, int lane,
                                                 uint8_t* codes, uint8_t*) { codes[lane] = 1; };
  const auto pool = std::make_shared<CellPool>(64, setup.pool_bytes);
  CodeCache cache(code_model(setup), pool, kTokens, cheap);
  pool->reserve(size_t{48} << 20);
  const size_t allocations = pool->counters().allocations;
  const double body = (bits * kTokens - 16.0 * 36) / (kTokens - 36) - 4.0 / 128;
  const double cost[4] = {2.125, 3.125, 4.125, 8.25};
  double share[4] = {}, low = -5.0, high = 5.0;
  for (int step = 0; step < 60; ++step) {
    const double steepness = 0.5 * (low + high);
    double total = 0.0, mean = 0.0;
    for (int i = 0; i < 4; ++i) total += share[i] = std::exp(-steepness * cost[i]);
    for (int i = 0; i < 4; ++i) mean += (share[i] /= total) * cost[i];
    (mean > body ? low : high) = steepness;
  }
  Random random(5);
  const auto tag = [&] {
    double at = 0.5 * (1.0 + static_cast<double>(random.uniform()));
    int t = 0;
    while (t < 3 && (at -= share[t]) >= 0.0) ++t;
    return t;
  };
  std::vector<uint8_t> classes(kPlaces);
  const float x[64] = {};
  for (int p = 0; p < kTokens; ++p) {
    cache.set_length(p + 1);
    if (cache.front() >= cache.length() - 32) continue;
    for (uint8_t& c : classes) c = static_cast<uint8_t>(tag() | tag() << 2);
    cache.plan(1, classes.data());
    for (int i = 0; i < kPlaces; ++i) {
      cache.append(i / 3, i % 3, classes[static_cast<size_t>(i)], x, x);
    }
    cache.commit();
  }
  CHECK(std::fabs(cache.bits_mean() - bits) < 0.01, "%f", cache.bits_mean());
  const CellPool::Counters c = pool->counters();
  CHECK(c.allocations == allocations);
  const Footprint f{cache.bits_mean(), static_cast<double>(c.page_bytes), 45.0 * (kTokens - 36),
                    static_cast<double>(cache.metadata_bytes()),
                    static_cast<double>(c.page_bytes + cache.metadata_bytes())};
  std::printf(
      "     %.2f bits, %d tokens: stored %.2f MB, pages %.2f MB (%.1f %% of them hold no token, "
      "%.2f %% no cell), metadata %.2f MB = %.0f bytes a token, together %.2f MB\n",
      f.bits, kTokens, 1e-6 * static_cast<double>(cache.kv_bytes()), 1e-6 * f.pages,
      100.0 * (1.0 - (static_cast<double>(cache.kv_bytes()) - f.tags) / f.pages), 100.0 * c.unused,
      1e-6 * f.metadata, f.metadata / kTokens, 1e-6 * f.all);
  return f;
}

}  // namespace

TEST(code_cache_of_8192_tokens_fits_its_budget) {
  constexpr double kFp16 = 2.0 * 2 * 64 * 90 * 8192, kMost = 43e6;
  const Footprint exact = footprint_of_8192(3.5);
  CHECK(exact.pages + exact.tags <= kMost, "%f", exact.pages + exact.tags);
  CHECK(exact.metadata <= 0.008 * kFp16, "%f", exact.metadata);
  // A budget counts at 2,048 tokens; at 8,192 the halves weigh less.
  const double body = (3.5 * 2048 - 16.0 * 36) / (2048 - 36);
  const Footprint setting = footprint_of_8192((body * (8192 - 36) + 16.0 * 36) / 8192);
  CHECK(setting.all <= kMost, "%f", setting.all);
  CHECK(setting.metadata <= 0.008 * kFp16, "%f", setting.metadata);
}

TEST(code_cache_refuses_what_it_cannot_be) {
  const auto code = [](auto change) {
    const auto m = code_model({});
    change(*m);
    return ERROR_CODE(m->check());
  };
  CHECK(code([](CodeModel&) {}) == "");
  CHECK(code([](CodeModel& m) { m.ladder = {2, 3, 5, 8}; }) == "argument");
  CHECK(code([](CodeModel& m) { m.ladder = {2, 4, 3, 8}; }) == "argument");
  CHECK(code([](CodeModel& m) { m.shape.head_dim = 80; }) == "argument");
  CHECK(code([](CodeModel& m) { m.shape.layers = 0; }) == "argument");
  CHECK(code([](CodeModel& m) { m.window = 0; }) == "argument");
  CHECK(code([](CodeModel& m) { m.k_mean.pop_back(); }) == "argument");
  CHECK(code([](CodeModel& m) { m.frequencies.clear(); }) == "argument");
  CHECK(ERROR_CODE(CellPool(80, 1 << 20)) == "argument");
  CHECK(ERROR_CODE(make({}, std::make_shared<CellPool>(32, 1 << 20))) == "argument");

  CodeCache cache = make({.capacity = 40});
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 40, 8);
  const std::vector<uint8_t> classes(60);
  CHECK(ERROR_CODE(cache.set_length(41)) == "argument");
  CHECK(ERROR_CODE(cache.plan(33, classes.data())) == "context");
  CHECK(ERROR_CODE(cache.evict(3, 5)) == "argument");
  CHECK(ERROR_CODE(cache.evict(5, cache.front() + 1)) == "argument");
  CHECK(ERROR_CODE(cache.slide(37)) == "argument");
  CHECK(ERROR_CODE(cache.slide(-1)) == "argument");
}
