// What the tests of the quantized cache share: a small model, made-up keys and values, and a
// stand-in for the engine that fills a cache in steps of any size.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "check.h"
#include "code_cache.h"
#include "fp16.h"
#include "kernels/cache_layout.h"

namespace kvq::test {

struct CacheSetup {
  int layers = 2, kv_heads = 3, head_dim = 64;
  std::array<int, 4> ladder{2, 3, 4, 8};
  int sinks = 4, window = 32, capacity = 400;
  size_t pool_bytes = size_t{64} << 20;
  bool before_rope = false;
};

inline std::shared_ptr<CodeModel> code_model(const CacheSetup& s) {
  auto m = std::make_shared<CodeModel>();
  m->shape = {s.layers, s.kv_heads, s.head_dim, s.capacity};
  m->ladder = s.ladder;
  m->sinks = s.sinks;
  m->window = s.window;
  m->fingerprint = 0xC0FFEE;
  m->before_rope = s.before_rope;
  Random random(7);
  const size_t n = static_cast<size_t>(m->places() * s.head_dim);
  for (size_t i = 0; i < n; ++i) {
    m->k_mean.push_back(random.uniform());
    m->v_mean.push_back(0.1f * random.uniform());
  }
  for (int i = 0; i < m->places(); ++i) {
    m->k_exponent.push_back(static_cast<int8_t>(-11 - i % 2));
    m->v_exponent.push_back(-12);
  }
  for (int i = 0; i < s.head_dim / 2; ++i) {
    m->frequencies.push_back(static_cast<float>(std::pow(10000.0, -2.0 * i / s.head_dim)));
  }
  m->check();
  return m;
}

inline const Kernels& kernels() {
  static const Kernels k = select_kernels("");
  return k;
}

inline std::shared_ptr<CellPool> pool_of(const CacheSetup& s, size_t pages) {
  return std::make_shared<CellPool>(s.head_dim, pages * CellPool::kPageBytes);
}

// With a pool of its own, if none is given.
inline CodeCache make(const CacheSetup& s, std::shared_ptr<CellPool> pool = nullptr) {
  if (!pool) pool = std::make_shared<CellPool>(s.head_dim, s.pool_bytes);
  return CodeCache(code_model(s), std::move(pool), s.capacity, kernels());
}

inline size_t cells_held(const CellPool& pool) {
  size_t n = 0;
  for (const size_t c : pool.counters().cells) n += c;
  return n;
}

inline float as_half(float x) { return fp16_to_float(float_to_fp16(x)); }

// The token stream: everything about token t of it is a function of t and the place.
struct Stream {
  const CodeModel& model;
  const Kernels& kernels;
  uint64_t seed = 1;
  int classes = kClasses;
  mutable std::vector<float> known{};

  // Cosine and sine of a position's angles, [head_dim / 2][2]; kept, as emulators compute them
  // slowly.
  const float* turns(int position) const {
    const size_t width = model.frequencies.size() * 2;
    while (known.size() <= static_cast<size_t>(position) * width) {
      const double p = static_cast<double>(known.size() / width);
      for (const float frequency : model.frequencies) {
        known.push_back(static_cast<float>(std::cos(p * static_cast<double>(frequency))));
        known.push_back(static_cast<float>(std::sin(p * static_cast<double>(frequency))));
      }
    }
    return known.data() + static_cast<size_t>(position) * width;
  }
  // Key before RoPE, and value; [head_dim], about Gaussian.
  void raw(int t, int place, float* k, float* v) const {
    Random random(seed * 1000003 + static_cast<uint64_t>(t) * 4099 + static_cast<uint64_t>(place));
    const auto gauss = [&random] { return random.uniform() + random.uniform() + random.uniform(); };
    for (int d = 0; d < model.shape.head_dim; ++d) k[d] = gauss() + 0.5f;
    for (int d = 0; d < model.shape.head_dim; ++d) v[d] = 0.3f * gauss();
  }
  // Token t as it is stored at a position, rounded to halves.
  void stored(int t, int position, int place, float* k, float* v) const {
    const int dim = model.shape.head_dim, half = dim / 2;
    raw(t, place, k, v);
    const size_t at = static_cast<size_t>(place * dim);
    const float* turn = turns(position);
    for (int i = 0; i < half && !model.before_rope; ++i) {
      const float a = k[i], b = k[half + i], c = turn[2 * i], s = turn[2 * i + 1];
      k[i] = a * c - b * s;
      k[half + i] = a * s + b * c;
    }
    for (int d = 0; d < dim; ++d) {
      k[d] -= model.k_mean[at + static_cast<size_t>(d)];
      v[d] -= model.v_mean[at + static_cast<size_t>(d)];
    }
    kernels.hadamard(k, dim);
    kernels.hadamard(v, dim);
    for (int d = 0; d < dim; ++d) k[d] = as_half(k[d]), v[d] = as_half(v[d]);
  }
  int cls(int t, int place) const {
    Random random(seed * 77 + static_cast<uint64_t>(t) * 131 + static_cast<uint64_t>(place));
    random.next();
    return random.below(classes);
  }
};

// Appends n tokens in steps of `chunk`, as the engine does: at a step's end the tokens that have
// left the window are quantized, from the window or straight from the step. Stream token = position
// + ahead.
inline void feed(CodeCache& cache, const Stream& stream, int n, int chunk, int ahead = 0) {
  const CodeModel& m = cache.model();
  alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim];
  const size_t places = static_cast<size_t>(m.places());
  while (n > 0) {
    const int step = std::min(chunk, n), before = cache.length(), after = before + step;
    const int front = std::max(cache.front(), after - m.window);
    const int leaving = front - cache.front();
    if (leaving > 0) {
      std::vector<uint8_t> classes;
      for (int p = cache.front(); p < front; ++p) {
        for (size_t i = 0; i < places; ++i) {
          classes.push_back(static_cast<uint8_t>(stream.cls(p + ahead, static_cast<int>(i))));
        }
      }
      cache.plan(leaving, classes.data());
      for (int layer = 0; layer < m.shape.layers; ++layer) {
        for (int head = 0; head < m.shape.kv_heads; ++head) {
          const int place = layer * m.shape.kv_heads + head;
          for (int p = cache.front(); p < front; ++p) {
            if (p < before) {
              cache.load(layer, head, p, k, v);
            } else {
              stream.stored(p + ahead, p, place, k, v);
            }
            const size_t at = static_cast<size_t>(p - cache.front()) * places;
            cache.append(layer, head, classes[at + static_cast<size_t>(place)], k, v);
          }
        }
      }
      cache.commit();
    }
    for (int p = before; p < after; ++p) {
      if (p >= m.sinks && p < cache.front()) continue;
      for (int layer = 0; layer < m.shape.layers; ++layer) {
        for (int head = 0; head < m.shape.kv_heads; ++head) {
          stream.stored(p + ahead, p, layer * m.shape.kv_heads + head, k, v);
          cache.store(layer, head, p, k, v);
          const int slot = m.slot(p);
          cache.mass(layer, head)[slot] = static_cast<float>(p + ahead);
          cache.peak(layer, head)[slot] = static_cast<float>(layer + head);
        }
      }
    }
    cache.set_length(std::max(after, cache.length()));
    n -= step;
  }
}

inline std::vector<int32_t> ids(const CodeCache& cache) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < cache.length(); ++i) tokens.push_back(3 * i);
  return tokens;
}
// Everything a cache holds, for comparisons.
inline std::vector<uint8_t> contents(const CodeCache& cache) { return cache.save(ids(cache)); }

// Number of (position, head)s whose stored key or value is not what quantizing stream token
// position + ahead in its class gives, exactly. Positions [first, front).
inline int wrong_tokens(const CodeCache& cache, const Stream& stream, int first, int ahead = 0) {
  const CodeModel& m = cache.model();
  const int dim = m.shape.head_dim;
  alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim], k2[kMaxHeadDim], v2[kMaxHeadDim];
  alignas(64) uint8_t codes[32 * kMaxHeadDim], scales[32];
  int wrong = 0;
  for (int layer = 0; layer < m.shape.layers; ++layer) {
    for (int head = 0; head < m.shape.kv_heads; ++head) {
      const int place = layer * m.shape.kv_heads + head;
      const auto at = static_cast<size_t>(place);
      for (int p = first; p < cache.front(); ++p) {
        if (!cache.read(layer, head, p, k, v)) continue;
        const int cls = cache.class_of(layer, head, p);
        const int kb = m.ladder[static_cast<size_t>(k_tag(cls))];
        const int vb = m.ladder[static_cast<size_t>(v_tag(cls))];
        stream.stored(p + ahead, p, place, k2, v2);
        stream.kernels.quantize_key(k2, dim, kb, m.k_exponent[at], 5, codes, scales);
        stream.kernels.dequantize_key(codes, scales, dim, kb, m.k_exponent[at], 5, k2);
        stream.kernels.quantize_value(v2, dim, vb, m.v_exponent[at], 9, codes, scales);
        stream.kernels.dequantize_value(codes, scales, dim, vb, m.v_exponent[at], 9, v2);
        if (!std::equal(k, k + dim, k2) || !std::equal(v, v + dim, v2)) ++wrong;
      }
    }
  }
  return wrong;
}

}  // namespace kvq::test
