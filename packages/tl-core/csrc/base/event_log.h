// What happened and when: events that threads note while a recording is on, each thread in blocks of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace tl {

enum class EventKind : uint8_t {
  Operator,    // what: the operator
  Node,        // of the backward; payload: its name
  Evaluation,  // a node with its hooks and what becomes of its gradients
  Range,       // a labelled block; payload: name and arguments
  Module,      // the forward of a module; payload: its name
  Call,        // of a Python function; what: its code object
  NativeCall,  // of a built-in function; what: the function's definition
  Memory,      // an instant: what: the address; number: bytes, negative when they are given back
  Results,     // of the operator that ended just before; payload: the values
  Mark,        // an instant; payload: its name
};

struct Event {
  static constexpr int64_t kOpen = -1;

  uint32_t bytes;  // with the payload behind it
  EventKind kind;
  uint8_t n_values;  // values in the payload
  uint16_t scope;    // of a range: what the caller says it is
  int64_t start;     // while a recording is on in ticks, then in nanoseconds of the steady clock
  std::atomic<int64_t> end;
  const void* what;
  int64_t number;       // sequence number of the recorded call, -1: none; or bytes
  uint32_t stack;       // call_stacks.h; 0: not asked for
  uint32_t text_bytes;  // the payload begins with a text; values follow, aligned to 8 bytes

  char* payload() { return reinterpret_cast<char*>(this + 1); }
  const char* payload() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view text() const { return {payload(), text_bytes}; }
  static constexpr size_t aligned(size_t bytes) { return (bytes + 7) & ~size_t{7}; }
  char* values() { return payload() + aligned(text_bytes); }
  const char* values() const { return payload() + aligned(text_bytes); }
};

struct RecordingOptions {
  bool values = false;   // of arguments: shapes, types, numbers
  bool results = false;  // and of what operators return
  bool stacks = false;
  bool memory = false;
  bool operators = true;     // of the calling thread
  bool all_threads = false;  // and of all others
  uint64_t most_bytes = 0;   // of a thread's events: the oldest make room for the newest; 0: as many as come
};

// The events of one thread in one recording, in the order in which they began. With a bound the blocks are a
// ring.
class EventLog {
 public:
  static constexpr size_t kBlockBytes = size_t{1} << 18;

  EventLog(uint64_t session, int64_t thread, uint32_t number, uint64_t most_bytes);
  ~EventLog();
  EventLog(const EventLog&) = delete;

  // Room for an event, whose fields but `bytes` are the caller's; it counts once it is published.
  Event* add(size_t payload_bytes);
  void publish(const Event* e) noexcept;

  // The number of the block in which the latest event lies. It tells the thread as well, and grows.
  uint64_t newest_block() const { return last_->number; }
  // Whether the block that had this number is still one of this log.
  bool holds(uint64_t block) const { return first_->number <= block && block <= last_->number; }

  // From now on nothing is forgotten, so that others may read.
  void seal();
  uint64_t forgotten() const { return forgotten_; }  // events; of a log that is sealed

  template <class F>
  void each(F&& f) const {
    for (Block* b = first_; b; b = b->next.load(std::memory_order_acquire)) b->each(f);
  }

  const uint64_t session;
  const int64_t thread;   // the system's number
  const uint32_t number;  // 1, 2, …: of the threads of this process in the order in which they were recorded

 private:
  struct Block {
    std::atomic<Block*> next{nullptr};
    std::atomic<size_t> used{0};
    size_t size;
    uint64_t number;
    char* data() { return reinterpret_cast<char*>(this + 1); }
    template <class F>
    void each(F&& f) {
      const size_t end = used.load(std::memory_order_acquire);
      for (size_t at = 0; at < end;) {
        auto* e = reinterpret_cast<Event*>(data() + at);
        f(*e);
        at += e->bytes;
      }
    }
  };
  Block* new_block(size_t bytes);
  void release(Block* block) noexcept;
  void make_room(size_t bytes);

  const uint64_t most_bytes_;
  uint64_t held_bytes_ = 0, forgotten_ = 0;
  std::mutex mutex_;  // of what a reader must not see going: the first block
  bool sealed_ = false;
  Block *first_, *last_;
};

using EventLogs = std::vector<std::shared_ptr<EventLog>>;

int64_t event_clock() noexcept;  // nanoseconds of the steady clock
int64_t event_ticks() noexcept;  // the processor's counter where it is a clock, else the same

// One recording at a time. `stop` returns the logs of all threads.
void start_recording(const RecordingOptions& options);  // raises RuntimeError if there is one
EventLogs stop_recording();
bool is_recording() noexcept;
const RecordingOptions& recording_options() noexcept;  // of the one that is on

// Whether the calling thread has noted something in the recording that is on.
bool has_own_log() noexcept;
// The calling thread's log in the recording that is on, made if there is none; NULL without one.
EventLog* own_log() noexcept;

// An event that has begun. Its memory is a log's: once that is over or has forgotten it, nothing is written.
struct OpenEvent {
  Event* event = nullptr;  // NULL: nothing is recorded
  uint64_t block = 0;      // the number of its block
  explicit operator bool() const { return event; }
};

// An event of the calling thread that lasts until `end_event`, on the same thread.
OpenEvent begin_event(EventKind kind, std::string_view text, size_t more_bytes = 0) noexcept;
void end_event(const OpenEvent& open) noexcept;

// What the language binding lends: a number for the stack that is running, 0 if it cannot be read.
void set_stack_source(uint32_t (*source)());
uint32_t running_stack() noexcept;
// The number of the next node of the backward on this thread; -1 if nothing records.
void set_sequence_source(int64_t (*source)());
int64_t next_sequence_number() noexcept;

}  // namespace tl
