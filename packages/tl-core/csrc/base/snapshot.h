// What memory holds at one moment, read from a copy of the process, for which the system copies no page
// before one of the two writes to it.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace tl {

struct SnapshotPart {
  const char* data;
  size_t size;
};

struct Snapshot {
  pid_t process = -1;
  int descriptor = -1;
};

// Makes a copy of the process, which hands over the parts, one behind the other, and ends with this process
// at the latest. On failure there is none, and errno says why.
Snapshot begin_snapshot(const SnapshotPart* parts, size_t count) noexcept;
// The next bytes; 0, or what errno would be: ECHILD if the copy has been killed.
int read_snapshot(const Snapshot& snapshot, void* to, size_t size) noexcept;
void end_snapshot(const Snapshot& snapshot) noexcept;

}  // namespace tl
