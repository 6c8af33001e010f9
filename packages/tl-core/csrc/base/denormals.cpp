// Flush-to-zero and denormals-are-zero, bits of the processor's control register for floating-point.
#include "base/denormals.h"

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tl {

namespace {
#if defined(__x86_64__)
constexpr uint64_t kFlush = 1 << 15 | 1 << 6;  // results; operands
uint64_t control() { return _mm_getcsr(); }
void set_control(uint64_t word) { _mm_setcsr(static_cast<uint32_t>(word)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlush = 1 << 24;
uint64_t control() {
  uint64_t word;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
void set_control(uint64_t word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
constexpr uint64_t kFlush = 0;
uint64_t control() { return 0; }
void set_control(uint64_t) {}
#endif
}  // namespace

bool flushes_denormals() { return control() & kFlush; }

bool flush_denormals(bool on) {
  const uint64_t now = control(), wanted = on ? now | kFlush : now & ~kFlush;
  if (wanted != now) set_control(wanted);
  return kFlush != 0;
}

}  // namespace tl
