// Sorted orders and the largest elements.
#include "kernels/cpu/sort/sort.h"

#include <limits>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/reduce/reduction.h"
#include "ops/shared/along.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;

void check_sortable(const char* name, const Tensor& self) {
  TL_CHECK(!is_complex(self.dtype()), Runtime, name, "(): input tensor must be of non-complex type, got ",
           scalar_type_name(self.dtype()));
}

int64_t length(const Tensor& self, int64_t d) {
  const int64_t n = self.dim() ? self.size(d) : 1;
  TL_CHECK(n <= cpu::kMaxSorted, Runtime, "a dimension of ", n, " elements is too long to be sorted");
  return n;
}

Pair prepared(const Tensor& self, IntSpan sizes, IntSpan strides, Out out, Out out_index) {
  check_out_dtype(out, self.dtype());
  check_out_dtype(out_index, DType::Int64);
  const auto make = [&](Out o, DType d) {
    return o ? prepare_out(o, sizes, {d, self.device()}) : empty_strided(sizes, strides, {d, self.device()});
  };
  return {make(out, self.dtype()), make(out_index, DType::Int64)};
}

// The kernel reads a line before it writes it, but lines lie across each other where an output is in the
// input's storage.
void run(const Tensor& self, int64_t dim, int64_t count, bool descending, const Tensor& values,
         const Tensor& indices) {
  if (values.is_meta() || values.numel() == 0) return;
  const Tensor source = isolate(isolate(self, values), indices);
  const AlongGeometry geometry(dim, length(self, dim), {&values, &indices, &source});
  cpu::sort(self.dtype(), geometry.shape(), count, descending, values.ptr<char>(), indices.ptr<char>(),
            source.ptr<char>());
}

Pair sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending, Out out,
                 Out out_index) {
  check_sortable("sort", self);
  const int64_t d = wrap_dim(dim, self.dim());
  const auto [values, indices] =
      prepared(self, self.sizes(), preserved_strides(self.sizes(), self.strides()), out, out_index);
  run(self, d, length(self, d), descending, values, indices);
  return {values, indices};
}
Pair sort(const Tensor& self, int64_t dim, bool descending, Out out, Out out_index) {
  return sort_stable(self, true, dim, descending, out, out_index);
}

Tensor argsort_stable(const Tensor& self, bool, int64_t dim, bool descending) {
  return std::get<1>(ops::sort(self, dim, descending));
}
Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return argsort_stable(self, true, dim, descending);
}
Tensor msort(const Tensor& self, Out out) {
  const Tensor values = std::get<0>(ops::sort(self, 0, false));
  return out ? ops::copy_(prepare_out(out, values.sizes(), {values.dtype(), values.device()}), values)
             : values;
}

// All come sorted, whether asked for or not.
Pair topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, Out out, Out out_index) {
  check_sortable("topk", self);
  const int64_t d = wrap_dim(dim, self.dim()), n = length(self, d);
  TL_CHECK(k >= 0 && k <= n, Runtime, "selected index k out of range: k is ", k, ", the dimension has ", n,
           " elements");
  DimVector sizes(self.sizes());
  if (self.dim()) sizes[d] = k;
  const auto [values, indices] = prepared(self, sizes, contiguous_strides(sizes), out, out_index);
  const int64_t taken = self.dim() ? k : 1;  // a number is what is largest of it, however few are asked for
  if (taken > 0) run(self, d, taken, largest, values, indices);
  return {values, indices};
}

// ---- single ranks -----------------------------------------------------------------------------------------

// values[...] and indices[...] of each line, by `kernel(shape, values, indices, input)`.
template <class Kernel>
Pair picked(const char* name, const Tensor& self, int64_t dim, bool keepdim, Out out, Out out_index,
            Kernel kernel) {
  TL_CHECK(!is_complex(self.dtype()), NotImplemented, "\"", name, "_cpu\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  const int64_t d = wrap_dim(dim, self.dim());
  TL_CHECK(length(self, d) > 0, Index, name, "(): Expected reduction dim ", d, " to have non-zero size.");
  const DimVector sizes = reduced_shape(self.sizes(), self.dim() ? uint64_t{1} << d : 0, keepdim);
  const auto [values, indices] = prepared(self, sizes, contiguous_strides(sizes), out, out_index);
  if (values.is_meta() || values.numel() == 0) return {values, indices};
  const bool keeps_dim = keepdim || self.dim() == 0;
  const Tensor v = keeps_dim ? values : ops::unsqueeze(values, d),
               i = keeps_dim ? indices : ops::unsqueeze(indices, d);
  const Tensor source = isolate(isolate(self, values), indices);
  const AlongGeometry geometry(d, length(self, d), {&v, &i, &source});
  kernel(geometry.shape(), v.ptr<char>(), i.ptr<char>(), source.ptr<char>());
  return {values, indices};
}

Pair ranked(const char* name, cpu::Rank rank, const Tensor& self, int64_t nth, int64_t dim, bool keepdim,
            Out out, Out out_index) {
  return picked(name, self, dim, keepdim, out, out_index,
                [&](const cpu::AlongShape& shape, char* values, char* indices, const char* in) {
                  cpu::select_rank(self.dtype(), shape, rank, nth, values, indices, in);
                });
}
Pair kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim, Out out, Out out_index) {
  const int64_t d = wrap_dim(dim, self.dim()), n = self.dim() ? self.size(d) : 1;
  TL_CHECK(n > 0, Index, "kthvalue(): Expected reduction dim ", d, " to have non-zero size.");
  TL_CHECK(k >= 1 && k <= n, Runtime, "kthvalue(): selected number k out of range for dimension ", d,
           ": k is ", k, ", the dimension has ", n, " elements");
  return ranked("kthvalue", cpu::Rank::Nth, self, k - 1, d, keepdim, out, out_index);
}
Pair median_dim(const Tensor& self, int64_t dim, bool keepdim, Out out, Out out_index) {
  return ranked("median", cpu::Rank::Median, self, 0, dim, keepdim, out, out_index);
}
Pair nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim, Out out, Out out_index) {
  return ranked("nanmedian", cpu::Rank::NanMedian, self, 0, dim, keepdim, out, out_index);
}
Tensor median_of_all(const char* name, cpu::Rank rank, const Tensor& self) {
  if (self.numel() == 0)
    return ops::full(IntSpan{}, Scalar(std::numeric_limits<double>::quiet_NaN()),
                     {.dtype = self.dtype(), .device = self.device()});
  return std::get<0>(ranked(name, rank, ops::reshape(self, DimVector{-1}), 0, 0, false, {}, {}));
}
Tensor median(const Tensor& self) { return median_of_all("median", cpu::Rank::Median, self); }
Tensor nanmedian(const Tensor& self) { return median_of_all("nanmedian", cpu::Rank::NanMedian, self); }
Pair mode(const Tensor& self, int64_t dim, bool keepdim, Out out, Out out_index) {
  return picked("mode", self, dim, keepdim, out, out_index,
                [&](const cpu::AlongShape& shape, char* values, char* indices, const char* in) {
                  cpu::mode(self.dtype(), shape, values, indices, in);
                });
}
}  // namespace

TL_KERNEL(sort, sort)
TL_KERNEL(sort_stable, sort_stable)
TL_KERNEL(argsort, argsort)
TL_KERNEL(argsort_stable, argsort_stable)
TL_KERNEL(msort, msort)
TL_KERNEL(topk, topk)
TL_KERNEL(kthvalue, kthvalue)
TL_KERNEL(median, median)
TL_KERNEL(nanmedian, nanmedian)
TL_KERNEL(median_dim, median_dim)
TL_KERNEL(nanmedian_dim, nanmedian_dim)
TL_KERNEL(mode, mode)

}  // namespace tl
