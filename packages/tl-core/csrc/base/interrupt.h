// Ctrl-C in long work, and waiting for locks beside a language runtime that has a lock of its own.
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace tl {

// What the language binding lends to the rooms below it.
struct RuntimeHooks {
  void (*poll)();    // runs pending signal handlers; raises what they raise
  void* (*leave)();  // gives up the runtime's lock before a wait; NULL: the thread doesn't hold it
  void (*enter)(void* left);
};
void set_runtime_hooks(const RuntimeHooks* hooks);  // must outlive the process

// The flag is for whoever wants running work to stop; handlers of the runtime are asked every tenth of a
// second.
void request_interrupt() noexcept;  // async-signal-safe
void clear_interrupt() noexcept;
bool interrupt_requested() noexcept;
void check_interrupt();  // between chunks of work; raises Interrupt

// A lock that may be held for long and across check_interrupt(): waiting for it must not hold the runtime's
// lock, which the holder may be waiting for, and a signal handler may come back to it on the same thread.
class LongLock {
 public:
  void lock();
  void unlock();

 private:
  // Not std::recursive_mutex: a forked child could not unlock what its parent's thread locked.
  std::mutex mutex_;
  std::atomic<pthread_t> owner_{};
  int depth_ = 0;
};

}  // namespace tl
