// Reductions of pieces of a tensor that follow each other along a dimension; made of other operators.
#include <limits>

#include "ops.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"
#include "undeclared_kernel_args.h"

namespace tl {

namespace {
struct Reduction {
  std::string_view name, scatter;
  double neutral;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Reduction kReductions[] = {{"sum", "sum", 0},
                                     {"mean", "sum", 0},
                                     {"max", "amax", -kInfinity},
                                     {"min", "amin", kInfinity},
                                     {"prod", "prod", 1}};

const Reduction& reduction_named(std::string_view name) {
  for (const Reduction& r : kReductions)
    if (r.name == name) return r;
  fail(ErrorKind::Runtime, "segment_reduce(): reduce must be one of sum, mean, max, min, prod, got '", name,
       "'");
}

bool has_true(const Tensor& condition) { return ops::_local_scalar_dense(ops::any(condition)).to_bool(); }

// The pieces of a tensor along a dimension.
class Pieces {
 public:
  Pieces(const Tensor& data, OptTensor lengths, OptTensor offsets, int64_t axis)
      : data_(data), axis_(data.dim() ? wrap_dim(axis, data.dim()) : axis) {
    TL_CHECK(lengths || offsets, Runtime, "segment_reduce(): Either lengths or offsets must be defined.");
    lengths_ = lengths ? *lengths : ops::diff(*offsets, 1, axis_);
    TL_CHECK(lengths_.dim() == axis_ + 1, Runtime,
             "segment_reduce(): axis must be the last dimension of lengths, ", lengths_.dim() - 1, ", got ",
             axis_);
    for (int64_t d = 0; d < axis_; ++d)
      TL_CHECK(lengths_.size(d) == data.size(d), Runtime,
               "segment_reduce(): lengths and data must agree in the dimensions before axis, got ",
               lengths_.sizes(), " and ", data.sizes());
  }

  void check_values() const {
    if (!has_known_values(lengths_)) return;
    TL_CHECK(!has_true(ops::lt(lengths_, Scalar(0))), Runtime,
             "segment_reduce(): lengths contains negative value!");
    const int64_t n = data_.size(axis_);
    TL_CHECK(!has_true(ops::ne(ops::sum_dim_IntList(lengths_, DimVector{-1}), Scalar(n))), Runtime,
             "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(", axis_, "), ",
             n, ", when !unsafe.");
  }

  int64_t axis() const { return axis_; }
  int64_t count() const { return lengths_.size(axis_); }

  // The piece of each element. An element behind the last piece has the number of pieces.
  Tensor piece_of_each() const {
    const Tensor positions =
        ops::arange(Scalar(data_.size(axis_)), {.dtype = lengths_.dtype(), .device = data_.device()});
    const Tensor ends = ops::cumsum(lengths_, -1);
    DimVector rows(ends.sizes());
    rows.back() = data_.size(axis_);
    const Tensor pieces = ops::searchsorted(ends, ops::contiguous(ops::expand(positions, rows)), false, true);
    return ops::expand(along_data(pieces), data_.sizes());
  }
  // A tensor with the dimensions of lengths, for arithmetic with the data.
  Tensor along_data(const Tensor& t) const {
    DimVector sizes(t.sizes());
    sizes.resize(static_cast<size_t>(data_.dim()), 1);
    return ops::reshape(t, sizes);
  }
  Tensor lengths_along_data() const { return along_data(lengths_); }

 private:
  const Tensor& data_;
  int64_t axis_;
  Tensor lengths_;
};

Tensor segment_reduce(const SegmentReduceArgs& a) {
  const auto& [data, reduce, lengths, indices, offsets, axis, unsafe, initial] = a;
  TL_CHECK(!indices, Runtime, "segment_reduce(): indices based reduction is not supported yet.");
  const Reduction& kind = reduction_named(reduce);
  const Pieces pieces(data, lengths, offsets, axis);
  if (!unsafe) pieces.check_values();
  DimVector sizes(data.sizes());
  sizes[static_cast<size_t>(pieces.axis())] = pieces.count() + 1;
  const Tensor start = ops::new_full(data, sizes, initial.value_or(Scalar(kind.neutral)));
  const Tensor all =
      ops::scatter_reduce_two(start, pieces.axis(), pieces.piece_of_each(), data, kind.scatter);
  const Tensor result = ops::narrow(all, pieces.axis(), 0, pieces.count());
  if (reduce != "mean") return result;
  const Tensor counts = pieces.lengths_along_data(), is_empty = ops::eq(counts, Scalar(0));
  const Tensor mean =
      ops::div(result, ops::to_dtype(ops::masked_fill_Scalar(counts, is_empty, Scalar(1)), data.dtype()));
  return initial ? mean
                 : ops::masked_fill_Scalar(mean, is_empty, Scalar(std::numeric_limits<double>::quiet_NaN()));
}

// The product of the other elements of its piece, for each element.
Tensor product_of_others(const Tensor& data, const Tensor& piece, const Tensor& like, int64_t axis,
                         const Scalar& initial) {
  const Tensor is_zero = ops::eq(data, Scalar(0)),
               nonzero = ops::masked_fill_Scalar(data, is_zero, Scalar(1));
  const Tensor zero = ops::to_dtype(is_zero, like.dtype());
  const Tensor products =
      ops::scatter_reduce_two(ops::full_like(like, initial), axis, piece, nonzero, "prod");
  const Tensor zeros = ops::scatter_add(ops::zeros_like(like), axis, piece, zero);
  const Tensor product = ops::div(ops::gather(products, axis, piece), nonzero);
  const Tensor others = ops::sub(ops::gather(zeros, axis, piece), zero);
  return ops::masked_fill_Scalar(product, ops::gt(others, Scalar(0)), Scalar(0));
}

Tensor segment_reduce_backward(const SegmentReduceBackwardArgs& a) {
  const auto& [grad, output, data, reduce, lengths, offsets, axis, initial] = a;
  reduction_named(reduce);
  const Pieces pieces(data, lengths, offsets, axis);
  const int64_t d = pieces.axis();
  const Tensor all = pieces.piece_of_each(), is_outside = ops::eq(all, Scalar(pieces.count()));
  const Tensor piece = ops::masked_fill_Scalar(all, is_outside, Scalar(0));
  const Tensor of_each = ops::masked_fill_Scalar(ops::gather(grad, d, piece), is_outside, Scalar(0));
  if (reduce == "sum") return of_each;
  if (reduce == "mean") {
    const Tensor counts = ops::to_dtype(pieces.lengths_along_data(), grad.dtype());
    return ops::div(of_each, ops::gather(ops::expand(counts, grad.sizes()), d, piece));
  }
  if (reduce == "prod")
    return ops::mul(of_each, product_of_others(data, piece, grad, d, initial.value_or(Scalar(1))));
  const Tensor is_extreme = ops::to_dtype(ops::eq(data, ops::gather(output, d, piece)), grad.dtype());
  const Tensor counts = ops::gather(ops::scatter_add(ops::zeros_like(grad), d, piece, is_extreme), d, piece);
  return ops::div(ops::mul(of_each, is_extreme), ops::clamp(counts, Scalar(1)));
}
}  // namespace

TL_KERNEL(segment_reduce, segment_reduce)
TL_KERNEL(_segment_reduce_backward, segment_reduce_backward)

}  // namespace tl
