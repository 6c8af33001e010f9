// The call of a rank: the fingerprint by which all ranks compare their calls.
#pragma once

#include <cstdint>
#include <string>

namespace tl::distributed {

enum class Kind : uint8_t {
  kNone,
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kGather,
  kScatter,
  kReduceScatter,
  kAllToAll,
  kBarrier,
  kSend,
  kReceive,
};

enum class Reduction : uint8_t { kSum, kAverage, kProduct, kMin, kMax, kAnd, kOr, kXor, kNone };

// The layout in the segment. `count` are elements; `shape` is a hash of the parts' sizes; `arena_offset` is
// the tensor's offset in the rank's arena, or -1.
struct Call {
  uint64_t sequence = 0;
  int64_t dtype = 0;
  int64_t count = 0;
  uint64_t shape = 0;
  int64_t arena_offset = -1;
  int64_t began = 0;
  int32_t root = -1;
  Kind kind = Kind::kNone;
  Reduction reduction = Reduction::kNone;
  uint8_t reserved[2] = {};

  bool agrees(const Call& o) const {
    return sequence == o.sequence && kind == o.kind && reduction == o.reduction && root == o.root &&
           dtype == o.dtype && count == o.count && shape == o.shape;
  }
  int64_t bytes() const;
};

const char* name_of(Kind kind);
const char* name_of(Reduction reduction);
std::string name_of_dtype(int64_t dtype);
int64_t size_of_dtype(int64_t dtype);
std::string text_of(const Call& call);  // "all_reduce #418 (SUM of 1024 float32)"

}  // namespace tl::distributed
