// Histograms of points in several dimensions.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
int64_t last_size(const Tensor& t) { return t.size(t.dim() - 1); }

void check_points(const Tensor& self) {
  TL_CHECK(self.dim() >= 2, Runtime,
           "torch.histogramdd: input tensor should have at least 2 dimensions, but got ", self.dim());
  TL_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, NotImplemented,
           "\"histogramdd\" not implemented for '", scalar_type_name(self.dtype()), "'");
}
void check_weight(const Tensor& self, OptTensor weight) {
  if (!weight) return;
  TL_CHECK(weight->dtype() == self.dtype(), Runtime,
           "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
           "same dtype, but got input(",
           dtype_name(self.dtype()), "), and weight(", dtype_name(weight->dtype()), ")");
  const IntSpan sizes = self.sizes().first(static_cast<size_t>(self.dim() - 1));
  TL_CHECK(
      std::ranges::equal(weight->sizes(), sizes), Runtime,
      "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
      "excluding its innermost dimension, but got input with shape ",
      self.sizes(), " and weight with shape ", weight->sizes());
}

// These rows are not in ops.h: this file alone calls them.
std::vector<Tensor> call_edges(const Tensor& self, IntSpan bins, std::optional<std::span<const double>> range,
                               OptTensor weight, bool density) {
  static const Operator& op = operator_named("_histogramdd_bin_edges");
  return call_typed<std::vector<Tensor>>(op, self, bins, range, weight, density);
}
Tensor call_counts(const Tensor& self, TensorList edges, OptTensor weight, bool density) {
  static const Operator& op = operator_named("_histogramdd_from_bin_tensors");
  return call_typed<Tensor>(op, self, edges, weight, density);
}

// ---- edges ------------------------------------------------------------------------------------------------
struct Ends {
  double low, high;
};

std::vector<Ends> ends_of_data(const Tensor& self, int64_t dims) {
  std::vector<Ends> ends(static_cast<size_t>(dims), Ends{0, 1});  // as in NumPy, without points
  if (self.numel() == 0) return ends;
  const Tensor points = ops::reshape(ops::detach(self), DimVector{-1, dims});
  const Tensor low = ops::amin(points, DimVector{0}), high = ops::amax(points, DimVector{0});
  const auto number = [](const Tensor& t, int64_t d) {
    return ops::_local_scalar_dense(ops::select_int(t, 0, d)).to_double();
  };
  for (int64_t d = 0; d < dims; ++d) ends[static_cast<size_t>(d)] = {number(low, d), number(high, d)};
  return ends;
}

// The least and greatest edge of each dimension. Equal ends move half a unit apart to both sides.
std::vector<Ends> outer_ends(const Tensor& self, int64_t dims, std::optional<std::span<const double>> range) {
  TL_CHECK(!range || range->size() == 2 * static_cast<size_t>(dims), Runtime, "torch.histogramdd: for a ",
           dims, "-dimensional histogram range should have ", 2 * dims, " elements, but got ",
           range ? range->size() : 0);
  std::vector<Ends> ends;
  if (range)
    for (size_t i = 0; i < range->size(); i += 2) ends.push_back({(*range)[i], (*range)[i + 1]});
  else
    ends = ends_of_data(self, dims);
  for (size_t d = 0; d < ends.size(); ++d) {
    auto& [low, high] = ends[d];
    TL_CHECK(std::isfinite(low) && std::isfinite(high), Runtime, "torch.histogramdd: dimension ", d,
             "'s range [", low, ", ", high, "] is not finite");
    TL_CHECK(low <= high, Runtime, "torch.histogramdd: min should not exceed max, but got min ", low, " max ",
             high, " for dimension ", d);
    if (low == high) low -= 0.5, high += 0.5;
  }
  return ends;
}

std::vector<Tensor> bin_edges(const Tensor& self, IntSpan bins, std::optional<std::span<const double>> range,
                              OptTensor weight, bool) {
  check_points(self);
  check_weight(self, weight);
  const int64_t dims = last_size(self);
  TL_CHECK(bins.size() == static_cast<size_t>(dims), Runtime,
           "torch.histogramdd: The size of bins must be equal to the innermost dimension of the input, ",
           dims, ", but got ", bins.size());
  for (size_t d = 0; d < bins.size(); ++d)
    TL_CHECK(bins[d] > 0, Runtime, "torch.histogramdd(): bins must be > 0, but got ", bins[d],
             " for dimension ", d);
  const std::vector<Ends> ends = outer_ends(self, dims, range);
  std::vector<Tensor> edges;
  for (size_t d = 0; d < bins.size(); ++d)
    edges.push_back(ops::linspace(Scalar(ends[d].low), Scalar(ends[d].high), checked_add(bins[d], 1),
                                  {.dtype = self.dtype(), .device = self.device()}));
  return edges;
}

// ---- counts -----------------------------------------------------------------------------------------------
void check_edges(const Tensor& self, TensorList edges) {
  const int64_t dims = last_size(self);
  TL_CHECK(edges.size() == static_cast<size_t>(dims), Runtime, "torch.histogramdd: expected ", dims,
           " sequences of bin edges for a ", dims, "-dimensional histogram but got ", edges.size());
  for (size_t d = 0; d < edges.size(); ++d) {
    TL_CHECK(
        edges[d].dtype() == self.dtype(), Runtime,
        "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
        "dtype ",
        dtype_name(self.dtype()), " and bins for dimension ", d, " with dtype ",
        dtype_name(edges[d].dtype()));
    TL_CHECK(edges[d].dim() == 1 && edges[d].numel() > 0, Runtime,
             "torch.histogramdd: bins tensor should have one dimension and not be empty, but got ",
             edges[d].dim(), " dimensions and ", edges[d].numel(),
             " elements in the bins tensor for dimension ", d);
  }
}

// The bin of a number among n ascending edges, or -1. The last bin has both its edges.
template <class T>
int64_t bin_of(const T* edges, int64_t n, T x) {
  if (!(x >= edges[0] && x <= edges[n - 1])) return -1;
  if (x == edges[n - 1]) return n - 2;
  return std::upper_bound(edges, edges + n, x) - edges - 1;
}

// Adds 1 or the weight of each point to the count of its cell.
template <class T>
void count_points(const Tensor& points, std::span<const Tensor> edges, const Tensor& weight, double* counts) {
  const T* x = points.ptr<T>();
  const T* by = weight ? weight.ptr<T>() : nullptr;
  for (int64_t i = 0; i < points.size(0); ++i) {
    int64_t cell = 0;
    bool is_inside = true;
    for (const Tensor& e : edges) {
      const int64_t bin = bin_of(e.ptr<T>(), e.numel(), *x++);
      is_inside &= bin >= 0;
      cell = cell * (e.numel() - 1) + std::max<int64_t>(bin, 0);
    }
    if (is_inside) counts[cell] += by ? double(by[i]) : 1.0;
  }
}

// The counts over their sum and the volumes of the cells.
Tensor density_of(Tensor counts, std::span<const Tensor> edges) {
  counts = ops::div(counts, ops::sum(counts));
  for (size_t d = 0; d < edges.size(); ++d) {
    DimVector sizes(edges.size(), 1);
    sizes[d] = -1;
    counts = ops::div(counts, ops::reshape(ops::diff(edges[d]), sizes));
  }
  return counts;
}

Tensor from_bin_tensors(const Tensor& self, TensorList bins, OptTensor weight, bool density) {
  check_points(self);
  check_weight(self, weight);
  check_edges(self, bins);
  std::vector<Tensor> edges;
  DimVector sizes;
  int64_t cells = 1;
  for (const Tensor& e : bins) {
    edges.push_back(to_contiguous(ops::detach(e)));
    sizes.push_back(e.numel() - 1);
    cells = checked_mul(cells, e.numel() - 1);
  }
  const Tensor sums = ops::zeros(DimVector{cells}, {.dtype = DType::Float64});
  const Tensor points = to_contiguous(
      ops::reshape(self, DimVector{self.numel() / std::max<int64_t>(last_size(self), 1), last_size(self)}));
  const Tensor by = weight ? to_contiguous(*weight) : Tensor();
  if (cells > 0 && self.dtype() == DType::Float32) count_points<float>(points, edges, by, sums.ptr<double>());
  if (cells > 0 && self.dtype() == DType::Float64)
    count_points<double>(points, edges, by, sums.ptr<double>());
  const Tensor counts = ops::reshape(to_dtype(sums, self.dtype()), sizes);
  return density ? density_of(counts, edges) : counts;
}

Tensor from_bin_counts(const Tensor& self, IntSpan bins, std::optional<std::span<const double>> range,
                       OptTensor weight, bool density) {
  return call_counts(self, call_edges(self, bins, range, weight, density), weight, density);
}

using Histogram = std::tuple<Tensor, std::vector<Tensor>>;
Histogram histogramdd(const Tensor& self, IntSpan bins, std::optional<std::span<const double>> range,
                      OptTensor weight, bool density) {
  std::vector<Tensor> edges = call_edges(self, bins, range, weight, density);
  Tensor counts = call_counts(self, edges, weight, density);
  return {std::move(counts), std::move(edges)};
}
Histogram histogramdd_int(const Tensor& self, int64_t bins, std::optional<std::span<const double>> range,
                          OptTensor weight, bool density) {
  check_points(self);
  return histogramdd(self, DimVector(static_cast<size_t>(last_size(self)), bins), range, weight, density);
}
Histogram histogramdd_edges(const Tensor& self, TensorList bins, std::optional<std::span<const double>>,
                            OptTensor weight, bool density) {
  return {call_counts(self, bins, weight, density), {bins.begin(), bins.end()}};
}
}  // namespace

TL_KERNEL(_histogramdd_bin_edges, bin_edges)
TL_KERNEL(_histogramdd_from_bin_tensors, from_bin_tensors)
TL_KERNEL(_histogramdd_from_bin_cts, from_bin_counts)
TL_KERNEL(histogramdd, histogramdd)
TL_KERNEL(histogramdd_int_bins, histogramdd_int)
TL_KERNEL(histogramdd_TensorList_bins, histogramdd_edges)

}  // namespace tl
