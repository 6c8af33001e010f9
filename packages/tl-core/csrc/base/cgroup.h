// What the machine, or the container the process runs in, lets it use.
#pragma once

#include <cstdint>

namespace tl {

int usable_cpus();       // CPUs of the affinity mask, cut to the cgroup's CPU quota (rounded up); at least 1
int64_t memory_quota();  // bytes the cgroup allows; INT64_MAX without a limit
int64_t resident_memory();  // bytes of physical memory that the process occupies
int64_t usable_memory();    // bytes: physical memory, or the cgroup's limit where that is lower

}  // namespace tl
