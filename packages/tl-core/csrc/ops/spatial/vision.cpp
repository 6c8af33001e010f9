// Sampling grids at given points, and rearranging channels and positions.
#include <algorithm>

#include "base/checked.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernels/cpu/spatial/grid_sample.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/differentiated.h"
#include "ops/spatial/spatial.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using cpu::GridSampling;

// ---- sampling ---------------------------------------------------------------------------------------------
GridSampling sampling(IntSpan input, IntSpan grid, int64_t method, int64_t outside, bool align,
                      IntSpan order) {
  GridSampling s{};
  s.dims = static_cast<int>(input.size()) - 2;
  s.method = static_cast<GridSampling::Method>(method);
  s.outside = static_cast<GridSampling::Outside>(outside);
  s.align = align;
  s.batch = input[0];
  s.channels = input[1];
  s.points = 1;
  for (size_t d = 1; d + 1 < grid.size(); ++d) s.points *= grid[d];
  for (int a = 0; a < s.dims; ++a) {
    s.size[a] = input[a + 2];
    s.order[a] = static_cast<int>(std::min<int64_t>(order[a], GridSampling::kMostOrder));
  }
  return s;
}

DimVector sampled_sizes(IntSpan input, IntSpan grid) {
  DimVector sizes(grid);
  sizes.pop_back();
  sizes.insert(1, input[1]);
  return sizes;
}

Tensor dense(const Tensor& t, DType dtype) { return t.is_meta() ? t : to_contiguous(to_dtype(t, dtype)); }

// Positions are counted in integers as wide as the type.
DType sampling_type(DType dtype, IntSpan sizes) {
  int64_t positions = 1;
  for (int64_t size : sizes.subspan(2)) positions = checked_mul(positions, size);
  return positions > INT32_MAX ? DType::Float64 : accumulate_type(dtype);
}

// `sizes` are those of what is sampled.
void check_sampling(const char* op, IntSpan sizes, DType dtype, const Tensor& grid, int64_t method,
                    int64_t outside, IntSpan order) {
  const auto n = static_cast<int64_t>(order.size());
  TL_CHECK((n == 2 || n == 3) && static_cast<int64_t>(sizes.size()) == n + 2 && grid.dim() == n + 2 &&
               grid.size(0) == sizes[0] && grid.size(n + 1) == n,
           Runtime, op, "(): a grid of shape ", grid.sizes(), " and order ", order, " for shape ", sizes);
  TL_CHECK(is_floating(dtype) && grid.dtype() == dtype, NotImplemented, op, "() is not implemented for ",
           dtype_name(dtype), " and a grid of ", dtype_name(grid.dtype()));
  TL_CHECK(std::ranges::all_of(sizes.subspan(2), [](int64_t size) { return size > 0; }), Runtime, op,
           "(): expected non-empty spatial dimensions, got shape ", sizes);
  TL_CHECK(std::ranges::all_of(order, [](int64_t k) { return k >= 0; }), Runtime, op,
           "(): argument 'order' must not be negative, got ", order);
  TL_CHECK(
      method >= 0 && method <= 2 && outside >= 0 && outside <= 2 && (n == 2 || method != GridSampling::Cubic),
      Runtime, op, "(): no such interpolation_mode and padding_mode for ", n, " dimensions: ", method,
      " and ", outside);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, int64_t method, int64_t outside, bool align,
                   IntSpan order) {
  check_sampling("grid_sample", input.sizes(), input.dtype(), grid, method, outside, order);
  const DType type = sampling_type(input.dtype(), input.sizes());
  const Tensor in = dense(input, type), points = dense(grid, type);
  const Tensor out = empty(sampled_sizes(input.sizes(), grid.sizes()), {type, input.device()});
  if (!out.is_meta() && out.numel() != 0)
    cpu::grid_sampling_kernels(type).sample(sampling(in.sizes(), grid.sizes(), method, outside, align, order),
                                            out.ptr<char>(), in.ptr<char>(), points.ptr<char>());
  return to_dtype(out, input.dtype());
}

Tensor grid_sample_adjoint(const Tensor& g, const Tensor& grid, IntSpan sizes, int64_t method,
                           int64_t outside, bool align, IntSpan order) {
  check_sampling("grid_sample_adjoint", sizes, g.dtype(), grid, method, outside, order);
  TL_CHECK(std::ranges::equal(g.sizes(), sampled_sizes(sizes, grid.sizes())), Runtime,
           "grid_sample_adjoint(): a gradient of shape ", g.sizes(), " does not come from shape ", sizes,
           " and a grid of shape ", grid.sizes());
  const DType type = sampling_type(g.dtype(), sizes);
  const Tensor in = dense(g, type), points = dense(grid, type);
  const Tensor out = empty(sizes, {type, g.device()});
  if (!out.is_meta() && out.numel() != 0)
    cpu::grid_sampling_kernels(type).adjoint(sampling(sizes, grid.sizes(), method, outside, align, order),
                                             out.ptr<char>(), in.ptr<char>(), points.ptr<char>());
  return to_dtype(out, g.dtype());
}

Tensor grid_sample_derivative(const Tensor& g, const Tensor& input, const Tensor& grid, int64_t method,
                              int64_t outside, bool align, IntSpan order) {
  check_sampling("grid_sample_derivative", input.sizes(), input.dtype(), grid, method, outside, order);
  TL_CHECK(
      g.dtype() == input.dtype() && std::ranges::equal(g.sizes(), sampled_sizes(input.sizes(), grid.sizes())),
      Runtime, "grid_sample_derivative(): a gradient of shape ", g.sizes(), " does not belong to shape ",
      input.sizes(), " and a grid of shape ", grid.sizes());
  const DType type = sampling_type(input.dtype(), input.sizes());
  const Tensor grad = dense(g, type), in = dense(input, type), points = dense(grid, type);
  const Tensor out = empty(grid.sizes(), {type, grid.device()});
  if (!out.is_meta() && out.numel() != 0)
    cpu::grid_sampling_kernels(type).derivative(
        sampling(in.sizes(), grid.sizes(), method, outside, align, order), out.ptr<char>(), grad.ptr<char>(),
        in.ptr<char>(), points.ptr<char>());
  return to_dtype(out, grid.dtype());
}

Tensor grid_sample_gradient(const Tensor& g, const Tensor& input, const Tensor& grid, int64_t method,
                            int64_t outside, bool align, IntSpan order) {
  if (!is_differentiated(g, input, grid))
    return ops::_grid_sample_derivative(g, input, grid, method, outside, align, order);
  std::vector<Tensor> gradients;
  for (size_t k = 0; k < order.size(); ++k) {
    DimVector more(order);
    more[k] = checked_add(more[k], 1);
    const Tensor steep = ops::_grid_sample(input, grid, method, outside, align, more);
    gradients.push_back(ops::sum_dim_IntList(ops::mul(g, steep), DimVector{1}, false));
  }
  return ops::stack(gradients, -1);
}

void check_sampler(const Tensor& input, const Tensor& grid, int64_t method, int64_t outside) {
  TL_CHECK(input.device() == grid.device(), Runtime,
           "grid_sampler(): expected input and grid to be on same device, but ", "input is on ",
           device_name(input.device()), " and grid is on ", device_name(grid.device()));
  TL_CHECK(grid.dim() == 0 || input.dim() < 3 || grid.size(grid.dim() - 1) == input.dim() - 2, Runtime,
           "grid_sampler(): expected grid to have size ", input.dim() - 2,
           " in last dimension, but got grid with sizes ", grid.sizes());
  TL_CHECK((input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim(), Runtime,
           "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input "
           "with sizes ",
           input.sizes(), " and grid with sizes ", grid.sizes());
  TL_CHECK(is_floating(input.dtype()), NotImplemented, "\"grid_sampler\" not implemented for '",
           scalar_type_name(input.dtype()), "'");
  TL_CHECK(input.dtype() == grid.dtype(), Runtime,
           "grid_sampler(): expected input and grid to have same dtype, but ", "input has ",
           dtype_name(input.dtype()), " and grid has ", dtype_name(grid.dtype()));
  TL_CHECK(input.size(0) == grid.size(0), Runtime,
           "grid_sampler(): expected grid and input to have same batch size, ", "but got input with sizes ",
           input.sizes(), " and grid with sizes ", grid.sizes());
  for (int64_t d = 2; d < input.dim(); ++d)
    TL_CHECK(input.size(d) > 0, Runtime,
             "grid_sampler(): expected input to have non-empty spatial dimensions, but ", "input has sizes ",
             input.sizes(), " with dimension ", d, " being empty");
  TL_CHECK(method >= 0 && method <= 2 && outside >= 0 && outside <= 2, Runtime,
           "grid_sampler(): interpolation_mode and padding_mode must be 0, 1 or 2, got ", method, " and ",
           outside);
  TL_CHECK(input.dim() == 4 || method != GridSampling::Cubic, Runtime,
           "grid_sampler(): bicubic interpolation only supports 4D input");
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t method, int64_t outside, bool align) {
  check_sampler(input, grid, method, outside);
  return ops::_grid_sample(input, grid, method, outside, align,
                           DimVector(static_cast<size_t>(input.dim()) - 2, 0));
}
template <int n>
Tensor grid_sampler_nd(const Tensor& input, const Tensor& grid, int64_t method, int64_t outside, bool align) {
  TL_CHECK(input.dim() == n + 2, Runtime, "grid_sampler_", n, "d(): expected ", n + 2,
           "D input, but got input with sizes ", input.sizes());
  return grid_sampler(input, grid, method, outside, align);
}

// ---- the points of an affine map --------------------------------------------------------------------------
// From -1 to 1, the centres of the first and the last position or their outer edges.
Tensor axis_points(int64_t n, bool align, const Tensor& like) {
  const Tensor out = empty(DimVector{n}, {DType::Float64, Device{}});
  for (int64_t i = 0; i < n; ++i) {
    const double even = n > 1 ? 2.0 * static_cast<double>(i) / static_cast<double>(n - 1) - 1.0 : 0.0;
    out.ptr<double>()[i] = align ? even : even * static_cast<double>(n - 1) / static_cast<double>(n);
  }
  return ops::to_device(out, like.device(), like.dtype());
}

Tensor affine_grid(const Tensor& theta, IntSpan size, bool align) {
  TL_CHECK(size.size() == 4 || size.size() == 5, Runtime,
           "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs, got size ", size);
  const auto n = static_cast<int64_t>(size.size()) - 2;
  TL_CHECK(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == n && theta.size(2) == n + 1,
           Runtime, "Expected a batch of affine matrices of shape [", size[0], ", ", n, ", ", n + 1,
           "] for size ", size, ". Got ", theta.sizes());
  int64_t points = 1;
  std::vector<Tensor> columns;
  DimVector grid(size.last(static_cast<size_t>(n)));
  for (int64_t k = 0; k < n; ++k) {
    DimVector shape(static_cast<size_t>(n), 1);
    shape[n - 1 - k] = grid[n - 1 - k];
    points = checked_mul(points, grid[k]);
    columns.push_back(ops::expand(ops::reshape(axis_points(grid[n - 1 - k], align, theta), shape), grid));
  }
  columns.push_back(ops::expand(
      ops::full(DimVector{}, Scalar(1), {.dtype = theta.dtype(), .device = theta.device()}), grid));
  // Long rows are quicker to multiply than many.
  const Tensor base = ops::reshape(ops::stack(columns, 0), DimVector{1, n + 1, points});
  const Tensor mapped = ops::contiguous(
      ops::transpose_int(ops::bmm(theta, ops::expand(base, DimVector{size[0], n + 1, points})), 1, 2));
  DimVector shape(grid);
  shape.insert(0, size[0]);
  shape.push_back(n);
  return ops::reshape(mapped, shape);
}

// ---- rearranging ------------------------------------------------------------------------------------------
// Rearranged elements in the memory format of the input, and in memory of their own.
Tensor as_images(const Tensor& rearranged, const Tensor& self) {
  const MemoryFormat format = preferred_format(self);
  const Tensor result = format == MemoryFormat::Contiguous ? rearranged : ops::contiguous(rearranged, format);
  return result->storage && result->storage == self->storage ? ops::clone(result) : result;
}

// Split, permuted and joined.
Tensor regrouped(const Tensor& self, IntSpan split, IntSpan order, IntSpan joined) {
  return as_images(ops::reshape(ops::permute(ops::reshape(self, split), order), joined), self);
}

Tensor pixel_shuffle(const Tensor& self, int64_t r) {
  TL_CHECK(self.dim() >= 3, Runtime,
           "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", self.dim(),
           " dimension(s)");
  TL_CHECK(r > 0, Runtime, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  const int64_t square = checked_mul(r, r), d = self.dim(), c = self.size(d - 3), h = self.size(d - 2),
                w = self.size(d - 1);
  TL_CHECK(c % square == 0, Runtime,
           "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
           "upscale_factor, but input.size(-3)=",
           c, " is not divisible by ", square);
  DimVector split(self.sizes().first(static_cast<size_t>(d) - 3)), order, joined(split);
  for (int64_t k = 0; k < d - 3; ++k) order.push_back(k);
  for (int64_t n : {c / square, r, r, h, w}) split.push_back(n);
  for (int64_t k : {0, 3, 1, 4, 2}) order.push_back(d - 3 + k);
  for (int64_t n : {c / square, checked_mul(h, r), checked_mul(w, r)}) joined.push_back(n);
  return regrouped(self, split, order, joined);
}

Tensor pixel_unshuffle(const Tensor& self, int64_t r) {
  TL_CHECK(self.dim() >= 3, Runtime,
           "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ", self.dim(),
           " dimension(s)");
  TL_CHECK(r > 0, Runtime, "pixel_unshuffle expects a positive downscale_factor, but got ", r);
  const int64_t d = self.dim(), c = self.size(d - 3), h = self.size(d - 2), w = self.size(d - 1);
  TL_CHECK(h % r == 0, Runtime,
           "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)=", h,
           " is not divisible by ", r);
  TL_CHECK(w % r == 0, Runtime,
           "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)=", w,
           " is not divisible by ", r);
  DimVector split(self.sizes().first(static_cast<size_t>(d) - 3)), order, joined(split);
  for (int64_t k = 0; k < d - 3; ++k) order.push_back(k);
  for (int64_t n : {c, h / r, r, w / r, r}) split.push_back(n);
  for (int64_t k : {0, 2, 4, 1, 3}) order.push_back(d - 3 + k);
  for (int64_t n : {checked_mul(c, checked_mul(r, r)), h / r, w / r}) joined.push_back(n);
  return regrouped(self, split, order, joined);
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  TL_CHECK(self.dim() > 2, Runtime, "channel_shuffle expects input with > 2 dims, but got input with sizes ",
           self.sizes());
  const int64_t c = self.size(1);
  TL_CHECK(groups > 0, Runtime,
           "Number of groups to divide channels in must be positive. Value of groups:", groups);
  TL_CHECK(c % groups == 0, Runtime, "Number of channels must be divisible by groups. Got ", c,
           " channels and ", groups, " groups.");
  DimVector split(self.sizes());
  split[1] = groups;
  split.insert(2, c / groups);
  return as_images(ops::reshape(ops::transpose_int(ops::reshape(self, split), 1, 2), self.sizes()), self);
}
}  // namespace

TL_KERNEL(_grid_sample, grid_sample)
TL_KERNEL(_grid_sample_adjoint, grid_sample_adjoint)
TL_KERNEL(_grid_sample_derivative, grid_sample_derivative)
TL_KERNEL(_grid_sample_gradient, grid_sample_gradient)
TL_KERNEL(grid_sampler, grid_sampler)
TL_KERNEL(grid_sampler_2d, grid_sampler_nd<2>)
TL_KERNEL(grid_sampler_3d, grid_sampler_nd<3>)
TL_KERNEL(affine_grid_generator, affine_grid)
TL_KERNEL(pixel_shuffle, pixel_shuffle)
TL_KERNEL(pixel_unshuffle, pixel_unshuffle)
TL_KERNEL(channel_shuffle, channel_shuffle)
TL_KERNEL(native_channel_shuffle, channel_shuffle)

}  // namespace tl
