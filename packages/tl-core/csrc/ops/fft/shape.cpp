// Dimensions and lengths of Fourier transforms, from their arguments.
#include "ops/fft/shape.h"

#include "base/error.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
DimVector wrapped(const Tensor& t, IntSpan dims) {
  DimVector result;
  uint64_t seen = 0;
  for (const int64_t d : dims) {
    const int64_t w = wrap_dim(d, t.dim(), false);
    TL_CHECK(!(seen >> w & 1), Runtime, "FFT dims must be unique");
    seen |= uint64_t{1} << w;
    result.push_back(w);
  }
  return result;
}

// Sizes stand for the last dimensions where no dims are given.
FftShape given_shape(const Tensor& t, std::optional<IntSpan> s, std::optional<IntSpan> dims) {
  FftShape f;
  if (dims) f.dims = wrapped(t, *dims);
  if (dims && s)
    TL_CHECK(dims->size() == s->size(), Runtime,
             "When given, dim and shape arguments must have the same length");
  if (s) {
    TL_CHECK(static_cast<int64_t>(s->size()) <= t.dim(), Runtime, "Got shape with ", s->size(),
             " values but input tensor only has ", t.dim(), " dimensions.");
    f.sizes = DimVector(*s);
  }
  if (!dims) {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : t.dim();
    for (int64_t d = t.dim() - count; d < t.dim(); ++d) f.dims.push_back(d);
  }
  if (!s)
    for (const int64_t d : f.dims) f.sizes.push_back(t.size(d));
  for (size_t i = 0; i < f.dims.size(); ++i)
    if (f.sizes[i] == -1) f.sizes[i] = t.size(f.dims[i]);
  return f;
}

void check_points(IntSpan sizes) {
  for (const int64_t n : sizes)
    TL_CHECK(n >= 1, Runtime, "Invalid number of data points (", n, ") specified");
}
}  // namespace

void check_fft_dtype(DType dtype) {
  const DType real = to_real(dtype);
  TL_CHECK(real == DType::Float32 || real == DType::Float64, Runtime, "Unsupported dtype ",
           scalar_type_name(dtype));
}

FftShape fft_shape(const Tensor& t, std::optional<IntSpan> s, std::optional<IntSpan> dims) {
  FftShape f = given_shape(t, s, dims);
  check_points(f.sizes);
  return f;
}

FftShape fft_half_shape(const char* name, const Tensor& t, std::optional<IntSpan> s,
                        std::optional<IntSpan> dims) {
  FftShape f = given_shape(t, s, dims);
  TL_CHECK(!f.dims.empty(), Runtime, name, " must transform at least one axis");
  const bool asked = s && s->back() != -1;
  f.last = asked ? f.sizes.back() : 2 * (t.size(f.dims.back()) - 1);
  TL_CHECK(f.last >= 1, Runtime, "Invalid number of data points (", f.last, ") specified");
  f.sizes.back() = f.last / 2 + 1;
  check_points(f.sizes);
  return f;
}

Tensor fft_resized(const Tensor& t, IntSpan dims, IntSpan sizes) {
  Tensor result = t;
  DimVector pad(static_cast<size_t>(2 * t.dim()), 0);
  bool padded = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t have = t.size(dims[i]), more = sizes[i] - have;
    if (more < 0) result = ops::narrow(result, dims[i], 0, sizes[i]);
    if (more > 0) {
      pad[static_cast<size_t>(2 * (t.dim() - 1 - dims[i]) + 1)] = more;
      padded = true;
    }
  }
  return padded ? ops::constant_pad_nd(result, pad) : result;
}

}  // namespace tl
