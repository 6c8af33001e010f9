// Operators that give another geometry on the same memory.
#include <algorithm>

#include "base/checked.h"
#include "dispatch/lazy_bits.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"
#include "tensor/view_origin.h"

namespace tl {

namespace {
// Where index `i` of dimension `d` begins.
int64_t offset_at(const Tensor& self, int64_t d, int64_t i) {
  return wrapped_add(self.offset(), wrapped_mul(i, self.stride(d)));
}

Tensor view(const Tensor& self, IntSpan size) {
  const DimVector sizes = infer_size(size, self.numel());
  DimVector strides;
  TL_CHECK(view_strides(self.sizes(), self.strides(), sizes, strides), Runtime,
           "view size is not compatible with input tensor's size and stride (at least one dimension spans "
           "across two "
           "contiguous subspaces): size ",
           self.sizes(), ", stride ", self.strides(), " as ", sizes, ". Use .reshape(...) instead.");
  return view_of(self, sizes, strides, self.offset());
}

Tensor reshape(const Tensor& self, IntSpan shape) {
  const DimVector sizes = infer_size(shape, self.numel());
  DimVector strides;
  if (view_strides(self.sizes(), self.strides(), sizes, strides)) return ops::view(self, sizes);
  return ops::view(ops::clone(self, MemoryFormat::Contiguous), sizes);
}

// The last dimension absorbs the ratio of the element sizes; all other strides and the offset must be
// multiples of it.
Tensor view_dtype(const Tensor& self, DType dtype) {
  TL_CHECK(
      !self->has(TensorImpl::Conjugated), Runtime,
      "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.");
  TL_CHECK(
      !self->has(TensorImpl::Negated), Runtime,
      "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different "
      "dtype.");
  const int64_t from = self.itemsize(), to = item_size(dtype);
  DimVector sizes(self.sizes()), strides(self.strides());
  if (from == to) return view_of(self, sizes, strides, self.offset(), dtype);
  TL_CHECK(self.dim() > 0, Runtime, "self.dim() cannot be 0 to view ", scalar_type_name(self.dtype()), " as ",
           scalar_type_name(dtype), " (different element sizes)");
  TL_CHECK(strides.back() == 1, Runtime, "self.stride(-1) must be 1 to view ", scalar_type_name(self.dtype()),
           " as ", scalar_type_name(dtype), " (different element sizes), but got ", strides.back());
  const int64_t last = self.dim() - 1;
  if (from > to) {
    const int64_t ratio = from / to;
    sizes[last] *= ratio;
    for (int64_t d = 0; d < last; ++d) strides[d] = wrapped_mul(strides[d], ratio);
    return view_of(self, sizes, strides, wrapped_mul(self.offset(), ratio), dtype);
  }
  const int64_t ratio = to / from;
  TL_CHECK(sizes[last] % ratio == 0, Runtime, "self.size(-1) must be divisible by ", ratio, " to view ",
           scalar_type_name(self.dtype()), " as ", scalar_type_name(dtype),
           " (different element sizes), but got ", sizes[last]);
  TL_CHECK(self.offset() % ratio == 0, Runtime, "self.storage_offset() must be divisible by ", ratio,
           " to view ", scalar_type_name(self.dtype()), " as ", scalar_type_name(dtype),
           " (different element sizes), but got ", self.offset());
  for (int64_t d = 0; d < last; ++d) {
    TL_CHECK(strides[d] % ratio == 0, Runtime, "self.stride(", d, ") must be divisible by ", ratio,
             " to view ", scalar_type_name(self.dtype()), " as ", scalar_type_name(dtype),
             " (different element sizes), but got ", strides[d]);
    strides[d] /= ratio;
  }
  sizes[last] /= ratio;
  return view_of(self, sizes, strides, self.offset() / ratio, dtype);
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
  DimVector sizes(self.sizes()), strides(self.strides());
  if (a != b) {
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
  }
  return view_of(self, sizes, strides, self.offset());
}

Tensor t(const Tensor& self) {
  TL_CHECK(self.dim() <= 2, Runtime, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(),
           "D");
  return transpose(self, 0, self.dim() < 2 ? 0 : 1);
}

Tensor permute(const Tensor& self, IntSpan dims) {
  const int64_t n = self.dim();
  TL_CHECK(static_cast<int64_t>(dims.size()) == n, Runtime,
           "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
           "desired ordering "
           "of dimensions i.e. input.dim() = ",
           n, " is not equal to len(dims) = ", dims.size());
  DimVector sizes(n), strides(n);
  uint64_t seen = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t d = wrap_dim(dims[i], n);
    TL_CHECK(!(seen >> d & 1), Runtime, "permute(): duplicate dims are not allowed.");
    seen |= uint64_t{1} << d;
    sizes[i] = self.size(d);
    strides[i] = self.stride(d);
  }
  return view_of(self, sizes, strides, self.offset());
}

Tensor expand(const Tensor& self, IntSpan size, bool) {
  const int64_t n = static_cast<int64_t>(size.size()), own = self.dim();
  TL_CHECK(n >= own, Runtime, "expand(", scalar_type_name(self.dtype()), "Tensor{", self.sizes(),
           "}, size=", size, "): the number of sizes provided (", n,
           ") must be greater or equal to the number of dimensions in the tensor (", own, ")");
  DimVector sizes(size), strides(n);
  for (int64_t i = n - 1, d = own - 1; i >= 0; --i, --d) {
    const int64_t have = d >= 0 ? self.size(d) : 1;
    if (sizes[i] == -1) {
      TL_CHECK(d >= 0, Runtime,
               "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", i);
      sizes[i] = have;
    }
    TL_CHECK(sizes[i] >= 0, Runtime, "expand: sizes must be non-negative or -1, got ", size);
    TL_CHECK(have == 1 || have == sizes[i], Runtime, "The expanded size of the tensor (", sizes[i],
             ") must match the existing size (", have, ") at non-singleton dimension ", i,
             ".  Target sizes: ", size, ".  Tensor sizes: ", self.sizes());
    const int64_t stride =
        d >= 0 ? self.stride(d) : (i + 1 < n ? wrapped_mul(sizes[i + 1], strides[i + 1]) : 0);
    strides[i] = have == sizes[i] && d >= 0 ? stride : have == 1 && sizes[i] != 1 ? 0 : stride;
  }
  return view_of(self, sizes, strides, self.offset());
}

Tensor as_strided(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(self.offset());
  check_reach(self.storage()->bytes, self.itemsize(), size, stride, offset);
  return view_of(self, size, stride, offset);
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
             int64_t step) {
  TL_CHECK(self.dim() > 0, Index, "slice() cannot be applied to a 0-dim tensor.");
  const int64_t d = wrap_dim(dim, self.dim());
  TL_CHECK(step > 0, Value, "slice step must be positive, got ", step);
  DimVector sizes(self.sizes()), strides(self.strides());
  const int64_t n = sizes[d];
  auto clip = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t first = clip(start.value_or(0));
  const int64_t last = std::max(first, clip(end.value_or(n)));
  const int64_t offset = offset_at(self, d, first);
  sizes[d] = (last - first) / step + ((last - first) % step != 0);
  strides[d] = wrapped_mul(strides[d], step);
  return view_of(self, sizes, strides, offset);
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  TL_CHECK(self.dim() > 0, Index, "select() cannot be applied to a 0-dim tensor.");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t n = self.size(d);
  TL_CHECK(index >= -n && index < n, Index, "select(): index ", index, " out of range for tensor of size ",
           self.sizes(), " at dimension ", d);
  DimVector sizes(self.sizes()), strides(self.strides());
  const int64_t offset = offset_at(self, d, index < 0 ? index + n : index);
  sizes.erase(d);
  strides.erase(d);
  return view_of(self, sizes, strides, offset);
}

Tensor squeeze_where(const Tensor& self, uint64_t mask) {
  DimVector sizes, strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if ((mask >> d & 1) && self.size(d) == 1) continue;
    sizes.push_back(self.size(d));
    strides.push_back(self.stride(d));
  }
  return view_of(self, sizes, strides, self.offset());
}
Tensor squeeze(const Tensor& self) { return squeeze_where(self, ~uint64_t{0}); }
Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  return squeeze_where(self, uint64_t{1} << wrap_dim(dim, self.dim()));
}
Tensor squeeze_dims(const Tensor& self, IntSpan dim) {
  return squeeze_where(self, dim_mask(dim, self.dim(), false));
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim() + 1);
  DimVector sizes(self.sizes()), strides(self.strides());
  const int64_t stride = d < self.dim() ? wrapped_mul(sizes[d], strides[d]) : 1;
  sizes.insert(d, 1);
  strides.insert(d, stride);
  return view_of(self, sizes, strides, self.offset());
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t d = wrap_dim(dimension, self.dim());
  const int64_t have = self.dim() ? self.size(d) : 1;
  TL_CHECK(size >= 0, Runtime, "size is ", size, " but must be >= 0");
  TL_CHECK(size <= have, Runtime, "maximum size for tensor at dimension ", d, " is ", have, " but size is ",
           size);
  TL_CHECK(step > 0, Runtime, "step is ", step, " but must be > 0");
  DimVector sizes(self.sizes()), strides(self.strides());
  const int64_t stride = self.dim() ? strides[d] : 1;
  sizes.push_back(size);
  strides.push_back(stride);
  if (self.dim()) {
    sizes[d] = (have - size) / step + 1;
    strides[d] = wrapped_mul(step, stride);
  }
  return view_of(self, sizes, strides, self.offset());
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t a = wrap_dim(dim1, self.dim()), b = wrap_dim(dim2, self.dim());
  TL_CHECK(a != b, Runtime, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  DimVector sizes(self.sizes()), strides(self.strides());
  const int64_t rows = sizes[a], columns = sizes[b];
  const int64_t length =
      std::max<int64_t>(offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  const int64_t first = length == 0   ? self.offset()
                        : offset >= 0 ? offset_at(self, b, offset)
                                      : offset_at(self, a, -offset);
  const int64_t stride = wrapped_add(strides[a], strides[b]);
  sizes.erase(std::max(a, b));
  strides.erase(std::max(a, b));
  sizes.erase(std::min(a, b));
  strides.erase(std::min(a, b));
  sizes.push_back(length);
  strides.push_back(stride);
  return view_of(self, sizes, strides, first);
}

Tensor view_as_real(const Tensor& self) {
  TL_CHECK(is_complex(self.dtype()), Runtime, "view_as_real is only supported for complex tensors");
  TL_CHECK(!self->has(TensorImpl::Conjugated), Runtime,
           "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so "
           "you can "
           "view it as real, use self.resolve_conj(), which may copy.");
  DimVector sizes(self.sizes()), strides(self.strides());
  for (auto& s : strides) s = wrapped_mul(s, 2);
  sizes.push_back(2);
  strides.push_back(1);
  return view_of(self, sizes, strides, self.offset() * 2, to_real(self.dtype()));
}

Tensor view_as_complex(const Tensor& self) {
  const DType d = self.dtype();
  TL_CHECK(d == DType::Float16 || d == DType::Float32 || d == DType::Float64, Runtime,
           "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar "
           "type: ",
           scalar_type_name(d));
  TL_CHECK(self.dim() > 0, Runtime, "Input tensor must have one or more dimensions");
  DimVector sizes(self.sizes()), strides(self.strides());
  TL_CHECK(sizes.back() == 2, Runtime, "Tensor must have a last dimension of size 2");
  TL_CHECK(strides.back() == 1, Runtime, "Tensor must have a last dimension with stride 1");
  sizes.pop_back();
  strides.pop_back();
  for (auto& s : strides) {
    TL_CHECK(s % 2 == 0, Runtime, "Tensor must have a stride divisible by 2 for all but last dimension");
    s /= 2;
  }
  TL_CHECK(self.offset() % 2 == 0, Runtime, "Tensor must have a storage_offset divisible by 2");
  return view_of(self, sizes, strides, self.offset() / 2, to_complex(d));
}

// ---- conjugates and negatives that are carried out when they are read -------------------------------------
Tensor with_conj_neg_bits(const Tensor& self, TensorImpl::Flag mark) {
  Tensor t = view_of(self, self.sizes(), self.strides(), self.offset());
  toggle_conj_neg_bits(*t.impl(), mark);
  return t;
}
Tensor conj_view(const Tensor& self) {
  TL_CHECK(is_complex(self.dtype()), Runtime, "_conj(): expected a complex tensor, got ",
           scalar_type_name(self.dtype()));
  return with_conj_neg_bits(self, TensorImpl::Conjugated);
}
Tensor neg_view(const Tensor& self) {
  TL_CHECK(self.dtype() != DType::Bool, Runtime, "_neg_view(): bool has no negatives");
  return with_conj_neg_bits(self, TensorImpl::Negated);
}
Tensor conj(const Tensor& self) { return is_complex(self.dtype()) ? ops::_conj(self) : self; }

Tensor real(const Tensor& self) {
  if (self->has(TensorImpl::Conjugated)) return ops::real(without_conj(self));
  return is_complex(self.dtype()) ? ops::select_int(ops::view_as_real(self), -1, 0) : self;
}
Tensor imag(const Tensor& self) {
  TL_CHECK(is_complex(self.dtype()), Runtime, "imag is not implemented for tensors with non-complex dtypes.");
  if (self->has(TensorImpl::Conjugated)) return ops::_neg_view(ops::imag(without_conj(self)));
  return ops::select_int(ops::view_as_real(self), -1, 1);
}

Tensor alias_of(const Tensor& self) { return view_of(self, self.sizes(), self.strides(), self.offset()); }

// No view to autograd: what is written through it leaves no trace in the graph of `self`.
Tensor detach(const Tensor& self) {
  Tensor t = view_of(self, self.sizes(), self.strides(), self.offset());
  drop_base(*t.impl());
  return t;
}

// ---- several views ----------------------------------------------------------------------------------------
Tensor mark_multi(Tensor t) {
  const bool recorded = !(t->flags & (TensorImpl::NoGradView | kInferenceView));
  t->set(TensorImpl::MultiOutputView, recorded);
  return t;
}

Tensor stretch(const Tensor& self, int64_t d, int64_t start, int64_t length) {
  DimVector sizes(self.sizes());
  sizes[d] = length;
  return mark_multi(view_of(self, sizes, self.strides(), offset_at(self, d, start)));
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  TL_CHECK(self.dim() > 0, Runtime, "split expects at least a 1-dimensional tensor");
  TL_CHECK(split_size >= 0, Runtime,
           "split expects split_size be non-negative, but got split_size=", split_size);
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  TL_CHECK(split_size > 0 || n == 0, Runtime,
           "split_size can only be 0 if dimension size is 0, but got dimension size of ", n);
  const int64_t pieces = n == 0 ? 1 : (n - 1) / split_size + 1;
  expect_pieces(pieces);
  std::vector<Tensor> out;
  out.reserve(pieces);
  for (int64_t i = 0; i < pieces; ++i)
    out.push_back(stretch(self, d, i * split_size, std::min(split_size, n - i * split_size)));
  return out;
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntSpan split_sizes, int64_t dim) {
  TL_CHECK(self.dim() > 0, Runtime, "split expects at least a 1-dimensional tensor");
  const int64_t d = wrap_dim(dim, self.dim());
  int64_t start = 0;
  std::vector<Tensor> out;
  for (int64_t length : split_sizes) {
    TL_CHECK(length >= 0, Runtime,
             "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
             split_sizes);
    TL_CHECK(length <= self.size(d) - start, Runtime,
             "split_with_sizes expects split_sizes to sum exactly to ", self.size(d),
             " (input tensor's size at dimension ", d, "), but got split_sizes=", split_sizes);
    out.push_back(stretch(self, d, start, length));
    start += length;
  }
  TL_CHECK(start == self.size(d), Runtime, "split_with_sizes expects split_sizes to sum exactly to ",
           self.size(d), " (input tensor's size at dimension ", d, "), but got split_sizes=", split_sizes);
  return out;
}

std::vector<Tensor> split_sizes(const Tensor& self, IntSpan split_size, int64_t dim) {
  return ops::split_with_sizes(self, split_size, dim);
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  TL_CHECK(self.dim() > 0, Runtime, "chunk expects at least a 1-dimensional tensor");
  TL_CHECK(chunks > 0, Runtime, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t n = self.size(wrap_dim(dim, self.dim()));
  const int64_t size = n == 0 ? 0 : (n - 1) / chunks + 1;
  expect_pieces(size == 0 ? chunks : 0);
  if (size == 0) return ops::split_with_sizes(self, DimVector(static_cast<size_t>(chunks)), dim);
  return ops::split(self, size, dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  TL_CHECK(self.dim() > 0, Index, "Dimension specified as ", dim, " but tensor has no dimensions");
  const int64_t d = wrap_dim(dim, self.dim());
  DimVector sizes(self.sizes()), strides(self.strides());
  sizes.erase(d);
  strides.erase(d);
  expect_pieces(self.size(d));
  std::vector<Tensor> out;
  out.reserve(self.size(d));
  for (int64_t i = 0; i < self.size(d); ++i)
    out.push_back(mark_multi(view_of(self, sizes, strides, offset_at(self, d, i))));
  return out;
}

// ---- through other views ----------------------------------------------------------------------------------
Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t first = wrap_dim(start_dim, self.dim()), last = wrap_dim(end_dim, self.dim());
  TL_CHECK(first <= last, Runtime, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return ops::reshape(self, DimVector{1});
  if (first == last) return self;
  DimVector shape;
  int64_t merged = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d < first || d > last)
      shape.push_back(self.size(d));
    else
      merged *= self.size(d);
    if (d == last) shape.push_back(merged);
  }
  return ops::reshape(self, shape);
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  TL_CHECK(self.dim() > 0, Runtime, "narrow() cannot be applied to a 0-dim tensor.");
  TL_CHECK(length >= 0, Runtime, "narrow(): length must be non-negative.");
  const int64_t n = self.size(wrap_dim(dim, self.dim()));
  TL_CHECK(start >= -n && start <= n, Index, "start out of range (expected to be in range of [", -n, ", ", n,
           "], but got ", start, ")");
  const int64_t first = start < 0 ? start + n : start;
  TL_CHECK(first <= n - length, Runtime, "start (", first, ") + length (", length,
           ") exceeds dimension size (", n, ").");
  return ops::slice(self, dim, first, first + length, 1);
}

Tensor narrow_tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  TL_CHECK(start.dim() == 0 && is_integral(start.dtype(), false), Runtime,
           "start must be an 0-dim integral Tensor.");
  return ops::narrow(self, dim, ops::_local_scalar_dense(start).to_int(), length);
}

// The tensor itself gets the geometry of a view of it.
template <auto F, class Signature = decltype(F)>
struct InPlace;
template <auto F, class... A>
struct InPlace<F, Tensor (*)(const Tensor&, A...)> {
  static Tensor run(const Tensor& self, A... a) {
    const Tensor view = F(self, a...);
    set_geometry(*self.impl(), view.sizes(), view.strides(), view.offset());
    return self;
  }
};

Tensor expand_as(const Tensor& self, const Tensor& other) { return ops::expand(self, other.sizes(), false); }
Tensor view_as(const Tensor& self, const Tensor& other) { return ops::view(self, other.sizes()); }
Tensor reshape_as(const Tensor& self, const Tensor& other) { return ops::reshape(self, other.sizes()); }
}  // namespace

TL_KERNEL(view, view)
TL_KERNEL(view_dtype, view_dtype)
TL_KERNEL(reshape, reshape)
TL_KERNEL(transpose_int, transpose)
TL_KERNEL(t, t)
TL_KERNEL(permute, permute)
TL_KERNEL(expand, expand)
TL_KERNEL(as_strided, as_strided)
TL_KERNEL(slice_Tensor, slice)
TL_KERNEL(select_int, select)
TL_KERNEL(squeeze, squeeze)
TL_KERNEL(squeeze_dim, squeeze_dim)
TL_KERNEL(squeeze_dims, squeeze_dims)
TL_KERNEL(unsqueeze, unsqueeze)
TL_KERNEL(unfold, unfold)
TL_KERNEL(diagonal, diagonal)
TL_KERNEL(view_as_real, view_as_real)
TL_KERNEL(view_as_complex, view_as_complex)
TL_KERNEL(real, real)
TL_KERNEL(imag, imag)
TL_KERNEL(detach, detach)
TL_KERNEL(alias, alias_of)
TL_KERNEL(lift_fresh, detach)
TL_KERNEL(split_Tensor, split)
TL_KERNEL(split_with_sizes, split_with_sizes)
TL_KERNEL(split_sizes, split_sizes)
TL_KERNEL(chunk, chunk)
TL_KERNEL(unbind_int, unbind)
TL_KERNEL(flatten_using_ints, flatten)
TL_KERNEL(narrow, narrow)
TL_KERNEL(narrow_Tensor, narrow_tensor)
TL_KERNEL(_conj, conj_view)
TL_KERNEL(_neg_view, neg_view)
TL_KERNEL(conj, conj)
TL_KERNEL(transpose_, InPlace<&transpose>::run)
TL_KERNEL(t_, InPlace<&t>::run)
TL_KERNEL(squeeze_, InPlace<&squeeze>::run)
TL_KERNEL(squeeze__dim, InPlace<&squeeze_dim>::run)
TL_KERNEL(squeeze__dims, InPlace<&squeeze_dims>::run)
TL_KERNEL(unsqueeze_, InPlace<&unsqueeze>::run)
TL_KERNEL(as_strided_, InPlace<&as_strided>::run)
TL_KERNEL(expand_as, expand_as)
TL_KERNEL(view_as, view_as)
TL_KERNEL(reshape_as, reshape_as)

}  // namespace tl
