// What a kernel that works element by element looks like from outside, and the tables that hold them.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu {

// Runs over n1 rows of n0 elements. data[0] is the output, the inputs follow; strides are in bytes: first
// that of each operand within a row, then that of each operand between rows. Operands may be the same memory,
// but not partly overlap. `params` are the operator's numbers in the type it computes in.
using ElementwiseLoop = void (*)(char* const* data, const int64_t* strides, int64_t n0, int64_t n1,
                                 const void* params);

// An operator's loops by dtype, one table a level. A level's entry may be null: then the portable one serves.
struct ElementwiseLoops {
  const ElementwiseLoop* levels[3];

  ElementwiseLoop operator[](DType d) const {
    const int i = static_cast<int>(d);
    const ElementwiseLoop loop = levels[isa_level()][i];
    return loop ? loop : levels[0][i];
  }
};

#if defined(TL_ISA_X86)
#define TL_LOOPS_OF(table)                                               \
  {                                                                      \
    {                                                                    \
      ::tl::cpu::base::table, ::tl::cpu::v3::table, ::tl::cpu::v4::table \
    }                                                                    \
  }
#else
#define TL_LOOPS_OF(table)                                                   \
  {                                                                          \
    {                                                                        \
      ::tl::cpu::base::table, ::tl::cpu::base::table, ::tl::cpu::base::table \
    }                                                                        \
  }
#endif

}  // namespace tl::cpu
