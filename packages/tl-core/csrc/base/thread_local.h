// All that the core keeps for a thread, behind one pointer: the loader's reserve for static thread storage is
// small.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/autocast.h"
#include "base/error.h"

namespace tl {

struct AllocatorLists;  // base/allocator.cpp
struct AutocastCache;   // dispatch/autocast.cpp

// What the helpers of a parallel call take over from the caller.
struct InheritedState {
  uint64_t included = 0;  // layers this thread switches on
  uint64_t excluded = 0;  // and off; wins
  Device device{};        // of new tensors
  bool inference = false;
  uint32_t origin = 0;  // of what the thread asks for while it works without the runtime's lock
};

struct ThreadLocals : InheritedState {
  bool in_parallel = false;  // inside a chunk of parallel work
  bool at_back = false;      // where the last work of several chunks ended; the next begins there
  int64_t next_poll = 0;     // when the runtime is asked for signals again, in the steady clock's nanoseconds
  AllocatorLists* lists = nullptr;
  AutocastState autocast;
  AutocastCache* autocast_cache = nullptr;  // while regions are around; a thread that ends in one leaves it
  PendingError error;
};

namespace detail {
inline std::atomic<uint64_t> g_included_everywhere{0};
// constinit: a reader need not ask first whether another file has an initialiser to run.
extern constinit thread_local ThreadLocals* t_locals __attribute__((tls_model("initial-exec")));
ThreadLocals& make_thread_locals();
}  // namespace detail

inline ThreadLocals& thread_locals() {
  ThreadLocals* t = detail::t_locals;
  return t ? *t : detail::make_thread_locals();
}

// The layers that the thread, or somebody for all threads, has switched on.
inline uint64_t included_layers(const ThreadLocals& t) {
  return t.included | detail::g_included_everywhere.load(std::memory_order_relaxed);
}
// Switches layers on or off for all threads; one that is in a call may notice at its next.
inline void include_everywhere(uint64_t bits, bool on) {
  std::atomic<uint64_t>& all = detail::g_included_everywhere;
  on ? all.fetch_or(bits, std::memory_order_relaxed) : all.fetch_and(~bits, std::memory_order_relaxed);
}

}  // namespace tl
