// A tiny random model with quantized caches, for tests of the engine.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "check.h"
#include "engine.h"
#include "tiny_model.h"

namespace kvq::test {

inline constexpr TinyShape kShape{.hidden = 128, .heads = 4, .kv_heads = 2};

enum class Judge { kNone, kLinear, kNetwork, kPerToken };

// A controller that tells tokens and places apart, untrained.
inline ControllerSetup controller_setup(const Engine& engine, Judge judge, float body_bits) {
  const Hyper& h = engine.model().hyper();
  Random random(7);
  const size_t places = static_cast<size_t>(h.layers * h.kv_heads);
  const auto filled = [&](size_t n, float size) {
    std::vector<float> v(n);
    for (float& x : v) x = size * random.uniform();
    return v;
  };
  ControllerSetup c;
  c.layers = h.layers;
  c.kv_heads = h.kv_heads;
  c.queries = h.heads / h.kv_heads;
  c.vocab = h.vocab;
  c.window = 32;
  c.thresholds = {-1.0f, 0.0f, 1.0f};
  c.statics = filled(2 * places, 1.0f);
  c.f_mean = filled(kFeatures * places, 0.5f);
  c.f_scale.assign(kFeatures * places, 0.1f);
  c.embedding = filled(kEmbedding * places, 1.0f);
  const size_t vocab = static_cast<size_t>(h.vocab);
  c.rarity = c.entropy = c.variance = filled(vocab, 2.0f);
  c.budget = {{2.2f, -2.0f}, {8.0f, 4.0f}};
  c.body_bits = body_bits;
  c.use_static = true;
  c.per_token = judge == Judge::kPerToken;
  for (float& w : c.weights) w = random.uniform();
  if (judge == Judge::kNetwork) {
    for (const auto& [outputs, inputs] : {std::pair{128, 32}, {128, 128}, {2, 128}}) {
      DenseSetup d;
      for (int i = 0; i < outputs * inputs; ++i) {
        d.weights.push_back(static_cast<int8_t>(random.below(255) - 127));
      }
      d.scale.assign(static_cast<size_t>(outputs), 0.02f / std::sqrt(static_cast<float>(inputs)));
      d.bias = filled(static_cast<size_t>(outputs), 0.2f);
      c.mlp.push_back(std::move(d));
    }
  }
  return c;
}

struct Loaded {
  std::vector<uint8_t> bytes;
  std::unique_ptr<Engine> engine;

  Loaded(const TinyShape& shape, Judge judge, int threads, const std::string& isa,
         int constant_class = 10, float body_bits = 4.0f, bool measured = false,
         bool before_rope = false)
      : bytes(tiny_model(shape, 3).bytes()) {
    const Gguf file(open_memory(bytes.data(), bytes.size()));
    engine = std::make_unique<Engine>(file, threads, isa);
    const Hyper& h = engine->model().hyper();
    CodeModel m;
    m.shape = engine->cache_shape(0);
    m.ladder = {2, 3, 4, 8};
    m.before_rope = before_rope;
    Random random(5);
    const size_t channels = static_cast<size_t>(m.places() * h.head_dim);
    for (size_t i = 0; i < channels; ++i) {
      m.k_mean.push_back(0.2f * random.uniform());
      m.v_mean.push_back(0.2f * random.uniform());
    }
    m.k_exponent.assign(static_cast<size_t>(m.places()), -11);
    m.v_exponent = m.k_exponent;
    m.frequencies = engine->frequencies();
    auto q = std::make_shared<Quantization>();
    q->constant_class = constant_class;
    q->measured_entropy = measured;
    if (judge != Judge::kNone) {
      q->controller = std::make_shared<Controller>(controller_setup(*engine, judge, body_bits),
                                                   engine->kernels());
    }
    q->model = std::make_shared<CodeModel>(std::move(m));
    engine->quantize_caches(std::move(q));
  }
  std::unique_ptr<CodeSequence> sequence(int capacity = 600) const {
    return engine->code_sequence(capacity);
  }
  std::vector<float> prefill(AnyCache cache, const std::vector<int32_t>& tokens, int rows,
                             const StopCheck& stop = {}) const {
    std::vector<float> logits(engine->logit_stride() * static_cast<size_t>(std::max(1, rows)));
    Wanted wanted;
    wanted.logit_rows = rows;
    wanted.logits = logits.data();
    engine->prefill(cache, tokens.data(), static_cast<int>(tokens.size()), wanted, stop);
    return logits;
  }
  std::vector<float> prefill(CodeSequence& s, const std::vector<int32_t>& tokens, int rows) const {
    return prefill(AnyCache{nullptr, &s}, tokens, rows);
  }
  std::vector<float> one_by_one(CodeSequence& s, const std::vector<int32_t>& tokens) const {
    std::vector<float> last;
    for (const int32_t t : tokens) last = prefill(s, {t}, 1);
    return last;
  }
};

inline std::vector<int32_t> some_tokens(int n, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back(random.below(56));
  return tokens;
}

inline float worst(const std::vector<float>& a, const std::vector<float>& b) {
  float w = a.size() == b.size() ? 0.0f : 1e9f;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const float error = std::fabs(a[i] - b[i]);
    w = error <= w ? w : error;
  }
  return w;
}

// Part of the classes that differ.
inline double different(const CodeSequence& a, const CodeSequence& b) {
  const auto x = a.cache().classes(), y = b.cache().classes();
  if (x.size() != y.size()) return 1.0;
  size_t n = 0;
  for (size_t i = 0; i < x.size(); ++i) n += x[i] != y[i];
  return x.empty() ? 0.0 : static_cast<double>(n) / static_cast<double>(x.size());
}

}  // namespace kvq::test
