// Fill of uninitialized results with NaN or the largest integer, for deterministic algorithms.
#include "ops/shared/uninitialized_fill.h"

#include <atomic>
#include <limits>

#include "ops/shared/copy.h"
#include "tensor/geometry.h"
#include "tensor/scalar.h"

namespace tl {

namespace {
std::atomic<bool> g_fill{false};

Scalar marker(DType dtype) {
  if (!is_integral(dtype, true)) return Scalar(std::numeric_limits<double>::quiet_NaN());
  if (dtype == DType::Bool) return Scalar(true);
  const uint64_t ones = ~uint64_t{0} >> (64 - 8 * item_size(dtype));
  if (dtype == DType::UInt64) return Scalar::above_int64(ones);
  return Scalar(static_cast<int64_t>(is_unsigned(dtype) ? ones : ones >> 1));
}
}  // namespace

void set_fill_uninitialized(bool fill) { g_fill.store(fill, std::memory_order_relaxed); }

Tensor uninitialized(Tensor t) {
  if (g_fill.load(std::memory_order_relaxed)) fill(t, marker(t.dtype()));
  return t;
}

void fill_uninitialized_after(const Tensor& t, size_t bytes) {
  if (!g_fill.load(std::memory_order_relaxed) || t.is_meta()) return;
  const int64_t first = static_cast<int64_t>(bytes) / t.itemsize();
  const int64_t end = static_cast<int64_t>(t.storage()->bytes) / t.itemsize();
  if (first < end) uninitialized(view_of(t, DimVector{end - first}, DimVector{1}, first));
}

}  // namespace tl
