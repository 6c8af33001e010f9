// The same elements in other places: turned, repeated, with other dimensions.
#include <algorithm>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// ---- turned -----------------------------------------------------------------------------------------------
// Strides that run backwards exist only here, on the way into a copy.
Tensor flip(const Tensor& self, IntSpan dims) {
  const uint64_t mask = dim_mask(dims, self.dim(), false);
  Tensor out = empty_strided(self.sizes(), preserved_strides(self.sizes(), self.strides()),
                             {self.dtype(), self.device()});
  if (self.is_meta() || self.numel() == 0) return out;
  DimVector strides(self.strides());
  int64_t offset = self.offset();
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!(mask >> d & 1)) continue;
    offset += (self.size(d) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  copy_elements(out,
                on_storage(StoragePtr::share(self.storage()), self.dtype(), self.sizes(), strides, offset));
  return out;
}

Tensor fliplr(const Tensor& self) {
  TL_CHECK(self.dim() >= 2, Runtime, "Input must be >= 2-d. fliplr() got ", self.dim(), "-d");
  return ops::flip(self, DimVector{1});
}
Tensor flipud(const Tensor& self) {
  TL_CHECK(self.dim() >= 1, Runtime, "Input must be >= 1-d. flipud() got ", self.dim(), "-d");
  return ops::flip(self, DimVector{0});
}

void check_rotation(const Tensor& self, IntSpan dims) {
  const int64_t n = self.dim();
  TL_CHECK(dims.size() == 2, Runtime, "expected total rotation dims == 2, but got dims = ", dims.size());
  TL_CHECK(n >= 2, Runtime, "expected total dims >= 2, but got total dims = ", n);
  TL_CHECK(dims[0] != dims[1] && wrapped_add(dims[0], n) != dims[1] && wrapped_add(dims[1], n) != dims[0],
           Runtime, "expected rotation dims to be different, but got dim0 = ", dims[0],
           " and dim1 = ", dims[1]);
  for (int i = 0; i < 2; ++i)
    TL_CHECK(dims[i] < n && dims[i] >= -n, Runtime, "Rotation dim", i, " out of range, dim", i, " = ",
             dims[i]);
}

Tensor rot90(const Tensor& self, int64_t k, IntSpan dims) {
  check_rotation(self, dims);
  switch (((k % 4) + 4) % 4) {
    case 1:
      return ops::transpose_int(ops::flip(self, DimVector{dims[1]}), dims[0], dims[1]);
    case 2:
      return ops::flip(self, dims);
    case 3:
      return ops::transpose_int(ops::flip(self, DimVector{dims[0]}), dims[0], dims[1]);
    default:
      return ops::clone(self, MemoryFormat::Contiguous);
  }
}

Tensor roll_one(const Tensor& self, int64_t shift, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim(), false), n = self.size(d);
  if (self.numel() == 0) return ops::clone(self);
  const int64_t first = ((shift % n) + n) % n;
  if (first == 0) return ops::clone(self);
  return ops::cat(
      std::vector<Tensor>{ops::narrow(self, d, n - first, first), ops::narrow(self, d, 0, n - first)}, d);
}

Tensor roll(const Tensor& self, IntSpan shifts, IntSpan dims) {
  TL_CHECK(!shifts.empty(), Runtime, "`shifts` required");
  if (dims.empty() && shifts.size() == 1)
    return ops::view(roll_one(ops::reshape(self, DimVector{-1}), shifts[0], 0), self.sizes());
  TL_CHECK(shifts.size() == dims.size(), Runtime, "shifts and dimensions must align. shifts: ", shifts.size(),
           ", dims:", dims.size());
  Tensor out = self;
  for (size_t i = 0; i < shifts.size(); ++i) out = roll_one(out, shifts[i], dims[i]);
  return out;
}

// ---- repeated ---------------------------------------------------------------------------------------------
DimVector interleaved(IntSpan outer, IntSpan inner) {
  DimVector sizes;
  for (size_t d = 0; d < outer.size(); ++d) {
    sizes.push_back(outer[d]);
    sizes.push_back(inner[d]);
  }
  return sizes;
}

DimVector products(IntSpan a, IntSpan b) {
  DimVector sizes(a.size());
  for (size_t d = 0; d < a.size(); ++d)
    TL_CHECK(!__builtin_mul_overflow(a[d], b[d], &sizes[d]), Runtime, "the size of dimension ", d, ", ", a[d],
             " times ", b[d], ", does not fit into 64 bits");
  checked_numel(sizes);
  return sizes;
}

DimVector padded(IntSpan sizes, size_t ndim) {
  DimVector out(ndim, 1);
  std::ranges::copy(sizes, out.begin() + static_cast<int64_t>(ndim - sizes.size()));
  return out;
}

Tensor repeat(const Tensor& self, IntSpan repeats) {
  TL_CHECK(static_cast<int64_t>(repeats.size()) >= self.dim(), Runtime,
           "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  for (int64_t r : repeats)
    TL_CHECK(r >= 0, Runtime, "Trying to create tensor with negative dimension ", r, ": repeats ", repeats);
  const DimVector sizes = padded(self.sizes(), repeats.size());
  const DimVector shape = products(repeats, sizes), ones(repeats.size(), 1);
  const Tensor spread = ops::expand(ops::view(self, interleaved(ones, sizes)), interleaved(repeats, sizes));
  return ops::view(ops::clone(spread, MemoryFormat::Contiguous), shape);
}

Tensor tile(const Tensor& self, IntSpan dims) {
  return ops::repeat(self, padded(dims, std::max(dims.size(), static_cast<size_t>(self.dim()))));
}

Tensor kron(const Tensor& self, const Tensor& other, Out out) {
  const size_t ndim = static_cast<size_t>(std::max(self.dim(), other.dim()));
  const DimVector a = padded(self.sizes(), ndim), b = padded(other.sizes(), ndim), ones(ndim, 1);
  const DimVector shape = products(a, b);
  const Tensor blocks =
      ops::mul(ops::reshape(self, interleaved(a, ones)), ops::reshape(other, interleaved(ones, b)));
  return copied_out(ops::reshape(blocks, shape), out);
}

// ---- other dimensions -------------------------------------------------------------------------------------
void check_moves(const char* what, IntSpan given, const DimVector& wrapped) {
  uint64_t seen = 0;
  for (int64_t d : wrapped) {
    TL_CHECK(!(seen >> d & 1), Runtime, "movedim: repeated dim in `", what, "` (", given, ")");
    seen |= uint64_t{1} << d;
  }
}

Tensor movedim_intlist(const Tensor& self, IntSpan source, IntSpan destination) {
  TL_CHECK(source.size() == destination.size(), Runtime,
           "movedim: Invalid source or destination dims: source (", source,
           " dims) should contain the same number of dims as destination (", destination, " dims)");
  const int64_t ndim = self.dim();
  DimVector from, to;
  for (int64_t d : source) from.push_back(wrap_dim(d, ndim));
  for (int64_t d : destination) to.push_back(wrap_dim(d, ndim));
  check_moves("source", source, from);
  check_moves("destination", destination, to);
  if (ndim == 0) return ops::permute(self, {});
  DimVector dims(static_cast<size_t>(ndim), -1);
  for (size_t i = 0; i < from.size(); ++i) dims[to[i]] = from[i];
  int64_t next = 0;
  for (int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (std::ranges::find(from, next) != from.end()) ++next;
    dim = next++;
  }
  return ops::permute(self, dims);
}
Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination) {
  return ops::movedim_intlist(self, DimVector{source}, DimVector{destination});
}

Tensor unflatten(const Tensor& self, int64_t dim, IntSpan sizes) {
  TL_CHECK(!sizes.empty(), Runtime, "unflatten: sizes must be non-empty");
  TL_CHECK(self.dim() > 0, Index, "unflatten: dim ", dim, " of a tensor without dimensions");
  const int64_t d = wrap_dim(dim, self.dim()), have = self.size(d);
  int64_t product = 1, unknown = 0;
  bool fits = true;
  for (int64_t s : sizes) {
    unknown += s == -1;
    fits = fits && s >= -1 && (s == -1 || !__builtin_mul_overflow(product, s, &product));
  }
  fits = fits && unknown <= 1 && (unknown ? product > 0 && have % product == 0 : product == have);
  TL_CHECK(fits, Runtime, "unflatten: Provided sizes ", sizes, " don't multiply up to the size of dim ", d,
           " (", have, ") in the input tensor");
  DimVector shape(self.sizes());
  shape.erase(d);
  for (size_t i = 0; i < sizes.size(); ++i)
    shape.insert(d + static_cast<int64_t>(i), sizes[i] == -1 ? have / product : sizes[i]);
  return ops::view(self, shape);
}

Tensor ravel(const Tensor& self) { return ops::view(ops::contiguous(self), DimVector{-1}); }

Tensor adjoint(const Tensor& self) {
  TL_CHECK(self.dim() >= 2, Runtime,
           "tensor.adjoint() is only supported on matrices or batches of matrices. Got ", self.dim(),
           "-D tensor.");
  return ops::conj(ops::transpose_int(self, -2, -1));
}

Tensor broadcast_to(const Tensor& self, IntSpan size) { return ops::expand(self, size); }

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  DimVector shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.sizes());
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(ops::expand(t, shape));
  return out;
}
}  // namespace

TL_KERNEL(flip, flip)
TL_KERNEL(fliplr, fliplr)
TL_KERNEL(flipud, flipud)
TL_KERNEL(rot90, rot90)
TL_KERNEL(roll, roll)
TL_KERNEL(repeat, repeat)
TL_KERNEL(tile, tile)
TL_KERNEL(kron, kron)
TL_KERNEL(movedim_intlist, movedim_intlist)
TL_KERNEL(movedim_int, movedim_int)
TL_KERNEL(unflatten_int, unflatten)
TL_KERNEL(ravel, ravel)
TL_KERNEL(adjoint, adjoint)
TL_KERNEL(broadcast_to, broadcast_to)
TL_KERNEL(broadcast_tensors, broadcast_tensors)

}  // namespace tl
