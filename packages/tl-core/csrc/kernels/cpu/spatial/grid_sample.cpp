// isa: all
// Grid sampling: taps of a block of points, applied to every plane; forward, adjoint and derivatives by the
// coordinates.
#include "kernels/cpu/spatial/grid_sample.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/simd/transpose.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// That are computed at once: for so many points that a plane they read stays in the first-level cache.
constexpr int64_t kBlockTaps = 1024;

template <class T>
TL_INLINE char* bytes(T* p) {
  return reinterpret_cast<char*>(p);
}
template <class T>
TL_INLINE const char* bytes(const T* p) {
  return reinterpret_cast<const char*>(p);
}

template <class V>
struct Coordinate {
  V x, derivative;  // the coordinate in positions, and its derivative by the point
};

// What coordinates along one axis read, and with which weights.
template <class T>
class Axis {
 public:
  using V = Vec<T>;
  using I = Mask<V>;

  Axis(const GridSampling& s, int a)
      : method_(s.method),
        outside_(s.outside),
        align_(s.align),
        size_(s.size[s.dims - 1 - a]),
        order_(s.order[a]) {
    // The cubic kernel of Keys (1981) with a = -0.75, up to distance 1 and beyond, or a derivative of it.
    constexpr T k = T(-0.75), inner[4] = {1, 0, -(k + 3), k + 2}, far[4] = {-4 * k, 8 * k, -5 * k, k};
    std::copy_n(inner, 4, inner_);
    std::copy_n(far, 4, far_);
    for (int d = 0; d < std::min(order_, 4); ++d)
      for (int i = 0; i < 4; ++i) {
        inner_[i] = i < 3 ? static_cast<T>(i + 1) * inner_[i + 1] : T(0);
        far_[i] = i < 3 ? static_cast<T>(i + 1) * far_[i + 1] : T(0);
      }
  }

  int64_t size() const { return size_; }

  // Where a tap lies outside, its index is -1. If there is a second linear tap, it is behind the first.
  void taps(V point, I* at, V* weight) const {
    point = select<V>(point == point, point, V{} - T(1));  // nan stands for -1
    const T scale = static_cast<T>(align_ ? size_ - 1 : size_) / 2;
    const Coordinate<V> p{(point + T(1)) * scale - (align_ ? T(0) : T(0.5)), broadcast<V>(scale)};
    if (method_ == GridSampling::Cubic) return cubic(p, at, weight);
    const Coordinate<V> q = inside(p);
    if (method_ == GridSampling::Nearest) {
      at[0] = index(round_even(q.x));
      weight[0] = broadcast<V>(1);
      return;
    }
    const V first = floor(q.x), t = q.x - first;
    const I before = first < T(0);
    at[0] = index(select<V>(before, first + T(1), first));
    at[1] = before ? I{} - 1 : index(first + T(1));
    weight[1] = order_ == 0 ? t : q.derivative;
    weight[0] = select<V>(before, weight[1], order_ == 0 ? T(1) - t : -q.derivative);
  }

 private:
  void cubic(Coordinate<V> p, I* at, V* weight) const {
    const V x = tame(p.x), first = floor(x);
    for (int k = 0; k < 4; ++k) {
      const V signed_distance = x - first - static_cast<T>(k - 1), distance = abs(signed_distance);
      V w = select<V>(distance <= T(1), polynomial(inner_, distance),
                      select<V>(distance < T(2), polynomial(far_, distance), V{}));
      if (order_ % 2) w = select<V>(signed_distance < T(0), -w, w);
      for (int d = 0; d < order_; ++d) w *= p.derivative;
      at[k] = index(inside({first + static_cast<T>(k - 1), V{}}).x);
      weight[k] = w;
    }
  }
  static V polynomial(const T* c, V x) { return ((c[3] * x + c[2]) * x + c[1]) * x + c[0]; }

  I index(V x) const {
    using U = std::make_unsigned_t<Lane<I>>;
    const I i = __builtin_convertvector(x, I);
    return select<I>(bitcast<Vec<U>>(i) < static_cast<U>(size_), i, I{} - 1);
  }
  // Anything that is no position in reach of an int stays outside of every grid.
  static V tame(V x) { return select<V>((x > T(-1e9)) & (x < T(1e9)), x, V{} - T(100)); }

  Coordinate<V> inside(Coordinate<V> p) const {
    if (outside_ == GridSampling::Border) p = clipped(p);
    if (outside_ == GridSampling::Reflection) p = clipped(reflected(p));
    return {tame(p.x), p.derivative};
  }
  Coordinate<V> clipped(Coordinate<V> p) const {
    const T top = static_cast<T>(size_ - 1);
    const I below = p.x <= T(0), above = p.x >= top;
    return {select<V>(below, V{}, select<V>(above, V{} + top, p.x)),
            select<V>(below | above, V{}, p.derivative)};
  }
  Coordinate<V> reflected(Coordinate<V> p) const {
    const T low = align_ ? T(0) : T(-0.5), span = static_cast<T>(align_ ? size_ - 1 : size_),
            period = 2 * span;
    if (span <= 0) return {V{}, V{}};
    const V x = p.x - low, size = abs(x), rest = fma(trunc(size / period), V{} - period, size);
    const I back = rest > span;
    return {select<V>(back, period - rest, rest) + low,
            select<V>((x < T(0)) ^ back, -p.derivative, p.derivative)};
  }

  GridSampling::Method method_;
  GridSampling::Outside outside_;
  bool align_;
  int64_t size_;
  int order_;
  T inner_[4], far_[4];
};

// What the points of a block read: tap by tap, positions in a plane, -1 where there is none, and weights.
template <class T>
class Taps {
 public:
  using V = Vec<T>;
  using I = Mask<V>;
  static constexpr int W = kLanes<T>;

  explicit Taps(const GridSampling& s)
      : dims_(s.dims),
        each_(each(s)),
        count_(count(s)),
        block_(block(s)),
        end_(static_cast<Lane<I>>(s.positions() - 1)),
        axes_{{s, 0}, {s, 1}, {s, s.dims - 1}} {}

  static int64_t block(const GridSampling& s) { return kBlockTaps / count(s); }  // points at once, at most

  void find(const T* points, int64_t n) {
    I ends{};
    for (int64_t p = 0; p < n; p += W)
      ends |= find_vector(points + p * dims_, p, static_cast<int>(std::min<int64_t>(W, n - p)));
    at_end_ = any(ends);
  }

  int count() const { return count_; }
  // Whether the second of every two taps, if it is there, reads behind the first.
  bool in_pairs() const { return each_ == 2; }
  bool at_end() const { return at_end_; }  // of the plane
  // Where one of kBlockTaps numbers is that belongs to a tap of a point.
  int64_t slot(int64_t k, int64_t p) const { return k * block_ + p; }
  I at(int k, int64_t p) const { return read<I>(bytes(at_ + slot(k, p))); }
  V weight(int k, int64_t p) const { return read<V>(bytes(weight_ + slot(k, p))); }
  int64_t one_at(int k, int64_t p) const { return at_[slot(k, p)]; }
  T one_weight(int k, int64_t p) const { return weight_[slot(k, p)]; }

 private:
  // Taps along one axis, and in all.
  static int each(const GridSampling& s) {
    return s.method == GridSampling::Nearest ? 1 : s.method == GridSampling::Linear ? 2 : 4;
  }
  static int count(const GridSampling& s) { return each(s) * each(s) * (s.dims == 3 ? each(s) : 1); }

  // Gives the lanes with a tap at the plane's end.
  I find_vector(const T* points, int64_t p, int n) {
    I at[3][4], ends{};
    V weight[3][4];
    for (int a = 0; a < dims_; ++a) axes_[a].taps(load_lanes<T>(points + a, dims_, 0, n), at[a], weight[a]);
    int64_t k = 0;
    for (int z = 0; z < (dims_ == 3 ? each_ : 1); ++z)
      for (int y = 0; y < each_; ++y) {
        const Lane<I> width = static_cast<Lane<I>>(axes_[0].size()),
                      height = static_cast<Lane<I>>(axes_[1].size());
        const I row = dims_ == 3 ? at[2][z] * height + at[1][y] : at[1][y];
        const I none = dims_ == 3 ? at[2][z] | at[1][y] : at[1][y];
        const V share = dims_ == 3 ? weight[2][z] * weight[1][y] : weight[1][y];
        for (int x = 0; x < each_; ++x, ++k) {
          const I index = select<I>((none | at[0][x]) < 0, I{} - 1, row * width + at[0][x]);
          ends |= index == end_;
          write(bytes(at_ + slot(k, p)), index);
          write(bytes(weight_ + slot(k, p)), share * weight[0][x]);
        }
      }
    return ends;
  }

  int dims_, each_, count_;
  int64_t block_;
  bool at_end_ = false;
  Lane<I> end_;
  Axis<T> axes_[3];
  alignas(64) Lane<I> at_[kBlockTaps];
  alignas(64) T weight_[kBlockTaps];
};

// from[at], or 0 where `at` is negative.
TL_INLINE VecF gathered(const float* from, VecI at) {
#if TL_ISA_LEVEL >= 4
  const __m512i indices = bitcast<__m512i>(at);
  return _mm512_mask_i32gather_ps(VecF{}, static_cast<__mmask16>(~_mm512_movepi32_mask(indices)), indices,
                                  from, 4);
#elif TL_ISA_LEVEL >= 3
  return _mm256_mask_i32gather_ps(VecF{}, from, bitcast<__m256i>(at), bitcast<__m256>(~at), 4);
#else
  VecF v{};
  for (int l = 0; l < kLanes<float>; ++l) v[l] = at[l] < 0 ? 0 : from[at[l]];
  return v;
#endif
}
TL_INLINE VecD gathered(const double* from, VecL at) {
#if TL_ISA_LEVEL >= 4
  const __m512i indices = bitcast<__m512i>(at);
  return _mm512_mask_i64gather_pd(VecD{}, static_cast<__mmask8>(~_mm512_movepi64_mask(indices)), indices,
                                  from, 8);
#elif TL_ISA_LEVEL >= 3
  return _mm256_mask_i64gather_pd(VecD{}, from, bitcast<__m256i>(at), bitcast<__m256d>(~at), 8);
#else
  VecD v{};
  for (int l = 0; l < kLanes<double>; ++l) v[l] = at[l] < 0 ? 0 : from[at[l]];
  return v;
#endif
}

template <class V>
struct Pair {
  V first, second;
};

// Two taps that follow each other. `whole`: there is memory behind every first one.
template <class T>
TL_INLINE Pair<Vec<T>> gathered_pair(const T* from, Mask<Vec<T>> first, Mask<Vec<T>> second,
                                     [[maybe_unused]] bool whole) {
#if TL_ISA_LEVEL >= 4
  // Read together, as an element of twice the size.
  if constexpr (sizeof(T) == 4) {
    if (whole) {
      const __m512i at = bitcast<__m512i>(first), even = bitcast<__m512i>(iota<VecI>() * 2);
      const auto some = static_cast<__mmask16>(~_mm512_movepi32_mask(at)),
                 more = static_cast<__mmask16>(~_mm512_movepi32_mask(bitcast<__m512i>(second)));
      const __m512 low = _mm512_castpd_ps(_mm512_mask_i32gather_pd(VecD{}, static_cast<__mmask8>(some),
                                                                   _mm512_castsi512_si256(at), from, 4)),
                   high = _mm512_castpd_ps(_mm512_mask_i32gather_pd(
                       VecD{}, static_cast<__mmask8>(some >> 8), _mm512_extracti64x4_epi64(at, 1), from, 4));
      return {_mm512_permutex2var_ps(low, even, high),
              _mm512_maskz_permutex2var_ps(more, low, bitcast<__m512i>(iota<VecI>() * 2 + 1), high)};
    }
  }
#endif
  return {gathered(from, first), gathered(from, second)};
}

// f(taps, n, first, count) for blocks of each sample's points.
template <class T, class F>
void for_blocks(const GridSampling& s, const T* points, F f) {
  const int64_t block = Taps<T>::block(s), blocks = (s.points + block - 1) / block;
  parallel_for(0, s.batch * blocks, 1 + (1 << 11) / (block * (s.channels + 1)), [&](int64_t b, int64_t e) {
    Taps<T> taps(s);
    for (int64_t task = b; task < e; ++task) {
      const int64_t n = task / blocks, first = task % blocks * block;
      const int64_t count = std::min(block, s.points - first);
      taps.find(points + (n * s.points + first) * s.dims, count);
      f(taps, n, first, count);
    }
  });
}

template <class T>
void sample(const GridSampling& s, T* out, const T* in, const T* points) {
  if (s.vanishes()) return void(std::fill_n(out, s.batch * s.channels * s.points, T(0)));
  for_blocks(s, points, [=](const Taps<T>& taps, int64_t n, int64_t first, int64_t count) {
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
      const bool whole = !taps.at_end() || c + 1 < s.batch * s.channels;
      for (int64_t p = 0; p < count; p += kLanes<T>) {
        const T* from = in + c * s.positions();
        Vec<T> sum{};
        int k = 0;
        for (; k < taps.count() && taps.in_pairs(); k += 2) {
          const auto pair = gathered_pair(from, taps.at(k, p), taps.at(k + 1, p), whole);
          sum = fma(taps.weight(k + 1, p), pair.second, fma(taps.weight(k, p), pair.first, sum));
        }
        for (; k < taps.count(); ++k) sum = fma(taps.weight(k, p), gathered(from, taps.at(k, p)), sum);
        store_some<T>(out + c * s.points + first + p, count - p, sum);
      }
    }
  });
}

// The channels of a task lie side by side meanwhile, so that a tap is added to all of them at once.
template <class T>
class Spread {
 public:
  static constexpr int W = kLanes<T>;
  using V = Vec<T>;

  explicit Spread(const GridSampling& s)
      : s_(s),
        side_(s.channels == 1       ? 1
              : 4 * s.channels <= W ? W / 4
              : 2 * s.channels <= W ? W / 2
                                    : W),
        taps_(s),
        sums_(s.positions() * side_) {}

  // Some channels of one sample, of which `points` are the points.
  void run(int64_t channels, T* out, const T* in, const T* points) {
    std::fill_n(sums_.data(), s_.positions() * side_, T(0));
    const int64_t block = Taps<T>::block(s_);
    for (int64_t first = 0; first < s_.points; first += block) {
      const int64_t count = std::min(block, s_.points - first);
      taps_.find(points + first * s_.dims, count);
      for (int64_t p = 0; p < count; p += W)
        add(channels, in + first + p, p, std::min<int64_t>(W, count - p));
    }
    for (int64_t i = 0; i < s_.positions(); i += W) give(channels, out + i, i, s_.positions() - i);
  }

 private:
  void add(int64_t channels, const T* in, int64_t p, int64_t count) {
    V rows[W];
    for (int64_t c = 0; c < W; ++c) rows[c] = c < channels ? load_some<T>(in + c * s_.points, count) : V{};
    RegisterTranspose<T>::transpose(rows);
    if (side_ == 1) return add_rows<1>(rows, p, count);
    if (side_ == W / 4) return add_rows<(W + 3) / 4>(rows, p, count);
    if (side_ == W / 2) return add_rows<W / 2>(rows, p, count);
    add_rows<W>(rows, p, count);
  }
  template <int side>
  TL_INLINE void add_rows(const V* rows, int64_t p, int64_t count) {
    const int taps = taps_.count();
    for (int64_t i = 0; i < count; ++i)
      for (int k = 0; k < taps; ++k)
        if (const int64_t at = taps_.one_at(k, p + i); at >= 0) {
          T row[side], sum[side];
          __builtin_memcpy(row, &rows[i], sizeof row);
          __builtin_memcpy(sum, sums_.data() + at * side, sizeof sum);
          for (int l = 0; l < side; ++l) sum[l] = fma(taps_.one_weight(k, p + i), row[l], sum[l]);
          __builtin_memcpy(sums_.data() + at * side, sum, sizeof sum);
        }
  }
  void give(int64_t channels, T* out, int64_t first, int64_t count) {
    V rows[W];
    for (int64_t i = 0; i < W; ++i)
      rows[i] = i < count ? load_some<T>(sums_.data() + (first + i) * side_, side_) : V{};
    RegisterTranspose<T>::transpose(rows);
    for (int64_t c = 0; c < channels; ++c) store_some<T>(out + c * s_.positions(), count, rows[c]);
  }

  const GridSampling& s_;
  int64_t side_;  // a part of a vector
  Taps<T> taps_;
  Scratch<T> sums_;
};

// Tasks share no output: a task has some channels of one sample, and goes through its points in order.
template <class T>
void adjoint(const GridSampling& s, T* out, const T* in, const T* points) {
  constexpr int64_t W = kLanes<T>;
  if (s.vanishes()) return void(std::fill_n(out, s.batch * s.channels * s.positions(), T(0)));
  const int64_t groups = (s.channels + W - 1) / W;
  parallel_for(0, s.batch * groups, 1, [&](int64_t b, int64_t e) {
    Spread<T> spread(s);
    for (int64_t task = b; task < e; ++task) {
      const int64_t n = task / groups, end = (n + 1) * s.channels, c = n * s.channels + task % groups * W;
      spread.run(std::min(W, end - c), out + c * s.positions(), in + c * s.points,
                 points + n * s.points * s.dims);
    }
  });
}

// The products with the gradient are summed over channels tap by tap; the sums serve all coordinates'
// weights.
template <class T>
void derivative(const GridSampling& s, T* out, const T* grad, const T* in, const T* points) {
  constexpr int64_t W = kLanes<T>;
  if (s.method == GridSampling::Nearest) return void(std::fill_n(out, s.batch * s.points * s.dims, T(0)));
  GridSampling steeper[3] = {s, s, s};
  for (int d = 0; d < s.dims; ++d) ++steeper[d].order[d];
  for_blocks(steeper[0], points, [=](const Taps<T>& taps, int64_t n, int64_t first, int64_t count) {
    alignas(64) T sums[kBlockTaps];
    for (int k = 0; k < taps.count(); ++k)
      for (int64_t p = 0; p < count; p += W) {
        Vec<T> sum{};
        for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c)
          sum = fma(load_some<T>(grad + c * s.points + first + p, count - p),
                    gathered(in + c * s.positions(), taps.at(k, p)), sum);
        write(bytes(sums + taps.slot(k, p)), sum);
      }
    const int64_t at = (n * s.points + first) * s.dims;
    for (int d = 0; d < s.dims; ++d) {
      Taps<T> others(steeper[d]);
      const Taps<T>& weights = d == 0 ? taps : others;
      if (d > 0) others.find(points + at, count);
      for (int64_t p = 0; p < count; p += W) {
        Vec<T> sum{};
        for (int k = 0; k < taps.count() && !steeper[d].vanishes(); ++k)
          sum = fma(weights.weight(k, p), read<Vec<T>>(bytes(sums + taps.slot(k, p))), sum);
        store_strided<T>(bytes(out + at + p * s.dims + d), s.dims * static_cast<int64_t>(sizeof(T)),
                         static_cast<int>(std::min(W, count - p)), sum);
      }
    }
  });
}

template <class T, auto f, class... In>
void run(const GridSampling& s, char* out, In... in) {
  f(s, reinterpret_cast<T*>(out), reinterpret_cast<const T*>(in)...);
}
template <class T>
constexpr GridSamplingKernels kKernels{&run<T, &sample<T>>, &run<T, &adjoint<T>>, &run<T, &derivative<T>>};

}  // namespace

extern const GridSamplingKernels grid_samplings[2] = {kKernels<float>, kKernels<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const GridSamplingKernels grid_samplings[2])

namespace tl::cpu {

const GridSamplingKernels& grid_sampling_kernels(DType dtype) {
  return TL_SELECT(grid_samplings)[dtype == DType::Float64];
}

}  // namespace tl::cpu
#endif
