// Where elements stand in sorted ones, and whether they are there.
#include <array>
#include <limits>

#include "iter/dtypes.h"
#include "kernels/cpu/sort/searchsorted.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using OptSide = std::optional<std::string_view>;

// The type in which the kernel compares.
DType compared_in(DType d) {
  if (is_floating(d)) return opmath_type(d);
  TL_CHECK(is_integral(d, true) && d != DType::UInt64, NotImplemented,
           "\"searchsorted\" not implemented for '", scalar_type_name(d), "'");
  return d == DType::Int64 || d == DType::UInt32 ? DType::Int64 : DType::Int32;
}

bool from_right(bool right, OptSide side) {
  TL_CHECK(!side || *side == "left" || *side == "right", Runtime,
           "torch.searchsorted(): side can only be 'left' or 'right' but got ", side.value_or(""));
  TL_CHECK(!side || *side == "right" || !right, Runtime,
           "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was "
           "True");
  return right || (side && *side == "right");
}

void check_shapes(const Tensor& sorted, const Tensor& self, OptTensor sorter) {
  TL_CHECK(sorted.dim() > 0, Runtime,
           "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
  TL_CHECK(
      self.dim() > 0 || sorted.dim() == 1, Runtime,
      "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but "
      "we got boundaries tensor dim(",
      sorted.dim(), ") and input value's dim(", self.dim(), ") numel(", self.numel(), ")");
  const bool match = self.dim() == sorted.dim() &&
                     std::ranges::equal(sorted.sizes().first(static_cast<size_t>(sorted.dim() - 1)),
                                        self.sizes().first(static_cast<size_t>(sorted.dim() - 1)));
  TL_CHECK(sorted.dim() == 1 || match, Runtime,
           "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
           "boundaries tensor and input value tensor must match, but we got boundaries tensor ",
           sorted.sizes(), " and input value tensor ", self.sizes());
  if (!sorter) return;
  TL_CHECK(std::ranges::equal(sorter->sizes(), sorted.sizes()), Runtime,
           "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
           sorted.sizes(), " and got sorter tensor ", sorter->sizes());
  TL_CHECK(sorter->dtype() == DType::Int64, Runtime,
           "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
           scalar_type_name(sorter->dtype()));
}

// Binary search of each value in its row, in a common type; positions are made as int64 and converted.
Tensor searchsorted(const Tensor& sorted, const Tensor& self, bool out_int32, bool right, OptSide side,
                    OptTensor sorter, Out out) {
  const bool behind = from_right(right, side);
  check_shapes(sorted, self, sorter);
  const DType wanted = out_int32 ? DType::Int32 : DType::Int64;
  if (out)
    TL_CHECK(out.tensor->dtype() == wanted, Runtime,
             "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
             "depending on whether out_int32 flag is True, but we got output tensor's dtype ",
             scalar_type_name(out.tensor->dtype()), " and out_int32 flag is ", out_int32 ? "True" : "False");
  const int64_t width = sorted.size(sorted.dim() - 1);
  TL_CHECK(!out_int32 || width < std::numeric_limits<int32_t>::max(), Runtime,
           "torch.searchsorted(): the size of boundaries' last dimension should be less than ",
           std::numeric_limits<int32_t>::max(), ", but we got ", width);
  const DType type = compared_in(promote(sorted.dtype(), self.dtype()));
  Tensor result = prepare_out(out, self.sizes(), {wanted, self.device()});
  if (result.is_meta() || self.numel() == 0) return result;
  const Tensor in_order = sorter ? ops::gather(sorted, -1, *sorter) : isolate(sorted, result);
  const Tensor line = to_contiguous(to_dtype(in_order, type)),
               values = to_contiguous(to_dtype(isolate(self, result), type));
  const Tensor positions =
      wanted == DType::Int64 && result.is_contiguous() ? result : empty(self.sizes(), {DType::Int64, {}});
  const bool one_line = sorted.dim() == 1;
  const int64_t count = one_line ? self.numel() : self.size(self.dim() - 1);
  cpu::search_sorted(type, {self.numel() / count, width, count, one_line, behind}, line.ptr<char>(),
                     values.ptr<char>(), positions.ptr<int64_t>());
  if (!positions.same(result)) copy_elements(result, positions);
  return result;
}

// A number is as weak here as everywhere: it lifts the type only where its kind is higher.
struct Common {
  Tensor sorted, self;
  Common(const Tensor& boundaries, const Scalar& number) {
    Promotion promotion;
    promotion.add(boundaries);
    promotion.add(number);
    const DType common = promotion.result(), type = number.fits(common) ? common : DType::Float64;
    sorted = to_dtype(boundaries, type);
    self = ops::full(IntSpan{}, number, {.dtype = type, .device = boundaries.device()});
  }
};
Tensor searchsorted_number(const Tensor& sorted, const Scalar& self, bool out_int32, bool right, OptSide side,
                           OptTensor sorter, Out out) {
  const Common c(sorted, self);
  return searchsorted(c.sorted, c.self, out_int32, right, side, sorter, out);
}

void check_boundaries(const Tensor& boundaries) {
  TL_CHECK(boundaries.dim() == 1, Runtime, "bucketize(): boundaries tensor must be 1 dimension, but got dim(",
           boundaries.dim(), ")");
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right, Out out) {
  check_boundaries(boundaries);
  return searchsorted(boundaries, self, out_int32, right, std::nullopt, nullptr, out);
}
Tensor bucketize_number(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right, Out out) {
  check_boundaries(boundaries);
  return searchsorted_number(boundaries, self, out_int32, right, std::nullopt, nullptr, out);
}

// ---- isin -------------------------------------------------------------------------------------------------

constexpr int64_t kFewTests = 8;  // are compared one by one

Tensor among_few(const Tensor& elements, const Tensor& tests) {
  Tensor found = ops::zeros_like(elements, {.dtype = DType::Bool});
  const Tensor flat = ops::reshape(tests, DimVector{-1});
  for (int64_t i = 0; i < flat.numel(); ++i)
    found = ops::logical_or(found, ops::eq(elements, ops::select_int(flat, 0, i)));
  return found;
}
Tensor among_sorted(const Tensor& elements, const Tensor& tests) {
  const Tensor sorted = std::get<0>(ops::sort(ops::reshape(tests, DimVector{-1}), 0));
  const Tensor positions =
      ops::clamp(ops::searchsorted(sorted, elements), std::nullopt, Scalar(sorted.numel() - 1));
  return ops::eq(ops::take(sorted, positions), elements);
}

Tensor isin(const Tensor& elements, const Tensor& tests, bool, bool invert, Out out) {
  const DType type = common_dtype(std::array{elements, tests});
  TL_CHECK(!is_complex(type), Runtime, "Unsupported input type encountered for isin(): ",
           scalar_type_name(is_complex(elements.dtype()) ? elements.dtype() : tests.dtype()));
  const Tensor e = to_dtype(elements, type), t = to_dtype(tests, type);
  Tensor found = t.numel() <= kFewTests || type == DType::UInt64 ? among_few(e, t) : among_sorted(e, t);
  if (invert) found = ops::logical_not(found);
  return out ? ops::copy_(prepare_out(out, found.sizes(), {out.tensor->dtype(), found.device()}), found)
             : found;
}
Tensor as_tensor(const Scalar& number, const Tensor& beside) {
  return ops::scalar_tensor(number, {.dtype = scalar_dtype(number), .device = beside.device()});
}
Tensor isin_number(const Tensor& elements, const Scalar& test, bool unique, bool invert, Out out) {
  return isin(elements, as_tensor(test, elements), unique, invert, out);
}
Tensor isin_of_number(const Scalar& element, const Tensor& tests, bool unique, bool invert, Out out) {
  return isin(as_tensor(element, tests), tests, unique, invert, out);
}
}  // namespace

TL_KERNEL(searchsorted_Tensor, searchsorted)
TL_KERNEL(searchsorted_Scalar, searchsorted_number)
TL_KERNEL(bucketize_Tensor, bucketize)
TL_KERNEL(bucketize_Scalar, bucketize_number)
TL_KERNEL(isin_Tensor_Tensor, isin)
TL_KERNEL(isin_Tensor_Scalar, isin_number)
TL_KERNEL(isin_Scalar_Tensor, isin_of_number)

}  // namespace tl
