#include "code_work.h"

namespace kvq {

CodeWork::CodeWork(const Quantization& q, int groups, int threads, int max_context)
    : slots(q.model->window_slots()),
      all_slots(slots + kCodeRows),
      places(q.model->places()),
      max_blocks(static_cast<size_t>(max_context / kBlockTokens + kClasses + 1)),
      groups_(groups),
      dim_(q.model->shape.head_dim) {
  const auto size = [](int n) { return static_cast<size_t>(n); };
  if (q.controller) scratch_bytes_ = (q.controller->scratch_bytes() + 63) / 64 * 64;
  // Two rounds: the first adds up, the second hands out.
  for (int round = 0; round < 2; ++round) {
    size_t at = 0;
    const auto take = [&]<class T>(T*& pointer, size_t n) {
      pointer = round == 0 ? nullptr : memory_.as<T>(at);
      at += (n * sizeof(T) + 63) / 64 * 64;
    };
    take(staged_, size(places) * 2 * kCodeRows * size(dim_));
    take(scores_, size(kMaxBatch * groups * kMaxQueries) * size(slots));
    take(own_scores_, size(threads * kMaxQueries) * size(all_slots));
    take(weights_, size(places * kMaxBatch) * size(slots));
    take(row_weights_, size(kCodeRows * groups) * size(all_slots));
    take(received_, size(places) * 3 * size(all_slots));
    take(gathered_, size(threads) * 5 * size(places));
    take(lengths_, size(kCodeRows) * 2 * size(places));
    take(positions_, size(all_slots));
    take(costs_, size(threads * kMaxBatch * groups));
    take(blocks_, size(threads) * max_blocks);
    take(scratch_, size(threads) * scratch_bytes_);
    if (q.model->before_rope) {
      take(token_positions_, size(threads) * max_blocks * kBlockTokens);
      take(slot_positions_, size(threads * all_slots));
      take(turned_, size(threads) * turned_size());
    }
    take(classes_, size(kCodeRows + kMaxBatch) * size(places));
    if (round == 0) memory_ = Buffer(at);
  }
}

}  // namespace kvq
