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
constexpr int64_t kDirectLength = 4096;  // up to here whole transforms, one a lane, stay in the cache
constexpr int64_t kShortLength = 128;    // below, so do transforms of consecutive numbers
constexpr int64_t kLongLength =
    1 << 15;  // from here on, the columns and rows of one transform are split over threads

template <class T>
using Scratch = base::Workspace<T>;

int64_t product(IntSpan sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return n;
}

// Where the i-th transform begins on one side, in real numbers.
int64_t offset_of(int64_t i, IntSpan sizes, IntSpan strides, int64_t unit) {
  if (sizes.size() == 1) return i * strides[0] * unit;
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) offset += i % sizes[d] * strides[d];
  return offset * unit;
}

// The same axis with strides in real numbers on both sides: 2 to a complex number, unless a side is real.
struct Strides {
  IntSpan strides;
  int64_t unit;
};
struct Transforms {
  IntSpan sizes;
  Strides in, out;
  int64_t in_stride, out_stride;  // real numbers between complex ones of a transform
  bool inverse;
  double scale;

  int64_t in_offset(int64_t i) const { return offset_of(i, sizes, in.strides, in.unit); }
  int64_t out_offset(int64_t i) const { return offset_of(i, sizes, out.strides, out.unit); }
};

FftGroup group_of(const Transforms& t, const char* in, char* out) {
  return {in, out, {}, {}, 1, t.in_stride, t.out_stride, t.inverse, t.scale};
}

// Runs each(group of up to `width` transforms) over all of them.
template <class F>
void for_each_group(const Transforms& t, int64_t n, int64_t count, int64_t width, char* out, const char* in,
                    F each) {
  const int64_t groups = (count + width - 1) / width;
  parallel_for(0, groups, std::max<int64_t>(kChunk / (n * width), 1), [&](int64_t begin, int64_t end) {
    FftGroup g = group_of(t, in, out);
    each(g, begin, end, [&](int64_t i) {
      g.lanes = static_cast<int>(std::min(width, count - i * width));
      for (int l = 0; l < g.lanes; ++l) {
        g.in_offset[l] = t.in_offset(i * width + l);
        g.out_offset[l] = t.out_offset(i * width + l);
      }
    });
  });
}

template <class T>
void run_direct(const FftPlan<T>& plan, const Transforms& t, int64_t count, char* out, const char* in) {
  const int64_t width = fft_lanes<T>();
  for_each_group(t, plan.n, count, width, out, in, [&](FftGroup& g, int64_t begin, int64_t end, auto locate) {
    const Scratch<T> scratch(4 * width * plan.n);
    for (int64_t i = begin; i < end; ++i) {
      locate(i);
      fft_kernels(plan).direct(plan, g, scratch.data());
    }
  });
}

// Numbers that are not consecutive are copied to where they are, and back.
template <class T>
void copy_numbers(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to[i * to_stride] = from[i * from_stride];
    to[i * to_stride + 1] = from[i * from_stride + 1];
  }
}

template <class T>
void run_long(const FftPlan<T>& plan, const FftGroup& one, T* planes) {
  const int64_t width = fft_lanes<T>(), columns = plan.columns->n, rows = plan.rows->n;
  parallel_for(0, (rows + width - 1) / width, std::max<int64_t>(kChunk / (columns * width), 1),
               [&](int64_t begin, int64_t end) {
                 const Scratch<T> scratch(plan.column_scratch());
                 for (int64_t i = begin; i < end; ++i)
                   fft_kernels(plan).columns(plan, one, i * width, planes, scratch.data());
               });
  parallel_for(0, (columns + width - 1) / width, std::max<int64_t>(kChunk / (rows * width), 1),
               [&](int64_t begin, int64_t end) {
                 const Scratch<T> scratch(plan.row_scratch());
                 for (int64_t i = begin; i < end; ++i)
                   fft_kernels(plan).rows(plan, one, i * width, planes, scratch.data());
               });
}

// The transforms of a group as if their numbers were consecutive: `run` gets them so.
template <class T, class F>
void run_consecutive(const FftGroup& g, int64_t n, T* copies, F run) {
  if (g.in_stride == 2 && g.out_stride == 2) return run(g);
  FftGroup dense = g;
  dense.in_stride = dense.out_stride = 2;
  if (g.in_stride != 2) {
    dense.in = reinterpret_cast<const char*>(copies);
    for (int l = 0; l < g.lanes; ++l) {
      dense.in_offset[l] = 2 * n * l;
      copy_numbers(reinterpret_cast<const T*>(g.in) + g.in_offset[l], g.in_stride, copies + 2 * n * l, 2, n);
    }
  }
  if (g.out_stride != 2) {
    dense.out = reinterpret_cast<char*>(copies);
    for (int l = 0; l < g.lanes; ++l) dense.out_offset[l] = 2 * n * l;
  }
  run(dense);
  if (g.out_stride != 2)
    for (int l = 0; l < g.lanes; ++l)
      copy_numbers(copies + 2 * n * l, 2, reinterpret_cast<T*>(g.out) + g.out_offset[l], g.out_stride, n);
}

template <class T>
void run_steps(const FftPlan<T>& plan, const Transforms& t, int64_t count, char* out, const char* in) {
  const bool copied = t.in_stride != 2 || t.out_stride != 2;
  const int64_t copies = copied ? 2 * plan.n * plan.together : 0;
  if (plan.n >= kLongLength) {
    for_each_group(t, plan.n, count, 1, out, in, [&](FftGroup& g, int64_t begin, int64_t end, auto locate) {
      const Scratch<T> planes(plan.planes()), memory(copies);
      for (int64_t i = begin; i < end; ++i) {
        locate(i);
        run_consecutive(g, plan.n, memory.data(),
                        [&](const FftGroup& d) { run_long(plan, d, planes.data()); });
      }
    });
    return;
  }
  for_each_group(
      t, plan.n, count, plan.together, out, in, [&](FftGroup& g, int64_t begin, int64_t end, auto locate) {
        const Scratch<T> scratch(plan.step_scratch()), memory(copies);
        for (int64_t i = begin; i < end; ++i) {
          locate(i);
          run_consecutive(g, plan.n, memory.data(),
                          [&](const FftGroup& d) { fft_kernels(plan).steps(plan, d, scratch.data()); });
        }
      });
}

// With w_k = e^(-i pi k^2 / n): X_k = w_k sum_j (x_j w_j) conj(w_(k - j)), a convolution.
template <class T>
void bluestein(const FftPlan<T>& plan, const FftGroup& g, T* x, T* y) {
  const int64_t n = plan.n, m = plan.convolution->n;
  const auto multiply = fft_kernels(plan).multiply;
  const T* from = reinterpret_cast<const T*>(g.in) + g.in_offset[0];
  T* to = reinterpret_cast<T*>(g.out) + g.out_offset[0];
  multiply(from, g.inverse, plan.chirp.data(), x, false, 1, n);
  std::fill(x + 2 * n, x + 2 * m, T(0));
  fft_dense(*plan.convolution, x, y, false);
  multiply(y, false, plan.spectrum.data(), y, false, 1, m);
  fft_dense(*plan.convolution, y, x, true);
  multiply(x, false, plan.chirp.data(), to, g.inverse, static_cast<T>(g.scale), n);
}

template <class T>
void run_bluestein(const FftPlan<T>& plan, const Transforms& t, int64_t count, char* out, const char* in) {
  const int64_t m = plan.convolution->n;
  for_each_group(t, m, count, 1, out, in, [&](FftGroup& g, int64_t begin, int64_t end, auto locate) {
    const Scratch<T> x(2 * m), y(2 * m), copies(2 * plan.n);
    for (int64_t i = begin; i < end; ++i) {
      locate(i);
      run_consecutive(g, plan.n, copies.data(),
                      [&](const FftGroup& d) { bluestein(plan, d, x.data(), y.data()); });
    }
  });
}

// Whether neighbours in memory belong to different transforms on a side, so that lanes need no transposition
// there.
bool lies_across(const Strides& s) { return !s.strides.empty() && s.strides.back() * s.unit == 2; }

// Whether one transform a lane takes less time than the columns and rows of each.
template <class T>
bool fills_lanes(const FftPlan<T>& plan, const Transforms& t, int64_t count) {
  const bool across = lies_across(t.in) || lies_across(t.out);
  return 2 * count >= fft_lanes<T>() && (across ? plan.n <= kDirectLength : plan.n < kShortLength);
}

template <class T>
void run(const FftPlan<T>& plan, const Transforms& t, char* out, const char* in) {
  const int64_t count = product(t.sizes);
  if (count == 0) return;
  if (plan.convolution) return run_bluestein(plan, t, count, out, in);
  if (!plan.columns || fills_lanes(plan, t, count)) return run_direct(plan, t, count, out, in);
  run_steps(plan, t, count, out, in);
}

template <class T>
void real_to_complex(const FftAxis& a, char* out, const char* in) {
  const auto plan = fft_plan<T>(a.n);
  const Transforms t{a.sizes, {a.in_strides, 1}, {a.out_strides, 2}, 2, 2 * a.out_stride, false, a.scale};
  run(*plan, t, out, in);
  const int64_t count = product(a.sizes);
  parallel_for(0, count, std::max<int64_t>(kChunk / a.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      fft_kernels(*plan).unpack(*plan, reinterpret_cast<T*>(out) + t.out_offset(i), 2 * a.out_stride);
  });
}

template <class T>
void complex_to_real(const FftAxis& a, char* out, const char* in) {
  const auto plan = fft_plan<T>(a.n);
  const Transforms t{a.sizes, {a.out_strides, 1}, {a.out_strides, 1}, 2, 2, true, a.scale};
  const int64_t count = product(a.sizes);
  parallel_for(0, count, std::max<int64_t>(kChunk / a.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      fft_kernels(*plan).pack(*plan, reinterpret_cast<const T*>(in) + offset_of(i, a.sizes, a.in_strides, 2),
                              2 * a.in_stride, reinterpret_cast<T*>(out) + t.out_offset(i));
  });
  run(*plan, t, out, out);
}
}  // namespace

template <class T>
void fft_dense(const FftPlan<T>& plan, const T* in, T* out, bool inverse) {
  const Transforms t{{}, {{}, 2}, {{}, 2}, 2, 2, inverse, 1.0};
  run(plan, t, reinterpret_cast<char*>(out), reinterpret_cast<const char*>(in));
}
template void fft_dense(const FftPlan<float>& plan, const float* in, float* out, bool inverse);
template void fft_dense(const FftPlan<double>& plan, const double* in, double* out, bool inverse);

void fft_c2c(DType dtype, const FftAxis& axis, char* out, const char* in) {
  const Transforms t{axis.sizes,         {axis.in_strides, 2}, {axis.out_strides, 2},
                     2 * axis.in_stride, 2 * axis.out_stride,  axis.inverse,
                     axis.scale};
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
