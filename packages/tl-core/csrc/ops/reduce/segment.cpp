// Sums, extremes and softmax of segments, and the way between segments and a padded batch.
#include <algorithm>

#include "base/checked.h"
#include "base/parallel.h"
#include "iter/dtypes.h"
#include "kernels/cpu/norm/softmax.h"
#include "ops.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/segments.h"
#include "ops/shared/along.h"
#include "ops/shared/copy.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
std::vector<int64_t> whole_numbers(const char* op, const char* name, const Tensor& t) {
  TL_CHECK(t.dim() == 1 && (t.dtype() == DType::Int64 || t.dtype() == DType::Int32), Runtime, op,
           "(): argument '", name, "' must be one-dimensional and int32 or int64, got ",
           dtype_name(t.dtype()), " and shape ", t.sizes());
  std::vector<int64_t> numbers(static_cast<size_t>(t.size(0)));
  if (t.is_meta()) return numbers;
  const Tensor dense = to_contiguous(to_dtype(t, DType::Int64));
  std::copy_n(dense.ptr<int64_t>(), dense.numel(), numbers.begin());
  return numbers;
}
}  // namespace

Segments::Segments(const char* op, const Tensor& offsets, OptTensor lengths, int64_t rows)
    : begins_(whole_numbers(op, "offsets", offsets)) {
  TL_CHECK(!begins_.empty(), Runtime, op,
           "(): argument 'offsets' must have an element more than there are "
           "segments, got none");
  const size_t count = begins_.size() - 1;
  if (lengths) {
    lengths_ = whole_numbers(op, "lengths", *lengths);
    TL_CHECK(lengths_.size() == count, Runtime, op, "(): argument 'lengths' must have ", count,
             " elements, one less than 'offsets', got ", lengths_.size());
  } else {
    for (size_t i = 0; i < count; ++i) lengths_.push_back(begins_[i + 1] - begins_[i]);
  }
  begins_.pop_back();
  for (size_t i = 0; i < count; ++i)
    TL_CHECK(begins_[i] >= 0 && lengths_[i] >= 0 && lengths_[i] <= rows && begins_[i] <= rows - lengths_[i],
             Runtime, op, "(): segment ", i, " has ", lengths_[i], " rows from ", begins_[i],
             " on, but there are ", rows, " rows");
}

int64_t Segments::longest() const {
  return lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
}

int64_t Segments::total() const {
  int64_t sum = 0;
  for (const int64_t n : lengths_) sum = checked_add(sum, n);
  return sum;
}

Tensor segment_of(const Tensor& t, const Segments& segments, int64_t i) {
  DimVector sizes(t.sizes());
  sizes[0] = segments.length(i);
  return view_of(t, sizes, t.strides(), t.offset() + segments.begin(i) * t.stride(0));
}

namespace {
using cpu::Reduce;

constexpr int64_t kGrain = 1 << 15;  // elements worth a chunk of the pool

void expect_rows(const char* op, const Tensor& t) {
  TL_CHECK(t.dim() > 0, Runtime, op, "(): a tensor of one or more dimensions expected, got a number");
}

// body(i) for each segment, over the pool.
template <class F>
void for_each_segment(const Segments& segments, int64_t elements, F body) {
  const int64_t each = std::max<int64_t>(elements / std::max<int64_t>(segments.count(), 1), 1);
  parallel_for(0, segments.count(), std::max<int64_t>(kGrain / each, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

DimVector with_first(IntSpan sizes, int64_t first) {
  DimVector changed(sizes);
  changed[0] = first;
  return changed;
}

Tensor row_of(const Tensor& t, int64_t i) {
  return view_of(t, t.sizes().subspan(1), t.strides().subspan(1), t.offset() + i * t.stride(0));
}

Tensor reduce_segments(const char* name, Reduce op, DType out_dtype, const Tensor& self,
                       const Tensor& offsets, OptTensor lengths) {
  expect_rows(name, self);
  TL_CHECK(cpu::reduce_exists(op, self.dtype()), NotImplemented, "\"", name, "\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  const Segments segments(name, offsets, lengths, self.size(0));
  const DimVector sizes = with_first(self.sizes(), segments.count());
  const Tensor result = empty(sizes, {out_dtype, self.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const DType own = cpu::reduce_result(op, self.dtype());
  const Tensor target = own == out_dtype ? result : empty(sizes, {own, {}});
  for_each_segment(segments, self.numel(), [&](int64_t i) {  // of no rows: the neutral element
    const Tensor in = segment_of(self, segments, i), out = row_of(target, i);
    const ReduceGeometry geometry(in, 1, out, nullptr, false, false);
    cpu::reduce(op, self.dtype(), out.ptr<char>(), nullptr, in.ptr<char>(), geometry.shape());
  });
  if (!target.same(result)) copy_elements(result, target);
  return result;
}

Tensor segment_sum(const Tensor& self, const Tensor& offsets, OptTensor lengths) {
  return reduce_segments("segment_sum", Reduce::Sum, sum_type(self.dtype()), self, offsets, lengths);
}

template <Reduce op>
Tensor segment_extreme(const Tensor& self, const Tensor& offsets, OptTensor lengths) {
  return reduce_segments(op == Reduce::Amax ? "segment_amax" : "segment_amin", op, self.dtype(), self,
                         offsets, lengths);
}

// Rows between segments are zeros.
Tensor rows_with_gaps(IntSpan sizes, TensorOptions options, const Segments& segments) {
  const Tensor result = empty(sizes, options);
  if (!result.is_meta() && segments.has_gaps(result.size(0))) fill_elements(result, Scalar(int64_t{0}));
  return result;
}

Tensor segment_expand(const Tensor& self, const Tensor& offsets, OptTensor lengths, int64_t total) {
  constexpr const char* op = "segment_expand";
  expect_rows(op, self);
  const Segments segments(op, offsets, lengths, total);
  TL_CHECK(self.size(0) == segments.count(), Runtime, op, "(): ", segments.count(), " segments for ",
           self.size(0), " rows");
  const Tensor result =
      rows_with_gaps(with_first(self.sizes(), total), {self.dtype(), self.device()}, segments);
  if (result.is_meta() || result.numel() == 0) return result;
  for_each_segment(segments, result.numel(),
                   [&](int64_t i) { copy_elements(segment_of(result, segments, i), row_of(self, i)); });
  return result;
}

Tensor segment_extreme_backward(const Tensor& g, const Tensor& self, const Tensor& result,
                                const Tensor& offsets, OptTensor lengths) {
  expect_rows("segment_extreme_backward", self);
  const int64_t total = self.size(0);
  const Tensor equal = ops::to_dtype(
      ops::eq(self, ops::_segment_expand(ops::detach(result), offsets, lengths, total)), g.dtype());
  const Tensor shared = ops::div(g, ops::clamp_min(ops::_segment_sum(equal, offsets, lengths), Scalar(1.0)));
  return ops::mul(equal, ops::_segment_expand(shared, offsets, lengths, total));
}

template <bool log>
Tensor segment_softmax(const Tensor& self, const Tensor& offsets, OptTensor lengths) {
  constexpr const char* op = log ? "segment_log_softmax" : "segment_softmax";
  expect_rows(op, self);
  expect_floating(op, self);
  const Segments segments(op, offsets, lengths, self.size(0));
  const Tensor result = rows_with_gaps(self.sizes(), {self.dtype(), self.device()}, segments);
  if (result.is_meta() || result.numel() == 0) return result;
  for_each_segment(segments, 8 * self.numel(), [&](int64_t i) {
    const Tensor in = segment_of(self, segments, i), out = segment_of(result, segments, i);
    const AlongGeometry geometry(0, in.size(0), {&out, &in});
    cpu::softmax(log, self.dtype(), geometry.shape(), out.ptr<char>(), in.ptr<char>());
  });
  return result;
}

// With y = softmax(x): dx = y (g - sum y g).
Tensor segment_softmax_backward(const Tensor& g, const Tensor& result, const Tensor& offsets,
                                OptTensor lengths) {
  expect_rows("segment_softmax_backward", result);
  const Tensor product = ops::mul(g, result);
  const Tensor sums = ops::_segment_sum(product, offsets, lengths);
  return ops::sub(product, ops::mul(result, ops::_segment_expand(sums, offsets, lengths, result.size(0))));
}

// With y = log softmax(x): dx = g - e^y sum g. Rows between segments have no gradient.
Tensor segment_log_softmax_backward(const Tensor& g, const Tensor& result, const Tensor& offsets,
                                    OptTensor lengths) {
  expect_rows("segment_log_softmax_backward", result);
  const int64_t total = result.size(0);
  const Tensor sums = ops::_segment_expand(ops::_segment_sum(g, offsets, lengths), offsets, lengths, total);
  const Tensor difference = ops::sub(g, ops::mul(ops::exp(result), sums));
  if (!lengths) return difference;
  const Tensor ones = ops::ones(DimVector{offsets.size(0) - 1}, {.dtype = g.dtype(), .device = g.device()});
  Tensor inside = ops::_segment_expand(ones, offsets, lengths, total);
  while (inside.dim() < g.dim()) inside = ops::unsqueeze(inside, -1);
  return ops::mul(difference, inside);
}

// ---- products ---------------------------------------------------------------------------------------------

void check_matrices(const char* op, const Tensor& a, const Tensor& b, int64_t b_dims) {
  TL_CHECK(a.dim() == 2 && b.dim() == b_dims && a.dtype() == b.dtype(), Runtime, op, "(): tensors of 2 and ",
           b_dims, " dimensions and of one type expected, got ", a.sizes(), " of ", dtype_name(a.dtype()),
           " and ", b.sizes(), " of ", dtype_name(b.dtype()));
}

Tensor segment_matmul(const Tensor& self, const Tensor& weight, const Tensor& offsets, OptTensor lengths) {
  constexpr const char* op = "segment_matmul";
  check_matrices(op, self, weight, 3);
  const Segments segments(op, offsets, lengths, self.size(0));
  TL_CHECK(weight.size(0) == segments.count() && weight.size(1) == self.size(1), Runtime, op,
           "(): ", segments.count(), " segments of rows of ", self.size(1),
           " elements for matrices of shape ", weight.sizes());
  const Tensor result =
      rows_with_gaps(DimVector{self.size(0), weight.size(2)}, {self.dtype(), self.device()}, segments);
  if (result.is_meta()) return result;
  for (int64_t i = 0; i < segments.count(); ++i)
    if (segments.length(i) > 0)
      ops::mm_out(segment_of(self, segments, i), row_of(weight, i), segment_of(result, segments, i));
  return result;
}

Tensor segment_products(const Tensor& self, const Tensor& other, const Tensor& offsets, OptTensor lengths) {
  constexpr const char* op = "segment_products";
  check_matrices(op, self, other, 2);
  TL_CHECK(self.size(0) == other.size(0), Runtime, op, "(): ", self.size(0), " rows and ", other.size(0));
  const Segments segments(op, offsets, lengths, self.size(0));
  const Tensor result =
      empty(DimVector{segments.count(), self.size(1), other.size(1)}, {self.dtype(), self.device()});
  if (result.is_meta()) return result;
  for (int64_t i = 0; i < segments.count(); ++i) {
    const Tensor product = row_of(result, i), rows = segment_of(self, segments, i);
    if (segments.length(i) == 0)
      fill_elements(product, Scalar(int64_t{0}));
    else
      ops::mm_out(ops::transpose_int(rows, 0, 1), segment_of(other, segments, i), product);
  }
  return result;
}

// ---- padded -----------------------------------------------------------------------------------------------

// The first rows of example i.
Tensor example_of(const Tensor& padded, const Segments& segments, int64_t i) {
  const Tensor whole = row_of(padded, i);
  return view_of(whole, with_first(whole.sizes(), segments.length(i)), whole.strides(), whole.offset());
}

Tensor jagged_to_padded(const Tensor& self, const Tensor& offsets, OptTensor lengths, int64_t max_length,
                        const Scalar& padding) {
  constexpr const char* op = "jagged_to_padded";
  expect_rows(op, self);
  const Segments segments(op, offsets, lengths, self.size(0));
  TL_CHECK(segments.longest() <= max_length, Runtime, op, "(): argument 'max_length' is ", max_length,
           ", but the longest segment has ", segments.longest(), " rows");
  DimVector sizes{segments.count(), max_length};
  for (int64_t d = 1; d < self.dim(); ++d) sizes.push_back(self.size(d));
  const Tensor result = empty(sizes, {self.dtype(), self.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  if (segments.total() != checked_mul(segments.count(), max_length)) fill_elements(result, padding);
  for_each_segment(segments, self.numel(), [&](int64_t i) {
    copy_elements(example_of(result, segments, i), segment_of(self, segments, i));
  });
  return result;
}

Tensor padded_to_jagged(const Tensor& self, const Tensor& offsets, OptTensor lengths, int64_t total) {
  constexpr const char* op = "padded_to_jagged";
  TL_CHECK(self.dim() >= 2, Runtime, op, "(): a padded batch of two or more dimensions expected, got shape ",
           self.sizes());
  const Segments segments(op, offsets, lengths, total);
  TL_CHECK(self.size(0) == segments.count() && segments.longest() <= self.size(1), Runtime, op,
           "(): ", segments.count(), " segments of up to ", segments.longest(),
           " rows do not fit a batch of shape ", self.sizes());
  const Tensor result =
      rows_with_gaps(with_first(self.sizes().subspan(1), total), {self.dtype(), self.device()}, segments);
  if (result.is_meta() || result.numel() == 0) return result;
  for_each_segment(segments, result.numel(), [&](int64_t i) {
    copy_elements(segment_of(result, segments, i), example_of(self, segments, i));
  });
  return result;
}
}  // namespace

TL_KERNEL(_segment_sum, segment_sum)
TL_KERNEL(_segment_expand, segment_expand)
TL_KERNEL(_segment_amax, segment_extreme<cpu::Reduce::Amax>)
TL_KERNEL(_segment_amin, segment_extreme<cpu::Reduce::Amin>)
TL_KERNEL(_segment_extreme_backward, segment_extreme_backward)
TL_KERNEL(_segment_softmax, segment_softmax<false>)
TL_KERNEL(_segment_log_softmax, segment_softmax<true>)
TL_KERNEL(_segment_softmax_backward, segment_softmax_backward)
TL_KERNEL(_segment_log_softmax_backward, segment_log_softmax_backward)
TL_KERNEL(_segment_matmul, segment_matmul)
TL_KERNEL(_segment_products, segment_products)
TL_KERNEL(_jagged_to_padded, jagged_to_padded)
TL_KERNEL(_padded_to_jagged, padded_to_jagged)

}  // namespace tl
