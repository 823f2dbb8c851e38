// Truncate, fork, requantize, compact.
#include <algorithm>
#include <cstring>

#include "code_cache.h"
#include "error.h"

namespace kvq {

void CodeCache::truncate(int n) {
  abandon_plan();
  n = std::clamp(n, 0, length_);
  const int front = std::min(front_, std::max(n, model_->sinks));
  for (int p = front; p < front_; ++p) {
    if (dropped(p)) continue;
    for (size_t place = 0; place < n_places(); ++place) {
      --places_[place].lists[static_cast<size_t>(class_at(place, p))].tokens;
    }
  }
  if (front < front_) {
    for (size_t place = 0; place < n_places(); ++place) {
      for (int cls = 0; cls < kClasses; ++cls) shrink(place, cls);
    }
    for (Gap& gap : gaps_) gap.last = std::min(gap.last, front);
    std::erase_if(gaps_, [](const Gap& gap) { return gap.first >= gap.last; });
  }
  length_ = n;
  front_ = front;
}

CodeCache CodeCache::fork() const {
  const auto lock = pool_->exclusive();
  CodeCache other(model_, pool_, capacity_, kernels_);
  const auto again = [this](CellRef cell, int bits) {
    return pool_->share(cell) ? cell : copy(cell, bits);
  };
  for (size_t place = 0; place < n_places(); ++place) {
    for (int cls = 0; cls < kClasses; ++cls) {
      const List& from = places_[place].lists[static_cast<size_t>(cls)];
      for (int b = 0; b * kBlockTokens < from.tokens; ++b) {
        const Cells& c = cells(place, cls, b);
        const CellRef k = again(c.k, k_bits(cls));
        const CellRef v = k == kNoCell ? kNoCell : again(c.v, v_bits(cls));
        if (v == kNoCell) {
          if (k != kNoCell) pool_->give(k);
          throw Error("memory", "the memory for caches is used up");
        }
        other.add_block(place, cls, {k, v});
      }
      other.places_[place].lists[static_cast<size_t>(cls)].tokens = from.tokens;
    }
  }
  for (size_t i = 0; i < window_.size(); ++i) {
    std::memcpy(other.window_[i], window_[i], pool_->code_bytes(16));
  }
  std::memcpy(other.received_.data(), received_.data(), received_.size());
  const size_t first = static_cast<size_t>(model_->sinks) * tag_stride_;
  const size_t last = static_cast<size_t>(front_) * tag_stride_;
  if (last > first) {
    std::memcpy(other.tags_.data() + first, tags_.data() + first, last - first);
  }
  other.gaps_ = gaps_;
  other.front_ = front_;
  other.length_ = length_;
  return other;
}

void CodeCache::set_classes(size_t place, const uint8_t* classes) {
  for (int p = model_->sinks; p < front_; ++p) {
    if (!dropped(p)) set_class(place, p, classes[p - model_->sinks]);
  }
}

void CodeCache::requantize(int layer, int head, const uint8_t* classes) {
  abandon_plan();
  const auto lock = pool_->exclusive();
  const size_t place = place_of(layer, head);
  const auto choose = [&](size_t, uint8_t* to) {
    std::copy_n(classes, front_ - model_->sinks, to);
  };
  if (!rebuild(place, place + 1, choose, nullptr)) {
    throw Error("memory", "the memory for caches is used up");
  }
  set_classes(place, classes);
}

void CodeCache::requantize(int shift) {
  abandon_plan();
  const auto lock = pool_->exclusive();
  const auto lower = [shift](int tag) { return std::clamp(tag - shift, 0, 3); };
  const auto choose = [&](size_t place, uint8_t* to) {
    for (int p = model_->sinks; p < front_; ++p) {
      const int cls = class_at(place, p);
      to[p - model_->sinks] = static_cast<uint8_t>(lower(k_tag(cls)) | lower(v_tag(cls)) << 2);
    }
  };
  std::vector<uint8_t> classes(static_cast<size_t>(front_ - model_->sinks));
  for (size_t place = 0; place < n_places();) {
    // The cells of one place may not fill a whole page of any width: then several at once.
    size_t n = 1;
    while (!rebuild(place, place + n, choose, nullptr)) {
      if (place + n == n_places()) throw Error("memory", "the memory for caches is used up");
      n = std::min(2 * n, n_places() - place);
    }
    for (const size_t end = place + n; place < end; ++place) {
      choose(place, classes.data());
      set_classes(place, classes.data());
    }
  }
}

void CodeCache::compact() {
  CellPool::Compaction compaction(*pool_);
  for (size_t place = 0; place < n_places(); ++place) {
    for (int cls = 0; cls < kClasses; ++cls) {
      for (int b = 0; b < places_[place].lists[static_cast<size_t>(cls)].blocks; ++b) {
        Cells& c = cells(place, cls, b);
        c.k = compaction.move(c.k);
        c.v = compaction.move(c.v);
      }
    }
  }
  for (size_t i = 0; i < window_cells_.size(); ++i) {
    window_cells_[i] = compaction.move(window_cells_[i]);
    window_[i] = reinterpret_cast<uint16_t*>(pool_->codes(window_cells_[i], 16));
  }
}

}  // namespace kvq
