// Whether this process was forked from one that had groups: their threads and their place in the segments
// stay behind.
#pragma once

namespace tl::distributed {

void watch_forks();  // once
int fork_count();    // how many forks lie between the process that loaded this library and this one

}  // namespace tl::distributed
