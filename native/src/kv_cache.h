// Keys and values of one sequence, in 64 KiB pages. A page holds blocks of 16 tokens of one
// precision class, of one layer and one of K or V; a block belongs to one KV head.
#pragma once

#include <cstdint>
#include <vector>

#include "memory.h"

namespace kvq {

constexpr size_t kPageBytes = 65536;
// Blocks of one head that lie next to each other: attention reads 16 KiB at a stretch, which is
// what hardware prefetchers need, and heads can still share a page.
constexpr size_t kRunBlocks = 8;

// Two-bit tags of the design; blocks of other classes than half precision differ in size only.
enum class PrecisionClass : uint8_t { kBits2 = 0, kBits4 = 1, kBits8 = 2, kFp16 = 3 };

struct CacheShape {
  int layers;
  int kv_heads;
  int head_dim;  // a multiple of 16, at most 256
  int capacity;  // tokens
  bool operator==(const CacheShape&) const = default;
};

// Fixed-size pages from one reservation of address space; memory comes with the first touch.
class PagePool {
 public:
  explicit PagePool(size_t pages);
  uint8_t* take();
  void give(uint8_t* page);
  size_t used() const { return used_; }

 private:
  Buffer memory_;
  std::vector<uint32_t> free_;  // last one is taken next
  size_t used_ = 0;
};

class KvCache {
 public:
  explicit KvCache(const CacheShape& shape);

  const CacheShape& shape() const { return shape_; }
  int length() const { return length_; }
  void set_length(int tokens) { length_ = tokens; }
  // Makes room for tokens [0, n); n <= capacity. No allocation besides taking pages from the pool.
  void reserve(int n);
  // Forgets tokens from n on and gives their pages back.
  void truncate(int n);

  // Pointers to the blocks of a head: K as halves [head_dim][16 tokens], V [16 tokens][head_dim].
  uint16_t* const* k_blocks(int layer, int head) const { return table(2 * layer, head); }
  uint16_t* const* v_blocks(int layer, int head) const { return table(2 * layer + 1, head); }
  // Writes one token's key and value of one head as halves; values beyond the range of a half
  // become the largest half, so that no infinity enters a page.
  void store(int layer, int head, int position, const float* k, const float* v);

  size_t bytes() const { return pool_.used() * kPageBytes; }
  size_t block_bytes() const { return size_t{32} * static_cast<size_t>(shape_.head_dim); }
  int blocks() const { return blocks_; }  // per head

 private:
  uint16_t* const* table(int stream, int head) const {
    return blocks_table_.data() +
           (static_cast<size_t>(stream) * static_cast<size_t>(shape_.kv_heads) +
            static_cast<size_t>(head)) *
               static_cast<size_t>(max_blocks_);
  }
  CacheShape shape_;
  int max_blocks_;
  int blocks_ = 0;
  int length_ = 0;
  PagePool pool_;
  std::vector<std::vector<uint8_t*>> pages_;  // [layer * 2 + (0: K, 1: V)], in order of filling
  std::vector<uint16_t*> blocks_table_;       // [layer * 2 + K/V][head][max_blocks]
};

}  // namespace kvq
