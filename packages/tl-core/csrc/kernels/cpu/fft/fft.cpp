// Splits Fourier transforms along an axis over vectors and threads; Bluestein's convolution; real transforms
// by complex ones of half the length.
#include "kernels/cpu/fft/fft.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/fft/transform.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu {

namespace {
constexpr int64_t kChunk = 1 << 15;      // numbers that are worth a thread
constexpr int64_t kDirectLength = 1024;  // up to here a group of whole transforms stays in the cache

template <class T>
using Scratch = base::Workspace<T>;

const FftKernels<float>& kernels(const FftPlan<float>&) { return TL_SELECT(kFftFloat); }
const FftKernels<double>& kernels(const FftPlan<double>&) { return TL_SELECT(kFftDouble); }

int64_t product(IntSpan sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

// Where the i-th transform begins on one side, in real numbers.
int64_t offset_of(int64_t i, IntSpan sizes, IntSpan strides, int64_t unit) {
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) offset += i % sizes[d] * strides[d];
  return offset * unit;
}

// The same axis with strides in real numbers on both sides: 2 to a complex number, unless a side is real.
struct Side {
  IntSpan strides;
  int64_t unit;
};
struct Transforms {
  IntSpan sizes;
  Side in, out;
  int64_t in_stride, out_stride;  // real numbers between complex ones of a transform
  bool inverse;
  double scale;

  int64_t in_offset(int64_t i) const { return offset_of(i, sizes, in.strides, in.unit); }
  int64_t out_offset(int64_t i) const { return offset_of(i, sizes, out.strides, out.unit); }
};

Transforms complex_transforms(const FftAxis& a) {
  return {a.sizes, {a.in_strides, 2}, {a.out_strides, 2}, 2 * a.in_stride, 2 * a.out_stride, a.inverse,
          a.scale};
}

FftGroup group_of(const Transforms& t, const char* in, char* out) {
  return {in, out, {}, {}, 1, t.in_stride, t.out_stride, t.inverse, t.scale};
}

template <class T>
void run_direct(const FftPlan<T>& plan, const Transforms& t, int64_t count, char* out, const char* in) {
  const int64_t width = fft_lanes<T>(), groups = (count + width - 1) / width;
  parallel_for(0, groups, std::max<int64_t>(kChunk / (plan.n * width), 1), [&](int64_t begin, int64_t end) {
    FftGroup g = group_of(t, in, out);
    for (int64_t i = begin; i < end; ++i) {
      g.lanes = static_cast<int>(std::min(width, count - i * width));
      for (int l = 0; l < g.lanes; ++l) {
        g.in_offset[l] = t.in_offset(i * width + l);
        g.out_offset[l] = t.out_offset(i * width + l);
      }
      kernels(plan).direct(plan, g);
    }
  });
}

template <class T>
void run_four_steps(const FftPlan<T>& plan, FftGroup one, char* planes) {
  const int64_t width = fft_lanes<T>(), columns = plan.columns->n, rows = plan.rows->n;
  const FftSteps steps{one, planes, (columns + width - 1) / width * width};
  parallel_for(0, (rows + width - 1) / width, std::max<int64_t>(kChunk / (columns * width), 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) kernels(plan).columns(plan, steps, i);
               });
  parallel_for(0, (columns + width - 1) / width, std::max<int64_t>(kChunk / (rows * width), 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) kernels(plan).rows(plan, steps, i);
               });
}

// Runs each(group of one lane) for every transform.
template <class F>
void for_each_transform(const Transforms& t, int64_t n, int64_t count, char* out, const char* in, F each) {
  parallel_for(0, count, std::max<int64_t>(kChunk / n, 1), [&](int64_t begin, int64_t end) {
    FftGroup g = group_of(t, in, out);
    for (int64_t i = begin; i < end; ++i) {
      g.in_offset[0] = t.in_offset(i);
      g.out_offset[0] = t.out_offset(i);
      each(g);
    }
  });
}

// With w_k = e^(-i pi k^2 / n): X_k = w_k sum_j (x_j w_j) conj(w_(k - j)), a convolution.
template <class T>
void run_bluestein(const FftPlan<T>& plan, const FftGroup& g) {
  const int64_t n = plan.n, m = plan.convolution->n;
  const Scratch<T> a(2 * m), b(2 * m);
  T *x = a.data(), *y = b.data();
  const T* from = reinterpret_cast<const T*>(g.in) + g.in_offset[0];
  T* to = reinterpret_cast<T*>(g.out) + g.out_offset[0];
  const T* w = plan.chirp.data();
  for (int64_t j = 0; j < n; ++j) {
    const T re = from[j * g.in_stride + g.inverse], im = from[j * g.in_stride + !g.inverse];
    x[2 * j] = re * w[2 * j] - im * w[2 * j + 1];
    x[2 * j + 1] = re * w[2 * j + 1] + im * w[2 * j];
  }
  std::fill(x + 2 * n, x + 2 * m, T(0));
  fft_dense(*plan.convolution, x, y, false);
  const T* h = plan.spectrum.data();
  for (int64_t k = 0; k < 2 * m; k += 2) {
    const T re = y[k], im = y[k + 1];
    y[k] = re * h[k] - im * h[k + 1];
    y[k + 1] = re * h[k + 1] + im * h[k];
  }
  fft_dense(*plan.convolution, y, x, true);
  const T scale = static_cast<T>(g.scale);
  for (int64_t k = 0; k < n; ++k) {
    const T re = x[2 * k], im = x[2 * k + 1];
    to[k * g.out_stride + g.inverse] = (re * w[2 * k] - im * w[2 * k + 1]) * scale;
    to[k * g.out_stride + !g.inverse] = (re * w[2 * k + 1] + im * w[2 * k]) * scale;
  }
}

template <class T>
void run(const FftPlan<T>& plan, const Transforms& t, char* out, const char* in) {
  const int64_t count = product(t.sizes), n = plan.n;
  if (count == 0) return;
  if (plan.convolution)
    return for_each_transform(t, n, count, out, in, [&](const FftGroup& g) { run_bluestein(plan, g); });
  const bool fills_lanes = n <= kDirectLength && 2 * count >= fft_lanes<T>();
  if (!plan.columns || fills_lanes) return run_direct(plan, t, count, out, in);
  const int64_t width = fft_lanes<T>();
  const int64_t planes = 2 * plan.rows->n * ((plan.columns->n + width - 1) / width * width);
  for_each_transform(t, n, count, out, in, [&](const FftGroup& g) {
    const Scratch<T> memory(planes);
    run_four_steps(plan, g, reinterpret_cast<char*>(memory.data()));
  });
}

template <class T>
void dense(const FftPlan<T>& plan, const T* in, T* out, bool inverse) {
  const Transforms t{{}, {{}, 2}, {{}, 2}, 2, 2, inverse, 1.0};
  run(plan, t, reinterpret_cast<char*>(out), reinterpret_cast<const char*>(in));
}

// ---- real numbers: the even and the odd ones are the real and imaginary parts z of n complex numbers
// X_k = E_k + u_k O_k and X_(n - k) = conj(E_k - u_k O_k), where E and O are the transforms of the even and
// the odd numbers, read off Z_k and conj(Z_(n - k)), and u_k = e^(-i pi k / n).
template <class T>
void unpack_spectrum(const FftPlan<T>& plan, T* z, int64_t stride) {
  const int64_t n = plan.n;
  const T re0 = z[0], im0 = z[1];
  z[0] = re0 + im0;
  z[1] = 0;
  z[n * stride] = re0 - im0;
  z[n * stride + 1] = 0;
  for (int64_t k = 1; k <= n / 2; ++k) {
    T *a = z + k * stride, *b = z + (n - k) * stride;
    const T u = plan.half_roots[2 * k], v = plan.half_roots[2 * k + 1];
    const T even_re = (a[0] + b[0]) / 2, even_im = (a[1] - b[1]) / 2;
    const T odd_re = (a[1] + b[1]) / 2, odd_im = (b[0] - a[0]) / 2;
    const T rotated_re = odd_re * u - odd_im * v, rotated_im = odd_re * v + odd_im * u;
    a[0] = even_re + rotated_re;
    a[1] = even_im + rotated_im;
    b[0] = even_re - rotated_re;
    b[1] = rotated_im - even_im;
  }
}

// The other way round, from X to Z; imaginary parts of the first and last number count as zero.
template <class T>
void pack_spectrum(const FftPlan<T>& plan, const T* x, int64_t stride, T* z) {
  const int64_t n = plan.n;
  const T first = x[0], last = x[n * stride];
  for (int64_t k = 1; k <= n / 2; ++k) {
    const T *a = x + k * stride, *b = x + (n - k) * stride;
    const T u = plan.half_roots[2 * k], v = -plan.half_roots[2 * k + 1];
    const T even_re = a[0] + b[0], even_im = a[1] - b[1], apart_re = a[0] - b[0], apart_im = a[1] + b[1];
    const T odd_re = apart_re * u - apart_im * v, odd_im = apart_re * v + apart_im * u;
    z[2 * k] = even_re - odd_im;
    z[2 * k + 1] = even_im + odd_re;
    z[2 * (n - k)] = even_re + odd_im;
    z[2 * (n - k) + 1] = odd_re - even_im;
  }
  z[0] = first + last;
  z[1] = first - last;
}

template <class T>
void real_to_complex(const FftAxis& a, char* out, const char* in) {
  const auto plan = fft_plan<T>(a.n);
  const Transforms t{a.sizes, {a.in_strides, 1}, {a.out_strides, 2}, 2, 2 * a.out_stride, false, a.scale};
  run(*plan, t, out, in);
  const int64_t count = product(a.sizes);
  parallel_for(0, count, std::max<int64_t>(kChunk / a.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      unpack_spectrum(*plan, reinterpret_cast<T*>(out) + t.out_offset(i), 2 * a.out_stride);
  });
}

template <class T>
void complex_to_real(const FftAxis& a, char* out, const char* in) {
  const auto plan = fft_plan<T>(a.n);
  const Transforms t{a.sizes, {a.out_strides, 1}, {a.out_strides, 1}, 2, 2, true, a.scale};
  const int64_t count = product(a.sizes);
  parallel_for(0, count, std::max<int64_t>(kChunk / a.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pack_spectrum(*plan, reinterpret_cast<const T*>(in) + offset_of(i, a.sizes, a.in_strides, 2),
                    2 * a.in_stride, reinterpret_cast<T*>(out) + t.out_offset(i));
  });
  run(*plan, t, out, out);
}
}  // namespace

void fft_dense(const FftPlan<float>& plan, const float* in, float* out, bool inverse) {
  dense(plan, in, out, inverse);
}
void fft_dense(const FftPlan<double>& plan, const double* in, double* out, bool inverse) {
  dense(plan, in, out, inverse);
}

void fft_c2c(DType dtype, const FftAxis& axis, char* out, const char* in) {
  const Transforms t = complex_transforms(axis);
  dtype == DType::Float32 ? run(*fft_plan<float>(axis.n), t, out, in)
                          : run(*fft_plan<double>(axis.n), t, out, in);
}

void fft_r2c(DType dtype, const FftAxis& axis, char* out, const char* in) {
  dtype == DType::Float32 ? real_to_complex<float>(axis, out, in) : real_to_complex<double>(axis, out, in);
}

void fft_c2r(DType dtype, const FftAxis& axis, char* out, const char* in) {
  dtype == DType::Float32 ? complex_to_real<float>(axis, out, in) : complex_to_real<double>(axis, out, in);
}

}  // namespace tl::cpu
