// All that the core keeps for a thread, behind one pointer: the loader's reserve for static thread storage is
// small.
#pragma once

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
// constinit: a reader need not ask first whether another file has an initialiser to run.
extern constinit thread_local ThreadLocals* t_locals __attribute__((tls_model("initial-exec")));
ThreadLocals& make_thread_locals();
}  // namespace detail

inline ThreadLocals& thread_locals() {
  ThreadLocals* t = detail::t_locals;
  return t ? *t : detail::make_thread_locals();
}

}  // namespace tl
