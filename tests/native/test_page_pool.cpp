#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "error.h"
#include "page_pool.h"

using namespace kvq;

namespace {

constexpr int kWidths[] = {2, 3, 4, 8, 16};
constexpr size_t kPage = CellPool::kPageBytes;

}  // namespace

TEST(page_pool_cells_lie_apart_and_are_zeroed) {
  for (const int dim : {32, 64, 96, 256}) {
    CellPool pool(dim, size_t{8} << 20);
    test::Random random(1);
    std::vector<std::pair<CellRef, int>> held;
    for (int step = 0; step < 3000; ++step) {
      if (!held.empty() && random.below(5) < 2) {
        const size_t i = static_cast<size_t>(random.below(static_cast<int>(held.size())));
        pool.give(held[i].first);
        held[i] = held.back();
        held.pop_back();
        continue;
      }
      const int bits = kWidths[random.below(5)];
      const CellRef cell = pool.take(bits);
      if (cell == kNoCell) continue;
      uint8_t *codes = pool.codes(cell, bits), *scales = pool.scales(cell, bits);
      const size_t n = pool.code_bytes(bits), m = pool.scale_bytes(bits);
      CHECK(n == static_cast<size_t>(2 * dim * bits));
      CHECK(m == (bits == 16 ? 0u : bits == 8 ? 32u : 16u));
      CHECK(reinterpret_cast<uintptr_t>(codes) % 64 == 0);
      CHECK(std::all_of(codes, codes + n, [](uint8_t b) { return b == 0; }));
      CHECK(m == 0 || std::all_of(scales, scales + m, [](uint8_t b) { return b == 0; }));
      std::memset(codes, 0xFF, n);
      if (m > 0) std::memset(scales, 0xFF, m);
      held.emplace_back(cell, bits);
    }
    std::map<const uint8_t*, size_t> ranges;
    for (const auto& [cell, bits] : held) {
      ranges[pool.codes(cell, bits)] = pool.code_bytes(bits);
      if (bits != 16) ranges[pool.scales(cell, bits)] = pool.scale_bytes(bits);
    }
    const uint8_t* end = nullptr;
    for (const auto& [start, n] : ranges) {
      CHECK(start >= end, "dim %d", dim);
      end = start + n;
    }
    for (const auto& [cell, bits] : held) pool.give(cell);
    const CellPool::Counters c = pool.counters();
    CHECK(c.pages_taken == 0 && c.page_bytes == 0 && c.unused == 0.0);
    for (const size_t n : c.cells) CHECK(n == 0);
  }
}

TEST(page_pool_counts_pages_and_cells) {
  CellPool pool(64, 100 * kPage);
  CHECK(pool.counters().allocations == 0);
  pool.reserve(3 * kPage);
  CHECK(pool.counters().allocations == 1 && pool.counters().pages_free == CellPool::kBlockPages);
  std::vector<CellRef> cells;
  for (size_t i = 0; i <= pool.cells_per_page(4); ++i) cells.push_back(pool.take(4));
  CellPool::Counters c = pool.counters();
  CHECK(c.pages_taken == 2 && c.pages_free == CellPool::kBlockPages - 2 && c.allocations == 1);
  CHECK(c.cells[4] == cells.size() && c.cell_bytes[4] == cells.size() * (512 + 16));
  CHECK(c.takes == cells.size());
  CHECK(c.unused > 0.49 && c.unused < 0.51, "%f", c.unused);
  // Little of a full page lies outside of its cells.
  for (const int bits : kWidths) {
    const size_t used =
        pool.cells_per_page(bits) * (pool.code_bytes(bits) + pool.scale_bytes(bits));
    CHECK(used <= kPage && used > kPage * 99 / 100, "%d bits: %zu", bits, used);
  }
}

TEST(page_pool_ends_where_it_was_told) {
  CellPool pool(64, 70 * kPage + 1);
  std::vector<CellRef> cells;
  for (CellRef c = pool.take(16); c != kNoCell; c = pool.take(16)) cells.push_back(c);
  CHECK(cells.size() == 70 * 32);
  CHECK(pool.take(2) == kNoCell);
  CHECK(pool.counters().allocations == 2);
  // A page that is given back serves another width.
  for (size_t i = 0; i < 32; ++i) pool.give(cells[i]);
  const CellRef small = pool.take(2);
  CHECK(small != kNoCell && pool.take(16) == kNoCell);
  pool.give(small);
  CHECK(pool.take(16) != kNoCell);
  CellPool none(64, kPage - 1);
  CHECK(none.take(2) == kNoCell);
  none.reserve(1);
  CHECK(none.counters().allocations == 0);
}

TEST(page_pool_counts_references) {
  CellPool pool(64, 4 * kPage);
  const CellRef a = pool.take(8), b = pool.take(8);
  CHECK(!pool.shared(a));
  CHECK(pool.share(a) && pool.shared(a) && !pool.shared(b));
  pool.give(a);
  CHECK(!pool.shared(a) && pool.counters().cells[8] == 2);
  int more = 0;
  while (pool.share(b)) ++more;
  CHECK(more == 254);
  for (int i = 0; i < more; ++i) pool.give(b);
  CHECK(!pool.shared(b));
  pool.give(b);
  CHECK(pool.counters().cells[8] == 1);
  const CellRef again = pool.take(8);
  CHECK(!pool.shared(again));
  pool.give(again);
  pool.give(a);
  CHECK(pool.counters().pages_taken == 0);
}

TEST(page_pool_compaction_frees_sparse_pages) {
  CellPool pool(64, 20 * kPage);
  const size_t per_page = pool.cells_per_page(4);
  std::vector<CellRef> cells;
  for (size_t i = 0; i < 8 * per_page; ++i) {
    cells.push_back(pool.take(4));
    std::memcpy(pool.codes(cells.back(), 4), &i, sizeof i);
    pool.scales(cells.back(), 4)[15] = static_cast<uint8_t>(i);
  }
  std::vector<std::pair<size_t, CellRef>> kept;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i % 8 == 3) {
      kept.emplace_back(i, cells[i]);
    } else {
      pool.give(cells[i]);
    }
  }
  CHECK(pool.counters().pages_taken == 8);
  {
    CellPool::Compaction compaction(pool);
    for (auto& [i, cell] : kept) cell = compaction.move(cell);
  }
  CHECK(pool.counters().pages_taken == 1, "%zu", pool.counters().pages_taken);
  for (const auto& [i, cell] : kept) {
    size_t mark;
    std::memcpy(&mark, pool.codes(cell, 4), sizeof mark);
    CHECK(mark == i && pool.scales(cell, 4)[15] == static_cast<uint8_t>(i));
  }
  // A shared cell stays where it is, and its page with it.
  std::vector<CellRef> more;
  for (size_t i = 0; i < 2 * per_page; ++i) more.push_back(pool.take(4));
  for (size_t i = 0; i < 2 * per_page; ++i) {
    if (i % per_page != 5) pool.give(more[i]);
  }
  const CellRef stays = more[per_page + 5];
  CHECK(pool.share(stays));
  {
    CellPool::Compaction compaction(pool);
    CHECK(compaction.move(stays) == stays);
  }
  const size_t pages = pool.counters().pages_taken;
  pool.give(stays);
  pool.give(stays);
  pool.give(more[5]);
  for (const auto& [i, cell] : kept) pool.give(cell);
  CHECK(pages > 1 && pool.counters().pages_taken == 0);
  pool.trim();
  const CellRef cell = pool.take(2);
  CHECK(cell != kNoCell && pool.codes(cell, 2)[0] == 0);
}
