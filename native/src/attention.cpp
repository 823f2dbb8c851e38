// Rotation, writing to the cache, and attention of one layer.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "code_work.h"
#include "engine.h"
#include "engine_step.h"

namespace kvq {

// Tokens of a cache are split into at least 8 parts, as far as whole blocks allow, and a part has
// at most 256. It depends on the length alone, so the number of threads does not change a result.
int Engine::chunk_blocks(int position) const {
  const int blocks = position / kBlockTokens + 1;
  return std::clamp((blocks + 7) / 8, 1, 16);
}

int Engine::chunks(const Row& row) const {
  const int position = row.position;
  if (row.codes) return std::clamp(position / 48, 1, kCodeUnits);
  const int blocks = position / kBlockTokens + 1, per = chunk_blocks(position);
  return (blocks + per - 1) / per;
}

// Rotates one head by its position's angles: halves (i, i + dim/2) are a pair.
void Engine::rotate(float* head, const float* angles, float scale) const {
  const int half = model_->hyper().head_dim / 2;
  for (int i = 0; i < half; ++i) {
    const float a = head[i], b = head[half + i], cosine = angles[i], sine = angles[half + i];
    head[i] = (a * cosine - b * sine) * scale;
    head[half + i] = (a * sine + b * cosine) * scale;
  }
}

// Rotates a row's queries in place, and its keys on their way into the cache.
void Engine::store_keys(const Step& step, int r, int layer) {
  const Hyper& h = model_->hyper();
  const Row& row = rows_[static_cast<size_t>(r)];
  if (row.codes) return store_codes(step, r, layer);
  const float* angles = angles_ + static_cast<size_t>(r) * h.head_dim;
  float* q = qkv_ + static_cast<size_t>(r) * static_cast<size_t>(h.q_rows() + 2 * h.kv_rows());
  const float scale = 1.0f / std::sqrt(static_cast<float>(h.head_dim));
  for (int i = 0; i < h.heads; ++i) rotate(q + i * h.head_dim, angles, scale);
  float* k = q + h.q_rows();
  float* v = k + h.kv_rows();
  for (int i = 0; i < h.kv_heads; ++i, k += h.head_dim, v += h.head_dim) {
    rotate(k, angles, 1.0f);
    row.cache->store(layer, i, row.position, k, v);
  }
}

// Units are (row, group of heads, part of the cache); each leaves a partial softmax.
void Engine::attend_batch(const Step& step, int thread, int layer) {
  const Hyper& h = model_->hyper();
  const size_t dim = static_cast<size_t>(h.head_dim);
  const int n_groups = static_cast<int>(groups_.size());
  int total = 0;
  for (int r = 0; r < step.rows; ++r) total += n_groups * chunks(rows_[static_cast<size_t>(r)]);
  const Range mine =
      step.codes ? share_by_cost(step, thread, layer) : share(total, thread, pool_.active());
  float* queries = private_values_[static_cast<size_t>(thread)] +
                   static_cast<size_t>(kPrivateRows * std::max({h.hidden, h.ffn, h.q_rows()}));
  const float scale = 1.0f / std::sqrt(static_cast<float>(h.head_dim));
  int first = 0;
  for (int r = 0; r < step.rows; ++r) {
    const Row& row = rows_[static_cast<size_t>(r)];
    const int n_chunks = chunks(row), per = chunk_blocks(row.position);
    const float* angles = angles_ + static_cast<size_t>(r) * dim;
    float* qkv = qkv_ + static_cast<size_t>(r) * static_cast<size_t>(h.q_rows() + 2 * h.kv_rows());
    for (int g = 0; g < n_groups; ++g, first += n_chunks) {
      const HeadGroup& group = groups_[static_cast<size_t>(g)];
      const int begin = std::max(mine.begin, first), end = std::min(mine.end, first + n_chunks);
      if (begin >= end) continue;
      if (row.codes) {
        attend_codes(step, thread, layer, r, g, first, {begin, end});
        continue;
      }
      const float* q = qkv + static_cast<size_t>(group.first) * dim;
      if (step.fused_store) {
        std::memcpy(queries, q, sizeof(float) * dim * static_cast<size_t>(group.count));
        for (int i = 0; i < group.count; ++i) rotate(queries + i * h.head_dim, angles, scale);
        q = queries;
        if (end == first + n_chunks) {
          // The last part of this KV head is this thread's alone, and so are its key and value.
          float* k = qkv + h.q_rows() + group.kv_head * h.head_dim;
          rotate(k, angles, 1.0f);
          row.cache->store(layer, group.kv_head, row.position, k, k + h.kv_rows());
        }
      }
      uint16_t* const* k_blocks = row.cache->k_blocks(layer, group.kv_head);
      uint16_t* const* v_blocks = row.cache->v_blocks(layer, group.kv_head);
      for (int u = begin; u < end; ++u) {
        const int block = (u - first) * per;
        const int n_blocks = std::min(per, row.position / kBlockTokens + 1 - block);
        int visible[kMaxQueries];
        AttendState* state = partial_state_ + static_cast<size_t>(u) * kMaxQueries;
        float* o = partial_ + static_cast<size_t>(u) * kMaxQueries * dim;
        for (int i = 0; i < group.count; ++i) {
          visible[i] = std::min(n_blocks * kBlockTokens, row.position + 1 - block * kBlockTokens);
          state[i] = {-std::numeric_limits<float>::infinity(), 0.0f};
        }
        std::memset(o, 0, sizeof(float) * dim * static_cast<size_t>(group.count));
        kernels_.attend(q, group.count, h.head_dim, k_blocks + block, v_blocks + block, n_blocks,
                        row.position / kBlockTokens + 1 - block - n_blocks, visible, state, o);
      }
    }
  }
}

// Joins the partial softmaxes of one row.
void Engine::combine(const Step& step, int thread, int layer, int r, float* out) const {
  const Hyper& h = model_->hyper();
  const Row& row = rows_[static_cast<size_t>(r)];
  const size_t dim = static_cast<size_t>(h.head_dim);
  int first = 0;
  for (int i = 0; i < r; ++i) {
    first += static_cast<int>(groups_.size()) * chunks(rows_[static_cast<size_t>(i)]);
  }
  const int n_chunks = chunks(row);
  for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
    const HeadGroup& group = groups_[static_cast<size_t>(g)];
    AttendState joined[kMaxQueries];
    for (int i = 0; i < group.count; ++i, out += dim) {
      const auto at = [&](int c) { return static_cast<size_t>(first + c) * kMaxQueries + i; };
      float top = -std::numeric_limits<float>::infinity();
      for (int c = 0; c < n_chunks; ++c) top = std::max(top, partial_state_[at(c)].max);
      float total = 0.0f;
      std::fill(out, out + dim, 0.0f);
      for (int c = 0; c < n_chunks; ++c) {
        const AttendState& state = partial_state_[at(c)];
        const float weight = std::exp(state.max - top);
        total += weight * state.total;
        const float* o = partial_ + at(c) * dim;
        for (size_t d = 0; d < dim; ++d) out[d] += weight * o[d];
      }
      const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
      for (size_t d = 0; d < dim; ++d) out[d] *= inverse;
      joined[i] = {top, inverse};
      if (row.codes) transform_back(out, row, layer, group.kv_head);
    }
    if (row.codes) note_received(step, thread, layer, r, g, joined);
    first += n_chunks;
  }
}

// Units are (a few neighbouring rows, group of heads); rows of one sequence share its blocks.
void Engine::attend_prefill(const Step& step, int thread, int layer) {
  if (step.staged) return attend_code_prefill(step, thread, layer);
  const Hyper& h = model_->hyper();
  const int n_groups = static_cast<int>(groups_.size()), dim = h.head_dim;
  const size_t stride = static_cast<size_t>(h.q_rows() + 2 * h.kv_rows());
  const int together = std::max(1, kGroupQueries / groups_[0].count);
  const int spans = (step.rows + together - 1) / together;
  alignas(64) float queries[kMaxQueries * kMaxHeadDim];
  alignas(64) float o[kMaxQueries * kMaxHeadDim];
  // Later rows see more tokens, so units are dealt out like cards.
  for (int unit = thread; unit < spans * n_groups; unit += pool_.active()) {
    const HeadGroup& group = groups_[static_cast<size_t>(unit % n_groups)];
    const int row0 = unit / n_groups * together;
    const int row1 = std::min(step.rows, row0 + together);
    AttendState state[kMaxQueries];
    int visible[kMaxQueries];
    int n = 0;
    for (int r = row0; r < row1; ++r) {
      for (int i = 0; i < group.count; ++i, ++n) {
        std::memcpy(queries + n * dim,
                    qkv_ + static_cast<size_t>(r) * stride + (group.first + i) * dim,
                    sizeof(float) * static_cast<size_t>(dim));
        visible[n] = rows_[static_cast<size_t>(r)].position + 1;
        state[n] = {-std::numeric_limits<float>::infinity(), 0.0f};
      }
    }
    std::memset(o, 0, sizeof(float) * static_cast<size_t>(n * dim));
    const KvCache& cache = *rows_[static_cast<size_t>(row0)].cache;
    const int n_blocks = rows_[static_cast<size_t>(row1 - 1)].position / kBlockTokens + 1;
    kernels_.attend(queries, n, dim, cache.k_blocks(layer, group.kv_head),
                    cache.v_blocks(layer, group.kv_head), n_blocks, 0, visible, state, o);
    n = 0;
    for (int r = row0; r < row1; ++r) {
      float* out = attended_ + static_cast<size_t>(r) * h.q_rows() + group.first * dim;
      for (int i = 0; i < group.count; ++i, ++n, out += dim) {
        const float inverse = state[n].total > 0.0f ? 1.0f / state[n].total : 0.0f;
        for (int d = 0; d < dim; ++d) out[d] = o[n * dim + d] * inverse;
      }
    }
  }
}

}  // namespace kvq
