// Operators that make tensors from sizes and numbers.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "dispatch/sparse.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernels/cpu/elementwise/fill.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/uninitialized_fill.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"
#include "tensor/sparse.h"

namespace tl {

namespace {
using OptFormat = std::optional<MemoryFormat>;

// The options of a strided tensor, whose dtype is `fallback` if none is given.
TensorOptions strided(const FactoryOptions& options, DType fallback) {
  TL_CHECK(!options.layout || *options.layout == Layout::Strided, NotImplemented,
           "Could not run 'aten::empty_strided' with arguments from the 'SparseCPU' backend: only "
           "layout=torch.strided can be created by this operator");
  return {options.dtype.value_or(fallback), settled(options.device.value_or(default_device()))};
}

FactoryOptions or_dtype(const FactoryOptions& options, DType fallback) {
  return {.dtype = options.dtype.value_or(fallback), .layout = options.layout, .device = options.device};
}

FactoryOptions or_like(const FactoryOptions& options, const Tensor& self) {
  return {.dtype = options.dtype.value_or(self.dtype()),
          .layout = options.layout,
          .device = options.device.value_or(self.device())};
}

Tensor fresh(IntSpan size, const FactoryOptions& options, DType fallback, Out out) {
  if (!out) return empty(size, strided(options, fallback));
  const auto& [dtype, layout, device, pin_memory] = options;
  TL_CHECK(!dtype || *dtype == out.tensor->dtype(), Runtime, "dtype of out (",
           dtype_name(out.tensor->dtype()), ") does not match the requested dtype ",
           dtype_name(dtype.value_or(DType::Bool)));
  TL_CHECK(!layout || *layout == out.tensor->layout(), Runtime, "layout of out (",
           layout_name(out.tensor->layout()), ") does not match the requested layout ",
           layout_name(layout.value_or(Layout::Strided)));
  return prepare_out(out, size, {out.tensor->dtype(), out.tensor->device()});
}

// An out of as many elements keeps its shape: the range is written in the order of its elements.
template <class F>
std::optional<Tensor> written_in_order(Out out, int64_t n, F range) {
  if (!out || out.tensor->dim() == 1 || out.tensor->numel() != n || out.tensor->is_meta())
    return std::nullopt;
  const Tensor flat = range(out.tensor->dtype());
  return ops::copy_(*out.tensor, ops::view(flat, out.tensor->sizes()));
}

bool is_sparse(std::optional<Layout> layout, Out out) { return layout && *layout != Layout::Strided && !out; }

Tensor empty_memory_format(IntSpan size, const FactoryOptions& options, OptFormat format, Out out) {
  if (is_sparse(options.layout, out))
    return call_sparse_rule<Tensor>("empty.memory_format", size, options.dtype, options.layout,
                                    options.device);
  const MemoryFormat f = format.value_or(MemoryFormat::Contiguous);
  if (out || f == MemoryFormat::Contiguous) return uninitialized(fresh(size, options, default_dtype(), out));
  TL_CHECK(f != MemoryFormat::Preserve, Runtime, "empty(): memory_format preserve_format is not supported");
  checked_numel(size);
  return uninitialized(empty_strided(size, strides_for(size, f), strided(options, default_dtype())));
}

Tensor zeros(IntSpan size, const FactoryOptions& options, Out out) {
  if (is_sparse(options.layout, out))
    return call_sparse_rule<Tensor>("zeros", size, options.dtype, options.layout, options.device);
  Tensor t = fresh(size, options, default_dtype(), out);
  if (t.device().is_cpu() && t.is_contiguous()) {
    if (t.numel()) std::memset(t.data(), 0, static_cast<size_t>(t.numel() * t.itemsize()));
  } else {
    fill(t, 0);
  }
  return t;
}

Tensor ones(IntSpan size, const FactoryOptions& options, Out out) {
  Tensor t = fresh(size, options, default_dtype(), out);
  fill(t, 1);
  return t;
}

// With a number of the program's, which must be in range.
Tensor filled(const Tensor& t, const Scalar& value) {
  value.check_fits(t.dtype());
  fill(t, value);
  return t;
}

Tensor full(IntSpan size, const Scalar& value, const FactoryOptions& options, Out out) {
  // Of single precision also where the default is half.
  const DType complex = default_dtype() == DType::Float64 ? DType::Complex128 : DType::Complex64;
  return filled(fresh(size, options, value.is_complex() ? complex : scalar_dtype(value), out), value);
}

Tensor empty_strided_form(IntSpan size, IntSpan stride, const FactoryOptions& options) {
  TL_CHECK(size.size() == stride.size(), Runtime, "empty_strided: dimensionality of sizes (", size.size(),
           ") must match dimensionality of strides (", stride.size(), ")");
  for (int64_t s : stride)
    TL_CHECK(s >= 0, Runtime, "empty_strided: strides must not be negative, got ", stride);
  return uninitialized(empty_strided(size, stride, strided(options, default_dtype())));
}

// The dimensions from the slowest in memory to the fastest.
Tensor empty_permuted(IntSpan size, IntSpan physical_layout, const FactoryOptions& options) {
  const int64_t n = static_cast<int64_t>(size.size());
  TL_CHECK(physical_layout.size() == size.size(), Runtime,
           "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ",
           n, " is not equal to len(physical_layout) = ", physical_layout.size());
  checked_numel(size);
  DimVector strides(size.size());
  uint64_t seen = 0;
  uint64_t step = 1;  // wraps only where the tensor is empty
  for (int64_t i = n - 1; i >= 0; --i) {
    const int64_t d = physical_layout[i];
    TL_CHECK(d >= 0 && d < n, Runtime, "Dimension out of range (expected to be between 0 and ", n - 1,
             ", but got ", d, " at index ", i, "). Negative dimensions are not supported here.");
    TL_CHECK(!(seen >> d & 1), Runtime, "Duplicate dim not allowed: physical_layout is ", physical_layout);
    seen |= uint64_t{1} << d;
    strides[d] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(std::max<int64_t>(size[d], 1));
  }
  return uninitialized(empty_strided(size, strides, strided(options, default_dtype())));
}

Tensor empty_like(const Tensor& self, const FactoryOptions& options, OptFormat format) {
  const MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  const DimVector strides = f == MemoryFormat::Preserve ? preserved_strides(self.sizes(), self.strides())
                                                        : strides_for(self.sizes(), f);
  return uninitialized(empty_strided(self.sizes(), strides, strided(or_like(options, self), self.dtype())));
}
Tensor zeros_like(const Tensor& self, const FactoryOptions& options, OptFormat format) {
  if (is_sparse(options.layout, {}))
    return call_sparse_rule<Tensor>("zeros_like", self, options.dtype, options.layout, options.device,
                                    options.pin_memory, format);
  Tensor t = empty_like(self, options, format);
  fill(t, 0);
  return t;
}
Tensor ones_like(const Tensor& self, const FactoryOptions& options, OptFormat format) {
  Tensor t = empty_like(self, options, format);
  fill(t, 1);
  return t;
}
Tensor full_like(const Tensor& self, const Scalar& value, const FactoryOptions& options, OptFormat format) {
  return filled(empty_like(self, options, format), value);
}

Tensor new_empty(const Tensor& self, IntSpan size, const FactoryOptions& options) {
  return empty(size, strided(or_like(options, self), self.dtype()));
}
Tensor new_zeros(const Tensor& self, IntSpan size, const FactoryOptions& options) {
  Tensor t = new_empty(self, size, options);
  fill(t, 0);
  return t;
}
Tensor new_ones(const Tensor& self, IntSpan size, const FactoryOptions& options) {
  Tensor t = new_empty(self, size, options);
  fill(t, 1);
  return t;
}
Tensor new_full(const Tensor& self, IntSpan size, const Scalar& value, const FactoryOptions& options) {
  return filled(new_empty(self, size, options), value);
}

Tensor new_empty_strided(const Tensor& self, IntSpan size, IntSpan stride, const FactoryOptions& options) {
  return empty_strided_form(size, stride, or_like(options, self));
}

// ---- arange -----------------------------------------------------------------------------------------------
uint64_t distance(int64_t a, int64_t b) {
  return static_cast<uint64_t>(std::max(a, b)) - static_cast<uint64_t>(std::min(a, b));
}

int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const double s = step.to_double();
  TL_CHECK(s != 0, Runtime, "step must be nonzero");
  TL_CHECK(std::isfinite(start.to_double()) && std::isfinite(end.to_double()), Runtime,
           "unsupported range: ", start.to_double(), " -> ", end.to_double());
  TL_CHECK((s > 0 && end.to_double() >= start.to_double()) || (s < 0 && end.to_double() <= start.to_double()),
           Runtime, "upper bound and lower bound inconsistent with step sign");
  if (dtype == DType::Int64) {
    const uint64_t width = distance(start.to_int(), end.to_int()), by = distance(0, step.to_int());
    TL_CHECK(by != 0, Value, "step must be nonzero as an integer, got ", s);
    const uint64_t n = width / by + (width % by != 0);
    TL_CHECK(n <= std::numeric_limits<int64_t>::max(), Runtime, "invalid size, possible overflow?");
    return static_cast<int64_t>(n);
  }
  const double n = std::ceil((end.to_double() - start.to_double()) / s);
  TL_CHECK(n >= 0 && n < 9.2e18, Runtime, "invalid size, possible overflow?");
  return static_cast<int64_t>(n);
}

// As a number for loops of that type.
cpu::Number number(const Scalar& s, DType dtype) {
  return {s.to_double(), is_integral(dtype, true) ? s.to_int() : 0};
}

// Writes start, start + step, ...
Tensor fill_steps(const Tensor& t, const Scalar& start, const Scalar& step) {
  const DType d = t.dtype();
  if (!t.device().is_cpu()) return ops::copy_(t, fill_steps(empty(t.sizes(), {d, {}}), start, step));
  if (t.numel())
    cpu::arange(d, t.ptr<char>(), t.byte_stride(0), t.numel(), number(start, d), number(step, d));
  return t;
}

Tensor arange_start_step(const Scalar& start, const Scalar& end, const Scalar& step,
                         const FactoryOptions& options, Out out) {
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  const std::optional<DType> dtype = options.dtype;
  const DType wanted = dtype ? *dtype : out ? out.tensor->dtype() : integral ? DType::Int64 : default_dtype();
  const int64_t n = arange_length(start, end, step, wanted);
  if (auto t = written_in_order(
          out, n, [&](DType d) { return arange_start_step(start, end, step, or_dtype(options, d), {}); }))
    return *t;
  const bool typed = out && dtype.value_or(out.tensor->dtype()) == out.tensor->dtype();
  if (typed && out.tensor->numel() != n && out.tensor->numel() != 0) {
    warn_resized_range(out.tensor->sizes(), out.tensor->numel(), n);
    resize(*out, DimVector{n});
  }
  Tensor t = fresh(DimVector{n}, options, wanted, out);
  TL_CHECK(!is_complex(t.dtype()), NotImplemented, "\"arange_cpu\" not implemented for '",
           scalar_type_name(t.dtype()), "'");
  return t.is_meta() ? t : fill_steps(t, start, step);
}
Tensor arange(const Scalar& end, const FactoryOptions& options, Out out) {
  return arange_start_step(0, end, 1, options, out);
}
Tensor arange_start(const Scalar& start, const Scalar& end, const FactoryOptions& options) {
  return arange_start_step(start, end, 1, options, {});
}

// As many steps as fit between both ends, which are included.
int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  arange_length(start, end, step, DType::Float64);  // its checks
  if (dtype == DType::Int64) {
    const uint64_t width = distance(start.to_int(), end.to_int()), by = distance(0, step.to_int());
    TL_CHECK(by != 0, Value, "step must be nonzero as an integer, got ", step.to_double());
    TL_CHECK(width / by < std::numeric_limits<int64_t>::max(), Runtime, "invalid size, possible overflow?");
    return static_cast<int64_t>(width / by) + 1;
  }
  const double n = std::floor((end.to_double() - start.to_double()) / step.to_double()) + 1;
  TL_CHECK(n >= 0 && n < 9.2e18, Runtime, "invalid size, possible overflow?");
  return static_cast<int64_t>(n);
}

Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step, const FactoryOptions& options,
                  Out out) {
  warn("range includes its end, unlike Python's: it is deprecated in favor of arange");
  const DType wanted = options.dtype ? *options.dtype : out ? out.tensor->dtype() : default_dtype();
  TL_CHECK(!is_complex(wanted) && wanted != DType::Bool, NotImplemented,
           "\"range_cpu\" not implemented for '", scalar_type_name(wanted), "'");
  const int64_t n = range_length(start, end, step, wanted);
  if (auto t = written_in_order(out, n, [&](DType d) {
        return fill_steps(empty(DimVector{n}, {options.dtype.value_or(d), {}}), start, step);
      }))
    return *t;
  Tensor t = fresh(DimVector{n}, options, wanted, out);
  return t.is_meta() ? t : fill_steps(t, start, step);
}
Tensor range(const Scalar& start, const Scalar& end, const FactoryOptions& options) {
  return range_step(start, end, 1, options, {});
}

Tensor linspace_complex(const Scalar& start, const Scalar& end, int64_t steps) {
  const Tensor t = empty(DimVector{steps}, {DType::Complex128, {}});
  const Complex128 first = start.to_complex(), last = end.to_complex();
  const auto gaps = static_cast<double>(std::max<int64_t>(steps - 1, 1));
  for (int64_t i = 0; i < steps; ++i) {
    const bool ahead = i < steps / 2 || steps == 1;
    const auto at = [&](double from, double to) {
      const double step = (to - from) / gaps;
      return ahead ? from + step * static_cast<double>(i) : to - step * static_cast<double>(steps - 1 - i);
    };
    t.ptr<Complex128>()[i] = {at(first.re, last.re), at(first.im, last.im)};
  }
  return t;
}

// Integer types have whole ends, as PyTorch's.
Scalar end_in(const Scalar& s, DType dtype) {
  return is_integral(dtype, true) && s.is_float() ? Scalar(std::trunc(s.to_double())) : s;
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const FactoryOptions& options,
                Out out) {
  TL_CHECK(steps >= 0, Runtime, "number of steps must be non-negative, got ", steps);
  const bool complex = start.is_complex() || end.is_complex();
  const std::optional<DType> dtype = options.dtype;
  TL_CHECK(!complex || !dtype || is_complex(*dtype), Runtime, "torch.linspace(): inferred dtype ",
           dtype_name(to_complex(default_dtype())), " can't be safely cast to passed dtype ",
           dtype ? dtype_name(*dtype) : "");
  if (auto t = written_in_order(
          out, steps, [&](DType d) { return linspace(start, end, steps, or_dtype(options, d), {}); }))
    return *t;
  Tensor t = fresh(DimVector{steps}, options, complex ? to_complex(default_dtype()) : default_dtype(), out);
  if (t.is_meta() || steps == 0) return t;
  if (complex) return ops::copy_(t, linspace_complex(start, end, steps));
  for (const Scalar& s : {start, end}) s.check_fits(t.dtype());
  cpu::linspace(t.dtype(), t.ptr<char>(), t.byte_stride(0), steps,
                number(end_in(start, t.dtype()), t.dtype()), number(end_in(end, t.dtype()), t.dtype()));
  return t;
}

// ---- ends given as tensors --------------------------------------------------------------------------------
Scalar number_in(const Tensor& t, const char* function) {
  TL_CHECK(t.dim() == 0, Runtime, function,
           " only supports 0-dimensional start and end tensors, but got a tensor with ", t.dim(),
           " dimension(s)");
  return ops::_local_scalar_dense(t);
}
const Scalar& number_in(const Scalar& s, const char*) { return s; }

template <class Start, class End>
Tensor linspace_between(const Start& start, const End& end, int64_t steps, const FactoryOptions& options,
                        Out out) {
  return linspace(number_in(start, "linspace"), number_in(end, "linspace"), steps, options, out);
}

// ---- logspace ---------------------------------------------------------------------------------------------
double power_at(double base, double first, double last, double step, int64_t i, int64_t n) {
  const double exponent =
      i < n / 2 ? first + step * static_cast<double>(i) : last - step * static_cast<double>(n - 1 - i);
  return std::pow(base, exponent);
}

// Integer types have whole exponents at their ends, as in the reference.
Tensor powers(const Scalar& start, const Scalar& end, int64_t n, double base, DType dtype) {
  const Tensor t = empty(DimVector{n}, {DType::Float64, {}});
  const bool whole = is_integral(dtype, true);
  const double first = whole ? std::trunc(start.to_double()) : start.to_double();
  const double last = whole ? std::trunc(end.to_double()) : end.to_double();
  const double step = (last - first) / static_cast<double>(std::max<int64_t>(n - 1, 1));
  for (int64_t i = 0; i < n; ++i)
    t.ptr<double>()[i] = n == 1 ? std::pow(base, start.to_double()) : power_at(base, first, last, step, i, n);
  return t;
}
// std::pow makes a positive base's powers of a length that std::polar doesn't take where it is NaN.
std::complex<double> power(double base, std::complex<double> exponent) {
  if (base <= 0) return std::pow(std::complex<double>(base), exponent);
  const double length = std::pow(base, exponent.real()), angle = exponent.imag() * std::log(base);
  return {length * std::cos(angle), length * std::sin(angle)};
}
Tensor complex_powers(const Scalar& start, const Scalar& end, int64_t n, double base) {
  const Tensor t = linspace_complex(start, end, n);
  auto* p = t.ptr<std::complex<double>>();
  for (int64_t i = 0; i < n; ++i) p[i] = power(base, p[i]);
  return t;
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                const FactoryOptions& options, Out out) {
  TL_CHECK(steps >= 0, Runtime, "number of steps must be non-negative, got ", steps);
  const bool complex = start.is_complex() || end.is_complex();
  const std::optional<DType> dtype = options.dtype;
  TL_CHECK(!complex || !dtype || is_complex(*dtype), Runtime, "torch.logspace(): inferred dtype ",
           dtype_name(to_complex(default_dtype())), " can't be safely cast to passed dtype ",
           dtype ? dtype_name(*dtype) : "");
  if (auto t = written_in_order(
          out, steps, [&](DType d) { return logspace(start, end, steps, base, or_dtype(options, d), {}); }))
    return *t;
  Tensor t = fresh(DimVector{steps}, options, complex ? to_complex(default_dtype()) : default_dtype(), out);
  if (t.is_meta() || steps == 0) return t;
  for (const Scalar& s : {start, end}) s.check_fits(t.dtype());
  return ops::copy_(t, is_complex(t.dtype()) ? complex_powers(start, end, steps, base)
                                             : powers(start, end, steps, base, t.dtype()));
}
template <class Start, class End>
Tensor logspace_between(const Start& start, const End& end, int64_t steps, double base,
                        const FactoryOptions& options, Out out) {
  return logspace(number_in(start, "logspace"), number_in(end, "logspace"), steps, base, options, out);
}

Tensor eye_m(int64_t n, int64_t m, const FactoryOptions& options, Out out) {
  TL_CHECK(n >= 0, Runtime, "n must be greater or equal to 0, got ", n);
  TL_CHECK(m >= 0, Runtime, "m must be greater or equal to 0, got ", m);
  Tensor t = fresh(DimVector{n, m}, options, default_dtype(), out);
  if (t.is_meta()) return t;
  fill(t, 0);
  fill(ops::diagonal(t), 1);
  return t;
}
Tensor eye(int64_t n, const FactoryOptions& options, Out out) { return eye_m(n, n, options, out); }

Tensor scalar_tensor(const Scalar& s, const FactoryOptions& options) {
  Tensor t = fresh({}, options, default_dtype(), {});
  fill(t, s);
  return t;
}
}  // namespace

TL_KERNEL(empty_memory_format, empty_memory_format)
TL_KERNEL(zeros, zeros)
TL_KERNEL(ones, ones)
TL_KERNEL(full, full)
TL_KERNEL(empty_strided, empty_strided_form)
TL_KERNEL(empty_like, empty_like)
TL_KERNEL(zeros_like, zeros_like)
TL_KERNEL(ones_like, ones_like)
TL_KERNEL(full_like, full_like)
TL_KERNEL(new_empty, new_empty)
TL_KERNEL(new_zeros, new_zeros)
TL_KERNEL(new_ones, new_ones)
TL_KERNEL(new_full, new_full)
TL_KERNEL(arange, arange)
TL_KERNEL(arange_start, arange_start)
TL_KERNEL(arange_start_step, arange_start_step)
TL_KERNEL(range, range)
TL_KERNEL(range_step, range_step)
TL_KERNEL(linspace, linspace)
TL_KERNEL(linspace_Tensor_Tensor, (linspace_between<Tensor, Tensor>))
TL_KERNEL(linspace_Tensor_Scalar, (linspace_between<Tensor, Scalar>))
TL_KERNEL(linspace_Scalar_Tensor, (linspace_between<Scalar, Tensor>))
TL_KERNEL(logspace, logspace)
TL_KERNEL(logspace_Tensor_Tensor, (logspace_between<Tensor, Tensor>))
TL_KERNEL(logspace_Tensor_Scalar, (logspace_between<Tensor, Scalar>))
TL_KERNEL(logspace_Scalar_Tensor, (logspace_between<Scalar, Tensor>))
TL_KERNEL(new_empty_strided, new_empty_strided)
TL_KERNEL(empty_permuted, empty_permuted)
TL_KERNEL(eye, eye)
TL_KERNEL(eye_m, eye_m)
TL_KERNEL(scalar_tensor, scalar_tensor)

}  // namespace tl
