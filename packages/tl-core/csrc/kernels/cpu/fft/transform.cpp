// isa: all, by hand
// Complex Fourier transforms: lanes are transforms of their own, or the columns and rows of one.
#include "kernels/cpu/fft/transform.h"

#include <algorithm>

#include "kernels/cpu/fft/lanes.h"
#include "kernels/cpu/fft/passes.h"
#include "kernels/cpu/fft/real.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {
// How the lanes of a group lie in memory.
enum class Lying { Consecutive, Dense, Anyhow };

Lying lying_of(const int64_t* offsets, int lanes, int64_t stride) {
  bool consecutive = true;
  for (int l = 0; l < lanes; ++l) consecutive &= offsets[l] == offsets[0] + 2 * l;
  if (consecutive && lanes > 1) return Lying::Consecutive;
  return stride == 2 ? Lying::Dense : Lying::Anyhow;
}

// Vectors of consecutive numbers, `apart` real numbers from one to the next.
template <class T>
struct LoadAcross {
  const T* from;
  int64_t apart;
  int lanes;
  bool inverse;
  TL_INLINE Complexes<T> operator()(int64_t i) const {
    return exchanged(load_consecutive(from + i * apart, lanes), inverse);
  }
};
template <class T>
struct StoreAcross {
  T* to;
  int64_t apart;
  int lanes;
  bool inverse;
  T scale;
  TL_INLINE void operator()(int64_t k, Complexes<T> a) const {
    store_consecutive(to + k * apart, lanes, scaled(exchanged(a, inverse), scale));
  }
};
// ---- one transform a lane ---------------------------------------------------------------------------------
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
void direct_across(const FftPlan<T>& plan, const FftGroup& g, Complexes<T>* x) {
  const T* from = reinterpret_cast<const T*>(g.in) + g.in_offset[0];
  T* to = reinterpret_cast<T*>(g.out) + g.out_offset[0];
  run_passes(plan, x, x + plan.n, LoadAcross<T>{from, g.in_stride, g.lanes, g.inverse},
             StoreAcross<T>{to, g.out_stride, g.lanes, g.inverse, static_cast<T>(g.scale)});
}

template <class T>
void direct(const FftPlan<T>& plan, const FftGroup& g, T* scratch) {
  auto* x = reinterpret_cast<Complexes<T>*>(scratch);
  auto* y = x + plan.n;
  if (lying_of(g.in_offset, g.lanes, g.in_stride) == Lying::Consecutive &&
      lying_of(g.out_offset, g.lanes, g.out_stride) == Lying::Consecutive)
    return direct_across(plan, g, x);
  load_group<T>(g, plan.n, x);
  // Passes alternate between the buffers.
  for (const FftPass& f : plan.passes) {
    one_pass<Position::Anywhere>(plan, f, FromBuffer<T>{x}, ToBuffer<T>{y});
    std::swap(x, y);
  }
  store_group<T>(g, plan.n, x);
}

// ---- four steps: columns, rotated and transposed, then rows -----------------------------------------------
template <class T>
struct StoreRotated {
  Complexes<T>* to;
  const T* rotation;
  TL_INLINE void operator()(int64_t k, Complexes<T> a) const {
    const auto* w = reinterpret_cast<const char*>(rotation + 2 * k * kLanes<T>);
    to[k] = times(a, Complexes<T>{read<Vec<T>>(w), read<Vec<T>>(w + sizeof(Vec<T>))});
  }
};
template <class T>
struct LoadPlanes {
  const T *re, *im;
  int64_t apart;
  TL_INLINE Complexes<T> operator()(int64_t j) const {
    return {read<Vec<T>>(reinterpret_cast<const char*>(re + j * apart)),
            read<Vec<T>>(reinterpret_cast<const char*>(im + j * apart))};
  }
};
// Some columns of one signal, transformed and rotated, to y.
template <class T>
void columns_of(const FftPlan<T>& plan, const T* from, bool inverse, int64_t first, Complexes<T>* y,
                Complexes<T>* buffers) {
  const int64_t n = plan.columns->n, count = plan.rows->n;
  const int lanes = static_cast<int>(std::min<int64_t>(kLanes<T>, count - first));
  run_passes(*plan.columns, buffers, buffers + n, LoadAcross<T>{from + 2 * first, 2 * count, lanes, inverse},
             StoreRotated<T>{y, plan.rotation.data() + first * n * 2});
}

// `padded` vectors, a lane a row, become rows of planes.
template <class T>
void to_planes(const Complexes<T>* y, int64_t padded, int rows, T* re_plane, T* im_plane) {
  constexpr int W = kLanes<T>;
  for (int64_t k = 0; k < padded; k += W) {
    Vec<T> re[W], im[W];
    for (int i = 0; i < W; ++i) re[i] = y[k + i].re;
    RegisterTranspose<T>::transpose(re);
    for (int l = 0; l < rows; ++l) write(reinterpret_cast<char*>(re_plane + l * padded + k), re[l]);
    for (int i = 0; i < W; ++i) im[i] = y[k + i].im;
    RegisterTranspose<T>::transpose(im);
    for (int l = 0; l < rows; ++l) write(reinterpret_cast<char*>(im_plane + l * padded + k), im[l]);
  }
}

template <class T>
int64_t padded_to_lanes(int64_t n) {
  return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

template <class T>
void columns(const FftPlan<T>& plan, const FftGroup& one, int64_t first, T* planes, T* scratch) {
  const int64_t n = plan.columns->n, padded = padded_to_lanes<T>(n), count = plan.rows->n;
  auto* y = reinterpret_cast<Complexes<T>*>(scratch);
  columns_of(plan, reinterpret_cast<const T*>(one.in) + one.in_offset[0], one.inverse, first, y, y + padded);
  for (int64_t k = n; k < padded; ++k) y[k] = Complexes<T>{};
  const int rows = static_cast<int>(std::min<int64_t>(kLanes<T>, count - first));
  to_planes(y, padded, rows, planes + first * padded, planes + (count + first) * padded);
}

template <class T>
void rows(const FftPlan<T>& plan, const FftGroup& one, int64_t first, const T* planes, T* scratch) {
  const int64_t n = plan.rows->n, length = plan.columns->n, padded = padded_to_lanes<T>(length);
  auto* x = reinterpret_cast<Complexes<T>*>(scratch);
  const int lanes = static_cast<int>(std::min<int64_t>(kLanes<T>, length - first));
  run_passes(*plan.rows, x, x + n, LoadPlanes<T>{planes + first, planes + n * padded + first, padded},
             StoreAcross<T>{reinterpret_cast<T*>(one.out) + one.out_offset[0] + 2 * first, 2 * length, lanes,
                            one.inverse, static_cast<T>(one.scale)});
}

template <class T, size_t... I>
TL_INLINE void write_half(T* to, Vec<T> v, bool upper, std::index_sequence<I...>) {
  constexpr int kHalf = kLanes<T> / 2;
  if constexpr (kVecBytes == 16) {  // no vectors of 8 bytes: they would be MMX's, which disturb the x87
    for (int i = 0; i < kHalf; ++i) to[i] = v[upper * kHalf + i];
  } else {
    const Pack<T, kHalf> half = upper ? __builtin_shufflevector(v, v, static_cast<int>(kHalf + I)...)
                                      : __builtin_shufflevector(v, v, static_cast<int>(I)...);
    __builtin_memcpy(to, &half, sizeof half);
  }
}

// Vectors of which two or four transforms have equal parts, to where their numbers lie.
template <class T, int kTransforms>
struct StoreParts {
  T* to[kTransforms];
  bool inverse;
  T scale;

  StoreParts(const FftGroup& g) : inverse(g.inverse), scale(static_cast<T>(g.scale)) {
    for (int l = 0; l < kTransforms; ++l) to[l] = reinterpret_cast<T*>(g.out) + g.out_offset[l];
  }
  TL_INLINE void operator()(int64_t k, Complexes<T> a) const {
    constexpr int W = kLanes<T>;
    constexpr auto kAll = std::make_index_sequence<W>{};
    constexpr auto kHalf = std::make_index_sequence<W / 2>{};
    a = scaled(exchanged(a, inverse), scale);
    const Vec<T> low = interleaved_low<T>(a, kAll), high = interleaved_high<T>(a, kAll);
    const int64_t at = k * 2 * W / kTransforms;
    if constexpr (kTransforms == 2) {
      write(reinterpret_cast<char*>(to[0] + at), low);
      write(reinterpret_cast<char*>(to[1] + at), high);
    } else {
      write_half(to[0] + at, low, false, kHalf);
      write_half(to[1] + at, low, true, kHalf);
      write_half(to[2] + at, high, false, kHalf);
      write_half(to[3] + at, high, true, kHalf);
    }
  }
};

// The same for parts of any size.
template <class T>
void store_blocks(const FftGroup& g, const Complexes<T>* x, int64_t n, int64_t block) {
  constexpr int W = kLanes<T>;
  for (int64_t k = 0; k < n; ++k) {
    alignas(64) T numbers[2 * W];
    store_consecutive(numbers, W, scaled(exchanged(x[k], g.inverse), static_cast<T>(g.scale)));
    for (int l = 0; l < g.lanes; ++l)
      std::copy_n(numbers + 2 * l * block, 2 * block,
                  reinterpret_cast<T*>(g.out) + g.out_offset[l] + 2 * k * block);
  }
}

// Several transforms whose rows fill one vector together.
template <class T>
void rows_together(const FftPlan<T>& plan, const FftGroup& g, const T* planes, T* scratch) {
  constexpr int W = kLanes<T>;
  const int64_t n = plan.rows->n, block = plan.columns->n;
  auto *x = reinterpret_cast<Complexes<T>*>(scratch), *y = x + n, *result = y + n;
  const LoadPlanes<T> load{planes, planes + n * W, W};
  if (g.lanes == 2 && 2 * block == W) return run_passes(*plan.rows, x, y, load, StoreParts<T, 2>(g));
  if (g.lanes == 4 && 4 * block == W) return run_passes(*plan.rows, x, y, load, StoreParts<T, 4>(g));
  run_passes(*plan.rows, x, y, load, ToBuffer<T>{result});
  store_blocks(g, result, n, block);
}

// The columns of a group where one pass computes them and rows fill their vectors: without a call for each
// signal.
template <int R, class T>
void short_columns(const FftPlan<T>& plan, const FftGroup& g, int64_t first, Complexes<T>* y) {
  const int64_t apart = 2 * plan.rows->n;
  const T* rotation = plan.rotation.data() + first * R * 2;
  for (int l = 0; l < g.lanes; ++l) {
    const T* from = reinterpret_cast<const T*>(g.in) + g.in_offset[l] + 2 * first;
    Complexes<T> a[R];
    for (int j = 0; j < R; ++j) a[j] = exchanged(load_consecutive(from + j * apart, kLanes<T>), g.inverse);
    butterfly<R>(a);
    for (int k = 0; k < R; ++k) StoreRotated<T>{y + l * R, rotation}(k, a[k]);
  }
}

template <class T>
void columns_together(const FftPlan<T>& plan, const FftGroup& g, int64_t first, Complexes<T>* y,
                      int64_t padded) {
  const int64_t n = plan.columns->n;
  if (plan.columns->passes.size() == 1 && first + kLanes<T> <= plan.rows->n) switch (n) {
      case 4:
        return short_columns<4>(plan, g, first, y);
      case 8:
        return short_columns<8>(plan, g, first, y);
      case 16:
        return short_columns<16>(plan, g, first, y);
    }
  for (int l = 0; l < g.lanes; ++l)
    columns_of(plan, reinterpret_cast<const T*>(g.in) + g.in_offset[l], g.inverse, first, y + l * n,
               y + padded);
}

template <class T>
void steps(const FftPlan<T>& plan, const FftGroup& g, T* scratch) {
  constexpr int W = kLanes<T>;
  const int64_t n = plan.columns->n, count = plan.rows->n, padded = padded_to_lanes<T>(plan.together * n);
  T* planes = scratch;
  auto* y = reinterpret_cast<Complexes<T>*>(planes + 2 * count * padded);
  for (int64_t k = g.lanes * n; k < padded; ++k) y[k] = Complexes<T>{};
  for (int64_t first = 0; first < count; first += W) {
    columns_together(plan, g, first, y, padded);
    const int lanes = static_cast<int>(std::min<int64_t>(W, count - first));
    to_planes(y, padded, lanes, planes + first * padded, planes + (count + first) * padded);
  }
  T* rest = reinterpret_cast<T*>(y);
  if (plan.together > 1) return rows_together(plan, g, planes, rest);
  for (int64_t first = 0; first < n; first += W) rows(plan, g, first, planes, rest);
}
}  // namespace

const FftKernels<float> kFftFloat = {
    direct<float>,          steps<float>,         columns<float>,  rows<float>,
    unpack_spectrum<float>, pack_spectrum<float>, multiply<float>,
};
const FftKernels<double> kFftDouble = {
    direct<double>,          steps<double>,         columns<double>,  rows<double>,
    unpack_spectrum<double>, pack_spectrum<double>, multiply<double>,
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
