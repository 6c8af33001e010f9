// Which of the builds of a kernel this CPU runs.
#pragma once

#include <cstdint>

namespace tl {

enum class Capability : uint8_t { Base, V3, V4 };  // portable; x86-64-v3 (AVX2, FMA); x86-64-v4 (AVX-512)

// Decided once. TL_CPU_CAPABILITY (default, avx2 or avx512, in any case) lowers it, never raises it.
Capability cpu_capability();
const char* cpu_capability_name();  // "DEFAULT", "AVX2" or "AVX512"

bool cpu_has_vnni();   // instructions for products of bytes; only with V4
bool cpu_has_bf16();   // instructions for products of bfloat16; only with V4
bool cpu_has_tiles();  // those for products of whole tiles (AMX), if the system lets us use them; only with
                       // bf16

int64_t cpu_cache_bytes();  // of a core's second-level cache; where the system does not say, 1 MB

}  // namespace tl
