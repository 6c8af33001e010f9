// Copies and fills that move elements without looking at them: only their size counts.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

// data[0] is the output, data[1] the input; item sizes 1, 2, 4, 8 and 16. Where rows of one side are columns
// of the other (output stride 0 and input stride 1 are each one item), the copy goes in tiles that stay in
// the cache: a planner should make the innermost dimension the output's densest and the next one the input's
// densest.
ElementwiseLoop copy_loop(int64_t item_size);

// data[0] is filled with the element at `params`.
ElementwiseLoop fill_loop(int64_t item_size);

// Copies around the caches. Other threads may read the copy after end_streams, which the writing thread
// calls.
void stream_copy(char* to, const char* from, int64_t bytes);
void end_streams();

}  // namespace tl::cpu
