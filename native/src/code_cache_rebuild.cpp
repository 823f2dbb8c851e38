// Building the lists of a head anew, and what rests on it: tokens that are dropped, contexts that
// slide.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <string>

#include "code_cache.h"
#include "code_lane.h"
#include "error.h"

namespace kvq {

// Stored keys are Had(R(p) k - mean); R(p - n) k = R(-n) R(p) k, so they can be moved without k.
struct CodeCache::KeyShift {
  const CodeModel& model;
  const Kernels& kernels;
  std::vector<float> cosine, sine;  // [head_dim / 2]

  KeyShift(const CodeModel& m, const Kernels& k, int n) : model(m), kernels(k) {
    for (const float frequency : m.frequencies) {
      const double angle = static_cast<double>(n) * static_cast<double>(frequency);
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  void apply(size_t place, float* key) const {
    const size_t half = cosine.size();
    const float* mean = model.k_mean.data() + place * 2 * half;
    kernels.hadamard(key, model.shape.head_dim);
    for (size_t i = 0; i < half; ++i) {
      const float a = key[i] + mean[i], b = key[half + i] + mean[half + i];
      key[i] = a * cosine[i] + b * sine[i] - mean[i];
      key[half + i] = b * cosine[i] - a * sine[i] - mean[half + i];
    }
    kernels.hadamard(key, model.shape.head_dim);
  }
};

CodeCache::Source CodeCache::source(size_t place, bool copies) const {
  Source from;
  const auto rounded = [](size_t n) { return (n + 63) / 64 * 64; };
  const auto size = [&](int bits) {
    return pool_->code_bytes(bits) + rounded(pool_->scale_bytes(bits));
  };
  size_t bytes = 0;
  for (int cls = 0; cls < kClasses; ++cls) {
    const List& l = places_[place].lists[static_cast<size_t>(cls)];
    for (int b = 0; b < l.blocks; ++b) {
      from.blocks[static_cast<size_t>(cls)].push_back(pointers(cells(place, cls, b), cls));
    }
    bytes += static_cast<size_t>(l.blocks) * (size(k_bits(cls)) + size(v_bits(cls)));
  }
  if (!copies) return from;
  from.copies = Buffer(bytes);
  uint8_t* to = from.copies.data();
  const auto keep = [&](const uint8_t*& codes, const uint8_t*& scales, int bits) {
    std::memcpy(to, codes, pool_->code_bytes(bits));
    codes = to;
    to += pool_->code_bytes(bits);
    if (bits == 16) return;
    std::memcpy(to, scales, pool_->scale_bytes(bits));
    scales = to;
    to += rounded(pool_->scale_bytes(bits));
  };
  for (int cls = 0; cls < kClasses; ++cls) {
    for (CodeBlock& b : from.blocks[static_cast<size_t>(cls)]) {
      keep(b.k_codes, b.k_scales, k_bits(cls));
      keep(b.v_codes, b.v_scales, v_bits(cls));
    }
  }
  return from;
}

// Fills the empty spare place with the tokens of `from`, the former contents of `place`, in their
// new classes. False, and empty again, when the pool is exhausted.
bool CodeCache::fill(size_t place, const Source& from, const uint8_t* classes,
                     const KeyShift* shift) {
  const size_t spare = n_places();
  const int dim = model_->shape.head_dim;
  const int k_exponent = model_->k_exponent[place], v_exponent = model_->v_exponent[place];
  alignas(64) float x[kMaxHeadDim];
  std::array<int, kClasses> next{};
  for (int p = model_->sinks; p < front_; ++p) {
    if (dropped(p)) continue;
    const int before = class_at(place, p), after = classes[p - model_->sinks];
    const int index = next[static_cast<size_t>(before)]++;
    if (after == kDropped) continue;
    List& l = places_[spare].lists[static_cast<size_t>(after)];
    if (l.tokens % kBlockTokens == 0 && !take_block(spare, after)) {
      clear(spare);
      return false;
    }
    const CodeBlock& b =
        from.blocks[static_cast<size_t>(before)][static_cast<size_t>(index / kBlockTokens)];
    const Cells& c = cells(spare, after, l.tokens / kBlockTokens);
    const int old_k = k_bits(before), new_k = k_bits(after);
    const int old_v = v_bits(before), new_v = v_bits(after);
    const int lane = index % kBlockTokens, to = l.tokens++ % kBlockTokens;
    uint8_t *k_codes = pool_->codes(c.k, new_k), *k_scales = pool_->scales(c.k, new_k);
    uint8_t *v_codes = pool_->codes(c.v, new_v), *v_scales = pool_->scales(c.v, new_v);
    if (old_k == new_k && !shift) {
      copy_key_lane(dim, new_k, {b.k_codes, b.k_scales, lane}, {k_codes, k_scales, to});
    } else {
      kernels_.dequantize_key(b.k_codes, b.k_scales, dim, old_k, k_exponent, lane, x);
      if (shift) shift->apply(place, x);
      kernels_.quantize_key(x, dim, new_k, k_exponent, to, k_codes, k_scales);
    }
    if (old_v == new_v) {
      copy_value_lane(dim, new_v, {b.v_codes, b.v_scales, lane}, {v_codes, v_scales, to});
    } else {
      kernels_.dequantize_value(b.v_codes, b.v_scales, dim, old_v, v_exponent, lane, x);
      kernels_.quantize_value(x, dim, new_v, v_exponent, to, v_codes, v_scales);
    }
  }
  return true;
}

void CodeCache::replace_by_spare(size_t place) {
  clear(place);
  const size_t spare = n_places();
  places_[place] = places_[spare];
  for (int cls = 0; cls < kClasses; ++cls) {
    const auto runs = static_cast<size_t>(
        (places_[spare].lists[static_cast<size_t>(cls)].blocks + kRun - 1) / kRun);
    std::copy_n(directory(spare, cls), runs, directory(place, cls));
  }
  std::memcpy(run(place, 0), run(spare, 0), places_[spare].runs * kRun * sizeof(Cells));
  places_[spare] = Place{};
}

bool CodeCache::shares(size_t place) const {
  for (int cls = 0; cls < kClasses; ++cls) {
    for (int b = 0; b < places_[place].lists[static_cast<size_t>(cls)].blocks; ++b) {
      const Cells& c = cells(place, cls, b);
      if (pool_->shared(c.k) || pool_->shared(c.v)) return true;
    }
  }
  return false;
}

// Gives the tokens of places [first, last) the classes [front - sinks] that `choose` writes,
// kDropped for those that go. False, and all as it was, when the pool is exhausted: never for
// places without shared cells whose tokens keep their classes or go. The caller sets the tags; the
// pool must be held.
bool CodeCache::rebuild(size_t first, size_t last, const Choose& choose, const KeyShift* shift) {
  std::vector<uint8_t> classes(static_cast<size_t>(front_ - model_->sinks));
  if (last - first == 1) {
    choose(first, classes.data());
    if (fill(first, source(first, false), classes.data(), shift)) {
      replace_by_spare(first);
      return true;
    }
  }
  // Old and new do not fit together: the old cells make room.
  std::vector<Source> from;
  for (size_t place = first; place < last; ++place) {
    if (shares(place)) return false;
    from.push_back(source(place, true));
  }
  const auto build = [&](const Choose& chosen, const KeyShift* turn) {
    for (size_t place = first; place < last; ++place) clear(place);
    compact();  // a width gives pages to another only when they are empty
    for (size_t place = first; place < last; ++place) {
      chosen(place, classes.data());
      if (!fill(place, from[place - first], classes.data(), turn)) return false;
      replace_by_spare(place);
    }
    return true;
  };
  if (build(choose, shift)) return true;
  // What was given back is still there, as nobody else could take it.
  [[maybe_unused]] const bool restored = build(
      [this](size_t place, uint8_t* same) {
        for (int p = model_->sinks; p < front_; ++p) {
          same[p - model_->sinks] = static_cast<uint8_t>(class_at(place, p));
        }
      },
      nullptr);
  assert(restored);
  return false;
}

// Copies whatever other caches share, so that no rebuild of the same classes can fail.
void CodeCache::own_everything() {
  for (size_t place = 0; place < n_places(); ++place) {
    for (int cls = 0; cls < kClasses; ++cls) {
      for (int b = 0; b < places_[place].lists[static_cast<size_t>(cls)].blocks; ++b) {
        if (!make_private(place, cls, b)) {
          throw Error("memory", "the memory for caches is used up");
        }
      }
    }
  }
}

// Takes positions [first, last) out of all places. The cache must own everything.
void CodeCache::drop(int first, int last, const KeyShift* shift) {
  const auto choose = [&](size_t place, uint8_t* to) {
    for (int p = model_->sinks; p < front_; ++p) {
      to[p - model_->sinks] =
          p >= first && p < last ? kDropped : static_cast<uint8_t>(class_at(place, p));
    }
  };
  for (size_t place = 0; place < n_places(); ++place) {
    [[maybe_unused]] const bool done = rebuild(place, place + 1, choose, shift);
    assert(done);
  }
}

void CodeCache::evict(int first, int last) {
  if (first < model_->sinks || last < first || last > front_) {
    throw Error("argument", "only quantized tokens can be dropped");
  }
  if (first == last) return;
  abandon_plan();
  const auto lock = pool_->exclusive();
  own_everything();
  drop(first, last, nullptr);
  // Ranges that touch become one.
  Gap joined{first, last};
  std::erase_if(gaps_, [&joined](const Gap& gap) {
    if (gap.last < joined.first || gap.first > joined.last) return false;
    joined = {std::min(gap.first, joined.first), std::max(gap.last, joined.last)};
    return true;
  });
  gaps_.insert(std::find_if(gaps_.begin(), gaps_.end(),
                            [&joined](const Gap& gap) { return gap.first > joined.first; }),
               joined);
}

void CodeCache::slide(int n) {
  const int sinks = model_->sinks, first = sinks + n;
  if (n < 0 || (n > 0 && first > length_)) {
    throw Error("argument", "a cache of " + std::to_string(length_) + " tokens cannot drop " +
                                std::to_string(n));
  }
  if (n == 0) return;
  abandon_plan();
  const auto lock = pool_->exclusive();
  own_everything();
  const KeyShift turn(*model_, kernels_, n);
  const KeyShift* shift = model_->before_rope ? nullptr : &turn;
  drop(sinks, first, shift);
  slide_window(n, shift);
  if (front_ > first) {
    std::memmove(tags_.data() + static_cast<size_t>(sinks) * tag_stride_,
                 tags_.data() + static_cast<size_t>(first) * tag_stride_,
                 static_cast<size_t>(front_ - first) * tag_stride_);
  }
  for (Gap& gap : gaps_) gap = {std::max(gap.first - n, sinks), gap.last - n};
  std::erase_if(gaps_, [](const Gap& gap) { return gap.first >= gap.last; });
  front_ = std::max(sinks, front_ - n);
  length_ -= n;
}

void CodeCache::slide_window(int n, const KeyShift* shift) {
  const int from = std::max(front_, model_->sinks + n);
  struct Token {
    alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim];
    float received[3];
  };
  // All are read before one is written: the new slot of a token may be the old one of another.
  std::vector<Token> tokens(static_cast<size_t>(std::max(0, length_ - from)));
  for (int layer = 0; layer < model_->shape.layers; ++layer) {
    for (int head = 0; head < model_->shape.kv_heads; ++head) {
      for (int p = from; p < length_; ++p) {
        Token& t = tokens[static_cast<size_t>(p - from)];
        load(layer, head, p, t.k, t.v);
        for (int i = 0; i < 3; ++i) {
          t.received[i] = received(layer, head, i)[model_->slot(p)];
        }
        if (shift) shift->apply(place_of(layer, head), t.k);
      }
      for (int p = from; p < length_; ++p) {
        const Token& t = tokens[static_cast<size_t>(p - from)];
        store(layer, head, p - n, t.k, t.v);
        for (int i = 0; i < 3; ++i) {
          received(layer, head, i)[model_->slot(p - n)] = t.received[i];
        }
      }
    }
  }
}

}  // namespace kvq
