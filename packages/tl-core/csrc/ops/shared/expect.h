// Checks that several operators share; those of private operators, whose arguments come from formulas, but
// may be called by anybody.
#pragma once

#include <algorithm>

#include "base/error.h"
#include "tensor/tensor.h"

namespace tl {

// Raises unless `t` has that type and shape.
inline void expect(const char* op, const char* name, const Tensor& t, DType dtype, IntSpan sizes) {
  TL_CHECK(t.dtype() == dtype && std::ranges::equal(t.sizes(), sizes), Runtime, op, "(): argument '", name,
           "' must be of type ", dtype_name(dtype), " and shape ", sizes, ", got ", dtype_name(t.dtype()),
           " and ", t.sizes());
}

// Raises if a tensor would be cut into more pieces than a list can hold.
inline void expect_pieces(int64_t n) {
  TL_CHECK(n <= int64_t{1} << 28, Runtime, "cannot split into ", n, " pieces");
}

// Raises unless `t` is real floating-point.
inline void expect_floating(const char* op, const Tensor& t) {
  TL_CHECK(is_floating(t.dtype()), NotImplemented, op, "() is not implemented for ", dtype_name(t.dtype()));
}

}  // namespace tl
