// isa: all, by hand
// SpMM, SpMV, SDDMM and BSR products of float32 and float64.
#include <algorithm>
#include <atomic>
#include <vector>

#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/horizontal_sums.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/sparse/csr.h"
#include "kernels/cpu/sparse/row_parts.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int kStrip = TL_ISA_LEVEL >= 4 ? 8 : 4;  // vectors of a strip of columns, with two sums each

// The second operand of a sampled product is read a tile of its rows at a time, by all rows of a part. A tile
// fits the second-level cache. Where a row has few nonzeros in a tile, all rows are one tile.
constexpr int64_t kTileBytes = 256 << 10, kTileNonzeros = 16, kTileRows = 128;

#if TL_ISA_LEVEL >= 4
// A gather by 64-bit indices reads 8 elements of either type. Rows with fewer than kFew terms use no gather.
constexpr int64_t kGather = 8, kFew = 6;

template <class T>
using Gather = typename VecOf<T, kGather * sizeof(T)>::type;

TL_INLINE __m256 fma_of(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
TL_INLINE __m512d fma_of(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }

TL_INLINE __m256 load_lanes_of(__mmask8 lanes, const float* p) { return _mm256_maskz_loadu_ps(lanes, p); }
TL_INLINE __m512d load_lanes_of(__mmask8 lanes, const double* p) { return _mm512_maskz_loadu_pd(lanes, p); }

TL_INLINE __m256 gather_lanes_of(__mmask8 lanes, __m512i columns, const float* x) {
  return _mm512_mask_i64gather_ps(_mm256_setzero_ps(), lanes, columns, x, 4);
}
TL_INLINE __m512d gather_lanes_of(__mmask8 lanes, __m512i columns, const double* x) {
  return _mm512_mask_i64gather_pd(_mm512_setzero_pd(), lanes, columns, x, 8);
}

// Products of rows and a vector x that a part of the rows shares. Terms 0, 8, 16, … of a row are added in
// lane 0, and so on, in two alternating sums.
template <class T>
class RowProducts {
 public:
  using V = Gather<T>;

  RowProducts(const CompressedRows& a, const T* values, const T* x)
      : columns_(a.columns),
        values_(values),
        x_(x),
        cols_(static_cast<uint64_t>(a.cols)),
        bound_(_mm512_set1_epi64(a.cols)) {}

  // Lanes whose sum is the product of row [p, end).
  TL_INLINE V lanes(int64_t p, int64_t end) {
    if (end - p < kFew) return V{few(p, end)};
    V sums = {}, more = {};
    for (; end - p > 2 * kGather; p += 2 * kGather) {
      sums = term(kAll, p, sums);
      more = term(kAll, p + kGather, more);
    }
    if (end - p > kGather) {
      sums = term(kAll, p, sums);
      p += kGather;
    }
    return sums + term(static_cast<__mmask8>((1u << (end - p)) - 1u), p, more);
  }

  TL_INLINE T product(int64_t p, int64_t end) {
    if (end - p < kFew) return few(p, end);
    V sum = lanes(p, end);
    return horizontal_sums<1>(&sum)[0];
  }

  // Whether all columns that were read are within bounds.
  bool good() const { return !wrong_; }

 private:
  static constexpr __mmask8 kAll = 0xFF;

  TL_INLINE V term(__mmask8 lanes, int64_t p, V sum) {
    const __m512i columns = _mm512_maskz_loadu_epi64(lanes, columns_ + p);
    const __mmask8 within = _mm512_mask_cmplt_epu64_mask(lanes, columns, bound_);
    wrong_ |= within ^ lanes;
    return fma_of(load_lanes_of(lanes, values_ + p), gather_lanes_of(within, columns, x_), sum);
  }
  // Terms for which a vector does not pay, one by one.
  TL_INLINE T few(int64_t p, int64_t end) {
    T sum = 0;
    for (; p < end; ++p) {
      const auto column = static_cast<uint64_t>(columns_[p]);
      if (column < cols_)
        sum = fma(values_[p], x_[column], sum);
      else
        wrong_ = kAll;
    }
    return sum;
  }

  const int64_t* columns_;
  const T *values_, *x_;
  uint64_t cols_;
  __m512i bound_;
  __mmask8 wrong_ = 0;
};
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
    if (width_ == 1 && stride_ == 1) return products_with_vector();
    return each_checked_part(a_, width_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) row(i);
    });
  }

 private:
#if TL_ISA_LEVEL >= 4
  bool products_with_vector() const {
    std::atomic<bool> good = true;
    each_part_of_rows(a_, 1, [&](int64_t begin, int64_t end) {
      RowProducts<T> products(a_, values_, b_);
      const int64_t* offsets = a_.offsets;
      int64_t i = begin;
      const bool few = offsets[end] - offsets[begin] < kFew * (end - begin);
      for (; !few && i + kGather <= end; i += kGather) {
        Gather<T> sums[kGather];
#pragma GCC unroll 8
        for (int k = 0; k < kGather; ++k) sums[k] = products.lanes(offsets[i + k], offsets[i + k + 1]);
        write(reinterpret_cast<char*>(out_ + i), horizontal_sums<kGather>(sums));
      }
      for (; i < end; ++i) out_[i] = products.product(offsets[i], offsets[i + 1]);
      if (!products.good()) good = false;
    });
    return good;
  }
#else
  bool products_with_vector() const {
    return each_checked_part(a_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out_[i] = dot(a_.offsets[i], a_.offsets[i + 1]);
    });
  }
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
  static constexpr int kColumns = W < 4 ? W : 4;  // of one row at a time

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
    const int64_t columns = std::max<int64_t>(kTileBytes / bytes, 1);
    const double density = static_cast<double>(a_.count()) / static_cast<double>(a_.rows) / a_.cols;
    return static_cast<double>(columns) * density < kTileNonzeros ? std::max<int64_t>(a_.cols, 1) : columns;
  }

  // The nonzeros from p on whose columns are below `bound`; returns the first that isn't.
  TL_INLINE int64_t row(int64_t i, int64_t p, int64_t bound) const {
    const T* x = x_ + i * x_stride_;
    const int64_t end = a_.offsets[i + 1];
    int64_t stop = p;
    while (stop < end && a_.columns[stop] < bound) ++stop;
    for (; p + kColumns <= stop; p += kColumns) products<kColumns>(x, p);
    rest<kColumns / 2>(x, p, stop - p);
    return stop;
  }

  // Fewer than 2 * n products.
  template <int n>
  TL_INLINE void rest(const T* x, int64_t p, int64_t count) const {
    if (count >= n) products<n>(x, p);
    if constexpr (n > 1) count >= n ? rest<n / 2>(x, p + n, count - n) : rest<n / 2>(x, p, count);
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
    for (int k = 0; k < n; ++k) sums[k] += more[k];
    if constexpr (n == 1)
      out_[p] = horizontal_sum(sums[0]);
    else
      store_some<T>(out_ + p, n, horizontal_sums<n>(sums));
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
