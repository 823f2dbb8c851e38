// A quantized cache as bytes and back.
#include "code_cache_fixture.h"
#include "error.h"

using namespace kvq;
using namespace kvq::test;

TEST(code_cache_snapshots_are_exact_or_refused) {
  for (const int kv_heads : {1, 3, 9}) {
    const CacheSetup setup{.layers = 2, .kv_heads = kv_heads, .capacity = 300};
    CodeCache cache = make(setup);
    const Stream stream{cache.model(), kernels()};
    for (const int n : {0, 3, 4, 36, 37, 250}) {
      feed(cache, stream, n - cache.length(), 64);
      const std::vector<uint8_t> bytes = contents(cache);
      CodeCache back = make(setup);
      feed(back, stream, 20, 1);
      CHECK(back.restore({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) ==
            ids(cache));
      CHECK(back.length() == n && back.front() == cache.front());
      CHECK(contents(back) == bytes, "%d tokens", n);
      CHECK(bytes.size() < cache.kv_bytes() + 4 * static_cast<size_t>(n) + 100 +
                               static_cast<size_t>(2 * kv_heads) * (16 * 1100 + 12 * 36));
      // It goes on as the first one does.
      if (n == 250) {
        feed(back, stream, 50, 7);
        feed(cache, stream, 50, 64);
        CHECK(contents(back) == contents(cache));
      }
    }
  }
}

TEST(code_cache_refuses_foreign_and_damaged_snapshots) {
  const CacheSetup setup{.capacity = 130};
  CodeCache cache = make(setup);
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 120, 64);
  const std::vector<uint8_t> bytes = contents(cache);
  const auto view = [](const std::vector<uint8_t>& b, size_t n) {
    return std::string_view(reinterpret_cast<const char*>(b.data()), n);
  };
  CodeCache target = make(setup);
  const Stream other{cache.model(), kernels(), 5};
  feed(target, other, 77, 64);
  const std::vector<uint8_t> before = contents(target);
  const size_t cells = cells_held(target.pool());
  // Any byte changed, any length cut short or longer.
  Random random(2);
  for (size_t i = 0; i < bytes.size(); i += i < 600 ? 1 : 97) {
    std::vector<uint8_t> bad = bytes;
    bad[i] ^= static_cast<uint8_t>(1 << random.below(8));
    CHECK(ERROR_CODE(target.restore(view(bad, bad.size()))) == "snapshot", "byte %zu", i);
    CHECK(ERROR_CODE(target.restore(view(bytes, i))) == "snapshot", "cut at %zu", i);
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  CHECK(ERROR_CODE(target.restore(view(longer, longer.size()))) == "snapshot");
  CHECK(contents(target) == before && cells_held(target.pool()) == cells);

  const auto refused = [&](const CacheSetup& s, auto change) {
    const auto model = code_model(s);
    change(*model);
    CodeCache c(model, std::make_shared<CellPool>(s.head_dim, s.pool_bytes), s.capacity, kernels());
    const std::string code = ERROR_CODE(c.restore(view(bytes, bytes.size())));
    return code == "snapshot" && c.length() == 0;
  };
  const auto same = [](CodeModel&) {};
  CHECK(!refused(setup, same));
  CHECK(!refused({.capacity = 120}, same));
  CHECK(refused({.capacity = 119}, same));
  CHECK(refused({.layers = 3, .capacity = 130}, same));
  CHECK(refused({.kv_heads = 2, .capacity = 130}, same));
  CHECK(refused({.head_dim = 96, .capacity = 130}, same));
  CHECK(refused({.ladder = {2, 4, 8, 16}, .capacity = 130}, same));
  CHECK(refused({.sinks = 5, .capacity = 130}, same));
  CHECK(refused({.window = 33, .capacity = 130}, same));
  CHECK(refused(setup, [](CodeModel& m) { ++m.fingerprint; }));
  CHECK(refused(setup, [](CodeModel& m) { m.k_mean[3] += 0.25f; }));
  CHECK(refused(setup, [](CodeModel& m) { m.v_mean[9] = 0.0f; }));
  CHECK(refused(setup, [](CodeModel& m) { ++m.k_exponent[1]; }));
  CHECK(refused(setup, [](CodeModel& m) { --m.v_exponent[5]; }));
  CHECK(refused(setup, [](CodeModel& m) { m.frequencies[1] *= 0.5f; }));
  CHECK(ERROR_CODE((void)cache.save({1, 2, 3})) == "argument");
  CHECK(target.restore(view(bytes, bytes.size())) == ids(cache));
  CHECK(contents(target) == bytes);
}
