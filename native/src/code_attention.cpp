// Decoding over quantized caches: one token for each of several sequences.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "code_work.h"
#include "engine.h"
#include "engine_step.h"

namespace kvq {
namespace {

// What a block costs, in units of about a nanosecond; only the proportions matter.
constexpr int kBlockCost = 50, kBitCost = 5;
constexpr int kHalfBlockCost = kBlockCost + 32 * kBitCost, kHeadCost = 150;
constexpr int kTurnCost = 300;

int turn_cost(const CodeModel& m) { return m.before_rope ? kTurnCost : 0; }

int block_cost(const CodeModel& m, int cls) {
  return kBlockCost + turn_cost(m) +
         kBitCost * (m.ladder[static_cast<size_t>(k_tag(cls))] +
                     m.ladder[static_cast<size_t>(v_tag(cls))]);
}

// Of what comes before the first block: the window.
int start_cost(const CodeModel& m) {
  return kHeadCost + m.window_blocks() * (kHalfBlockCost + turn_cost(m));
}

int blocks_of(int tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

}  // namespace

namespace {

// The blocks of one unit.
struct UnitBlocks {
  CodeList lists[kClasses];
  int n_lists = 0;
};

// Fetches what attention reads first; what comes after that it fetches itself. Inlined by force: a
// call of what only fetches looks to a compiler like one without effect.
__attribute__((always_inline)) inline void fetch_first(const UnitBlocks& unit, int dim) {
  constexpr int kFirstBlocks = 20;
  const auto fetch = [dim](const uint8_t* codes, const uint8_t* scales, int bits)
                         __attribute__((always_inline)) {
                           for (int i = 0; i < 2 * dim * bits; i += 64)
                             __builtin_prefetch(codes + i);
                           if (bits != 16) __builtin_prefetch(scales);
                         };
  int left = kFirstBlocks;
  for (int l = 0; l < unit.n_lists && left > 0; ++l) {
    const CodeList& list = unit.lists[l];
    const int n = std::min(left, blocks_of(list.n_tokens));
    left -= n;
    for (int b = 0; b < n; ++b) {
      fetch(list.blocks[b].k_codes, list.blocks[b].k_scales, list.k_bits);
      fetch(list.blocks[b].v_codes, list.blocks[b].v_scales, list.v_bits);
    }
  }
}

}  // namespace

// Into the space of the keys, as attention reads them.
void Engine::rotate_query(float* q, const float* angles) const {
  const int dim = model_->hyper().head_dim;
  rotate(q, angles, 1.0f / std::sqrt(static_cast<float>(dim)));
  if (!quantization_->model->before_rope) kernels_.hadamard(q, dim);
}

// A key as the model gives it, and a value, into the space in which they are stored.
void Engine::transform(float* key, const float* angles, float* value, int place) const {
  const CodeModel& m = *quantization_->model;
  if (!m.before_rope) rotate(key, angles, 1.0f);
  const int dim = m.shape.head_dim;
  const float* k_mean = m.k_mean.data() + place * dim;
  const float* v_mean = m.v_mean.data() + place * dim;
  for (int d = 0; d < dim; ++d) {
    key[d] -= k_mean[d];
    value[d] -= v_mean[d];
  }
  kernels_.hadamard(key, dim);
  kernels_.hadamard(value, dim);
}

// A weighted sum of values out of it again.
void Engine::transform_back(float* out, const Row& row, int layer, int head) const {
  const CodeModel& m = row.codes->cache().model();
  const int dim = m.shape.head_dim;
  const float* mean = m.v_mean.data() + (layer * m.shape.kv_heads + head) * dim;
  kernels_.hadamard(out, dim);
  for (int d = 0; d < dim; ++d) out[d] += mean[d];
}

// Features of a token that are at hand only when it is stored. to: [places][2]
void Engine::note_lengths(float* to, int place, const float* key, const float* value) const {
  if (!quantization_->controller) return;
  const int dim = model_->hyper().head_dim;
  to[2 * place] = length_as_halves(key, dim);
  to[2 * place + 1] = length_as_halves(value, dim);
}

// Prepares a row's queries in place; its keys and values go into the window, or wait with those of
// the rest of the prompt.
void Engine::store_codes(const Step& step, int r, int layer) {
  const Hyper& h = model_->hyper();
  const Row& row = rows_[static_cast<size_t>(r)];
  const int dim = h.head_dim;
  const float* angles = angles_ + static_cast<size_t>(r) * h.head_dim;
  float* q = qkv_ + static_cast<size_t>(r) * static_cast<size_t>(h.q_rows() + 2 * h.kv_rows());
  for (int i = 0; i < h.heads; ++i) rotate_query(q + i * dim, angles);
  float* k = q + h.q_rows();
  float* v = k + h.kv_rows();
  for (int i = 0; i < h.kv_heads; ++i, k += dim, v += dim) {
    const int place = layer * h.kv_heads + i;
    transform(k, angles, v, place);
    note_lengths(step.staged ? work_->lengths(r) : row.codes->lengths(row.position), place, k, v);
    if (!step.staged) {
      row.codes->cache().store(layer, i, row.position, k, v);
      continue;
    }
    const int block = r / kBlockTokens * kBlockTokens * dim, lane = r % kBlockTokens;
    auto* keys = reinterpret_cast<uint8_t*>(work_->staged_keys(place) + block);
    auto* values = reinterpret_cast<uint8_t*>(work_->staged_values(place) + block);
    kernels_.quantize_key(k, dim, 16, 0, lane, keys, nullptr);
    kernels_.quantize_value(v, dim, 16, 0, lane, values, nullptr);
  }
}

int Engine::head_cost(const Row& row, int layer, int head) const {
  if (row.cache) return (row.position / kBlockTokens + 1) * kHalfBlockCost;
  const CodeCache& cache = row.codes->cache();
  const CodeModel& m = cache.model();
  int cost = start_cost(m);
  for (int c = 0; c < kClasses; ++c) {
    cost += blocks_of(cache.tokens(layer, head, c)) * block_cost(m, c);
  }
  return cost;
}

// The blocks, counted over all classes of a head, with which its units begin, and the end of the
// last one: units cost the same.
void Engine::cut_head(const Row& row, int layer, int head, int* cuts) const {
  const CodeCache& cache = row.codes->cache();
  const CodeModel& m = cache.model();
  const int64_t total = head_cost(row, layer, head);
  const int n_units = chunks(row);
  int64_t before = start_cost(m);
  int block = 0, unit = 0;
  for (int c = 0; c < kClasses; ++c) {
    const int n = blocks_of(cache.tokens(layer, head, c)), cost = block_cost(m, c);
    for (; unit < n_units; ++unit) {
      const int64_t target = total * unit / n_units;
      if (target > before + int64_t{n} * cost) break;
      const int64_t inside = std::max<int64_t>(0, (target - before + cost / 2) / cost);
      cuts[unit] = block + static_cast<int>(inside);
    }
    before += int64_t{n} * cost;
    block += n;
  }
  for (; unit <= n_units; ++unit) cuts[unit] = block;
}

// A thread's units of all rows and groups; those of one head count as equal.
Range Engine::share_by_cost(const Step& step, int thread, int layer) const {
  const int n_groups = static_cast<int>(groups_.size());
  int* costs = work_->costs(thread);
  int64_t total = 0;
  for (int r = 0; r < step.rows; ++r) {
    for (int g = 0; g < n_groups; ++g) {
      const int head = groups_[static_cast<size_t>(g)].kv_head;
      costs[r * n_groups + g] = head_cost(rows_[static_cast<size_t>(r)], layer, head);
      total += costs[r * n_groups + g];
    }
  }
  const auto unit_at = [&](int64_t target) {
    int64_t before = 0;
    int first = 0;
    for (int r = 0; r < step.rows; ++r) {
      const int n = chunks(rows_[static_cast<size_t>(r)]);
      for (int g = 0; g < n_groups; ++g, first += n) {
        const int64_t cost = costs[r * n_groups + g];
        if (target < before + cost) {
          return first + static_cast<int>(((target - before) * n + cost / 2) / cost);
        }
        before += cost;
      }
    }
    return first;
  };
  return {unit_at(total * thread / pool_.active()), unit_at(total * (thread + 1) / pool_.active())};
}

// Units [units.begin, units.end) of one row and group, whose first one is `first`: that one has the
// window too, and with it the newest token.
void Engine::attend_codes(const Step& step, int thread, int layer, int r, int g, int first,
                          Range units) {
  const Hyper& h = model_->hyper();
  const Row& row = rows_[static_cast<size_t>(r)];
  const HeadGroup& group = groups_[static_cast<size_t>(g)];
  CodeCache& cache = row.codes->cache();
  const int dim = h.head_dim, head = group.kv_head;
  const size_t size = static_cast<size_t>(dim) * static_cast<size_t>(group.count);
  const float* angles = angles_ + static_cast<size_t>(r) * h.head_dim;
  float* qkv = qkv_ + static_cast<size_t>(r) * static_cast<size_t>(h.q_rows() + 2 * h.kv_rows());
  int cuts[kCodeUnits + 1];
  cut_head(row, layer, head, cuts);
  const int* cut = cuts - first;
  // Memory works for the next unit while this one is computed.
  UnitBlocks blocks[2];
  const auto look_up = [&](int u) {
    UnitBlocks& to = blocks[u % 2];
    const int begin = u < units.end ? cut[u] : 0, n = u < units.end ? cut[u + 1] - begin : 0;
    CodeBlock* out = work_->blocks(thread) + (begin - cut[units.begin]);
    to.n_lists = n > 0 ? cache.blocks(layer, head, begin, n, out, to.lists) : 0;
  };
  look_up(units.begin);
  fetch_first(blocks[units.begin % 2], dim);
  alignas(64) float queries[kMaxQueries * kMaxHeadDim];
  std::memcpy(queries, qkv + group.first * dim, sizeof(float) * size);
  if (step.fused_store) {
    for (int i = 0; i < group.count; ++i) rotate_query(queries + i * dim, angles);
  }
  CodeQueries prepared;
  kernels_.prepare_queries(queries, group.count, dim, &prepared);
  const bool before_rope = cache.model().before_rope;
  const KeyTurner turner{kernels_, cache.model(), turns_,
                         static_cast<size_t>(layer * h.kv_heads + head)};
  if (before_rope) cache.positions(layer, head, work_->token_positions(thread));
  for (int u = units.begin; u < units.end; ++u) {
    AttendState* state = partial_state_ + static_cast<size_t>(u) * kMaxQueries;
    float* o = partial_ + static_cast<size_t>(u) * kMaxQueries * static_cast<size_t>(dim);
    std::fill(state, state + group.count,
              AttendState{-std::numeric_limits<float>::infinity(), 0.0f});
    std::memset(o, 0, sizeof(float) * size);
    if (u == first) {
      if (step.fused_store) {
        float* k = qkv + h.q_rows() + head * dim;
        transform(k, angles, k + h.kv_rows(), layer * h.kv_heads + head);
        cache.store(layer, head, row.position, k, k + h.kv_rows());
        note_lengths(row.codes->lengths(row.position), layer * h.kv_heads + head, k,
                     k + h.kv_rows());
      }
      uint16_t lanes[kMaxWindowBlocks];
      int visible[kMaxQueries];
      std::fill(visible, visible + group.count, work_->slots);
      cache.window_lanes(row.position + 1, lanes);
      const int window_blocks = cache.model().window_blocks();
      const uint16_t* const* keys = cache.k_window(layer, head);
      const uint16_t* turned[kMaxWindowBlocks];
      if (before_rope) {
        int32_t* positions = work_->slot_positions(thread);
        cache.window_positions(row.position + 1, positions);
        turner.turn(keys, window_blocks, positions, work_->turned_window(thread), turned);
        keys = turned;
      }
      kernels_.attend_window(queries, group.count, dim, keys, cache.v_window(layer, head),
                             window_blocks, lanes, visible, state, o, work_->scores(r, g));
    }
    look_up(u + 1);
    const UnitBlocks &mine = blocks[u % 2], &next = blocks[(u + 1) % 2];
    if (before_rope) {
      TurnedLists turned(turner, mine.lists, mine.n_lists,
                         work_->token_positions(thread) + cut[u] * kBlockTokens,
                         work_->turned_keys(thread));
      while (const int n = turned.next()) {
        kernels_.attend_codes(prepared, turned.lists(), n, state, o);
      }
      continue;
    }
    prepared.ahead = next.lists;
    prepared.n_ahead = next.n_lists;
    if (mine.n_lists > 0) kernels_.attend_codes(prepared, mine.lists, mine.n_lists, state, o);
  }
}

// What the tokens of the window got from one group of queries. joined: the largest score of each
// query, and the inverse of its sum of weights. When all threads join everything, one of them
// notes.
void Engine::note_received(const Step& step, int thread, int layer, int r, int g,
                           const AttendState* joined) const {
  if (!quantization_->controller) return;
  const Hyper& h = model_->hyper();
  const HeadGroup& group = groups_[static_cast<size_t>(g)];
  if (!step.shared && (r * h.kv_heads + group.kv_head) % pool_.active() != thread) return;
  float* weights = work_->weights(layer * h.kv_heads + group.kv_head, r);
  if (group.first == group.kv_head * (h.heads / h.kv_heads)) {
    std::fill(weights, weights + work_->slots, 0.0f);
  }
  const float* scores = work_->scores(r, g);
  for (int i = 0; i < group.count; ++i) {
    kernels_.add_weights(scores + i * work_->slots, work_->slots, joined[i].max, joined[i].total,
                         weights);
  }
}

}  // namespace kvq
