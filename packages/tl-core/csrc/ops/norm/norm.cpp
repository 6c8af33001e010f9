// Layer, group, instance, RMS and batch normalization: checks, forward, backward and double backward (a
// projection).
#include "kernels/cpu/norm/norm.h"

#include <limits>

#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Three = std::tuple<Tensor, Tensor, Tensor>;

// ---- checks -----------------------------------------------------------------------------------------------

void check_norm_type(const char* kernel, const Tensor& t) {
  TL_CHECK(is_floating(t.dtype()), NotImplemented, "\"", kernel, "\" not implemented for '",
           scalar_type_name(t.dtype()), "'");
}

// Parameters have the input's type, or float's beside halves.
void check_parameter_type(const Tensor& input, OptTensor t) {
  if (!t || t->dtype() == input.dtype()) return;
  TL_CHECK(t->dtype() == DType::Float32 || input.dtype() != DType::Float64, Runtime,
           "mixed dtype (CPU): all inputs must share same datatype.");
  TL_CHECK(t->dtype() == DType::Float32, Runtime,
           "mixed dtype (CPU): expect parameter to have scalar type of Float, got ",
           scalar_type_name(t->dtype()));
  TL_CHECK(is_half(input.dtype()), Runtime, "mixed dtype (CPU): all inputs must share same datatype.");
}

// What the kernel reads of an optional tensor: dense, in the type of the statistics.
class Parameter {
 public:
  Parameter(OptTensor t, DType dtype) {
    if (t) dense_ = to_contiguous(to_dtype(*t, opmath_type(dtype)));
  }
  const void* data() const { return dense_ ? dense_.data() : nullptr; }

 private:
  Tensor dense_;
};

// A gradient in the type of the statistics and of its parameter's shape.
Tensor gradient_for(bool wanted, OptTensor like, int64_t n, const Tensor& input) {
  if (!wanted) return {};
  const TensorOptions options{opmath_type(input.dtype()), input.device()};
  return like ? empty(like->sizes(), options) : empty(DimVector{n}, options);
}
void* data_of(const Tensor& t) { return t ? t.data() : nullptr; }
void clear(const Tensor& t) {
  if (t) fill_elements(t, Scalar(int64_t{0}));
}

void check_sample_sizes(const Tensor& input, int64_t N, int64_t C, int64_t S, int64_t groups) {
  TL_CHECK(groups > 0 && C % groups == 0 && checked_numel(DimVector{N, C, S}) == input.numel(), Runtime,
           "norm: an input of shape ", input.sizes(), " has not ", N, " samples of ", C, " channels of ", S,
           " elements in ", groups, " groups");
}

// ---- statistics of each sample ----------------------------------------------------------------------------

// Statistics by sample (layer, group, RMS norm); mean and rstd are kept in the opmath type for the
// derivative.
Three sample_norm(const SampleNormArgs& a) {
  const Tensor& input = a.input;
  const int64_t C = a.C;
  check_norm_type("norm", input);
  check_sample_sizes(input, a.N, C, a.S, a.groups);
  for (OptTensor t : {a.weight, a.bias})
    TL_CHECK(!t || (is_floating(t->dtype()) && t->numel() == C), Runtime, "norm: parameters must be ", C,
             " numbers, got ", t->sizes());
  const TensorOptions options{opmath_type(input.dtype()), input.device()};
  const Tensor output = empty(input.sizes(), {input.dtype(), input.device()});
  const Tensor mean = empty(DimVector{a.N, a.groups}, options),
               rstd = empty(DimVector{a.N, a.groups}, options);
  if (output.is_meta()) return {output, mean, rstd};
  const cpu::NormShape shape{a.N, a.groups, C / a.groups, a.S};
  if (shape.unit_size() == 0) {
    fill_elements(mean, Scalar(0.0));
    fill_elements(rstd, Scalar(std::numeric_limits<double>::quiet_NaN()));
    return {output, mean, rstd};
  }
  const Tensor x = to_contiguous(input);
  const Parameter w(a.weight, x.dtype()), b(a.bias, x.dtype());
  cpu::norm(x.dtype(), shape,
            {x.ptr<char>(), w.data(), b.data(), output.ptr<char>(), mean.data(), rstd.data(), nullptr, a.eps,
             a.centered, false});
  return {output, mean, rstd};
}

// What the backward passes have in common; `fixed` statistics do not depend on the input.
struct BackwardCall {
  const Tensor &grad, &input, &mean, &rstd;
  OptTensor weight, bias;
  bool centered, fixed;
  SampleNormBackwardArgs::GradMask want;
};

void check_backward(const cpu::NormShape& shape, const BackwardCall& a) {
  constexpr const char* op = "norm_backward";
  const DType type = opmath_type(a.input.dtype());
  expect_floating(op, a.input);
  expect_floating(op, a.grad);
  expect(op, "grad", a.grad, a.grad.dtype(), a.input.sizes());
  for (const Tensor* t : {&a.mean, &a.rstd})
    TL_CHECK(t->dtype() == type && t->numel() == shape.units(), Runtime, op, "(): statistics must be ",
             shape.units(), " numbers of type ", dtype_name(type), ", got ", t->sizes(), " of ",
             dtype_name(t->dtype()));
  for (OptTensor t : {a.weight, a.bias})
    TL_CHECK(!t || (is_floating(t->dtype()) && t->numel() == shape.weights()), Runtime, op,
             "(): parameters must be ", shape.weights(), " numbers, got ", t->sizes());
}

// A parameter's gradient has its type; it is added up in a wider one.
Tensor in_type_of(OptTensor parameter, const Tensor& grad) {
  return grad && parameter ? to_dtype(grad, parameter->dtype()) : grad;
}

Three run_backward(const cpu::NormShape& shape, const BackwardCall& a) {
  check_backward(shape, a);
  const Tensor& input = a.input;
  const Tensor grad_input = a.want.input ? empty(input.sizes(), {input.dtype(), input.device()}) : Tensor();
  const Tensor grad_weight = gradient_for(a.want.weight, a.weight, shape.weights(), input);
  const Tensor grad_bias = gradient_for(a.want.bias, a.bias, shape.weights(), input);
  const auto delivered = [&]() -> Three {
    return {grad_input, in_type_of(a.weight, grad_weight), in_type_of(a.bias ? a.bias : a.weight, grad_bias)};
  };
  if (input.is_meta()) return delivered();
  if (input.numel() == 0) {
    clear(grad_weight);
    clear(grad_bias);
    return delivered();
  }
  const Tensor x = to_contiguous(input), g = to_contiguous(to_dtype(a.grad, x.dtype()));
  const Parameter w(a.weight, x.dtype());
  const Tensor m = to_contiguous(a.mean), r = to_contiguous(a.rstd);
  cpu::norm_backward(x.dtype(), shape,
                     {g.ptr<char>(), x.ptr<char>(), m.data(), r.data(), w.data(),
                      grad_input ? grad_input.ptr<char>() : nullptr, data_of(grad_weight), data_of(grad_bias),
                      a.centered, a.fixed});
  return delivered();
}

Three sample_norm_backward(const SampleNormBackwardArgs& a) {
  check_sample_sizes(a.input, a.N, a.C, a.S, a.groups);
  return run_backward({a.N, a.groups, a.C / a.groups, a.S},
                      {a.grad, a.input, a.mean, a.rstd, a.weight, a.bias, a.centered, false, a.want});
}

// ---- statistics of a batch --------------------------------------------------------------------------------

// Elements (N, C, S), or rows of channels where the channels are neighbours in memory.
struct BatchGeometry {
  bool channels_last;
  cpu::NormShape shape;

  explicit BatchGeometry(const Tensor& t) {
    const int64_t C = t.size(1), rest = C ? t.numel() / C : 0, N = t.size(0);
    channels_last = t.dim() >= 4 && !t.is_contiguous() && is_channels_last(t.sizes(), t.strides());
    if (channels_last || rest == N)
      shape = {rest, C, 1, 1, true};
    else
      shape = {N, C, 1, N ? rest / N : 0, true};
  }
  MemoryFormat format(const Tensor& t) const {
    if (!channels_last) return MemoryFormat::Contiguous;
    return t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  }
  // A tensor of this layout.
  Tensor fresh(const Tensor& like) const {
    const TensorOptions options{like.dtype(), like.device()};
    return empty_strided(like.sizes(), strides_for(like.sizes(), format(like)), options);
  }
  Tensor laid_out(const Tensor& t) const {
    if (!channels_last) return to_contiguous(t);
    if (is_channels_last(t.sizes(), t.strides())) return t;
    const Tensor out = fresh(t);
    copy_elements(out, t);
    return out;
  }
};

void check_channels(const char* name, OptTensor t, int64_t channels) {
  TL_CHECK(!t || t->numel() == channels, Runtime, name, " should contain ", channels, " elements not ",
           t->numel());
}

void check_batch(const Tensor& input, OptTensor weight, OptTensor bias, OptTensor mean, OptTensor var,
                 bool training) {
  TL_CHECK(input.dim() >= 2, Index,
           "Dimension out of range (expected to be in range of [-1, 0], but got 1): batch_norm "
           "needs an input of at least 2 dimensions, got ",
           input.dim());
  TL_CHECK(training || mean, Runtime, "running_mean must be defined in evaluation mode");
  TL_CHECK(training || var, Runtime, "running_var must be defined in evaluation mode");
  check_channels("running_mean", mean, input.size(1));
  check_channels("running_var", var, input.size(1));
  check_channels("weight", weight, input.size(1));
  check_channels("bias", bias, input.size(1));
  check_norm_type("batch_norm", input);
  for (OptTensor t : {weight, bias, mean, var}) check_parameter_type(input, t);
}

// running = (1 - momentum) running + momentum * value * factor.
void update_running(OptTensor running, const Tensor& value, double momentum, double factor) {
  if (!running) return;
  copy_elements(*running, ops::add(ops::mul(to_dtype(*running, value.dtype()), Scalar(1 - momentum)),
                                   ops::mul(value, Scalar(momentum * factor))));
  bump_version(*running->impl());
}

// Statistics of the batch in training, whose running averages are updated with the unbiased variance; the
// given ones in evaluation.
Three batch_norm_core(const BatchNormCoreArgs& a) {
  const Tensor& input = a.input;
  check_batch(input, a.weight, a.bias, a.running_mean, a.running_var, a.training);
  const BatchGeometry geometry(input);
  const DType type = opmath_type(input.dtype());
  const TensorOptions options{type, input.device()};
  const DimVector channels{input.size(1)};
  const Tensor output = geometry.fresh(input);
  if (input.is_meta()) return {output, empty(channels, options), empty(channels, options)};
  Tensor mean, rstd, variance;
  if (a.training) {
    mean = empty(channels, options), rstd = empty(channels, options), variance = empty(channels, options);
  } else {
    mean = ops::clone(to_dtype(*a.running_mean, type));
    rstd = ops::rsqrt(ops::add(to_dtype(*a.running_var, type), Scalar(a.eps)));
  }
  if (input.numel() == 0) {
    if (a.training)
      fill_elements(mean, Scalar(0.0)), fill_elements(rstd, Scalar(std::numeric_limits<double>::quiet_NaN()));
    return {output, mean, rstd};
  }
  const Tensor x = geometry.laid_out(input);
  const Parameter w(a.weight, x.dtype()), b(a.bias, x.dtype());
  cpu::norm(x.dtype(), geometry.shape,
            {x.ptr<char>(), w.data(), b.data(), output.ptr<char>(), mean.data(), rstd.data(),
             data_of(variance), a.eps, true, !a.training});
  if (a.training) {
    const auto n = static_cast<double>(geometry.shape.unit_size());
    update_running(a.running_mean, mean, a.momentum, 1);
    update_running(a.running_var, variance, a.momentum, n / (n - 1));
  }
  return {output, mean, rstd};
}

Three batch_norm_backward(const BatchNormBackwardArgs& a) {
  const Tensor& input = a.input;
  TL_CHECK(input.dim() >= 2, Runtime, "norm_backward(): the input must have at least 2 dimensions, got ",
           input.dim());
  expect("norm_backward", "grad", a.grad, a.grad.dtype(), input.sizes());
  const BatchGeometry geometry(input);
  const auto run = [&](const Tensor& grad, const Tensor& x) {
    return run_backward(geometry.shape, {grad,
                                         x,
                                         a.mean,
                                         a.rstd,
                                         a.weight,
                                         nullptr,
                                         true,
                                         !a.training,
                                         {a.want.input, a.want.weight, a.want.bias}});
  };
  if (!geometry.channels_last) return run(a.grad, input);
  // As a matrix of rows of channels.
  const DimVector matrix{geometry.shape.samples, geometry.shape.groups};
  const auto rows = [&](const Tensor& t) {
    return view_of(t, matrix, contiguous_strides(matrix), t.offset());
  };
  const Tensor x = geometry.laid_out(input);
  auto [grad_input, grad_weight, grad_bias] =
      run(rows(geometry.laid_out(to_dtype(a.grad, x.dtype()))), rows(x));
  if (grad_input)
    grad_input = view_of(grad_input, input.sizes(), strides_for(input.sizes(), geometry.format(input)), 0);
  return {alias(grad_input), grad_weight, grad_bias};
}

// ---- double backward --------------------------------------------------------------------------------------
//
// y = w xn + b with xn = r (x - mean(x)) and r = (var(x) + eps)^(-1/2); means are over the n normalized
// elements. Differentiating r and the mean gives dxn = r P(dx) with
//   P(t) = t - mean(t) - xn mean(t xn),
// which (but for eps) projects orthogonally to the constants and to xn. P is symmetric, so the backward pass
// is
//   grad_x = r P(h), h = w g;  grad_w = sum(g xn);  grad_b = sum(g).
// Let u, v, c be the gradients of these three (the last named `b` below). As P is symmetric,
//   of g: w r P(u) + v xn + c;  of w: sum(g r P(u)).
// x enters through xn and through r. With the other held fixed,
//   of xn: v g - r (mean(u xn) h + mean(h xn) u);
//   of r: n s, where s = mean(u P(h)) = mean(u h) - mean(u) mean(h) - mean(u xn) mean(h xn).
// As dr/dx = -r^2 xn / n, the gradient of x is r P(that of xn) - r^2 xn s. RMS norm has no mean(t) terms;
// with fixed statistics P is the identity and r does not depend on x.

// P above.
struct Projection {
  const Tensor& x;
  IntSpan dims;
  bool centered;

  Tensor mean(const Tensor& v) const { return ops::mean_dim(v, std::optional<IntSpan>(dims), true); }
  Tensor operator()(const Tensor& v) const {
    const Tensor rest = ops::sub(v, ops::mul(x, mean(ops::mul(v, x))));
    return centered ? ops::sub(rest, mean(v)) : rest;
  }
};

struct NormalizedInput {
  Tensor values, rstd;
};

NormalizedInput normalized(const NormDoubleBackwardArgs& a, const Tensor& x) {
  const std::optional<IntSpan> dims(a.dims);
  const Tensor mean = a.mean ? ops::reshape(*a.mean, a.weight_sizes) : ops::mean_dim(x, dims, true);
  const Tensor deviation = a.centered ? ops::sub(x, mean) : x;
  const Tensor rstd =
      a.rstd ? ops::reshape(*a.rstd, a.weight_sizes)
             : ops::rsqrt(ops::add(ops::mean_dim(ops::mul(deviation, deviation), dims, true), Scalar(a.eps)));
  return {ops::mul(deviation, rstd), rstd};
}

Tensor plus(const Tensor& a, const Tensor& b) { return a ? b ? ops::add(a, b) : a : b; }

// The gradient of x: `grad_xn` is the part of that of xn which does not come from u.
Tensor grad_of_input(const Tensor& u, const Tensor& h, const NormalizedInput& n, const Projection& project,
                     const Tensor& grad_xn) {
  const Tensor un = project.mean(ops::mul(u, n.values)), hn = project.mean(ops::mul(h, n.values));
  const Tensor mixed = ops::add(ops::mul(un, h), ops::mul(hn, u));
  const Tensor of_xn = plus(grad_xn, ops::neg(ops::mul(n.rstd, mixed)));
  Tensor s = ops::sub(project.mean(ops::mul(u, h)), ops::mul(un, hn));
  if (project.centered) s = ops::sub(s, ops::mul(project.mean(u), project.mean(h)));
  const Tensor of_rstd = ops::mul(n.values, ops::mul(ops::mul(n.rstd, n.rstd), s));
  return ops::sub(ops::mul(n.rstd, project(of_xn)), of_rstd);
}

void check_double_backward(const NormDoubleBackwardArgs& a) {
  TL_CHECK((a.mean != nullptr) == (a.rstd != nullptr), Runtime,
           "norm_double_backward(): arguments 'fixed_mean' and 'fixed_rstd' must be given together");
  TL_CHECK(is_floating(a.input.dtype()) && is_floating(a.grad.dtype()), NotImplemented,
           "norm_double_backward() is not implemented for ", dtype_name(a.input.dtype()), " and ",
           dtype_name(a.grad.dtype()));
}

// With xhat the normalized input and P the projection orthogonal to 1 and xhat: dx = rstd P(w g). For
// grad_input_grad u: d/dg = w rstd P(u), d/dw = sum g rstd P(u), and d/dx as grad_of_input() derives it; the
// statistics are constants in evaluation.
Three norm_double_backward(const NormDoubleBackwardArgs& a) {
  check_double_backward(a);
  const auto shaped = [](OptTensor t, IntSpan s) { return t ? ops::reshape(*t, s) : Tensor(); };
  const auto like = [](const Tensor& t, const Tensor& model) {
    return t ? ops::to_dtype(ops::reshape(t, model.sizes()), model.dtype()) : t;
  };
  const DType type = opmath_type(a.input.dtype());
  const Tensor x = ops::to_dtype(ops::reshape(a.input, a.sizes), type),
               grad = ops::to_dtype(ops::reshape(a.grad, a.sizes), type);
  const Tensor u = a.grad_input_grad ? ops::to_dtype(shaped(a.grad_input_grad, a.sizes), type) : Tensor(),
               v = shaped(a.grad_weight_grad, a.weight_sizes), b = shaped(a.grad_bias_grad, a.weight_sizes);
  const Tensor weight = shaped(a.weight, a.weight_sizes);
  const bool fixed = a.mean;
  const NormalizedInput n = normalized(a, x);
  const Projection project{n.values, a.dims, a.centered};
  const auto pull = [&](const Tensor& t) { return ops::mul(n.rstd, fixed ? t : project(t)); };
  Tensor grad_grad, grad_xn, grad_x, grad_weight;
  if (v) grad_grad = ops::mul(n.values, v), grad_xn = ops::mul(grad, v);
  if (b) grad_grad = plus(grad_grad, ops::expand(b, x.sizes()));
  if (u) {
    const Tensor pulled = pull(u), h = weight ? ops::mul(grad, weight) : grad;
    grad_grad = plus(grad_grad, weight ? ops::mul(pulled, weight) : pulled);
    if (weight) grad_weight = ops::mul(pulled, grad);
    if (!fixed) grad_x = grad_of_input(u, h, n, project, grad_xn);
  }
  if (grad_xn && (!u || fixed)) grad_x = pull(grad_xn);
  if (grad_weight)
    grad_weight = ops::reshape(ops::sum_to_size(grad_weight, a.weight_sizes), a.weight->sizes());
  return {like(grad_grad, a.grad), like(grad_x, a.input), grad_weight};
}

// ---- what programs call -----------------------------------------------------------------------------------

// How many samples of how many elements a shape of trailing dimensions makes.
std::pair<int64_t, int64_t> check_normalized(const Tensor& input, IntSpan shape, OptTensor weight,
                                             OptTensor bias) {
  TL_CHECK(!shape.empty(), Runtime,
           "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
           "but got "
           "normalized_shape = []");
  for (const auto& [name, t] : {std::pair("weight", weight), std::pair("bias", bias)})
    TL_CHECK(!t || std::ranges::equal(t->sizes(), shape), Runtime, "Expected ", name,
             " to be of same shape as normalized_shape, but got ", name, " of shape ", t->sizes(),
             " and normalized_shape = ", shape);
  const auto lead = input.dim() - static_cast<int64_t>(shape.size());
  if (lead < 0 || !std::ranges::equal(input.sizes().subspan(static_cast<size_t>(lead)), shape)) {
    std::string wanted = "[*";
    for (int64_t s : shape) wanted += cat(", ", s);
    fail(ErrorKind::Runtime, "Given normalized_shape=", shape, ", expected input with shape ", wanted,
         "], but got input of size", input.sizes());
  }
  return {checked_numel(input.sizes().first(static_cast<size_t>(lead))), checked_numel(shape)};
}

Three layer_norm_with_statistics(const Tensor& input, IntSpan normalized_shape, OptTensor weight,
                                 OptTensor bias, double eps) {
  const auto [rows, n] = check_normalized(input, normalized_shape, weight, bias);
  check_norm_type("LayerNormKernelImpl", input);
  check_parameter_type(input, weight);
  check_parameter_type(input, bias);
  return ops::_sample_norm(input, weight, bias, rows, n, 1, 1, eps, true);
}

Tensor layer_norm(const Tensor& input, IntSpan normalized_shape, OptTensor weight, OptTensor bias, double eps,
                  bool) {
  return std::get<0>(layer_norm_with_statistics(input, normalized_shape, weight, bias, eps));
}

// The type in which PyTorch returns statistics.
DType shown_type(const Tensor& input, OptTensor a, OptTensor b) {
  const OptTensor parameter = a ? a : b;
  return parameter ? parameter->dtype() : input.dtype();
}

// Results as they are, or copied into tensors of the caller.
Three delivered(const Three& results, Out a, Out b, Out c) {
  const auto one = [](const Tensor& t, Out out) {
    if (!out) return t;
    check_castable(t.dtype(), *out);
    return ops::copy_(prepare_out(out, t.sizes(), {out.tensor->dtype(), t.device()}), t);
  };
  return {one(std::get<0>(results), a), one(std::get<1>(results), b), one(std::get<2>(results), c)};
}

Three native_layer_norm(const Tensor& input, IntSpan normalized_shape, OptTensor weight, OptTensor bias,
                        double eps, Out out, Out out_mean, Out out_rstd) {
  auto [output, mean, rstd] = layer_norm_with_statistics(input, normalized_shape, weight, bias, eps);
  DimVector shape(input.sizes());
  for (size_t i = shape.size() - normalized_shape.size(); i < shape.size(); ++i) shape[i] = 1;
  const DType type = shown_type(input, weight, bias);
  const auto shown = [&](const Tensor& t) {
    return ops::detach(ops::to_dtype(ops::reshape(t, shape), type));
  };
  return delivered({output, shown(mean), shown(rstd)}, out, out_mean, out_rstd);
}

double epsilon(DType d) {
  switch (d) {
    case DType::Float64:
      return std::numeric_limits<double>::epsilon();
    case DType::BFloat16:
      return 0x1p-7;
    case DType::Float16:
      return 0x1p-10;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

Tensor rms_norm_of_complex(const Tensor& x, IntSpan shape, OptTensor weight, double eps) {
  DimVector dims;
  for (size_t i = 0; i < shape.size(); ++i) dims.push_back(-1 - static_cast<int64_t>(i));
  const Tensor square = ops::mean_dim(ops::mul(x, x), std::optional<IntSpan>(dims), true);
  const Tensor normal = ops::mul(x, ops::rsqrt(ops::add(square, Scalar(eps))));
  return weight ? ops::mul(normal, *weight) : normal;
}

Tensor rms_norm(const Tensor& input, IntSpan normalized_shape, OptTensor weight, std::optional<double> eps) {
  const auto [rows, n] = check_normalized(input, normalized_shape, weight, nullptr);
  TL_CHECK(!is_integral(input.dtype(), true), NotImplemented, "\"rms_norm\" not implemented for '",
           scalar_type_name(input.dtype()), "'");
  if (is_complex(input.dtype())) {
    const double e = eps ? *eps : epsilon(to_real(input.dtype()));
    return rms_norm_of_complex(input, normalized_shape, weight, e);
  }
  const double e = eps ? *eps : epsilon(opmath_type(input.dtype()));
  const bool fits = !weight || weight->dtype() == input.dtype() || is_half(input.dtype());
  const auto [output, mean, rstd] =
      ops::_sample_norm(input, fits ? weight : nullptr, nullptr, rows, n, 1, 1, e, false);
  return fits ? output : ops::to_dtype(ops::mul(output, *weight), input.dtype());
}

Three group_norm_with_statistics(const Tensor& input, OptTensor weight, OptTensor bias, int64_t N, int64_t C,
                                 int64_t S, int64_t groups, double eps) {
  TL_CHECK(groups > 0, Runtime, "Expected num groups to be greater than 0, got ", groups);
  TL_CHECK(C % groups == 0, Runtime,
           "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
           input.sizes(), " and num_groups=", groups);
  for (const auto& [name, t] : {std::pair("weight", weight), std::pair("bias", bias)})
    TL_CHECK(!t || (t->dim() == 1 && t->numel() == C), Runtime, "Expected ", name,
             " to be a vector of size equal to the number of channels in input, but got ", name, " of shape ",
             t->sizes(), " and input of shape ", input.sizes());
  check_norm_type("GroupNormKernelImpl", input);
  check_parameter_type(input, weight);
  check_parameter_type(input, bias);
  return ops::_sample_norm(input, weight, bias, N, C, S, groups, eps, true);
}

// channels_last inputs give channels_last results.
Tensor in_format_of(const Tensor& result, const Tensor& input) {
  const MemoryFormat format = preferred_format(input);
  return format == MemoryFormat::Contiguous ? result : ops::contiguous(result, format);
}

Tensor group_norm(const Tensor& input, int64_t groups, OptTensor weight, OptTensor bias, double eps, bool) {
  TL_CHECK(input.dim() >= 2, Runtime, "Expected at least 2 dimensions for input tensor but received ",
           input.dim());
  const int64_t N = input.size(0), C = input.size(1);
  const int64_t S = checked_numel(input.sizes().subspan(2));
  return in_format_of(std::get<0>(group_norm_with_statistics(input, weight, bias, N, C, S, groups, eps)),
                      input);
}

Three native_group_norm(const NativeGroupNormArgs& a, Out out, Out out_mean, Out out_rstd) {
  const Tensor& input = a.input;
  TL_CHECK(checked_numel(DimVector{a.N, a.C, a.HxW}) == input.numel(), Runtime,
           "Expected X.numel() == N * C * HxW, got an "
           "input of shape ",
           input.sizes(), " and ", a.N, ", ", a.C, ", ", a.HxW);
  auto [output, mean, rstd] =
      group_norm_with_statistics(input, a.weight, a.bias, a.N, a.C, a.HxW, a.group, a.eps);
  const DType type = shown_type(input, a.weight, a.bias);
  if (!out && grad_enabled() && input.numel() > 0) {  // the statistics are differentiable
    const Tensor x = ops::reshape(input, DimVector{a.N, a.group, -1});
    const DimVector last{2};
    mean = ops::mean_dim(x, std::optional<IntSpan>(last), false);
    const Tensor variance = ops::var_correction(x, std::optional<IntSpan>(last), Scalar(int64_t{0}), false);
    rstd = ops::rsqrt(ops::add(variance, Scalar(a.eps)));
  }
  return delivered({in_format_of(output, input), ops::to_dtype(mean, type), ops::to_dtype(rstd, type)}, out,
                   out_mean, out_rstd);
}

// An input without elements may have other channels than the parameters, which then have a gradient of zeros.
bool has_other_channels(const BatchNormArgs& a) {
  const auto differs = [&](OptTensor t) { return t && t->numel() != a.input.size(1); };
  return a.input.dim() == 1 || differs(a.weight) || differs(a.bias) || differs(a.running_mean) ||
         differs(a.running_var);
}
Tensor norm_of_nothing(const BatchNormArgs& a) {
  Tensor out = ops::clone(a.input);
  if (a.weight) out = ops::mul(out, ops::select_int(*a.weight, 0, 0));
  return a.bias ? ops::add(out, ops::select_int(*a.bias, 0, 0)) : out;
}

Tensor batch_norm(const BatchNormArgs& a) {
  if (a.input.numel() == 0 && a.input.dim() > 0 && has_other_channels(a)) return norm_of_nothing(a);
  return std::get<0>(ops::_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, a.training,
                                      a.momentum, a.eps));
}

Three native_batch_norm(const NativeBatchNormArgs& a, Out out, Out out_mean, Out out_rstd) {
  auto [output, mean, rstd] = ops::_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var,
                                               a.training, a.momentum, a.eps);
  const OptTensor statistic = a.running_mean ? a.running_mean : a.running_var;
  const DType type = shown_type(a.input, a.weight ? a.weight : a.bias, statistic);
  const auto shown = [&](const Tensor& t) {
    return a.training ? ops::detach(ops::to_dtype(t, type)) : empty(DimVector{0}, {type, a.input.device()});
  };
  return delivered({output, shown(mean), shown(rstd)}, out, out_mean, out_rstd);
}

// Each channel of each sample is one of N C channels of a single sample.
Tensor instance_norm(const InstanceNormArgs& a) {
  const auto& [input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn] = a;
  TL_CHECK(use_input_stats || (running_mean && running_var), Runtime,
           "Expected running_mean and running_var to be defined when use_input_stats is false");
  TL_CHECK(input.dim() >= 2, Runtime, "Expected at least 2 dimensions for input tensor but received ",
           input.dim());
  if (!use_input_stats)
    return batch_norm({input, weight, bias, running_mean, running_var, false, momentum, eps, cudnn});
  const int64_t N = input.size(0), C = input.size(1);
  const int64_t S = checked_numel(input.sizes().subspan(2));
  check_batch(input, weight, bias, running_mean, running_var, true);
  if (!running_mean && !running_var) {
    const int64_t groups = std::max<int64_t>(C, 1);
    return in_format_of(std::get<0>(ops::_sample_norm(input, weight, bias, N, C, S, groups, eps, true)),
                        input);
  }
  const auto repeated = [&](OptTensor t) {
    return t ? ops::reshape(ops::clone(ops::expand(*t, DimVector{N, C})), DimVector{N * C}) : Tensor();
  };
  const auto optional = [](const Tensor& t) { return t ? &t : nullptr; };
  const Tensor w = repeated(weight), b = repeated(bias), mean = repeated(running_mean),
               var = repeated(running_var);
  const Tensor result = ops::reshape(
      std::get<0>(ops::_batch_norm(ops::reshape(input, DimVector{1, N * C, S}), optional(w), optional(b),
                                   optional(mean), optional(var), true, momentum, eps)),
      input.sizes());
  const NoGradGuard no_grad;
  for (const auto& [running, value] : {std::pair(running_mean, mean), std::pair(running_var, var)})
    if (running)
      ops::copy_(
          ops::view(*running, running->sizes()),
          ops::mean_dim(ops::view(value, DimVector{N, C}), std::optional<IntSpan>(DimVector{0}), false));
  return in_format_of(result, input);
}
}  // namespace

TL_KERNEL(_sample_norm, sample_norm)
TL_KERNEL(_sample_norm_backward, sample_norm_backward)
TL_KERNEL(_batch_norm, batch_norm_core)
TL_KERNEL(_batch_norm_backward, batch_norm_backward)
TL_KERNEL(_norm_double_backward, norm_double_backward)
TL_KERNEL(layer_norm, layer_norm)
TL_KERNEL(native_layer_norm, native_layer_norm)
TL_KERNEL(rms_norm, rms_norm)
TL_KERNEL(group_norm, group_norm)
TL_KERNEL(native_group_norm, native_group_norm)
TL_KERNEL(batch_norm, batch_norm)
TL_KERNEL(native_batch_norm, native_batch_norm)
TL_KERNEL(instance_norm, instance_norm)

}  // namespace tl
