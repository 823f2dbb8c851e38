// Whole steps behind caches of many lengths, on every instruction set against
// the scalar reference. The caches are filled with random numbers, since
// computing thousands of tokens by scalar code takes minutes and tests nothing
// more.
#include <algorithm>
#include <cmath>

#include "check.h"
#include "engine.h"
#include "tiny_model.h"

using namespace kvq;

namespace {

constexpr int kContext = 8192;
constexpr int kVocab = 56;
// Edges of blocks (16 tokens), of chunks (256) and of the context, and their
// neighbours.
constexpr int kLengths[] = {1, 2, 31, 32, 33, 63, 65, 257, 4095, 4096, 4097, 8191, 8192};

// Three query heads share a KV head, as in SmolLM.
const test::TinyShape kShape{.hidden = 96, .heads = 6, .kv_heads = 2, .context = kContext};

struct Loaded {
  std::vector<uint8_t> bytes = test::tiny_model(kShape, 3).bytes();
  std::unique_ptr<Engine> engine;

  Loaded(int threads, const std::string& isa) {
    engine = std::make_unique<Engine>(Gguf(open_memory(bytes.data(), bytes.size())), threads, isa);
  }
};

void fill(KvCache& cache, int length) {
  const CacheShape& shape = cache.shape();
  test::Random random(static_cast<uint64_t>(length));
  std::vector<float> key(static_cast<size_t>(shape.head_dim)), value(key.size());
  cache.reserve(length);
  for (int layer = 0; layer < shape.layers; ++layer) {
    for (int head = 0; head < shape.kv_heads; ++head) {
      for (int t = 0; t < length; ++t) {
        for (float& x : key) x = 2.0f * random.uniform();
        for (float& x : value) x = random.uniform();
        cache.store(layer, head, t, key.data(), value.data());
      }
    }
  }
  cache.set_length(length);
}

// Logits of the last of n tokens that end at `length`.
std::vector<float> logits_at(Engine& engine, int length, int n) {
  KvCache cache(engine.cache_shape(length));
  fill(cache, length - n);
  std::vector<int32_t> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back((7 * i + length) % kVocab);
  std::vector<float> logits(engine.logit_stride());
  Wanted wanted;
  wanted.logit_rows = 1;
  wanted.logits = logits.data();
  engine.prefill(cache, tokens.data(), n, wanted, {});
  CHECK(cache.length() == length);
  logits.resize(kVocab);
  return logits;
}

void compare_steps(int n) {
  Loaded scalar(1, "scalar");
  for (const int length : kLengths) {
    if (length < n) continue;
    const std::vector<float> expected = logits_at(*scalar.engine, length, n);
    for (const std::string& isa : available_isas()) {
      if (isa == "scalar") continue;
      Loaded model(2, isa);
      const std::vector<float> got = logits_at(*model.engine, length, n);
      // Logits are of size 1; tiles of bf16 keep 8 bits of each factor.
      const float limit = model.engine->uses_tiles() && n > 1 ? 0.05f : 2e-3f;
      for (size_t i = 0; i < expected.size(); ++i) {
        CHECK(std::fabs(got[i] - expected[i]) < limit, "%s length %d step of %d: %g %g",
              isa.c_str(), length, n, static_cast<double>(got[i]),
              static_cast<double>(expected[i]));
      }
    }
  }
}

}  // namespace

TEST(one_token_behind_every_depth) { compare_steps(1); }

TEST(a_chunk_behind_every_depth) { compare_steps(33); }
