// 64 KiB pages from the system, shared by all quantized caches of an engine, and cut into cells.
//
// A cell is one block of 16 keys or values of one KV head in one width: its codes and its scales.
// A page holds cells of one width, all codes first (every cell at a multiple of 64 bytes), then all
// scales. Cells are counted references, so that forks can share them.
//
// All calls lock a mutex that nobody holds for long; the pointers of a cell that is held need none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memory.h"

namespace kvq {

// Names a cell: the page's number and the cell's within it.
using CellRef = uint32_t;
constexpr CellRef kNoCell = UINT32_MAX;

class CellPool {
 public:
  static constexpr size_t kPageBytes = 65536;
  static constexpr size_t kBlockPages = 64;  // pages that are taken from the system together

  static constexpr int kCellBits = 12;  // of a CellRef
  static constexpr uint32_t kCellMask = (1u << kCellBits) - 1;

  struct Counters {
    size_t allocations = 0;      // blocks of pages taken from the system so far
    size_t pages_taken = 0;      // pages that hold at least one cell
    size_t pages_free = 0;       // pages at hand that hold none
    size_t page_bytes = 0;       // pages_taken * kPageBytes
    size_t cells[17] = {};       // cells held, by width in bits
    size_t cell_bytes[17] = {};  // codes and scales of these cells, by width in bits
    size_t takes = 0;            // cells taken so far
    size_t metadata_bytes = 0;   // what the pool remembers about pages and references
    // Part of the taken pages that lies in no cell: 0 .. 1.
    double unused = 0.0;
  };

  // head_dim: a multiple of 32. max_bytes: pages are never more than that (rounded down to whole
  // pages). Nothing is taken from the system yet.
  CellPool(int head_dim, size_t max_bytes);

  int head_dim() const { return head_dim_; }
  // Sees to it that pages for so many bytes exist, taken or free (at most max_bytes), so that the
  // system need not be asked later. Address space only: memory comes with the first touch.
  // Throws Error("memory").
  void reserve(size_t bytes);

  // A zeroed cell of 2, 3, 4, 8 or 16 bits with one reference; kNoCell when the pool is exhausted
  // or the system has no memory. O(1), besides a block of pages now and then.
  CellRef take(int bits);
  // Another reference to a cell; false when it has 255 of them already (make a copy then).
  bool share(CellRef cell);
  // Gives one reference back.
  void give(CellRef cell);
  // Whether somebody else refers to the cell too: it must not be written then.
  bool shared(CellRef cell) const;

  // Where cells of one width are: valid for cells that are held while it is used.
  struct Width {
    uint8_t* const* starts;
    size_t code_bytes, scale_bytes, scale_start;
    uint8_t* codes(CellRef cell) const { return page(cell) + (cell & kCellMask) * code_bytes; }
    // At 16 bits there are none: the pointer is not to be read.
    uint8_t* scales(CellRef cell) const {
      return page(cell) + scale_start + (cell & kCellMask) * scale_bytes;
    }

   private:
    uint8_t* page(CellRef cell) const {
      const uint32_t number = cell >> kCellBits;
      return starts[number / kBlockPages] + number % kBlockPages * kPageBytes;
    }
  };
  Width width(int bits) const {
    return {starts_.data(), code_bytes_[bits], scale_bytes_[bits], scale_start_[bits]};
  }
  uint8_t* codes(CellRef cell, int bits) const { return width(bits).codes(cell); }
  uint8_t* scales(CellRef cell, int bits) const { return width(bits).scales(cell); }
  size_t code_bytes(int bits) const { return code_bytes_[bits]; }
  size_t scale_bytes(int bits) const { return scale_bytes_[bits]; }
  size_t cells_per_page(int bits) const { return per_page_[bits]; }
  // What the pool itself remembers about a page none of whose cells was ever shared.
  static constexpr size_t bytes_about_page() { return sizeof(Page); }

  Counters counters() const;
  // Nobody else can take or give cells while this is held; the holder can.
  std::unique_lock<std::recursive_mutex> exclusive() const {
    return std::unique_lock<std::recursive_mutex>(mutex_);
  }
  // Gives the memory of free pages back to the system; they stay at hand.
  void trim();
  // Frees hardly used pages: moves cells that nobody shares from them to others, as far as the
  // holders show their references to `move`, which returns where the cell is now.
  class Compaction;

 private:
  static constexpr uint16_t kNone = UINT16_MAX;

  // Pages with free cells of one width form a list; a free cell's first two bytes name the next.
  struct Page {
    uint32_t next, previous;  // in the list of its width, or of the free pages
    uint16_t free_cell;       // first of the free cells that were used before
    uint16_t fresh;           // cells from here on were never used
    uint16_t used;
    uint8_t bits;  // 0: free
    bool leaving;  // being emptied: no cells are taken from it
    // [cells_per_page], 1 for cells that are free; nullptr until one is shared: all are 1 then.
    std::unique_ptr<uint8_t[]> references;
  };

  bool grow();
  void unlink(uint32_t number, uint32_t& head);
  void link(uint32_t number, uint32_t& head);

  int head_dim_;
  size_t max_pages_;
  size_t code_bytes_[17] = {}, scale_bytes_[17] = {}, scale_start_[17] = {}, per_page_[17] = {};

  mutable std::recursive_mutex mutex_;
  std::vector<Buffer> blocks_;    // of kBlockPages pages; the last one may be shorter
  std::vector<uint8_t*> starts_;  // of the blocks; never moves: reserved for max_pages
  std::vector<Page> pages_;
  uint32_t partial_[17];
  uint32_t free_;
  size_t n_free_ = 0, takes_ = 0, cells_[17] = {};
};

// Holds the pool while it lives.
class CellPool::Compaction {
 public:
  explicit Compaction(CellPool& pool);
  ~Compaction();
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;
  // Where the cell, of which the caller has a reference, is from now on.
  CellRef move(CellRef cell);

 private:
  CellPool& pool_;
  std::unique_lock<std::recursive_mutex> lock_;
};

}  // namespace kvq
