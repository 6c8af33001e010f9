// Reading and writing through tensors of positions.
#include <algorithm>

#include "iter/checks.h"
#include "iter/dtypes.h"
#include "iter/loop_nest.h"
#include "ops.h"
#include "ops/index/index_loops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/expanded.h"
#include "ops/shared/known_values.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

void warn_of_bytes() {
  static WarnOnce deprecated;
  deprecated(
      "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead: numbers of "
      "eight bits are read as a mask");
}

// One int64 tensor a dimension, or nothing where the dimension is taken whole; masks are spelled out as
// positions.
std::vector<Tensor> spelled_out(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (const Tensor& index : indices) {
    if (!index) {
      out.emplace_back();
    } else if (is_mask(index)) {
      if (index.dtype() == DType::UInt8) warn_of_bytes();
      for (int64_t d = 0; d < index.dim(); ++d) {
        const int64_t at = static_cast<int64_t>(out.size()) + d;
        TL_CHECK(at < self.dim() && self.size(at) == index.size(d), Index, "The shape of the mask ",
                 index.sizes(), " at index ", d, " does not match the shape of the indexed tensor ",
                 self.sizes(), " at index ", at);
      }
      const Tensor coordinates = ops::nonzero(index);
      for (int64_t d = 0; d < index.dim(); ++d) out.push_back(ops::select_int(coordinates, 1, d));
    } else {
      TL_CHECK(is_integral(index.dtype(), false), Index,
               "tensors used as indices must be long, int, byte or bool tensors");
      out.push_back(to_dtype(index, DType::Int64));
    }
  }
  TL_CHECK(static_cast<int64_t>(out.size()) <= self.dim(), Index, "too many indices for tensor of dimension ",
           self.dim(), " (got ", out.size(), ")");
  while (static_cast<int64_t>(out.size()) < self.dim()) out.emplace_back();
  return out;
}

// Where an index reads or writes: byte offsets for the indexed dimensions, plain strides for the others.
struct Route {
  DimVector shape;         // of the result
  DimVector rest_strides;  // the tensor's, zero in the dimensions that the offsets cover
  Tensor offsets;          // broadcast to the covered dimensions
  int64_t step = 1;        // bytes that an offset counts
  DimVector offset_strides;
};

class Planner {
 public:
  // `written` (may be NULL) changes before all is read.
  Planner(const Tensor& self, TensorList indices, const Tensor* written)
      : self_(self), indices_(spelled_out(self, indices)) {
    for (Tensor& i : indices_)
      if (i && written) i = isolate(i, *written);
    for (const Tensor& i : indices_)
      if (i) broadcast_ = first_ ? DimVector(i.sizes()) : broadcast(i), first_ = false;
  }

  Route plan() const {
    Route p;
    if (!self_.is_meta() && !use_index_itself(p)) p.offsets = byte_offsets();
    const size_t at = adjacent() ? first_indexed() : 0;
    DimVector rest, rest_strides;
    for (size_t d = 0; d < indices_.size(); ++d) {
      if (indices_[d]) continue;
      rest.push_back(self_.size(static_cast<int64_t>(d)));
      rest_strides.push_back(self_.stride(static_cast<int64_t>(d)));
    }
    const DimVector dense = contiguous_strides(broadcast_);
    const auto put_rest = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) add(p, rest[i], rest_strides[i], 0);
    };
    put_rest(0, at);
    for (size_t i = 0; i < broadcast_.size(); ++i) add(p, broadcast_[i], 0, dense[i]);
    put_rest(at, rest.size());
    return p;
  }

 private:
  static void add(Route& p, int64_t size, int64_t stride, int64_t offset_stride) {
    p.shape.push_back(size);
    p.rest_strides.push_back(stride);
    p.offset_strides.push_back(offset_stride);
  }

  DimVector broadcast(const Tensor& next) const {
    try {
      return broadcast_shapes(broadcast_, next.sizes());
    } catch (const Error&) {
      std::string shapes;
      for (const Tensor& i : indices_)
        if (i) shapes += cat(shapes.empty() ? "" : ", ", i.sizes());
      fail(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
           shapes);
    }
  }

  bool adjacent() const {
    int runs = 0;
    for (size_t d = 0; d < indices_.size(); ++d) runs += indices_[d] && (d == 0 || !indices_[d - 1]);
    return runs <= 1;
  }
  size_t first_indexed() const {
    size_t d = 0;
    while (d < indices_.size() && !indices_[d]) ++d;
    return d;
  }

  // The only index serves as it is if it counts from the front.
  bool use_index_itself(Route& p) const {
    const auto given = [](const Tensor& t) { return static_cast<bool>(t); };
    if (std::ranges::count_if(indices_, given) != 1) return false;
    const int64_t d = static_cast<int64_t>(first_indexed());
    const Tensor index = to_contiguous(indices_[d]);
    if (cpu::find_out_of_bounds(index.ptr<int64_t>(), index.numel(), 0, self_.size(d)) < index.numel())
      return false;
    p.offsets = index;
    p.step = self_.byte_stride(d);
    return true;
  }

  Tensor byte_offsets() const {
    Tensor total = empty(broadcast_, {DType::Int64, {}});
    fill_elements(total, 0);
    for (size_t d = 0; d < indices_.size(); ++d)
      if (indices_[d]) add_offsets(total, static_cast<int64_t>(d));
    return total;
  }

  void add_offsets(const Tensor& total, int64_t d) const {
    const int64_t n = self_.size(d), step = self_.byte_stride(d);
    LoopNest nest(total.sizes());
    nest.add(total);
    nest.add_broadcast(indices_[d]);
    nest.plan();
    nest.run([&](char* const* data, const int64_t* s, int64_t n0, int64_t n1) {
      for (int64_t j = 0; j < n1; ++j)
        for (int64_t i = 0; i < n0; ++i) {
          int64_t at = *reinterpret_cast<const int64_t*>(data[1] + i * s[1] + j * s[3]);
          TL_CHECK(at >= -n && at < n, Index, "index ", at, " is out of bounds for dimension ", d,
                   " with size ", n);
          if (at < 0) at += n;
          *reinterpret_cast<int64_t*>(data[0] + i * s[0] + j * s[2]) += at * step;
        }
    });
  }

  const Tensor& self_;
  std::vector<Tensor> indices_;
  DimVector broadcast_;
  bool first_ = true;
};

LoopNest nest_over(const Route& p, const Tensor& self, const Tensor& values, IntSpan value_strides) {
  LoopNest nest(p.shape);
  nest.add(values.data(), value_strides, values.itemsize());
  nest.add(self.data(), p.rest_strides, self.itemsize());
  nest.add(p.offsets.data(), p.offset_strides, sizeof(int64_t));
  nest.plan();
  return nest;
}

// Whether the only index is a mask over all of the tensor, which has values.
bool is_whole_mask(const Tensor& self, TensorList indices) {
  return !self.is_meta() && indices.size() == 1 && indices[0] && indices[0].dtype() == DType::Bool &&
         self.dim() > 0 && std::ranges::equal(indices[0].sizes(), self.sizes());
}

// ---- masks ------------------------------------------------------------------------------------------------

Tensor expanded_dense(const Tensor& t, const DimVector& shape) {
  return to_contiguous(ops::expand(t, shape));
}

Tensor masked_select(const Tensor& self, const Tensor& mask, Out out) {
  TL_CHECK(mask.dtype() == DType::Bool, Runtime, "masked_select: expected BoolTensor for mask, got ",
           scalar_type_name(mask.dtype()));
  if (out)
    TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime,
             "masked_select(): self and result must have the same scalar type");
  const DimVector shape = broadcast_shapes(self.sizes(), mask.sizes());
  const Tensor in = expanded_dense(self, shape), flags = expanded_dense(mask, shape);
  const DimVector count{cpu::count_true(flags.ptr<char>(), flags.numel())};
  Tensor result = prepare_out(out, count, {self.dtype(), self.device()});
  const Tensor dense = result.is_contiguous() ? result : empty(count, {self.dtype(), {}});
  if (count[0])
    cpu::compress(in.itemsize(), dense.ptr<char>(), in.ptr<char>(), flags.ptr<char>(), in.numel());
  if (!dense.same(result)) copy_elements(result, dense);
  return result;
}
Tensor index(const Tensor& self, TensorList indices, Out out) {
  if (!out && is_whole_mask(self, indices)) return masked_select(self, indices[0], {});
  const Route p = Planner(self, indices, out ? out.tensor : nullptr).plan();
  if (out)
    TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime,
             "index: self and out must have the same dtype, got ", scalar_type_name(self.dtype()), " and ",
             scalar_type_name(out.tensor->dtype()));
  if (out) check_apart(*out, self);
  Tensor result = prepare_out(out, p.shape, {self.dtype(), self.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const LoopNest nest = nest_over(p, self, result, result.strides());
  run_gather(nest, self.itemsize(), p.step);
  return result;
}

// A scatter through the route that the planner finds; a scalar under a mask of all dimensions is a masked
// fill.
Tensor index_put_(const Tensor& self, TensorList indices, const Tensor& values, bool add) {
  TL_CHECK(values.dtype() == self.dtype() || values.dim() == 0, Runtime,
           "Index put requires the source and destination dtypes match, got ", scalar_type_name(self.dtype()),
           " for the destination and ", scalar_type_name(values.dtype()), " for the source.");
  if (is_expanded(self))
    warn_expanded("index_put_", "tensor[indices] = tensor");
  else
    check_no_internal_overlap(self);
  check_apart(self, values);
  for (const Tensor& index : indices)
    if (index) check_apart(self, index);
  if (!add && values.dim() == 0 && is_whole_mask(self, indices))
    return ops::masked_fill_(self, indices[0], values);
  const Route p = Planner(self, indices, &self).plan();
  Tensor source = to_dtype(values, self.dtype());
  while (source.dim() > static_cast<int64_t>(p.shape.size()) && source.size(0) == 1)
    source = ops::squeeze_dim(source, 0);
  const DimVector shape = [&] {
    try {
      return broadcast_shapes(p.shape, source.sizes());
    } catch (const Error&) {
      fail(ErrorKind::Runtime, "shape mismatch: value tensor of shape ", source.sizes(),
           " cannot be broadcast to indexing result of shape ", p.shape);
    }
  }();
  TL_CHECK(std::ranges::equal(shape, p.shape), Runtime, "shape mismatch: value tensor of shape ",
           source.sizes(), " cannot be broadcast to indexing result of shape ", p.shape);
  if (self.is_meta() || checked_numel(p.shape) == 0) return self;
  if (source.storage() == self.storage()) source = ops::clone(source);
  DimVector strides(p.shape.size());
  const size_t missing = p.shape.size() - static_cast<size_t>(source.dim());
  for (int64_t d = 0; d < source.dim(); ++d)
    if (source.size(d) != 1) strides[missing + d] = source.stride(d);
  const LoopNest nest = nest_over(p, self, source, strides);
  run_scatter(nest, add ? cpu::Combine::Add : cpu::Combine::Set, self.dtype(), p.step);
  return self;
}

Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool add) {
  std::vector<Tensor> given(indices.begin(), indices.end());
  given.push_back(values);
  return ops::index_put_(copy_to_write(self, given), indices, values, add);
}

Tensor index_backward(const Tensor& g, IntSpan sizes, TensorList indices) {
  return ops::index_put_(ops::zeros(sizes, {.dtype = g.dtype(), .device = g.device()}), indices, g, true);
}

// A fresh result lies column by column: so its columns, which as_tuple gives, are dense.
Tensor nonzero(const Tensor& self, Out out) {
  if (out)
    TL_CHECK(out.tensor->dtype() == DType::Int64, Runtime,
             "nonzero: Expected out tensor to have scalar type Long, but got ",
             scalar_type_name(out.tensor->dtype()));
  DimVector strides(self.strides());
  for (auto& stride : strides) stride *= self.itemsize();
  const cpu::Block block{self.ptr<char>(), static_cast<int>(self.dim()), self.sizes().data(), strides.data()};
  const DimVector sizes{cpu::count_nonzero(self.dtype(), block), self.dim()};
  const TensorOptions options{DType::Int64, self.device()};
  const Tensor result =
      out ? prepare_out(out, sizes, options) : empty_strided(sizes, DimVector{1, sizes[0]}, options);
  if (result.numel())
    cpu::nonzero(self.dtype(), block, result.ptr<int64_t>(), result.stride(0), result.stride(1));
  return result;
}
std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  return ops::unbind_int(ops::nonzero(self.dim() ? self : ops::unsqueeze(self, 0)), 1);
}

Tensor masked_select_backward(const Tensor& g, IntSpan sizes, const Tensor& mask) {
  const DimVector shape = broadcast_shapes(sizes, mask.sizes());
  const Tensor zeros = ops::zeros(shape, {.dtype = g.dtype(), .device = g.device()});
  return ops::sum_to_size(ops::masked_scatter(zeros, mask, g), sizes);
}

// Writes into `self`, whose shape the mask broadcasts to.
Tensor masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  TL_CHECK(self.dtype() == source.dtype(), Runtime,
           "masked_scatter: expected self and source to have same dtypes but got ",
           scalar_type_name(self.dtype()), " and ", scalar_type_name(source.dtype()));
  TL_CHECK(mask.dtype() == DType::Bool, Runtime,
           "masked_scatter_ only supports boolean masks, but got mask with dtype ", dtype_name(mask.dtype()));
  check_no_internal_overlap(self);
  const Tensor spread = ops::expand(mask, self.sizes());
  if (self.is_meta() || self.numel() == 0) return self;
  const Tensor flags = to_contiguous(spread);
  const int64_t wanted = cpu::count_true(flags.ptr<char>(), flags.numel());
  TL_CHECK(source.numel() >= wanted, Runtime, "masked_scatter: the mask takes ", wanted,
           " elements, the number of elements of source is ", source.numel(), ": expected at least as many");
  const Tensor in = to_contiguous(isolate(source, self)),
               dense = self.is_contiguous() ? self : ops::clone(self);
  const Tensor target = to_contiguous(dense);
  cpu::spread(self.itemsize(), target.ptr<char>(), in.ptr<char>(), flags.ptr<char>(), flags.numel());
  if (!target.same(self)) copy_elements(self, target);
  return self;
}
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source, Out out) {
  if (out && out.tensor->same(self)) return masked_scatter_(self, mask, source);
  const DimVector shape = broadcast_shapes(self.sizes(), mask.sizes());
  if (out) {
    const Tensor flags = isolate(mask, *out), values = isolate(source, *out);
    return masked_scatter_(copy_to_out(ops::expand(self, shape), out), flags, values);
  }
  const Tensor result = empty(shape, {self.dtype(), self.device()});
  if (!result.is_meta()) copy_elements(result, self);
  return masked_scatter_(result, mask, source);
}
// What the mask takes, and zeros for the elements that it left.
Tensor masked_scatter_backward(const Tensor& g, const Tensor& mask, IntSpan sizes) {
  const Tensor taken = ops::masked_select(g, mask);
  const int64_t rest = checked_numel(sizes) - taken.numel();
  const Tensor zeros = ops::zeros(DimVector{rest}, {.dtype = g.dtype(), .device = g.device()});
  return ops::reshape(ops::cat(std::vector<Tensor>{taken, zeros}), sizes);
}

// ---- in the order of the elements, as if there were one dimension -----------------------------------------

Tensor take(const Tensor& self, const Tensor& index, Out out) {
  TL_CHECK(index.dtype() == DType::Int64, Runtime, "take(): Expected a long tensor for index, but got ",
           scalar_type_name(index.dtype()));
  TL_CHECK(self.numel() > 0 || index.numel() == 0, Index, "take(): tried to take from an empty tensor");
  const Tensor flat = ops::reshape(self, DimVector{-1});
  return out ? ops::index_Tensor_out(flat, std::vector<Tensor>{index}, *out)
             : ops::index(flat, std::vector<Tensor>{index});
}

// An index in the order of the elements as one index a dimension.
std::vector<Tensor> unravelled(const Tensor& index, IntSpan sizes) {
  std::vector<Tensor> coordinates(sizes.size());
  Tensor rest = index;
  for (size_t d = sizes.size(); d-- > 0;) {
    coordinates[d] = ops::remainder(rest, Scalar(sizes[d]));
    rest = ops::div_Tensor_mode(rest, Scalar(sizes[d]), std::string_view("floor"));
  }
  return coordinates;
}
// At linear indices: of a contiguous tensor by a view of one dimension, else by the coordinates they unravel
// to.
Tensor put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  TL_CHECK(index.dtype() == DType::Int64, Runtime, "put_(): Expected a long tensor for index, but got ",
           scalar_type_name(index.dtype()));
  TL_CHECK(self.dtype() == source.dtype(), Runtime,
           "put_(): self and source expected to have the same dtype, but got self.dtype = ",
           scalar_type_name(self.dtype()), " and source.dtype = ", scalar_type_name(source.dtype()));
  TL_CHECK(index.numel() == source.numel(), Index,
           "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
           source.numel(), ", index.numel() = ", index.numel());
  check_no_internal_overlap(self);
  if (index.numel() == 0) return self;
  const int64_t n = self.numel();
  TL_CHECK(n > 0, Index, "put_(): tried to put elements into an empty tensor");
  const Tensor values = ops::reshape(source, index.sizes());
  if (self.is_contiguous()) {
    ops::index_put_(ops::view(self, DimVector{-1}), std::vector<Tensor>{index}, values, accumulate);
    return self;
  }
  if (has_known_values(index)) {
    const Tensor dense = to_contiguous(index);
    const int64_t bad = cpu::find_out_of_bounds(dense.ptr<int64_t>(), dense.numel(), -n, n);
    TL_CHECK(bad == dense.numel(), Index, "out of range: tried to access index ", dense.ptr<int64_t>()[bad],
             " on a tensor of ", n, " elements.");
  }
  return ops::index_put_(self, unravelled(ops::remainder(index, Scalar(n)), self.sizes()), values,
                         accumulate);
}
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, Out out) {
  if (!out) {
    const Tensor copy = copy_to_write(self, std::initializer_list<Tensor>{index, source});
    return put_(copy, index, source, accumulate);
  }
  if (out.tensor->same(self)) return put_(self, index, source, accumulate);
  const Tensor positions = isolate(index, *out), values = isolate(source, *out);
  return put_(copy_to_out(self, out), positions, values, accumulate);
}

// ---- positions of fixed number ----------------------------------------------------------------------------

Tensor argwhere(const Tensor& self) { return ops::nonzero(self); }
Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill, Out out) {
  TL_CHECK(size >= 0, Runtime, "nonzero_static: 'size' must be an non-negative integer");
  const DimVector shape{size, self.dim()};
  Tensor result = prepare_out(out, shape, {DType::Int64, self.device()});
  fill_elements(result, Scalar(fill));
  const Tensor found = ops::nonzero(self);
  const int64_t n = std::min(size, found.size(0));
  copy_elements(ops::slice(result, 0, 0, n, 1), ops::slice(found, 0, 0, n, 1));
  return result;
}
}  // namespace

TL_KERNEL(nonzero_numpy, nonzero_numpy)
TL_KERNEL(where, nonzero_numpy)
TL_KERNEL(index_Tensor, index)
TL_KERNEL(index_put_, index_put_)
TL_KERNEL(index_put, index_put)
TL_KERNEL(index_backward, index_backward)
TL_KERNEL(nonzero, nonzero)
TL_KERNEL(argwhere, argwhere)
TL_KERNEL(nonzero_static, nonzero_static)
TL_KERNEL(masked_select, masked_select)
TL_KERNEL(masked_select_backward, masked_select_backward)
TL_KERNEL(masked_scatter, masked_scatter)
TL_KERNEL(masked_scatter_backward, masked_scatter_backward)
TL_KERNEL(take, take)
TL_KERNEL(put, put)

}  // namespace tl
