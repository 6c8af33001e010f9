// The caching allocator: per-thread lists of size classes, a shared depot, a bounded cache of large blocks.
#include "base/allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/block_cache.h"
#include "base/cgroup.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/live_allocations.h"
#include "base/memory_history.h"
#include "base/size_class.h"
#include "base/slab.h"
#include "base/thread_local.h"

namespace tl {

namespace {

#ifdef TL_NO_FREELISTS
constexpr bool kReuse = false;
#else
constexpr bool kReuse = true;
#endif

// A counter one thread writes and others may read: no read-modify-write on the bus.
class OwnCounter {
 public:
  int64_t get() const { return value_.load(std::memory_order_relaxed); }
  void set(int64_t x) { value_.store(x, std::memory_order_relaxed); }
  void add(int64_t x) { set(get() + x); }

 private:
  std::atomic<int64_t> value_{0};
};

// A free block of the small and mid classes. The first of a batch in the depot also says where the next batch
// is.
struct FreeBlock {
  FreeBlock* next;
  FreeBlock* next_batch;
  int64_t batch_size;
};
static_assert(sizeof(FreeBlock) <= kBlockAlignment);

// How many blocks of a class move between a thread and the others at once, and how many a thread keeps.
constexpr int64_t batch_of(int c) {
  return c < kSmallClasses ? std::clamp<int64_t>((64 << 10) / class_size(c), 32, 512) : 1;
}
constexpr int64_t cached_by_thread(int c) {
  return c < kSmallClasses ? 2 * batch_of(c) : std::max<int64_t>(kMidMax / class_size(c), 2);
}

struct Bin {
  FreeBlock* head = nullptr;
  OwnCounter room;  // blocks it may still take

  FreeBlock* pop() {
    FreeBlock* block = head;
    head = block->next;
    room.add(1);
    return block;
  }
  void push(void* p) {
    head = new (p) FreeBlock{head, nullptr, 0};
    room.add(-1);
  }
};

// Above this a thread's share of `current` is told to the others.
constexpr int64_t kBlur = 64 << 10;

}  // namespace

struct AllocatorLists {
  Bin bins[kThreadClasses];
  Slab slab;
  OwnCounter live,
      high;  // since the last publish(): bytes allocated minus freed, and the highest value of that
  OwnCounter allocations;
  AllocatorLists* next = nullptr;  // of all threads
  AllocatorLists* previous = nullptr;
};

namespace {

// ---- what all threads share -------------------------------------------------------------------------------
struct Shared {
  std::mutex mutex;                                   // guards all but the atomics
  std::atomic<FreeBlock*> depot[kSmallClasses] = {};  // written under the mutex, and looked at without it
  int64_t depot_bytes = 0;
  BlockCache cache;
  SlabSource slabs;
  AllocatorLists* threads = nullptr;
  int64_t past_allocations = 0;  // of threads that ended

  std::atomic<int64_t> live{0}, peak{0};
  std::atomic<int64_t> highest{
      0};  // `peak` as if nobody reset it: the footprint the program has shown to need

  int64_t keep_always, keep_at_most;  // bounds for the cache
  int64_t cache_limit() const;

  std::atomic<int64_t> limit;              // of `live`; none: the largest number
  std::atomic<bool> limits_process{true};  // the limit is the container's: it holds for all of the process
  bool fits(int64_t bytes);

  Shared();
};

// Never destroyed: other static objects may free memory after it.
Shared& shared() {
  static Shared& s = *new Shared;
  return s;
}

Shared::Shared() {
  const int64_t memory = usable_memory();
  keep_always = std::min<int64_t>(int64_t{512} << 20, memory / 8);
  keep_at_most = memory / 2;
  limit = memory_quota();
  register_fork_lock(ForkOrder::Allocator, [] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); });
}

// Live and cached together stay below the highest live size so far, or a fixed amount above the present one.
int64_t Shared::cache_limit() const {
  const int64_t unused = highest.load(std::memory_order_relaxed) - live.load(std::memory_order_relaxed);
  return std::max(keep_always, std::min(unused, keep_at_most));
}

// Memory of the process that is not the allocator's: the interpreter, libraries, stacks.
int64_t foreign_memory(int64_t own) { return std::max<int64_t>(resident_memory() - own, 0); }

// Would the limit hold with so many bytes more? Gives the cached blocks back if they stand in the way.
bool Shared::fits(int64_t bytes) {
  const int64_t most = limit.load(std::memory_order_relaxed);
  const int64_t needed = live.load(std::memory_order_relaxed) + bytes;
  if (needed <= most / 2) [[likely]]
    return true;
  int64_t cached;
  {
    std::lock_guard guard(mutex);
    cached = cache.bytes();
  }
  const bool whole = limits_process.load(std::memory_order_relaxed);
  const int64_t foreign = whole ? foreign_memory(needed - bytes + cached) : 0;
  if (whole && needed + cached + foreign > most) empty_cache();
  return needed + foreign <= most;
}

void raise_to(std::atomic<int64_t>& maximum, int64_t x) {
  int64_t seen = maximum.load(std::memory_order_relaxed);
  while (seen < x && !maximum.compare_exchange_weak(seen, x, std::memory_order_relaxed)) {
  }
}

[[gnu::noinline]] void publish(AllocatorLists& t) {
  Shared& s = shared();
  const int64_t high = t.high.get(), before = s.live.fetch_add(t.live.get(), std::memory_order_relaxed);
  t.live.set(0);
  t.high.set(0);
  raise_to(s.peak, before + high);
  raise_to(s.highest, before + high);
}

inline void count_allocation(AllocatorLists& t, size_t bytes) {
  const int64_t live = t.live.get() + static_cast<int64_t>(bytes);
  t.live.set(live);
  t.allocations.add(1);
  if (live <= t.high.get()) return;
  t.high.set(live);
  if (live > kBlur) [[unlikely]]
    publish(t);
}

inline void count_free(AllocatorLists& t, size_t bytes) {
  const int64_t live = t.live.get() - static_cast<int64_t>(bytes);
  t.live.set(live);
  if (live < -kBlur) [[unlikely]]
    publish(t);
}

// ---- a thread's lists -------------------------------------------------------------------------------------
[[gnu::noinline]] AllocatorLists* make_lists() {
  Shared& s = shared();
  auto* lists = new AllocatorLists;
  for (int c = 0; c < kThreadClasses; ++c) lists->bins[c].room.set(cached_by_thread(c));
  std::lock_guard guard(s.mutex);
  lists->next = s.threads;
  if (s.threads) s.threads->previous = lists;
  return s.threads = lists;
}

AllocatorLists& own_lists() {
  ThreadLocals& t = thread_locals();
  if (!t.lists) t.lists = make_lists();
  return *t.lists;
}

// Takes up to `count` blocks off the bin, as a batch.
FreeBlock* cut_batch(Bin& bin, int64_t count) {
  FreeBlock *first = bin.head, *last = first;
  int64_t n = 1;
  for (; n < count && last->next; ++n) last = last->next;
  bin.head = last->next;
  last->next = nullptr;
  bin.room.add(n);
  first->batch_size = n;
  return first;
}

void put_in_depot(Shared& s, int c, FreeBlock* batch) {
  batch->next_batch = s.depot[c].load(std::memory_order_relaxed);
  s.depot[c].store(batch, std::memory_order_relaxed);
  s.depot_bytes += batch->batch_size * static_cast<int64_t>(class_size(c));
}

FreeBlock* take_from_depot(Shared& s, int c) {
  FreeBlock* batch = s.depot[c].load(std::memory_order_relaxed);
  if (!batch) return nullptr;
  s.depot[c].store(batch->next_batch, std::memory_order_relaxed);
  s.depot_bytes -= batch->batch_size * static_cast<int64_t>(class_size(c));
  return batch;
}

// Cuts a page's worth of blocks from the thread's slab: few pages are touched before they are needed.
void cut_slab(AllocatorLists& t, int c) {
  const size_t size = class_size(c), count = std::min(std::max<size_t>(4096 / size, 1), t.slab.size() / size);
  char* const begin = t.slab.begin;
  t.slab.begin += count * size;
  for (size_t i = count; i-- > 0;) t.bins[c].push(begin + i * size);
}

// Puts blocks of a small class in the thread's empty list; false when there is no memory.
bool refill(AllocatorLists& t, int c) {
  Shared& s = shared();
  if (t.slab.size() < class_size(c) || s.depot[c].load(std::memory_order_relaxed)) {
    std::lock_guard guard(s.mutex);
    if (FreeBlock* batch = take_from_depot(s, c)) {
      t.bins[c].head = batch;
      t.bins[c].room.add(-batch->batch_size);
      return true;
    }
    if (t.slab.size() < class_size(c)) {
      const Slab fresh = s.slabs.take();
      if (fresh.size() == 0) return false;
      t.slab = fresh;
    }
  }
  cut_slab(t, c);
  return true;
}

// ---- blocks above 2 KB ------------------------------------------------------------------------------------
void* take_or_obtain(int c) {
  Shared& s = shared();
  BlockCache::Block* surplus;
  {
    std::lock_guard guard(s.mutex);
    if (void* p = s.cache.take(c)) return p;
    surplus = s.cache.trim(s.cache_limit() - static_cast<int64_t>(class_size(c)));
  }
  BlockCache::release(surplus);
  return obtain_block(c);
}

void keep(void* p, int c) {
  Shared& s = shared();
  BlockCache::Block* surplus;
  {
    std::lock_guard guard(s.mutex);
    s.cache.put(p, c);
    surplus = s.cache.trim(s.cache_limit());
  }
  BlockCache::release(surplus);
}

void* take_once(AllocatorLists& t, int c) {
  if (c < kThreadClasses && t.bins[c].head) return t.bins[c].pop();
  if (c >= kSmallClasses) return take_or_obtain(c);
  return refill(t, c) ? t.bins[c].pop() : nullptr;
}

void* take_plain(size_t bytes) {
  void* p = nullptr;
  return posix_memalign(&p, kBlockAlignment, std::max<size_t>(bytes, 1)) == 0 ? p : nullptr;
}

void* take(AllocatorLists& t, size_t bytes) {
  if (bytes > kLargeMax) return nullptr;
  if constexpr (!kReuse) return take_plain(bytes);
  const int c = size_class(bytes);
  void* p = take_once(t, c);
  if (p) return p;
  empty_cache();
  return take_once(t, c);
}

std::string held() {
  const std::string groups = largest_groups();
  return groups.empty() ? groups : cat("\nThe largest blocks in use come from:", groups);
}

[[noreturn, gnu::cold]] void fail_at_limit(size_t bytes) {
  Shared& s = shared();
  note_out_of_memory(bytes);
  fail(ErrorKind::OutOfMemory, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
       " bytes (", readable_bytes(static_cast<int64_t>(bytes)), "), but tensors hold ",
       readable_bytes(s.live.load(std::memory_order_relaxed)), " and ",
       s.limits_process.load(std::memory_order_relaxed) ? "the process may use " : "the limit is ",
       readable_bytes(s.limit.load(std::memory_order_relaxed)), " (tl.cpu.set_memory_limit changes it)",
       held());
}

[[gnu::noinline]] void* allocate_slowly(size_t bytes) {
  AllocatorLists& t = own_lists();
  if (bytes <= kLargeMax && !shared().fits(static_cast<int64_t>(bytes))) [[unlikely]]
    fail_at_limit(bytes);
  void* p = take(t, bytes);
  if (!p) [[unlikely]]
    note_out_of_memory(bytes);
  TL_CHECK(p, OutOfMemory, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
           " bytes. Error code 12 (Cannot allocate memory)", held());
  count_allocation(t, bytes);
  note_block(p, bytes);
  return p;
}

// Makes room in a full list of the thread.
void spill(AllocatorLists& t, int c) {
  FreeBlock* batch = cut_batch(t.bins[c], batch_of(c));
  if (c >= kSmallClasses) return keep(batch, c);
  std::lock_guard guard(shared().mutex);
  put_in_depot(shared(), c, batch);
}

[[gnu::noinline]] void deallocate_slowly(void* p, size_t bytes) {
  AllocatorLists& t = own_lists();
  count_free(t, bytes);
  forget_block(p, bytes);
  if constexpr (!kReuse) return std::free(p);
  const int c = size_class(bytes);
  if (c >= kThreadClasses) return keep(p, c);
  if (t.bins[c].room.get() <= 0) spill(t, c);
  t.bins[c].push(p);
}

void spill_all(AllocatorLists& t, int first_class) {
  for (int c = first_class; c < kThreadClasses; ++c)
    while (t.bins[c].head) spill(t, c);
}

}  // namespace

void* allocate(size_t bytes) {
  const ThreadLocals* locals = detail::t_locals;
  if (kReuse && bytes <= kSmallMax && locals && locals->lists) [[likely]] {
    AllocatorLists& t = *locals->lists;
    Bin& bin = t.bins[size_class(bytes)];
    if (bin.head) [[likely]] {
      void* p = bin.pop();
      count_allocation(t, bytes);
      return p;
    }
  }
  return allocate_slowly(bytes);
}

void deallocate(void* p, size_t bytes) noexcept {
  const ThreadLocals* locals = detail::t_locals;
  if (kReuse && bytes <= kSmallMax && locals && locals->lists) [[likely]] {
    AllocatorLists& t = *locals->lists;
    Bin& bin = t.bins[size_class(bytes)];
    if (bin.room.get() > 0) [[likely]] {
      bin.push(p);
      return count_free(t, bytes);
    }
  }
  deallocate_slowly(p, bytes);
}

void start_allocator() {
  shared();
  live_groups();
  origin_of(0);
}

void release_lists(AllocatorLists* lists) noexcept {
  if (!lists) return;
  spill_all(*lists, 0);
  publish(*lists);
  Shared& s = shared();
  {
    std::lock_guard guard(s.mutex);
    s.slabs.put(lists->slab);
    s.past_allocations += lists->allocations.get();
    (lists->previous ? lists->previous->next : s.threads) = lists->next;
    if (lists->next) lists->next->previous = lists->previous;
  }
  delete lists;
}

MemoryStats memory_stats() {
  Shared& s = shared();
  std::lock_guard guard(s.mutex);
  MemoryStats stats;
  stats.current = s.live.load(std::memory_order_relaxed);
  stats.allocations = s.past_allocations;
  stats.cached = s.cache.bytes() + s.depot_bytes;
  int64_t high = stats.current;
  for (const AllocatorLists* t = s.threads; t; t = t->next) {
    stats.current += t->live.get();
    high += t->high.get();
    stats.allocations += t->allocations.get();
    for (int c = 0; c < kThreadClasses; ++c)
      stats.cached += (cached_by_thread(c) - t->bins[c].room.get()) * static_cast<int64_t>(class_size(c));
  }
  stats.peak = std::max(s.peak.load(std::memory_order_relaxed), high);
  return stats;
}

void reset_peak() {
  publish(own_lists());
  Shared& s = shared();
  std::lock_guard guard(s.mutex);
  int64_t live = s.live.load(std::memory_order_relaxed);
  for (const AllocatorLists* t = s.threads; t; t = t->next) live += t->live.get();
  s.peak.store(live, std::memory_order_relaxed);
}

void set_memory_limit(int64_t bytes) {
  Shared& s = shared();
  s.limits_process.store(bytes < 0, std::memory_order_relaxed);
  s.limit.store(bytes < 0 ? memory_quota() : bytes, std::memory_order_relaxed);
}

int64_t memory_limit() { return shared().limit.load(std::memory_order_relaxed); }

void empty_cache() noexcept {
  const ThreadLocals* locals = detail::t_locals;
  if (locals && locals->lists) spill_all(*locals->lists, kSmallClasses);
  Shared& s = shared();
  BlockCache::Block* all;
  {
    std::lock_guard guard(s.mutex);
    all = s.cache.trim(0);
  }
  BlockCache::release(all);
}

}  // namespace tl
