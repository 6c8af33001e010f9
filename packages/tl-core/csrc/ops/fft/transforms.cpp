// The Fourier transforms that the module `fft` is made of: checks, layouts of results, and which transform
// runs along which dimension.
#include <cmath>
#include <numeric>

#include "iter/dtypes.h"
#include "kernels/cpu/fft/fft.h"
#include "ops.h"
#include "ops/fft/shape.h"
#include "ops/shared/copy.h"

namespace tl {

namespace {
double scale_of(int64_t normalization, IntSpan sizes, IntSpan dims) {
  double n = 1;
  for (const int64_t d : dims) n *= static_cast<double>(sizes[static_cast<size_t>(d)]);
  return normalization == kFftUnscaled ? 1 : normalization == kFftByRoot ? 1 / std::sqrt(n) : 1 / n;
}

void check_arguments(const char* name, const Tensor& self, IntSpan dims, int64_t normalization) {
  check_fft_dtype(self.dtype());
  uint64_t seen = 0;
  for (const int64_t d : dims) {
    TL_CHECK(d >= 0 && d < self.dim(), Index, "Dimension out of range (expected to be in range of [0, ",
             self.dim() - 1, "], but got ", d, ")");
    TL_CHECK(!(seen >> d & 1), Runtime, name, ": dim ", d, " appears twice in ", dims);
    seen |= uint64_t{1} << d;
  }
  TL_CHECK(normalization >= kFftUnscaled && normalization <= kFftByLength, Runtime, name,
           ": expected normalization to be 0, 1 or 2, got ", normalization);
}

void check_one_dim(const char* name, IntSpan dims) {
  TL_CHECK(!dims.empty(), Runtime, name, ": expected at least one dimension in dim");
}

DimVector with_size(IntSpan sizes, int64_t dim, int64_t n) {
  DimVector changed(sizes);
  changed[static_cast<size_t>(dim)] = n;
  return changed;
}

// Dims from the slowest in the tensor's memory to the fastest.
DimVector slowest_first(const Tensor& t, IntSpan dims) {
  DimVector sorted(dims);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](int64_t a, int64_t b) { return t.stride(a) > t.stride(b); });
  return sorted;
}

// A fresh tensor in whose memory the dims come last, in their order, after the others as they lie in `like`.
Tensor laid_out(const Tensor& like, IntSpan sizes, IntSpan dims, DType dtype) {
  DimVector others;
  for (int64_t d = 0; d < like.dim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) others.push_back(d);
  DimVector order = slowest_first(like, others);
  for (const int64_t d : dims) order.push_back(d);
  checked_numel(sizes);
  DimVector strides(order.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = step;
    step = checked_mul(step, std::max<int64_t>(sizes[d], 1));
  }
  return empty_strided(sizes, strides, {dtype, like.device()});
}

// The transforms along an axis, of n complex numbers each.
cpu::FftAxis along(const Tensor& out, const Tensor& in, int64_t axis, int64_t n, bool inverse, double scale) {
  cpu::FftAxis a{n, {}, {}, {}, in.stride(axis), out.stride(axis), inverse, scale};
  DimVector all(static_cast<size_t>(out.dim()));
  std::iota(all.begin(), all.end(), 0);
  for (const int64_t d : slowest_first(out, all)) {
    if (d == axis || out.size(d) == 1) continue;
    const bool joins = !a.sizes.empty() && a.in_strides.back() == out.size(d) * in.stride(d) &&
                       a.out_strides.back() == out.size(d) * out.stride(d);
    if (joins) {  // one dimension for both
      a.sizes.back() *= out.size(d);
      a.in_strides.back() = in.stride(d);
      a.out_strides.back() = out.stride(d);
      continue;
    }
    a.sizes.push_back(out.size(d));
    a.in_strides.push_back(in.stride(d));
    a.out_strides.push_back(out.stride(d));
  }
  return a;
}

void transform(const Tensor& out, const Tensor& in, int64_t axis, bool inverse, double scale) {
  cpu::fft_c2c(to_real(out.dtype()), along(out, in, axis, out.size(axis), inverse, scale), out.ptr<char>(),
               in.ptr<char>());
}

Tensor c2c(const Tensor& self, IntSpan dims, int64_t normalization, bool forward) {
  TL_CHECK(is_complex(self.dtype()), Runtime, "_fft_c2c: expected a complex tensor, got ",
           dtype_name(self.dtype()));
  check_arguments("_fft_c2c", self, dims, normalization);
  if (dims.empty()) return ops::clone(self);
  const DimVector order = slowest_first(self, dims);
  const Tensor out = laid_out(self, self.sizes(), order, self.dtype());
  if (out.is_meta() || out.numel() == 0) return out;
  transform(out, self, order.back(), !forward, scale_of(normalization, self.sizes(), dims));
  for (size_t i = order.size() - 1; i-- > 0;) transform(out, out, order[i], !forward, 1);
  return out;
}

// Real numbers that are consecutive along the dimension; `self` itself if they are.
Tensor dense_along(const Tensor& self, int64_t dim) {
  if (self.stride(dim) == 1 || self.size(dim) == 1) return self;
  return ops::transpose_int(to_contiguous(ops::transpose_int(self, dim, -1)), dim, -1);
}

// n / 2 + 1 numbers along the axis, written to `out`.
void half_spectrum(const Tensor& out, const Tensor& self, int64_t axis, double scale) {
  const int64_t n = self.size(axis);
  if (n % 2) {
    const Tensor whole = empty(self.sizes(), {out.dtype(), self.device()});
    copy_elements(whole, self);
    transform(whole, whole, axis, false, scale);
    copy_elements(out, ops::narrow(whole, axis, 0, n / 2 + 1));
    fill(ops::imag(ops::narrow(out, axis, 0, 1)), Scalar(0.0));
  } else {
    const Tensor in = dense_along(self, axis);
    cpu::fft_r2c(self.dtype(), along(out, in, axis, n / 2, false, scale), out.ptr<char>(), in.ptr<char>());
  }
}

// Writes the numbers from n / 2 + 1 on along the axis: the conjugates of those before.
void mirror(const Tensor& whole, int64_t axis) {
  const int64_t n = whole.size(axis), given = n / 2 + 1;
  if (n <= given) return;
  const Tensor first = ops::narrow(whole, axis, 1, n - given);
  copy_elements(ops::narrow(whole, axis, given, n - given),
                ops::conj_physical(ops::flip(first, DimVector{axis})));
}

Tensor r2c(const Tensor& self, IntSpan dims, int64_t normalization, bool onesided) {
  TL_CHECK(is_floating(self.dtype()), Runtime, "_fft_r2c: expected a real tensor, got ",
           dtype_name(self.dtype()));
  check_arguments("_fft_r2c", self, dims, normalization);
  check_one_dim("_fft_r2c", dims);
  // Of a whole spectrum, any dimension may come first: the fastest does.
  DimVector order = slowest_first(self, onesided ? dims.first(dims.size() - 1) : dims);
  if (onesided) order.push_back(dims.back());
  const int64_t axis = order.back(), half = self.size(axis) / 2 + 1;
  TL_CHECK(!onesided || self.size(axis) > 0, Runtime,
           "_fft_r2c: expected at least 1 element along dimension ", axis, ", got 0");
  const DimVector sizes = onesided ? with_size(self.sizes(), axis, half) : DimVector(self.sizes());
  const Tensor out = laid_out(self, sizes, order, to_complex(self.dtype()));
  if (out.is_meta() || self.numel() == 0) return out;
  half_spectrum(onesided ? out : ops::narrow(out, axis, 0, half), self, axis,
                scale_of(normalization, self.sizes(), dims));
  if (!onesided) mirror(out, axis);
  for (size_t i = order.size() - 1; i-- > 0;) transform(out, out, order[i], false, 1);
  return out;
}

// The whole spectrum along the axis, of n numbers, from its first half; the first one's imaginary part is
// dropped.
Tensor hermitian(const Tensor& half, int64_t axis, int64_t n) {
  const Tensor whole = empty(with_size(half.sizes(), axis, n), {half.dtype(), half.device()});
  copy_elements(ops::narrow(whole, axis, 0, n / 2 + 1), half);
  mirror(whole, axis);
  fill(ops::imag(ops::narrow(whole, axis, 0, 1)), Scalar(0.0));
  return whole;
}

Tensor c2r(const Tensor& self, IntSpan dims, int64_t normalization, int64_t n) {
  TL_CHECK(is_complex(self.dtype()), Runtime, "_fft_c2r: expected a complex tensor, got ",
           dtype_name(self.dtype()));
  check_arguments("_fft_c2r", self, dims, normalization);
  check_one_dim("_fft_c2r", dims);
  TL_CHECK(n >= 1, Runtime, "_fft_c2r: expected last_dim_size to be at least 1, got ", n);
  const int64_t axis = dims.back();
  TL_CHECK(self.size(axis) >= n / 2 + 1, Runtime, "_fft_c2r: expected at least ", n / 2 + 1,
           " elements along dimension ", axis, ", got ", self.size(axis));
  const DimVector sizes = with_size(self.sizes(), axis, n);
  Tensor half = ops::narrow(self, axis, 0, n / 2 + 1);
  if (dims.size() > 1) half = c2c(half, dims.first(dims.size() - 1), kFftUnscaled, false);
  const Tensor out = laid_out(half, sizes, dims.last(1), to_real(self.dtype()));
  if (out.is_meta() || out.numel() == 0) return out;
  const double scale = scale_of(normalization, sizes, dims);
  if (n % 2) {
    const Tensor whole = hermitian(half, axis, n);
    transform(whole, whole, axis, true, scale);
    copy_elements(out, ops::real(whole));
  } else {
    cpu::fft_c2r(out.dtype(), along(out, half, axis, n / 2, true, scale), out.ptr<char>(), half.ptr<char>());
  }
  return out;
}

// ---- gradients --------------------------------------------------------------------------------------------
Tensor with_zeros(const Tensor& t, int64_t axis, int64_t n) {
  if (n == t.size(axis)) return t;
  DimVector pad(static_cast<size_t>(2 * (t.dim() - axis)), 0);
  pad.back() = n - t.size(axis);
  return ops::constant_pad_nd(t, pad);
}

Tensor r2c_backward(const Tensor& grad, IntSpan dims, int64_t normalization, bool onesided, int64_t n) {
  check_arguments("_fft_r2c_backward", grad, dims, normalization);
  check_one_dim("_fft_r2c_backward", dims);
  const Tensor whole = onesided ? with_zeros(grad, dims.back(), n) : grad;
  return ops::real(ops::_fft_c2c(whole, dims, normalization, false));
}

// Every number but the first, and the middle one of an even length, stands for two.
Tensor c2r_backward(const Tensor& grad, IntSpan dims, int64_t normalization, int64_t given) {
  check_arguments("_fft_c2r_backward", grad, dims, normalization);
  check_one_dim("_fft_c2r_backward", dims);
  const int64_t axis = dims.back(), n = grad.size(axis);
  TL_CHECK(n > 0, Runtime, "_fft_c2r_backward: expected elements along dimension ", axis);
  const Tensor half = ops::_fft_r2c(grad, dims, normalization, true);
  const int64_t doubled = n - half.size(axis);
  std::vector<Tensor> parts{ops::narrow(half, axis, 0, 1)};
  parts.push_back(ops::mul(ops::narrow(half, axis, 1, doubled), Scalar(2.0)));
  if (half.size(axis) > doubled + 1) parts.push_back(ops::narrow(half, axis, doubled + 1, 1));
  return with_zeros(ops::cat(parts, axis), axis, given);
}
}  // namespace

TL_KERNEL(_fft_c2c, c2c)
TL_KERNEL(_fft_r2c, r2c)
TL_KERNEL(_fft_c2r, c2r)
TL_KERNEL(_fft_r2c_backward, r2c_backward)
TL_KERNEL(_fft_c2r_backward, c2r_backward)

}  // namespace tl
