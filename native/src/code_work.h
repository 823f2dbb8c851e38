// Work space of steps over quantized caches.
#pragma once

#include <cstdint>
#include <vector>

#include "code_sequence.h"
#include "code_turn.h"
#include "engine_step.h"
#include "kernels/kernels.h"
#include "memory.h"

namespace kvq {

constexpr int kCodeRows = 64;  // tokens of one prefill step
constexpr int kStagedBlocks = kCodeRows / kBlockTokens;
constexpr int kMaxWindowSlots = 512;
constexpr int kMaxWindowBlocks = kMaxWindowSlots / kBlockTokens;
// Parts of the cache of one head, which several threads can take.
constexpr int kCodeUnits = 8;

// Attention received in a step, by place and slot; slots of a prompt's own tokens come after those
// of the half-precision area.
struct Received {
  float *mass, *late, *peak;
};

class CodeWork {
 public:
  CodeWork(const Quantization& q, int groups, int threads, int max_context);

  // Slots of the half-precision area, and with a prompt's rows.
  const int slots, all_slots;
  const int places;
  const size_t max_blocks;  // of one head

  // Keys and values of a prompt's rows until its end, as a KvCache's blocks.
  uint16_t* staged_keys(int place) const { return staged(place); }
  uint16_t* staged_values(int place) const { return staged(place) + kCodeRows * dim_; }
  // Lengths of the keys and values of a prompt's row, [places][2].
  float* lengths(int row) const { return lengths_ + static_cast<size_t>(row * 2 * places); }
  // Scores of the window's tokens: decode [row][group][kMaxQueries][slots], prefill, per thread,
  // [kMaxQueries][all_slots].
  float* scores(int row, int group) const {
    return scores_ + static_cast<size_t>((row * groups_ + group) * kMaxQueries * slots);
  }
  float* own_scores(int thread) const {
    return own_scores_ + static_cast<size_t>(thread * kMaxQueries * all_slots);
  }
  // Softmax weights added over query heads. Decode: [layer and head][row][slots].
  float* weights(int place, int row) const {
    return weights_ + static_cast<size_t>((place * kMaxBatch + row) * slots);
  }
  // Prefill: of one layer, [row][group][all_slots].
  float* row_weights(int row, int group) const {
    return row_weights_ + static_cast<size_t>((row * groups_ + group) * all_slots);
  }
  // Prefill: what a place's window has received in the step, [all_slots] each.
  Received received(int place) const {
    float* at = received_ + static_cast<size_t>(place * 3 * all_slots);
    return {at, at + all_slots, at + 2 * all_slots};
  }
  // Prefill: positions of the slots; far before the window for those that are not in it.
  int* positions() const { return positions_; }
  // Cost of each row's groups, [kMaxBatch * groups].
  int* costs(int thread) const { return costs_ + thread * kMaxBatch * groups_; }
  CodeBlock* blocks(int thread) const { return blocks_ + static_cast<size_t>(thread) * max_blocks; }
  uint8_t* judge_scratch(int thread) const {
    return scratch_ + static_cast<size_t>(thread) * scratch_bytes_;
  }
  // Five arrays of [places] for a token that is judged.
  float* gathered(int thread) const { return gathered_ + static_cast<size_t>(thread * 5 * places); }
  // For keys that are stored before RoPE: positions of one head's tokens by block and lane, and of
  // its window with a prompt's rows; keys of a run, and of the window, turned.
  int32_t* token_positions(int thread) const {
    return token_positions_ + static_cast<size_t>(thread) * max_blocks * kBlockTokens;
  }
  int32_t* slot_positions(int thread) const { return slot_positions_ + thread * all_slots; }
  uint16_t* turned_keys(int thread) const {
    return turned_ + static_cast<size_t>(thread) * turned_size();
  }
  uint16_t* turned_window(int thread) const {
    return turned_keys(thread) + kTurnBlocks * kBlockTokens * dim_;
  }
  uint8_t* classes(int token) const { return classes_ + static_cast<size_t>(token * places); }

 private:
  // Halves of a thread's turned keys.
  size_t turned_size() const {
    return static_cast<size_t>((kTurnBlocks * kBlockTokens + all_slots) * dim_);
  }
  uint16_t* staged(int place) const {
    return staged_ + static_cast<size_t>(place * 2 * kCodeRows * dim_);
  }

  int groups_, dim_;
  Buffer memory_;
  uint16_t *staged_ = nullptr, *turned_ = nullptr;
  int32_t *token_positions_ = nullptr, *slot_positions_ = nullptr;
  float *scores_ = nullptr, *own_scores_ = nullptr, *weights_ = nullptr, *row_weights_ = nullptr;
  float *received_ = nullptr, *gathered_ = nullptr, *lengths_ = nullptr;
  int *positions_ = nullptr, *costs_ = nullptr;
  CodeBlock* blocks_ = nullptr;
  uint8_t *scratch_ = nullptr, *classes_ = nullptr;
  size_t scratch_bytes_ = 0;
};

}  // namespace kvq
