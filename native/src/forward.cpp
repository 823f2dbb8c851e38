// The layers of one step, as every thread runs them. All threads pass the same barriers.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine.h"
#include "engine_step.h"

namespace kvq {

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
  keep_states(step, 0, mine);
  const int layers = step.wanted->stop_after > 0 ? step.wanted->stop_after : h.layers;
  for (int i = 0; i < layers; ++i) {
    if (!layer(step, thread, i)) return;
    keep_states(step, i + 1, mine);
  }
  if (layers < h.layers) return;
  if (step.codes) {
    const auto start = std::chrono::steady_clock::now();
    judge(step, thread);
    pool_.barrier(thread);
    if (thread == 0) {
      const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - start;
      judge_time_ = static_cast<uint64_t>(spent.count());
      plan(step);
    }
  }
  finish(step, thread);
}

// Copies a thread's rows of the residual stream where somebody wants it after so many layers. The
// rows do not change before the next barrier.
void Engine::keep_states(const Step& step, int depth, Range rows) const {
  const Wanted& wanted = *step.wanted;
  const size_t hidden = static_cast<size_t>(model_->hyper().hidden);
  for (int i = 0; i < wanted.n_depths; ++i) {
    if (wanted.depths[i] != depth) continue;
    for (int r = rows.begin; r < rows.end; ++r) {
      float* to = wanted.states + static_cast<size_t>(i) * wanted.state_stride +
                  static_cast<size_t>(r) * hidden;
      std::memcpy(to, x_ + static_cast<size_t>(r) * hidden, sizeof(float) * hidden);
    }
  }
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
      combine(step, thread, index, r, attended + static_cast<size_t>(r) * q);
  } else {
    attended = attended_;
    attend_prefill(step, thread, index);
    pool_.barrier(thread);
    if (step.staged) add_up_received(step, thread, index);
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

// Final norm and LM head for the rows that want them, and the planned quantization between the two.
void Engine::finish(const Step& step, int thread) {
  const Hyper& h = model_->hyper();
  const size_t hidden = static_cast<size_t>(h.hidden);
  const int first = step.hidden ? 0 : step.rows - step.logit_rows;
  if (first == step.rows && !step.codes) return;
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
  if (step.codes) quantize(step, thread);
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
