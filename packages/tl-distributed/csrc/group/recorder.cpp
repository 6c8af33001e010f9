#include "group/recorder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr uint64_t kMagic = 0x3152464c54;  // "TLFR1"

RecordRing* mapped(int descriptor) {
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, sizeof(RecordRing), PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (memory == MAP_FAILED)
    throw Error(TL_ERROR_RUNTIME, std::string("the flight recorder: ") + std::strerror(errno));
  auto* ring = static_cast<RecordRing*>(memory);
  ring->magic = kMagic;
  ring->pid = getpid();
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
  ring_->rank = rank;
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

std::vector<const Record*> Recorder::all() const {
  std::vector<const Record*> found;
  const uint64_t next = ring_->next.load(std::memory_order_acquire);
  for (uint64_t i = next > kRecords ? next - kRecords : 0; i < next; ++i)
    found.push_back(&ring_->records[i % kRecords]);
  return found;
}

}  // namespace tl::distributed
