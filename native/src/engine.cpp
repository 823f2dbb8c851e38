#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "error.h"

namespace kvq {
namespace {

constexpr int kPrivateRows = 2;     // up to so many rows, every thread prepares all inputs itself
constexpr int kTileThreshold = 16;  // rows from which on a matrix unit pays
constexpr int kGroupQueries = 6;

struct Range {
  int begin, end;
};

Range share(int n, int thread, int threads) {
  return {static_cast<int>(static_cast<int64_t>(n) * thread / threads),
          static_cast<int>(static_cast<int64_t>(n) * (thread + 1) / threads)};
}

size_t padded(size_t n) { return (n + 63) / 64 * 64; }

size_t activation_bytes(int cols, int rows, bool tiles) {
  const size_t groups = static_cast<size_t>(cols / kGroup), n = static_cast<size_t>(rows);
  const size_t bf16 = tiles ? 2 * static_cast<size_t>(cols) * ((n + 31) / 32 * 32) : 0;
  return padded(n * groups * 64) + 3 * padded(n * groups * 4) + padded(bf16);
}

}  // namespace

// One step's plan, the same for all threads.
struct Engine::Step {
  int rows;
  bool batch;        // rows belong to different sequences: the cache is split among threads
  bool fused_store;  // the thread that attends to the newest token also writes it
  bool shared;       // inputs are prepared once, split by rows, instead of by every thread
  bool tiles;
  int logit_rows;
  const Wanted* wanted;
  float* hidden;
  const StopCheck* stop;
};

Engine::Engine(const Gguf& file, int threads, const std::string& isa)
    : kernels_(select_kernels(isa)), pool_(threads) {
  model_ = std::make_unique<Model>(file, pool_);
  const Hyper& h = model_->hyper();
  const int repeat = h.heads / h.kv_heads;
  for (int kv = 0; kv < h.kv_heads; ++kv) {
    for (int i = 0; i < repeat; i += kGroupQueries) {
      groups_.push_back({kv, kv * repeat + i, std::min(kGroupQueries, repeat - i)});
    }
  }
  for (int i = 0; i < h.head_dim / 2; ++i) {
    frequencies_.push_back(static_cast<float>(
        1.0 / std::pow(static_cast<double>(h.rope_theta), 2.0 * i / h.head_dim)));
  }
  rows_.resize(kMaxRows);
  allocate(h.context);
}

CacheShape Engine::cache_shape(int capacity) const {
  const Hyper& h = model_->hyper();
  return {h.layers, h.kv_heads, h.head_dim, capacity};
}

// Tokens of a cache are split into at least 8 parts, as far as whole blocks allow, and a part has
// at most 256. It depends on the length alone, so the number of threads does not change a result.
int Engine::chunk_blocks(int position) const {
  const int blocks = position / kBlockTokens + 1;
  return std::clamp((blocks + 7) / 8, 1, 16);
}

int Engine::chunks(int position) const {
  const int blocks = position / kBlockTokens + 1, per = chunk_blocks(position);
  return (blocks + per - 1) / per;
}

void Engine::allocate(int max_context) {
  const Hyper& h = model_->hyper();
  const int widest = std::max({h.hidden, h.ffn, h.q_rows()});
  const size_t rows = kMaxRows, threads = static_cast<size_t>(pool_.size());
  max_units_ = kMaxBatch * static_cast<int>(groups_.size()) *
               std::max(8, max_context / (16 * kBlockTokens) + 1);
  const size_t shared_codes = activation_bytes(widest, kMaxRows, uses_tiles());
  const size_t private_codes = activation_bytes(widest, kPrivateRows, false);
  const size_t q = static_cast<size_t>(h.q_rows()), kv = static_cast<size_t>(h.kv_rows());
  const size_t hidden = static_cast<size_t>(h.hidden), ffn = static_cast<size_t>(h.ffn);
  const size_t wide = static_cast<size_t>(widest), dim = static_cast<size_t>(h.head_dim);
  const size_t units = static_cast<size_t>(max_units_);
  // Two rounds: the first adds up, the second hands out.
  for (int round = 0; round < 2; ++round) {
    size_t at = 0;
    const auto floats = [&](size_t n) {
      float* p = round == 0 ? nullptr : memory_.as<float>(at);
      at += padded(n * sizeof(float));
      return p;
    };
    x_ = floats(rows * hidden);
    normed_ = floats(rows * std::max(hidden, q));
    qkv_ = floats(rows * (q + 2 * kv));
    attended_ = floats(rows * q);
    ffn_ = floats(rows * ffn);
    up_ = floats(rows * ffn);
    out_ = floats(rows * hidden);
    angles_ = floats(rows * dim);
    head_in_ = floats(rows * hidden);
    partial_ = floats(units * kMaxQueries * dim);
    partial_state_ = reinterpret_cast<AttendState*>(floats(units * kMaxQueries * 2));
    codes_ = reinterpret_cast<uint8_t*>(floats(shared_codes / sizeof(float)));
    private_codes_.clear();
    private_values_.clear();
    panels_.clear();
    for (size_t t = 0; t < threads; ++t) {
      private_codes_.push_back(reinterpret_cast<uint8_t*>(floats(private_codes / sizeof(float))));
      private_values_.push_back(
          floats(kPrivateRows * wide + static_cast<size_t>(kMaxQueries) * dim));
      panels_.push_back(uses_tiles() ? reinterpret_cast<uint16_t*>(floats(16 * wide)) : nullptr);
    }
    if (round == 0) memory_ = Buffer(at);
  }
}

Activations Engine::activations(uint8_t* memory, float* values, int cols, int rows) const {
  const size_t groups = static_cast<size_t>(cols / kGroup), n = static_cast<size_t>(rows);
  const size_t words = padded(n * groups * 4);
  Activations x;
  x.codes = reinterpret_cast<int8_t*>(memory);
  memory += padded(n * groups * 64);
  x.scale = reinterpret_cast<float*>(memory);
  x.sum = reinterpret_cast<float*>(memory + words);
  x.code_sum = reinterpret_cast<int32_t*>(memory + 2 * words);
  x.bf16 = reinterpret_cast<uint16_t*>(memory + 3 * words);
  x.values = values;
  x.groups = static_cast<int>(groups);
  return x;
}

void Engine::prefill(KvCache& cache, const int32_t* tokens, int n, const Wanted& wanted,
                     const StopCheck& stop) {
  const std::lock_guard lock(mutex_);
  const int room = cache.shape().capacity - cache.length();
  if (n > room) {
    throw Error("context", "the context is full: " + std::to_string(n) +
                               " tokens do not fit into " + std::to_string(room));
  }
  for (int done = 0; done < n;) {
    const int rows = std::min(prefill_rows(), n - done);
    const int first = cache.length();
    cache.reserve(first + rows);
    for (int i = 0; i < rows; ++i)
      rows_[static_cast<size_t>(i)] = {&cache, tokens[done + i], first + i};
    // Logits are wanted of the last tokens only; this chunk may hold some, all or none of them.
    const int before = std::max(0, n - wanted.logit_rows - done);
    const int logit_rows = std::max(0, rows - before);
    Wanted part = wanted;
    if (logit_rows > 0) {
      const int written = std::max(0, done - (n - wanted.logit_rows));
      part.logits = wanted.logits + static_cast<size_t>(written) * logit_stride();
    }
    float* hidden = wanted.hidden ? wanted.hidden + static_cast<size_t>(done) *
                                                        static_cast<size_t>(model_->hyper().hidden)
                                  : nullptr;
    run(rows, rows == 1, logit_rows, part, hidden, stop);
    cache.set_length(first + rows);
    done += rows;
  }
}

void Engine::decode(KvCache* const* caches, const int32_t* tokens, int n, const Wanted& wanted,
                    const StopCheck& stop) {
  const std::lock_guard lock(mutex_);
  if (n < 1 || n > kMaxBatch) {
    throw Error("argument", "a step takes 1 to " + std::to_string(kMaxBatch) + " sequences");
  }
  for (int i = 0; i < n; ++i) {
    if (caches[i]->length() >= caches[i]->shape().capacity) {
      throw Error("context", "the context is full");
    }
    for (int j = 0; j < i; ++j) {
      if (caches[i] == caches[j]) throw Error("argument", "a sequence appears twice in one step");
    }
  }
  for (int i = 0; i < n; ++i) {
    caches[i]->reserve(caches[i]->length() + 1);
    rows_[static_cast<size_t>(i)] = {caches[i], tokens[i], caches[i]->length()};
  }
  run(n, true, wanted.logits ? n : 0, wanted, wanted.hidden, stop);
  for (int i = 0; i < n; ++i) caches[i]->set_length(caches[i]->length() + 1);
}

void Engine::run(int n_rows, bool batch, int logit_rows, const Wanted& wanted, float* hidden,
                 const StopCheck& stop) {
  const Hyper& h = model_->hyper();
  for (int i = 0; i < n_rows; ++i) {
    const int32_t token = rows_[static_cast<size_t>(i)].token;
    if (token < 0 || token >= h.vocab) {
      throw Error("argument", "token " + std::to_string(token) + " is outside the vocabulary");
    }
  }
  const bool fused = batch && h.heads / h.kv_heads <= kGroupQueries;
  const Step step{n_rows,
                  batch,
                  fused,
                  n_rows > kPrivateRows,
                  uses_tiles() && n_rows >= kTileThreshold,
                  logit_rows,
                  &wanted,
                  hidden,
                  &stop};
  stopped_.store(false, std::memory_order_relaxed);
  Pace& pace = batch ? decode_pace_ : prefill_pace_;
  const int active = pace.threads(pool_.size());
  pool_.set_active(active);
  const auto start = std::chrono::steady_clock::now();
  pool_.run([&](int thread) { forward(step, thread); });
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  pace.note(active, spent.count(), pool_.slept(), n_rows);
  if (stopped_.load(std::memory_order_relaxed)) throw Error("cancelled", "the step was cancelled");
}

void Engine::forward(const Step& step, int thread) {
  const Hyper& h = model_->hyper();
  const Range mine = share(step.rows, thread, pool_.active());
  const int half = h.head_dim / 2;
  for (int r = mine.begin; r < mine.end; ++r) {
    const Row& row = rows_[static_cast<size_t>(r)];
    unpack_row(model_->embedding(), row.token, x_ + static_cast<size_t>(r) * h.hidden);
    float* angles = angles_ + static_cast<size_t>(r) * h.head_dim;
    for (int i = 0; i < half; ++i) {
      const float angle = static_cast<float>(row.position) * frequencies_[static_cast<size_t>(i)];
      angles[i] = std::cos(angle);
      angles[half + i] = std::sin(angle);
    }
  }
  pool_.barrier(thread);
  for (int i = 0; i < h.layers; ++i) {
    if (!layer(step, thread, i)) return;
  }
  finish(step, thread);
}

// Inputs of rows [begin, end): floats to what the matrix kernels read.
void Engine::prepare(const Step& step, const Activations& x, int begin, int end) const {
  const auto convert = step.tiles ? kernels_.round_bf16 : kernels_.quantize;
  for (int r = begin; r < end; ++r) convert(x, r);
}

void Engine::multiply_tiles(const Step& step, const PackedMatrix& w, const Activations& x,
                            int tile0, int tile1, int thread, float* out, size_t stride) const {
  if (step.tiles) {
    kernels_.gemm_bf16(w, tile0, tile1, x, 0, step.rows, out, stride,
                       panels_[static_cast<size_t>(thread)]);
  } else {
    kernels_.gemm(w, tile0, tile1, x, 0, step.rows, out, stride);
  }
}

void Engine::multiply(const Step& step, const PackedMatrix& w, const Activations& x, int thread,
                      float* out, size_t stride) const {
  const Range mine = share(w.tiles(), thread, pool_.active());
  multiply_tiles(step, w, x, mine.begin, mine.end, thread, out, stride);
}

// x += w * input, each thread for its own rows of w.
void Engine::add_output(const Step& step, const PackedMatrix& w, const Activations& x, int thread) {
  const size_t hidden = static_cast<size_t>(model_->hyper().hidden);
  const Range mine = share(w.tiles(), thread, pool_.active());
  multiply_tiles(step, w, x, mine.begin, mine.end, thread, out_, hidden);
  const size_t begin = static_cast<size_t>(mine.begin) * kTileRows;
  const size_t end = static_cast<size_t>(mine.end) * kTileRows;
  for (size_t r = 0; r < static_cast<size_t>(step.rows); ++r) {
    float* x_row = x_ + r * hidden;
    const float* out = out_ + r * hidden;
    for (size_t i = begin; i < end; ++i) x_row[i] += out[i];
  }
}

// False when the step was stopped; then all threads return it for the same layer.
bool Engine::layer(const Step& step, int thread, int index) {
  const Hyper& h = model_->hyper();
  const Layer& l = model_->layers()[static_cast<size_t>(index)];
  const size_t self = static_cast<size_t>(thread);
  const Range mine = step.shared ? share(step.rows, thread, pool_.active()) : Range{0, step.rows};
  const size_t q = static_cast<size_t>(h.q_rows()), kv = static_cast<size_t>(h.kv_rows());
  const size_t hidden = static_cast<size_t>(h.hidden), ffn = static_cast<size_t>(h.ffn);
  // Either one set of inputs for all, which needs a barrier before it is read, or one per thread.
  const auto inputs = [&](float* values, int cols) {
    return step.shared ? activations(codes_, values, cols, kMaxRows)
                       : activations(private_codes_[self], values, cols, kPrivateRows);
  };
  const auto prepared = [&](const Activations& x) {
    prepare(step, x, mine.begin, mine.end);
    if (step.shared) pool_.barrier(thread);
  };
  float* normed = step.shared ? normed_ : private_values_[self];
  if (thread == 0 && *step.stop && (*step.stop)()) stopped_.store(true, std::memory_order_relaxed);

  const Activations in = inputs(normed, h.hidden);
  const auto norm = [&](const float* weight) {
    for (int r = mine.begin; r < mine.end; ++r) {
      const size_t at = static_cast<size_t>(r) * hidden;
      kernels_.rms_norm(x_ + at, weight, h.rms_epsilon, h.hidden, normed + at);
    }
    prepared(in);
  };
  norm(l.attention_norm);
  const size_t stride = q + 2 * kv;
  multiply(step, l.q, in, thread, qkv_, stride);
  multiply(step, l.k, in, thread, qkv_ + q, stride);
  multiply(step, l.v, in, thread, qkv_ + q + kv, stride);
  pool_.barrier(thread);
  // Only between a layer's first two barriers can no thread be ahead and have set it for the next.
  if (stopped_.load(std::memory_order_relaxed)) return false;

  if (!step.fused_store) {
    const Range rows = share(step.rows, thread, pool_.active());
    for (int r = rows.begin; r < rows.end; ++r) store_keys(step, r, index);
    pool_.barrier(thread);
  }
  float* attended = step.shared ? attended_ : normed;
  if (step.batch) {
    attend_batch(step, thread, index);
    pool_.barrier(thread);
    for (int r = mine.begin; r < mine.end; ++r)
      combine(step, r, attended + static_cast<size_t>(r) * q);
  } else {
    attended = attended_;
    attend_prefill(step, thread, index);
    pool_.barrier(thread);
  }
  const Activations joined = inputs(attended, h.q_rows());
  prepared(joined);
  add_output(step, l.o, joined, thread);
  pool_.barrier(thread);

  norm(l.ffn_norm);
  multiply(step, l.gate, in, thread, ffn_, ffn);
  multiply(step, l.up, in, thread, up_, ffn);
  const Range tiles = share(l.gate.tiles(), thread, pool_.active());
  for (int r = 0; r < step.rows; ++r) {
    const size_t at = static_cast<size_t>(r) * ffn + static_cast<size_t>(tiles.begin) * kTileRows;
    kernels_.silu_mul(ffn_ + at, up_ + at, (tiles.end - tiles.begin) * kTileRows, ffn_ + at);
  }
  pool_.barrier(thread);

  const Activations wide = inputs(ffn_, h.ffn);
  prepared(wide);
  add_output(step, l.down, wide, thread);
  pool_.barrier(thread);
  return true;
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
void Engine::store_keys(const Step&, int r, int layer) {
  const Hyper& h = model_->hyper();
  const Row& row = rows_[static_cast<size_t>(r)];
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
  for (int r = 0; r < step.rows; ++r)
    total += n_groups * chunks(rows_[static_cast<size_t>(r)].position);
  const Range mine = share(total, thread, pool_.active());
  float* queries = private_values_[static_cast<size_t>(thread)] +
                   static_cast<size_t>(kPrivateRows * std::max({h.hidden, h.ffn, h.q_rows()}));
  const float scale = 1.0f / std::sqrt(static_cast<float>(h.head_dim));
  int first = 0;
  for (int r = 0; r < step.rows; ++r) {
    const Row& row = rows_[static_cast<size_t>(r)];
    const int n_chunks = chunks(row.position), per = chunk_blocks(row.position);
    const float* angles = angles_ + static_cast<size_t>(r) * dim;
    float* qkv = qkv_ + static_cast<size_t>(r) * static_cast<size_t>(h.q_rows() + 2 * h.kv_rows());
    for (int g = 0; g < n_groups; ++g, first += n_chunks) {
      const HeadGroup& group = groups_[static_cast<size_t>(g)];
      const int begin = std::max(mine.begin, first), end = std::min(mine.end, first + n_chunks);
      if (begin >= end) continue;
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
void Engine::combine(const Step&, int r, float* out) const {
  const Hyper& h = model_->hyper();
  const size_t dim = static_cast<size_t>(h.head_dim);
  int first = 0;
  for (int i = 0; i < r; ++i) {
    first += static_cast<int>(groups_.size()) * chunks(rows_[static_cast<size_t>(i)].position);
  }
  const int n_chunks = chunks(rows_[static_cast<size_t>(r)].position);
  for (const HeadGroup& group : groups_) {
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
    }
    first += n_chunks;
  }
}

// Units are (a few neighbouring rows, group of heads); rows of one sequence share its blocks.
void Engine::attend_prefill(const Step& step, int thread, int layer) {
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

// Final norm and LM head for the rows that want them.
void Engine::finish(const Step& step, int thread) {
  const Hyper& h = model_->hyper();
  const size_t hidden = static_cast<size_t>(h.hidden);
  const int first = step.hidden ? 0 : step.rows - step.logit_rows;
  if (first == step.rows) return;
  const Range mine = share(step.rows - first, thread, pool_.active());
  const int skipped = step.rows - step.logit_rows;
  const Activations in = activations(codes_, head_in_, h.hidden, kMaxRows);
  Step head = step;
  head.rows = step.logit_rows;
  head.tiles = uses_tiles() && head.rows >= kTileThreshold;
  for (int r = first + mine.begin; r < first + mine.end; ++r) {
    // Rows with logits come first, so that the matrix kernels see rows from 0 on.
    float* to =
        head_in_ + static_cast<size_t>(r >= skipped ? r - skipped : step.logit_rows + r) * hidden;
    kernels_.rms_norm(x_ + static_cast<size_t>(r) * hidden, model_->final_norm(), h.rms_epsilon,
                      h.hidden, to);
    if (step.hidden) {
      std::memcpy(step.hidden + static_cast<size_t>(r) * hidden, to, sizeof(float) * hidden);
    }
    if (r >= skipped) prepare(head, in, r - skipped, r - skipped + 1);
  }
  pool_.barrier(thread);
  if (head.rows == 0) return;
  const PackedMatrix& w = model_->head();
  float* logits = step.wanted->logits;
  const size_t stride = logit_stride();
  if (step.wanted->allowed == nullptr) {
    multiply(head, w, in, thread, logits, stride);
    return;
  }
  const Range tiles = share(w.tiles(), thread, pool_.active());
  const int32_t low = tiles.begin * kTileRows, high = tiles.end * kTileRows;
  for (size_t r = 0; r < static_cast<size_t>(head.rows); ++r) {
    std::fill(logits + r * stride + low, logits + r * stride + high,
              -std::numeric_limits<float>::infinity());
  }
  // Tiles with an allowed token are computed whole, then the others of the tile are forbidden
  // again. The tokens are sorted, so those of a tile are neighbours.
  for (int i = 0; i < step.wanted->n_allowed;) {
    const int tile = step.wanted->allowed[i] / kTileRows;
    unsigned lanes = 0;
    for (; i < step.wanted->n_allowed && step.wanted->allowed[i] / kTileRows == tile; ++i) {
      lanes |= 1u << (step.wanted->allowed[i] % kTileRows);
    }
    if (tile < tiles.begin || tile >= tiles.end) continue;
    multiply_tiles(head, w, in, tile, tile + 1, thread, logits, stride);
    for (size_t r = 0; r < static_cast<size_t>(head.rows); ++r) {
      for (int lane = 0; lane < kTileRows; ++lane) {
        if (lanes >> lane & 1) continue;
        logits[r * stride + static_cast<size_t>(tile * kTileRows + lane)] =
            -std::numeric_limits<float>::infinity();
      }
    }
  }
}

}  // namespace kvq
