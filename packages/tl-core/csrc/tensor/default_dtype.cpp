// The default floating-point dtype: one atomic for the process.
#include "tensor/default_dtype.h"

#include <atomic>

namespace tl {

namespace {
std::atomic<DType> g_default_dtype{DType::Float32};
}

DType default_dtype() { return g_default_dtype.load(std::memory_order_relaxed); }
void set_default_dtype(DType dtype) { g_default_dtype.store(dtype, std::memory_order_relaxed); }

}  // namespace tl
