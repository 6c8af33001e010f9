// The memory history: a bounded queue of allocations and frees with stacks, and the blocks that are live.
#include "base/memory_history.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <new>

#include "base/allocator.h"
#include "base/event_log.h"
#include "base/fork.h"
#include "base/source_location.h"

namespace tl {

namespace {
struct History {
  std::mutex mutex;
  HistoryOptions options;
  std::map<uint64_t, MemoryEntry> live;
  std::deque<MemoryEntry> events;
  uint64_t forgotten = 0;

  History() {
    register_fork_lock(
        ForkOrder::MemoryHistory, [] { history().mutex.lock(); }, [] { history().mutex.unlock(); });
  }
  static History& history();

  void push(const MemoryEntry& entry) {
    if (!options.events || options.max_entries == 0) return;
    if (events.size() >= options.max_entries) {
      events.pop_front();
      ++forgotten;
    }
    events.push_back(entry);
  }
};

History& History::history() {
  static History& h = *new History;
  return h;
}

std::atomic<int64_t> g_total{0};

uint32_t scope_number() {
  const std::string& scope = memory_scope();
  return scope.empty() ? 0 : intern_origin({scope, {}, {}, 0});
}

void note_in_recording(const void* p, int64_t bytes, int64_t total) noexcept {
  if (!is_recording() || !recording_options().memory) return;
  const OpenEvent open = begin_event(EventKind::Memory, {}, sizeof total);
  if (!open) return;
  open.event->what = p;
  open.event->number = bytes;
  *reinterpret_cast<int64_t*>(open.event->values()) = total;
  if (recording_options().stacks) open.event->stack = running_stack();
  open.event->end.store(open.event->start, std::memory_order_relaxed);
}

uint8_t wanted_stacks(History& h) {
  std::lock_guard guard(h.mutex);
  return h.options.on ? h.options.stacks : 0;
}

// Asked for without a lock: it may wait for the runtime's.
uint32_t stack_for(uint8_t wanted, uint8_t kinds) { return wanted & kinds ? running_stack() : 0; }

void note_in_history(const void* p, int64_t bytes, int64_t total) {
  History& h = History::history();
  const bool frees = bytes < 0;
  const uint8_t wanted = wanted_stacks(h);
  const uint32_t stack = stack_for(wanted, frees ? kStacksOfFrees : kStacksOfLive | kStacksOfAllocations);
  MemoryEntry entry{frees ? MemoryAction::Freed : MemoryAction::Allocated,
                    reinterpret_cast<uintptr_t>(p),
                    frees ? -bytes : bytes,
                    stack,
                    scope_number(),
                    event_clock(),
                    total};
  std::lock_guard guard(h.mutex);
  if (!h.options.on) return;
  if (frees)
    h.live.erase(entry.address);
  else
    h.live[entry.address] = entry;
  if (!frees && !(wanted & kStacksOfAllocations)) entry.stack = 0;
  h.push(entry);
}
}  // namespace

namespace detail {
void note_memory(const void* p, int64_t bytes) noexcept {
  const int64_t total = g_total.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  note_in_recording(p, bytes, total);
  if (!(g_memory_watchers.load(std::memory_order_relaxed) & kWatchedByHistory)) return;
  try {
    note_in_history(p, bytes, total);
  } catch (const std::bad_alloc&) {
    // The memory itself is there; the history will lack it.
  }
}
}  // namespace detail

void note_out_of_memory(size_t bytes) noexcept {
  if (is_recording() && recording_options().memory) {
    const OpenEvent open = begin_event(EventKind::Mark, "[OutOfMemory]");
    if (open) {
      open.event->number = static_cast<int64_t>(bytes);
      open.event->end.store(open.event->start, std::memory_order_relaxed);
    }
  }
  if (!(detail::g_memory_watchers.load(std::memory_order_relaxed) & kWatchedByHistory)) return;
  try {
    History& h = History::history();
    const MemoryEntry entry{MemoryAction::OutOfMemory,
                            0,
                            static_cast<int64_t>(bytes),
                            stack_for(wanted_stacks(h), kStacksOfAllocations),
                            scope_number(),
                            event_clock(),
                            watched_total()};
    std::lock_guard guard(h.mutex);
    h.push(entry);
  } catch (const std::bad_alloc&) {
    // The error that follows says the same.
  }
}

void watch_memory(MemoryWatcher who, bool on) {
  if (!on) {
    detail::g_memory_watchers.fetch_and(~who, std::memory_order_relaxed);
    return;
  }
  if (!detail::g_memory_watchers.load(std::memory_order_relaxed))
    g_total.store(memory_stats().current, std::memory_order_relaxed);
  detail::g_memory_watchers.fetch_or(who, std::memory_order_relaxed);
}

int64_t watched_total() noexcept { return g_total.load(std::memory_order_relaxed); }

void set_memory_history(const HistoryOptions& options) {
  History& h = History::history();
  {
    std::lock_guard guard(h.mutex);
    if (options.on && !h.options.on) {
      h.live.clear();
      h.events.clear();
      h.forgotten = 0;
    }
    h.options = options;
  }
  watch_memory(kWatchedByHistory, options.on);
}

HistoryOptions memory_history_options() {
  History& h = History::history();
  std::lock_guard guard(h.mutex);
  return h.options;
}

MemoryHistory memory_history() {
  History& h = History::history();
  MemoryHistory copy;
  std::lock_guard guard(h.mutex);
  for (const auto& [address, entry] : h.live) copy.live.push_back(entry);
  copy.events.assign(h.events.begin(), h.events.end());
  copy.forgotten = h.forgotten;
  return copy;
}

}  // namespace tl
