// Convolutions of bytes with weights of packed int8, to bytes or floats: checks, geometry and scales.
#include "base/checked.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/conv/int8_conv.h"
#include "ops.h"
#include "ops/gemm/int8_weight.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

// Lengths of the last axes, ones before them.
cpu::Axes axes(IntSpan lengths, int64_t rest) {
  cpu::Axes out{{rest, rest, rest}};
  const int first = 3 - static_cast<int>(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) out.n[first + static_cast<int>(i)] = lengths[i];
  return out;
}

void check_geometry(const Int8ConvolutionArgs& a) {
  const auto count = static_cast<int64_t>(a.kernel_size.size());
  TL_CHECK(count >= 1 && count <= 3, Runtime, "kernel_size must have one to three numbers, got ", count);
  TL_CHECK(a.input.dim() == count + 2, Runtime, "Expected ", count + 2,
           "-dimensional input for a kernel of size ", a.kernel_size, ", but got ", a.input.dim(),
           "-dimensional input of size ", a.input.sizes(), " instead");
  const auto check = [&](IntSpan numbers, const char* name, int64_t least) {
    TL_CHECK(static_cast<int64_t>(numbers.size()) == count, Runtime, "expected ", name, " to be a list of ",
             count, " values to match the convolution dimensions, but got ", name, "=", numbers);
    for (int64_t n : numbers)
      TL_CHECK(n >= least, Runtime, name, " must be at least ", least, " on each axis, got ", numbers);
  };
  check(a.kernel_size, "kernel_size", 1);
  check(a.stride, "stride", 1);
  check(a.padding, "padding", 0);
  check(a.dilation, "dilation", 1);
}

cpu::Axes output_size(const cpu::Int8Convolution& c) {
  cpu::Axes out;
  for (int i = 0; i < 3; ++i) {
    const int64_t padded = checked_add(c.size[i], checked_mul(2, c.padding[i]));
    const int64_t reach = checked_add(checked_mul(c.dilation[i], c.kernel[i] - 1), 1);
    TL_CHECK(padded >= reach, Runtime, "Calculated padded input size per channel: ", padded,
             ". Kernel size: ", reach, ". Kernel size can't be greater than actual input size");
    out.n[i] = (padded - reach) / c.stride[i] + 1;
  }
  return out;
}

cpu::Int8Convolution geometry(const Int8ConvolutionArgs& a) {
  check_geometry(a);
  const int64_t channels = a.input.size(1), columns = a.scales.numel();
  TL_CHECK(a.groups > 0 && channels % a.groups == 0 && columns % a.groups == 0, Runtime,
           "groups must divide the channels of input and of the result, got groups=", a.groups, " for ",
           channels, " and ", columns);
  cpu::Int8Convolution c{};
  c.batch = a.input.size(0);
  c.groups = a.groups;
  c.channels = channels / a.groups;
  c.columns = columns / a.groups;
  c.size = axes(a.input.sizes().subspan(2), 1);
  c.kernel = axes(a.kernel_size, 1);
  c.stride = axes(a.stride, 1);
  c.padding = axes(a.padding, 0);
  c.dilation = axes(a.dilation, 1);
  c.depthwise = a.packed.dim() == 2;
  c.output = output_size(c);
  return c;
}

void check_packed(const Int8ConvolutionArgs& a, const cpu::Int8Convolution& c) {
  const int64_t taps = c.kernel.product();
  TL_CHECK(!c.depthwise || (c.channels == 1 && c.columns == 1), Runtime,
           "packed must have four dimensions unless each group has one channel and one result, got ",
           c.channels, " and ", c.columns);
  const int64_t quads = taps * cpu::padded_channels(c.channels) / cpu::kQuad;
  const DimVector shape =
      c.depthwise ? DimVector{taps, c.groups}
                  : DimVector{c.groups, cpu::int8_panels(c.columns), quads, cpu::kPanelColumns * cpu::kQuad};
  TL_CHECK(a.packed.dtype() == DType::Int8 && a.packed.is_contiguous() &&
               std::ranges::equal(a.packed.sizes(), shape),
           Runtime, "packed must be a contiguous tensor of int8 with the shape ", IntSpan(shape), ", got ",
           scalar_type_name(a.packed.dtype()), " of shape ", a.packed.sizes());
}

// Channels become the last dimension, and the other way round.
DimVector channels_last(int64_t dims) {
  DimVector order{0};
  for (int64_t d = 2; d < dims; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}
DimVector channels_second(int64_t dims) {
  DimVector order{0, dims - 1};
  for (int64_t d = 1; d < dims - 1; ++d) order.push_back(d);
  return order;
}

Tensor new_result(const Int8ConvolutionArgs& a, const cpu::Int8Convolution& c, DType dtype) {
  DimVector sizes{c.batch};
  for (int i = 3 - static_cast<int>(a.kernel_size.size()); i < 3; ++i) sizes.push_back(c.output[i]);
  sizes.push_back(a.scales.numel());
  return empty(sizes, {dtype, a.input.device()});
}

// The result's channels lie together, as the kernel writes them, so the next convolution reads them where
// they lie.
Tensor convolution(const Int8ConvolutionArgs& a) {
  TL_CHECK(a.input.dtype() == DType::UInt8 || a.input.dtype() == DType::Int8, Runtime,
           "input must be of type Byte or Char, got ", scalar_type_name(a.input.dtype()));
  const bool is_signed = a.input.dtype() == DType::Int8;
  cpu::Int8Convolution c = geometry(a);
  const Int8Weight weight{a.packed,      a.column_sums, a.scales,
                          a.zero_points, a.bias,        c.depthwise ? 1 : a.groups};
  check_int8_weight(weight, a.input,
                    c.depthwise ? a.column_sums.numel() : c.groups * whole_panels(c.columns));
  check_packed(a, c);
  check_qparams("input_", a.input_scale, a.input_zero_point, is_signed);
  const Int8Result to{a.scale, a.zero_point, a.relu, is_signed};
  to.check();
  const Tensor result = new_result(a, c, to.dtype());
  const auto dims = a.input.dim();
  if (!result.is_meta() && result.numel()) {
    const Tensor x = ops::contiguous(ops::permute(a.input, channels_last(dims)));
    Int8Factors factors(weight);
    const cpu::Int8Epilogue epilogue = to.epilogue(result, weight.columns(), a.input_scale, factors);
    c.x = x.ptr<uint8_t>();
    c.flip = is_signed ? 128 : 0;
    c.x_zero = static_cast<int32_t>(a.input_zero_point) + c.flip;
    c.packed = a.packed.ptr<int8_t>();
    c.column_sums = a.column_sums.ptr<int32_t>();
    c.b_zero = factors.zero_points();
    cpu::convolve_int8(c, epilogue);
  }
  return ops::permute(result, channels_second(dims));
}

}  // namespace

TL_KERNEL(_int8_convolution, convolution)

}  // namespace tl
