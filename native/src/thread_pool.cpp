#include "thread_pool.h"

#include <chrono>

#if defined(__linux__)
#include <sched.h>
#endif

namespace kvq {
namespace {

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

using Clock = std::chrono::steady_clock;

// Spins at most the given time, then sleeps in the kernel. Sleeping is what keeps a shared machine
// usable: a thread that was pushed off its core is then waited for without burning the other core.
// Returns the seconds waited if it slept, else 0.
double wait_until_changed(const std::atomic<int>& value, int old, int microseconds) {
  if (value.load(std::memory_order_acquire) != old) return 0.0;
  const auto start = Clock::now();
  if (microseconds > 0) {
    const auto deadline = start + std::chrono::microseconds(microseconds);
    do {
      for (int i = 0; i < 32; ++i) {
        if (value.load(std::memory_order_acquire) != old) return 0.0;
        relax();
      }
    } while (Clock::now() < deadline);
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int kSpinMicroseconds = 20;  // inside a step: a stage's imbalance is a few microseconds
constexpr int kJobSpinMicroseconds = 100;  // between steps: sampling and the caller's own work

}  // namespace

int usable_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  const unsigned n = std::thread::hardware_concurrency();
  return n > 0 ? static_cast<int>(n) : 1;
}

ThreadPool::ThreadPool(int threads)
    : size_(threads),
      spin_microseconds_(threads <= usable_cpus() ? kSpinMicroseconds : 0),
      active_(threads) {
  workers_.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  quit_.store(true, std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void ThreadPool::run_erased(Call call, void* body) {
  slept_ = 0.0;
  if (active_ > 1) {
    call_ = call;
    body_ = body;
    job_.fetch_add(1, std::memory_order_release);
    job_.notify_all();
  }
  call(body, 0);
  barrier(0);
}

void ThreadPool::work(int index) {
  int seen = 0;
  for (;;) {
    wait_until_changed(job_, seen, spin_microseconds_ > 0 ? kJobSpinMicroseconds : 0);
    ++seen;
    if (quit_.load(std::memory_order_relaxed)) return;
    call_(body_, index);
    barrier(index);
  }
}

void ThreadPool::barrier(int index) {
  if (active_ == 1) return;
  const int phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    phase_.notify_all();
    return;
  }
  const double slept = wait_until_changed(phase_, phase, spin_microseconds_);
  if (index == 0) slept_ += slept;
}

}  // namespace kvq
