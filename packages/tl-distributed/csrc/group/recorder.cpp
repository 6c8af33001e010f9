// The flight recorder: a ring of records in mapped memory, entries claimed by an atomic counter.
#include "group/recorder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "base/clock.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr uint64_t kMagic = 0x3252464c54;  // "TLFR2"

int64_t epoch() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec - now_ns();
}

RecordRing* mapped(int descriptor) {
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, sizeof(RecordRing), PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (memory == MAP_FAILED)
    throw Error(TL_ERROR_RUNTIME, std::string("the flight recorder: ") + std::strerror(errno));
  auto* ring = static_cast<RecordRing*>(memory);
  ring->magic = kMagic;
  ring->pid = getpid();
  ring->epoch = epoch();
  return ring;
}
}  // namespace

Recorder::Recorder() : ring_(mapped(-1)) {}

Recorder& Recorder::instance() {
  static Recorder* const recorder = new Recorder();
  return *recorder;
}

void Recorder::use(int descriptor) {
  if (ftruncate(descriptor, sizeof(RecordRing)) != 0)
    throw Error(TL_ERROR_RUNTIME, std::string("the flight recorder: ") + std::strerror(errno));
  ring_ = mapped(descriptor);
}

Record* Recorder::begin(const Call& call, const std::string& group, int rank) {
  Record& record = ring_->records[ring_->next.fetch_add(1, std::memory_order_relaxed) % kRecords];
  std::atomic_ref(ring_->rank).store(rank, std::memory_order_relaxed);  // ranks may be threads
  record.stage.store(Stage::kEmpty, std::memory_order_relaxed);
  record.call = call;
  record.ended = 0;
  std::strncpy(record.group, group.c_str(), sizeof record.group - 1);
  record.stage.store(Stage::kRunning, std::memory_order_release);
  return &record;
}

void Recorder::end(Record* record, bool well) {
  record->ended = now_ns();
  record->stage.store(well ? Stage::kDone : Stage::kFailed, std::memory_order_release);
}

std::vector<const Record*> records_of(const RecordRing& ring) {
  std::vector<const Record*> records;
  const uint64_t next = ring.next.load(std::memory_order_acquire);
  for (uint64_t i = next > kRecords ? next - kRecords : 0; i < next; ++i)
    records.push_back(&ring.records[i % kRecords]);
  return records;
}

const RecordRing& ring_in(const void* memory, size_t bytes) {
  const auto* ring = static_cast<const RecordRing*>(memory);
  if (bytes < sizeof(RecordRing) || ring->magic != kMagic)
    throw Error(TL_ERROR_VALUE, "no flight recorder: " + std::to_string(bytes) + " bytes, of " +
                                    std::to_string(sizeof(RecordRing)) + ", or of another kind");
  for (const Record* r : records_of(*ring))
    if (r->call.kind > Kind::kReceive || r->call.reduction > Reduction::kNone ||
        r->stage.load() > Stage::kFailed || r->group[sizeof r->group - 1] != 0)
      throw Error(TL_ERROR_VALUE, "a flight recorder that is damaged");
  return *ring;
}

}  // namespace tl::distributed
