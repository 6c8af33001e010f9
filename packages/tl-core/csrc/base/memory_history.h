// What becomes of the memory of tensors, while somebody watches: events for a recording, and a history of
// allocations with the stacks that made them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tl {

enum MemoryWatcher : uint32_t { kWatchedByRecording = 1, kWatchedByHistory = 2 };
namespace detail {
inline std::atomic<uint32_t> g_memory_watchers{0};
void note_memory(const void* p, int64_t bytes) noexcept;
}  // namespace detail

// One load while nobody watches.
inline bool memory_is_watched() noexcept {
  return detail::g_memory_watchers.load(std::memory_order_relaxed) != 0;
}
inline void note_allocated(const void* p, size_t bytes) noexcept {
  if (memory_is_watched()) [[unlikely]]
    detail::note_memory(p, static_cast<int64_t>(bytes));
}
inline void note_freed(const void* p, size_t bytes) noexcept {
  detail::note_memory(p, -static_cast<int64_t>(bytes));  // the caller has asked whether somebody watches
}
void note_out_of_memory(size_t bytes) noexcept;

void watch_memory(MemoryWatcher who, bool on);
int64_t watched_total() noexcept;  // bytes that tensors hold, as the events add up

enum class MemoryAction : uint8_t { Allocated, Freed, OutOfMemory };
struct MemoryEntry {
  MemoryAction action;
  uint64_t address;
  int64_t bytes;
  uint32_t stack, origin;  // origin: of the scope alone (source_location.h)
  int64_t time;            // nanoseconds of the steady clock
  int64_t held;            // by all tensors, afterwards
};

enum HistoryStacks : uint8_t { kStacksOfLive = 1, kStacksOfAllocations = 2, kStacksOfFrees = 4 };
struct HistoryOptions {
  bool on = false;
  bool events = true;  // else only what is alive is known
  uint8_t stacks = 0;
  uint64_t max_entries = UINT64_MAX;  // the oldest are forgotten
};
void set_memory_history(const HistoryOptions& options);
HistoryOptions memory_history_options();

struct MemoryHistory {
  std::vector<MemoryEntry> live;    // by address
  std::vector<MemoryEntry> events;  // in their order
  uint64_t forgotten = 0;           // events
};
MemoryHistory memory_history();

}  // namespace tl
