#include "sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "error.h"

namespace kvq {
namespace {

constexpr float kGreedyBelow = 1e-4f;
// Tokens whose weight is below e^-30 of the best cannot change a draw: all 10^5 of them together
// hold less than 10^-8.
constexpr float kNegligible = 30.0f;

void check(bool ok, const char* what) {
  if (!ok) throw Error("argument", std::string(what) + " is out of range");
}

}  // namespace

Sampler::Sampler(const SamplerSettings& s) : settings_(s), state_(s.seed) {
  check(std::isfinite(s.temperature) && s.temperature >= 0.0f, "the temperature");
  check(s.top_k >= 0, "top_k");
  check(s.top_p > 0.0f && s.top_p <= 1.0f, "top_p");
  check(s.min_p >= 0.0f && s.min_p <= 1.0f, "min_p");
  check(std::isfinite(s.repetition_penalty) && s.repetition_penalty > 0.0f,
        "the repetition penalty");
}

// SplitMix64: the same sequence for a seed on every platform.
double Sampler::next_random() {
  state_ += 0x9E3779B97F4A7C15ull;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

int32_t Sampler::pick(float* logits, int vocab, const int32_t* recent, size_t n_recent) {
  if (settings_.repetition_penalty != 1.0f) {
    for (size_t i = 0; i < n_recent; ++i) {
      // A token that occurs several times is penalised once.
      if (std::find(recent, recent + i, recent[i]) != recent + i) continue;
      check(recent[i] >= 0 && recent[i] < vocab, "a token of the recent text");
      float& l = logits[recent[i]];
      l = l > 0.0f ? l / settings_.repetition_penalty : l * settings_.repetition_penalty;
    }
  }
  float best = -std::numeric_limits<float>::infinity();
  int32_t best_token = -1;
  bool numbers = true;
  for (int i = 0; i < vocab; ++i) {
    numbers = numbers && logits[i] == logits[i];
    if (logits[i] > best) {
      best = logits[i];
      best_token = i;
    }
  }
  if (!numbers || best_token < 0 || !std::isfinite(best)) {
    throw Error("argument", "the logits hold no usable number");
  }
  if (settings_.temperature < kGreedyBelow) return best_token;

  // With top-k and no filter by mass, only a small set can ever be drawn.
  float floor = best - kNegligible * settings_.temperature;
  if (settings_.min_p > 0.0f) {
    floor = std::max(floor, best + settings_.temperature * std::log(settings_.min_p) - 1e-3f);
  }
  candidates_.clear();
  for (int i = 0; i < vocab; ++i) {
    if (logits[i] >= floor) candidates_.push_back({logits[i], i});
  }
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  if (settings_.top_k > 0 && static_cast<size_t>(settings_.top_k) < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + settings_.top_k, candidates_.end(),
                     likelier);
    candidates_.resize(static_cast<size_t>(settings_.top_k));
  }
  std::sort(candidates_.begin(), candidates_.end(), likelier);
  weights_.resize(candidates_.size());
  double total = 0.0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    weights_[i] =
        std::exp((static_cast<double>(candidates_[i].logit) - best) / settings_.temperature);
    total += weights_[i];
  }
  size_t keep = 0;
  double kept = 0.0;
  while (keep < weights_.size()) {
    if (keep > 0 && (kept >= settings_.top_p * total || weights_[keep] < settings_.min_p)) break;
    kept += weights_[keep++];
  }
  double at = next_random() * kept;
  for (size_t i = 0; i + 1 < keep; ++i) {
    at -= weights_[i];
    if (at < 0.0) return candidates_[i].token;
  }
  return candidates_[keep - 1].token;
}

}  // namespace kvq
