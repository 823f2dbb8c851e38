// Reading keys that are stored before RoPE: attention gets them decoded and turned by their
// positions, as halves, a few blocks at a time; never a copy of the cache.
#pragma once

#include <array>
#include <cstdint>

#include "code_cache.h"
#include "kernels/kernels.h"

namespace kvq {

constexpr int kTurnBlocks = 16;  // that are turned together: a pass of attention

// Turns of all positions: cosines, then sines, [positions][head_dim].
class TurnTable {
 public:
  TurnTable() = default;
  TurnTable(const std::vector<float>& frequencies, int positions);
  const float* of(int position) const {
    return table_.data() + static_cast<size_t>(position) * dim_;
  }

 private:
  size_t dim_ = 0;
  std::vector<float> table_;
};

// What the keys of one head have in common.
struct KeyTurner {
  const Kernels& kernels;
  const CodeModel& model;
  const TurnTable& table;
  size_t place;  // layer and head

  // One block whose lanes have these positions. keys: halves [head_dim][16].
  void turn(const uint8_t* codes, const uint8_t* scales, int bits, const int32_t* positions,
            uint16_t* keys) const;
  // The same for n blocks of halves, one behind the other in keys, and pointers to them.
  void turn(const uint16_t* const* blocks, int n, const int32_t* positions, uint16_t* keys,
            const uint16_t** turned) const;
};

// Hands out the blocks of lists in runs of up to kTurnBlocks, their keys turned.
class TurnedLists {
 public:
  // positions: [blocks of the lists][16]; keys: room for kTurnBlocks blocks of halves.
  TurnedLists(const KeyTurner& turner, const CodeList* lists, int n_lists, const int32_t* positions,
              uint16_t* keys)
      : turner_(turner), list_(lists), end_(lists + n_lists), positions_(positions), keys_(keys) {}
  // How many lists the next run has; 0 after the last one.
  int next();
  // These, with keys of 16 bits; valid until the next run.
  const CodeList* lists() const { return lists_.data(); }

 private:
  const KeyTurner& turner_;
  const CodeList *list_, *end_;
  const int32_t* positions_;
  uint16_t* keys_;
  int block_ = 0;  // of *list_
  std::array<CodeBlock, kTurnBlocks> blocks_;
  std::array<CodeList, kTurnBlocks> lists_;
};

}  // namespace kvq
