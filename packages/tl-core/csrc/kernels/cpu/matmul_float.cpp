// isa: all
// Products of float and double: packed, blocked, with micro-kernels whose sums stay in registers.
#include <array>

#include "base/parallel.h"
#include "kernels/cpu/matmul_kernels.h"
#include "kernels/cpu/matmul_pack.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/select.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kProductGrain = 1 << 21;  // multiplications that are worth a thread's while

// ---- the micro-kernel
// -------------------------------------------------------------------------------------------------

// out[i * kCols + j] = sum over p of a[i, p] * b[p, j], for R rows and N vectors of columns.
template <class T>
using Micro = void (*)(T* out, const T* a, int64_t a_row, int64_t a_step, const T* b, int64_t b_step,
                       int64_t depth);

template <class T, int R, int N, bool packed>
void micro(T* out, const T* a, int64_t a_row, int64_t a_step, const T* b, int64_t b_step, int64_t depth) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  if constexpr (packed) a_row = 1, a_step = Tile<T>::kRows;
  V sums[R][N] = {};
  for (int64_t p = 0; p < depth; ++p, a += a_step, b += b_step) {
    V columns[N];
    for (int v = 0; v < N; ++v) columns[v] = read<V>(reinterpret_cast<const char*>(b + v * W));
    for (int i = 0; i < R; ++i) {
      const V factor = broadcast<V>(a[i * a_row]);
      for (int v = 0; v < N; ++v) sums[i][v] = fma(factor, columns[v], sums[i][v]);
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int v = 0; v < N; ++v) write(reinterpret_cast<char*>(out + i * Tile<T>::kCols + v * W), sums[i][v]);
  }
}

// Without packing there is a pointer a row: fewer rows fit.
template <class T>
inline constexpr int kLooseRows = Tile<T>::kRows < 8 ? Tile<T>::kRows : 8;

template <class T, int N, bool packed, size_t... R>
constexpr std::array<Micro<T>, sizeof...(R)> micros(std::index_sequence<R...>) {
  return {&micro<T, static_cast<int>(R) + 1, N, packed>...};
}
template <class T, bool packed>
inline constexpr std::array<std::array<Micro<T>, packed ? Tile<T>::kRows : kLooseRows<T>>, 2> kMicros = {
    micros<T, 1, packed>(std::make_index_sequence<packed ? Tile<T>::kRows : kLooseRows<T>>{}),
    micros<T, 2, packed>(std::make_index_sequence<packed ? Tile<T>::kRows : kLooseRows<T>>{})};

// ---- from sums to c
// -----------------------------------------------------------------------------------------------------

template <class T>
struct Output {
  T* c;
  int64_t row, column;
  const T* added;
  int64_t added_row, added_column;
  T alpha, beta;
};

// c = beta * added + alpha * sums, for a corner of a tile at (i, j).
template <class T>
void finish(const T* sums, const Output<T>& o, int64_t i0, int64_t j0, int rows, int columns) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  const bool dense = o.column == 1 && (o.beta == 0 || o.added_column == 1 || o.added_column == 0);
  for (int i = 0; i < rows; ++i) {
    char* c = reinterpret_cast<char*>(o.c + (i0 + i) * o.row + j0 * o.column);
    const T* add = o.added + (i0 + i) * o.added_row + j0 * o.added_column;
    const T* sum = sums + i * Tile<T>::kCols;
    for (int j = 0; dense && j < columns; j += W) {
      const int left = columns - j < W ? columns - j : W;
      V value = read<V>(reinterpret_cast<const char*>(sum + j)) * o.alpha;
      if (o.beta != 0) {
        const char* from = reinterpret_cast<const char*>(add + j * o.added_column);
        const V more = o.added_column == 0 ? broadcast<V>(*add)
                       : left == W         ? read<V>(from)
                                           : load_partial<T>(from, left);
        value = more * o.beta + value;
      }
      if (left == W)
        write(c + j * sizeof(T), value);
      else
        store_partial<T>(c + j * sizeof(T), left, value);
    }
    for (int j = 0; !dense && j < columns; ++j) {
      T value = sum[j] * o.alpha;
      if (o.beta != 0) value = add[j * o.added_column] * o.beta + value;
      reinterpret_cast<T*>(c)[j * o.column] = value;
    }
  }
}

// Blocks of depth after the first add to what is there.
template <class T>
Output<T> continued(const Output<T>& o) {
  return {o.c, o.row, o.column, o.c, o.row, o.column, o.alpha, T(1)};
}

// ---- blocks
// -------------------------------------------------------------------------------------------------------------

// rows x columns of c from a block of a as it lies in memory, or packed, and a panel of b.
template <class T, bool packed>
TL_INLINE void panel_product(const T* a, int64_t a_row, int64_t a_step, const T* b, int64_t b_step,
                             int64_t depth, const Output<T>& o, int64_t i0, int64_t j0, int rows,
                             int columns) {
  alignas(64) T sums[Tile<T>::kRows * Tile<T>::kCols];
  constexpr int step = packed ? Tile<T>::kRows : kLooseRows<T>;
  const auto& kernels = kMicros<T, packed>[columns > kLanes<T>];
  for (int i = 0; i < rows; i += step) {
    const int r = rows - i < step ? rows - i : step;
    kernels[r - 1](sums, packed ? a + i * depth : a + i * a_row, a_row, a_step, b, b_step, depth);
    finish(sums, o, i0 + i, j0, r, columns);
  }
}

// Small products, and those of few rows, read a, and b if its rows are dense, where they are; else b is
// packed a panel at a time.
template <class T>
void product_by_panels(Operand<T> a, Operand<T> b, int64_t m, int64_t n, int64_t k, const Output<T>& first) {
  constexpr int kCols = Tile<T>::kCols;
  constexpr int64_t kDepth = Tile<T>::kDepth;
  const auto one_panel = [&](int64_t j, T* panel) {
    const int columns = static_cast<int>(n - j < kCols ? n - j : kCols);
    const bool loose = b.column == 1 && columns % kLanes<T> == 0;
    for (int64_t p = 0; p == 0 || p < k; p += kDepth) {
      const int64_t depth = k - p < kDepth ? k - p : kDepth;
      if (!loose) pack_columns<T>(panel, {b.at(p, j), b.row, b.column}, columns, depth);
      panel_product<T, false>(a.at(0, p), a.row, a.column, loose ? b.at(p, j) : panel, loose ? b.row : kCols,
                              depth, p == 0 ? first : continued(first), 0, j, static_cast<int>(m), columns);
    }
  };
  const int64_t panels = (n + kCols - 1) / kCols, grain = kProductGrain / (m * k * kCols + 1) + 1;
  parallel_for(0, panels, grain, [&](int64_t begin, int64_t end) {
    Scratch<T, Tile<T>::kDepth * Tile<T>::kCols> panel(kDepth * kCols);
    for (int64_t i = begin; i < end; ++i) one_panel(i * kCols, panel.data());
  });
}

template <class T>
struct BlockedProduct {
  using S = Tile<T>;
  Operand<T> a, b;
  int64_t m, n, k;

  void run(const Output<T>& first) const {
    const int64_t width = n < S::kBlockCols ? n : S::kBlockCols, panels = (width + S::kCols - 1) / S::kCols;
    Scratch<T> packed_b(panels * S::kCols * (k < S::kDepth ? k : S::kDepth));
    for (int64_t j = 0; j < n; j += S::kBlockCols) {
      const int64_t columns = n - j < S::kBlockCols ? n - j : S::kBlockCols;
      for (int64_t p = 0; p < k; p += S::kDepth) {
        const int64_t depth = k - p < S::kDepth ? k - p : S::kDepth;
        pack_b(packed_b.data(), p, j, depth, columns);
        multiply(packed_b.data(), p, j, depth, columns, p == 0 ? first : continued(first));
      }
    }
  }

 private:
  void pack_b(T* packed, int64_t p, int64_t j, int64_t depth, int64_t columns) const {
    const int64_t panels = (columns + S::kCols - 1) / S::kCols, grain = (1 << 16) / (depth * S::kCols) + 1;
    parallel_for(0, panels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t left = columns - i * S::kCols;
        pack_columns<T>(packed + i * S::kCols * depth, {b.at(p, j + i * S::kCols), b.row, b.column},
                        static_cast<int>(left < S::kCols ? left : S::kCols), depth);
      }
    });
  }

  // A task is a block of rows against some panels; with few blocks of rows the panels are divided as well.
  void multiply(const T* packed_b, int64_t p, int64_t j, int64_t depth, int64_t columns,
                const Output<T>& o) const {
    const int64_t blocks = (m + S::kBlockRows - 1) / S::kBlockRows,
                  panels = (columns + S::kCols - 1) / S::kCols;
    const int64_t share = blocks >= 8 ? panels : panels / 8 > 8 ? panels / 8 : panels < 8 ? panels : 8;
    const int64_t shares = (panels + share - 1) / share;
    const int64_t work = (m < S::kBlockRows ? m : S::kBlockRows) * depth * share * S::kCols;
    parallel_for(0, blocks * shares, kProductGrain / work + 1, [&](int64_t begin, int64_t end) {
      Scratch<T> packed_a(S::kBlockRows * depth + kLanes<T>);
      int64_t held = -1;
      for (int64_t task = begin; task < end; ++task) {
        const int64_t block = task / shares, i = block * S::kBlockRows;
        const int rows = static_cast<int>(m - i < S::kBlockRows ? m - i : S::kBlockRows);
        if (held != block) pack_a(packed_a.data(), i, p, rows, depth);
        held = block;
        const int64_t last = (task % shares + 1) * share;
        for (int64_t panel = task % shares * share; panel < (last < panels ? last : panels); ++panel) {
          const int64_t left = columns - panel * S::kCols;
          panel_product<T, true>(packed_a.data(), 0, 0, packed_b + panel * S::kCols * depth, S::kCols, depth,
                                 o, i, j + panel * S::kCols, rows,
                                 static_cast<int>(left < S::kCols ? left : S::kCols));
        }
      }
    });
  }

  void pack_a(T* packed, int64_t i, int64_t p, int rows, int64_t depth) const {
    for (int r = 0; r < rows; r += S::kRows) {
      pack_rows<T>(packed + r * depth, {a.at(i + r, p), a.row, a.column},
                   rows - r < S::kRows ? rows - r : S::kRows, depth);
    }
  }
};

template <class T>
T number_or(const void* p, T otherwise) {
  return p ? *static_cast<const T*>(p) : otherwise;
}

template <class T>
void product(const Product& p) {
  const auto operand = [](const MatrixView& v) {
    return Operand<T>{reinterpret_cast<const T*>(v.data), v.row_stride, v.column_stride};
  };
  const Output<T> out{reinterpret_cast<T*>(p.c.data),
                      p.c.row_stride,
                      p.c.column_stride,
                      reinterpret_cast<const T*>(p.added.data),
                      p.added.row_stride,
                      p.added.column_stride,
                      number_or<T>(p.alpha, 1),
                      number_or<T>(p.beta, 0)};
  if (p.m <= 2 * Tile<T>::kRows || p.m * p.n * p.k <= 64 * 64 * 64) {
    product_by_panels(operand(p.a), operand(p.b), p.m, p.n, p.k, out);
  } else {
    BlockedProduct<T>{operand(p.a), operand(p.b), p.m, p.n, p.k}.run(out);
  }
}

}  // namespace

extern const MatmulKernel float_products[2] = {&product<float>, &product<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const MatmulKernel float_products[2])

namespace tl::cpu {

MatmulKernel float_product() { return TL_SELECT(float_products)[0]; }
MatmulKernel double_product() { return TL_SELECT(float_products)[1]; }

}  // namespace tl::cpu
#endif
