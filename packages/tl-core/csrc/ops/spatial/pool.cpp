// Pooling: maxima and means of windows of a grid.
#include <algorithm>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/spatial/max_pool.h"
#include "kernels/cpu/spatial/row_windows.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "ops/spatial/spatial.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Pair = std::tuple<Tensor, Tensor>;
using cpu::AxisWindows;
using cpu::ResampleWeights;

ResampleWeights weights_of(const AxisWindows& windows) {
  ResampleWeights out;
  out.inputs = windows.inputs;
  out.reserve(windows.outputs, windows.outputs ? windows.kernel : 0);
  for (int64_t o = 0; o < windows.outputs; ++o) {
    const int64_t end = windows.end(o);
    for (int64_t i = windows.first(o); i < end; i += windows.dilation) out.tap(i);
    out.close();
  }
  return out;
}
std::vector<ResampleWeights> weights_of(const std::vector<AxisWindows>& axes) {
  std::vector<ResampleWeights> out;
  for (const AxisWindows& windows : axes) out.push_back(weights_of(windows));
  return out;
}

// The windows of a tensor whose grid is dense rows, if their numbers suffice to pool them.
const AxisWindows* windows_of_rows(const SpatialView& field, const std::vector<AxisWindows>& axes) {
  return field.spatial() == 1 && field.inner() == 1 && cpu::suits_rows(axes[0]) ? &axes[0] : nullptr;
}

// ---- windows ----------------------------------------------------------------------------------------------
struct Window {
  const char* op;
  DimVector kernel, stride, padding, dilation;
  bool ceil;

  Window(const char* op, int64_t n, IntSpan kernel_size, IntSpan strides, IntSpan paddings, IntSpan dilations,
         bool ceil_mode)
      : op(op),
        kernel(spread(op, "kernel_size", kernel_size, n)),
        stride(strides.empty() ? kernel : spread(op, "stride", strides, n)),
        padding(spread(op, "padding", paddings, n)),
        dilation(spread(op, "dilation", dilations, n)),
        ceil(ceil_mode) {
    for (int64_t a = 0; a < n; ++a) check(a);
  }

  void check(int64_t a) const {
    TL_CHECK(kernel[a] > 0, Runtime, op, ": kernel_size must be greater than zero, but got ", kernel[a]);
    TL_CHECK(stride[a] > 0, Runtime, op, ": stride must be greater than zero, but got ", stride[a]);
    TL_CHECK(stride[a] < INT64_MAX / 4, Runtime, op, ": the steps of stride ", stride[a],
             " cannot be counted");
    TL_CHECK(dilation[a] > 0, Runtime, op, ": dilation must be greater than zero, but got ", dilation[a]);
    TL_CHECK(padding[a] >= 0, Runtime, op, ": pad must be non-negative, but got pad: ", padding[a]);
    TL_CHECK(padding[a] <= reach(a) / 2, Runtime, op,
             ": pad should be at most half of effective kernel size, "
             "but got pad=",
             padding[a], ", kernel_size=", kernel[a], " and dilation=", dilation[a]);
    TL_CHECK(dilation[a] < INT64_MAX / 4, Runtime, op, ": the steps of dilation ", dilation[a],
             " cannot be counted");
  }
  int64_t reach(int64_t a) const {
    int64_t span;
    TL_CHECK(!__builtin_mul_overflow(kernel[a] - 1, dilation[a], &span) && span < INT64_MAX / 4, Runtime, op,
             ": kernel_size * dilation overflows, got ", kernel[a], " * ", dilation[a]);
    return span + 1;
  }
  int64_t outputs(int64_t a, int64_t inputs) const {
    const int64_t room = checked_add(inputs, 2 * padding[a] - reach(a) + (ceil ? stride[a] - 1 : 0));
    int64_t n = (room >= 0 ? room / stride[a] : -((-room + stride[a] - 1) / stride[a])) + 1;
    if (ceil && (n - 1) * stride[a] >= inputs + padding[a]) --n;  // the last window must begin inside
    return n;
  }
  std::vector<AxisWindows> axes(IntSpan grid) const {
    std::vector<AxisWindows> out;
    for (size_t a = 0; a < kernel.size(); ++a)
      out.push_back({grid[a], outputs(static_cast<int64_t>(a), grid[a]), kernel[a], stride[a], padding[a],
                     dilation[a]});
    return out;
  }
  DimVector result(IntSpan grid) const {
    DimVector out;
    bool fits = true;
    for (size_t a = 0; a < kernel.size(); ++a) {
      out.push_back(outputs(static_cast<int64_t>(a), grid[a]));
      fits &= out.back() >= 1;
    }
    if (kernel.size() == 1)
      TL_CHECK(fits, Runtime, op, "(): Invalid computed output size: ", out[0], ": it is too small");
    TL_CHECK(fits, Runtime, op, ": Given input size: ", grid, ". Calculated output size: ", IntSpan(out),
             ". Output size is too small");
    return out;
  }
};

// ---- maxima -----------------------------------------------------------------------------------------------
void check_max_dtype(const char* op, const Tensor& self) {
  TL_CHECK(!is_complex(self.dtype()) && self.dtype() != DType::Bool, NotImplemented, "\"", op,
           "\" not implemented for '", scalar_type_name(self.dtype()), "'");
}

Pair maxima(const Tensor& self, IntSpan grid, bool indexed, const std::vector<AxisWindows>& axes) {
  const SpatialView field(self, static_cast<int64_t>(grid.size()));
  const Tensor values = field.like(grid, field.data().dtype());
  const Tensor indices = indexed ? field.like(grid, DType::Int64) : Tensor();
  if (values.is_meta() || values.numel() == 0) return {to_dtype(values, self.dtype()), indices};
  int64_t* const at = indexed ? indices.ptr<int64_t>() : nullptr;
  const AxisWindows* row = values.dtype() == DType::Int64 ? nullptr : windows_of_rows(field, axes);
  if (row)
    cpu::max_of_rows(values.dtype(), *row, field.planes(), values.ptr<char>(), at, field.data().ptr<char>());
  else
    cpu::max_pool(values.dtype(), field.mapped(weights_of(axes)), values.ptr<char>(), at,
                  field.data().ptr<char>());
  return {to_dtype(values, self.dtype()), indices};
}

// A sample of three axes as a batch of one, if its channels come last.
std::optional<Tensor> batch_with_channels_last(const Tensor& self, int64_t spatial) {
  if (spatial != 3 || self.dim() != 4 || self.is_contiguous()) return std::nullopt;
  DimVector sizes(self.sizes()), strides(self.strides());
  sizes.insert(0, 1);
  strides.insert(0, self.numel());
  if (!is_channels_last(sizes, strides)) return std::nullopt;
  return view_of(self, sizes, strides, self.offset());
}

// Integers that float32 has all of: they are compared in vectors.
bool is_narrow_integer(DType dtype) {
  return dtype == DType::UInt8 || dtype == DType::Int8 || dtype == DType::Int16;
}

// The maxima as integers again. A window without elements has the least one.
Tensor narrow(const Tensor& values, DType dtype) {
  const int64_t least = dtype == DType::UInt8 ? 0 : dtype == DType::Int8 ? INT8_MIN : INT16_MIN;
  return to_dtype(ops::clamp_min(values, Scalar(least)), dtype);
}

Pair max_pool_of(const Tensor& self, const Window& window, bool indexed) {
  const auto spatial = static_cast<int64_t>(window.kernel.size());
  if (const auto batch = batch_with_channels_last(self, spatial)) {
    const auto [values, indices] = max_pool_of(*batch, window, indexed);
    return {ops::squeeze_dim(values, 0), indices ? ops::squeeze_dim(indices, 0) : indices};
  }
  check_grid(window.op, self, spatial);
  check_max_dtype(window.op, self);
  if (is_narrow_integer(self.dtype())) {
    const auto [values, indices] = max_pool_of(to_dtype(self, DType::Float32), window, indexed);
    return {narrow(values, self.dtype()), indices};
  }
  const DimVector grid(grid_of(window.op, self.sizes(), spatial));
  return maxima(self, window.result(grid), indexed, window.axes(grid));
}

constexpr const char* kMaxNames[] = {"", "max_pool1d", "max_pool2d", "max_pool3d"};

Pair max_pool(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
              bool ceil) {
  const auto n = static_cast<int64_t>(kernel.size());
  grid_of("max_pool", self.sizes(), n);
  return max_pool_of(self, Window(kMaxNames[n], n, kernel, stride, padding, dilation, ceil), true);
}

template <int n>
Pair max_pool_with_indices(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                           IntSpan dilation, bool ceil, Out out, Out out_indices) {
  const Window w(kMaxNames[n], n, kernel, stride, padding, dilation, ceil);
  const auto [values, indices] = ops::_max_pool(self, w.kernel, w.stride, w.padding, w.dilation, ceil);
  if (!out) return {values, indices};
  return {delivered(values, self.dtype(), out), delivered(indices, DType::Int64, out_indices)};
}

template <int n>
Tensor max_pool_values(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation,
                       bool ceil) {
  const Window w(kMaxNames[n], n, kernel, stride, padding, dilation, ceil);
  // Positions are looked for only where something will ask for them.
  if (is_plain(self)) return std::get<0>(max_pool_of(self, w, false));
  return std::get<0>(ops::_max_pool(self, w.kernel, w.stride, w.padding, w.dilation, ceil));
}

constexpr const char* kAdaptiveMaxNames[] = {"", "adaptive_max_pool1d", "adaptive_max_pool2d",
                                             "adaptive_max_pool3d"};

void check_adaptive(const char* op, const Tensor& self, IntSpan output_size, int64_t spatial,
                    Empty allowed = Empty::First) {
  check_grid(op, self, spatial, allowed);
  for (int64_t n : output_size)
    TL_CHECK(n >= 0, Runtime, op,
             ": elements of output_size must be greater than or equal to 0 but received ", output_size,
             ". Trying to create tensor with negative dimension ", n);
}

std::vector<AxisWindows> adaptive_axes(IntSpan grid, IntSpan output_size) {
  std::vector<AxisWindows> axes;
  for (size_t a = 0; a < grid.size(); ++a) axes.push_back({grid[a], output_size[a]});
  return axes;
}

Pair adaptive_max(const Tensor& self, IntSpan output_size) {
  const auto n = static_cast<int64_t>(output_size.size());
  const IntSpan grid = grid_of("adaptive_max_pool", self.sizes(), n);
  const char* op = kAdaptiveMaxNames[n];
  check_adaptive(op, self, output_size, n);
  TL_CHECK(is_floating(self.dtype()), NotImplemented, "\"", op, "\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  return maxima(self, output_size, true, adaptive_axes(grid, output_size));
}

template <int n>
Pair adaptive_max_pool(const Tensor& self, IntSpan output_size, Out out, Out out_indices) {
  TL_CHECK(static_cast<int>(output_size.size()) == n || (n > 1 && output_size.size() == 1), Runtime,
           kAdaptiveMaxNames[n], "(): argument 'output_size' should contain ",
           n == 1 ? "one int" : cat(n, " ints"), ", got ", output_size);
  const DimVector size = spread(kAdaptiveMaxNames[n], "output_size", output_size, n);
  const auto [values, indices] = ops::_adaptive_max_pool(self, size);
  if (!out) return {values, indices};
  return {delivered(values, self.dtype(), out), delivered(indices, DType::Int64, out_indices)};
}

// ---- back to where a maximum was --------------------------------------------------------------------------
Tensor put(const Tensor& source, const Tensor& indices, IntSpan grid, bool add, const char* op) {
  const auto spatial = static_cast<int64_t>(grid.size());
  TL_CHECK(indices.dtype() == DType::Int64, Runtime, op,
           ": elements in indices should be type int64 but got: ", dtype_name(indices.dtype()));
  TL_CHECK(std::ranges::equal(source.sizes(), indices.sizes()), Runtime, op,
           ": Expected shape of indices to be same as that of the input tensor (", source.sizes(),
           ") but got indices tensor with shape: ", indices.sizes());
  TL_CHECK(is_floating(source.dtype()), NotImplemented, "\"", op, "\" not implemented for '",
           scalar_type_name(source.dtype()), "'");
  const SpatialView index_view(indices, spatial);
  // The elements lie as their positions do.
  const Tensor typed = empty_strided(indices.sizes(), index_view.data().strides(),
                                     {accumulate_type(source.dtype()), source.device()});
  const Tensor out = index_view.like(grid, typed.dtype());
  if (out.is_meta() || out.numel() == 0) return to_dtype(out, source.dtype());
  copy_elements(typed, source);
  int64_t plane = 1;
  for (int64_t n : grid) plane *= n;
  const bool good = cpu::put_in_planes(typed.dtype(), add, index_view.planes(), plane, index_view.positions(),
                                       index_view.inner(), out.ptr<char>(), index_view.data().ptr<int64_t>(),
                                       typed.ptr<char>());
  TL_CHECK(good, Runtime, op, ": found an invalid max index: each must lie in [0, ", plane, ") (output size ",
           grid, ")");
  return to_dtype(out, source.dtype());
}

void check_gradient(const char* op, const Tensor& g) {
  for (int64_t d = 1; d < g.dim(); ++d)
    TL_CHECK(
        g.size(d) > 0, Runtime, op,
        "(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes ",
        g.sizes(), " with dimension ", d, " being empty");
}

Tensor put_by_index(const Tensor& source, const Tensor& indices, IntSpan sizes, int64_t spatial) {
  check_gradient("max_pool_backward", source);
  return put(source, indices, grid_of("max_pool_backward", sizes, spatial), true, "max_pool_backward");
}
Tensor unpool(const Tensor& source, const Tensor& indices, IntSpan grid) {
  // Where there is a choice, the result lies as the maxima do.
  const bool last = grid.size() == 2 && is_channels_last(source.sizes(), source.strides());
  const auto order = last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
  return put(source, ops::contiguous(indices, order), grid, false, "max_unpool");
}

Tensor take_by_index(const Tensor& self, const Tensor& indices, int64_t spatial) {
  for (const Tensor* t : {&self, &indices}) grid_of("take_by_index", t->sizes(), spatial);
  const auto flat = [&](const Tensor& t) { return ops::flatten_using_ints(t, t.dim() - spatial, -1); };
  return ops::reshape(ops::gather(flat(self), -1, flat(indices)), indices.sizes());
}

template <int n>
Tensor max_unpool(const Tensor& self, const Tensor& indices, IntSpan output_size, Out out) {
  static constexpr const char* op = n == 2 ? "max_unpool2d" : "max_unpool3d";
  TL_CHECK(static_cast<int>(output_size.size()) == n, Runtime, op, ": There should be exactly ", n,
           " elements (height, width) in output_size, but got ", output_size.size(), " elements");
  TL_CHECK(std::ranges::equal(self.sizes(), indices.sizes()), Runtime, op,
           ": Expected shape of indices to be same as that of the input tensor (", self.sizes(),
           ") but got indices tensor with shape: ", indices.sizes());
  check_grid(op, self, n, Empty::First);
  for (int64_t s : output_size)
    TL_CHECK(s >= 0, Runtime, op, ": output_size must not be negative, got ", output_size);
  return delivered(ops::_unpool(self, indices, output_size), self.dtype(), out);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntSpan output_size, IntSpan stride,
                    IntSpan padding, Out out) {
  TL_CHECK(
      stride.size() == 3 && padding.size() == 3, Runtime,
      "max_unpool3d: There should be exactly 3 elements (depth, height, width) in stride and padding, got ",
      stride, " and ", padding);
  for (int64_t s : stride)
    TL_CHECK(s > 0, Runtime, "max_unpool3d: strides should be greater than zero, but got stride: ", stride);
  return max_unpool<3>(self, indices, output_size, out);
}

// The gradients under the reference's names.
template <int n, class Args>
Tensor max_pool_backward(const Args& a) {
  return ops::_put_by_index(a.grad_output, a.indices, a.self.sizes(), n);
}
template <int n>
Tensor adaptive_max_backward(const Tensor& g, const Tensor& self, const Tensor& indices) {
  return ops::_put_by_index(g, indices, self.sizes(), n);
}

// ---- fractional: windows at random positions --------------------------------------------------------------
// Where the windows begin: pseudo-random steps that cover the axis (Graham, 2014).
ResampleWeights fractional_weights(double sample, int64_t inputs, int64_t outputs, int64_t kernel) {
  ResampleWeights map;
  map.inputs = inputs;
  const double alpha =
      outputs > 1 ? static_cast<double>(inputs - kernel) / static_cast<double>(outputs - 1) : 0;
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t start = o + 1 == outputs ? inputs - kernel
                                           : static_cast<int64_t>((static_cast<double>(o) + sample) * alpha) -
                                                 static_cast<int64_t>(sample * alpha);
    for (int64_t k = 0; k < kernel; ++k) map.tap(std::clamp<int64_t>(start + k, 0, inputs - 1));
    map.close();
  }
  return map;
}

// One random sample for each plane and axis; windows of the kernel's size must fit between the outputs'
// steps.
void check_fractional(const char* op, const Tensor& self, IntSpan kernel, IntSpan output_size,
                      const Tensor& samples) {
  const auto n = static_cast<int64_t>(kernel.size());
  check_grid(op, self, n, Empty::First);
  TL_CHECK((n == 2 || n == 3) && output_size.size() == kernel.size(), Runtime, op,
           ": kernel_size and output_size must have 2 or 3 ints each, got ", kernel, " and ", output_size);
  TL_CHECK(is_floating(self.dtype()), NotImplemented, "\"", op, "\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  TL_CHECK(samples.dtype() == self.dtype(), Runtime, op,
           ": Expect _random_samples to have the same dtype as input, got ", dtype_name(samples.dtype()),
           " and ", dtype_name(self.dtype()));
  const int64_t batch = self.dim() == n + 2 ? self.size(0) : 1, channels = self.size(self.dim() - n - 1);
  TL_CHECK(
      samples.dim() == 3 && samples.size(0) >= batch && samples.size(1) >= channels && samples.size(2) == n,
      Runtime, op, ": Expect _random_samples of shape [", batch, ", ", channels, ", ", n, "], got ",
      samples.sizes());
  for (int64_t a = 0; a < n; ++a) {
    const int64_t size = self.size(self.dim() - n + a);
    TL_CHECK(kernel[a] > 0 && output_size[a] >= 0, Runtime, op,
             ": kernel_size should be greater than zero and output_size at least zero, got ", kernel, " and ",
             output_size);
    const char* axis = n - a == 1 ? "width" : n - a == 2 ? "height" : "time";
    TL_CHECK(checked_add(output_size[a], kernel[a] - 1) <= size, Runtime, op, "(): pool ", axis, " ",
             kernel[a], " too large relative to input ", axis, " ", size, " for an output of ",
             output_size[a]);
  }
}

Pair fractional_max(const Tensor& self, IntSpan kernel, IntSpan output_size, const Tensor& samples) {
  const auto n = static_cast<int64_t>(kernel.size());
  check_fractional(n == 2 ? "fractional_max_pool2d" : "fractional_max_pool3d", self, kernel, output_size,
                   samples);
  const Tensor data = self.is_meta() ? self : to_contiguous(to_dtype(self, accumulate_type(self.dtype())));
  const SpatialView field(data, n);
  const Tensor values = empty(field.resized(output_size), {data.dtype(), data.device()});
  const Tensor indices = empty(values.sizes(), {DType::Int64, data.device()});
  if (values.is_meta() || values.numel() == 0) return {to_dtype(values, self.dtype()), indices};
  const Tensor doubles = to_contiguous(to_dtype(samples, DType::Float64));
  const int64_t channels = self.size(self.dim() - n - 1), out_plane = values.numel() / field.planes();
  for (int64_t p = 0; p < field.planes(); ++p) {
    const double* sample = doubles.ptr<double>() + (p / channels * samples.size(1) + p % channels) * n;
    std::vector<ResampleWeights> maps;
    // The first sample is the width's in two dimensions, the depth's in three.
    for (int64_t a = 0; a < n; ++a)
      maps.push_back(
          fractional_weights(sample[n == 2 ? 1 - a : a], field.size(a), output_size[a], kernel[a]));
    cpu::SeparableResample mapped = field.mapped(std::move(maps));
    mapped.planes = 1;
    cpu::max_pool(data.dtype(), mapped, values.ptr<char>() + p * out_plane * values.itemsize(),
                  indices.ptr<int64_t>() + p * out_plane,
                  data.ptr<char>() + p * field.positions() * data.itemsize());
  }
  return {to_dtype(values, self.dtype()), indices};
}

template <int n>
Pair fractional_max_pool(const Tensor& self, IntSpan kernel, IntSpan output_size, const Tensor& samples,
                         Out out, Out out_indices) {
  const char* op = n == 2 ? "fractional_max_pool2d" : "fractional_max_pool3d";
  const auto [values, indices] = ops::_fractional_max_pool(
      self, spread(op, "kernel_size", kernel, n), spread(op, "output_size", output_size, n), samples);
  if (!out) return {values, indices};
  return {delivered(values, self.dtype(), out), delivered(indices, DType::Int64, out_indices)};
}

// ---- means ------------------------------------------------------------------------------------------------
constexpr const char* kAvgNames[] = {"", "avg_pool1d", "avg_pool2d", "avg_pool3d"};

Window avg_window(int64_t n, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil) {
  return Window(kAvgNames[n], n, kernel, stride, padding, DimVector(static_cast<size_t>(n), 1), ceil);
}

// Windows of each axis, and what their sums are divided by: `divisor`, or what they count.
struct Means {
  std::vector<AxisWindows> axes;
  bool padded = false;
  std::optional<int64_t> divisor = std::nullopt;

  // The divisor of a window is the product of its sizes, so each axis divides by its own.
  std::vector<ResampleWeights> maps() const {
    std::vector<ResampleWeights> maps = weights_of(axes);
    for (size_t a = 0; a < maps.size(); ++a)
      for (int64_t o = 0; o < maps[a].outputs(); ++o) {
        const int64_t size = divisor ? (a == 0 ? *divisor : 1) : axes[a].counted(o, padded);
        maps[a].scale.push_back(1.0 / static_cast<double>(size));
      }
    return maps;
  }
};

Tensor means_of(const Tensor& self, IntSpan grid, const Means& means) {
  const SpatialView field(self, static_cast<int64_t>(grid.size()));
  const AxisWindows* row = grid[0] ? windows_of_rows(field, means.axes) : nullptr;
  if (!row || field.data().is_meta() || field.data().numel() == 0)
    return to_dtype(resampled(field, grid, [&] { return means.maps(); }), self.dtype());
  const Tensor out = field.like(grid, field.data().dtype());
  cpu::mean_of_rows(out.dtype(), {*row, means.padded, means.divisor.value_or(0)}, field.planes(),
                    out.ptr<char>(), field.data().ptr<char>());
  return to_dtype(out, self.dtype());
}

// The windows' divisors, of the shape of the grid.
Tensor divisors(const Window& w, IntSpan grid, IntSpan result, bool include_pad,
                std::optional<int64_t> divisor) {
  const std::vector<AxisWindows> axes = w.axes(grid);
  Tensor out = ops::full(DimVector{}, Scalar(divisor.value_or(1)), {.dtype = DType::Int64});
  for (size_t a = 0; a < grid.size() && !divisor; ++a) {
    DimVector shape(grid.size(), 1);
    shape[a] = result[a];
    const Tensor sizes = empty(shape, {DType::Int64, Device{}});
    for (int64_t o = 0; o < result[a]; ++o) sizes.ptr<int64_t>()[o] = axes[a].counted(o, include_pad);
    out = ops::mul(out, sizes);
  }
  return out;
}

Tensor avg_pool(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil,
                bool include_pad, std::optional<int64_t> divisor) {
  const auto n = static_cast<int64_t>(kernel.size());
  const DimVector grid(grid_of("avg_pool", self.sizes(), n));
  const Window w = avg_window(n, kernel, stride, padding, ceil);
  check_grid(w.op, self, n);
  TL_CHECK(is_floating(self.dtype()) || self.dtype() == DType::Int64, NotImplemented, "\"", w.op,
           "_out_frame\" not implemented for '", scalar_type_name(self.dtype()), "'");
  const DimVector result = w.result(grid);
  if (self.dtype() != DType::Int64 || self.is_meta())
    return means_of(self, result, {w.axes(grid), include_pad, divisor});
  const SpatialView field(self, n);
  const Tensor sums = field.like(result, DType::Int64);
  if (sums.numel())
    cpu::sum_windows(field.mapped(weights_of(w.axes(grid))), sums.ptr<int64_t>(),
                     field.data().ptr<int64_t>());
  return ops::div_Tensor_mode(sums, divisors(w, grid, result, include_pad, divisor), "trunc");
}

Tensor avg_pool_adjoint(const AvgPoolAdjointArgs& a) {
  const Tensor& g = a.grad;
  const auto n = static_cast<int64_t>(a.kernel_size.size());
  const IntSpan grid = grid_of("avg_pool_backward", a.sizes, n),
                own = grid_of("avg_pool_backward", g.sizes(), n);
  const Window w = avg_window(n, a.kernel_size, a.stride, a.padding, a.ceil_mode);
  const DimVector result = w.result(grid);
  TL_CHECK(std::ranges::equal(result, own), Runtime, w.op, "_backward: expected a gradient of the grid ",
           IntSpan(result), ", got ", g.sizes());
  const auto maps = [&] { return Means{w.axes(grid), a.count_include_pad, a.divisor_override}.maps(); };
  return to_dtype(adjoint_resampled(SpatialView(g, n), grid, maps), g.dtype());
}

template <int n>
Tensor avg_pool_nd(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil,
                   bool include_pad, std::optional<int64_t> divisor, Out out) {
  const Window w = avg_window(n, spread(kAvgNames[n], "kernel_size", kernel, n), stride, padding, ceil);
  TL_CHECK(!divisor || *divisor != 0, Runtime, w.op, ": divisor must be not zero");
  if (n == 3)
    TL_CHECK(self.dim() == 4 || self.dim() == 5, Runtime,
             "non-empty 4D or 5D (batch mode) tensor expected for input, got ", self.sizes());
  return delivered(ops::_avg_pool(self, w.kernel, w.stride, w.padding, ceil, include_pad, divisor),
                   self.dtype(), out);
}
Tensor avg_pool1d(const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil,
                  bool include_pad, Out out) {
  return avg_pool_nd<1>(self, kernel, stride, padding, ceil, include_pad, std::nullopt, out);
}
// The gradient in the memory format of the input, which that of the input takes over.
Tensor ordered_as(const Tensor& g, const Tensor& self) {
  return g.dim() == self.dim() ? ops::contiguous(g, preferred_format(self)) : g;
}
template <int n, class Args>
Tensor avg_pool_backward(const Args& a) {
  const Window w =
      avg_window(n, spread(kAvgNames[n], "kernel_size", a.kernel_size, n), a.stride, a.padding, a.ceil_mode);
  return ops::_avg_pool_adjoint(ordered_as(a.grad_output, a.self), a.self.sizes(), w.kernel, w.stride,
                                w.padding, a.ceil_mode, a.count_include_pad, a.divisor_override);
}

constexpr const char* kAdaptiveAvgNames[] = {"", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
                                             "adaptive_avg_pool3d"};

Tensor adaptive_avg(const Tensor& self, IntSpan output_size) {
  const auto n = static_cast<int64_t>(output_size.size());
  const IntSpan grid = grid_of("adaptive_avg_pool", self.sizes(), n);
  const char* op = kAdaptiveAvgNames[n];
  check_adaptive(op, self, output_size, n, n < 3 ? Empty::Channels : Empty::First);
  TL_CHECK(is_floating(self.dtype()), NotImplemented, "\"", op, "\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  return means_of(self, output_size, {adaptive_axes(grid, output_size)});
}
Tensor adaptive_avg_adjoint(const Tensor& g, IntSpan sizes, int64_t n) {
  constexpr const char* op = "adaptive_avg_pool_backward";
  check_gradient(op, g);
  const IntSpan grid = grid_of(op, sizes, n), own = grid_of(op, g.sizes(), n);
  const auto maps = [&] { return Means{adaptive_axes(grid, own)}.maps(); };
  return to_dtype(adjoint_resampled(SpatialView(g, n), grid, maps), g.dtype());
}

// One window is a reduction.
template <int n>
Tensor whole_mean(const Tensor& self) {
  DimVector dims;
  for (int64_t d = 0; d < n; ++d) dims.push_back(self.dim() - n + d);
  const Tensor mean = ops::mean_dim(self, dims, true);
  const MemoryFormat format = preferred_format(self);
  return format == MemoryFormat::Contiguous ? mean : ops::contiguous(mean, format);
}

template <int n>
Tensor adaptive_avg_pool(const Tensor& self, IntSpan output_size, Out out) {
  TL_CHECK(static_cast<int>(output_size.size()) == n || (n > 1 && output_size.size() == 1), Runtime,
           kAdaptiveAvgNames[n], ": ",
           n == 1 ? "'output_size' should contain one int" : "output_size must be ",
           n == 1   ? ""
           : n == 2 ? "2"
                    : "3",
           ", got ", output_size);
  const DimVector size = spread(kAdaptiveAvgNames[n], "output_size", output_size, n);
  if (!out && (n > 1 || is_complex(self.dtype())) &&
      std::ranges::all_of(size, [](int64_t s) { return s == 1; })) {
    check_adaptive(kAdaptiveAvgNames[n], self, size, n, n < 3 ? Empty::Channels : Empty::First);
    return whole_mean<n>(self);
  }
  return delivered(ops::_adaptive_avg_pool(self, size), self.dtype(), out);
}
template <int n>
Tensor adaptive_avg_pool_backward(const Tensor& g, const Tensor& self) {
  return ops::_adaptive_avg_pool_adjoint(ordered_as(g, self), self.sizes(), n);
}
}  // namespace

TL_KERNEL(_max_pool, max_pool)
TL_KERNEL(max_pool1d_with_indices, max_pool_with_indices<1>)
TL_KERNEL(max_pool2d_with_indices, max_pool_with_indices<2>)
TL_KERNEL(max_pool3d_with_indices, max_pool_with_indices<3>)
TL_KERNEL(max_pool2d_with_indices_backward, (max_pool_backward<2, MaxPool2dWithIndicesBackwardArgs>))
TL_KERNEL(max_pool3d_with_indices_backward, (max_pool_backward<3, MaxPool3dWithIndicesBackwardArgs>))
TL_KERNEL(max_pool1d, max_pool_values<1>)
TL_KERNEL(max_pool2d, max_pool_values<2>)
TL_KERNEL(max_pool3d, max_pool_values<3>)
TL_KERNEL(_adaptive_max_pool, adaptive_max)
TL_KERNEL(adaptive_max_pool1d, adaptive_max_pool<1>)
TL_KERNEL(adaptive_max_pool2d, adaptive_max_pool<2>)
TL_KERNEL(adaptive_max_pool3d, adaptive_max_pool<3>)
TL_KERNEL(adaptive_max_pool2d_backward, adaptive_max_backward<2>)
TL_KERNEL(adaptive_max_pool3d_backward, adaptive_max_backward<3>)
TL_KERNEL(_put_by_index, put_by_index)
TL_KERNEL(_take_by_index, take_by_index)
TL_KERNEL(_unpool, unpool)
TL_KERNEL(max_unpool2d, max_unpool<2>)
TL_KERNEL(max_unpool3d, max_unpool3d)
TL_KERNEL(_fractional_max_pool, fractional_max)
TL_KERNEL(fractional_max_pool2d, fractional_max_pool<2>)
TL_KERNEL(fractional_max_pool3d, fractional_max_pool<3>)
TL_KERNEL(_avg_pool, avg_pool)
TL_KERNEL(_avg_pool_adjoint, avg_pool_adjoint)
TL_KERNEL(avg_pool1d, avg_pool1d)
TL_KERNEL(avg_pool2d, avg_pool_nd<2>)
TL_KERNEL(avg_pool3d, avg_pool_nd<3>)
TL_KERNEL(avg_pool2d_backward, (avg_pool_backward<2, AvgPool2dBackwardArgs>))
TL_KERNEL(avg_pool3d_backward, (avg_pool_backward<3, AvgPool3dBackwardArgs>))
TL_KERNEL(_adaptive_avg_pool, adaptive_avg)
TL_KERNEL(_adaptive_avg_pool_adjoint, adaptive_avg_adjoint)
TL_KERNEL(adaptive_avg_pool1d, adaptive_avg_pool<1>)
TL_KERNEL(adaptive_avg_pool2d, adaptive_avg_pool<2>)
TL_KERNEL(adaptive_avg_pool3d, adaptive_avg_pool<3>)
TL_KERNEL(_adaptive_avg_pool2d, adaptive_avg_pool<2>)
TL_KERNEL(_adaptive_avg_pool3d, adaptive_avg_pool<3>)
TL_KERNEL(_adaptive_avg_pool2d_backward, adaptive_avg_pool_backward<2>)
TL_KERNEL(_adaptive_avg_pool3d_backward, adaptive_avg_pool_backward<3>)

}  // namespace tl
