// CPU capability by cpuid: x86-64-v3 and v4, AVX512_BF16, AMX; TL_CPU_CAPABILITY lowers it.
#include "base/cpu_capability.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#endif

namespace tl {

namespace {

constexpr const char* kNames[] = {"DEFAULT", "AVX2", "AVX512"};

// What the processor has and this build has kernels for.
Capability supported() {
#if defined(TL_ISA_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return Capability::V4;
  if (__builtin_cpu_supports("x86-64-v3")) return Capability::V3;
#endif
  return Capability::Base;
}

Capability allowed() {
  const char* text = std::getenv("TL_CPU_CAPABILITY");
  if (!text || !*text || std::strcmp(text, "avx512") == 0) return Capability::V4;
  if (std::strcmp(text, "avx2") == 0) return Capability::V3;
  if (std::strcmp(text, "default") == 0) return Capability::Base;
  std::fprintf(stderr, "tl: TL_CPU_CAPABILITY must be default, avx2 or avx512; ignoring \"%s\"\n", text);
  return Capability::V4;
}

// The system saves a thread's tiles only after it was asked to.
bool may_use_tiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kAskForState = 0x1023, kTiles = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTiles) == 0;
#else
  return false;
#endif
}

}  // namespace

int64_t cpu_cache_bytes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  constexpr int64_t bytes = 0;
#endif
  return bytes > 0 ? bytes : 1 << 20;
}

Capability cpu_capability() {
  static const Capability capability = std::min(supported(), allowed());
  return capability;
}

const char* cpu_capability_name() { return kNames[static_cast<int>(cpu_capability())]; }

bool cpu_has_bf16() {
#if defined(__x86_64__)
  return cpu_capability() == Capability::V4 && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool cpu_has_tiles() {
#if defined(__x86_64__)
  static const bool has = cpu_has_bf16() && __builtin_cpu_supports("amx-tile") &&
                          __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("amx-int8") &&
                          may_use_tiles();
  return has;
#else
  return false;
#endif
}

}  // namespace tl
