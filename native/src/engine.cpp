#include "engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "code_work.h"
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

// Of the distribution that the logits stand for, in nats.
float entropy_of(const float* logits, size_t n) {
  const float top = *std::max_element(logits, logits + n);
  double total = 0.0, weighted = 0.0;
  for (size_t i = 0; i < n; ++i) {
    const float x = logits[i] - top, e = std::exp(x);
    total += e;
    weighted += static_cast<double>(e) * x;
  }
  return static_cast<float>(std::log(total) - weighted / total);
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

Engine::~Engine() = default;

void Engine::quantize_caches(std::shared_ptr<const Quantization> quantization) {
  const Hyper& h = model_->hyper();
  const CodeModel& m = *quantization->model;
  m.check();
  if (m.shape.layers != h.layers || m.shape.kv_heads != h.kv_heads ||
      m.shape.head_dim != h.head_dim || m.window_slots() > kMaxWindowSlots) {
    throw Error("argument", "the quantization of the cache is for another model");
  }
  // Every token in the widest class of all, and a half-filled block in each class.
  const size_t tokens = static_cast<size_t>(h.context) + kClasses * kBlockTokens;
  const size_t most = tokens * static_cast<size_t>(m.places() * 4 * h.head_dim) * kMaxBatch * 2;
  pool_of_cells_ = std::make_shared<CellPool>(h.head_dim, most);
  work_ = std::make_unique<CodeWork>(*quantization, static_cast<int>(groups_.size()), pool_.size(),
                                     h.context);
  if (m.before_rope) turns_ = TurnTable(frequencies_, h.context);
  quantization_ = std::move(quantization);
}

int Engine::code_rows() const {
  // A measured entropy must be known when its token is judged, at the end of a later step.
  if (quantization_ && quantization_->measured_entropy) {
    return std::min(kCodeRows, quantization_->model->window);
  }
  return kCodeRows;
}

std::unique_ptr<CodeSequence> Engine::code_sequence(int capacity) const {
  return std::make_unique<CodeSequence>(quantization_, pool_of_cells_, capacity, kernels_);
}

void Engine::prefill(KvCache& cache, const int32_t* tokens, int n, const Wanted& wanted,
                     const StopCheck& stop) {
  prefill(AnyCache{&cache, nullptr}, tokens, n, wanted, stop);
}

void Engine::prefill(AnyCache cache, const int32_t* tokens, int n, const Wanted& wanted,
                     const StopCheck& stop) {
  const std::lock_guard lock(mutex_);
  const int start = cache.length(), room = cache.capacity() - start;
  if (n > room) {
    throw Error("context", "the context is full: " + std::to_string(n) +
                               " tokens do not fit into " + std::to_string(room));
  }
  if (cache.codes && wanted.stop_after > 0) {
    throw Error("argument", "a quantized cache needs all layers");
  }
  const int most = cache.codes ? code_rows() : prefill_rows();
  for (int done = 0; done < n;) {
    const int rows = std::min(most, n - done), first = start + done;
    if (cache.halves) cache.halves->reserve(first + rows);
    for (int i = 0; i < rows; ++i) {
      rows_[static_cast<size_t>(i)] = {cache.halves, cache.codes, tokens[done + i], first + i};
    }
    // Logits are wanted of the last tokens only; this chunk may hold some, all or none of them.
    const int before = std::max(0, n - wanted.logit_rows - done);
    const int logit_rows = std::max(0, rows - before);
    Wanted part = wanted;
    if (logit_rows > 0) {
      const int written = std::max(0, done - (n - wanted.logit_rows));
      part.logits = wanted.logits + static_cast<size_t>(written) * logit_stride();
    }
    const size_t skipped = static_cast<size_t>(done) * static_cast<size_t>(model_->hyper().hidden);
    float* hidden = wanted.hidden ? wanted.hidden + skipped : nullptr;
    if (wanted.states) part.states = wanted.states + skipped;
    compute(rows, rows == 1, logit_rows, part, hidden, stop);
    done += rows;
  }
  if (wanted.stop_after > 0) cache.halves->truncate(start);
}

// The rows' tokens belong to their caches from now on.
void Engine::keep(int n_rows, bool batch) {
  const uint64_t time = judge_time_ / static_cast<uint64_t>(batch ? n_rows : 1);
  if (rows_[0].codes && !batch) {
    int32_t tokens[kCodeRows];
    for (int i = 0; i < n_rows; ++i) tokens[i] = rows_[static_cast<size_t>(i)].token;
    CodeSequence& s = *rows_[0].codes;
    const int leaving = s.leaving(rows_[0].position + n_rows);
    s.finish(tokens, n_rows, leaving);
    s.note_judged(time, leaving);
    return;
  }
  for (int i = 0; i < n_rows; ++i) {
    const Row& row = rows_[static_cast<size_t>(i)];
    const int length = row.position + 1;
    if (row.cache) {
      row.cache->set_length(length);
      continue;
    }
    const int leaving = row.codes->leaving(length);
    row.codes->finish(&row.token, 1, leaving);
    row.codes->note_judged(time, leaving);
  }
}

void Engine::decode(KvCache* const* caches, const int32_t* tokens, int n, const Wanted& wanted,
                    const StopCheck& stop) {
  AnyCache any[kMaxBatch];
  for (int i = 0; i < std::min(n, kMaxBatch); ++i) any[i].halves = caches[i];
  decode(any, tokens, n, wanted, stop);
}

void Engine::decode(const AnyCache* caches, const int32_t* tokens, int n, const Wanted& wanted,
                    const StopCheck& stop) {
  const std::lock_guard lock(mutex_);
  if (n < 1 || n > kMaxBatch) {
    throw Error("argument", "a step takes 1 to " + std::to_string(kMaxBatch) + " sequences");
  }
  for (int i = 0; i < n; ++i) {
    if (caches[i].length() >= caches[i].capacity()) throw Error("context", "the context is full");
    for (int j = 0; j < i; ++j) {
      if (caches[i] == caches[j]) throw Error("argument", "a sequence appears twice in one step");
    }
  }
  for (int i = 0; i < n; ++i) {
    if (caches[i].halves) caches[i].halves->reserve(caches[i].length() + 1);
    rows_[static_cast<size_t>(i)] = {caches[i].halves, caches[i].codes, tokens[i],
                                     caches[i].length()};
  }
  compute(n, true, wanted.logits ? n : 0, wanted, wanted.hidden, stop);
}

// A whole step: the rows' tokens belong to their caches afterwards.
void Engine::compute(int n_rows, bool batch, int logit_rows, const Wanted& wanted, float* hidden,
                     const StopCheck& stop) {
  if (!quantization_ || !quantization_->measured_entropy || !rows_[0].codes) {
    run(n_rows, batch, logit_rows, wanted, hidden, stop);
    keep(n_rows, batch);
    return;
  }
  const size_t stride = logit_stride();
  all_logits_.resize(static_cast<size_t>(std::max(kCodeRows, kMaxBatch)) * stride);
  Wanted all = wanted;
  all.logits = all_logits_.data();
  all.allowed = nullptr;
  run(n_rows, batch, n_rows, all, hidden, stop);
  keep(n_rows, batch);
  const size_t vocab = static_cast<size_t>(model_->hyper().vocab);
  for (int i = 0; i < n_rows; ++i) {
    const float* logits = all.logits + static_cast<size_t>(i) * stride;
    const Row& row = rows_[static_cast<size_t>(i)];
    if (row.codes) row.codes->note_entropy(row.position, entropy_of(logits, vocab));
    if (i < n_rows - logit_rows) continue;
    float* to = wanted.logits + static_cast<size_t>(i - n_rows + logit_rows) * stride;
    if (wanted.allowed == nullptr) {
      std::copy(logits, logits + stride, to);
      continue;
    }
    std::fill(to, to + stride, -std::numeric_limits<float>::infinity());
    for (int j = 0; j < wanted.n_allowed; ++j) to[wanted.allowed[j]] = logits[wanted.allowed[j]];
  }
}

void Engine::run(int n_rows, bool batch, int logit_rows, const Wanted& wanted, float* hidden,
                 const StopCheck& stop) {
  const Hyper& h = model_->hyper();
  bool codes = false;
  for (int i = 0; i < n_rows; ++i) {
    const Row& row = rows_[static_cast<size_t>(i)];
    if (row.token < 0 || row.token >= h.vocab) {
      throw Error("argument", "token " + std::to_string(row.token) + " is outside the vocabulary");
    }
    codes |= row.codes != nullptr;
  }
  const bool fused = batch && h.heads / h.kv_heads <= kGroupQueries;
  const bool staged = codes && !batch;
  if (staged) locate_window();
  const Step step{n_rows,
                  batch,
                  fused,
                  n_rows > kPrivateRows,
                  uses_tiles() && n_rows >= kTileThreshold,
                  codes,
                  staged,
                  staged ? rows_[0].codes->leaving(rows_[0].position + n_rows) : 0,
                  logit_rows,
                  &wanted,
                  hidden,
                  &stop};
  stopped_.store(false, std::memory_order_relaxed);
  plan_failure_.clear();
  Pace& pace = batch ? decode_pace_ : prefill_pace_;
  const int active = pace.threads(pool_.size());
  pool_.set_active(active);
  const auto start = std::chrono::steady_clock::now();
  pool_.run([&](int thread) { forward(step, thread); });
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  pace.note(active, spent.count(), pool_.slept(), n_rows);
  if (stopped_.load(std::memory_order_relaxed)) throw Error("cancelled", "the step was cancelled");
  if (!plan_failure_.empty()) throw Error("memory", plan_failure_);
}

}  // namespace kvq
