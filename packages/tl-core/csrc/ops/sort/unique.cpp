// Which elements there are, and how often.
#include "kernels/cpu/sort/unique.h"

#include <cmath>
#include <limits>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "kernels/cpu/sort/sort.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elements.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Three = std::tuple<Tensor, Tensor, Tensor>;

void check_comparable(const char* name, const Tensor& self) {
  TL_CHECK(!is_complex(self.dtype()), NotImplemented, "\"", name, "\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
}

// Groups of the n rows of `dense`, as far as they are asked for: `heads`, their first rows (of single
// elements, the elements), the group of each row, the groups' sizes.
Three grouped(const Tensor& dense, int64_t n, IntSpan group_shape, bool sorted, bool elements, bool inverse,
              bool counted) {
  TL_CHECK(n < cpu::kMaxSorted, Runtime, "unique: ", n, " elements are too many");
  const Tensor groups = empty(inverse ? DimVector(group_shape) : DimVector{0}, {DType::Int64, {}});
  const Tensor heads = empty(DimVector{n}, {elements ? dense.dtype() : DType::Int64, {}});
  const Tensor counts = empty(DimVector{counted ? n : 0}, {DType::Int64, {}});
  const cpu::Groups wanted{inverse ? groups.ptr<int64_t>() : nullptr,
                           elements ? nullptr : heads.ptr<int64_t>(),
                           counted ? counts.ptr<int64_t>() : nullptr, elements ? heads.ptr<char>() : nullptr};
  const int64_t found =
      n == 0 ? 0 : cpu::group_equal(dense.dtype(), dense.ptr<char>(), n, dense.numel() / n, sorted, wanted);
  const auto shortened = [&](const Tensor& t) {
    return t.numel() <= found ? t : ops::clone(ops::slice(t, 0, 0, found, 1));
  };
  return {shortened(heads), groups, shortened(counts)};
}

Three of_elements(const Tensor& self, bool sorted, bool inverse, bool counts) {
  check_comparable("unique", self);
  const Tensor flat = to_contiguous(ops::reshape(self, DimVector{-1}));
  return grouped(flat, flat.numel(), self.sizes(), sorted, true, inverse, counts);
}

Three of_slices(const Tensor& self, int64_t dim, bool sorted, bool inverse, bool counts) {
  check_comparable("unique_dim", self);
  const int64_t d = wrap_dim(dim, self.dim(), false), n = self.size(d);
  for (int64_t k = 0; k < self.dim(); ++k)
    TL_CHECK(k == d || self.size(k) != 0 || n == 0, Runtime,
             "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  DimVector to_front{d}, back;
  for (int64_t k = 0; k < self.dim(); ++k) {
    if (k != d) to_front.push_back(k);
    back.push_back(k < d ? k + 1 : k == d ? 0 : k);
  }
  const Tensor rows = to_contiguous(ops::permute(self, to_front));
  const auto [first, groups, sizes] = grouped(rows, n, DimVector{n}, sorted, false, inverse, counts);
  return {ops::permute(ops::index_select(rows, 0, first), back), groups, sizes};
}

Three unique2(const Tensor& self, bool, bool inverse, bool counts) {
  return of_elements(self, true, inverse, counts);
}
Three unique_dim(const Tensor& self, int64_t dim, bool, bool inverse, bool counts) {
  return of_slices(self, dim, true, inverse, counts);
}
Three unique_consecutive(const Tensor& self, bool inverse, bool counts, std::optional<int64_t> dim) {
  if (!dim) return of_elements(self, false, inverse, counts);
  return of_slices(self, *dim, false, inverse, counts);
}

// ---- counting ---------------------------------------------------------------------------------------------

// f(element's bin, its number) in order.
template <class F>
void each_bin(const Tensor& bins, F f) {
  const int64_t* bin = bins.ptr<int64_t>();
  for (int64_t i = 0; i < bins.numel(); ++i) f(bin[i], i);
}

// Counts, or sums of weights in double, in the order of the elements.
Tensor bincount(const Tensor& self, OptTensor weights, int64_t minlength) {
  TL_CHECK(is_integral(self.dtype(), true), NotImplemented, "\"bincount_cpu\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  TL_CHECK(minlength >= 0, Runtime, "minlength should be >= 0");
  TL_CHECK(self.dim() == 1, Runtime, "bincount only supports 1-d non-negative integral inputs.");
  TL_CHECK(!weights || (weights->dim() == 1 && weights->size(0) == self.size(0)), Runtime,
           "weights should be 1-d and have the same length as input");
  const Tensor bins = to_contiguous(to_dtype(self, DType::Int64));
  int64_t length = minlength;
  if (bins.numel() > 0) {
    const auto [smallest, largest] = ops::aminmax(bins);
    TL_CHECK(*elements_of<int64_t>("bincount", smallest, 1) >= 0, Runtime,
             "bincount only supports 1-d non-negative integral inputs.");
    length = std::max(length, *elements_of<int64_t>("bincount", largest, 1) + 1);
  }
  const bool in_float = weights && weights->dtype() == DType::Float32;
  const Tensor sums = ops::zeros(DimVector{length}, {.dtype = weights ? DType::Float64 : DType::Int64});
  if (!weights) {
    each_bin(bins, [out = sums.ptr<int64_t>()](int64_t bin, int64_t) { ++out[bin]; });
    return sums;
  }
  const Tensor by = to_contiguous(to_dtype(*weights, DType::Float64));
  each_bin(bins,
           [out = sums.ptr<double>(), w = by.ptr<double>()](int64_t bin, int64_t i) { out[bin] += w[i]; });
  return in_float ? to_dtype(sums, DType::Float32) : sums;
}

// ---- histograms -------------------------------------------------------------------------------------------

void check_histogram(const char* name, const Tensor& self) {
  TL_CHECK(is_floating(self.dtype()), NotImplemented, "\"", name, "_cpu\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
}

struct Ends {
  double low, high;
};
// Where they are equal, those of the data, which are moved apart by `margin` if they are equal, too.
Ends outer_edges(const char* name, const Tensor& self, double low, double high, double margin) {
  if (low == high && self.numel() > 0) {
    low = ops::_local_scalar_dense(ops::min(self)).to_double();
    high = ops::_local_scalar_dense(ops::max(self)).to_double();
  }
  if (low == high) low -= margin, high += margin;
  TL_CHECK(std::isfinite(low) && std::isfinite(high), Runtime, name, ": range of [", low, ", ", high,
           "] is not finite");
  TL_CHECK(low < high, Runtime, name, ": max must be larger than min");
  return {low, high};
}

// In the arithmetic of T, halves after each step: borders of intervals fall as they do in the reference.
template <class T>
void count_between(const Tensor& self, Ends ends, int64_t bins, double* counts) {
  using A = std::conditional_t<sizeof(T) == 2, float, T>;
  const auto rounded = [](A x) { return static_cast<A>(static_cast<T>(x)); };
  const A low = rounded(static_cast<A>(ends.low)), high = rounded(static_cast<A>(ends.high));
  const A width = rounded(high - low), parts = rounded(static_cast<A>(bins));
  const T* elements = self.ptr<T>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    const A x = static_cast<A>(elements[i]);
    if (!(x >= low && x <= high)) continue;
    const int64_t bin = static_cast<int64_t>(rounded(rounded(rounded(x - low) * parts) / width));
    ++counts[bin < bins ? bin : bins - 1];
  }
}
void count_between(const Tensor& self, Ends ends, int64_t bins, double* counts) {
  switch (self.dtype()) {
    case DType::Float16:
      return count_between<Half>(self, ends, bins, counts);
    case DType::BFloat16:
      return count_between<BFloat16>(self, ends, bins, counts);
    case DType::Float32:
      return count_between<float>(self, ends, bins, counts);
    default:
      return count_between<double>(self, ends, bins, counts);
  }
}

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, Out out) {
  check_histogram("histogram", self);
  TL_CHECK(bins > 0, Runtime, "torch.histc(): bins must be > 0, but got ", bins);
  for (const Scalar& end : {min, max}) end.check_fits(self.dtype());
  const Ends ends = outer_edges("torch.histc()", self, min.to_double(), max.to_double(), 1);
  const Tensor sums = ops::zeros(DimVector{bins}, {.dtype = DType::Float64});
  count_between(to_contiguous(self), ends, bins, sums.ptr<double>());
  const Tensor result = prepare_out(out, DimVector{bins}, {self.dtype(), self.device()});
  copy_elements(result, sums);
  return result;
}

using Pair = std::tuple<Tensor, Tensor>;
// Bins by binary search of their left edges; the last bin has its right edge as well.
Pair histogram_by(const Tensor& self, const Tensor& edges, OptTensor weight, bool density) {
  check_histogram("histogram", self);
  TL_CHECK(edges.dim() == 1 && edges.numel() > 0, Runtime,
           "torch.histogramdd(): bins tensor should have one dimension and not be empty, but got ",
           edges.dim(), " dimensions in the bins tensor");
  TL_CHECK(
      edges.dtype() == self.dtype(), Runtime,
      "torch.histogramdd(): input tensor and bins tensors should have the same dtype, but got input with "
      "dtype ",
      dtype_name(self.dtype()), " and bins with dtype ", dtype_name(edges.dtype()));
  TL_CHECK(
      !weight || weight->dtype() == self.dtype(), Runtime,
      "torch.histogramdd(): if weight tensor is provided, input tensor and weight tensor should have the "
      "same dtype");
  TL_CHECK(
      !weight || std::ranges::equal(weight->sizes(), self.sizes()), Runtime,
      "torch.histogramdd(): if weight tensor is provided it should have the same shape as the input tensor "
      "excluding its innermost dimension, but got input with shape ",
      self.sizes(), " and weight with shape ", weight ? weight->sizes() : self.sizes());
  const int64_t bins = edges.numel() - 1;
  const Tensor flat = ops::reshape(self, DimVector{-1});
  const Tensor positions = ops::searchsorted(edges, flat, false, true);
  const Tensor last = to_contiguous(ops::eq(flat, ops::select_int(edges, 0, bins)));
  const Tensor sums = ops::zeros(DimVector{bins}, {.dtype = DType::Float64});
  const Tensor by =
      weight ? to_contiguous(to_dtype(ops::reshape(*weight, DimVector{-1}), DType::Float64)) : Tensor();
  double* counts = sums.ptr<double>();
  each_bin(positions, [&](int64_t position, int64_t i) {
    const int64_t bin = last.ptr<bool>()[i] ? bins - 1 : position - 1;
    if (bin >= 0 && bin < bins) counts[bin] += weight ? by.ptr<double>()[i] : 1.0;
  });
  Tensor result = to_dtype(sums, self.dtype());
  if (density) {
    const Tensor widths = ops::sub(ops::slice(edges, 0, 1, bins + 1, 1), ops::slice(edges, 0, 0, bins, 1));
    result = ops::div(result, ops::mul(ops::sum(result), widths));
  }
  return {result, edges};
}
Pair given(Pair made, Out hist, Out edges) {
  if (!hist) return made;
  const auto into = [](Out out, const Tensor& t) {
    return ops::copy_(prepare_out(out, t.sizes(), {out.tensor->dtype(), t.device()}), t);
  };
  return {into(hist, std::get<0>(made)), into(edges, std::get<1>(made))};
}
Pair histogram_bins(const Tensor& self, const Tensor& bins, OptTensor weight, bool density, Out hist,
                    Out edges) {
  return given(histogram_by(self, ops::clone(bins, MemoryFormat::Contiguous), weight, density), hist, edges);
}
Pair histogram_count(const Tensor& self, int64_t bins, std::optional<std::span<const double>> range,
                     OptTensor weight, bool density, Out hist, Out edges) {
  check_histogram("histogram", self);
  TL_CHECK(bins > 0, Runtime, "torch.histogram(): bins must be > 0, but got ", bins);
  TL_CHECK(!range || range->size() == 2, Runtime,
           "torch.histogramdd(): for a 1-dimensional histogram range should "
           "have 2 elements, but got ",
           range ? range->size() : 0);
  TL_CHECK(!range || (*range)[0] <= (*range)[1], Runtime, "torch.histogramdd(): dimension 0's leftmost edge ",
           range ? (*range)[0] : 0, " should not exceed its rightmost edge ", range ? (*range)[1] : 0);
  const double low = range ? (*range)[0] : 0, high = range ? (*range)[1] : 0;
  const bool is_open = !range && self.numel() == 0;  // as in NumPy, from 0 to 1
  const Ends ends = is_open ? Ends{0, 1} : outer_edges("torch.histogramdd()", self, low, high, 0.5);
  const Tensor made =
      ops::linspace(Scalar(ends.low), Scalar(ends.high), checked_add(bins, 1), {.dtype = self.dtype()});
  return given(histogram_by(self, made, weight, density), hist, edges);
}
}  // namespace

TL_KERNEL(_unique2, unique2)
TL_KERNEL(unique_dim, unique_dim)
TL_KERNEL(unique_consecutive, unique_consecutive)
TL_KERNEL(bincount, bincount)
TL_KERNEL(histc, histc)
TL_KERNEL(histogram_bins_tensor, histogram_bins)
TL_KERNEL(histogram_bin_ct, histogram_count)

}  // namespace tl
