// Chooses the next token from logits without sorting the vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvq {

struct SamplerSettings {
  float temperature = 0.0f;         // below 1e-4: the likeliest token
  int top_k = 0;                    // 0 keeps all
  float top_p = 1.0f;               // (0, 1]
  float min_p = 0.0f;               // [0, 1]
  float repetition_penalty = 1.0f;  // > 0
  uint64_t seed = 0;
};

class Sampler {
 public:
  // Throws Error("argument") for NaN, infinities and values out of range.
  explicit Sampler(const SamplerSettings& settings);

  // logits [vocab], changed when a penalty applies; -inf forbids a token; of equals the lower id
  // wins. recent: tokens that the penalty applies to. Throws Error("argument") when a logit is NaN
  // or no token is allowed.
  int32_t pick(float* logits, int vocab, const int32_t* recent, size_t n_recent);

 private:
  double next_random();  // [0, 1)

  struct Candidate {
    float logit;
    float weight;  // relative to the likeliest token
    int32_t token;
  };
  static bool likelier(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  }
  double keep_top_k(const float* logits, int vocab, float best);
  double keep_likely(const float* logits, int vocab, float best);
  int32_t draw(double total);

  SamplerSettings settings_;
  uint64_t state_;
  std::vector<Candidate> candidates_;
  std::vector<float> weights_;
};

}  // namespace kvq
