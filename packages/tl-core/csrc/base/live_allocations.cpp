// Live allocations by address, in a hash table that blocks below the recorded size never enter.
#include "base/live_allocations.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/error.h"
#include "base/fork.h"

namespace tl {

namespace {
struct Block {
  int64_t bytes;
  OriginId origin;
};

struct Blocks {
  std::mutex mutex;
  std::unordered_map<const void*, Block> live;

  Blocks() {
    register_fork_lock(ForkOrder::LiveBlocks, [] { all().mutex.lock(); }, [] { all().mutex.unlock(); });
  }
  static Blocks& all();
};

Blocks& Blocks::all() {
  static Blocks& b = *new Blocks;
  return b;
}

std::atomic<int64_t> g_recorded_size{kRecordedByDefault};
std::atomic<int64_t> g_smallest{kRecordedByDefault};  // that may have been recorded
}  // namespace

void set_recorded_size(int64_t bytes) {
  g_recorded_size.store(bytes, std::memory_order_relaxed);
  int64_t seen = g_smallest.load(std::memory_order_relaxed);
  while (bytes < seen && !g_smallest.compare_exchange_weak(seen, bytes, std::memory_order_relaxed)) {
  }
}

int64_t recorded_size() noexcept { return g_recorded_size.load(std::memory_order_relaxed); }

void note_block(const void* p, size_t bytes) noexcept {
  if (static_cast<int64_t>(bytes) < recorded_size()) [[likely]]
    return;
  try {
    const OriginId origin = current_origin();
    Blocks& b = Blocks::all();
    std::lock_guard guard(b.mutex);
    b.live[p] = {static_cast<int64_t>(bytes), origin};
  } catch (const std::bad_alloc&) {
    // The block itself is there; the report will lack it.
  }
}

void forget_block(const void* p, size_t bytes) noexcept {
  if (static_cast<int64_t>(bytes) < g_smallest.load(std::memory_order_relaxed)) [[likely]]
    return;
  Blocks& b = Blocks::all();
  std::lock_guard guard(b.mutex);
  b.live.erase(p);
}

std::vector<LiveGroup> live_groups() {
  std::unordered_map<OriginId, LiveGroup> groups;
  {
    Blocks& b = Blocks::all();
    std::lock_guard guard(b.mutex);
    for (const auto& [p, block] : b.live) {
      LiveGroup& group = groups[block.origin];
      group.bytes += block.bytes;
      ++group.blocks;
    }
  }
  std::vector<LiveGroup> sorted;
  for (auto& [id, group] : groups) {
    group.origin = origin_of(id);
    sorted.push_back(std::move(group));
  }
  std::ranges::sort(sorted, [](const LiveGroup& a, const LiveGroup& b) { return a.bytes > b.bytes; });
  return sorted;
}

std::string readable_bytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

std::string largest_groups() {
  std::string text;
  const auto groups = live_groups();
  for (size_t i = 0; i < std::min<size_t>(groups.size(), 10); ++i) {
    const LiveGroup& g = groups[i];
    text += cat("\n  ", readable_bytes(g.bytes), " in ", g.blocks,
                g.blocks == 1 ? " block: " : " blocks: ", g.origin.scope, g.origin.scope.empty() ? "" : ", ");
    if (g.origin.file.empty())
      text += "no line of the program is known";
    else
      text += cat(g.origin.file, ":", g.origin.line, " in ", g.origin.function);
  }
  return text;
}

}  // namespace tl
