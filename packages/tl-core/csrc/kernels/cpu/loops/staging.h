// Carries a loop over operands that it cannot take as they lie: a tile at a time comes into small buffers,
// side by side and in the type the loop wants, and goes back from there. A result larger than the caches may
// be staged as well, to be written past them: else its memory would be read before each line is overwritten.
#pragma once

#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

inline constexpr int kMaxStaged = 4;

struct Staging {
  ElementwiseLoop loop;
  int operands;
  int64_t items[kMaxStaged];  // bytes of an element, as the loop wants it
  ElementwiseLoop
      converts[kMaxStaged]{};  // to that type, for the output from it; null where they are of one type
  bool streams = false;        // the output goes past the caches
};

inline constexpr int64_t kStreamedBytes = 32 << 20;  // what is worth it

// As an ElementwiseLoop that stages what is not dense or of another type.
void run_staged(const Staging& staging, char* const* data, const int64_t* strides, int64_t n0, int64_t n1,
                const void* params);

}  // namespace tl::cpu
