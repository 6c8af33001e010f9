// isa: all, by hand
// SpMM, SpMV, SDDMM and BSR products of float32 and float64.
#include <algorithm>
#include <vector>

#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/sparse/csr.h"
#include "kernels/cpu/sparse/row_parts.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int kStrip = TL_ISA_LEVEL >= 4 ? 8 : 4;  // vectors of a strip of columns, with two sums each

// The second operand of a sampled product is read a tile of its rows at a time, by all rows of a part: one of
// the size of the first-level cache, or larger where a row has few nonzeros in it, or all where a tile is no
// use.
constexpr int64_t kTileBytes = 16 << 10, kSparseTileBytes = 128 << 10, kTileNonzeros = 4, kTileRows = 128;

#if TL_ISA_LEVEL >= 4
constexpr int64_t kFew = 6;  // terms of a row

// x[columns[0]], x[columns[1]], … of n columns, at most a vector's.
template <class T>
TL_INLINE Vec<T> gathered(const T* x, const int64_t* columns, int64_t n) {
  const uint32_t lanes = n >= kLanes<T> ? (1u << kLanes<T>)-1u : (1u << n) - 1u;
  const auto low = static_cast<__mmask8>(lanes);
  const __m512i first = _mm512_maskz_loadu_epi64(low, columns);
  if constexpr (sizeof(T) == 4) {
    const auto high = static_cast<__mmask8>(lanes >> 8);
    const __m512i second = _mm512_maskz_loadu_epi64(high, columns + 8);
    const __m256 zero = _mm256_setzero_ps();
    const __m256 a = _mm512_mask_i64gather_ps(zero, low, first, x, 4);
    const __m256 b = _mm512_mask_i64gather_ps(zero, high, second, x, 4);
    return bitcast<VecF>(
        _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_castps_pd(a)), _mm256_castps_pd(b), 1));
  } else {
    return bitcast<VecD>(_mm512_mask_i64gather_pd(_mm512_setzero_pd(), low, first, x, 8));
  }
}
#endif

template <class T>
class CsrLoop {
 public:
  using V = Vec<T>;
  static constexpr int W = kLanes<T>;

  CsrLoop(const CompressedRows& a, const char* values, const DenseRows& b, char* out)
      : a_(a),
        values_(reinterpret_cast<const T*>(values)),
        b_(reinterpret_cast<const T*>(b.data)),
        stride_(b.stride),
        width_(b.width),
        out_(reinterpret_cast<T*>(out)) {}

  bool run() const {
    return each_checked_part(a_, width_, [&](int64_t begin, int64_t end) {
      if (width_ == 1 && stride_ == 1)
        for (int64_t i = begin; i < end; ++i) out_[i] = dot(a_.offsets[i], a_.offsets[i + 1]);
      else
        for (int64_t i = begin; i < end; ++i) row(i);
    });
  }

 private:
#if TL_ISA_LEVEL >= 4
  // Terms 0, W, 2W, … of a row are added in lane 0, and so on, in two alternating sums.
  TL_INLINE T dot(int64_t p, int64_t end) const {
    if (end - p < kFew) return few(p, end);
    V sums = {}, more = {};
    for (; p + 2 * W <= end; p += 2 * W) {
      sums = fma(read<V>(at(p)), gathered<T>(b_, a_.columns + p, W), sums);
      more = fma(read<V>(at(p + W)), gathered<T>(b_, a_.columns + p + W, W), more);
    }
    if (p + W <= end) {
      sums = fma(read<V>(at(p)), gathered<T>(b_, a_.columns + p, W), sums);
      p += W;
    }
    if (p < end) {
      const int64_t n = end - p;
      more = fma(load_some<T>(values_ + p, n), gathered<T>(b_, a_.columns + p, n), more);
    }
    return horizontal_sum(sums + more);
  }
  // Terms that no vector is worth while for, one by one.
  TL_INLINE T few(int64_t p, int64_t end) const {
    T sum = 0;
    for (; p < end; ++p) sum = fma(values_[p], b_[a_.columns[p]], sum);
    return sum;
  }
  const char* at(int64_t p) const { return reinterpret_cast<const char*>(values_ + p); }
#else
  // Without a quick gather, a lane is loaded by itself as well: scalars, in sums that need not wait for each
  // other.
  TL_INLINE T dot(int64_t p, int64_t end) const {
    constexpr int kSums = 4;
    T sums[kSums] = {};
    for (; p + kSums <= end; p += kSums)
      for (int k = 0; k < kSums; ++k) sums[k] = fma(values_[p + k], b_[a_.columns[p + k]], sums[k]);
    for (; p < end; ++p) sums[0] = fma(values_[p], b_[a_.columns[p]], sums[0]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
#endif

  TL_INLINE void row(int64_t i) const {
    int64_t j = 0;
    for (; j + kStrip * W <= width_; j += kStrip * W) strip<kStrip>(i, j);
    for (; j + kStrip / 2 * W <= width_; j += kStrip / 2 * W) strip<kStrip / 2>(i, j);
    for (; j + W <= width_; j += W) strip<1>(i, j);
    if (j < width_) rest(i, j);
  }

  // A row's terms go to two alternating sums, so that one need not wait for the other.
  template <int n>
  TL_INLINE void strip(int64_t i, int64_t j) const {
    V sums[n] = {}, more[n] = {};
    const int64_t end = a_.offsets[i + 1];
    int64_t p = a_.offsets[i];
    for (; p + 2 <= end; p += 2) {
      add<n>(sums, p, j);
      add<n>(more, p + 1, j);
    }
    if (p < end) add<n>(sums, p, j);
    char* out = reinterpret_cast<char*>(out_ + i * width_ + j);
#pragma GCC unroll 8
    for (int k = 0; k < n; ++k) write(out + k * sizeof(V), sums[k] + more[k]);
  }
  template <int n>
  TL_INLINE void add(V* sums, int64_t p, int64_t j) const {
    const V value = broadcast<V>(values_[p]);
    const char* b = reinterpret_cast<const char*>(b_ + a_.columns[p] * stride_ + j);
#pragma GCC unroll 8
    for (int k = 0; k < n; ++k) sums[k] = fma(value, read<V>(b + k * sizeof(V)), sums[k]);
  }

  // Fewer columns than a vector has lanes.
  TL_INLINE void rest(int64_t i, int64_t j) const {
    const int64_t n = width_ - j, end = a_.offsets[i + 1];
    V sums[2] = {};
    for (int64_t p = a_.offsets[i], k = 0; p < end; ++p, k ^= 1)
      sums[k] = fma(broadcast<V>(values_[p]), load_some<T>(b_ + a_.columns[p] * stride_ + j, n), sums[k]);
    store_some<T>(out_ + i * width_ + j, n, sums[0] + sums[1]);
  }

  const CompressedRows a_;
  const T *values_, *b_;
  int64_t stride_, width_;
  T* out_;
};

template <class T>
class SampledLoop {
 public:
  using V = Vec<T>;
  static constexpr int W = kLanes<T>;
  static constexpr int kColumns = 4;  // of one row at a time

  SampledLoop(const CompressedRows& a, const DenseRows& x, const DenseRows& y, char* out)
      : a_(a),
        x_(reinterpret_cast<const T*>(x.data)),
        y_(reinterpret_cast<const T*>(y.data)),
        x_stride_(x.stride),
        y_stride_(y.stride),
        terms_(x.width),
        out_(reinterpret_cast<T*>(out)) {}

  bool run() const {
    return each_checked_part(a_, terms_, [&](int64_t begin, int64_t end) { part(begin, end); }, kTileRows);
  }

 private:
  // Tile by tile, each row goes on where it stopped: at the first column beyond the tile. The last tile takes
  // what is left, so that columns need not be in order.
  void part(int64_t begin, int64_t end) const {
    std::vector<int64_t> next(a_.offsets + begin, a_.offsets + end);
    const int64_t tile = tile_columns();
    for (int64_t first = 0; first < a_.cols; first += tile) {
      const bool last = first + tile >= a_.cols;
      for (int64_t i = begin; i < end; ++i)
        next[i - begin] = row(i, next[i - begin], last ? a_.cols : first + tile);
    }
  }
  int64_t tile_columns() const {
    const int64_t bytes = std::max<int64_t>(terms_, 1) * static_cast<int64_t>(sizeof(T));
    const double elements = static_cast<double>(a_.rows) * static_cast<double>(a_.cols);
    const double columns = kTileNonzeros * elements / std::max<double>(static_cast<double>(a_.count()), 1);
    if (columns > static_cast<double>(kSparseTileBytes / bytes)) return std::max<int64_t>(a_.cols, 1);
    return std::max({static_cast<int64_t>(columns), kTileBytes / bytes, int64_t{1}});
  }

  // The nonzeros from p on whose columns are below `bound`; returns the first that isn't.
  TL_INLINE int64_t row(int64_t i, int64_t p, int64_t bound) const {
    const T* x = x_ + i * x_stride_;
    const int64_t end = a_.offsets[i + 1];
    int64_t stop = p;
    while (stop < end && a_.columns[stop] < bound) ++stop;
    for (; p + kColumns <= stop; p += kColumns) products<kColumns>(x, p);
    for (; p < stop; ++p) products<1>(x, p);
    return stop;
  }

  // Each sum by itself, whatever n is: lanes first, then across, then the terms that fill no vector. Unrolled
  // loops let the compiler keep the sums in registers.
  template <int n>
  TL_INLINE void products(const T* x, int64_t p) const {
    const T* y[n];
    V sums[n], more[n];
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) {
      y[k] = y_ + a_.columns[p + k] * y_stride_;
      sums[k] = more[k] = V{};
    }
    int64_t t = 0;
    for (; t + 2 * W <= terms_; t += 2 * W) {
      const V a = at(x + t), b = at(x + t + W);
#pragma GCC unroll 4
      for (int k = 0; k < n; ++k) {
        sums[k] = fma(a, at(y[k] + t), sums[k]);
        more[k] = fma(b, at(y[k] + t + W), more[k]);
      }
    }
    for (; t < terms_; t += W) {
      const V a = load_some<T>(x + t, terms_ - t);
#pragma GCC unroll 4
      for (int k = 0; k < n; ++k) sums[k] = fma(a, load_some<T>(y[k] + t, terms_ - t), sums[k]);
    }
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) out_[p + k] = horizontal_sum(sums[k] + more[k]);
  }
  static V at(const T* p) { return read<V>(reinterpret_cast<const char*>(p)); }

  const CompressedRows a_;
  const T *x_, *y_;
  int64_t x_stride_, y_stride_, terms_;
  T* out_;
};

template <class T>
class BsrLoop {
 public:
  using V = Vec<T>;
  static constexpr int W = kLanes<T>;
  static constexpr int kRows = 4;  // of a block at a time, which share what is read of b

  BsrLoop(const CompressedRows& a, const char* values, int64_t r, int64_t c, const DenseRows& b, char* out)
      : a_(a),
        values_(reinterpret_cast<const T*>(values)),
        r_(r),
        c_(c),
        b_(reinterpret_cast<const T*>(b.data)),
        stride_(b.stride),
        width_(b.width),
        out_(reinterpret_cast<T*>(out)) {}

  bool run() const {
    return each_checked_part(a_, r_ * c_ * width_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) block_row(i);
    });
  }

 private:
  void block_row(int64_t i) const {
    int64_t row = 0;
    for (; row + kRows <= r_; row += kRows) columns<kRows>(i, row);
    for (; row < r_; ++row) columns<1>(i, row);
  }

  template <int rows>
  TL_INLINE void columns(int64_t i, int64_t row) const {
    constexpr int n = TL_ISA_LEVEL >= 4 ? 4 : 2;
    int64_t j = 0;
    for (; j + n * W <= width_; j += n * W) strip<rows, n>(i, row, j);
    for (; j < width_; j += W) strip<rows, 0>(i, row, j);
  }

  // n vectors of columns; 0: one that may be cut short.
  template <int rows, int n>
  TL_INLINE void strip(int64_t i, int64_t row, int64_t j) const {
    constexpr int m = n ? n : 1;
    V sums[rows][m] = {};
    for (int64_t p = a_.offsets[i]; p < a_.offsets[i + 1]; ++p) {
      const T* value = values_ + (p * r_ + row) * c_;
      const T* b = b_ + a_.columns[p] * c_ * stride_ + j;
      for (int64_t k = 0; k < c_; ++k, b += stride_) {
        V part[m];
        for (int v = 0; v < m; ++v) part[v] = n ? load_some<T>(b + v * W, W) : load_some<T>(b, width_ - j);
        for (int s = 0; s < rows; ++s)
          for (int v = 0; v < m; ++v) sums[s][v] = fma(broadcast<V>(value[s * c_ + k]), part[v], sums[s][v]);
      }
    }
    for (int s = 0; s < rows; ++s) {
      T* out = out_ + (i * r_ + row + s) * width_ + j;
      for (int v = 0; v < m; ++v) store_some<T>(out + v * W, n ? W : width_ - j, sums[s][v]);
    }
  }

  const CompressedRows a_;
  const T* values_;
  int64_t r_, c_;
  const T* b_;
  int64_t stride_, width_;
  T* out_;
};

}  // namespace

bool float_csr_mm(bool wide, const CompressedRows& a, const char* values, const DenseRows& b, char* out) {
  return wide ? CsrLoop<double>(a, values, b, out).run() : CsrLoop<float>(a, values, b, out).run();
}
bool float_csr_sampled_mm(bool wide, const CompressedRows& a, const DenseRows& x, const DenseRows& y,
                          char* out) {
  return wide ? SampledLoop<double>(a, x, y, out).run() : SampledLoop<float>(a, x, y, out).run();
}
bool float_bsr_mm(bool wide, const CompressedRows& a, const char* values, int64_t r, int64_t c,
                  const DenseRows& b, char* out) {
  return wide ? BsrLoop<double>(a, values, r, c, b, out).run()
              : BsrLoop<float>(a, values, r, c, b, out).run();
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(bool float_csr_mm(bool wide, const CompressedRows& a, const char* values, const DenseRows& b,
                            char* out);
          bool float_csr_sampled_mm(bool wide, const CompressedRows& a, const DenseRows& x,
                                    const DenseRows& y, char* out);
          bool float_bsr_mm(bool wide, const CompressedRows& a, const char* values, int64_t r, int64_t c,
                            const DenseRows& b, char* out))

namespace tl::cpu {

bool float_csr_mm(bool wide, const CompressedRows& a, const char* values, const DenseRows& b, char* out) {
  return TL_SELECT(float_csr_mm)(wide, a, values, b, out);
}
bool float_csr_sampled_mm(bool wide, const CompressedRows& a, const DenseRows& x, const DenseRows& y,
                          char* out) {
  return TL_SELECT(float_csr_sampled_mm)(wide, a, x, y, out);
}
bool float_bsr_mm(bool wide, const CompressedRows& a, const char* values, int64_t r, int64_t c,
                  const DenseRows& b, char* out) {
  return TL_SELECT(float_bsr_mm)(wide, a, values, r, c, b, out);
}

}  // namespace tl::cpu
#endif
