// Shapes along one dimension: all dimensions before it are one, all behind it another.
#include "ops/shared/along.h"

#include <algorithm>

namespace tl {

AlongGeometry::AlongGeometry(int64_t dim, int64_t n, std::initializer_list<const Tensor*> operands) : n_(n) {
  for (const Tensor* t : operands) {
    DimVector& own = strides_[operands_];
    along_[operands_++] = (t->dim() ? t->stride(dim) : 1) * t->itemsize();
    for (int64_t d = t->dim() - 1; d >= 0; --d)
      if (d != dim) own.push_back(t->byte_stride(d));
  }
  const Tensor& first = **operands.begin();
  for (int64_t d = first.dim() - 1; d >= 0; --d)
    if (d != dim) sizes_.push_back(first.size(d));
}

cpu::AlongShape AlongGeometry::shape() const {
  cpu::AlongShape shape{};
  shape.n = n_;
  shape.dims = static_cast<int>(sizes_.size());
  shape.sizes = sizes_.data();
  for (int k = 0; k < operands_; ++k) {
    shape.along[k] = along_[k];
    shape.strides[k] = strides_[k].data();
  }
  return shape;
}

}  // namespace tl
