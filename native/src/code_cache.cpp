// Making a cache, its half-precision area and its tables, and quantizing into it.
#include "code_cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "error.h"

namespace kvq {
namespace {

int blocks_for(int tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

bool is_width(int bits) { return bits == 2 || bits == 3 || bits == 4 || bits == 8 || bits == 16; }

}  // namespace

void CodeModel::check() const {
  const auto refuse = [](const std::string& what) { throw Error("argument", what); };
  if (shape.layers <= 0 || shape.kv_heads <= 0) refuse("a cache needs layers and heads");
  if (shape.head_dim <= 0 || shape.head_dim % 32 != 0 || shape.head_dim > kMaxHeadDim) {
    refuse("a quantized cache needs heads of a multiple of 32 numbers, at most " +
           std::to_string(kMaxHeadDim) + ", not " + std::to_string(shape.head_dim));
  }
  for (size_t i = 0; i < ladder.size(); ++i) {
    if (!is_width(ladder[i]) || (i > 0 && ladder[i] <= ladder[i - 1])) {
      refuse("the widths of a cache are four of 2, 3, 4, 8 and 16 bits in ascending order");
    }
  }
  if (sinks < 0 || window < 1 || sinks + window > 4096) {
    refuse("the window needs 1 token at least, sinks and window together have 4096 at most");
  }
  const auto places_n = static_cast<size_t>(places());
  const auto dim = static_cast<size_t>(shape.head_dim);
  if (k_mean.size() != places_n * dim || v_mean.size() != places_n * dim ||
      k_exponent.size() != places_n || v_exponent.size() != places_n ||
      frequencies.size() != dim / 2) {
    refuse("a table of the cache's controller has another size than the model asks for");
  }
}

CodeCache::CodeCache(std::shared_ptr<const CodeModel> model, std::shared_ptr<CellPool> pool,
                     int capacity, const Kernels& kernels)
    : model_(std::move(model)),
      pool_(std::move(pool)),
      kernels_(kernels),
      capacity_(capacity),
      front_(model_->sinks) {
  if (pool_->head_dim() != model_->shape.head_dim) {
    throw Error("argument", "the pool is for heads of another size");
  }
  if (capacity <= 0) throw Error("argument", "a cache needs room for 1 token at least");
  const size_t n = n_places(), slots = static_cast<size_t>(model_->window_slots());
  const auto window_blocks = static_cast<size_t>(model_->window_blocks());
  tag_stride_ = (n + 1) / 2;
  list_runs_ = static_cast<size_t>((blocks_for(capacity) + kRun - 1) / kRun);
  // Every class may end with a run and a block that are not full.
  place_runs_ = list_runs_ + kClasses + 1;
  if (place_runs_ >= kNoRun) throw Error("argument", "a cache cannot have so many tokens");
  tags_ = Buffer(static_cast<size_t>(capacity) * tag_stride_);
  directory_ = Buffer((n + 1) * kClasses * list_runs_ * sizeof(uint16_t));
  table_ = Buffer((n + 1) * place_runs_ * kRun * sizeof(Cells));
  received_ = Buffer(n * 3 * slots * sizeof(float));
  places_.resize(n + 1);
  window_.reserve(n * 2 * window_blocks);
  window_cells_.reserve(n * 2 * window_blocks);
  for (size_t i = 0; i < n * 2 * window_blocks; ++i) {
    const CellRef cell = pool_->take(16);
    if (cell == kNoCell) {
      release();
      throw Error("memory", "not enough memory for another cache");
    }
    window_cells_.push_back(cell);
    window_.push_back(reinterpret_cast<uint16_t*>(pool_->codes(cell, 16)));
  }
}

CodeCache::~CodeCache() { release(); }

CodeCache::CodeCache(CodeCache&& other) noexcept { *this = std::move(other); }

CodeCache& CodeCache::operator=(CodeCache&& other) noexcept {
  if (this == &other) return *this;
  release();
  model_ = other.model_;
  pool_ = std::move(other.pool_);
  kernels_ = other.kernels_;
  capacity_ = other.capacity_;
  length_ = std::exchange(other.length_, 0);
  front_ = std::exchange(other.front_, model_->sinks);
  planned_ = std::exchange(other.planned_, 0);
  tag_stride_ = other.tag_stride_;
  list_runs_ = other.list_runs_;
  place_runs_ = other.place_runs_;
  gaps_ = std::exchange(other.gaps_, {});
  places_ = std::exchange(other.places_, {});
  window_cells_ = std::exchange(other.window_cells_, {});
  window_ = std::exchange(other.window_, {});
  received_ = std::move(other.received_);
  tags_ = std::move(other.tags_);
  directory_ = std::move(other.directory_);
  table_ = std::move(other.table_);
  return *this;
}

void CodeCache::release() {
  if (!pool_) return;
  const auto lock = pool_->exclusive();
  for (size_t place = 0; place < places_.size(); ++place) clear(place);
  for (const CellRef cell : window_cells_) pool_->give(cell);
  window_cells_.clear();
}

void CodeCache::set_length(int tokens) {
  if (tokens < length_ || tokens > capacity_ ||
      tokens - front_ > model_->window_slots() - model_->sinks) {
    throw Error("argument", "a cache of " + std::to_string(length_) + " tokens, " +
                                std::to_string(front_) + " of them final, cannot have " +
                                std::to_string(tokens));
  }
  length_ = tokens;
}

// ---- half-precision area

void CodeCache::window_lanes(int visible, uint16_t* lanes) const {
  std::fill(lanes, lanes + model_->window_blocks(), uint16_t{0});
  const auto mark = [&](int position) {
    const int slot = model_->slot(position);
    lanes[slot / kBlockTokens] |= static_cast<uint16_t>(1u << slot % kBlockTokens);
  };
  for (int p = 0; p < std::min(model_->sinks, visible); ++p) mark(p);
  for (int p = front_; p < visible; ++p) mark(p);
}

void CodeCache::window_positions(int visible, int32_t* positions) const {
  std::fill(positions, positions + model_->window_slots(), 0);
  for (int p = 0; p < std::min(model_->sinks, visible); ++p) positions[model_->slot(p)] = p;
  for (int p = front_; p < visible; ++p) positions[model_->slot(p)] = p;
}

void CodeCache::store(int layer, int head, int position, const float* k, const float* v) {
  const int slot = model_->slot(position), block = slot / kBlockTokens, lane = slot % kBlockTokens;
  kernels_.quantize_key(k, model_->shape.head_dim, 16, 0, lane,
                        reinterpret_cast<uint8_t*>(k_window(layer, head)[block]), nullptr);
  kernels_.quantize_value(v, model_->shape.head_dim, 16, 0, lane,
                          reinterpret_cast<uint8_t*>(v_window(layer, head)[block]), nullptr);
  for (int i = 0; i < 3; ++i) received(layer, head, i)[slot] = 0.0f;
}

void CodeCache::load(int layer, int head, int position, float* k, float* v) const {
  const int slot = model_->slot(position), block = slot / kBlockTokens, lane = slot % kBlockTokens;
  kernels_.dequantize_key(reinterpret_cast<const uint8_t*>(k_window(layer, head)[block]), nullptr,
                          model_->shape.head_dim, 16, 0, lane, k);
  kernels_.dequantize_value(reinterpret_cast<const uint8_t*>(v_window(layer, head)[block]), nullptr,
                            model_->shape.head_dim, 16, 0, lane, v);
}

// ---- tables

void CodeCache::set_class(size_t place, int position, int cls) {
  uint8_t& byte = tags_.data()[static_cast<size_t>(position) * tag_stride_ + place / 2];
  byte = static_cast<uint8_t>(place & 1 ? (byte & 15) | cls << 4 : (byte & 240) | cls);
}

CodeBlock CodeCache::pointers(const Cells& c, int cls) const {
  const int k = k_bits(cls), v = v_bits(cls);
  return {pool_->codes(c.k, k), pool_->scales(c.k, k), pool_->codes(c.v, v), pool_->scales(c.v, v)};
}

void CodeCache::add_block(size_t place, int cls, Cells c) {
  Place& p = places_[place];
  List& l = p.lists[static_cast<size_t>(cls)];
  uint16_t* runs = directory(place, cls);
  if (l.blocks % kRun == 0) {
    uint16_t number = p.free_run;
    if (number == kNoRun) {
      number = p.runs++;
      assert(number < place_runs_);
    } else {
      p.free_run = static_cast<uint16_t>(run(place, number)->k);
    }
    runs[l.blocks / kRun] = number;
  }
  run(place, runs[l.blocks / kRun])[l.blocks % kRun] = c;
  ++l.blocks;
}

bool CodeCache::take_block(size_t place, int cls) {
  Cells c{};
  c.k = pool_->take(k_bits(cls));
  if (c.k == kNoCell) return false;
  c.v = pool_->take(v_bits(cls));
  if (c.v == kNoCell) {
    pool_->give(c.k);
    return false;
  }
  add_block(place, cls, c);
  return true;
}

void CodeCache::drop_block(size_t place, int cls) {
  Place& p = places_[place];
  List& l = p.lists[static_cast<size_t>(cls)];
  --l.blocks;
  const Cells c = cells(place, cls, l.blocks);
  pool_->give(c.k);
  pool_->give(c.v);
  if (l.blocks % kRun == 0) {
    const uint16_t number = directory(place, cls)[l.blocks / kRun];
    run(place, number)->k = p.free_run;
    p.free_run = number;
  }
}

void CodeCache::shrink(size_t place, int cls) {
  const List& l = places_[place].lists[static_cast<size_t>(cls)];
  while (l.blocks > blocks_for(l.tokens)) drop_block(place, cls);
}

void CodeCache::clear(size_t place) {
  for (int cls = 0; cls < kClasses; ++cls) {
    List& l = places_[place].lists[static_cast<size_t>(cls)];
    l.tokens = l.pending = 0;
    shrink(place, cls);
  }
  places_[place] = Place{};
}

CellRef CodeCache::copy(CellRef cell, int bits) const {
  const CellRef to = pool_->take(bits);
  if (to == kNoCell) return to;
  std::memcpy(pool_->codes(to, bits), pool_->codes(cell, bits), pool_->code_bytes(bits));
  if (bits != 16) {
    std::memcpy(pool_->scales(to, bits), pool_->scales(cell, bits), pool_->scale_bytes(bits));
  }
  return to;
}

bool CodeCache::make_private(size_t place, int cls, int block) {
  Cells& c = cells(place, cls, block);
  for (const auto& [cell, bits] : {std::pair{&c.k, k_bits(cls)}, std::pair{&c.v, v_bits(cls)}}) {
    if (!pool_->shared(*cell)) continue;
    const CellRef own = copy(*cell, bits);
    if (own == kNoCell) return false;
    pool_->give(*cell);
    *cell = own;
  }
  return true;
}

// ---- quantizing

void CodeCache::abandon_plan() {
  if (planned_ == 0) return;
  planned_ = 0;
  for (size_t place = 0; place < n_places(); ++place) {
    for (int cls = 0; cls < kClasses; ++cls) {
      places_[place].lists[static_cast<size_t>(cls)].pending = 0;
      shrink(place, cls);
    }
  }
}

void CodeCache::plan(int n, const uint8_t* classes) {
  abandon_plan();
  if (n > capacity_ - front_) {
    throw Error("context", "the cache has room for " + std::to_string(capacity_) + " tokens");
  }
  planned_ = n;
  const size_t places = n_places();
  for (size_t place = 0; place < places; ++place) {
    std::array<int, kClasses> more{};
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) ++more[classes[i * places + place]];
    for (int cls = 0; cls < kClasses; ++cls) {
      const List& l = places_[place].lists[static_cast<size_t>(cls)];
      const int added = more[static_cast<size_t>(cls)];
      if (added == 0) continue;
      bool enough = l.tokens % kBlockTokens == 0 || make_private(place, cls, l.blocks - 1);
      while (enough && l.blocks < blocks_for(l.tokens + added)) enough = take_block(place, cls);
      if (!enough) {
        abandon_plan();
        throw Error("memory", "the memory for caches is used up");
      }
    }
    for (int i = 0; i < n; ++i) {
      set_class(place, front_ + i, classes[static_cast<size_t>(i) * places + place]);
    }
  }
}

void CodeCache::append(int layer, int head, int cls, const float* k, const float* v) {
  const size_t place = place_of(layer, head);
  List& l = places_[place].lists[static_cast<size_t>(cls)];
  const int index = l.tokens + l.pending++;
  assert(index / kBlockTokens < l.blocks);
  const Cells& c = cells(place, cls, index / kBlockTokens);
  const int kb = k_bits(cls), vb = v_bits(cls), lane = index % kBlockTokens;
  kernels_.quantize_key(k, model_->shape.head_dim, kb, model_->k_exponent[place], lane,
                        pool_->codes(c.k, kb), pool_->scales(c.k, kb));
  kernels_.quantize_value(v, model_->shape.head_dim, vb, model_->v_exponent[place], lane,
                          pool_->codes(c.v, vb), pool_->scales(c.v, vb));
}

void CodeCache::commit() {
  for (size_t place = 0; place < n_places(); ++place) {
    [[maybe_unused]] int appended = 0;
    for (List& l : places_[place].lists) {
      appended += l.pending;
      l.tokens += std::exchange(l.pending, 0);
    }
    assert(appended == planned_);
  }
  front_ += std::exchange(planned_, 0);
  length_ = std::max(length_, front_);
}

}  // namespace kvq
