// Window functions: tapers for spectra of pieces of a signal.
#include <algorithm>
#include <array>

#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernels/cpu/fft/window.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "tensor/default_dtype.h"

namespace tl {

namespace {
using cpu::WindowShape;

struct NamedShape {
  std::string_view name;
  WindowShape shape;
  size_t least, most;  // how many parameters it has
};
constexpr NamedShape kShapes[] = {
    {"cosines", WindowShape::Cosines, 1, SIZE_MAX},  {"triangle", WindowShape::Triangle, 0, 0},
    {"kaiser", WindowShape::Kaiser, 1, 1},           {"gaussian", WindowShape::Gaussian, 1, 1},
    {"exponential", WindowShape::Exponential, 2, 2}, {"sine", WindowShape::Sine, 0, 0},
};

// A periodic window is a symmetric one of one number more, without its last.
Tensor window(WindowShape shape, int64_t n, bool periodic, std::span<const double> parameters, DType dtype,
              std::optional<Device> device) {
  const Device on = settled(device.value_or(default_device()));
  const Tensor out = empty(DimVector{n}, {dtype, on});
  if (n == 0 || on.is_meta()) return out;
  const cpu::Window w{shape, n, periodic ? n : n - 1, parameters};
  if (dtype == DType::Float32) {
    cpu::fill_window(w, out.ptr<float>());
    return out;
  }
  const Tensor wide = dtype == DType::Float64 ? out : empty(DimVector{n}, {DType::Float64, on});
  cpu::fill_window(w, wide.ptr<double>());
  if (!wide.same(out)) copy_elements(out, wide);
  return out;
}

Tensor checked_window(const char* name, WindowShape shape, int64_t n, bool periodic,
                      std::span<const double> parameters, const FactoryOptions& options) {
  TL_CHECK(!options.layout || *options.layout == Layout::Strided, Runtime, name,
           " is not implemented for sparse types: the layout must be torch.strided");
  const DType dtype = options.dtype.value_or(default_dtype());
  TL_CHECK(is_floating(dtype), Runtime, name, " expects floating point dtypes, got: ", dtype_name(dtype));
  TL_CHECK(n >= 0, Runtime, name, " requires non-negative window_length, got window_length=", n);
  return window(shape, n, periodic, parameters, dtype, options.device);
}

// The private operator behind the module `signal.windows`.
Tensor any_window(std::string_view shape, int64_t n, bool periodic, std::span<const double> parameters,
                  const FactoryOptions& options) {
  const auto* s = std::find_if(std::begin(kShapes), std::end(kShapes),
                               [&](const NamedShape& known) { return known.name == shape; });
  TL_CHECK(s != std::end(kShapes), Runtime, "_window: unknown shape ", shape);
  TL_CHECK(parameters.size() >= s->least && parameters.size() <= s->most, Runtime, "_window: ", shape,
           " does not have ", parameters.size(), " parameters");
  return checked_window("_window", s->shape, n, periodic, parameters, options);
}

Tensor hann_window_periodic(int64_t n, bool periodic, const FactoryOptions& options) {
  constexpr std::array kHann{0.5, 0.5};
  return checked_window("hann_window", WindowShape::Cosines, n, periodic, kHann, options);
}
Tensor hann_window(int64_t n, const FactoryOptions& options) {
  return hann_window_periodic(n, true, options);
}

Tensor hamming_window_alpha_beta(int64_t n, bool periodic, double alpha, double beta,
                                 const FactoryOptions& options) {
  const std::array coefficients{alpha, beta};
  return checked_window("hamming_window", WindowShape::Cosines, n, periodic, coefficients, options);
}
Tensor hamming_window_alpha(int64_t n, bool periodic, double alpha, const FactoryOptions& options) {
  return hamming_window_alpha_beta(n, periodic, alpha, 0.46, options);
}
Tensor hamming_window_periodic(int64_t n, bool periodic, const FactoryOptions& options) {
  return hamming_window_alpha_beta(n, periodic, 0.54, 0.46, options);
}
Tensor hamming_window(int64_t n, const FactoryOptions& options) {
  return hamming_window_periodic(n, true, options);
}

Tensor blackman_window_periodic(int64_t n, bool periodic, const FactoryOptions& options) {
  constexpr std::array kBlackman{0.42, 0.5, 0.08};
  return checked_window("blackman_window", WindowShape::Cosines, n, periodic, kBlackman, options);
}
Tensor blackman_window(int64_t n, const FactoryOptions& options) {
  return blackman_window_periodic(n, true, options);
}

Tensor bartlett_window_periodic(int64_t n, bool periodic, const FactoryOptions& options) {
  return checked_window("bartlett_window", WindowShape::Triangle, n, periodic, {}, options);
}
Tensor bartlett_window(int64_t n, const FactoryOptions& options) {
  return bartlett_window_periodic(n, true, options);
}

Tensor kaiser_window_beta(int64_t n, bool periodic, double beta, const FactoryOptions& options) {
  const std::array parameters{beta};
  return checked_window("kaiser_window", WindowShape::Kaiser, n, periodic, parameters, options);
}
Tensor kaiser_window_periodic(int64_t n, bool periodic, const FactoryOptions& options) {
  return kaiser_window_beta(n, periodic, 12.0, options);
}
Tensor kaiser_window(int64_t n, const FactoryOptions& options) {
  return kaiser_window_periodic(n, true, options);
}
}  // namespace

TL_KERNEL(_window, any_window)
TL_KERNEL(hann_window, hann_window)
TL_KERNEL(hann_window_periodic, hann_window_periodic)
TL_KERNEL(hamming_window, hamming_window)
TL_KERNEL(hamming_window_periodic, hamming_window_periodic)
TL_KERNEL(hamming_window_periodic_alpha, hamming_window_alpha)
TL_KERNEL(hamming_window_periodic_alpha_beta, hamming_window_alpha_beta)
TL_KERNEL(blackman_window, blackman_window)
TL_KERNEL(blackman_window_periodic, blackman_window_periodic)
TL_KERNEL(bartlett_window, bartlett_window)
TL_KERNEL(bartlett_window_periodic, bartlett_window_periodic)
TL_KERNEL(kaiser_window, kaiser_window)
TL_KERNEL(kaiser_window_periodic, kaiser_window_periodic)
TL_KERNEL(kaiser_window_beta, kaiser_window_beta)

}  // namespace tl
