// The instruction-set level of this process, read once from the processor and TL_CPU_CAPABILITY.
#include "kernels/cpu/simd/isa_dispatch.h"

#include "base/cpu_capability.h"

namespace tl::cpu {

int isa_level() {
  static const int level = static_cast<int>(cpu_capability());
  return level;
}

}  // namespace tl::cpu
