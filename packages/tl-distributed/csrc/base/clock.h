// Time that only goes forward.
#pragma once

#include <cstdint>
#include <ctime>

namespace tl::distributed {

inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace tl::distributed
