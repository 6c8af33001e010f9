// Diagonals read and made, the cross product, triangles' positions.
#include <algorithm>
#include <array>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t ndim = self.dim() + 1, a = wrap_dim(dim1, ndim), b = wrap_dim(dim2, ndim);
  TL_CHECK(self.dim() > 0, Index, "diag_embed(): the input needs at least one dimension");
  TL_CHECK(a != b, Runtime, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t side;
  TL_CHECK(offset != INT64_MIN && !__builtin_add_overflow(self.size(self.dim() - 1), std::abs(offset), &side),
           Runtime, "diag_embed(): offset ", offset, " is too large");
  DimVector shape(self.sizes());
  shape.pop_back();
  shape.insert(std::min(a, b), side);
  shape.insert(std::max(a, b), side);
  const Tensor out = ops::zeros(shape, {.dtype = self.dtype(), .device = self.device()});
  ops::copy_(ops::diagonal(out, offset, a, b), self);
  return out;
}

Tensor diag(const Tensor& self, int64_t diagonal, Out out) {
  TL_CHECK(self.dim() == 1 || self.dim() == 2, Runtime, "diag(): Supports 1D or 2D tensors. Got ", self.dim(),
           "D");
  return copied_out(self.dim() == 1 ? ops::diag_embed(self, diagonal)
                                    : ops::clone(ops::diagonal(self, diagonal), MemoryFormat::Contiguous),
                    out);
}

Tensor diagflat(const Tensor& self, int64_t offset) {
  return ops::diag_embed(ops::reshape(self, DimVector{-1}), offset);
}

// The elements whose positions are the same in every dimension.
Tensor main_diagonal(const Tensor& t) {
  int64_t length = t.size(0), stride = 0;
  for (int64_t d = 0; d < t.dim(); ++d) {
    length = std::min(length, t.size(d));
    stride += t.stride(d);
  }
  return ops::as_strided(t, DimVector{length}, DimVector{stride});
}

Tensor fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap) {
  TL_CHECK(self.dim() >= 2, Runtime, "dimensions must larger than 1, got ", self.dim());
  const IntSpan sizes = self.sizes();
  TL_CHECK(self.dim() == 2 || std::ranges::count(sizes, sizes[0]) == self.dim(), Runtime,
           "all dimensions of input must be of equal length, got ", sizes);
  ops::fill__Scalar(main_diagonal(self), value);
  if (!wrap || self.dim() > 2) return self;
  const int64_t rows = sizes[0], block = sizes[1] + 1;
  for (int64_t at = block; at < rows; at += block)
    ops::fill__Scalar(main_diagonal(ops::narrow(self, 0, at, std::min(block, rows - at))), value);
  return self;
}

Tensor trace(const Tensor& self) {
  TL_CHECK(self.dim() == 2, Runtime, "trace: expected a matrix, but got a tensor with ", self.dim(),
           " dimensions");
  return ops::sum(ops::diagonal(self));
}

// Every dimension but the three of a cross product may broadcast.
Tensor cross_product(const Tensor& a, const Tensor& b, int64_t dim, Out out) {
  TL_CHECK(a.dim() == b.dim(), Runtime, "linalg.cross: inputs must have the same number of dimensions.");
  const int64_t d = wrap_dim(dim, a.dim(), false);
  TL_CHECK(a.size(d) == 3 && b.size(d) == 3, Runtime, "linalg.cross: inputs dimension ", dim,
           " must have length 3. Got ", a.size(d), " and ", b.size(d));
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  const DType dtype = promotion.result();
  TL_CHECK(dtype != DType::Bool, NotImplemented, "\"cross\" not implemented for 'Bool'");
  const DimVector shape = broadcast_shapes(a.sizes(), b.sizes());
  if (out) {
    check_castable(dtype, *out);
    for (const Tensor* in : {&a, &b})
      if (out.tensor->storage() == in->storage() && in->numel())
        return copied_out(cross_product(a, b, dim, {}), out);
  }
  const Tensor result = out ? prepare_out(out, shape, {out.tensor->dtype(), a.device()}) : Tensor();
  // Side by side, the three are taken apart first, as rows can't be read with gaps so fast.
  const bool interleaved = a.stride(d) == 1 && b.stride(d) == 1;
  const auto parted = [&](const Tensor& t) {
    return interleaved ? to_contiguous(ops::movedim_int(t, d, 0)) : ops::movedim_int(t, d, 0);
  };
  const Tensor x = parted(a), y = parted(b);
  std::array<Tensor, 3> planes;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    const Tensor first = ops::mul(ops::select_int(x, 0, j), ops::select_int(y, 0, k));
    const Tensor second = ops::mul(ops::select_int(x, 0, k), ops::select_int(y, 0, j));
    planes[static_cast<size_t>(i)] = ops::sub(first, second);
  }
  // In one pass: each of its own would touch all cache lines of the result.
  return out ? ops::copy_(result, ops::stack(planes, d)) : ops::stack(planes, d);
}

int64_t first_of_three(const Tensor& t) {
  const auto found = std::ranges::find(t.sizes(), 3);
  TL_CHECK(found != t.sizes().end(), Runtime, "no dimension of size 3 in input");
  return found - t.sizes().begin();
}
Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim, Out out) {
  static WarnOnce unnamed;
  if (!dim)
    unnamed(
        "Using torch.cross without specifying the dim arg is deprecated: it takes the first dimension of "
        "size 3, torch.linalg.cross the last of all");
  const int64_t d = dim ? *dim : first_of_three(self);
  return out ? ops::linalg_cross_out(self, other, d, *out) : ops::linalg_cross(self, other, d);
}

// ---- positions in triangles -------------------------------------------------------------------------------
// Saturates, so that offsets near the ends of int64 mean all or nothing.
int64_t added(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

// How many elements lie on and below the diagonal: rows that grow by one column each, then whole rows.
__int128 lower_count(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t first = std::clamp<int64_t>(added(0, -std::max(offset, -INT64_MAX)), 0, rows);
  const int64_t whole = std::clamp<int64_t>(added(columns, -std::max(offset, -INT64_MAX)), first, rows);
  const __int128 growing = whole - first, start = static_cast<__int128>(first) + offset + 1;
  return growing * start + growing * (growing - 1) / 2 + static_cast<__int128>(rows - whole) * columns;
}

// Row by row, the columns from begin(row) up to end(row).
template <class Begin, class End>
Tensor positions(__int128 count, int64_t first_row, int64_t last_row, Begin begin, End end) {
  TL_CHECK(count < INT64_MAX / 16, Runtime, "the triangle has too many elements");
  const int64_t n = static_cast<int64_t>(count);
  const Tensor out = empty(DimVector{2, n}, {DType::Int64, {}});
  if (n == 0) return out;
  int64_t *row = out.ptr<int64_t>(), *column = row + n;
  for (int64_t i = first_row; i < last_row; ++i)
    for (int64_t k = begin(i); k < end(i); ++k) {
      *row++ = i;
      *column++ = k;
    }
  return out;
}

void check_triangle(int64_t rows, int64_t columns, std::optional<Layout> layout) {
  TL_CHECK(rows >= 0, Runtime, "row must be non-negative, got", rows);
  TL_CHECK(columns >= 0, Runtime, "col must be non-negative, got", columns);
  TL_CHECK(!layout || *layout == Layout::Strided, Runtime, "only support layout=torch.strided, got layout ",
           static_cast<int>(layout.value_or(Layout::Strided)));
}

Tensor placed(const Tensor& t, std::optional<DType> dtype, std::optional<Device> device) {
  TL_CHECK(!dtype || !is_complex(*dtype), NotImplemented, "positions cannot be of the type ",
           dtype_name(dtype.value_or(DType::Int64)));
  return ops::to_device(t, device, dtype.value_or(DType::Int64));
}

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, const FactoryOptions& options) {
  check_triangle(rows, columns, options.layout);
  const int64_t first = std::clamp<int64_t>(added(0, -std::max(offset, -INT64_MAX)), 0, rows);
  const Tensor t = positions(
      lower_count(rows, columns, offset), first, rows, [](int64_t) { return int64_t{0}; },
      [=](int64_t i) { return std::clamp<int64_t>(added(added(i, 1), offset), 0, columns); });
  return placed(t, options.dtype, options.device);
}
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, const FactoryOptions& options) {
  check_triangle(rows, columns, options.layout);
  const int64_t last = std::clamp<int64_t>(added(columns, -std::max(offset, -INT64_MAX)), 0, rows);
  const __int128 all = static_cast<__int128>(rows) * columns;
  const Tensor t = positions(
      all - lower_count(rows, columns, added(offset, -1)), 0, last,
      [=](int64_t i) { return std::clamp<int64_t>(added(i, offset), 0, columns); },
      [=](int64_t) { return columns; });
  return placed(t, options.dtype, options.device);
}
}  // namespace

TL_KERNEL(diag_embed, diag_embed)
TL_KERNEL(diag, diag)
TL_KERNEL(diagflat, diagflat)
TL_KERNEL(fill_diagonal_, fill_diagonal_)
TL_KERNEL(trace, trace)
TL_KERNEL(linalg_cross, cross_product)
TL_KERNEL(cross, cross)
TL_KERNEL(tril_indices, tril_indices)
TL_KERNEL(triu_indices, triu_indices)

}  // namespace tl
