#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine_step.h"
#include "error.h"

namespace kvq {
namespace {

size_t padded(size_t n) { return (n + 63) / 64 * 64; }

size_t activation_bytes(int cols, int rows, bool tiles) {
  const size_t groups = static_cast<size_t>(cols / kGroup), n = static_cast<size_t>(rows);
  const size_t bf16 = tiles ? 2 * static_cast<size_t>(cols) * ((n + 31) / 32 * 32) : 0;
  return padded(n * groups * 64) + 3 * padded(n * groups * 4) + padded(bf16);
}

}  // namespace

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

}  // namespace kvq
