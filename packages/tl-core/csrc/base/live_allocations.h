// The blocks of memory that are in use and large enough to ask who wanted them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/source_location.h"

namespace tl {

inline constexpr int64_t kRecordedByDefault = 1 << 20;

// Blocks of at least so many bytes are recorded from now on; those below 2 KB never are.
void set_recorded_size(int64_t bytes);
int64_t recorded_size() noexcept;

void note_block(const void* p, size_t bytes) noexcept;
void forget_block(const void* p, size_t bytes) noexcept;

struct LiveGroup {  // the recorded blocks of one origin
  Origin origin;
  int64_t bytes = 0;
  int64_t blocks = 0;
};
std::vector<LiveGroup> live_groups();  // the largest first

// "\n  512.00 MiB in 4 blocks: enc.2, train.py:41 in forward" for each of the ten largest groups.
std::string largest_groups();
std::string readable_bytes(int64_t bytes);

}  // namespace tl
