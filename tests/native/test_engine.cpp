// The whole forward pass on a tiny random model: instruction sets, ways of feeding, threads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check.h"
#include "engine.h"
#include "error.h"
#include "snapshot.h"
#include "tiny_model.h"

using namespace kvq;

namespace {

struct Loaded {
  std::vector<uint8_t> bytes;
  std::unique_ptr<Engine> engine;

  Loaded(const test::TinyShape& shape, uint32_t type, int threads, const std::string& isa)
      : bytes(test::tiny_model(shape, type).bytes()) {
    const Gguf file(open_memory(bytes.data(), bytes.size()));
    engine = std::make_unique<Engine>(file, threads, isa);
  }
  std::vector<float> prefill(KvCache& cache, const std::vector<int32_t>& tokens, int rows) {
    std::vector<float> logits(engine->logit_stride() * static_cast<size_t>(rows));
    Wanted wanted;
    wanted.logit_rows = rows;
    wanted.logits = logits.data();
    engine->prefill(cache, tokens.data(), static_cast<int>(tokens.size()), wanted, {});
    return logits;
  }
  KvCache cache(int capacity = 600) const { return KvCache(engine->cache_shape(capacity)); }
};

std::vector<int32_t> some_tokens(int n, int vocab, uint64_t seed) {
  test::Random random(seed);
  std::vector<int32_t> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back(random.below(vocab));
  return tokens;
}

float worst(const std::vector<float>& a, const std::vector<float>& b) {
  float w = a.size() == b.size() ? 0.0f : 1e9f;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const float error = std::fabs(a[i] - b[i]);
    w = error <= w ? w : error;
  }
  return w;
}

// Logits of the tiny model are of size 1; bf16 tiles keep 8 bits of each factor.
float tolerance(const Engine& e) { return e.uses_tiles() ? 0.05f : 2e-3f; }

}  // namespace

TEST(every_isa_gives_the_scalar_logits) {
  for (const uint32_t type : {1u, 3u, 8u}) {
    Loaded scalar({}, type, 1, "scalar");
    const auto tokens = some_tokens(90, 56, 1);
    KvCache reference = scalar.cache();
    const auto expected = scalar.prefill(reference, tokens, 90);
    for (const std::string& isa : available_isas()) {
      Loaded model({}, type, 2, isa);
      KvCache cache = model.cache();
      CHECK(worst(model.prefill(cache, tokens, 90), expected) < tolerance(*model.engine),
            "%s type %u", isa.c_str(), type);
    }
  }
}

TEST(feeding_one_by_one_equals_feeding_at_once) {
  for (const test::TinyShape shape : {test::TinyShape{}, test::TinyShape{.heads = 4, .kv_heads = 4},
                                      test::TinyShape{.hidden = 128, .heads = 8, .kv_heads = 1}}) {
    Loaded model(shape, 3, 2, "");
    const auto tokens = some_tokens(130, 56, 2);
    KvCache once = model.cache(), steps = model.cache();
    const auto at_once = model.prefill(once, tokens, 1);
    std::vector<float> last;
    for (const int32_t t : tokens) last = model.prefill(steps, {t}, 1);
    CHECK(worst(at_once, last) < tolerance(*model.engine), "kv heads %d", shape.kv_heads);
  }
}

TEST(a_batch_gives_what_each_sequence_gives_alone) {
  for (const int kv_heads : {2, 1}) {
    Loaded model({.hidden = 128, .heads = 8, .kv_heads = kv_heads}, 3, 2, "");
    for (int n = 1; n <= kMaxBatch; ++n) {
      std::vector<KvCache> alone, together;
      std::vector<KvCache*> pointers;
      std::vector<int32_t> next;
      for (int i = 0; i < n; ++i) {
        alone.push_back(model.cache());
        together.push_back(model.cache());
      }
      std::vector<float> expected;
      for (int i = 0; i < n; ++i) {
        const auto tokens = some_tokens(5 + 37 * i, 56, static_cast<uint64_t>(i));
        model.prefill(alone[static_cast<size_t>(i)], tokens, 0);
        model.prefill(together[static_cast<size_t>(i)], tokens, 0);
        next.push_back(i + 1);
        pointers.push_back(&together[static_cast<size_t>(i)]);
        const auto logits = model.prefill(alone[static_cast<size_t>(i)], {i + 1}, 1);
        expected.insert(expected.end(), logits.begin(), logits.end());
      }
      std::vector<float> logits(expected.size());
      Wanted wanted;
      wanted.logits = logits.data();
      model.engine->decode(pointers.data(), next.data(), n, wanted, {});
      CHECK(worst(logits, expected) < 2e-3f, "batch %d", n);
      CHECK(together[0].length() == alone[0].length());
    }
  }
}

TEST(the_number_of_threads_does_not_change_a_bit) {
  const auto tokens = some_tokens(300, 56, 3);
  Loaded one({}, 3, 1, "");
  KvCache cache = one.cache();
  one.prefill(cache, tokens, 0);
  const auto expected = one.prefill(cache, {4}, 1);
  for (const int threads : {2, 3, 4, 16}) {
    Loaded many({}, 3, threads, "");
    KvCache other = many.cache();
    many.prefill(other, tokens, 0);
    CHECK(many.prefill(other, {4}, 1) == expected, "%d threads", threads);
  }
}

TEST(a_full_context_is_an_error_and_changes_nothing) {
  Loaded model({}, 3, 1, "");
  KvCache cache = model.cache(40);
  model.prefill(cache, some_tokens(39, 56, 4), 1);
  CHECK(ERROR_CODE(model.prefill(cache, {1, 2}, 1)) == "context");
  CHECK(cache.length() == 39);
  model.prefill(cache, {1}, 1);
  KvCache* pointer = &cache;
  const int32_t token = 1;
  CHECK(ERROR_CODE(model.engine->decode(&pointer, &token, 1, {}, {})) == "context");
  CHECK(ERROR_CODE({
          KvCache small = model.cache(4);
          model.prefill(small, {56}, 1);
        }) == "argument");
}

TEST(a_stopped_step_leaves_the_cache_as_it_was) {
  Loaded model({.layers = 6}, 3, 2, "");
  const auto tokens = some_tokens(100, 56, 5);
  KvCache cache = model.cache(), fresh = model.cache();
  model.prefill(cache, tokens, 0);
  for (int after = 0; after < 6; ++after) {
    int asked = 0;
    CHECK(ERROR_CODE(model.engine->prefill(cache, tokens.data(), 20, {},
                                           [&] { return asked++ == after; })) == "cancelled");
    CHECK(cache.length() == 100);
  }
  const auto logits = model.prefill(cache, {9}, 1);
  model.prefill(fresh, tokens, 0);
  CHECK(model.prefill(fresh, {9}, 1) == logits);
}

TEST(allowed_tokens_have_their_logits_and_others_none) {
  Loaded model({}, 3, 2, "");
  KvCache cache = model.cache(), same = model.cache();
  const auto tokens = some_tokens(10, 56, 6);
  const auto all = model.prefill(cache, tokens, 2);
  const std::vector<int32_t> allowed = {0, 3, 15, 16, 40, 55};
  std::vector<float> some(all.size());
  Wanted wanted;
  wanted.logit_rows = 2;
  wanted.logits = some.data();
  wanted.allowed = allowed.data();
  wanted.n_allowed = static_cast<int>(allowed.size());
  model.engine->prefill(same, tokens.data(), 10, wanted, {});
  for (size_t r = 0; r < 2; ++r) {
    for (int t = 0; t < 56; ++t) {
      const size_t at = r * model.engine->logit_stride() + static_cast<size_t>(t);
      const bool in = std::find(allowed.begin(), allowed.end(), t) != allowed.end();
      CHECK(some[at] == (in ? all[at] : -std::numeric_limits<float>::infinity()), "token %d", t);
    }
  }
}

TEST(hidden_states_of_a_prompt_come_out) {
  Loaded model({}, 3, 2, "");
  const auto tokens = some_tokens(7, 56, 7);
  std::vector<float> all(7 * 64), last(64);
  Wanted wanted;
  wanted.hidden = all.data();
  KvCache cache = model.cache(), other = model.cache();
  model.engine->prefill(cache, tokens.data(), 7, wanted, {});
  model.prefill(other, {tokens.begin(), tokens.end() - 1}, 0);
  wanted.hidden = last.data();
  model.engine->prefill(other, tokens.data() + 6, 1, wanted, {});
  for (size_t i = 0; i < 64; ++i) CHECK(std::fabs(all[6 * 64 + i] - last[i]) < 0.05f);
}

TEST(a_restored_snapshot_goes_on_alike) {
  Loaded model({}, 3, 2, "");
  const auto tokens = some_tokens(50, 56, 8);
  KvCache cache = model.cache(), restored = model.cache();
  model.prefill(cache, tokens, 0);
  const auto bytes = save_snapshot(cache, model.engine->model().fingerprint(), tokens);
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK(load_snapshot(restored, model.engine->model().fingerprint(), view) == tokens);
  CHECK(model.prefill(restored, {3}, 1) == model.prefill(cache, {3}, 1));
  Loaded other({.layers = 1}, 3, 1, "");
  CHECK(other.engine->model().fingerprint() != model.engine->model().fingerprint());
}
