#include "code_turn.h"

#include <algorithm>
#include <cmath>

namespace kvq {

TurnTable::TurnTable(const std::vector<float>& frequencies, int positions)
    : dim_(2 * frequencies.size()), table_(dim_ * static_cast<size_t>(positions)) {
  float* cosine = table_.data();
  for (int p = 0; p < positions; ++p, cosine += dim_) {
    // In single precision, as the angles of queries are.
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const float angle = static_cast<float>(p) * frequencies[i];
      cosine[i] = std::cos(angle);
      cosine[dim_ / 2 + i] = std::sin(angle);
    }
  }
}

void KeyTurner::turn(const uint8_t* codes, const uint8_t* scales, int bits,
                     const int32_t* positions, uint16_t* keys) const {
  const int dim = model.shape.head_dim;
  const float* turns[kBlockTokens];
  for (int t = 0; t < kBlockTokens; ++t) turns[t] = table.of(positions[t]);
  kernels.turn_keys(codes, scales, dim, bits, model.k_exponent[place],
                    model.k_mean.data() + place * static_cast<size_t>(dim), turns, keys);
}

void KeyTurner::turn(const uint16_t* const* blocks, int n, const int32_t* positions, uint16_t* keys,
                     const uint16_t** turned) const {
  for (int b = 0; b < n; ++b, positions += kBlockTokens) {
    turn(reinterpret_cast<const uint8_t*>(blocks[b]), nullptr, 16, positions, keys);
    turned[b] = keys;
    keys += kBlockTokens * model.shape.head_dim;
  }
}

int TurnedLists::next() {
  int n_lists = 0;
  const size_t size = static_cast<size_t>(kBlockTokens * turner_.model.shape.head_dim);
  for (size_t n = 0; list_ < end_ && n < blocks_.size();) {
    const int left = list_->n_tokens - block_ * kBlockTokens;
    if (left <= 0) {
      ++list_;
      block_ = 0;
      continue;
    }
    const int room = static_cast<int>(blocks_.size() - n);
    const int take = std::min(room, (left + kBlockTokens - 1) / kBlockTokens);
    lists_[static_cast<size_t>(n_lists++)] = {blocks_.data() + n,
                                              std::min(left, take * kBlockTokens),
                                              16,
                                              list_->v_bits,
                                              list_->k_exponent,
                                              list_->v_exponent};
    for (int i = 0; i < take; ++i, ++n, ++block_, positions_ += kBlockTokens) {
      const CodeBlock& from = list_->blocks[block_];
      uint16_t* keys = keys_ + n * size;
      turner_.turn(from.k_codes, from.k_scales, list_->k_bits, positions_, keys);
      blocks_[n] = {reinterpret_cast<const uint8_t*>(keys), nullptr, from.v_codes, from.v_scales};
    }
  }
  return n_lists;
}

}  // namespace kvq
