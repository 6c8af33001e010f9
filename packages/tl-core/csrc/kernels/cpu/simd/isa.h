// The instruction-set level a kernel is compiled for. A file whose first line is `// isa: all` is compiled
// once a level; all it defines stands in tl::cpu::TL_ISA_NAMESPACE, so that the linker never takes a wide
// function for a narrow processor.
#pragma once

#ifndef TL_ISA_LEVEL
#define TL_ISA_LEVEL 1
#define TL_ISA_NAMESPACE base
#endif

#ifdef __SANITIZE_ADDRESS__  // every access carries a check: inlined by force, functions take minutes to
                             // compile
#define TL_INLINE inline
#define TL_INLINED
#else
#define TL_INLINE inline __attribute__((always_inline))
#define TL_INLINED __attribute__((always_inline))  // of a lambda
#endif

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kIsaLevel = TL_ISA_LEVEL;  // 1: portable, 3: x86-64-v3, 4: x86-64-v4
inline constexpr int kVecBytes = TL_ISA_LEVEL >= 4 ? 64 : TL_ISA_LEVEL >= 3 ? 32 : 16;

}  // namespace tl::cpu::TL_ISA_NAMESPACE
