// Choosing, at run time, among the levels a kernel was compiled for. Only for code compiled once.
#pragma once

#include "base/cpu_capability.h"

#if defined(TL_ISA_X86)
// Declares a function of every level.
#define TL_LEVELS(...)                              \
  namespace tl::cpu::base { __VA_ARGS__; }          \
  namespace tl::cpu::v3 { __VA_ARGS__; }            \
  namespace tl::cpu::v4 { __VA_ARGS__; }
// The function of the level that this processor, or TL_CPU_CAPABILITY, selects.
#define TL_SELECT(name)                                                                   \
  (::tl::cpu::capability() == ::tl::cpu::Capability::AVX512 ? &::tl::cpu::v4::name        \
   : ::tl::cpu::capability() == ::tl::cpu::Capability::AVX2 ? &::tl::cpu::v3::name        \
                                                            : &::tl::cpu::base::name)
#else
#define TL_LEVELS(...) \
  namespace tl::cpu::base { __VA_ARGS__; }
#define TL_SELECT(name) (&::tl::cpu::base::name)
#endif
