// What memory holds at one moment, copied while the program goes on and changes it: by a copy of the process,
// for which the system copies no memory until one of the two writes.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace tl {

struct SnapshotPart {
  char* to;  // memory that is shared with a copy of the process
  const char* from;
  size_t size;
};

// Makes the copy of the process, which copies the parts and ends, at once if this process dies. Its id; on
// failure -1, and errno says why.
pid_t begin_snapshot(const SnapshotPart* parts, size_t count) noexcept;
// Waits until it has ended; its status as waitpid() tells it. On failure -1, and errno says why.
int end_snapshot(pid_t process) noexcept;

}  // namespace tl
