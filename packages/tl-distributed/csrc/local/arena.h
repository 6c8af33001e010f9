// Memory that all ranks of a machine can write in each other's place, at the same offsets. A tensor that lies
// there need not be copied to be reduced.
#pragma once

#include <map>
#include <mutex>

#include "base/mapping.h"

namespace tl::distributed {

class Arena {
 public:
  Arena(Mapping memory, int64_t pitch, int rank);

  char* of(int rank) const { return memory_.data() + rank * pitch_; }
  int64_t pitch() const { return pitch_; }
  int64_t offset_of(const void* data, int64_t bytes) const;  // in this rank's part; -1: it doesn't lie there

  // Zeros in this rank's part: the first place that has room, so that ranks which take and give back the same
  // things in the same order get the same offsets. nullptr: there is no room.
  char* take(int64_t bytes);
  void give_back(char* data);

 private:
  Mapping memory_;
  int64_t pitch_;
  int rank_;
  std::mutex mutex_;
  std::map<int64_t, int64_t> taken_;  // offset -> bytes, whole pages
};

}  // namespace tl::distributed
