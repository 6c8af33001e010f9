// Triangular systems by halves: the solution of one half leaves the other through a matrix product, down to
// diagonal blocks, which are substituted. Right-hand sides are taken in strips, row-major, so that lanes are
// right-hand sides throughout.
#include "kernels/cpu/linalg/triangular.h"

#include <algorithm>

#include "base/matmul_precision.h"
#include "base/parallel.h"
#include "kernels/cpu/linalg/diagonal_block.h"
#include "kernels/cpu/loops/copy.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu {

namespace {

constexpr int64_t kStrip = 256;  // right-hand sides

// Columns begin..end of one system's X, as rows of `stride` elements.
struct Strip {
  const TriangularSystems& s;
  int64_t system, begin, end;
  char* rows;
  int64_t stride;

  int64_t item() const { return item_size(s.dtype); }
  int64_t width() const { return end - begin; }
  char* row(int64_t i) const { return rows + i * stride * item(); }
  char* x(int64_t i, int64_t column) const {
    const int64_t at = system * s.order * s.columns + i * s.x.row_stride + column * s.x.column_stride;
    return s.x.data + at * item();
  }
};

// The identity's rows above a strip are zero, and so is what lower triangles make of them.
int64_t first_row(const Strip& strip, int factor) {
  const bool skips =
      strip.s.given == TriangularSystems::SymmetricInverse ||
      (strip.s.given == TriangularSystems::Identity && factor == 0 && !strip.s.factors[0].upper);
  return skips ? strip.begin : 0;
}

void load(const Strip& strip) {
  const TriangularSystems& s = strip.s;
  const int64_t item = strip.item();
  if (s.given == TriangularSystems::Values) {
    char* const data[] = {strip.rows, strip.x(0, strip.begin)};
    const int64_t strides[] = {item, s.x.column_stride * item, strip.stride * item, s.x.row_stride * item};
    return copy_loop(item)(data, strides, strip.width(), s.order, nullptr);
  }
  std::fill_n(strip.rows, s.order * strip.stride * item, 0);
  for (int64_t i = strip.begin; i < strip.end; ++i) {
    char* const one = strip.row(i) + (i - strip.begin) * item;
    if (s.dtype == DType::Float64)
      *reinterpret_cast<double*>(one) = 1;
    else
      *reinterpret_cast<float*>(one) = 1;
  }
}

// To X, column by column.
void store(const Strip& strip, int64_t first) {
  const TriangularSystems& s = strip.s;
  const int64_t item = strip.item();
  char* const data[] = {strip.x(first, strip.begin), strip.row(first)};
  const int64_t strides[] = {s.x.row_stride * item, strip.stride * item, s.x.column_stride * item, item};
  copy_loop(item)(data, strides, s.order - first, strip.width(), nullptr);
}

// Of a symmetric X the strip knows the rows from its own square on, and of that the lower half.
template <class T>
void store_symmetric(const Strip& strip) {
  for (int64_t c = 1; c < strip.width(); ++c)
    for (int64_t i = 0; i < c; ++i)
      reinterpret_cast<T*>(strip.row(strip.begin + i))[c] =
          reinterpret_cast<T*>(strip.row(strip.begin + c))[i];
  store(strip, strip.begin);
  for (int64_t i = strip.end; i < strip.s.order; ++i)
    std::copy_n(strip.row(i), strip.width() * strip.item(), strip.x(strip.begin, i));
}

void exchange_rows(const Strip& strip, const int32_t* pivots, bool backwards) {
  const int64_t n = strip.s.order, bytes = strip.width() * strip.item();
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = backwards ? n - 1 - k : k, j = pivots[i] - 1;
    if (i != j) std::swap_ranges(strip.row(i), strip.row(i) + bytes, strip.row(j));
  }
}

class Substitution {
 public:
  Substitution(const Strip& strip, const TriangularFactor& factor)
      : strip_(strip),
        factor_(factor),
        a_(factor.data + strip.system * strip.s.order * strip.s.order * strip.item()),
        block_(DiagonalBlock::kRows * DiagonalBlock::kRows * strip.item()) {}

  void solve(int64_t begin, int64_t end) const {
    constexpr int64_t kRows = DiagonalBlock::kRows;
    if (end - begin <= kRows) return solve_diagonal(begin, end - begin);
    const int64_t middle = begin + (end - begin + 2 * kRows - 1) / (2 * kRows) * kRows;
    if (factor_.upper) {
      solve(middle, end);
      subtract(begin, middle, middle, end);
      solve(begin, middle);
    } else {
      solve(begin, middle);
      subtract(middle, end, begin, middle);
      solve(middle, end);
    }
  }

 private:
  char* element(int64_t i, int64_t j) const {
    const int64_t at = i * factor_.row_stride + j * factor_.column_stride;
    return const_cast<char*>(a_) + at * strip_.item();
  }

  // Rows begin..end less what the solutions first..last are in them.
  void subtract(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    const double minus = -1, one = 1;
    const float minus_single = -1, one_single = 1;
    const bool single = strip_.s.dtype == DType::Float32;
    const MatrixView c{strip_.row(begin), strip_.stride, 1};
    GemmArgs p{end - begin,
               strip_.width(),
               last - first,
               {element(begin, first), factor_.row_stride, factor_.column_stride},
               {strip_.row(first), strip_.stride, 1},
               c,
               c};
    p.alpha = single ? static_cast<const void*>(&minus_single) : &minus;
    p.beta = single ? static_cast<const void*>(&one_single) : &one;
    gemm(strip_.s.dtype, p);
  }

  void solve_diagonal(int64_t begin, int64_t rows) const {
    const int64_t item = strip_.item();
    char* const data[] = {block_.data(), element(begin, begin)};
    const int64_t strides[] = {item, factor_.column_stride * item, rows * item, factor_.row_stride * item};
    copy_loop(item)(data, strides, rows, rows, nullptr);
    solve_block(strip_.s.dtype, {rows, strip_.width(), factor_.upper, factor_.unit, block_.data(), rows,
                                 strip_.row(begin), strip_.stride});
  }

  const Strip& strip_;
  const TriangularFactor& factor_;
  const char* a_;
  base::Workspace<char> block_;
};

void solve_strip(const Strip& strip) {
  const TriangularSystems& s = strip.s;
  const int32_t* pivots = s.pivots ? s.pivots + strip.system * s.order : nullptr;
  if (pivots && !s.pivots_last) exchange_rows(strip, pivots, false);
  for (int f = 0; f < s.factor_count; ++f)
    Substitution(strip, s.factors[f]).solve(first_row(strip, f), s.order);
  if (pivots && s.pivots_last) exchange_rows(strip, pivots, true);
}

void run(const TriangularSystems& s, int64_t system, int64_t begin, int64_t end) {
  const int64_t item = item_size(s.dtype);
  if (s.x.column_stride == 1 && s.given == TriangularSystems::Values) {
    const Strip origin{s, system, begin, end, nullptr, s.x.row_stride};
    return solve_strip({s, system, begin, end, origin.x(0, begin), s.x.row_stride});
  }
  const base::Workspace<char> rows(s.order * (end - begin) * item);
  const Strip strip{s, system, begin, end, rows.data(), end - begin};
  load(strip);
  solve_strip(strip);
  if (s.given == TriangularSystems::SymmetricInverse)
    (s.dtype == DType::Float64 ? store_symmetric<double> : store_symmetric<float>)(strip);
  else
    store(strip, 0);
}

}  // namespace

void solve_triangles(const TriangularSystems& s) {
  if (s.order == 0 || s.columns == 0) return;
  constexpr int64_t kWork = 1 << 17;  // multiplications
  const int64_t width = s.given == TriangularSystems::Values ? kStrip : kStrip / 2;
  const int64_t strips = (s.columns + width - 1) / width;  // of even widths: all take the same kernels
  const int64_t work = s.order * s.order * ((s.columns + strips - 1) / strips);
  parallel_for(0, s.count * strips, 1 + kWork / work, [&](int64_t first, int64_t last) {
    const AllBits all_bits;
    for (int64_t i = first; i < last; ++i)
      run(s, i / strips, part_begin(i % strips, strips, s.columns),
          part_begin(i % strips + 1, strips, s.columns));
  });
}

}  // namespace tl::cpu
