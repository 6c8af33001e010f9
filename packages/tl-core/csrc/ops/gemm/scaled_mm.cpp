// _scaled_mm: the product of matrices of float8 and their scales.
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/out.h"

namespace tl {

namespace {
void check_operand(const Tensor& t, const char* name) {
  TL_CHECK(t.dim() == 2, Runtime, name, " must be a matrix, got ", t.dim(), " dimensions");
  TL_CHECK(is_float8(t.dtype()) && t.dtype() != stored::Float8_e8m0fnu, Runtime, "Expected ", name,
           " to be Float8 matrix got ", scalar_type_name(t.dtype()));
}

// One scale for all, or one for each row of the first and each column of the second.
void check_scales(const Tensor& a, const Tensor& b, int64_t rows, int64_t columns) {
  const bool whole = a.numel() == 1 && b.numel() == 1;
  const bool by_row = a.dim() == 2 && b.dim() == 2 && a.size(0) == rows && a.size(1) == 1 && b.size(0) == 1 &&
                      b.size(1) == columns;
  TL_CHECK(whole || by_row, Value,
           "Invalid scaling configuration: scale_a and scale_b must have one element, or ", "the shapes [",
           rows, ", 1] and [1, ", columns, "], got ", a.sizes(), " and ", b.sizes());
}

Tensor scale_of(const Tensor& scale) {
  const Tensor wide = ops::to_dtype(scale, DType::Float32);
  return wide.numel() == 1 ? ops::reshape(wide, DimVector{}) : wide;
}

Tensor scaled_mm(const ScaledMmArgs& args) {
  const auto& [self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum] = args;
  check_operand(self, "mat1");
  check_operand(mat2, "mat2");
  TL_CHECK(self.size(1) == mat2.size(0), Runtime, "mat1 and mat2 shapes cannot be multiplied (", self.size(0),
           "x", self.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  check_scales(scale_a, scale_b, self.size(0), mat2.size(1));
  if (bias)
    TL_CHECK(bias->numel() == mat2.size(1), Runtime, "Bias must be size ", mat2.size(1), " but got ",
             bias->numel());
  const Tensor a = ops::mul(ops::to_dtype(self, DType::Float32), scale_of(scale_a));
  const Tensor b = ops::mul(ops::to_dtype(mat2, DType::Float32), scale_of(scale_b));
  Tensor product = ops::mm(a, b);
  if (bias) product = ops::add(product, ops::to_dtype(*bias, DType::Float32));
  return ops::to_dtype(product, out_dtype.value_or(self.dtype()));
}
}  // namespace

TL_KERNEL(_scaled_mm, scaled_mm)

}  // namespace tl
