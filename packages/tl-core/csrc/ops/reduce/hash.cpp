// The exclusive or of the bits of elements; made of other operators.
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/out.h"
#include "tensor/geometry.h"
#include "tensor/quantizer.h"

namespace tl {

namespace {
// The dimensions that are reduced, from the front.
DimVector reduced_dims(const Tensor& self, IntSpan dim) {
  DimVector dims;
  for (const int64_t d : dim) dims.push_back(wrap_dim(d, self.dim()));
  static_cast<void>(dim_mask(dims, self.dim(), false));  // raises for one twice
  if (self.dim())
    for (const int64_t d : dims)
      TL_CHECK(self.size(d) != 0, Index, "hash_tensor: Expected reduction dim ", d,
               " to have non-zero size.");
  TL_CHECK(
      !dims.empty() || self.numel() != 0, Runtime,
      "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
      "dim with the 'dim' argument.");
  if (dims.empty())
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  return dims;
}

// Each element in 64 bits, as int64: its exclusive or is that of uint64.
Tensor bits_of(const Tensor& self) {
  const DType type = self.dtype();
  const bool is_known = !is_complex(type) && !is_quantized(type) && type != DType::UInt16 &&
                        type != DType::UInt32 && (!is_floating(type) || item_size(type) > 1);
  TL_CHECK(is_known, NotImplemented, "hash_tensor is not implemented for ", dtype_name(type));
  const Tensor plain = ops::detach(self);
  if (is_floating(type)) return ops::view_dtype(ops::to_dtype(plain, DType::Float64), DType::Int64);
  return type == DType::UInt64 ? ops::view_dtype(plain, DType::Int64) : ops::to_dtype(plain, DType::Int64);
}

// The reduced dimensions as one, the first.
Tensor with_reduced_first(const Tensor& bits, const DimVector& dims) {
  if (!bits.dim()) return ops::reshape(bits, DimVector{1});
  DimVector front, sizes{1};
  for (size_t i = 0; i < dims.size(); ++i) front.push_back(static_cast<int64_t>(i));
  const Tensor moved = ops::movedim_intlist(bits, dims, front);
  for (int64_t d = 0; d < moved.dim(); ++d)
    if (static_cast<size_t>(d) < dims.size())
      sizes[0] *= moved.size(d);
    else
      sizes.push_back(moved.size(d));
  return ops::reshape(moved, sizes);
}

// The exclusive or along the first dimension, by halves.
Tensor folded(Tensor bits) {
  int64_t count = bits.size(0);
  if (count == 1) return ops::clone(ops::select_int(bits, 0, 0));
  for (; count > 1; count /= 2) {
    const int64_t half = count / 2;
    const Tensor rest = ops::slice(bits, 0, 2 * half, count);
    bits = ops::bitwise_xor(ops::slice(bits, 0, 0, half), ops::slice(bits, 0, half, 2 * half));
    if (count % 2) ops::bitwise_xor_(ops::slice(bits, 0, 0, 1), rest);
  }
  return ops::select_int(bits, 0, 0);
}

Tensor hash_tensor(const Tensor& self, IntSpan dim, bool keepdim, int64_t mode, Out out) {
  TL_CHECK(mode == 0, Runtime, "Unknown hash_tensor mode: ", mode);
  if (out) check_out_dtype(out, DType::UInt64, "hash_tensor: ");
  const DimVector dims = reduced_dims(self, dim);
  Tensor result = folded(with_reduced_first(bits_of(self), dims));
  if (keepdim && self.dim()) {
    DimVector sizes(self.sizes());
    for (const int64_t d : dims) sizes[static_cast<size_t>(d)] = 1;
    result = ops::reshape(result, sizes);
  }
  return copied_out(ops::view_dtype(result, DType::UInt64), out);
}
}  // namespace

TL_KERNEL(hash_tensor, hash_tensor)

}  // namespace tl
