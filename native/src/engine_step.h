// What the parts of the forward pass share: the plan of a step and how work is divided.
#pragma once

#include "engine.h"

namespace kvq {

constexpr int kPrivateRows = 2;     // up to so many rows, every thread prepares all inputs itself
constexpr int kTileThreshold = 16;  // rows from which on a matrix unit pays
constexpr int kGroupQueries = 6;    // query heads that one attend call takes together

// The part of n things that is a thread's own.
inline Range share(int n, int thread, int threads) {
  return {static_cast<int>(static_cast<int64_t>(n) * thread / threads),
          static_cast<int>(static_cast<int64_t>(n) * (thread + 1) / threads)};
}

// One step's plan, the same for all threads.
struct Engine::Step {
  int rows;
  bool batch;        // rows belong to different sequences: the cache is split among threads
  bool fused_store;  // the thread that attends to the newest token also writes it
  bool shared;       // inputs are prepared once, split by rows, instead of by every thread
  bool tiles;
  bool codes;   // some caches are quantized
  bool staged;  // a prompt for a quantized cache: its keys and values wait until the step's end
  int leaving;  // of such a prompt: tokens that leave the window
  int logit_rows;
  const Wanted* wanted;
  float* hidden;
  const StopCheck* stop;
};

}  // namespace kvq
