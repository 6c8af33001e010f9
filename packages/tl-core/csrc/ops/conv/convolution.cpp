// Convolution and transposed convolution of one to three axes: checks, output sizes and the three products.
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/conv/conv.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"
#include "tensor/packings.h"

namespace tl {

namespace {

// How the windows lie, a number an axis.
struct Windows {
  DimVector stride, padding, dilation;
  int64_t groups;

  int64_t axes() const { return static_cast<int64_t>(stride.size()); }
};

DimVector for_each_axis(const char* name, IntSpan given, int64_t axes) {
  TL_CHECK(given.size() == 1 || static_cast<int64_t>(given.size()) == axes, Runtime, "expected ", name,
           " to be a single integer value or a list of ", axes,
           " values to match the convolution dimensions, but got ", name, "=", given);
  return given.size() == 1 ? DimVector(static_cast<size_t>(axes), given[0]) : DimVector(given);
}

Windows windows(IntSpan stride, IntSpan padding, IntSpan dilation, int64_t groups, int64_t axes) {
  return {for_each_axis("stride", stride, axes), for_each_axis("padding", padding, axes),
          for_each_axis("dilation", dilation, axes), groups};
}

// ---- what a user can get wrong ----------------------------------------------------------------------------

void check_dims(const Tensor& input, const Tensor& weight) {
  TL_CHECK(input.dim() == weight.dim(), Runtime, "Expected ", weight.dim(), "-dimensional input for ",
           weight.dim(), "-dimensional weight ", weight.sizes(), ", but got ", input.dim(),
           "-dimensional input of size ", input.sizes(), " instead");
}

void check_windows(const Windows& w, IntSpan output_padding) {
  TL_CHECK(w.groups > 0, Runtime, "non-positive groups is not supported");
  TL_CHECK(std::ranges::all_of(w.padding, [](int64_t p) { return p >= 0; }), Runtime,
           "negative padding is not supported");
  TL_CHECK(std::ranges::all_of(output_padding, [](int64_t p) { return p >= 0; }), Runtime,
           "negative output_padding is not supported");
  TL_CHECK(std::ranges::all_of(w.stride, [](int64_t s) { return s > 0; }), Runtime,
           "non-positive stride is not supported");
  TL_CHECK(std::ranges::all_of(w.dilation, [](int64_t d) { return d > 0; }), Runtime,
           "dilation should be greater than zero, but got ", w.dilation);
}

void check_types(const Tensor& input, const Tensor& weight, OptTensor bias) {
  TL_CHECK(input.device() == weight.device(), Runtime,
           "Expected all tensors to be on the same device, but found at least two devices, ",
           device_name(input.device()), " and ", device_name(weight.device()), "! (convolution)");
  TL_CHECK(input.dtype() == weight.dtype(), Runtime, "expected scalar type ", scalar_type_name(input.dtype()),
           " but found ", scalar_type_name(weight.dtype()), " for the convolution's weight: Input type (",
           dtype_name(input.dtype()), ") and weight type (", dtype_name(weight.dtype()),
           ") should be the same");
  TL_CHECK(!bias || bias->dtype() == input.dtype(), Runtime, "Input type (", dtype_name(input.dtype()),
           ") and bias type (", dtype_name(bias->dtype()), ") should be the same");
  TL_CHECK(input.dtype() != DType::Bool, NotImplemented, "\"slow_conv2d_cpu\" not implemented for 'Bool'");
}

void check_kernel(const Tensor& weight) {
  for (int64_t d = 2; d < weight.dim(); ++d)
    TL_CHECK(weight.size(d) > 0, Runtime, "kernel size should be greater than zero, but got weight of size ",
             weight.sizes());
}

void check_channels(const Tensor& input, const Tensor& weight, OptTensor bias, const Windows& w,
                    bool transposed) {
  const int64_t channels = transposed ? weight.size(0) : checked_mul(weight.size(1), w.groups);
  TL_CHECK(weight.size(0) >= w.groups, Runtime, "Given groups=", w.groups,
           ", expected weight to be at least ", w.groups, " at dimension 0, but got weight of size ",
           weight.sizes(), " instead");
  TL_CHECK(weight.size(0) % w.groups == 0, Runtime, "Given groups=", w.groups,
           ", expected weight to be divisible by ", w.groups, " at dimension 0, but got weight of size [",
           weight.sizes(), "] instead");
  TL_CHECK(input.size(1) == channels, Runtime, "Given ",
           transposed ? "transposed=" : "groups=", transposed ? int64_t{1} : w.groups, ", weight of size ",
           weight.sizes(), ", expected input", input.sizes(), " to have ", channels, " channels, but got ",
           input.size(1), " channels instead");
  const int64_t outputs = transposed ? checked_mul(weight.size(1), w.groups) : weight.size(0);
  TL_CHECK(!bias || (bias->dim() == 1 && bias->size(0) == outputs), Runtime, "Given ",
           transposed ? "transposed=1, " : "", "weight of size ", weight.sizes(),
           ", expected bias to be 1-dimensional with ", outputs, " elements, but got bias of size ",
           bias->sizes(), " instead");
}

// The positions of a kernel spread by its dilation.
int64_t reach(const Windows& w, IntSpan weight, size_t axis) {
  return checked_mul(w.dilation[axis], weight[axis + 2] - 1);
}

std::string product(IntSpan sizes) {
  std::string text;
  for (int64_t n : sizes) text += cat(text.empty() ? "" : " x ", n);
  return text;
}

DimVector forward_size(IntSpan input, IntSpan weight, const Windows& w) {
  DimVector size{input[0], weight[0]}, padded, kernel;
  for (size_t i = 0; i < w.stride.size(); ++i) {
    padded.push_back(checked_add(input[i + 2], checked_mul(2, w.padding[i])));
    kernel.push_back(checked_add(reach(w, weight, i), 1));
  }
  for (size_t d = 0; d < padded.size(); ++d) {
    TL_CHECK(padded[d] >= kernel[d], Runtime, "Calculated padded input size per channel: (", product(padded),
             "). Kernel size: (", product(kernel), "). Kernel size can't be greater than actual input size");
    size.push_back((padded[d] - kernel[d]) / w.stride[d] + 1);
  }
  return size;
}

DimVector transposed_size(const Tensor& input, const Tensor& weight, const Windows& w,
                          IntSpan output_padding) {
  DimVector size{input.size(0), weight.size(1) * w.groups};
  for (int64_t d = 0; d < w.axes(); ++d) {
    const auto i = static_cast<size_t>(d);
    TL_CHECK(output_padding[i] < w.stride[i] || output_padding[i] < w.dilation[i], Runtime,
             "output padding must be smaller than either stride or dilation, but got output_padding: ",
             output_padding, " stride: ", w.stride, " dilation: ", w.dilation);
    const int64_t spread =
        checked_add(checked_mul(input.size(d + 2) - 1, w.stride[i]), reach(w, weight.sizes(), i));
    size.push_back(checked_add(checked_add(spread, output_padding[i]), 1 - checked_mul(2, w.padding[i])));
  }
  for (size_t d = 2; d < size.size(); ++d)
    TL_CHECK(size[d] > 0, Runtime, "Given input size per channel: ", input.sizes().subspan(2),
             ". Calculated output size per channel: ", IntSpan(size).subspan(2),
             ". Output size is too small");
  return size;
}

// The indices that windows reach must not overflow, nor their distances from either end of an axis.
void check_span(const Windows& w, int64_t input, IntSpan weight, int64_t output, size_t axis) {
  checked_add(input, w.padding[axis]);
  const int64_t steps = output > 1 ? checked_mul(output - 1, w.stride[axis]) : 0;
  checked_add(checked_add(output, steps), reach(w, weight, axis));
}

// Whether the sizes of input, weight and output fit together: the output may be smaller than the windows
// allow.
void check_sizes(IntSpan input, IntSpan weight, IntSpan output, IntSpan stride, IntSpan padding,
                 IntSpan dilation, int64_t groups) {
  const auto dims = weight.size();
  const bool shaped =
      dims >= 3 && dims <= cpu::kConvolutionAxes + 2 && input.size() == dims && output.size() == dims;
  TL_CHECK(shaped, Runtime, "expected input, weight and output of three to five dimensions, but got sizes ",
           input, ", ", weight, " and ", output);
  const Windows w = windows(stride, padding, dilation, groups, static_cast<int64_t>(dims) - 2);
  check_windows(w, {});
  bool fits = weight[0] % groups == 0 && input[1] == checked_mul(weight[1], groups) &&
              output[1] == weight[0] && input[0] == output[0];
  for (size_t d = 0; d < dims; ++d) fits &= input[d] >= 0 && output[d] >= 0 && (d < 2 || weight[d] > 0);
  TL_CHECK(fits, Runtime, "an output of size ", output, " is none of a convolution of ", input, " with ",
           weight, " in ", groups, " groups");
  for (size_t d = 2; d < dims; ++d) check_span(w, input[d], weight, output[d], d - 2);
}

void check_bias(OptTensor bias, int64_t channels) {
  TL_CHECK(!bias || (bias->dim() == 1 && bias->size(0) == channels), Runtime, "expected a bias of ", channels,
           " elements, but got one of size ", bias->sizes());
}

// ---- the result's memory ----------------------------------------------------------------------------------

bool prefers_channels_last(const Tensor& t) { return preferred_format(t) != MemoryFormat::Contiguous; }

Tensor result_like(Out out, IntSpan sizes, const Tensor& input, const Tensor& weight) {
  if (out || !(prefers_channels_last(input) || prefers_channels_last(weight)))
    return prepare_out(out, sizes, {input.dtype(), input.device()});
  return empty_strided(sizes, channels_last_strides(sizes), {input.dtype(), input.device()});
}

// ---- from tensors to the kernel's terms: one to three axes are the last of three --------------------------

int axis_of(const Tensor& t, int64_t d) {
  return static_cast<int>(cpu::kConvolutionAxes - (t.dim() - 2) + d);
}

// Of one position the step to the next means nothing: it may be any number, and taps in the padding must not
// be placed by it.
int64_t step_of(const Tensor& t, int64_t d) { return t.size(d) == 1 ? 0 : t.stride(d); }

cpu::ConvolutionData plane_data(const Tensor& t) {
  cpu::ConvolutionData data{t.ptr<char>(), step_of(t, 0), step_of(t, 1), {}};
  for (int64_t d = 0; d < t.dim() - 2; ++d) data.axis[axis_of(t, d)] = step_of(t, d + 2);
  return data;
}

// Lanes are found by their distance from the first, those outside too.
void check_lanes(const cpu::ConvolutionAxis& a, int64_t element_step) {
  constexpr int64_t kMostLanes = 64, kMostBytes = 16;
  const int64_t bytes = std::max<int64_t>(element_step, 1) * kMostBytes;
  checked_mul(checked_mul(checked_add(a.out, kMostLanes), a.step), bytes);
}

// Rows and channels of the convolution are those of the weight. A single position's step is not taken and may
// be wider than memory.
cpu::Convolution forward_terms(const Tensor& input, const Tensor& weight, const Tensor& output,
                               const Windows& w) {
  cpu::Convolution c;
  c.batch = input.size(0);
  c.groups = w.groups;
  c.rows = weight.size(0) / w.groups;
  c.channels = weight.size(1);
  c.in = plane_data(input);
  c.out = plane_data(output);
  c.weight = {weight.ptr<char>(), c.rows * step_of(weight, 0), step_of(weight, 0), step_of(weight, 1), {}};
  for (int64_t d = 0; d < w.axes(); ++d) {
    const auto i = static_cast<size_t>(d);
    const int a = axis_of(weight, d);
    const int64_t positions = output.size(d + 2), step = positions == 1 ? 1 : w.stride[i];
    c.weight.tap[a] = step_of(weight, d + 2);
    c.axis[a] = {positions, input.size(d + 2), weight.size(d + 2), step, -w.padding[i], w.dilation[i]};
    check_lanes(c.axis[a], c.in.axis[a]);
  }
  return c;
}

// One axis of the adjoint for the inputs phase, phase + stride, …, whose taps are those that meet an output
// there.
struct Phase {
  cpu::ConvolutionAxis axis;
  int64_t first_tap, tap_stride;
};

Phase phase_of(const cpu::ConvolutionAxis& f, int64_t phase) {
  const int64_t stride = f.step, padding = -f.first, dilation = f.tap_step;
  const int64_t common = std::gcd(stride, dilation), every = stride / common;
  const int64_t tried = std::min(every, f.taps);
  int64_t t = 0;
  while (t < tried && (phase + padding - t * dilation) % stride != 0) ++t;
  const int64_t taps = t < tried ? (f.taps - 1 - t) / every + 1 : 0;
  const int64_t count = (f.in - 1 - phase) / stride + 1;
  return {{count, f.out, taps, 1, taps ? (phase + padding - t * dilation) / stride : 0, -(dilation / common)},
          t,
          every};
}

cpu::Convolution adjoint_terms(const cpu::Convolution& f, const int64_t* phases, int64_t itemsize,
                               int64_t weight_itemsize) {
  cpu::Convolution c = f;
  std::swap(c.rows, c.channels);
  std::swap(c.in, c.out);
  std::swap(c.weight.row, c.weight.channel);
  for (int a = 0; a < cpu::kConvolutionAxes; ++a) {
    const Phase p = phase_of(f.axis[a], phases[a]);
    c.axis[a] = p.axis;
    c.weight.data += p.first_tap * f.weight.tap[a] * weight_itemsize;
    c.out.data += phases[a] * f.in.axis[a] * itemsize;
    // The step of a single tap or position is not taken and may be wider than memory.
    c.weight.tap[a] = p.axis.taps > 1 ? f.weight.tap[a] * p.tap_stride : 0;
    c.out.axis[a] = p.axis.out > 1 ? f.in.axis[a] * f.axis[a].step : 0;
  }
  return c;
}

void set_bias(cpu::Convolution& c, const Tensor& bias) {
  if (!bias) return;
  c.bias = bias.ptr<char>();
  c.bias_stride = bias.stride(0);
}

// Weight and bias in the type that the kernel computes in.
struct Parameters {
  Tensor weight, bias;

  Parameters(const Tensor& w, OptTensor b) : weight(computed(w)), bias(b ? computed(*b) : Tensor()) {}

 private:
  static Tensor computed(const Tensor& t) { return to_dtype(t, opmath_type(t.dtype())); }
};

// The copies of a weight that the thread's program has made in former calls, or null.
std::shared_ptr<Packing> packing_of(const Tensor& weight, const cpu::Convolution& c) {
  Packings* const all = packings();
  if (!all || !(weight.dtype() == DType::Float32 || weight.dtype() == DType::Float64)) [[likely]]
    return nullptr;
  const cpu::ConvolutionWeight& w = c.weight;
  PackingKey key{w.data, weight.dtype(), {c.groups, c.rows, c.channels, w.group, w.row, w.channel}};
  for (size_t d = 0; d < cpu::kConvolutionAxes; ++d)
    key.geometry[6 + d] = c.axis[d].taps, key.geometry[9 + d] = w.tap[d];
  return all->find(weight, key);
}

void run_forward(const Tensor& out, const Tensor& input, const Tensor& weight, OptTensor bias,
                 const Windows& w) {
  const Parameters p(weight, bias);
  cpu::Convolution c = forward_terms(input, p.weight, out, w);
  set_bias(c, p.bias);
  const std::shared_ptr<Packing> packing = packing_of(weight, c);
  c.packing = packing.get();
  cpu::convolve(out.dtype(), c);
}

void run_adjoint(const Tensor& out, const Tensor& gradient, const Tensor& weight, OptTensor bias,
                 const Windows& w) {
  const Parameters params(weight, bias);
  const cpu::Convolution f = forward_terms(out, params.weight, gradient, w);
  int64_t p[cpu::kConvolutionAxes];
  const auto phases = [&f](int a) { return std::min(f.axis[a].step, f.axis[a].in); };
  for (p[0] = 0; p[0] < phases(0); ++p[0]) {
    for (p[1] = 0; p[1] < phases(1); ++p[1]) {
      for (p[2] = 0; p[2] < phases(2); ++p[2]) {
        cpu::Convolution c = adjoint_terms(f, p, out.itemsize(), params.weight.itemsize());
        set_bias(c, params.bias);
        cpu::convolve(out.dtype(), c);
      }
    }
  }
}

void run_weight(const Tensor& out, const Tensor& gradient, const Tensor& input, const Windows& w) {
  cpu::convolve_weight(out.dtype(), forward_terms(input, out, gradient, w));
}

// ---- element types without a kernel -----------------------------------------------------------------------

// The real or imaginary parts as a view.
Tensor part(const Tensor& t, int64_t i) {
  DimVector strides(t.strides());
  for (int64_t& s : strides) s = wrapped_mul(s, 2);
  return view_of(t, t.sizes(), strides, t.offset() * 2 + i, to_real(t.dtype()));
}

Tensor blank(const Tensor& like) {
  return empty_strided(like.sizes(), preserved_strides(like.sizes(), like.strides()),
                       {to_real(like.dtype()), {}});
}

// A product of complex tensors is four of real ones. `run(out, a, b, bias)` is bilinear in a and b.
template <class Run>
void complex_product(const Tensor& out, const Tensor& a, const Tensor& b, OptTensor bias, Run run) {
  const Tensor re = blank(out), im = blank(out), more = blank(out);
  const Tensor bias_re = bias ? part(*bias, 0) : Tensor(), bias_im = bias ? part(*bias, 1) : Tensor();
  run(re, part(a, 0), part(b, 0), bias ? &bias_re : nullptr);
  run(more, part(a, 1), part(b, 1), nullptr);
  copy_elements(part(out, 0), ops::sub(re, more));
  run(im, part(a, 0), part(b, 1), bias ? &bias_im : nullptr);
  run(more, part(a, 1), part(b, 0), nullptr);
  copy_elements(part(out, 1), ops::add(im, more));
}

template <class Run>
void product_into(const Tensor& out, const Tensor& a, const Tensor& b, OptTensor bias, Run run) {
  if (out.is_meta() || out.numel() == 0) return;
  const DType type = common_kernel_type(out.dtype());
  if (type != out.dtype()) {
    const Tensor wide = empty_strided(out.sizes(), preserved_strides(out.sizes(), out.strides()), {type, {}});
    const Tensor wide_bias = bias ? to_dtype(*bias, type) : Tensor();
    product_into(wide, to_dtype(a, type), to_dtype(b, type), bias ? &wide_bias : nullptr, run);
    copy_elements(out, wide);
  } else if (is_complex(type)) {
    complex_product(out, a, b, bias, run);
  } else {
    run(out, a, b, bias);
  }
}

bool shares_memory(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.numel() && b.numel();
}

// The result may be an input's memory: then the product goes through memory of its own.
template <class Run>
Tensor product(const Tensor& out, const Tensor& a, const Tensor& b, OptTensor bias, Run run) {
  if (!shares_memory(out, a) && !shares_memory(out, b)) {
    product_into(out, a, b, bias, run);
    return out;
  }
  const Tensor fresh = empty(out.sizes(), {out.dtype(), {}});
  product_into(fresh, a, b, bias, run);
  copy_elements(out, fresh);
  return out;
}

// ---- the operators ----------------------------------------------------------------------------------------

Tensor forward_into(const Tensor& out, const Tensor& input, const Tensor& weight, OptTensor bias,
                    const Windows& w) {
  return product(
      out, input, weight, bias,
      [&](const Tensor& o, const Tensor& a, const Tensor& b, OptTensor c) { run_forward(o, a, b, c, w); });
}

Tensor adjoint_into(const Tensor& out, const Tensor& gradient, const Tensor& weight, OptTensor bias,
                    const Windows& w) {
  return product(
      out, gradient, weight, bias,
      [&](const Tensor& o, const Tensor& a, const Tensor& b, OptTensor c) { run_adjoint(o, a, b, c, w); });
}

Tensor _convolve(const ConvolveArgs& a) {
  const auto& [input, weight, bias, output_size, stride, padding, dilation, groups] = a;
  check_sizes(input.sizes(), weight.sizes(), output_size, stride, padding, dilation, groups);
  check_types(input, weight, bias);
  check_bias(bias, weight.size(0));
  const Windows w = windows(stride, padding, dilation, groups, weight.dim() - 2);
  return forward_into(result_like({}, output_size, input, weight), input, weight, bias, w);
}

Tensor _convolve_input(const ConvolveInputArgs& a) {
  const auto& [grad_output, weight, bias, input_size, stride, padding, dilation, groups] = a;
  check_sizes(input_size, weight.sizes(), grad_output.sizes(), stride, padding, dilation, groups);
  check_types(grad_output, weight, bias);
  check_bias(bias, input_size[1]);
  const Windows w = windows(stride, padding, dilation, groups, weight.dim() - 2);
  return adjoint_into(result_like({}, input_size, grad_output, weight), grad_output, weight, bias, w);
}

Tensor _convolve_weight(const Tensor& grad_output, const Tensor& input, IntSpan weight_size, IntSpan stride,
                        IntSpan padding, IntSpan dilation, int64_t groups) {
  check_sizes(input.sizes(), weight_size, grad_output.sizes(), stride, padding, dilation, groups);
  check_types(grad_output, input, nullptr);
  const Windows w = windows(stride, padding, dilation, groups, input.dim() - 2);
  const Tensor out = result_like({}, weight_size, input, grad_output);
  if (!out.is_meta() && grad_output.numel() == 0) {
    fill_elements(out, Scalar(0));
    return out;
  }
  if (!is_half(out.dtype()))
    return product(
        out, grad_output, input, nullptr,
        [&](const Tensor& o, const Tensor& a, const Tensor& b, OptTensor) { run_weight(o, a, b, w); });
  const Tensor wide = _convolve_weight(to_dtype(grad_output, DType::Float32), to_dtype(input, DType::Float32),
                                       weight_size, stride, padding, dilation, groups);
  return to_dtype(wide, out.dtype());
}

Tensor convolution(const ConvolutionArgs& a, Out out) {
  const auto& [input, weight, bias, stride, padding, dilation, transposed, output_padding, groups] = a;
  const int64_t axes = weight.dim() - 2;
  TL_CHECK(axes >= 1 && axes <= cpu::kConvolutionAxes, Runtime,
           "weight should have at least three dimensions and at most five, but got weight of size ",
           weight.sizes());
  check_dims(input, weight);
  const Windows w = windows(stride, padding, dilation, groups, axes);
  const DimVector extra = for_each_axis("output_padding", output_padding, axes);
  check_windows(w, extra);
  check_types(input, weight, bias);
  check_channels(input, weight, bias, w, transposed);
  check_kernel(weight);
  const DimVector size =
      transposed ? transposed_size(input, weight, w, extra) : forward_size(input.sizes(), weight.sizes(), w);
  TL_CHECK(input.numel() > 0 || input.size(0) == 0 || input.size(1) == 0, Runtime,
           "Only zero batch or zero channel inputs are supported, but got input shape: ", input.sizes());
  const Tensor result = result_like(out, size, input, weight);
  return transposed ? adjoint_into(result, input, weight, bias, w)
                    : forward_into(result, input, weight, bias, w);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const ConvolutionBackwardArgs& a) {
  const auto& [grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
               groups, mask] = a;
  TL_CHECK(mask.size() == 3, Runtime, "convolution_backward: output_mask must hold 3 values, got ",
           mask.size());
  Tensor of_input, of_weight, of_bias;
  if (mask[0])
    of_input = transposed ? ops::_convolve(grad_output, weight, nullptr, input.sizes(), stride, padding,
                                           dilation, groups)
                          : ops::_convolve_input(grad_output, weight, nullptr, input.sizes(), stride, padding,
                                                 dilation, groups);
  if (mask[1])
    of_weight = ops::_convolve_weight(transposed ? input : grad_output, transposed ? grad_output : input,
                                      weight.sizes(), stride, padding, dilation, groups);
  DimVector dims{0};
  for (int64_t d = 2; d < grad_output.dim(); ++d) dims.push_back(d);
  if (mask[2]) of_bias = ops::sum_dim_IntList(grad_output, dims, false);
  return {of_input, of_weight, of_bias};
}

// ---- the forms for one, two and three axes, with or without a batch ---------------------------------------

// Calls `run` with a batch.
template <class Run>
Tensor batched(const char* name, int64_t axes, const Tensor& input, Run run) {
  TL_CHECK(input.dim() == axes + 1 || input.dim() == axes + 2, Runtime, "Expected ", axes + 1,
           "D (unbatched) or ", axes + 2, "D (batched) input to ", name,
           ", but got input of size: ", input.sizes());
  if (input.dim() == axes + 2) return run(input);
  return ops::squeeze_dim(run(ops::unsqueeze(input, 0)), 0);
}

constexpr const char* kForward[] = {"", "conv1d", "conv2d", "conv3d"};
constexpr const char* kTransposed[] = {"", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};

template <int axes>
Tensor conv(const Tensor& input, const Tensor& weight, OptTensor bias, IntSpan stride, IntSpan padding,
            IntSpan dilation, int64_t groups) {
  return batched(kForward[axes], axes, input, [&](const Tensor& x) {
    return ops::convolution(x, weight, bias, stride, padding, dilation, false, DimVector{0}, groups);
  });
}

template <int axes, class Args>
Tensor conv_transpose(const Args& a) {
  return batched(kTransposed[axes], axes, a.input, [&](const Tensor& x) {
    return ops::convolution(x, a.weight, a.bias, a.stride, a.padding, a.dilation, true, a.output_padding,
                            a.groups);
  });
}

// Where the total is odd there is one more element behind than before, which the result's size alone says.
Tensor conv_same(const Tensor& input, const Tensor& weight, OptTensor bias, const Windows& w) {
  Windows padded = w;
  for (int64_t d = 0; d < w.axes(); ++d)
    padded.padding[static_cast<size_t>(d)] = reach(w, weight.sizes(), static_cast<size_t>(d)) / 2;
  check_windows(padded, {});
  check_types(input, weight, bias);
  check_channels(input, weight, bias, w, false);
  check_kernel(weight);
  DimVector size(input.sizes());
  size[1] = weight.size(0);
  return ops::_convolve(input, weight, bias, size, padded.stride, padded.padding, padded.dilation, w.groups);
}

template <int axes>
Tensor conv_padding(const Tensor& input, const Tensor& weight, OptTensor bias, IntSpan stride,
                    std::string_view padding, IntSpan dilation, int64_t groups) {
  TL_CHECK(padding == "same" || padding == "valid", Runtime, "Invalid padding string: '", padding, "'");
  return batched(kForward[axes], axes, input, [&](const Tensor& x) {
    if (padding == "valid")
      return ops::convolution(x, weight, bias, stride, DimVector{0}, dilation, false, DimVector{0}, groups);
    TL_CHECK(std::ranges::all_of(stride, [](int64_t s) { return s == 1; }), Runtime,
             "padding='same' is not supported for strided convolutions");
    check_dims(x, weight);
    return conv_same(x, weight, bias, windows(stride, DimVector{0}, dilation, groups, axes));
  });
}

}  // namespace

TL_KERNEL(convolution, convolution)
TL_KERNEL(convolution_backward, convolution_backward)
TL_KERNEL(_convolve, _convolve)
TL_KERNEL(_convolve_input, _convolve_input)
TL_KERNEL(_convolve_weight, _convolve_weight)
TL_KERNEL(conv1d, conv<1>)
TL_KERNEL(conv2d, conv<2>)
TL_KERNEL(conv3d, conv<3>)
TL_KERNEL(conv1d_padding, conv_padding<1>)
TL_KERNEL(conv2d_padding, conv_padding<2>)
TL_KERNEL(conv3d_padding, conv_padding<3>)
TL_KERNEL(conv_transpose1d, (conv_transpose<1, ConvTranspose1dArgs>))
TL_KERNEL(conv_transpose2d_input, (conv_transpose<2, ConvTranspose2dInputArgs>))
TL_KERNEL(conv_transpose3d_input, (conv_transpose<3, ConvTranspose3dInputArgs>))

}  // namespace tl
