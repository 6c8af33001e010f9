// Fork safety: pthread_atfork handlers take all registered locks in order, and release them on both sides.
#include "base/fork.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "base/error.h"

namespace tl {

namespace {

struct ForkLock {
  ForkOrder order;
  void (*lock)();
  void (*unlock)();
  void (*in_child)();
};

// A fixed table, because a handler must not allocate between taking locks.
constexpr int kMaxLocks = 32;
constinit std::mutex g_mutex;
ForkLock g_locks[kMaxLocks];
int g_count = 0;

void prepare() {
  g_mutex.lock();
  for (int i = 0; i < g_count; ++i) g_locks[i].lock();
}

void unlock_all() {
  for (int i = g_count; i-- > 0;) g_locks[i].unlock();
  g_mutex.unlock();
}

void child() {
  for (int i = 0; i < g_count; ++i)
    if (g_locks[i].in_child) g_locks[i].in_child();
  unlock_all();
}

}  // namespace

void register_fork_lock(ForkOrder order, void (*lock)(), void (*unlock)(), void (*in_child)()) {
  std::lock_guard guard(g_mutex);
  TL_CHECK(g_count < kMaxLocks, Runtime, "register_fork_lock: more than ", kMaxLocks, " locks");
  if (g_count == 0) {
    const int code = pthread_atfork(prepare, unlock_all, child);
    TL_CHECK(code == 0, Runtime, "register_fork_lock: pthread_atfork failed with error ", code);
  }
  ForkLock* const end = g_locks + g_count++;
  *end = {order, lock, unlock, in_child};
  auto earlier = [](const ForkLock& a, const ForkLock& b) { return a.order < b.order; };
  std::rotate(std::upper_bound(g_locks, end, *end, earlier), end, end + 1);
}

}  // namespace tl
