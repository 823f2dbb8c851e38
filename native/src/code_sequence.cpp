#include "code_sequence.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kvq {

// Halves have 10 bits of mantissa; the smallest ones, which have fewer, do not matter for a length.
float length_as_halves(const float* x, int n) {
  float lanes[16] = {};
  for (int i = 0; i < n; i += 16) {
    for (int j = 0; j < 16; ++j) {
      const uint32_t bits = std::bit_cast<uint32_t>(x[i + j]);
      const float half = std::bit_cast<float>((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000u);
      lanes[j] += half * half;
    }
  }
  float sum = 0.0f;
  for (const float lane : lanes) sum += lane;
  return std::sqrt(sum);
}

CodeSequence::CodeSequence(std::shared_ptr<const Quantization> quantization,
                           std::shared_ptr<CellPool> pool, int capacity, const Kernels& kernels)
    : quantization_(std::move(quantization)),
      cache_(quantization_->model, std::move(pool), capacity, kernels),
      entropies_(static_cast<size_t>(quantization_->model->window_slots()),
                 std::numeric_limits<float>::quiet_NaN()) {
  lengths_.resize(entropies_.size() * 2 * static_cast<size_t>(quantization_->model->places()));
  tokens_.reserve(static_cast<size_t>(capacity));
  const CodeModel& m = *quantization_->model;
  for (int c = 0; c < kClasses; ++c) {
    class_bits_[static_cast<size_t>(c)] = class_bits(m.ladder, c, m.shape.head_dim);
  }
  renew_offset();
}

CodeSequence::CodeSequence(const CodeSequence& other, CodeCache cache)
    : quantization_(other.quantization_),
      cache_(std::move(cache)),
      lengths_(other.lengths_),
      entropies_(other.entropies_),
      class_bits_(other.class_bits_),
      offset_(other.offset_) {
  tokens_.reserve(static_cast<size_t>(cache_.capacity()));
  tokens_ = other.tokens_;
}

const float* CodeSequence::entropy(int position) const {
  const float& e = entropies_[static_cast<size_t>(cache_.model().slot(position))];
  return std::isnan(e) ? nullptr : &e;
}

void CodeSequence::note_entropy(int position, float entropy) {
  entropies_[static_cast<size_t>(cache_.model().slot(position))] = entropy;
}

int CodeSequence::leaving(int length) const {
  return std::max(0,
                  length - cache_.model().window - std::max(cache_.front(), cache_.model().sinks));
}

double CodeSequence::bits_of(const uint8_t* classes, size_t n) const {
  std::array<uint64_t, kClasses> count{};
  for (size_t i = 0; i < n; ++i) ++count[classes[i]];
  double bits = 0.0;
  for (size_t c = 0; c < kClasses; ++c) bits += static_cast<double>(count[c]) * class_bits_[c];
  return bits;
}

float CodeSequence::offset_after(int n, const uint8_t* classes) const {
  const size_t places = static_cast<size_t>(cache_.model().places());
  const int quantized = std::max(0, cache_.front() - cache_.model().sinks);
  double bits = bits_of(classes, static_cast<size_t>(n) * places);
  for (size_t c = 0; c < kClasses; ++c) {
    bits += static_cast<double>(cache_.class_tokens()[c]) * class_bits_[c];
  }
  const int total = quantized + n;
  return quantization_->controller->offset(
      total, bits / (static_cast<double>(total) * static_cast<double>(places)));
}

void CodeSequence::renew_offset() {
  if (!quantization_->controller) return;
  const CodeModel& m = cache_.model();
  const int quantized = std::max(0, cache_.front() - m.sinks);
  const int counted = quantized / kBudgetTokens * kBudgetTokens;
  double mean = 0.0;
  if (counted > 0) {
    const std::vector<uint8_t> classes = cache_.classes();
    const size_t n = static_cast<size_t>(counted) * static_cast<size_t>(m.places());
    mean = bits_of(classes.data(), n) / static_cast<double>(n);
  }
  offset_ = quantization_->controller->offset(counted, mean);
}

void CodeSequence::renew_notes() {
  std::fill(entropies_.begin(), entropies_.end(), std::numeric_limits<float>::quiet_NaN());
  if (!quantization_->controller) return;
  const CodeModel& m = cache_.model();
  float k[kMaxHeadDim], v[kMaxHeadDim];
  for (int p = std::max(cache_.front(), m.sinks); p < cache_.length(); ++p) {
    float* to = lengths(p);
    for (int i = 0; i < m.places(); ++i, to += 2) {
      cache_.load(i / m.shape.kv_heads, i % m.shape.kv_heads, p, k, v);
      to[0] = length_as_halves(k, m.shape.head_dim);
      to[1] = length_as_halves(v, m.shape.head_dim);
    }
  }
}

void CodeSequence::finish(const int32_t* tokens, int n, int planned) {
  const int sinks = cache_.model().sinks, before = cache_.front(), length = cache_.length() + n;
  if (planned > 0) cache_.commit();
  tokens_.insert(tokens_.end(), tokens, tokens + n);
  cache_.set_length(length);
  if (planned == 0 || !quantization_->controller) return;
  const int now = cache_.front() - sinks;
  if (now / kBudgetTokens == (before - sinks) / kBudgetTokens) return;
  if (now % kBudgetTokens == 0 && cache_.gaps().empty())
    offset_ = offset_after(0, nullptr);
  else
    renew_offset();
}

void CodeSequence::note_judged(uint64_t nanoseconds, int tokens) {
  if (!quantization_->controller || tokens == 0) return;
  judge_time_ += nanoseconds;
  judged_ += static_cast<uint64_t>(tokens);
}

void CodeSequence::truncate(int n) {
  const int before = cache_.front();
  cache_.truncate(n);
  tokens_.resize(static_cast<size_t>(n));
  if (cache_.front() != before) renew_offset();
}

CodeSequence CodeSequence::fork() const { return CodeSequence(*this, cache_.fork()); }

void CodeSequence::slide(int n) {
  cache_.slide(n);
  const auto from = tokens_.begin() + cache_.model().sinks;
  tokens_.erase(from, from + n);
  renew_notes();
  renew_offset();
}

void CodeSequence::requantize(int shift) {
  cache_.requantize(shift);
  renew_offset();
}

const std::vector<int32_t>& CodeSequence::restore(std::string_view bytes) {
  const std::vector<int32_t> ids = cache_.restore(bytes);
  tokens_.assign(ids.begin(), ids.end());
  renew_notes();
  renew_offset();
  return tokens_;
}

}  // namespace kvq
