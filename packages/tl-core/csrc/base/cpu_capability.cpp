// CPU capability by cpuid: x86-64-v3 and v4, AVX512_BF16, AMX; TL_CPU_CAPABILITY lowers it, and so does
// PyTorch's ATEN_CPU_CAPABILITY.
#include "base/cpu_capability.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

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

// Upper and lower case are the same: PyTorch's variable takes small letters, its answers are capitals.
Capability allowed_by(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return Capability::V4;
  for (int i = 0; i < 3; ++i) {
    if (strcasecmp(text, kNames[i]) == 0) return static_cast<Capability>(i);
  }
  std::fprintf(stderr, "tl: %s must be default, avx2 or avx512; ignoring \"%s\"\n", variable, text);
  return Capability::V4;
}

Capability allowed() { return std::min(allowed_by("TL_CPU_CAPABILITY"), allowed_by("ATEN_CPU_CAPABILITY")); }

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

bool cpu_has_vnni() {
#if defined(__x86_64__)
  static const bool has = cpu_capability() == Capability::V4 && __builtin_cpu_supports("avx512vnni");
  return has;
#else
  return false;
#endif
}

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
