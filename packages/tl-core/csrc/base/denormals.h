// Numbers below the smallest normal one: processors are slow at them, and can take them for zero.
#pragma once

namespace tl {

// Whether this thread takes them, as operands and as results, for zero.
bool flushes_denormals();
// False if the processor cannot.
bool flush_denormals(bool on);

}  // namespace tl
