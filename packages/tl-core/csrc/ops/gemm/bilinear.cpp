// Bilinear forms: x1^T W_k x2 + b_k for each output feature k, by two matrix products.
#include <algorithm>

#include "ops.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
void check_forms(const Tensor& input1, const Tensor& input2, const Tensor& weight, OptTensor bias) {
  TL_CHECK(input1.dim() > 0 && input2.dim() > 0, Runtime,
           "bilinear(): inputs must have at least 1 dimension");
  const IntSpan leading1 = input1.sizes().first(input1.dim() - 1),
                leading2 = input2.sizes().first(input2.dim() - 1);
  TL_CHECK(std::ranges::equal(leading1, leading2), Runtime,
           "bilinear(): input batch dimensions do not match: got ", leading1, " and ", leading2);
  TL_CHECK(
      weight.dim() == 3 && input1.sizes().back() == weight.size(1) && input2.sizes().back() == weight.size(2),
      Runtime, "bilinear(): weight of shape ", weight.sizes(), " does not match inputs with ",
      input1.sizes().back(), " and ", input2.sizes().back(), " features");
  TL_CHECK(!bias || (bias->dim() == 1 && bias->size(0) == weight.size(0)), Runtime,
           "bilinear(): bias size does not match weight size: got ", bias->sizes(), " but expected [",
           weight.size(0), "]");
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, OptTensor bias) {
  check_forms(input1, input2, weight, bias);
  const IntSpan leading = input1.sizes().first(input1.dim() - 1);
  const int64_t outputs = weight.size(0), size1 = weight.size(1), size2 = weight.size(2),
                rows = checked_numel(leading);
  const Tensor left = ops::reshape(input1, DimVector{rows, size1});
  const Tensor forms = ops::reshape(ops::transpose_int(weight, 0, 1), DimVector{size1, outputs * size2});
  const Tensor halfway = ops::reshape(ops::matmul(left, forms), DimVector{rows, outputs, size2});
  const Tensor products = ops::matmul(halfway, ops::reshape(input2, DimVector{rows, size2, 1}));
  DimVector sizes(leading);
  sizes.push_back(outputs);
  const Tensor result = ops::reshape(products, sizes);
  return bias ? ops::add(result, *bias) : result;
}
}  // namespace

TL_KERNEL(bilinear, bilinear)

}  // namespace tl
