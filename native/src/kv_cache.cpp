#include "kv_cache.h"

#include <algorithm>
#include <cassert>

#include "fp16.h"
#include "kernels/kernels.h"

namespace kvq {
namespace {

size_t blocks_per_page(const CacheShape& s) {
  return kPageBytes / (size_t{32} * static_cast<size_t>(s.head_dim));
}

// Where block b of a head lies in its layer's K or V: heads take turns with runs of blocks.
size_t slot_of(size_t b, size_t head, size_t heads) {
  return (b / kRunBlocks * heads + head) * kRunBlocks + b % kRunBlocks;
}

// Pages that hold the first `blocks` blocks of every head of one layer's K or V.
size_t stream_pages(const CacheShape& s, size_t blocks) {
  const size_t runs = (blocks + kRunBlocks - 1) / kRunBlocks * static_cast<size_t>(s.kv_heads);
  return (runs * kRunBlocks + blocks_per_page(s) - 1) / blocks_per_page(s);
}

size_t blocks_for(int tokens) {
  return static_cast<size_t>((tokens + kBlockTokens - 1) / kBlockTokens);
}

uint16_t finite_half(float v) {
  constexpr float kLargest = 65504.0f;
  // The comparison is false for NaN, which becomes zero: it must not poison later tokens.
  if (!(v >= -kLargest)) return v < 0.0f ? 0xFBFF : 0;
  return v > kLargest ? 0x7BFF : float_to_fp16(v);
}

}  // namespace

PagePool::PagePool(size_t pages) : memory_(pages * kPageBytes) {
  free_.reserve(pages);
  for (size_t i = pages; i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
}

uint8_t* PagePool::take() {
  assert(!free_.empty());
  const size_t page = free_.back();
  free_.pop_back();
  ++used_;
  return memory_.data() + page * kPageBytes;
}

void PagePool::give(uint8_t* page) {
  const size_t offset = static_cast<size_t>(page - memory_.data());
  free_.push_back(static_cast<uint32_t>(offset / kPageBytes));
  --used_;
}

KvCache::KvCache(const CacheShape& shape)
    : shape_(shape),
      max_blocks_((shape.capacity + kBlockTokens - 1) / kBlockTokens),
      pool_(2 * static_cast<size_t>(shape.layers) *
            stream_pages(shape, blocks_for(shape.capacity))) {
  const size_t streams = 2 * static_cast<size_t>(shape.layers);
  const size_t heads = static_cast<size_t>(shape.kv_heads), most = static_cast<size_t>(max_blocks_);
  pages_.resize(streams);
  for (auto& list : pages_) list.reserve(stream_pages(shape, most));
  blocks_table_.assign(streams * heads * most, nullptr);
}

void KvCache::reserve(int n) {
  const int need = static_cast<int>(blocks_for(n));
  const size_t heads = static_cast<size_t>(shape_.kv_heads), per_page = blocks_per_page(shape_);
  for (; blocks_ < need; ++blocks_) {
    for (size_t stream = 0; stream < pages_.size(); ++stream) {
      for (size_t head = 0; head < heads; ++head) {
        const size_t slot = slot_of(static_cast<size_t>(blocks_), head, heads);
        while (slot / per_page >= pages_[stream].size()) pages_[stream].push_back(pool_.take());
        uint8_t* block = pages_[stream][slot / per_page] + slot % per_page * block_bytes();
        blocks_table_[(stream * heads + head) * static_cast<size_t>(max_blocks_) +
                      static_cast<size_t>(blocks_)] = reinterpret_cast<uint16_t*>(block);
      }
    }
  }
}

void KvCache::truncate(int n) {
  length_ = std::min(length_, n);
  blocks_ = std::min(blocks_, static_cast<int>(blocks_for(length_)));
  const size_t keep = stream_pages(shape_, static_cast<size_t>(blocks_));
  for (auto& list : pages_) {
    while (list.size() > keep) {
      pool_.give(list.back());
      list.pop_back();
    }
  }
}

void KvCache::store(int layer, int head, int position, const float* k, const float* v) {
  const int block = position / kBlockTokens, lane = position % kBlockTokens;
  uint16_t* keys = k_blocks(layer, head)[block];
  uint16_t* values = v_blocks(layer, head)[block] + lane * shape_.head_dim;
  for (int d = 0; d < shape_.head_dim; ++d) {
    keys[d * kBlockTokens + lane] = finite_half(k[d]);
    values[d] = finite_half(v[d]);
  }
}

}  // namespace kvq
