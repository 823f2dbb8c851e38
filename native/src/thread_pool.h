// A fixed set of threads that run one function together and meet at barriers inside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace kvq {

class ThreadPool {
 public:
  // threads >= 1, the caller's own included.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }
  // Threads that take part in a run: size(), or 1 for the caller alone. Set between runs.
  int active() const { return active_; }
  void set_active(int n) { active_ = n; }
  // Seconds of the last run that the caller slept at barriers; short waits do not count.
  double slept() const { return slept_; }

  // Runs body(index) on every thread, index 0 on the caller's; returns when all have. The body must
  // not throw and every thread must pass the same barriers. One run at a time.
  template <class Body>
  void run(Body&& body) {
    const auto call = [](void* b, int index) { (*static_cast<Body*>(b))(index); };
    run_erased(call, const_cast<void*>(static_cast<const void*>(&body)));
  }
  // Waits until all threads of the run have come here; everything written before is visible after.
  // index: the thread's own.
  void barrier(int index);

 private:
  using Call = void (*)(void*, int);
  void run_erased(Call call, void* body);
  void work(int index);

  const int size_;
  const int spin_microseconds_;
  int active_;
  double slept_ = 0.0;
  Call call_ = nullptr;
  void* body_ = nullptr;
  // Each on a cache line of its own: one is hammered by arrivals while the others are polled.
  alignas(64) std::atomic<int> job_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> phase_{0};
  std::atomic<bool> quit_{false};
  std::vector<std::thread> workers_;
};

// CPUs that this process may use.
int usable_cpus();

}  // namespace kvq
