// The event log: threads append to blocks of their own without a lock; ticks become times by a straight line.
#include "base/event_log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/fork.h"
#include "base/thread_local.h"

namespace tl {

namespace {
constinit thread_local EventLog* t_log = nullptr;  // of the latest recording the thread was in
constinit thread_local uint32_t t_number = 0;
// Keeps that log; apart from the pointer, whose readers need not ask whether it has been made.
thread_local std::shared_ptr<EventLog> t_own_log;

// Blocks are numbered through the life of the process, a thread's behind its own number.
constexpr int kSerialBits = 40;
std::atomic<uint64_t> g_blocks{1};

// ---- ticks ------------------------------------------------------------------------------------------------
bool counter_is_clock() {
#if defined(__x86_64__)
  char name[8] = {};
  std::FILE* f = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
  if (!f) return false;
  const size_t n = std::fread(name, 1, sizeof name - 1, f);
  std::fclose(f);
  return n >= 3 && std::strncmp(name, "tsc", 3) == 0;
#else
  return false;
#endif
}
bool g_counter_is_clock = false;  // known from the first recording on

struct ClockPair {
  int64_t ticks = 0, ns = 0;
  static ClockPair now() {
    const int64_t before = event_ticks(), ns = event_clock(), after = event_ticks();
    return {before + (after - before) / 2, ns};
  }
};

// A straight line through the recording's begin and end.
class TickScale {
 public:
  TickScale(ClockPair begin, ClockPair end)
      : begin_(begin),
        ratio_(end.ticks > begin.ticks
                   ? static_cast<double>(end.ns - begin.ns) / static_cast<double>(end.ticks - begin.ticks)
                   : 1.0) {}
  int64_t operator()(int64_t ticks) const {
    return begin_.ns + std::llround(static_cast<double>(ticks - begin_.ticks) * ratio_);
  }

 private:
  ClockPair begin_;
  double ratio_;
};

// ---- memory for logs: pages are dear when they are touched first, so some are kept ------------------------
struct Spare {
  static constexpr size_t kMost = 512;
  std::mutex mutex;
  std::vector<void*> blocks;
};
Spare& spare() {
  static Spare& s = *new Spare;
  return s;
}

void* take_spare() {
  Spare& s = spare();
  std::lock_guard guard(s.mutex);
  if (s.blocks.empty()) return nullptr;
  void* block = s.blocks.back();
  s.blocks.pop_back();
  return block;
}

bool put_spare(void* block) noexcept {
  Spare& s = spare();
  std::lock_guard guard(s.mutex);
  if (s.blocks.size() >= Spare::kMost) return false;
  try {
    s.blocks.push_back(block);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

struct Recording {
  std::mutex mutex;
  EventLogs logs;
  RecordingOptions options;
  std::atomic<uint64_t> session{0};  // of the recording that is on; 0: none
  uint64_t sessions = 0;
  uint32_t threads = 0;  // that were ever recorded
  ClockPair begin;

  Recording();
};

Recording& recording() {
  static Recording& r = *new Recording;
  return r;
}

// A child begins without a recording: the parent's says what the parent does.
Recording::Recording() {
  register_fork_lock(
      ForkOrder::Events, [] { recording().mutex.lock(); }, [] { recording().mutex.unlock(); },
      [] {
        recording().session.store(0, std::memory_order_relaxed);
        detail::g_included_everywhere.store(0, std::memory_order_relaxed);
      });
}

std::atomic<uint32_t (*)()> g_stack_source{nullptr};
std::atomic<int64_t (*)()> g_sequence_source{nullptr};

EventLog* join(Recording& r) {
  std::lock_guard guard(r.mutex);
  const uint64_t session = r.session.load(std::memory_order_relaxed);
  if (!session) return nullptr;
  if (!t_number) t_number = ++r.threads;
  t_own_log = std::make_shared<EventLog>(session, syscall(SYS_gettid), t_number, r.options.most_bytes);
  r.logs.push_back(t_own_log);
  return t_log = t_own_log.get();
}
}  // namespace

// ---- a thread's log ---------------------------------------------------------------------------------------
EventLog::Block* EventLog::new_block(size_t bytes) {
  void* memory = bytes == kBlockBytes ? take_spare() : nullptr;
  if (!memory) memory = std::malloc(sizeof(Block) + bytes);
  if (!memory) throw std::bad_alloc();
  auto* block = new (memory) Block;
  block->size = bytes;
  block->number = uint64_t{number} << kSerialBits | g_blocks.fetch_add(1, std::memory_order_relaxed);
  held_bytes_ += bytes;
  return block;
}

void EventLog::release(Block* block) noexcept {
  held_bytes_ -= block->size;
  if (block->size != kBlockBytes || !put_spare(block)) std::free(block);
}

EventLog::EventLog(uint64_t s, int64_t t, uint32_t n, uint64_t most_bytes)
    : session(s),
      thread(t),
      number(n),
      most_bytes_(most_bytes),
      first_(new_block(kBlockBytes)),
      last_(first_) {}

EventLog::~EventLog() {
  for (Block* b = first_; b;) release(std::exchange(b, b->next.load(std::memory_order_relaxed)));
}

// Drops the oldest blocks of a ring until there is room for another; the last, which is written, stays.
void EventLog::make_room(size_t bytes) {
  if (!most_bytes_ || held_bytes_ + bytes <= most_bytes_) return;
  std::lock_guard guard(mutex_);
  while (!sealed_ && first_ != last_ && held_bytes_ + bytes > most_bytes_) {
    first_->each([this](const Event&) { ++forgotten_; });
    release(std::exchange(first_, first_->next.load(std::memory_order_relaxed)));
  }
}

void EventLog::seal() {
  std::lock_guard guard(mutex_);
  sealed_ = true;
}

Event* EventLog::add(size_t payload_bytes) {
  const size_t bytes = Event::aligned(sizeof(Event) + payload_bytes);
  size_t used = last_->used.load(std::memory_order_relaxed);
  if (last_->size - used < bytes) {
    const size_t wanted = std::max(kBlockBytes, bytes);
    make_room(wanted);
    Block* fresh = new_block(wanted);
    last_->next.store(fresh, std::memory_order_release);
    last_ = fresh;
    used = 0;
  }
  auto* e = new (last_->data() + used) Event;
  e->bytes = static_cast<uint32_t>(bytes);
  return e;
}

void EventLog::publish(const Event* e) noexcept {
  last_->used.store(last_->used.load(std::memory_order_relaxed) + e->bytes, std::memory_order_release);
}

// ---- the recording ----------------------------------------------------------------------------------------
int64_t event_clock() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t event_ticks() noexcept {
#if defined(__x86_64__)
  if (g_counter_is_clock) return static_cast<int64_t>(__builtin_ia32_rdtsc());
#endif
  return event_clock();
}

void start_recording(const RecordingOptions& options) {
  Recording& r = recording();
  std::lock_guard guard(r.mutex);
  TL_CHECK(!r.session.load(std::memory_order_relaxed), Runtime,
           "a profiler is already enabled: profiles do not nest");
  if (r.sessions == 0) g_counter_is_clock = counter_is_clock();
  r.options = options;
  r.logs.clear();
  r.begin = ClockPair::now();
  r.session.store(++r.sessions, std::memory_order_release);
}

namespace {
// An event that was still running, or is ended while this goes on, keeps no end.
void to_nanoseconds(Event& e, const TickScale& scale, int64_t last) {
  const int64_t end = e.end.load(std::memory_order_relaxed);
  const bool ended = end >= e.start && end <= last;
  e.start = scale(e.start);
  e.end.store(ended ? scale(end) : Event::kOpen, std::memory_order_relaxed);
}
}  // namespace

EventLogs stop_recording() {
  Recording& r = recording();
  EventLogs logs;
  {
    std::lock_guard guard(r.mutex);
    r.session.store(0, std::memory_order_release);
    logs.swap(r.logs);
  }
  const ClockPair end = ClockPair::now();
  const TickScale scale(r.begin, end);
  for (const auto& log : logs) log->seal();
  for (const auto& log : logs) log->each([&](Event& e) { to_nanoseconds(e, scale, end.ticks); });
  t_log = nullptr;
  t_own_log.reset();
  return logs;
}

bool is_recording() noexcept { return recording().session.load(std::memory_order_acquire) != 0; }
const RecordingOptions& recording_options() noexcept { return recording().options; }

bool has_own_log() noexcept {
  const uint64_t session = recording().session.load(std::memory_order_acquire);
  return session && t_log && t_log->session == session;
}

EventLog* own_log() noexcept {
  Recording& r = recording();
  const uint64_t session = r.session.load(std::memory_order_acquire);
  if (!session) return nullptr;
  if (t_log && t_log->session == session) [[likely]]
    return t_log;
  try {
    return join(r);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

OpenEvent begin_event(EventKind kind, std::string_view text, size_t more_bytes) noexcept {
  EventLog* log = own_log();
  if (!log) return {};
  try {
    Event* e = log->add(Event::aligned(text.size()) + more_bytes);
    e->kind = kind;
    e->n_values = 0;
    e->scope = 0;
    e->end.store(Event::kOpen, std::memory_order_relaxed);
    e->what = nullptr;
    e->number = -1;
    e->stack = 0;
    e->text_bytes = static_cast<uint32_t>(text.size());
    if (!text.empty()) std::memcpy(e->payload(), text.data(), text.size());
    e->start = event_ticks();
    log->publish(e);
    return {e, log->newest_block()};
  } catch (const std::bad_alloc&) {
    return {};  // the event is lost, what it would tell of goes on
  }
}

void end_event(const OpenEvent& open) noexcept {
  if (open && t_log && t_log->holds(open.block) && own_log() == t_log)
    open.event->end.store(event_ticks(), std::memory_order_relaxed);
}

void set_stack_source(uint32_t (*source)()) { g_stack_source.store(source, std::memory_order_release); }
uint32_t running_stack() noexcept {
  const auto source = g_stack_source.load(std::memory_order_acquire);
  return source ? source() : 0;
}

void set_sequence_source(int64_t (*source)()) { g_sequence_source.store(source, std::memory_order_release); }
int64_t next_sequence_number() noexcept {
  const auto source = g_sequence_source.load(std::memory_order_acquire);
  return source ? source() : -1;
}

}  // namespace tl
