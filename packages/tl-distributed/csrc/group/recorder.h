// The flight recorder: the last operations of this rank, in a ring that may outlive the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "local/futex.h"
#include "ranks/call.h"

namespace tl::distributed {

inline constexpr int kRecords = 2000;

enum class Stage : uint32_t { kEmpty, kQueued, kRunning, kDone, kFailed };

struct Record {
  Call call;
  int64_t ended;
  char group[40];
  std::atomic<Stage> stage;
};

// The layout in memory: a reader checks the magic number, then reads from `next` modulo kRecords. `epoch` is
// the offset from times of this machine to times of day.
struct RecordRing {
  uint64_t magic;
  int32_t rank, pid;
  int64_t epoch;
  std::atomic<uint64_t> next;
  Record records[kRecords];
};

// The ring in some memory, which may be that of another process, or a file.
const RecordRing& ring_in(const void* memory, size_t bytes);
std::vector<const Record*> records_of(const RecordRing& ring);  // the oldest first

class Recorder {
 public:
  static Recorder& instance();
  void use(int descriptor);  // moves the ring to memory that another process shares
  Record* begin(const Call& call, const std::string& group, int rank);
  static void end(Record* record, bool well);
  const RecordRing& ring() const { return *ring_; }

 private:
  Recorder();
  RecordRing* ring_;
};

}  // namespace tl::distributed
