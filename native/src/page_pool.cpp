#include "page_pool.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <string>

#include "error.h"
#include "kernels/cache_layout.h"

namespace kvq {
namespace {

constexpr int kWidths[] = {2, 3, 4, 8, 16};
constexpr uint32_t kNoPage = UINT32_MAX;
constexpr uint8_t kMostReferences = UINT8_MAX;

}  // namespace

CellPool::CellPool(int head_dim, size_t max_bytes) : head_dim_(head_dim), free_(kNoPage) {
  if (head_dim <= 0 || head_dim % 32 != 0) {
    throw Error("argument", "a quantized cache needs heads of a multiple of 32 numbers, not " +
                                std::to_string(head_dim));
  }
  for (const int bits : kWidths) {
    const auto b = static_cast<size_t>(bits);
    code_bytes_[b] = kvq::code_bytes(head_dim, bits);
    scale_bytes_[b] = kvq::scale_bytes(bits);
    per_page_[b] = kPageBytes / (code_bytes_[b] + scale_bytes_[b]);
    scale_start_[b] = per_page_[b] * code_bytes_[b];
  }
  // A page's number and a cell's share 32 bits; the largest number is kNoCell's.
  max_pages_ = std::min(max_bytes / kPageBytes, (size_t{1} << (32 - kCellBits)) - kBlockPages);
  starts_.reserve((max_pages_ + kBlockPages - 1) / kBlockPages);
  std::fill(std::begin(partial_), std::end(partial_), kNoPage);
}

void CellPool::unlink(uint32_t number, uint32_t& head) {
  const Page& p = pages_[number];
  if (p.previous == kNoPage) {
    head = p.next;
  } else {
    pages_[p.previous].next = p.next;
  }
  if (p.next != kNoPage) pages_[p.next].previous = p.previous;
}

void CellPool::link(uint32_t number, uint32_t& head) {
  Page& p = pages_[number];
  p.previous = kNoPage;
  p.next = head;
  if (head != kNoPage) pages_[head].previous = number;
  head = number;
}

bool CellPool::grow() {
  const size_t n = std::min(kBlockPages, max_pages_ - pages_.size());
  if (n == 0) return false;
  try {
    // Everything that can fail comes before anything is changed.
    blocks_.reserve(blocks_.size() + 1);
    pages_.reserve(pages_.size() + n);
    Buffer block(n * kPageBytes);
    starts_.push_back(block.data());
    blocks_.push_back(std::move(block));
  } catch (const Error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  const auto first = static_cast<uint32_t>(pages_.size());
  pages_.resize(pages_.size() + n);
  // The lowest page is taken first, so that memory is touched in order.
  for (uint32_t i = static_cast<uint32_t>(n); i-- > 0;) {
    link(first + i, free_);
  }
  n_free_ += n;
  return true;
}

void CellPool::reserve(size_t bytes) {
  const auto lock = exclusive();
  const size_t want = std::min((bytes + kPageBytes - 1) / kPageBytes, max_pages_);
  while (pages_.size() < want) {
    if (!grow()) {
      throw Error("memory",
                  "not enough memory for a cache of " + std::to_string(bytes >> 20) + " MiB");
    }
  }
}

CellRef CellPool::take(int bits) {
  const auto lock = exclusive();
  const auto b = static_cast<size_t>(bits);
  uint32_t number = partial_[b];
  if (number == kNoPage) {
    if (free_ == kNoPage && !grow()) return kNoCell;
    number = free_;
    unlink(number, free_);
    --n_free_;
    Page& p = pages_[number];
    p = Page{};
    p.free_cell = kNone;
    p.bits = static_cast<uint8_t>(bits);
    link(number, partial_[b]);
  }
  Page& p = pages_[number];
  uint32_t index = p.free_cell;
  if (index == kNone) {
    index = p.fresh++;
  } else {
    std::memcpy(&p.free_cell, codes(number << kCellBits | index, bits), sizeof p.free_cell);
  }
  if (++p.used == per_page_[b]) unlink(number, partial_[b]);
  const CellRef cell = number << kCellBits | index;
  ++cells_[b];
  ++takes_;
  std::memset(codes(cell, bits), 0, code_bytes_[b]);
  if (bits != 16) std::memset(scales(cell, bits), 0, scale_bytes_[b]);
  return cell;
}

bool CellPool::share(CellRef cell) {
  const auto lock = exclusive();
  Page& p = pages_[cell >> kCellBits];
  if (!p.references) {
    const size_t n = per_page_[p.bits];
    p.references.reset(new (std::nothrow) uint8_t[n]);
    if (!p.references) return false;
    std::fill_n(p.references.get(), n, uint8_t{1});
  }
  uint8_t& n = p.references[cell & kCellMask];
  if (n == kMostReferences) return false;
  ++n;
  return true;
}

bool CellPool::shared(CellRef cell) const {
  const auto lock = exclusive();
  const Page& p = pages_[cell >> kCellBits];
  return p.references && p.references[cell & kCellMask] > 1;
}

void CellPool::give(CellRef cell) {
  const auto lock = exclusive();
  const uint32_t number = cell >> kCellBits;
  Page& p = pages_[number];
  assert(p.used > 0);
  if (p.references && p.references[cell & kCellMask] > 1) {
    --p.references[cell & kCellMask];
    return;
  }
  const size_t b = p.bits;
  const bool listed = p.used < per_page_[b] && !p.leaving;
  std::memcpy(codes(cell, p.bits), &p.free_cell, sizeof p.free_cell);
  p.free_cell = static_cast<uint16_t>(cell & kCellMask);
  --p.used;
  --cells_[b];
  if (p.used == 0) {
    if (listed) unlink(number, partial_[b]);
    p = Page{};
    link(number, free_);
    ++n_free_;
  } else if (!listed && !p.leaving) {
    link(number, partial_[b]);
  }
}

CellPool::Counters CellPool::counters() const {
  const auto lock = exclusive();
  Counters c;
  c.allocations = blocks_.size();
  c.pages_taken = pages_.size() - n_free_;
  c.pages_free = n_free_;
  c.page_bytes = c.pages_taken * kPageBytes;
  c.takes = takes_;
  c.metadata_bytes = pages_.size() * sizeof(Page);
  for (const Page& p : pages_) {
    if (p.references) c.metadata_bytes += per_page_[p.bits];
  }
  size_t held = 0;
  for (const int bits : kWidths) {
    const auto b = static_cast<size_t>(bits);
    c.cells[b] = cells_[b];
    c.cell_bytes[b] = cells_[b] * (code_bytes_[b] + scale_bytes_[b]);
    held += c.cell_bytes[b];
  }
  if (c.page_bytes > 0) {
    c.unused = 1.0 - static_cast<double>(held) / static_cast<double>(c.page_bytes);
  }
  return c;
}

void CellPool::trim() {
  const auto lock = exclusive();
  for (uint32_t number = free_; number != kNoPage; number = pages_[number].next) {
    blocks_[number / kBlockPages].release(number % kBlockPages * kPageBytes, kPageBytes);
  }
}

CellPool::Compaction::Compaction(CellPool& pool) : pool_(pool), lock_(pool.exclusive()) {
  std::vector<uint32_t> order;
  for (const int bits : kWidths) {
    const auto b = static_cast<size_t>(bits);
    order.clear();
    size_t used = 0;
    for (uint32_t n = pool.partial_[b]; n != kNoPage; n = pool.pages_[n].next) {
      order.push_back(n);
      used += pool.pages_[n].used;
    }
    const size_t keep = (used + pool.per_page_[b] - 1) / pool.per_page_[b];
    std::sort(order.begin(), order.end(),
              [&](uint32_t x, uint32_t y) { return pool.pages_[x].used > pool.pages_[y].used; });
    for (size_t i = keep; i < order.size(); ++i) {
      pool.unlink(order[i], pool.partial_[b]);
      pool.pages_[order[i]].leaving = true;
    }
  }
}

CellPool::Compaction::~Compaction() {
  for (uint32_t n = 0; n < pool_.pages_.size(); ++n) {
    Page& p = pool_.pages_[n];
    if (!p.leaving) continue;
    p.leaving = false;
    pool_.link(n, pool_.partial_[p.bits]);
  }
}

CellRef CellPool::Compaction::move(CellRef cell) {
  const Page& p = pool_.pages_[cell >> kCellBits];
  if (!p.leaving || pool_.shared(cell)) return cell;
  const int bits = p.bits;
  // The pages that stay have room for it, unless shared cells keep others from leaving.
  if (pool_.partial_[bits] == kNoPage) return cell;
  const CellRef to = pool_.take(bits);
  std::memcpy(pool_.codes(to, bits), pool_.codes(cell, bits), pool_.code_bytes(bits));
  if (bits != 16) {
    std::memcpy(pool_.scales(to, bits), pool_.scales(cell, bits), pool_.scale_bytes(bits));
  }
  pool_.give(cell);
  return to;
}

}  // namespace kvq
