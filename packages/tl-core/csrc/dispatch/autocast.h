// The layer `autocast`: operators convert what they are given to a type they choose, each by its policy.
#pragma once

#include "base/autocast.h"

namespace tl {

void install_autocast();

const AutocastState& autocast_state();  // of the thread
void set_autocast_state(const AutocastState& state);

// Regions within one another; what was converted in them is kept until the outermost ends.
int nest_autocast(int step);  // 1 or -1; the number of regions that are around now
void clear_autocast_cache();

}  // namespace tl
