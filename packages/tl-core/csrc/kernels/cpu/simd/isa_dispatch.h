// ISA dispatch: choosing, at run time, among the instruction-set levels that a kernel was compiled for. Only
// for code compiled once.
#pragma once

namespace tl::cpu {

// The level that this processor, or TL_CPU_CAPABILITY, selects: 0 portable, 1 x86-64-v3, 2 x86-64-v4.
int isa_level();

}  // namespace tl::cpu

#if defined(TL_ISA_X86)
// Declares something in every level's namespace.
#define TL_LEVELS(...)      \
  namespace tl::cpu::base { \
  __VA_ARGS__;              \
  }                         \
  namespace tl::cpu::v3 {   \
  __VA_ARGS__;              \
  }                         \
  namespace tl::cpu::v4 {   \
  __VA_ARGS__;              \
  }
// The chosen level's.
#define TL_SELECT(name)                                \
  (::tl::cpu::isa_level() == 2   ? ::tl::cpu::v4::name \
   : ::tl::cpu::isa_level() == 1 ? ::tl::cpu::v3::name \
                                 : ::tl::cpu::base::name)
#else
#define TL_LEVELS(...)      \
  namespace tl::cpu::base { \
  __VA_ARGS__;              \
  }
#define TL_SELECT(name) (::tl::cpu::base::name)
#endif
