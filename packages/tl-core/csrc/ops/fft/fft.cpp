// The functions of the module `fft`: what their arguments mean, padding, frequencies and shifts.
#include <numeric>

#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/fft/shape.h"
#include "ops/shared/out.h"
#include "tensor/default_dtype.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// ---- the namespace `fft` ----------------------------------------------------------------------------------
using Name = std::optional<std::string_view>;

int64_t normalization_of(Name norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kFftUnscaled : kFftByLength;
  if (*norm == "forward") return forward ? kFftByLength : kFftUnscaled;
  TL_CHECK(*norm == "ortho", Runtime, "Invalid normalization mode: \"", *norm, "\"");
  return kFftByRoot;
}

// Integers become the default float.
Tensor as_inexact(const Tensor& t) {
  const DType d = is_integral(t.dtype(), true) ? default_dtype() : t.dtype();
  check_fft_dtype(d);
  return d == t.dtype() ? t : ops::to_dtype(t, d);
}

Tensor as_complex(const Tensor& t) {
  const Tensor inexact = as_inexact(t);
  return is_complex(inexact.dtype()) ? inexact : ops::complex(inexact, ops::zeros_like(inexact));
}

Tensor as_real(const char* name, const Tensor& t) {
  const bool one_dim = std::string_view(name).ends_with("fft");
  TL_CHECK(!is_complex(t.dtype()), Runtime, name, " expects a real", one_dim ? "" : "-valued",
           " input tensor, but got ", scalar_type_name(t.dtype()));
  return as_inexact(t);
}

struct OneDim {
  Tensor input;
  DimVector dims;
};

// Padded or trimmed to n numbers along the dimension.
OneDim one_dim(const Tensor& t, std::optional<int64_t> n, int64_t dim) {
  const int64_t axis = wrap_dim(dim, t.dim(), false);
  const int64_t length = n.value_or(t.size(axis));
  TL_CHECK(length >= 1, Runtime, "Invalid number of data points (", length, ") specified");
  return {n ? fft_resized(t, DimVector{axis}, DimVector{length}) : t, DimVector{axis}};
}

// Half of a real signal's spectrum mirrors the other half.
Tensor forward_fft(const Tensor& x, IntSpan dims, int64_t normalization) {
  if (is_complex(x.dtype()) || dims.empty()) return ops::_fft_c2c(as_complex(x), dims, normalization, true);
  return ops::_fft_r2c(x, dims, normalization, false);
}

// The conjugate is carried out when it is read, or at once.
Tensor inverse_fft(const Tensor& x, IntSpan dims, int64_t normalization, bool lazily) {
  if (is_complex(x.dtype()) || dims.empty()) return ops::_fft_c2c(as_complex(x), dims, normalization, false);
  const Tensor mirrored = ops::_fft_r2c(x, dims, normalization, false);
  return lazily ? ops::conj(mirrored) : ops::conj_physical(mirrored);
}

Tensor fft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Name norm, Out out) {
  const OneDim x = one_dim(as_inexact(self), n, dim);
  return copied_out(forward_fft(x.input, x.dims, normalization_of(norm, true)), out);
}

Tensor ifft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Name norm, Out out) {
  const OneDim x = one_dim(as_inexact(self), n, dim);
  return copied_out(inverse_fft(x.input, x.dims, normalization_of(norm, false), true), out);
}

Tensor rfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Name norm, Out out) {
  const OneDim x = one_dim(as_real("rfft", self), n, dim);
  return copied_out(ops::_fft_r2c(x.input, x.dims, normalization_of(norm, true), true), out);
}

Tensor ihfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Name norm, Out out) {
  const OneDim x = one_dim(as_real("ihfft", self), n, dim);
  return copied_out(ops::conj(ops::_fft_r2c(x.input, x.dims, normalization_of(norm, false), true)), out);
}

Tensor half_to_real(const Tensor& t, std::optional<int64_t> n, int64_t dim, int64_t normalization, Out out) {
  const int64_t axis = wrap_dim(dim, t.dim(), false);
  const int64_t length = n.value_or(2 * (t.size(axis) - 1));
  TL_CHECK(length >= 1, Runtime, "Invalid number of data points (", length, ") specified");
  const Tensor half = fft_resized(t, DimVector{axis}, DimVector{length / 2 + 1});
  return copied_out(ops::_fft_c2r(half, DimVector{axis}, normalization, length), out);
}

Tensor irfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Name norm, Out out) {
  return half_to_real(as_complex(self), n, dim, normalization_of(norm, false), out);
}

Tensor hfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Name norm, Out out) {
  return half_to_real(ops::conj(as_complex(self)), n, dim, normalization_of(norm, true), out);
}

using Sizes = std::optional<IntSpan>;

Tensor fftn(const Tensor& self, Sizes s, Sizes dims, Name norm, Out out) {
  const FftShape f = fft_shape(self, s, dims);
  const Tensor x = fft_resized(as_inexact(self), f.dims, f.sizes);
  return copied_out(forward_fft(x, f.dims, normalization_of(norm, true)), out);
}

Tensor ifftn(const Tensor& self, Sizes s, Sizes dims, Name norm, Out out) {
  const FftShape f = fft_shape(self, s, dims);
  const Tensor x = fft_resized(as_inexact(self), f.dims, f.sizes);
  return copied_out(inverse_fft(x, f.dims, normalization_of(norm, false), false), out);
}

Tensor rfftn(const Tensor& self, Sizes s, Sizes dims, Name norm, Out out) {
  const Tensor real = as_real("rfftn", self);
  const FftShape f = fft_shape(self, s, dims);
  TL_CHECK(!f.dims.empty(), Runtime, "rfftn must transform at least one axis");
  const Tensor x = fft_resized(real, f.dims, f.sizes);
  return copied_out(ops::_fft_r2c(x, f.dims, normalization_of(norm, true), true), out);
}

Tensor irfftn(const Tensor& self, Sizes s, Sizes dims, Name norm, Out out) {
  const FftShape f = fft_half_shape("irfftn", self, s, dims);
  const Tensor x = fft_resized(as_complex(self), f.dims, f.sizes);
  return copied_out(ops::_fft_c2r(x, f.dims, normalization_of(norm, false), f.last), out);
}

Tensor hfftn(const Tensor& self, Sizes s, Sizes dims, Name norm, Out out) {
  const FftShape f = fft_half_shape("hfftn", self, s, dims);
  const int64_t normalization = normalization_of(norm, true);
  const Tensor x = fft_resized(as_complex(self), f.dims, f.sizes);
  const IntSpan all = f.dims;
  const Tensor others = ops::_fft_c2c(x, all.first(all.size() - 1), normalization, true);
  return copied_out(ops::_fft_c2r(ops::conj(others), all.last(1), normalization, f.last), out);
}

Tensor ihfftn(const Tensor& self, Sizes s, Sizes dims, Name norm, Out out) {
  const Tensor real = as_real("ihfftn", self);
  const FftShape f = fft_shape(self, s, dims);
  TL_CHECK(!f.dims.empty(), Runtime, "ihfftn must transform at least one axis");
  const int64_t normalization = normalization_of(norm, false);
  const IntSpan all = f.dims;
  const Tensor half = ops::_fft_r2c(fft_resized(real, f.dims, f.sizes), all.last(1), normalization, true);
  const Tensor result =
      ops::_fft_c2c(ops::conj_physical(half), all.first(all.size() - 1), normalization, false);
  return copied_out(result, out);
}

// ---- two dimensions by default ----------------------------------------------------------------------------
Tensor fft2(const Tensor& self, Sizes s, IntSpan dims, Name norm, Out out) {
  return fftn(self, s, dims, norm, out);
}
Tensor ifft2(const Tensor& self, Sizes s, IntSpan dims, Name norm, Out out) {
  return ifftn(self, s, dims, norm, out);
}
Tensor rfft2(const Tensor& self, Sizes s, IntSpan dims, Name norm, Out out) {
  return rfftn(self, s, dims, norm, out);
}
Tensor irfft2(const Tensor& self, Sizes s, IntSpan dims, Name norm, Out out) {
  return irfftn(self, s, dims, norm, out);
}
Tensor hfft2(const Tensor& self, Sizes s, IntSpan dims, Name norm, Out out) {
  return hfftn(self, s, dims, norm, out);
}
Tensor ihfft2(const Tensor& self, Sizes s, IntSpan dims, Name norm, Out out) {
  return ihfftn(self, s, dims, norm, out);
}

// ---- frequencies ------------------------------------------------------------------------------------------
Tensor frequencies(int64_t n, int64_t first, int64_t count, double d, TensorOptions options) {
  const Tensor positions = ops::arange(Scalar(count), {.dtype = options.dtype, .device = options.device});
  if (first < count) ops::sub_(ops::narrow(positions, 0, first, count - first), Scalar(n));
  return ops::mul_(positions, Scalar(1.0 / (static_cast<double>(n) * d)));
}

TensorOptions real_options(const char* name, std::optional<DType> dtype, std::optional<Device> device) {
  const DType chosen = dtype.value_or(default_dtype());
  TL_CHECK(is_floating(chosen) || is_complex(chosen), Runtime, name,
           " requires a floating point or complex dtype");
  return {chosen, settled(device.value_or(default_device()))};
}

void check_points(const char* name, int64_t n) {
  TL_CHECK(n >= 0, Runtime, name, ": n must be non-negative, got ", n);
}

Tensor fftfreq(int64_t n, double d, const FactoryOptions& options, Out out) {
  check_points("fftfreq", n);
  return copied_out(frequencies(n, n - n / 2, n, d, real_options("fftfreq", options.dtype, options.device)),
                    out);
}

Tensor rfftfreq(int64_t n, double d, const FactoryOptions& options, Out out) {
  check_points("rfftfreq", n);
  return copied_out(
      frequencies(n, n / 2 + 1, n / 2 + 1, d, real_options("rfftfreq", options.dtype, options.device)), out);
}

Tensor shifted(const Tensor& self, Sizes dims, bool back) {
  DimVector which(dims.value_or(IntSpan()));
  if (!dims) {
    which.resize(static_cast<size_t>(self.dim()));
    std::iota(which.begin(), which.end(), 0);
  }
  DimVector by;
  for (const int64_t d : which) {
    const int64_t at = wrap_dim(d, self.dim()), n = self.dim() ? self.size(at) : 1;
    by.push_back(back ? n - n / 2 : n / 2);
  }
  return which.empty() ? ops::clone(self) : ops::roll(self, by, which);
}

Tensor fftshift(const Tensor& self, Sizes dim) { return shifted(self, dim, false); }
Tensor ifftshift(const Tensor& self, Sizes dim) { return shifted(self, dim, true); }
}  // namespace

TL_KERNEL(fft_fft, fft)
TL_KERNEL(fft_ifft, ifft)
TL_KERNEL(fft_rfft, rfft)
TL_KERNEL(fft_irfft, irfft)
TL_KERNEL(fft_hfft, hfft)
TL_KERNEL(fft_ihfft, ihfft)
TL_KERNEL(fft_fft2, fft2)
TL_KERNEL(fft_ifft2, ifft2)
TL_KERNEL(fft_rfft2, rfft2)
TL_KERNEL(fft_irfft2, irfft2)
TL_KERNEL(fft_hfft2, hfft2)
TL_KERNEL(fft_ihfft2, ihfft2)
TL_KERNEL(fft_fftn, fftn)
TL_KERNEL(fft_ifftn, ifftn)
TL_KERNEL(fft_rfftn, rfftn)
TL_KERNEL(fft_irfftn, irfftn)
TL_KERNEL(fft_hfftn, hfftn)
TL_KERNEL(fft_ihfftn, ihfftn)
TL_KERNEL(fft_fftfreq, fftfreq)
TL_KERNEL(fft_rfftfreq, rfftfreq)
TL_KERNEL(fft_fftshift, fftshift)
TL_KERNEL(fft_ifftshift, ifftshift)

}  // namespace tl
