// Attention of a prompt over a quantized cache.
#include <algorithm>
#include <cstring>
#include <limits>

#include "code_work.h"
#include "engine.h"
#include "engine_step.h"

namespace kvq {

// Says which slot holds which position, for a prompt that is about to be computed.
void Engine::locate_window() {
  const CodeModel& m = *quantization_->model;
  const Row& row = rows_[0];
  int* positions = work_->positions();
  std::fill(positions, positions + work_->slots, std::numeric_limits<int>::min() / 4);
  for (int p = std::max(row.codes->cache().front(), m.sinks); p < row.position; ++p) {
    positions[m.slot(p)] = p;
  }
  for (int r = 0; r < kCodeRows; ++r) positions[work_->slots + r] = row.position + r;
}

// Queries of rows [row0, row1) one behind the other; how many there are.
int Engine::gather_queries(const HeadGroup& group, int row0, int row1, float* queries) const {
  const Hyper& h = model_->hyper();
  const size_t stride = static_cast<size_t>(h.q_rows() + 2 * h.kv_rows());
  const size_t size = static_cast<size_t>(group.count * h.head_dim);
  for (int r = row0; r < row1; ++r, queries += size) {
    std::memcpy(queries, qkv_ + static_cast<size_t>(r) * stride + group.first * h.head_dim,
                sizeof(float) * size);
  }
  return (row1 - row0) * group.count;
}

// The quantized tokens of one head, whose keys are stored before RoPE, for all rows of a thread: a
// run of keys is turned once. Leaves each span's softmax in partial_.
void Engine::attend_turned(const Step& step, int thread, int layer, const HeadGroup& group,
                           const CodeList* lists, int n_lists) {
  const Hyper& h = model_->hyper();
  const int dim = h.head_dim, together = std::max(1, kMaxQueries / groups_[0].count);
  const int spans = (step.rows + together - 1) / together;
  const CodeCache& cache = rows_[0].codes->cache();
  for (int span = thread; span < spans; span += pool_.active()) {
    AttendState* state = partial_state_ + span * kMaxQueries;
    std::fill(state, state + kMaxQueries,
              AttendState{-std::numeric_limits<float>::infinity(), 0.0f});
    std::memset(partial_ + span * kMaxQueries * dim, 0,
                sizeof(float) * static_cast<size_t>(kMaxQueries * dim));
  }
  if (n_lists == 0 || thread >= spans) return;
  cache.positions(layer, group.kv_head, work_->token_positions(thread));
  const KeyTurner turner{kernels_, cache.model(), turns_,
                         static_cast<size_t>(layer * h.kv_heads + group.kv_head)};
  TurnedLists turned(turner, lists, n_lists, work_->token_positions(thread),
                     work_->turned_keys(thread));
  alignas(64) float queries[kMaxQueries * kMaxHeadDim];
  CodeQueries prepared;
  while (const int n_turned = turned.next()) {
    for (int span = thread; span < spans; span += pool_.active()) {
      const int row0 = span * together, row1 = std::min(step.rows, row0 + together);
      const int n = gather_queries(group, row0, row1, queries);
      kernels_.prepare_queries(queries, n, dim, &prepared);
      kernels_.attend_codes(prepared, turned.lists(), n_turned, partial_state_ + span * kMaxQueries,
                            partial_ + span * kMaxQueries * dim);
    }
  }
}

// A row sees all quantized tokens, the window, and the prompt's rows up to itself, which wait as
// halves. Units are (group of heads, a few neighbouring rows).
void Engine::attend_code_prefill(const Step& step, int thread, int layer) {
  const Hyper& h = model_->hyper();
  const int dim = h.head_dim, n_groups = static_cast<int>(groups_.size());
  const int together = std::max(1, kMaxQueries / groups_[0].count);
  const int spans = (step.rows + together - 1) / together;
  const Row& sequence = rows_[0];
  CodeCache& cache = sequence.codes->cache();
  const int window_blocks = cache.model().window_blocks();
  alignas(64) float queries[kMaxQueries * kMaxHeadDim];
  alignas(64) float own_o[kMaxQueries * kMaxHeadDim];
  AttendState own_state[kMaxQueries];
  const bool before_rope = cache.model().before_rope;
  uint16_t lanes[kMaxWindowBlocks + kStagedBlocks];
  cache.window_lanes(sequence.position, lanes);
  std::fill(lanes + window_blocks, lanes + window_blocks + kStagedBlocks, uint16_t{0xFFFF});
  int32_t* positions = before_rope ? work_->slot_positions(thread) : nullptr;
  if (before_rope) {
    cache.window_positions(sequence.position, positions);
    for (int r = 0; r < kCodeRows; ++r) {
      positions[work_->slots + r] = r < step.rows ? sequence.position + r : 0;
    }
  }
  for (int g = 0; g < n_groups; ++g) {
    const HeadGroup& group = groups_[static_cast<size_t>(g)];
    const int place = layer * h.kv_heads + group.kv_head;
    CodeList lists[kClasses];
    const int n_lists = cache.blocks(layer, group.kv_head, 0, cache.blocks(layer, group.kv_head),
                                     work_->blocks(thread), lists);
    const uint16_t* k_blocks[kMaxWindowBlocks + kStagedBlocks];
    const uint16_t* v_blocks[kMaxWindowBlocks + kStagedBlocks];
    std::copy_n(cache.k_window(layer, group.kv_head), window_blocks, k_blocks);
    std::copy_n(cache.v_window(layer, group.kv_head), window_blocks, v_blocks);
    for (int b = 0; b < kStagedBlocks; ++b) {
      k_blocks[window_blocks + b] = work_->staged_keys(place) + b * kBlockTokens * dim;
      v_blocks[window_blocks + b] = work_->staged_values(place) + b * kBlockTokens * dim;
    }
    if (before_rope) {
      const KeyTurner turner{kernels_, cache.model(), turns_, static_cast<size_t>(place)};
      turner.turn(k_blocks, window_blocks + (step.rows - 1) / kBlockTokens + 1, positions,
                  work_->turned_window(thread), k_blocks);
      attend_turned(step, thread, layer, group, lists, n_lists);
    }
    for (int span = thread; span < spans; span += pool_.active()) {
      const int row0 = span * together, row1 = std::min(step.rows, row0 + together);
      const int n_blocks = window_blocks + (row1 - 1) / kBlockTokens + 1;
      int n = gather_queries(group, row0, row1, queries);
      int visible[kMaxQueries];
      for (int i = 0; i < n; ++i) visible[i] = work_->slots + row0 + i / group.count + 1;
      AttendState* state = before_rope ? partial_state_ + span * kMaxQueries : own_state;
      float* o = before_rope ? partial_ + span * kMaxQueries * dim : own_o;
      if (!before_rope) {
        std::fill(state, state + n, AttendState{-std::numeric_limits<float>::infinity(), 0.0f});
        std::memset(o, 0, sizeof(float) * static_cast<size_t>(n * dim));
      }
      if (n_lists > 0 && !before_rope) {
        CodeQueries prepared;
        kernels_.prepare_queries(queries, n, dim, &prepared);
        if (span + pool_.active() < spans) {
          prepared.ahead = lists;
          prepared.n_ahead = n_lists;
        }
        kernels_.attend_codes(prepared, lists, n_lists, state, o);
      }
      float* scores = work_->own_scores(thread);
      kernels_.attend_window(queries, n, dim, k_blocks, v_blocks, n_blocks, lanes, visible, state,
                             o, scores);
      n = 0;
      for (int r = row0; r < row1; ++r) {
        float* out = attended_ + static_cast<size_t>(r) * h.q_rows() + group.first * dim;
        float* weights = work_->row_weights(r, g);
        std::fill(weights, weights + work_->all_slots, 0.0f);
        for (int i = 0; i < group.count; ++i, ++n, out += dim) {
          const float inverse = state[n].total > 0.0f ? 1.0f / state[n].total : 0.0f;
          for (int d = 0; d < dim; ++d) out[d] = o[n * dim + d] * inverse;
          transform_back(out, sequence, layer, group.kv_head);
          if (!quantization_->controller) continue;
          const int n_scores = n_blocks * kBlockTokens;
          kernels_.add_weights(scores + n * n_scores, n_scores, state[n].max, inverse, weights);
        }
      }
    }
  }
}

// Adds up what each token of the window and of the prompt got from the rows that have it in theirs.
void Engine::add_up_received(const Step& step, int thread, int layer) {
  if (!quantization_->controller) return;
  const Hyper& h = model_->hyper();
  const int window = quantization_->model->window, n_groups = static_cast<int>(groups_.size());
  const int pieces = work_->all_slots / kBlockTokens;
  const Range mine = share(h.kv_heads * pieces, thread, pool_.active());
  for (int unit = mine.begin; unit < mine.end; ++unit) {
    const int head = unit / pieces, slot = unit % pieces * kBlockTokens;
    const int* positions = work_->positions() + slot;
    const Received to = work_->received(layer * h.kv_heads + head);
    float mass[kBlockTokens] = {}, late[kBlockTokens] = {}, peak[kBlockTokens] = {};
    for (int r = 0; r < step.rows; ++r) {
      const int position = rows_[static_cast<size_t>(r)].position;
      float weights[kBlockTokens] = {};
      for (int g = 0; g < n_groups; ++g) {
        if (groups_[static_cast<size_t>(g)].kv_head != head) continue;
        const float* from = work_->row_weights(r, g) + slot;
        for (int t = 0; t < kBlockTokens; ++t) weights[t] += from[t];
      }
      for (int t = 0; t < kBlockTokens; ++t) {
        const int distance = position - positions[t];
        const float w = distance >= 1 && distance <= window ? weights[t] : 0.0f;
        mass[t] += w;
        late[t] += 2 * distance > window ? w : 0.0f;
        peak[t] = std::max(peak[t], w);
      }
    }
    std::copy(mass, mass + kBlockTokens, to.mass + slot);
    std::copy(late, late + kBlockTokens, to.late + slot);
    std::copy(peak, peak + kBlockTokens, to.peak + slot);
  }
}

}  // namespace kvq
