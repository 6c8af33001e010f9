// Gradients of views, written into zeros through the same view, and copies with a part replaced through a
// view.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "ops.h"
#include "ops/shared/out.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// ---- adjoints of views: zeros with the gradient written where the view looked -----------------------------
Tensor zeros_for(const Tensor& g, IntSpan sizes) {
  return ops::zeros(sizes, {.dtype = g.dtype(), .device = g.device()});
}

template <class View>
Tensor scattered(const Tensor& g, IntSpan sizes, View view) {
  Tensor out = zeros_for(g, sizes);
  ops::copy_(view(out), g);
  return out;
}

Tensor permute_backward(const Tensor& g, IntSpan dims) {
  DimVector inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    inverse[wrap_dim(dims[i], static_cast<int64_t>(dims.size()))] = static_cast<int64_t>(i);
  return ops::permute(g, inverse);
}
Tensor slice_backward(const Tensor& g, IntSpan sizes, int64_t dim, std::optional<int64_t> start,
                      std::optional<int64_t> end, int64_t step) {
  return scattered(g, sizes, [&](const Tensor& t) { return ops::slice(t, dim, start, end, step); });
}
Tensor select_backward(const Tensor& g, IntSpan sizes, int64_t dim, int64_t index) {
  return scattered(g, sizes, [&](const Tensor& t) { return ops::select_int(t, dim, index); });
}
Tensor diagonal_backward(const Tensor& g, IntSpan sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  return scattered(g, sizes, [&](const Tensor& t) { return ops::diagonal(t, offset, dim1, dim2); });
}

Tensor index_select_backward(const Tensor& g, IntSpan sizes, int64_t dim, const Tensor& index) {
  if (sizes.empty()) return ops::reshape(g, sizes);
  TL_CHECK(g.sizes().size() == sizes.size(), Runtime, "index_select_backward(): a gradient of shape ",
           g.sizes(), " does not come from shape ", sizes);
  DimVector shape(g.sizes().size(), 1);
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  shape[d] = index.numel();
  return ops::scatter_add(zeros_for(g, sizes), d, ops::expand(ops::reshape(index, shape), g.sizes()), g);
}

// Where a geometry visits an element several times, its gradients add up, in order of the elements.
template <class View>
Tensor accumulated(const Tensor& g, IntSpan sizes, View view) {
  Tensor out = zeros_for(g, sizes);
  if (g.is_meta() || g.numel() == 0) return out;
  const Tensor seen = view(out);
  if (!may_overlap(seen.sizes(), seen.strides())) {
    ops::copy_(seen, g);
    return out;
  }
  const Tensor where = view(ops::view(ops::arange(out.numel(), {.dtype = DType::Int64}), sizes));
  ops::index_put_(ops::view(out, DimVector{-1}), std::vector<Tensor>{ops::reshape(where, DimVector{-1})},
                  ops::reshape(g, DimVector{-1}), true);
  return out;
}
Tensor unfold_backward(const Tensor& g, IntSpan sizes, int64_t dim, int64_t size, int64_t step) {
  return accumulated(g, sizes, [&](const Tensor& t) { return ops::unfold(t, dim, size, step); });
}
// How many elements reach from the first element that two geometries visit to behind the last one.
int64_t common_reach(IntSpan in_sizes, IntSpan in_strides, int64_t in_offset, IntSpan size, IntSpan stride,
                     int64_t offset) {
  constexpr auto anywhere = std::numeric_limits<size_t>::max();
  check_reach(anywhere, 1, in_sizes, in_strides, in_offset);
  check_reach(anywhere, 1, size, stride, offset);
  return std::max(in_offset + span_bytes(in_sizes, in_strides, 1), offset + span_bytes(size, stride, 1)) -
         std::min(in_offset, offset);
}
Tensor as_strided_backward(const Tensor& g, IntSpan in_sizes, IntSpan in_strides, int64_t in_offset,
                           IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(in_offset);
  const int64_t low = std::min(in_offset, offset);
  const int64_t length = common_reach(in_sizes, in_strides, in_offset, size, stride, offset);
  const Tensor flat = accumulated(
      g, DimVector{length}, [&](const Tensor& t) { return ops::as_strided(t, size, stride, offset - low); });
  Tensor out = ops::as_strided(flat, in_sizes, in_strides, in_offset - low);
  if (!may_overlap(in_sizes, in_strides)) return ops::clone(out, MemoryFormat::Contiguous);
  // An input that visits an element several times shares its gradient among its visits.
  const Tensor visits = accumulated(ops::ones_like(out), DimVector{length}, [&](const Tensor& t) {
    return ops::as_strided(t, in_sizes, in_strides, in_offset - low);
  });
  return ops::div(out, ops::as_strided(visits, in_sizes, in_strides, in_offset - low));
}

// The adjoint of as_strided_backward: the elements of `g`, which has the input's geometry, where the result
// looks.
Tensor as_strided_gather(const Tensor& g, IntSpan in_sizes, IntSpan in_strides, int64_t in_offset,
                         IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(in_offset);
  const int64_t low = std::min(in_offset, offset);
  const int64_t length = common_reach(in_sizes, in_strides, in_offset, size, stride, offset);
  const auto target = [&](const Tensor& t) {
    return ops::as_strided(t, in_sizes, in_strides, in_offset - low);
  };
  Tensor flat = accumulated(g, DimVector{length}, target);
  if (may_overlap(in_sizes, in_strides))
    flat = ops::div(flat,
                    ops::clamp_min(accumulated(ops::ones_like(g), DimVector{length}, target), Scalar(1.0)));
  return ops::clone(ops::as_strided(flat, size, stride, offset - low), MemoryFormat::Contiguous);
}

template <class View>
Tensor replaced(const Tensor& self, const Tensor& src, Out out, View view) {
  const Tensor source = out ? isolate(src, *out) : src;
  const Tensor result = out ? ops::copy_(prepare_out(out, self.sizes(), {self.dtype(), self.device()}), self)
                            : ops::clone(self);
  const Tensor target = view(result);
  TL_CHECK(std::ranges::equal(target.sizes(), src.sizes()), Runtime,
           "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
           ", slice size = ", target.sizes());
  ops::copy_(target, source);
  return result;
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step, Out out) {
  return replaced(self, src, out, [&](const Tensor& t) { return ops::slice(t, dim, start, end, step); });
}
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index, Out out) {
  return replaced(self, src, out, [&](const Tensor& t) { return ops::select_int(t, dim, index); });
}
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2,
                        Out out) {
  return replaced(self, src, out, [&](const Tensor& t) { return ops::diagonal(t, offset, dim1, dim2); });
}

// A copy with the same strides and offset, so that `view` means the same elements in it.
Tensor clone_in_place(const Tensor& self) {
  if (may_overlap(self.sizes(), self.strides())) return ops::clone(self);
  const int64_t reach = self.offset() + span_bytes(self.sizes(), self.strides(), 1);
  const Tensor memory = ops::zeros(DimVector{reach}, {.dtype = self.dtype(), .device = self.device()});
  const Tensor out = ops::as_strided(memory, self.sizes(), self.strides(), self.offset());
  ops::copy_(out, self);
  return out;
}
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntSpan size, IntSpan stride,
                          std::optional<int64_t> storage_offset, Out out) {
  const Tensor result = clone_in_place(self);
  const Tensor target = ops::as_strided(result, size, stride, storage_offset);
  TL_CHECK(std::ranges::equal(target.sizes(), src.sizes()), Runtime,
           "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
           ", slice size = ", target.sizes());
  ops::copy_(target, src);
  return copied_out(result, out);
}

// ---- several gradients ------------------------------------------------------------------------------------
// Gradients nobody asked for come as undefined tensors: zeros of the piece's shape.
Tensor joined(TensorList grads, const std::vector<DimVector>& shapes, int64_t dim) {
  const Tensor* known = nullptr;
  for (const Tensor& g : grads)
    if (g) known = &g;
  TL_CHECK(known, Runtime, "a gradient of several outputs needs at least one that is defined");
  std::vector<Tensor> parts;
  for (size_t i = 0; i < grads.size(); ++i)
    parts.push_back(grads[i] ? grads[i] : zeros_for(*known, shapes[i]));
  return ops::cat(parts, dim);
}
std::vector<DimVector> piece_shapes(IntSpan sizes, int64_t dim, IntSpan lengths) {
  std::vector<DimVector> shapes;
  for (int64_t length : lengths) {
    shapes.emplace_back(sizes);
    shapes.back()[dim] = length;
  }
  return shapes;
}
// The wrapped dimension along which a tensor of these sizes was cut.
int64_t cut_dim(IntSpan sizes, int64_t dim) {
  TL_CHECK(!sizes.empty(), Runtime,
           "the gradient of a split needs the sizes of a tensor that has dimensions");
  return wrap_dim(dim, static_cast<int64_t>(sizes.size()));
}
Tensor split_with_sizes_backward(TensorList grads, IntSpan sizes, IntSpan lengths, int64_t dim) {
  const int64_t d = cut_dim(sizes, dim);
  TL_CHECK(grads.size() == lengths.size(), Runtime, "expected a gradient for each of the ", lengths.size(),
           " pieces, but got ", grads.size());
  return joined(grads, piece_shapes(sizes, d, lengths), d);
}
Tensor split_backward(TensorList grads, IntSpan sizes, int64_t split_size, int64_t dim) {
  const int64_t d = cut_dim(sizes, dim), n = sizes[d];
  TL_CHECK(split_size >= 0, Runtime,
           "split expects split_size be non-negative, but got split_size=", split_size);
  DimVector lengths;
  for (size_t i = 0; i < grads.size(); ++i) {
    const int64_t start = checked_mul(static_cast<int64_t>(i), split_size);
    lengths.push_back(std::min(split_size, checked_add(n, -start)));
  }
  return split_with_sizes_backward(grads, sizes, lengths, d);
}
Tensor unbind_backward(TensorList grads, IntSpan sizes, int64_t dim) {
  const int64_t d = cut_dim(sizes, dim);
  DimVector shape(sizes);
  shape.erase(d);
  std::vector<Tensor> parts;
  const Tensor* known = nullptr;
  for (const Tensor& g : grads)
    if (g) known = &g;
  TL_CHECK(known, Runtime, "a gradient of several outputs needs at least one that is defined");
  for (const Tensor& g : grads) parts.push_back(g ? g : zeros_for(*known, shape));
  return ops::stack(parts, d);
}

// The gradient of a reduction spread over what was reduced.
Tensor unsum(const Tensor& g, IntSpan sizes, std::optional<IntSpan> dim, bool keepdim) {
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  const uint64_t mask = dim_mask(dim.value_or(IntSpan()), ndim);
  if (keepdim || ndim == 0) return ops::expand(g, sizes);
  Tensor back = g;
  for (int64_t d = 0; d < ndim; ++d)
    if (mask >> d & 1) back = ops::unsqueeze(back, d);
  return ops::expand(back, sizes);
}
}  // namespace

TL_KERNEL(permute_backward, permute_backward)
TL_KERNEL(slice_backward, slice_backward)
TL_KERNEL(select_backward, select_backward)
TL_KERNEL(diagonal_backward, diagonal_backward)
TL_KERNEL(unfold_backward, unfold_backward)
TL_KERNEL(as_strided_backward, as_strided_backward)
TL_KERNEL(_as_strided_gather, as_strided_gather)
TL_KERNEL(slice_scatter, slice_scatter)
TL_KERNEL(select_scatter, select_scatter)
TL_KERNEL(diagonal_scatter, diagonal_scatter)
TL_KERNEL(as_strided_scatter, as_strided_scatter)
TL_KERNEL(split_backward, split_backward)
TL_KERNEL(split_with_sizes_backward, split_with_sizes_backward)
TL_KERNEL(unbind_backward, unbind_backward)
TL_KERNEL(unsum, unsum)
TL_KERNEL(index_select_backward, index_select_backward)

}  // namespace tl
