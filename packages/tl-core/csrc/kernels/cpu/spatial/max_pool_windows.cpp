// Windows one element at a time, for integers; and putting elements at the positions that a maximum came
// from.
#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/cpu/spatial/max_pool.h"

namespace tl::cpu {

namespace {

// f(input position) for each element of the window of output (d, h, w), in memory order.
template <class F>
void each_in_window(const SeparableResample& field, int64_t d, int64_t h, int64_t w, F f) {
  const ResampleWeights &depth = field.axes[0], &height = field.axes[1], &width = field.axes[2];
  for (int64_t i = depth.begin[d]; i < depth.begin[d + 1]; ++i)
    for (int64_t j = height.begin[h]; j < height.begin[h + 1]; ++j)
      for (int64_t k = width.begin[w]; k < width.begin[w + 1]; ++k)
        f((depth.index[i] * height.inputs + height.index[j]) * width.inputs + width.index[k]);
}

// f(plane, output position, d, h, w) for all outputs, planes on the pool.
template <class F>
void each_output(const SeparableResample& field, F f) {
  const int64_t depth = field.axes[0].outputs(), height = field.axes[1].outputs(),
                width = field.axes[2].outputs();
  const int64_t work = field.input_plane() + field.output_plane();
  parallel_for(0, field.planes, 1 + 32768 / (work + 1), [&](int64_t b, int64_t e) {
    for (int64_t p = b; p < e; ++p)
      for (int64_t o = 0; o < depth * height * width; ++o)
        f(p, o, o / (height * width), o / width % height, o % width);
  });
}

template <class T>
void max_of_windows(const SeparableResample& field, T* out, int64_t* indices, const T* in) {
  const int64_t inner = field.inner;
  const int64_t plane = field.input_plane(), result = field.output_plane();
  const T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                        : std::numeric_limits<T>::lowest();
  each_output(field, [=, &field](int64_t p, int64_t o, int64_t d, int64_t h, int64_t w) {
    for (int64_t c = 0; c < inner; ++c) {
      T best = lowest;
      int64_t at = -1;
      each_in_window(field, d, h, w, [&](int64_t i) {
        const T x = in[p * plane + i * inner + c];
        if (at < 0 || x > best || x != x) best = x, at = i;
      });
      out[p * result + o * inner + c] = best;
      if (indices) indices[p * result + o * inner + c] = at;
    }
  });
}

// One plane; `inner` is a constant where it is 1.
template <bool add, class T, class Inner>
bool put_plane(int64_t plane, int64_t count, Inner inner, T* out, const int64_t* indices, const T* in) {
  bool inside = true;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < inner; ++c) {
      const int64_t at = indices[i * inner + c];
      if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(plane)) [[unlikely]] {
        inside &= add && at == -1;
        continue;
      }
      T& target = out[at * inner + c];
      target = add ? target + in[i * inner + c] : in[i * inner + c];
    }
  return inside;
}

template <bool add, class T>
bool put(int64_t planes, int64_t plane, int64_t count, int64_t inner, T* out, const int64_t* indices,
         const T* in) {
  std::atomic<bool> good{true};
  parallel_for(0, planes, 1 + 32768 / ((plane + count) * inner + 1), [&](int64_t b, int64_t e) {
    bool inside = true;
    for (int64_t p = b; p < e; ++p) {
      T* to = out + p * plane * inner;
      const int64_t from = p * count * inner;
      std::fill(to, to + plane * inner, T(0));
      inside &= inner == 1 ? put_plane<add>(plane, count, std::integral_constant<int64_t, 1>(), to,
                                            indices + from, in + from)
                           : put_plane<add>(plane, count, inner, to, indices + from, in + from);
    }
    if (!inside) good = false;
  });
  return good;
}

}  // namespace

void max_windows(DType dtype, const SeparableResample& field, char* out, int64_t* indices, const char* in) {
  const auto run = [&]<class T>(T) {
    max_of_windows(field, reinterpret_cast<T*>(out), indices, reinterpret_cast<const T*>(in));
  };
  if (dtype == DType::Int64) return run(int64_t{});
  if (dtype == DType::Float64) return run(double{});
  run(float{});
}

bool put_in_planes(DType dtype, bool add, int64_t planes, int64_t plane, int64_t count, int64_t inner,
                   char* out, const int64_t* indices, const char* in) {
  const auto run = [&]<class T>(T) {
    const auto f = add ? put<true, T> : put<false, T>;
    return f(planes, plane, count, inner, reinterpret_cast<T*>(out), indices, reinterpret_cast<const T*>(in));
  };
  return dtype == DType::Float64 ? run(double{}) : run(float{});
}

void sum_windows(const SeparableResample& field, int64_t* out, const int64_t* in) {
  const int64_t inner = field.inner;
  each_output(field, [&](int64_t p, int64_t o, int64_t d, int64_t h, int64_t w) {
    for (int64_t c = 0; c < inner; ++c) {
      uint64_t sum = 0;  // wraps
      each_in_window(field, d, h, w, [&](int64_t i) {
        sum += static_cast<uint64_t>(in[p * field.input_plane() + i * inner + c]);
      });
      out[p * field.output_plane() + o * inner + c] = static_cast<int64_t>(sum);
    }
  });
}

}  // namespace tl::cpu
