// What a cache holds, for attention, for others who ask, and in bytes.
#include <algorithm>
#include <cassert>

#include "code_cache.h"

namespace kvq {
namespace {

int blocks_for(int tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

}  // namespace

int CodeCache::blocks(int layer, int head) const {
  int n = 0;
  for (const List& l : places_[place_of(layer, head)].lists) n += blocks_for(l.tokens);
  return n;
}

void CodeCache::blocks(int layer, int head, int cls, int first, int n, CodeBlock* out) const {
  const size_t place = place_of(layer, head);
  const CellPool::Width k = pool_->width(k_bits(cls)), v = pool_->width(v_bits(cls));
  const uint16_t* runs = directory(place, cls);
  for (int b = first, end = first + n; b < end;) {
    const Cells* c = run(place, runs[b / kRun]);
    for (int i = b % kRun; i < kRun && b < end; ++i, ++b) {
      *out++ = {k.codes(c[i].k), k.scales(c[i].k), v.codes(c[i].v), v.scales(c[i].v)};
    }
  }
}

int CodeCache::blocks(int layer, int head, int first, int n, CodeBlock* out,
                      CodeList* lists) const {
  const size_t place = place_of(layer, head);
  int found = 0;
  for (int cls = 0; cls < kClasses && n > 0; ++cls) {
    const int tokens = list(layer, head, cls).tokens, has = blocks_for(tokens);
    if (first >= has) {
      first -= has;
      continue;
    }
    const int take = std::min(n, has - first);
    blocks(layer, head, cls, first, take, out);
    lists[found++] = {out,
                      std::min(tokens - first * kBlockTokens, take * kBlockTokens),
                      k_bits(cls),
                      v_bits(cls),
                      model_->k_exponent[place],
                      model_->v_exponent[place]};
    out += take;
    n -= take;
    first = 0;
  }
  return found;
}

void CodeCache::positions(int layer, int head, int32_t* out) const {
  const size_t place = place_of(layer, head);
  std::array<int32_t*, kClasses> next{};
  for (size_t cls = 0; cls < kClasses; ++cls) {
    next[cls] = out;
    const int lanes = blocks_for(places_[place].lists[cls].tokens) * kBlockTokens;
    std::fill(out, out + lanes, 0);
    out += lanes;
  }
  int p = model_->sinks;
  const auto take_until = [&](int end) {
    for (; p < end; ++p) *next[static_cast<size_t>(class_at(place, p))]++ = p;
  };
  for (const Gap& gap : gaps_) {
    take_until(gap.first);
    p = gap.last;
  }
  take_until(front_);
}

int CodeCache::class_of(int layer, int head, int position) const {
  assert(position >= model_->sinks && position < front_);
  return class_at(place_of(layer, head), position);
}

std::vector<uint8_t> CodeCache::classes() const {
  std::vector<uint8_t> all;
  all.reserve(static_cast<size_t>(front_ - model_->sinks) * n_places());
  for (int p = model_->sinks; p < front_; ++p) {
    for (size_t place = 0; place < n_places(); ++place) {
      all.push_back(static_cast<uint8_t>(class_at(place, p)));
    }
  }
  return all;
}

bool CodeCache::dropped(int position) const {
  return std::any_of(gaps_.begin(), gaps_.end(), [position](const Gap& gap) {
    return gap.first <= position && position < gap.last;
  });
}

int CodeCache::gap_tokens() const {
  int n = 0;
  for (const Gap& gap : gaps_) n += gap.last - gap.first;
  return n;
}

bool CodeCache::read(int layer, int head, int position, float* k, float* v) const {
  if (dropped(position)) return false;
  const size_t place = place_of(layer, head);
  const int cls = class_of(layer, head, position), kb = k_bits(cls), vb = v_bits(cls);
  int index = 0;
  for (int p = model_->sinks; p < position; ++p) {
    if (class_at(place, p) == cls && !dropped(p)) ++index;
  }
  const CodeBlock b = pointers(cells(place, cls, index / kBlockTokens), cls);
  const int lane = index % kBlockTokens, dim = model_->shape.head_dim;
  kernels_.dequantize_key(b.k_codes, b.k_scales, dim, kb, model_->k_exponent[place], lane, k);
  kernels_.dequantize_value(b.v_codes, b.v_scales, dim, vb, model_->v_exponent[place], lane, v);
  return true;
}

// ---- counters

std::array<uint64_t, kClasses> CodeCache::class_tokens() const {
  std::array<uint64_t, kClasses> n{};
  for (size_t place = 0; place < n_places(); ++place) {
    for (size_t cls = 0; cls < kClasses; ++cls) {
      n[cls] += static_cast<uint64_t>(places_[place].lists[cls].tokens);
    }
  }
  return n;
}

int CodeCache::live_tokens() const { return length_ - gap_tokens(); }

size_t CodeCache::kv_bytes() const {
  const auto vector_bytes = [this](int bits) {
    return (pool_->code_bytes(bits) + pool_->scale_bytes(bits)) / kBlockTokens;
  };
  const std::array<uint64_t, kClasses> counts = class_tokens();
  const int sinks = std::min(model_->sinks, length_);
  const int halves = sinks + std::max(0, length_ - front_);
  size_t bytes = static_cast<size_t>(front_ - model_->sinks - gap_tokens()) * tag_stride_ +
                 static_cast<size_t>(halves) * n_places() * 2 * vector_bytes(16);
  for (int cls = 0; cls < kClasses; ++cls) {
    bytes +=
        counts[static_cast<size_t>(cls)] * (vector_bytes(k_bits(cls)) + vector_bytes(v_bits(cls)));
  }
  return bytes;
}

size_t CodeCache::page_bytes() const {
  std::array<size_t, 17> held{};
  held[16] = window_cells_.size();
  for (size_t place = 0; place < n_places(); ++place) {
    for (int cls = 0; cls < kClasses; ++cls) {
      const auto n = static_cast<size_t>(places_[place].lists[static_cast<size_t>(cls)].blocks);
      held[static_cast<size_t>(k_bits(cls))] += n;
      held[static_cast<size_t>(v_bits(cls))] += n;
    }
  }
  size_t pages = 0;
  for (size_t bits = 2; bits < held.size(); ++bits) {
    if (held[bits] == 0) continue;
    const size_t each = pool_->cells_per_page(static_cast<int>(bits));
    pages += (held[bits] + each - 1) / each;
  }
  return pages * CellPool::kPageBytes;
}

size_t CodeCache::metadata_bytes() const {
  size_t bytes = static_cast<size_t>(front_ - model_->sinks) * tag_stride_ + directory_.size() +
                 received_.size() + places_.size() * sizeof(Place) +
                 window_.size() * (sizeof(CellRef) + sizeof(uint16_t*)) +
                 page_bytes() / CellPool::kPageBytes * CellPool::bytes_about_page();
  for (const Place& place : places_) bytes += place.runs * kRun * sizeof(Cells);
  return bytes;
}

double CodeCache::bits_mean() const {
  const double numbers = 2.0 * model_->shape.head_dim * static_cast<double>(n_places()) *
                         static_cast<double>(live_tokens());
  return numbers > 0.0 ? 8.0 * static_cast<double>(kv_bytes()) / numbers : 0.0;
}

}  // namespace kvq
