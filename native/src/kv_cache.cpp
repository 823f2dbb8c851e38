#include "kv_cache.h"

#include <algorithm>
#include <cassert>

#include "fp16.h"
#include "kernels/kernels.h"

namespace kvq {
namespace {

size_t pages_needed(const CacheShape& s) {
  const size_t blocks = static_cast<size_t>((s.capacity + kBlockTokens - 1) / kBlockTokens);
  const size_t per_page = kPageBytes / (size_t{32} * static_cast<size_t>(s.head_dim));
  const size_t per_stream = (blocks * static_cast<size_t>(s.kv_heads) + per_page - 1) / per_page;
  return per_stream * 2 * static_cast<size_t>(s.layers);
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
      blocks_per_page_(kPageBytes / block_bytes()),
      pool_(pages_needed(shape)) {
  const size_t streams = 2 * static_cast<size_t>(shape.layers);
  const size_t heads = static_cast<size_t>(shape.kv_heads), most = static_cast<size_t>(max_blocks_);
  pages_.resize(streams);
  for (auto& list : pages_) list.reserve((most * heads + blocks_per_page_ - 1) / blocks_per_page_);
  blocks_table_.assign(streams * heads * most, nullptr);
}

void KvCache::reserve(int n) {
  const int need = (n + kBlockTokens - 1) / kBlockTokens;
  const size_t heads = static_cast<size_t>(shape_.kv_heads);
  for (; blocks_ < need; ++blocks_) {
    for (size_t stream = 0; stream < pages_.size(); ++stream) {
      for (size_t head = 0; head < heads; ++head) {
        const size_t slot = static_cast<size_t>(blocks_) * heads + head;
        if (slot / blocks_per_page_ == pages_[stream].size())
          pages_[stream].push_back(pool_.take());
        uint8_t* block = pages_[stream].back() + slot % blocks_per_page_ * block_bytes();
        blocks_table_[(stream * heads + head) * static_cast<size_t>(max_blocks_) +
                      static_cast<size_t>(blocks_)] = reinterpret_cast<uint16_t*>(block);
      }
    }
  }
}

void KvCache::truncate(int n) {
  length_ = std::min(length_, n);
  blocks_ = std::min(blocks_, (length_ + kBlockTokens - 1) / kBlockTokens);
  const size_t slots = static_cast<size_t>(blocks_) * static_cast<size_t>(shape_.kv_heads);
  const size_t keep = (slots + blocks_per_page_ - 1) / blocks_per_page_;
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
