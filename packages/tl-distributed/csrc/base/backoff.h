// The beginning of a wait for another thread or process: pauses, then yields of the processor, until the
// waiting thread should sleep.
//
// A yield that takes long has let other processes run. Recent kernels place a thread that yields behind all
// of them, so on a busy machine each yield takes a turn of every process there, and the wait should sleep.
#pragma once

#include <sched.h>

#include "base/clock.h"

namespace tl::distributed {

class Backoff {
 public:
  static constexpr int kPauses = 100;  // about 2.5 us
  explicit Backoff(int pauses = kPauses) : pauses_(pauses) {}

  // Pauses or yields once. False: the thread should sleep.
  bool step() {
    if (steps_ < pauses_) {
      ++steps_;
      pause();
      return true;
    }
    if (steps_ >= pauses_ + kYields) return false;
    const int64_t begin = now_ns();
    sched_yield();
    steps_ = now_ns() - begin > kLongYield ? pauses_ + kYields : steps_ + 1;
    return true;
  }
  void reset() { steps_ = 0; }

 private:
  static constexpr int kYields = 50;
  static constexpr int64_t kLongYield = 100'000;  // nanoseconds

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int pauses_, steps_ = 0;
};

}  // namespace tl::distributed
