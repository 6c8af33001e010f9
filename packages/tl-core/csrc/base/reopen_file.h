// An open file opened once more.
#pragma once

#include <fcntl.h>

#include <cstdio>

namespace tl {

// A descriptor of its own, with flags of its own; -1 where the system has no such thing.
inline int reopened(int descriptor, int flags) noexcept {
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  return open(name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

}  // namespace tl
