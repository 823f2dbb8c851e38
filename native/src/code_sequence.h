// A sequence with a quantized cache: what it holds, and how its next tokens are to be judged.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "code_cache.h"
#include "controller.h"

namespace kvq {

// How the quantized caches of an engine choose classes; constant while sequences use it.
struct Quantization {
  std::shared_ptr<const CodeModel> model;
  std::shared_ptr<const Controller> controller;  // nullptr: every token gets the constant class
  int constant_class = 0;
  // Entropies of predictions are measured, which needs the LM head for every token, instead of
  // taken from the table of tokens.
  bool measured_entropy = false;
};

// Euclidean length of x [n], n a multiple of 16, after its numbers have become halves.
float length_as_halves(const float* x, int n);

class CodeSequence {
 public:
  // Throws as CodeCache does.
  CodeSequence(std::shared_ptr<const Quantization> quantization, std::shared_ptr<CellPool> pool,
               int capacity, const Kernels& kernels);

  const Quantization& quantization() const { return *quantization_; }
  const CodeCache& cache() const { return cache_; }
  // What is done to the cache directly must leave length and front as they are.
  CodeCache& cache() { return cache_; }
  int length() const { return cache_.length(); }
  int capacity() const { return cache_.capacity(); }
  // Ids of all positions.
  const std::vector<int32_t>& tokens() const { return tokens_; }
  // What a token's prediction was measured to be; nullptr where that is not known.
  const float* entropy(int position) const;

  // Lengths of a token's keys and values in the window, [places][2].
  float* lengths(int position) {
    const size_t slot = static_cast<size_t>(cache_.model().slot(position));
    return lengths_.data() + slot * 2 * static_cast<size_t>(cache_.model().places());
  }
  const float* lengths(int position) const {
    return const_cast<CodeSequence*>(this)->lengths(position);
  }

  // Steps at the end of a forward pass. leaving: how many tokens leave the window when the sequence
  // has so many.
  int leaving(int length) const;
  // Added to sensitivities for the next tokens that leave; valid until 64 more have left.
  float offset() const { return offset_; }
  // The same after n more with these classes [n][places]; total must then be a multiple of 64.
  float offset_after(int n, const uint8_t* classes) const;
  void note_entropy(int position, float entropy);
  // Ends a step: so many planned tokens are in their lists, n new ones stored.
  void finish(const int32_t* tokens, int n, int planned);
  // Nanoseconds that judging took, and how many tokens were judged; since the sequence was made.
  std::pair<uint64_t, uint64_t> judged() const { return {judge_time_, judged_}; }
  void note_judged(uint64_t nanoseconds, int tokens);

  // Forgets the tokens from n on.
  void truncate(int n);
  CodeSequence fork() const;
  void slide(int n);
  void requantize(int shift);
  std::vector<uint8_t> save() const { return cache_.save(tokens_); }
  const std::vector<int32_t>& restore(std::string_view bytes);

 private:
  CodeSequence(const CodeSequence& other, CodeCache cache);
  // The offset as the classes of the first tokens say.
  void renew_offset();
  // The same for what is noted about the window's tokens, from the window itself.
  void renew_notes();
  double bits_of(const uint8_t* classes, size_t n) const;

  std::shared_ptr<const Quantization> quantization_;
  CodeCache cache_;
  std::vector<int32_t> tokens_;
  std::vector<float> lengths_;    // by slot
  std::vector<float> entropies_;  // by slot of the half-precision area; NaN: not known
  std::array<double, kClasses> class_bits_{};
  float offset_ = 0.0f;
  uint64_t judge_time_ = 0, judged_ = 0;
};

}  // namespace kvq
