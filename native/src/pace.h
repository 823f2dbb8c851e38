// Decides whether a step runs on all threads or on one.
//
// A decode step has some 150 barriers, a prompt's twice as many. On a machine whose cores are busy
// with other work each of them can cost a time slice, because the thread that is waited for sits in
// a queue; one thread alone is then many times faster. The result does not depend on the choice
// (parts of the cache are joined in a fixed order), so it may change from step to step.
#pragma once

#include <algorithm>

namespace kvq {

class Pace {
 public:
  // Threads for the next step, 1 or all.
  int threads(int all) const { return all > 1 && (probing_ || alone_ > 0.0) ? 1 : all; }

  // What a step of so many rows on so many threads cost, and how long the caller slept in it.
  void note(int threads, double seconds, double slept, int rows) {
    const double per_row = seconds / rows;
    if (threads == 1) {
      alone_ -= seconds;
      // The first step alone after one on all threads decides whether it stays so.
      if (probing_ && per_row < together_) {
        alone_ = patience_;
        patience_ = std::min(2 * patience_, kLongest);
      }
      probing_ = false;
      return;
    }
    if (slept < kSuspicious * seconds) {
      patience_ = kShortest;
      strikes_ = 0;
      return;
    }
    // One slow step may be a hiccup; after a time alone, when the cores were busy, it is not.
    together_ = strikes_ == 0 ? per_row : std::min(per_row, together_);
    if (++strikes_ < 2) return;
    strikes_ = 1;
    probing_ = true;
    alone_ = 0.0;
  }

 private:
  static constexpr double kSuspicious = 0.2;  // share of a step slept; next to none when idle
  // Seconds alone before all are tried again.
  static constexpr double kShortest = 0.25, kLongest = 4.0;
  double together_ = 0.0;  // seconds a row, of the last suspicious step
  double alone_ = 0.0;     // seconds left
  double patience_ = kShortest;
  int strikes_ = 0;  // suspicious steps in a row
  bool probing_ = false;
};

}  // namespace kvq
