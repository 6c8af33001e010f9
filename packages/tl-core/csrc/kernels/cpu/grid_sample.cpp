#include "kernels/cpu/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"

namespace tl::cpu {

namespace {

constexpr int64_t kBlock = 64;  // points whose taps are computed at once

// What one coordinate contributes: positions along its axis and weights.
template <class T>
struct AxisTaps {
  int64_t at[4];
  T weight[4];
  int count = 0;

  void tap(int64_t i, T w, int64_t size) {
    if (i < 0 || i >= size) return;
    at[count] = i;
    weight[count++] = w;
  }
};

template <class T>
struct Place {
  T x, slope;  // the coordinate in positions, and its derivative by the point
};

// Anything that is no position in reach of an int stays outside of every grid.
template <class T>
T tame(T x) {
  return x > T(-1e9) && x < T(1e9) ? x : T(-100);
}

template <class T>
Place<T> clipped(Place<T> p, int64_t size) {
  const T top = static_cast<T>(size - 1);
  if (p.x <= 0) return {T(0), T(0)};
  return p.x >= top ? Place<T>{top, T(0)} : p;
}

template <class T>
Place<T> reflected(Place<T> p, int64_t size, bool align) {
  const T low = align ? T(0) : T(-0.5), span = static_cast<T>(align ? size - 1 : size);
  if (span <= 0) return {T(0), T(0)};
  T x = p.x - low;
  if (x < 0) x = -x, p.slope = -p.slope;
  const T extra = std::fmod(x, span);
  if (std::fmod(std::floor(x / span), T(2)) == 0) return clipped<T>({extra + low, p.slope}, size);
  return clipped<T>({span - extra + low, -p.slope}, size);
}

template <class T>
Place<T> unnormalized(T point, int64_t size, bool align) {
  if (align) return {(point + 1) / 2 * static_cast<T>(size - 1), static_cast<T>(size - 1) / 2};
  return {((point + 1) * static_cast<T>(size) - 1) / 2, static_cast<T>(size) / 2};
}

template <class T>
Place<T> inside(const GridSampling& s, Place<T> p, int64_t size) {
  if (s.outside == GridSampling::Border) p = clipped(p, size);
  if (s.outside == GridSampling::Reflection) p = reflected(p, size, s.align);
  return {tame(p.x), p.slope};
}

// The cubic kernel of Keys (1981) with a = -0.75 at distance x >= 0, or a derivative of it.
template <class T>
T cubic(T x, int order) {
  const T a = T(-0.75);
  if (order > 3) return 0;
  const T near[4] = {1, 0, -(a + 3), a + 2}, far[4] = {-4 * a, 8 * a, -5 * a, a};
  T c[4];
  for (int k = 0; k < 4; ++k) c[k] = x <= 1 ? near[k] : x < 2 ? far[k] : T(0);
  for (int d = 0; d < order; ++d)
    for (int k = 0; k < 4; ++k) c[k] = k < 3 ? static_cast<T>(k + 1) * c[k + 1] : T(0);
  return ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
}

template <class T>
void cubic_taps(const GridSampling& s, Place<T> p, int64_t size, int order, AxisTaps<T>& taps) {
  const T x = tame(p.x), floor = std::floor(x);
  for (int k = -1; k <= 2; ++k) {
    const T distance = x - floor - static_cast<T>(k);
    const T side = distance < 0 && order % 2 ? T(-1) : T(1);
    const T w = cubic(std::abs(distance), order) * side * std::pow(p.slope, static_cast<T>(order));
    taps.tap(static_cast<int64_t>(inside<T>(s, {floor + static_cast<T>(k), T(0)}, size).x), w, size);
  }
}

template <class T>
AxisTaps<T> taps_along(const GridSampling& s, T point, int64_t size, int order) {
  AxisTaps<T> taps;
  Place<T> p = unnormalized(point, size, s.align);
  if (s.method == GridSampling::Cubic) {
    cubic_taps(s, p, size, order, taps);
    return taps;
  }
  p = inside(s, p, size);
  if (s.method == GridSampling::Nearest) {
    if (order == 0) taps.tap(static_cast<int64_t>(std::nearbyint(p.x)), T(1), size);
    return taps;
  }
  const T floor = std::floor(p.x), t = p.x - floor;
  if (order > 1) return taps;
  taps.tap(static_cast<int64_t>(floor), order ? -p.slope : 1 - t, size);
  taps.tap(static_cast<int64_t>(floor) + 1, order ? p.slope : t, size);
  return taps;
}

template <class T>
struct PointTaps {
  int64_t at[16];
  T weight[16];
  int count;
};

template <class T>
void taps_of(const GridSampling& s, const T* point, PointTaps<T>& out) {
  AxisTaps<T> axis[3];
  for (int a = 0; a < s.dims; ++a) axis[a] = taps_along(s, point[a], s.size[s.dims - 1 - a], s.order[a]);
  if (s.dims == 2) axis[2].tap(0, T(1), 1);
  const int64_t width = s.size[s.dims - 1], height = s.size[s.dims - 2];
  out.count = 0;
  for (int z = 0; z < axis[2].count; ++z)
    for (int y = 0; y < axis[1].count; ++y)
      for (int x = 0; x < axis[0].count; ++x) {
        out.at[out.count] = (axis[2].at[z] * height + axis[1].at[y]) * width + axis[0].at[x];
        out.weight[out.count++] = axis[2].weight[z] * axis[1].weight[y] * axis[0].weight[x];
      }
}

template <class T>
void sample(const GridSampling& s, T* out, const T* in, const T* points) {
  const int64_t blocks = (s.points + kBlock - 1) / kBlock, plane = s.positions();
  parallel_for(0, s.batch * blocks, 1 + 32 / (s.channels + 1), [&](int64_t b, int64_t e) {
    PointTaps<T> taps[kBlock];
    for (int64_t task = b; task < e; ++task) {
      const int64_t n = task / blocks, first = task % blocks * kBlock,
                    count = std::min(kBlock, s.points - first);
      for (int64_t p = 0; p < count; ++p) taps_of(s, points + (n * s.points + first + p) * s.dims, taps[p]);
      for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c)
        for (int64_t p = 0; p < count; ++p) {
          T sum = 0;
          for (int k = 0; k < taps[p].count; ++k) sum += taps[p].weight[k] * in[c * plane + taps[p].at[k]];
          out[c * s.points + first + p] = sum;
        }
    }
  });
}

// Tasks share no output: a task has some channels of one sample, and goes through its points in order.
template <class T>
void adjoint(const GridSampling& s, T* out, const T* in, const T* points) {
  constexpr int64_t kChannels = 16;
  const int64_t groups = (s.channels + kChannels - 1) / kChannels, plane = s.positions();
  parallel_for(0, s.batch * groups, 1, [&](int64_t b, int64_t e) {
    PointTaps<T> taps;
    for (int64_t task = b; task < e; ++task) {
      const int64_t n = task / groups, first = n * s.channels + task % groups * kChannels;
      const int64_t end = std::min(first + kChannels, (n + 1) * s.channels);
      std::fill(out + first * plane, out + end * plane, T(0));
      for (int64_t p = 0; p < s.points; ++p) {
        taps_of(s, points + (n * s.points + p) * s.dims, taps);
        for (int64_t c = first; c < end; ++c)
          for (int k = 0; k < taps.count; ++k)
            out[c * plane + taps.at[k]] += taps.weight[k] * in[c * s.points + p];
      }
    }
  });
}

template <auto run_float, auto run_double>
void run(DType dtype, const GridSampling& s, char* out, const char* in, const char* points) {
  if (dtype == DType::Float64)
    run_double(s, reinterpret_cast<double*>(out), reinterpret_cast<const double*>(in),
               reinterpret_cast<const double*>(points));
  else
    run_float(s, reinterpret_cast<float*>(out), reinterpret_cast<const float*>(in),
              reinterpret_cast<const float*>(points));
}

}  // namespace

void grid_sample(DType dtype, const GridSampling& s, char* out, const char* in, const char* points) {
  run<&sample<float>, &sample<double>>(dtype, s, out, in, points);
}
void grid_sample_adjoint(DType dtype, const GridSampling& s, char* out, const char* in, const char* points) {
  run<&adjoint<float>, &adjoint<double>>(dtype, s, out, in, points);
}

}  // namespace tl::cpu
