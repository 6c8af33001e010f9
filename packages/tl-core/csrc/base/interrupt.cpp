// Interrupts: a flag that the signal handler sets, and a poll of the language runtime each 100 ms.
#include "base/interrupt.h"

#include <atomic>
#include <chrono>

#include "base/error.h"
#include "base/thread_local.h"

namespace tl {

namespace {
using Clock = std::chrono::steady_clock;
constexpr auto kPollEvery = std::chrono::milliseconds(100);

std::atomic<bool> g_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it
std::atomic<const RuntimeHooks*> g_hooks{nullptr};

// Handlers are the runtime's affair, and taking its lock costs: short work never comes here twice.
void poll_runtime() {
  const RuntimeHooks* hooks = g_hooks.load(std::memory_order_acquire);
  if (!hooks) return;
  ThreadLocals& t = thread_locals();
  const int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  if (now < t.next_poll) return;
  t.next_poll = now + std::chrono::nanoseconds(kPollEvery).count();
  hooks->poll();
}

class Waiting {
 public:
  Waiting() : hooks_(g_hooks.load(std::memory_order_acquire)), left_(hooks_ ? hooks_->leave() : nullptr) {}
  ~Waiting() {
    if (left_) hooks_->enter(left_);
  }

 private:
  const RuntimeHooks* hooks_;
  void* left_;
};
}  // namespace

void set_runtime_hooks(const RuntimeHooks* hooks) { g_hooks.store(hooks, std::memory_order_release); }

void request_interrupt() noexcept { g_requested.store(true, std::memory_order_relaxed); }
void clear_interrupt() noexcept { g_requested.store(false, std::memory_order_relaxed); }
bool interrupt_requested() noexcept { return g_requested.load(std::memory_order_relaxed); }

void check_interrupt() {
  TL_CHECK(!interrupt_requested(), Interrupt, "interrupted");
  poll_runtime();
}

void LongLock::lock() {
  const pthread_t self = pthread_self();
  if (owner_.load(std::memory_order_relaxed) == self) {
    ++depth_;
    return;
  }
  if (!mutex_.try_lock()) {
    Waiting waiting;
    mutex_.lock();
  }
  owner_.store(self, std::memory_order_relaxed);
  depth_ = 1;
}

void LongLock::unlock() {
  if (--depth_ > 0) return;
  owner_.store(pthread_t{}, std::memory_order_relaxed);
  mutex_.unlock();
}

}  // namespace tl
