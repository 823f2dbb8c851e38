#include "sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "error.h"

namespace kvq {
namespace {

constexpr float kGreedyBelow = 1e-4f;

// exp(x) for x <= 0, relative error below 1e-6, 0 below -87: without branches or calls, so that the
// compiler makes vector code of a loop over it.
inline float exp_negative(float x) {
  const float clamped = x < -87.0f ? -87.0f : x;
  const float shifted =
      clamped * 1.44269504f + 12582912.0f;  // rounds to an integer in the low bits
  const float n = shifted - 12582912.0f;
  const float r = clamped - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const auto bits = (std::bit_cast<int32_t>(shifted) - 0x4B400000 + 127) << 23;
  return x < -87.0f ? 0.0f : p * std::bit_cast<float>(bits);
}

struct Best {
  float logit;
  int32_t token;  // the first of equals; -1 when the logits are of no use
};

Best find_best(const float* logits, int n) {
  float top = -std::numeric_limits<float>::infinity();
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    top = logits[i] > top ? logits[i] : top;
    wrong |= !(logits[i] == logits[i]);
  }
  if (wrong || !std::isfinite(top)) return {0.0f, -1};
  return {top, static_cast<int32_t>(std::find(logits, logits + n, top) - logits)};
}

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
  const Best best = find_best(logits, vocab);
  if (best.token < 0) throw Error("argument", "the logits hold no usable number");
  if (settings_.temperature < kGreedyBelow) return best.token;

  const bool few = settings_.top_k > 0 && settings_.top_k < vocab;
  const double total =
      few ? keep_top_k(logits, vocab, best.logit) : keep_likely(logits, vocab, best.logit);
  if (few || settings_.top_p < 1.0f) {
    std::sort(candidates_.begin(), candidates_.end(), likelier);
  }
  return draw(total);
}

// The k likeliest tokens, by one pass with a heap whose front is the least likely of them.
double Sampler::keep_top_k(const float* logits, int vocab, float best) {
  const float inverse = 1.0f / settings_.temperature;
  const size_t k = static_cast<size_t>(settings_.top_k);
  candidates_.clear();
  for (int i = 0; i < vocab; ++i) {
    // Of equals the lower id stays, and it has come first.
    if (candidates_.size() == k && !(logits[i] > candidates_.front().logit)) continue;
    if (candidates_.size() == k) {
      std::pop_heap(candidates_.begin(), candidates_.end(), likelier);
      candidates_.pop_back();
    }
    candidates_.push_back({logits[i], exp_negative((logits[i] - best) * inverse), i});
    std::push_heap(candidates_.begin(), candidates_.end(), likelier);
  }
  double total = 0.0;
  for (const Candidate& c : candidates_) total += c.weight;
  const auto unlikely = [this](const Candidate& c) { return c.weight < settings_.min_p; };
  candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), unlikely),
                    candidates_.end());
  return total;
}

// All tokens that min_p and top_p can leave; returns the weight of the whole vocabulary.
double Sampler::keep_likely(const float* logits, int vocab, float best) {
  const float inverse = 1.0f / settings_.temperature;
  weights_.resize(static_cast<size_t>(vocab));
  for (int i = 0; i < vocab; ++i) {
    weights_[static_cast<size_t>(i)] = exp_negative((logits[i] - best) * inverse);
  }
  double total = 0.0;
  for (const float w : weights_) total += w;
  // Tokens below this weight hold less than 1 - top_p together, so none of them is wanted.
  const float cut = static_cast<float>((1.0 - settings_.top_p) * total / vocab);
  const float least = std::max({settings_.min_p, cut, std::numeric_limits<float>::min()});
  candidates_.clear();
  for (int i = 0; i < vocab; ++i) {
    const float w = weights_[static_cast<size_t>(i)];
    if (w >= least) candidates_.push_back({logits[i], w, i});
  }
  return total;
}

// One of the candidates by weight; the likeliest first ones that reach top_p, when that is set.
int32_t Sampler::draw(double total) {
  size_t keep = 0;
  double kept = 0.0;
  while (keep < candidates_.size() && (keep == 0 || kept < settings_.top_p * total)) {
    kept += candidates_[keep++].weight;
  }
  double at = next_random() * kept;
  for (size_t i = 0; i + 1 < keep; ++i) {
    at -= candidates_[i].weight;
    if (at < 0.0) return candidates_[i].token;
  }
  return candidates_[keep - 1].token;
}

}  // namespace kvq
