// isa: all, by hand
// Complex Fourier transforms: Stockham's autosort passes over vectors whose lanes are transforms of their
// own.
#include "kernels/cpu/fft/transform.h"

#include <algorithm>

#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/simd/transpose.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// A complex number in each lane.
template <class T>
struct Complexes {
  using V = Vec<T>;
  V re, im;
};
template <class T>
TL_INLINE Complexes<T> operator+(Complexes<T> a, Complexes<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
TL_INLINE Complexes<T> operator-(Complexes<T> a, Complexes<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
TL_INLINE Complexes<T> times(Complexes<T> a, T re, T im) {
  using V = Vec<T>;
  const V r = broadcast<V>(re), i = broadcast<V>(im);
  return {fma(a.re, r, -(a.im * i)), fma(a.re, i, a.im * r)};
}
template <class T>
TL_INLINE Complexes<T> times_minus_i(Complexes<T> a) {
  return {a.im, -a.re};
}
template <class T>
TL_INLINE Complexes<T> scaled(Complexes<T> a, T by) {
  const Vec<T> f = broadcast<Vec<T>>(by);
  return {a.re * f, a.im * f};
}
// a + b f
template <class T>
TL_INLINE Complexes<T> plus_scaled(Complexes<T> a, Complexes<T> b, T f) {
  const Vec<T> v = broadcast<Vec<T>>(f);
  return {fma(b.re, v, a.re), fma(b.im, v, a.im)};
}

// ---- butterflies: transforms of R numbers, in place
template <class T>
TL_INLINE void butterfly2(Complexes<T>* a) {
  const Complexes<T> x = a[0], y = a[1];
  a[0] = x + y;
  a[1] = x - y;
}
template <class T>
TL_INLINE void butterfly3(Complexes<T>* a) {
  constexpr T kHalf = T(-0.5), kSin = T(0.86602540378443864676);
  const Complexes<T> sum = a[1] + a[2], difference = times_minus_i(scaled(a[1] - a[2], kSin));
  const Complexes<T> middle = plus_scaled(a[0], sum, kHalf);
  a[0] = a[0] + sum;
  a[1] = middle + difference;
  a[2] = middle - difference;
}
template <class T>
TL_INLINE void butterfly4(Complexes<T>* a) {
  const Complexes<T> s02 = a[0] + a[2], d02 = a[0] - a[2], s13 = a[1] + a[3];
  const Complexes<T> d13 = times_minus_i(a[1] - a[3]);
  a[0] = s02 + s13;
  a[1] = d02 + d13;
  a[2] = s02 - s13;
  a[3] = d02 - d13;
}
template <class T>
TL_INLINE void butterfly5(Complexes<T>* a) {
  constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
  constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
  const Complexes<T> p1 = a[1] + a[4], m1 = a[1] - a[4], p2 = a[2] + a[3], m2 = a[2] - a[3];
  const Complexes<T> e1 = plus_scaled(plus_scaled(a[0], p1, c1), p2, c2);
  const Complexes<T> e2 = plus_scaled(plus_scaled(a[0], p1, c2), p2, c1);
  const Complexes<T> o1 = times_minus_i(plus_scaled(scaled(m1, s1), m2, s2));
  const Complexes<T> o2 = times_minus_i(plus_scaled(scaled(m1, s2), m2, -s1));
  a[0] = a[0] + p1 + p2;
  a[1] = e1 + o1;
  a[2] = e2 + o2;
  a[3] = e2 - o2;
  a[4] = e1 - o1;
}
template <class T>
TL_INLINE void butterfly8(Complexes<T>* a) {
  constexpr T h = T(0.70710678118654752440);
  Complexes<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
  butterfly4(even);
  butterfly4(odd);
  odd[1] = times(odd[1], h, -h);
  odd[2] = times_minus_i(odd[2]);
  odd[3] = times(odd[3], -h, -h);
  for (int k = 0; k < 4; ++k) {
    a[k] = even[k] + odd[k];
    a[k + 4] = even[k] - odd[k];
  }
}

template <int R, class T>
TL_INLINE void butterfly(Complexes<T>* a) {
  if constexpr (R == 2) butterfly2(a);
  if constexpr (R == 3) butterfly3(a);
  if constexpr (R == 4) butterfly4(a);
  if constexpr (R == 5) butterfly5(a);
  if constexpr (R == 8) butterfly8(a);
}

// Of an odd number r: pairs of inputs that stand symmetrically have real factors.
template <class T>
void odd_butterfly(int r, const T* roots, Complexes<T>* a) {
  const int half = (r - 1) / 2;
  Complexes<T> plus[15], minus[15], out[31];
  out[0] = a[0];
  for (int j = 0; j < half; ++j) {
    plus[j] = a[j + 1] + a[r - 1 - j];
    minus[j] = a[j + 1] - a[r - 1 - j];
    out[0] = out[0] + plus[j];
  }
  for (int k = 1; k <= half; ++k) {
    Complexes<T> even = a[0], odd = {};
    for (int j = 0; j < half; ++j) {
      const int turn = (j + 1) * k % r;
      even = plus_scaled(even, plus[j], roots[2 * turn]);
      odd = plus_scaled(odd, minus[j], roots[2 * turn + 1]);
    }
    odd = times_minus_i(odd);
    out[k] = even + odd;
    out[r - k] = even - odd;
  }
  for (int k = 0; k < r; ++k) a[k] = out[k];
}

// ---- passes
template <int R, class T>
void pass(const FftPass& f, const T* twiddles, const Complexes<T>* x, Complexes<T>* y) {
  for (int64_t p = 0; p < f.m; ++p) {
    const T* w = twiddles + f.twiddles + p * 2 * (R - 1);
    for (int64_t q = 0; q < f.s; ++q) {
      Complexes<T> a[R];
      for (int j = 0; j < R; ++j) a[j] = x[q + f.s * (p + f.m * j)];
      butterfly<R>(a);
      y[q + f.s * R * p] = a[0];
      for (int k = 1; k < R; ++k)
        y[q + f.s * (R * p + k)] = p == 0 ? a[k] : times(a[k], w[2 * (k - 1)], w[2 * (k - 1) + 1]);
    }
  }
}

template <class T>
void odd_pass(const FftPass& f, const FftPlan<T>& plan, const Complexes<T>* x, Complexes<T>* y) {
  const int r = f.radix;
  const T* roots = plan.roots.data() + plan.root_of[r];
  for (int64_t p = 0; p < f.m; ++p) {
    const T* w = plan.twiddles.data() + f.twiddles + p * 2 * (r - 1);
    for (int64_t q = 0; q < f.s; ++q) {
      Complexes<T> a[31];
      for (int j = 0; j < r; ++j) a[j] = x[q + f.s * (p + f.m * j)];
      odd_butterfly(r, roots, a);
      y[q + f.s * r * p] = a[0];
      for (int k = 1; k < r; ++k) y[q + f.s * (r * p + k)] = times(a[k], w[2 * (k - 1)], w[2 * (k - 1) + 1]);
    }
  }
}

// All passes, between x and y; returns where the result is.
template <class T>
Complexes<T>* run_passes(const FftPlan<T>& plan, Complexes<T>* x, Complexes<T>* y) {
  for (const FftPass& f : plan.passes) {
    const T* w = plan.twiddles.data();
    switch (f.radix) {
      case 2:
        pass<2>(f, w, x, y);
        break;
      case 3:
        pass<3>(f, w, x, y);
        break;
      case 4:
        pass<4>(f, w, x, y);
        break;
      case 5:
        pass<5>(f, w, x, y);
        break;
      case 8:
        pass<8>(f, w, x, y);
        break;
      default:
        odd_pass(f, plan, x, y);
    }
    std::swap(x, y);
  }
  return x;
}

// ---- loads and stores. An inverse transform is a forward one of numbers whose parts are exchanged.
template <class T>
TL_INLINE Complexes<T> exchanged(Complexes<T> a, bool inverse) {
  return inverse ? Complexes<T>{a.im, a.re} : a;
}

// One number for each lane, from or to anywhere.
template <class T>
Complexes<T> gather(const T* const* lanes, int count, int64_t offset) {
  alignas(64) T re[kLanes<T>] = {}, im[kLanes<T>] = {};
  for (int l = 0; l < count; ++l) {
    re[l] = lanes[l][offset];
    im[l] = lanes[l][offset + 1];
  }
  return {read<Vec<T>>(reinterpret_cast<const char*>(re)), read<Vec<T>>(reinterpret_cast<const char*>(im))};
}
template <class T>
void scatter(T* const* lanes, int count, int64_t offset, Complexes<T> a) {
  alignas(64) T re[kLanes<T>], im[kLanes<T>];
  write(reinterpret_cast<char*>(re), a.re);
  write(reinterpret_cast<char*>(im), a.im);
  for (int l = 0; l < count; ++l) {
    lanes[l][offset] = re[l];
    lanes[l][offset + 1] = im[l];
  }
}

template <class T, size_t... I>
TL_INLINE Complexes<T> deinterleaved(Vec<T> a, Vec<T> b, std::index_sequence<I...>) {
  return {__builtin_shufflevector(a, b, static_cast<int>(2 * I)...),
          __builtin_shufflevector(a, b, static_cast<int>(2 * I + 1)...)};
}
template <class T, size_t... I>
TL_INLINE Vec<T> interleaved(Complexes<T> a, bool upper, std::index_sequence<I...>) {
  constexpr int W = kLanes<T>;
  if (upper) return __builtin_shufflevector(a.re, a.im, static_cast<int>(W / 2 + (I % 2 ? W : 0) + I / 2)...);
  return __builtin_shufflevector(a.re, a.im, static_cast<int>((I % 2 ? W : 0) + I / 2)...);
}

// Consecutive numbers, one a lane.
template <class T>
TL_INLINE Complexes<T> load_consecutive(const T* p, int count) {
  constexpr int W = kLanes<T>;
  const char* at = reinterpret_cast<const char*>(p);
  Vec<T> low, high;
  if (count == W) {
    low = load<T>(at);
    high = load<T>(at + sizeof(Vec<T>));
  } else {
    low = load_partial<T>(at, std::min(2 * count, W));
    high = 2 * count > W ? load_partial<T>(at + sizeof(Vec<T>), 2 * count - W) : Vec<T>{};
  }
  return deinterleaved<T>(low, high, std::make_index_sequence<W>{});
}
template <class T>
TL_INLINE void store_consecutive(T* p, int count, Complexes<T> a) {
  constexpr int W = kLanes<T>;
  char* at = reinterpret_cast<char*>(p);
  const Vec<T> low = interleaved<T>(a, false, std::make_index_sequence<W>{});
  const Vec<T> high = interleaved<T>(a, true, std::make_index_sequence<W>{});
  if (count == W) {
    store<T>(at, low);
    store<T>(at + sizeof(Vec<T>), high);
  } else {
    store_partial<T>(at, std::min(2 * count, W), low);
    if (2 * count > W) store_partial<T>(at + sizeof(Vec<T>), 2 * count - W, high);
  }
}

// How the lanes of a group lie in memory.
enum class Lying { Consecutive, Dense, Anyhow };

Lying lying_of(const int64_t* offsets, int lanes, int64_t stride) {
  bool consecutive = true;
  for (int l = 0; l < lanes; ++l) consecutive &= offsets[l] == offsets[0] + 2 * l;
  if (consecutive && lanes > 1) return Lying::Consecutive;
  return stride == 2 ? Lying::Dense : Lying::Anyhow;
}

// Lanes whose numbers are consecutive: blocks of a vector from each are transposed in registers.
template <class T>
void load_dense(const T* const* lanes, int count, int64_t n, bool inverse, Complexes<T>* x) {
  constexpr int W = kLanes<T>, kBlock = W / 2;
  Vec<T> rows[W];
  for (int64_t j = 0; j < n; j += kBlock) {
    const int left = static_cast<int>(std::min<int64_t>(kBlock, n - j));
    for (int l = 0; l < W; ++l) {
      const char* at = reinterpret_cast<const char*>(lanes[l < count ? l : 0] + 2 * j);
      rows[l] = left == kBlock ? load<T>(at) : load_partial<T>(at, 2 * left);
    }
    RegisterTranspose<T>::transpose(rows);
    for (int i = 0; i < left; ++i) x[j + i] = exchanged<T>({rows[2 * i], rows[2 * i + 1]}, inverse);
  }
}
template <class T>
void store_dense(T* const* lanes, int count, int64_t n, bool inverse, T scale, const Complexes<T>* x) {
  constexpr int W = kLanes<T>, kBlock = W / 2;
  Vec<T> rows[W];
  for (int64_t j = 0; j < n; j += kBlock) {
    const int left = static_cast<int>(std::min<int64_t>(kBlock, n - j));
    for (int i = 0; i < kBlock; ++i) {
      const Complexes<T> a = i < left ? scaled(exchanged(x[j + i], inverse), scale) : Complexes<T>{};
      rows[2 * i] = a.re;
      rows[2 * i + 1] = a.im;
    }
    RegisterTranspose<T>::transpose(rows);
    for (int l = 0; l < count; ++l) {
      char* at = reinterpret_cast<char*>(lanes[l] + 2 * j);
      left == kBlock ? store<T>(at, rows[l]) : store_partial<T>(at, 2 * left, rows[l]);
    }
  }
}

template <class T>
void load_group(const FftGroup& g, int64_t n, Complexes<T>* x) {
  const T* lanes[kMostLanes];
  for (int l = 0; l < g.lanes; ++l) lanes[l] = reinterpret_cast<const T*>(g.in) + g.in_offset[l];
  switch (lying_of(g.in_offset, g.lanes, g.in_stride)) {
    case Lying::Consecutive:
      for (int64_t j = 0; j < n; ++j)
        x[j] = exchanged(load_consecutive<T>(lanes[0] + j * g.in_stride, g.lanes), g.inverse);
      break;
    case Lying::Dense:
      load_dense(lanes, g.lanes, n, g.inverse, x);
      break;
    case Lying::Anyhow:
      for (int64_t j = 0; j < n; ++j) x[j] = exchanged(gather<T>(lanes, g.lanes, j * g.in_stride), g.inverse);
  }
}

template <class T>
void store_group(const FftGroup& g, int64_t n, const Complexes<T>* x) {
  const T scale = static_cast<T>(g.scale);
  T* lanes[kMostLanes];
  for (int l = 0; l < g.lanes; ++l) lanes[l] = reinterpret_cast<T*>(g.out) + g.out_offset[l];
  switch (lying_of(g.out_offset, g.lanes, g.out_stride)) {
    case Lying::Consecutive:
      for (int64_t j = 0; j < n; ++j)
        store_consecutive<T>(lanes[0] + j * g.out_stride, g.lanes, scaled(exchanged(x[j], g.inverse), scale));
      break;
    case Lying::Dense:
      store_dense(lanes, g.lanes, n, g.inverse, scale, x);
      break;
    case Lying::Anyhow:
      for (int64_t j = 0; j < n; ++j)
        scatter<T>(lanes, g.lanes, j * g.out_stride, scaled(exchanged(x[j], g.inverse), scale));
  }
}

template <class T>
void direct(const FftPlan<T>& plan, const FftGroup& g) {
  const Workspace<char> memory(2 * plan.n * static_cast<int64_t>(sizeof(Complexes<T>)));
  auto* x = reinterpret_cast<Complexes<T>*>(memory.data());
  load_group<T>(g, plan.n, x);
  store_group<T>(g, plan.n, run_passes(plan, x, x + plan.n));
}

// ---- the two steps of a long transform
template <class T>
void columns(const FftPlan<T>& plan, const FftSteps& s, int64_t group) {
  constexpr int W = kLanes<T>;
  const int64_t n = plan.columns->n, count = plan.rows->n, first = group * W;
  const Workspace<char> memory(2 * s.padded * static_cast<int64_t>(sizeof(Complexes<T>)));
  auto* x = reinterpret_cast<Complexes<T>*>(memory.data());
  FftGroup g = s.one;
  g.lanes = static_cast<int>(std::min<int64_t>(W, count - first));
  for (int l = 0; l < g.lanes; ++l) g.in_offset[l] = s.one.in_offset[0] + (first + l) * s.one.in_stride;
  g.in_stride = count * s.one.in_stride;
  load_group<T>(g, n, x);
  Complexes<T>* y = run_passes(*plan.columns, x, x + s.padded);
  const T* rotation = plan.rotation.data() + group * n * 2 * W;
  for (int64_t k = 0; k < n; ++k) {
    const Vec<T> re = read<Vec<T>>(reinterpret_cast<const char*>(rotation + 2 * k * W));
    const Vec<T> im = read<Vec<T>>(reinterpret_cast<const char*>(rotation + (2 * k + 1) * W));
    const Complexes<T> a = y[k];
    y[k] = {fma(a.re, re, -(a.im * im)), fma(a.re, im, a.im * re)};
  }
  for (int64_t k = n; k < s.padded; ++k) y[k] = Complexes<T>{};
  T* planes = reinterpret_cast<T*>(s.planes);
  const int64_t plane = count * s.padded;
  for (int64_t k = 0; k < s.padded; k += W) {
    Vec<T> re[W], im[W];
    for (int i = 0; i < W; ++i) {
      re[i] = y[k + i].re;
      im[i] = y[k + i].im;
    }
    RegisterTranspose<T>::transpose(re);
    RegisterTranspose<T>::transpose(im);
    for (int l = 0; l < g.lanes; ++l) {
      T* to = planes + (first + l) * s.padded + k;
      write(reinterpret_cast<char*>(to), re[l]);
      write(reinterpret_cast<char*>(to + plane), im[l]);
    }
  }
}

template <class T>
void rows(const FftPlan<T>& plan, const FftSteps& s, int64_t group) {
  constexpr int W = kLanes<T>;
  const int64_t n = plan.rows->n, length = plan.columns->n, first = group * W;
  const Workspace<char> memory(2 * n * static_cast<int64_t>(sizeof(Complexes<T>)));
  auto* x = reinterpret_cast<Complexes<T>*>(memory.data());
  const T* planes = reinterpret_cast<const T*>(s.planes) + first;
  const int64_t plane = n * s.padded;
  for (int64_t j = 0; j < n; ++j)
    x[j] = {read<Vec<T>>(reinterpret_cast<const char*>(planes + j * s.padded)),
            read<Vec<T>>(reinterpret_cast<const char*>(planes + plane + j * s.padded))};
  FftGroup g = s.one;
  g.lanes = static_cast<int>(std::min<int64_t>(W, length - first));
  for (int l = 0; l < g.lanes; ++l) g.out_offset[l] = s.one.out_offset[0] + (first + l) * s.one.out_stride;
  g.out_stride = length * s.one.out_stride;
  store_group<T>(g, n, run_passes(*plan.rows, x, x + n));
}

}  // namespace

const FftKernels<float> kFftFloat = {direct<float>, columns<float>, rows<float>};
const FftKernels<double> kFftDouble = {direct<double>, columns<double>, rows<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
