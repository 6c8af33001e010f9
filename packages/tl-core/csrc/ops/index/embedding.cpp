// Embedding lookup, embedding bags and their dense and sparse gradients.
#include "kernels/cpu/index/embedding.h"

#include <algorithm>
#include <limits>

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/index/embedding_bag.h"
#include "kernels/cpu/index/index.h"
#include "ops.h"
#include "ops/index/bag_bounds.h"
#include "ops/shared/copy.h"
#include "ops/shared/expect.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"
#include "tensor/hollow.h"

namespace tl {

namespace {
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

void check_index_type(const char* name, const Tensor& t) {
  TL_CHECK(t.dtype() == DType::Int64 || t.dtype() == DType::Int32, Runtime,
           "Expected tensor for argument #1 '", name,
           "' to have one of the following scalar types: Long, Int; but got ", scalar_type_name(t.dtype()),
           " instead");
}

// Dense int64 indices into `rows` rows; raises for others.
Tensor checked_indices(const Tensor& t, int64_t rows) {
  const Tensor dense = to_contiguous(to_dtype(t, DType::Int64));
  const int64_t* data = dense.ptr<int64_t>();
  const int64_t bad = cpu::find_out_of_bounds(data, dense.numel(), 0, rows);
  TL_CHECK(bad == dense.numel(), Index, "index out of range in self: index ", data[bad], " at position ", bad,
           " of a table of ", rows, " rows");
  return dense;
}

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  TL_CHECK(weight.dim() == 2, Runtime, "'weight' must be 2-D");
  check_index_type("indices", indices);
  DimVector sizes(indices.sizes());
  sizes.push_back(weight.size(1));
  const Tensor out = empty(sizes, {weight.dtype(), weight.device()});
  if (out.is_meta()) return out;
  const Tensor index = checked_indices(indices, weight.size(0)), table = to_contiguous(weight);
  cpu::gather_rows({table.size(0), table.size(1)}, table.itemsize(), table.ptr<char>(), index.ptr<int64_t>(),
                   index.numel(), out.ptr<char>());
  return out;
}

Tensor counts_of(const Tensor& index, int64_t rows) {
  const Tensor counts = empty(DimVector{rows}, {DType::Int64, index.device()});
  if (counts.is_meta()) return counts;
  fill_elements(counts, Scalar(int64_t{0}));
  for (int64_t i = 0; i < index.numel(); ++i) ++counts.ptr<int64_t>()[index.ptr<int64_t>()[i]];
  return counts;
}

// The length of a table's rows, from a gradient of what was looked up at the indices.
int64_t checked_width(const char* name, const Tensor& grad, const Tensor& indices, int64_t rows) {
  TL_CHECK(grad.dim() > 0 && rows >= 0, Runtime, name,
           "(): needs a gradient of at least one dimension and a table of at least 0 rows, got ", grad.dim(),
           " and ", rows);
  check_index_type("indices", indices);
  const int64_t width = grad.size(grad.dim() - 1);
  DimVector sizes(indices.sizes());
  sizes.push_back(width);
  expect(name, "grad_output", grad, grad.dtype(), sizes);
  return width;
}

Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                                bool by_freq) {
  if (is_complex(grad.dtype()))  // its parts lie side by side
    return ops::view_as_complex(ops::unflatten_int(
        embedding_dense_backward(ops::flatten_using_ints(ops::view_as_real(ops::resolve_conj(grad)), -2),
                                 indices, rows, padding, by_freq),
        -1, DimVector{grad.size(grad.dim() - 1), 2}));
  const int64_t width = checked_width("embedding_dense_backward", grad, indices, rows);
  const DType type = opmath_type(grad.dtype());
  TL_CHECK(is_floating(type), NotImplemented, "\"embedding_backward\" not implemented for '",
           scalar_type_name(grad.dtype()), "'");
  const Tensor out = empty(DimVector{rows, width}, {type, grad.device()});
  if (out.is_meta()) return to_dtype(out, grad.dtype());
  fill_elements(out, Scalar(0.0));
  const Tensor index = checked_indices(indices, rows), g = to_contiguous(to_dtype(grad, type));
  const Tensor counts = by_freq ? counts_of(index, rows) : Tensor();
  cpu::add_rows(
      type, {rows, width},
      {g.ptr<char>(), index.ptr<int64_t>(), index.numel(), padding, counts ? counts.ptr<int64_t>() : nullptr},
      out.ptr<char>());
  return to_dtype(out, grad.dtype());
}

Tensor embedding_sparse_backward(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                                 bool by_freq) {
  TL_CHECK(!by_freq, Runtime, "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  const int64_t width = checked_width("_embedding_sparse_backward", grad, indices, rows);
  Tensor index = ops::reshape(indices, DimVector{-1});
  Tensor values = ops::reshape(grad, DimVector{index.numel(), width});
  if (padding < 0)
    return ops::_sparse_coo_tensor(ops::unsqueeze(index, 0), ops::clone(values), DimVector{rows, width});
  const Tensor unpadded = ops::squeeze_dim(ops::nonzero(ops::ne(index, Scalar(padding))), 1);
  index = ops::index_select(index, 0, unpadded);
  values = ops::index_select(values, 0, unpadded);
  return ops::_sparse_coo_tensor(ops::unsqueeze(index, 0), values, DimVector{rows, width});
}

// The adjoint of embedding_dense_backward.
Tensor embedding_double_backward(const Tensor& g, const Tensor& indices, int64_t padding, bool by_freq) {
  Tensor rows = ops::embedding(g, indices, -1, false, false);
  if (by_freq) {
    check_is_no_batch(indices, "the frequencies of the indices");
    const Tensor index = checked_indices(indices, g.size(0));
    const Tensor own = ops::index_select(counts_of(index, g.size(0)), 0, ops::reshape(index, DimVector{-1}));
    rows = ops::div(rows, ops::unsqueeze(ops::reshape(own, indices.sizes()), -1));
  }
  if (padding < 0) return rows;
  return ops::masked_fill_Scalar(rows, ops::unsqueeze(ops::eq(indices, Scalar(padding)), -1), Scalar(0.0));
}

// Rows with a norm above `max_norm` are shortened to it.
Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  TL_CHECK(self.dim() == 2, Runtime, "'self' must be 2-D, got ", self.dim(), " dimensions");
  check_index_type("indices", indices);
  if (self.is_meta()) return self;
  const Tensor found = ops::clone(checked_indices(indices, self.size(0)));
  int64_t* const first = found.ptr<int64_t>();
  std::sort(first, first + found.numel());
  const int64_t* const last = std::unique(first, first + found.numel());
  const DType type = opmath_type(self.dtype());
  const Tensor index = view_of(found, DimVector{last - first}, DimVector{1}, 0);
  const Tensor rows = ops::to_dtype(ops::index_select(self, 0, index), type), size = ops::abs(rows);
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor norm =
      norm_type == infinity
          ? ops::amax(size, DimVector{1}, true)
          : ops::pow_Tensor_Tensor(
                ops::sum_dim_IntList(ops::pow_Tensor_Tensor(size, Scalar(norm_type)), DimVector{1}, true),
                Scalar(1 / norm_type));
  const Tensor shorter =
      ops::mul(rows, ops::reciprocal(ops::div(ops::add(norm, Scalar(1e-7)), Scalar(max_norm))));
  const Tensor renormed = ops::where_self(ops::gt(norm, Scalar(max_norm)), shorter, rows);
  ops::index_put_(self, std::vector<Tensor>{index}, ops::to_dtype(renormed, self.dtype()), false);
  return self;
}

// ---- bags -------------------------------------------------------------------------------------------------

void check_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
               OptTensor factors) {
  TL_CHECK(weight.dim() == 2, Runtime, "'weight' must be 2-D");
  TL_CHECK(indices.dim() == 1 && offsets.dim() == 1, Runtime,
           "input has to be a 1D Tensor, but got Tensor of dimension ", indices.dim());
  check_index_type("indices", indices);
  check_index_type("offsets", offsets);
  TL_CHECK(is_floating(weight.dtype()), NotImplemented, "\"embedding_bag\" not implemented for '",
           scalar_type_name(weight.dtype()), "'");
  TL_CHECK(mode >= 0 && mode <= 2, Runtime, "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got ",
           mode);
  if (!factors) return;
  TL_CHECK(mode == 0, Runtime, "embedding_bag: per_sample_weights only supported with mode='sum'");
  TL_CHECK(factors->dtype() == weight.dtype(), Runtime,
           "Expected tensor for argument #1 'weight' to have the same type as "
           "tensor for argument #4 'per_sample_weights', got ",
           scalar_type_name(weight.dtype()), " and ", scalar_type_name(factors->dtype()));
  TL_CHECK(factors->dim() == 1 && factors->numel() == indices.numel(), Runtime,
           "embedding_bag: per_sample_weights must have one number an index, got ", factors->sizes());
}

// The last offset is the number of indices, by the manual. One that is smaller ends the last bag in PyTorch's
// sums without padding of narrow types, and is passed over elsewhere.
bool reads_last_offset(const EmbeddingBagCoreArgs& a) {
  return a.mode == 0 && a.padding_idx < 0 && a.weight.dtype() != DType::Float64;
}

// Sums, means or maxima of rows by bag, and what their derivatives need: each index's bag, the bags' sizes,
// the winners.
Four embedding_bag_core(const EmbeddingBagCoreArgs& a) {
  const Tensor &weight = a.weight, &indices = a.indices, &offsets = a.offsets;
  const OptTensor factors = a.per_sample_weights;
  const int64_t mode = a.mode;
  check_bag(weight, indices, offsets, mode, factors);
  const TensorOptions like{weight.dtype(), weight.device()}, ints{DType::Int64, weight.device()};
  const int64_t width = weight.size(1), given = offsets.numel() - (a.include_last_offset ? 1 : 0);
  const DimVector won = mode == 2 ? DimVector{given, width} : DimVector{0};
  if (weight.is_meta())
    return {empty(DimVector{given, width}, like), empty(indices.sizes(), ints), empty(DimVector{given}, ints),
            empty(won, ints)};
  const Tensor index = checked_indices(indices, weight.size(0));
  const BagBounds bounds(offsets, index.numel(), a.include_last_offset);
  if (a.include_last_offset && bounds.count && !reads_last_offset(a))
    bounds.offsets.ptr<int64_t>()[bounds.count] = index.numel();
  const Tensor out = empty(DimVector{bounds.count, width}, like);
  const Tensor sizes = empty(DimVector{bounds.count}, ints), bags = empty(DimVector{index.numel()}, ints);
  const Tensor winners = empty(won, ints);
  fill_elements(bags, Scalar(int64_t{-1}));  // of indices behind the last offset, which are in no bag
  const int64_t* ends = bounds.offsets.ptr<int64_t>();
  for (int64_t b = 0; b < bounds.count; ++b) {
    TL_CHECK(mode != 2 || ends[b + 1] - ends[b] <= std::numeric_limits<int32_t>::max(), Runtime,
             "embedding_bag: a bag of mode 'max' has at most 2^31 - 1 indices, bag ", b, " has ",
             ends[b + 1] - ends[b]);
    std::fill(bags.ptr<int64_t>() + ends[b], bags.ptr<int64_t>() + ends[b + 1], b);
  }
  const Tensor table = to_contiguous(weight), own = factors ? to_contiguous(*factors) : Tensor();
  cpu::reduce_bags(weight.dtype(), {table.size(0), width}, table.ptr<char>(),
                   {bounds.count, index.ptr<int64_t>(), ends, a.padding_idx, static_cast<cpu::BagMode>(mode)},
                   own ? own.ptr<char>() : nullptr,
                   {out.ptr<char>(), sizes.ptr<int64_t>(), winners.ptr<int64_t>()});
  return {out, bags, sizes, winners};
}

void check_bag_backward(const EmbeddingBagBackwardArgs& a) {
  constexpr const char* kBackward = "embedding_bag_backward";
  check_bag(a.weight, a.indices, a.offset2bag, a.mode, a.per_sample_weights);
  TL_CHECK(a.grad.dim() == 2 && a.grad.size(1) == a.weight.size(1), Runtime, kBackward,
           ": expected a gradient with rows of ", a.weight.size(1), " numbers, but got one of size ",
           a.grad.sizes());
  expect(kBackward, "offset2bag", a.offset2bag, a.offset2bag.dtype(), a.indices.sizes());
  expect(kBackward, "bag_size", a.bag_size, a.bag_size.dtype(), DimVector{a.grad.size(0)});
  if (a.mode == 2) expect(kBackward, "max_indices", a.max_indices, DType::Int64, a.grad.sizes());
}

// How many indices are in bags: those behind the last offset have none.
int64_t indices_in_bags(const Tensor& offset2bag) {
  int64_t n = offset2bag.numel();
  if (is_hollow(offset2bag) || offset2bag.is_meta()) return n;
  const Tensor bags = to_contiguous(to_dtype(offset2bag, DType::Int64));
  while (n > 0 && bags.ptr<int64_t>()[n - 1] < 0) --n;
  return n;
}

Tensor first(const Tensor& t, int64_t n) { return t.size(0) == n ? t : ops::narrow(t, 0, 0, n); }

// A row's gradient is the sum over its bags, each times the factor of its index and divided by the bag's
// size; a maximum's goes to the winners.
std::tuple<Tensor, Tensor> embedding_bag_backward(const EmbeddingBagBackwardArgs& a) {
  check_bag_backward(a);
  const Tensor& weight = a.weight;
  if (a.mode == 2) {
    const Tensor found = ops::ge(a.max_indices, Scalar(int64_t{0}));
    const Tensor zeros = ops::zeros(weight.sizes(), {.dtype = weight.dtype(), .device = weight.device()});
    return {ops::scatter_add(zeros, 0, ops::clamp_min(a.max_indices, Scalar(int64_t{0})),
                             ops::mul(a.grad, found)),
            Tensor()};
  }
  const int64_t n = indices_in_bags(a.offset2bag), rest = a.indices.numel() - n;
  const Tensor indices = first(a.indices, n), bags = first(a.offset2bag, n),
               factors = a.per_sample_weights ? first(*a.per_sample_weights, n) : Tensor();
  Tensor rows = ops::index_select(a.grad, 0, bags), grad_weight, grad_factors;
  if (a.want.factors) {
    grad_factors = ops::sum_dim_IntList(ops::mul(rows, ops::embedding(weight, indices)), DimVector{1}, false);
    if (a.padding_idx >= 0)
      grad_factors =
          ops::masked_fill_Scalar(grad_factors, ops::eq(indices, Scalar(a.padding_idx)), Scalar(0.0));
    if (rest) grad_factors = ops::constant_pad_nd(grad_factors, DimVector{0, rest}, Scalar(0.0));
  }
  if (a.want.weight) {
    if (factors) rows = ops::mul(rows, ops::unsqueeze(factors, 1));
    if (a.mode == 1) rows = ops::div(rows, ops::unsqueeze(ops::index_select(a.bag_size, 0, bags), 1));
    const int64_t count = weight.size(0);
    grad_weight =
        a.sparse ? ops::_embedding_sparse_backward(rows, indices, count, a.padding_idx, a.scale_grad_by_freq)
                 : ops::embedding_dense_backward(rows, indices, count, a.padding_idx, a.scale_grad_by_freq);
  }
  return {grad_weight, grad_factors};
}

Four embedding_bag(const EmbeddingBagArgs& a) {
  return ops::_embedding_bag(a.weight, a.indices, a.offsets, a.scale_grad_by_freq, a.mode, a.sparse,
                             a.per_sample_weights, a.include_last_offset, -1);
}
Four embedding_bag_padding_idx(const EmbeddingBagPaddingIdxArgs& a) {
  int64_t skipped = -1;
  const int64_t n = a.weight.dim() == 2 ? a.weight.size(0) : 0;
  TL_CHECK(a.weight.dim() == 2, Runtime, "'weight' must be 2-D");
  if (a.padding_idx) {
    const int64_t padding = *a.padding_idx;
    TL_CHECK(padding >= -n && padding < n, Runtime, "padding_idx must be within the number of embeddings, -",
             n, " through ", n - 1, ", but got ", padding);
    skipped = padding < 0 ? padding + n : padding;
  }
  return ops::_embedding_bag(a.weight, a.indices, a.offsets, a.scale_grad_by_freq, a.mode, a.sparse,
                             a.per_sample_weights, a.include_last_offset, skipped);
}
}  // namespace

TL_KERNEL(embedding, embedding)
TL_KERNEL(embedding_dense_backward, embedding_dense_backward)
TL_KERNEL(_embedding_sparse_backward, embedding_sparse_backward)
TL_KERNEL(_embedding_double_backward, embedding_double_backward)
TL_KERNEL(embedding_renorm_, embedding_renorm)
TL_KERNEL(_embedding_bag, embedding_bag_core)
TL_KERNEL(_embedding_bag_backward, embedding_bag_backward)
TL_KERNEL(embedding_bag, embedding_bag)
TL_KERNEL(embedding_bag_padding_idx, embedding_bag_padding_idx)

}  // namespace tl
