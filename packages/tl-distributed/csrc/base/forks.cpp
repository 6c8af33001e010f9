// Counts forks by a pthread_atfork handler in the child.
#include "base/forks.h"

#include <pthread.h>

#include <atomic>

namespace tl::distributed {

namespace {
std::atomic<int> g_forks{0};
void in_child() { g_forks.fetch_add(1, std::memory_order_relaxed); }
}  // namespace

void watch_forks() {
  static const int status = pthread_atfork(nullptr, nullptr, in_child);
  static_cast<void>(status);
}

int fork_count() { return g_forks.load(std::memory_order_relaxed); }

}  // namespace tl::distributed
