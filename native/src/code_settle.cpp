// The end of a step over quantized caches: tokens that leave the window are judged, by all threads,
// their classes planned, by one, and their keys and values quantized, by all.
//
// Until then nothing of a cache has changed that anybody sees, so that a step can be given up.
#include <algorithm>
#include <cmath>

#include "code_work.h"
#include "engine.h"
#include "engine_step.h"
#include "error.h"
#include "fp16.h"

namespace kvq {
namespace {

int first_leaving(const CodeSequence& s) {
  return std::max(s.cache().front(), s.cache().model().sinks);
}

}  // namespace

void Engine::judge(const Step& step, int thread) {
  if (!quantization_->controller) {
    if (thread > 0) return;
    const uint8_t one = static_cast<uint8_t>(quantization_->constant_class);
    const int n = step.staged ? step.leaving : step.rows;
    std::fill(work_->classes(0), work_->classes(n), one);
    return;
  }
  if (!step.staged) {
    for (int r = 0; r < step.rows; ++r) judge_row(step, thread, r);
    return;
  }
  // The offset changes at every 64th quantized token, wherever a prompt is cut.
  const CodeSequence& s = *rows_[0].codes;
  const int quantized = first_leaving(s) - s.cache().model().sinks;
  const int turn = std::min(step.leaving, kBudgetTokens - quantized % kBudgetTokens);
  judge_prompt(step, thread, 0, turn, s.offset());
  if (turn == step.leaving) return;
  pool_.barrier(thread);
  if (thread == 0) step_offset_ = s.offset_after(turn, work_->classes(0));
  pool_.barrier(thread);
  judge_prompt(step, thread, turn, step.leaving, step_offset_);
}

void Engine::judge_row(const Step& step, int thread, int r) {
  const Row& row = rows_[static_cast<size_t>(r)];
  if (!row.codes || row.codes->leaving(row.position + 1) == 0) return;
  Range places = share(work_->places, thread, pool_.active());
  if (quantization_->controller->per_token()) {
    // All places decide together; rows take turns with the threads.
    if (r % pool_.active() != thread) return;
    places = {0, work_->places};
  }
  judge_token(step, thread, r, 0, places, row.codes->offset());
}

// Tokens [begin, end) of those that leave.
void Engine::judge_prompt(const Step& step, int thread, int begin, int end, float offset) {
  const int places = work_->places, n = end - begin;
  if (quantization_->controller->per_token()) {
    const Range mine = share(n, thread, pool_.active());
    for (int j = mine.begin; j < mine.end; ++j) {
      judge_token(step, thread, 0, begin + j, {0, places}, offset);
    }
    return;
  }
  const Range mine = share(n * places, thread, pool_.active());
  for (int at = mine.begin; at < mine.end;) {
    const int j = at / places, next = std::min(mine.end, (j + 1) * places);
    judge_token(step, thread, 0, begin + j, {at - j * places, next - j * places}, offset);
    at = next;
  }
}

// The key and value of a token that leaves: out of the window, or of the prompt's own rows.
void Engine::read_leaving(const Row& row, int place, int position, float* k, float* v) const {
  const int heads = model_->hyper().kv_heads, dim = model_->hyper().head_dim;
  const int r = position - row.position;
  if (r < 0) {
    row.codes->cache().load(place / heads, place % heads, position, k, v);
    return;
  }
  const int block = r / kBlockTokens * kBlockTokens * dim, lane = r % kBlockTokens;
  const uint16_t* keys = work_->staged_keys(place) + block + lane;
  const uint16_t* values = work_->staged_values(place) + block + lane * dim;
  for (int d = 0; d < dim; ++d) {
    k[d] = fp16_to_float(keys[d * kBlockTokens]);
    v[d] = fp16_to_float(values[d]);
  }
}

// The token-th of those that leave; row: of a batch, or the first of a prompt.
void Engine::judge_token(const Step& step, int thread, int r, int token, Range places,
                         float offset) {
  const Row& row = rows_[static_cast<size_t>(r)];
  const CodeSequence& s = *row.codes;
  const CodeCache& cache = s.cache();
  const CodeModel& m = cache.model();
  const int position = first_leaving(s) + token, heads = m.shape.kv_heads, n = work_->places;
  const bool in_window = position < row.position;
  const int slot = m.slot(position), distance = row.position - position;
  float* mass = work_->gathered(thread);
  float *late = mass + n, *peak = late + n, *k_norm = peak + n, *v_norm = k_norm + n;
  for (int i = 0; i < n; ++i) {
    const int layer = i / heads, head = i % heads;
    mass[i] = in_window ? cache.mass(layer, head)[slot] : 0.0f;
    late[i] = in_window ? cache.late(layer, head)[slot] : 0.0f;
    peak[i] = in_window ? cache.peak(layer, head)[slot] : 0.0f;
    if (step.staged) {
      const Received more = work_->received(i);
      const int at = in_window ? slot : work_->slots + position - row.position;
      mass[i] += more.mass[at];
      late[i] += more.late[at];
      peak[i] = std::max(peak[i], more.peak[at]);
    } else {
      const float weight = work_->weights(i, r)[slot];
      mass[i] += weight;
      late[i] += 2 * distance > m.window ? weight : 0.0f;
      peak[i] = std::max(peak[i], weight);
    }
  }
  const float* lengths = in_window ? s.lengths(position) : work_->lengths(position - row.position);
  for (int i = places.begin; i < places.end; ++i) {
    k_norm[i] = lengths[2 * i];
    v_norm[i] = lengths[2 * i + 1];
  }
  const int32_t id = in_window ? s.tokens()[static_cast<size_t>(position)]
                               : rows_[static_cast<size_t>(r + position - row.position)].token;
  const float* entropy = quantization_->measured_entropy ? s.entropy(position) : nullptr;
  quantization_->controller->judge({position, id, mass, late, peak, k_norm, v_norm, entropy},
                                   places.begin, places.end, offset, work_->judge_scratch(thread),
                                   work_->classes(step.staged ? token : r));
}

// On one thread. When the pool has no room for a sequence's token, none of the step's is kept.
void Engine::plan(const Step& step) {
  plan_failure_.clear();
  if (step.staged) {
    try {
      if (step.leaving > 0) rows_[0].codes->cache().plan(step.leaving, work_->classes(0));
    } catch (const Error& e) {
      plan_failure_ = e.what();
    }
    return;
  }
  int planned = 0;
  try {
    for (; planned < step.rows; ++planned) {
      const Row& row = rows_[static_cast<size_t>(planned)];
      if (!row.codes || row.codes->leaving(row.position + 1) == 0) continue;
      row.codes->cache().plan(1, work_->classes(planned));
    }
  } catch (const Error& e) {
    plan_failure_ = e.what();
    for (int r = 0; r < planned; ++r) {
      const Row& row = rows_[static_cast<size_t>(r)];
      if (row.codes) row.codes->cache().plan(0, nullptr);
    }
  }
}

void Engine::quantize(const Step& step, int thread) {
  if (!plan_failure_.empty()) return;
  const Range places = share(work_->places, thread, pool_.active());
  if (step.staged) return quantize_prompt(step, places);
  for (int r = 0; r < step.rows; ++r) {
    if (rows_[static_cast<size_t>(r)].codes) quantize_row(r, places);
  }
}

void Engine::quantize_row(int r, Range places) {
  const Row& row = rows_[static_cast<size_t>(r)];
  CodeCache& cache = row.codes->cache();
  const CodeModel& m = cache.model();
  const int heads = m.shape.kv_heads, position = first_leaving(*row.codes), slots = work_->slots;
  const bool leaves = row.codes->leaving(row.position + 1) > 0;
  float k[kMaxHeadDim], v[kMaxHeadDim];
  if (leaves) {
    for (int i = places.begin; i < places.end; ++i) {
      cache.load(i / heads, i % heads, position, k, v);
      cache.append(i / heads, i % heads, work_->classes(r)[i], k, v);
    }
  }
  if (!quantization_->controller) return;
  // Slots from which the new token is seen, and from afar; the token itself does not count.
  float seen[kMaxWindowSlots], far[kMaxWindowSlots];
  std::fill(seen, seen + slots, 0.0f);
  std::fill(far, far + slots, 0.0f);
  for (int p = std::max(position, row.position - m.window); p < row.position; ++p) {
    seen[m.slot(p)] = 1.0f;
    far[m.slot(p)] = 2 * (row.position - p) > m.window ? 1.0f : 0.0f;
  }
  for (int i = places.begin; i < places.end; ++i) {
    const float* weights = work_->weights(i, r);
    float* mass = cache.mass(i / heads, i % heads);
    float* late = cache.late(i / heads, i % heads);
    float* peak = cache.peak(i / heads, i % heads);
    for (int s = 0; s < slots; ++s) {
      const float weight = weights[s] * seen[s];
      mass[s] += weight;
      late[s] += weight * far[s];
      peak[s] = std::max(peak[s], weight);
    }
  }
}

void Engine::quantize_prompt(const Step& step, Range places) {
  const Row& row = rows_[0];
  CodeCache& cache = row.codes->cache();
  const CodeModel& m = cache.model();
  const int heads = m.shape.kv_heads, first = first_leaving(*row.codes);
  const int stays = first + step.leaving, end = row.position + step.rows;
  const bool judged = quantization_->controller != nullptr;
  float k[kMaxHeadDim], v[kMaxHeadDim];
  for (int i = places.begin; i < places.end; ++i) {
    const int layer = i / heads, head = i % heads;
    for (int j = 0; j < step.leaving; ++j) {
      read_leaving(row, i, first + j, k, v);
      cache.append(layer, head, work_->classes(j)[i], k, v);
    }
    const Received more = work_->received(i);
    float *mass = cache.mass(layer, head), *late = cache.late(layer, head);
    float* peak = cache.peak(layer, head);
    for (int s = 0; judged && s < work_->slots; ++s) {
      mass[s] += more.mass[s];
      late[s] += more.late[s];
      peak[s] = std::max(peak[s], more.peak[s]);
    }
    const auto keep_lengths = [&](int p) {
      const float* from = work_->lengths(p - row.position) + 2 * i;
      std::copy(from, from + 2, row.codes->lengths(p) + 2 * i);
    };
    // Only now may new tokens take the places of old ones.
    for (int p = row.position; p < end; ++p) {
      if (p >= m.sinks && p < stays) continue;
      read_leaving(row, i, p, k, v);
      cache.store(layer, head, p, k, v);
      if (!judged) continue;
      keep_lengths(p);
      const int slot = m.slot(p), from = work_->slots + p - row.position;
      mass[slot] = more.mass[from];
      late[slot] = more.late[from];
      peak[slot] = more.peak[from];
    }
  }
}

}  // namespace kvq
