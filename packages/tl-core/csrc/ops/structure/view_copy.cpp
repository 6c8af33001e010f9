// Copies of what views show: a view and its clone.
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/out.h"

namespace tl {

namespace {
constexpr auto kDense = MemoryFormat::Contiguous;

Tensor copied(const Tensor& view, Out out) {
  if (!out) return ops::clone(view, kDense);
  return ops::copy_(prepare_out(out, view.sizes(), {view.dtype(), view.device()}), view);
}

std::vector<Tensor> copied(const std::vector<Tensor>& views) {
  std::vector<Tensor> copies;
  copies.reserve(views.size());
  for (const Tensor& view : views) copies.push_back(ops::clone(view, kDense));
  return copies;
}

using OptInt = std::optional<int64_t>;

Tensor alias_copy(const Tensor& self, Out out) { return copied(self, out); }
Tensor as_strided_copy(const Tensor& self, IntSpan size, IntSpan stride, OptInt offset, Out out) {
  return copied(ops::as_strided(self, size, stride, offset), out);
}
Tensor detach_copy(const Tensor& self, Out out) { return copied(ops::detach(self), out); }
Tensor diagonal_copy(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Out out) {
  return copied(ops::diagonal(self, offset, dim1, dim2), out);
}
Tensor expand_copy(const Tensor& self, IntSpan size, bool implicit, Out out) {
  return copied(ops::expand(self, size, implicit), out);
}
Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length, Out out) {
  TL_CHECK(self.dim() == 0 || dim >= -self.dim(), Index,
           "Dimension out of range (expected to be in range of [", -self.dim(), ", ", self.dim() - 1,
           "], but got ", dim, ")");
  TL_CHECK(self.dim() == 0 || dim < self.dim(), Runtime, "narrow_copy: expected dim to be in the range of [",
           -self.dim(), ", ", self.dim() - 1, "], but got ", dim);
  TL_CHECK(self.dim() == 0 || length >= 0, Runtime, "start (", start, ") + length (", length,
           ") exceeds dimension size (", self.dim() ? self.size(dim < 0 ? dim + self.dim() : dim) : 1, ").");
  return copied(ops::narrow(self, dim, start, length), out);
}
Tensor permute_copy(const Tensor& self, IntSpan dims, Out out) {
  return copied(ops::permute(self, dims), out);
}
Tensor select_copy(const Tensor& self, int64_t dim, int64_t index, Out out) {
  return copied(ops::select_int(self, dim, index), out);
}
Tensor slice_copy(const Tensor& self, int64_t dim, OptInt start, OptInt end, int64_t step, Out out) {
  return copied(ops::slice(self, dim, start, end, step), out);
}
Tensor squeeze_copy(const Tensor& self, Out out) { return copied(ops::squeeze(self), out); }
Tensor squeeze_copy_dim(const Tensor& self, int64_t dim, Out out) {
  return copied(ops::squeeze_dim(self, dim), out);
}
Tensor squeeze_copy_dims(const Tensor& self, IntSpan dims, Out out) {
  return copied(ops::squeeze_dims(self, dims), out);
}
Tensor t_copy(const Tensor& self, Out out) { return copied(ops::t(self), out); }
Tensor transpose_copy(const Tensor& self, int64_t dim0, int64_t dim1, Out out) {
  return copied(ops::transpose_int(self, dim0, dim1), out);
}
Tensor unfold_copy(const Tensor& self, int64_t dimension, int64_t size, int64_t step, Out out) {
  return copied(ops::unfold(self, dimension, size, step), out);
}
Tensor unsqueeze_copy(const Tensor& self, int64_t dim, Out out) {
  return copied(ops::unsqueeze(self, dim), out);
}
Tensor view_as_complex_copy(const Tensor& self, Out out) { return copied(ops::view_as_complex(self), out); }
Tensor view_as_real_copy(const Tensor& self, Out out) { return copied(ops::view_as_real(self), out); }
// In another order where no view has that size.
Tensor view_copy(const Tensor& self, IntSpan size, Out out) { return copied(ops::reshape(self, size), out); }
Tensor view_copy_dtype(const Tensor& self, DType dtype, Out out) {
  return copied(ops::view_dtype(self, dtype), out);
}

std::vector<Tensor> split_copy(const Tensor& self, int64_t split_size, int64_t dim) {
  return copied(ops::split(self, split_size, dim));
}
std::vector<Tensor> split_with_sizes_copy(const Tensor& self, IntSpan sizes, int64_t dim) {
  return copied(ops::split_with_sizes(self, sizes, dim));
}
std::vector<Tensor> unbind_copy(const Tensor& self, int64_t dim) {
  return copied(ops::unbind_int(self, dim));
}
}  // namespace

TL_KERNEL(alias_copy, alias_copy)
TL_KERNEL(as_strided_copy, as_strided_copy)
TL_KERNEL(detach_copy, detach_copy)
TL_KERNEL(diagonal_copy, diagonal_copy)
TL_KERNEL(expand_copy, expand_copy)
TL_KERNEL(narrow_copy, narrow_copy)
TL_KERNEL(permute_copy, permute_copy)
TL_KERNEL(select_copy_int, select_copy)
TL_KERNEL(slice_copy_Tensor, slice_copy)
TL_KERNEL(squeeze_copy, squeeze_copy)
TL_KERNEL(squeeze_copy_dim, squeeze_copy_dim)
TL_KERNEL(squeeze_copy_dims, squeeze_copy_dims)
TL_KERNEL(t_copy, t_copy)
TL_KERNEL(transpose_copy_int, transpose_copy)
TL_KERNEL(unfold_copy, unfold_copy)
TL_KERNEL(unsqueeze_copy, unsqueeze_copy)
TL_KERNEL(view_as_complex_copy, view_as_complex_copy)
TL_KERNEL(view_as_real_copy, view_as_real_copy)
TL_KERNEL(view_copy, view_copy)
TL_KERNEL(view_copy_dtype, view_copy_dtype)
TL_KERNEL(split_copy_Tensor, split_copy)
TL_KERNEL(split_with_sizes_copy, split_with_sizes_copy)
TL_KERNEL(unbind_copy_int, unbind_copy)

}  // namespace tl
