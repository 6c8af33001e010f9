// GEMM of attention tiles, on AMX where it pays, and exact recomputation of its suspect results.
#pragma once

#include "kernels/cpu/attention/tiles.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {  // a part of attention.cpp

// A matrix and, for AMX, its packed copy, whose K is at least the matrix's.
struct PackedOperand {
  MatrixView view;
  const char* packed = nullptr;
  int64_t terms = 0;
};

// The packed GEMM for a call, or null where packing would not pay or lose precision.
template <class T>
const TileGemm* packing(const Attention& c) {
  constexpr int64_t kFew = std::is_same_v<T, BFloat16> ? 8 : 64,
                    kNarrow = 48;      // of which packing is not worth it
  constexpr double kLargest = 0x1p40;  // a scale that what is lost in tiles stays small with
  const int64_t size = c.shape.size, value_size = c.shape.value_size;
  const bool narrow = !std::is_same_v<T, BFloat16> && size + value_size < kNarrow;
  const bool plain = kIsaLevel < 4 || std::is_same_v<T, double> || narrow || c.shape.queries < kFew ||
                     std::max(size, value_size) > TileGemm::kMaxK || !(std::abs(c.scale) < kLargest);
  return plain ? nullptr : tile_gemm(dtype_of<Factor<T>>);
}

int64_t whole(int64_t lines) {
  return (lines + TileGemm::kTileRows - 1) / TileGemm::kTileRows * TileGemm::kTileRows;
}
// Rows or columns to allocate for accumulators: packed GEMM writes full blocks.
int64_t room(const TileGemm* tile_gemm, int64_t lines) { return tile_gemm ? whole(lines) : lines; }

// Keeps the thread's AMX tiles configured during its lifetime.
class TileConfig {
 public:
  explicit TileConfig(const TileGemm* tile_gemm) : tile_gemm_(tile_gemm) {
    if (tile_gemm_) tile_gemm_->begin();
  }
  ~TileConfig() {
    if (tile_gemm_) tile_gemm_->end();
  }
  TileConfig(const TileConfig&) = delete;
  TileConfig& operator=(const TileConfig&) = delete;

 private:
  const TileGemm* tile_gemm_;
};

// A left operand from row `first` on.
template <class T>
PackedOperand rows_of(const TileGemm* tile_gemm, PackedOperand s, int64_t first) {
  s.view.data += first * s.view.row_stride * static_cast<int64_t>(sizeof(Factor<T>));
  if (tile_gemm) s.packed += tile_gemm->bytes(first, s.terms);
  return s;
}

// Workspace for one packed operand.
class Packed {
 public:
  Packed(const TileGemm* tile_gemm, int64_t lines, int64_t terms)
      : tile_gemm_(tile_gemm), memory_(tile_gemm ? tile_gemm->bytes(lines, terms) : 1) {}

  char* data() { return memory_.data(); }
  PackedOperand left(MatrixView m, int64_t rows, int64_t terms) {
    if (!tile_gemm_) return {m};
    tile_gemm_->pack_left({rows, 0, terms, m, {}, {}, {}}, memory_.data());
    return {m, memory_.data(), terms};
  }
  PackedOperand right(MatrixView m, int64_t terms, int64_t columns) {
    if (!tile_gemm_) return {m};
    tile_gemm_->pack_right({0, columns, terms, {}, m, {}, {}}, memory_.data());
    return {m, memory_.data(), terms};
  }

 private:
  const TileGemm* tile_gemm_;
  Scratch<char> memory_;
};

// The keys or values of a head packed as right operands: row-major, transposed, or both.
template <class T>
class HeadTiles {
 public:
  HeadTiles(const TileGemm* tile_gemm, const AttentionTensor& t, int64_t height, int64_t rows,
            int64_t columns, int layouts)
      : tile_gemm_(tile_gemm),
        tensor_(t),
        height_(height),
        rows_(rows),
        columns_(columns),
        step_(tile_gemm ? tile_gemm->bytes(columns, height) : 0),
        layouts_(layouts),
        values_(kReadsAsIs<T> ? 1 : rows * columns + 1),
        packed_((rows + height - 1) / height * step_ * 2 + 1) {}

  static constexpr int kRowMajor = 1, kTransposed = 2;

  // Packs the tiles of a head that begin before row `end`.
  void reach(int64_t batch, int64_t head, int64_t end) {
    if (batch != head_.batch || head != head_.head) head_ = {batch, head, 0};
    for (; head_.row < end; head_.row += height_) prepare(head_.row);
  }
  PackedOperand row_major(int64_t row) const {
    return {view(row), tile_gemm_ ? packed(row, 0) : nullptr, rows_from(row)};
  }
  PackedOperand transposed(int64_t row) const {
    return {cpu::TL_ISA_NAMESPACE::transposed(view(row)), tile_gemm_ ? packed(row, 1) : nullptr, columns_};
  }

 private:
  int64_t rows_from(int64_t row) const { return least(height_, rows_ - row); }
  char* packed(int64_t row, int layout) const {
    return packed_.data() + (row / height_ * 2 + layout) * step_;
  }
  MatrixView view(int64_t row) const {
    if constexpr (kReadsAsIs<T>)
      return {address<T>(tensor_, {head_.batch, head_.head, row}), tensor_.row, tensor_.column};
    else
      return dense(values_.data() + row * columns_, columns_);
  }
  void prepare(int64_t row) {
    const int64_t n = rows_from(row);
    tile<T>(tensor_, {head_.batch, head_.head, row}, n, columns_, values_.data() + row * columns_);
    if (!tile_gemm_) return;
    const PackedOperand a = row_major(row), b = transposed(row);
    if (layouts_ & kRowMajor) tile_gemm_->pack_right({0, columns_, n, {}, a.view, {}, {}}, packed(row, 0));
    if (layouts_ & kTransposed) tile_gemm_->pack_right({0, n, columns_, {}, b.view, {}, {}}, packed(row, 1));
  }

  const TileGemm* tile_gemm_;
  const AttentionTensor& tensor_;
  int64_t height_, rows_, columns_, step_;  // of a tile and of the head
  int layouts_;
  Workspace<OpMath<T>> values_;
  Workspace<char> packed_;
  RowIndex head_{-1, -1, 0};
};

// c = a b, or c += a b.
template <class T>
void multiply(const TileGemm* tile_gemm, int64_t m, int64_t n, int64_t k, PackedOperand a, PackedOperand b,
              Sums<OpMath<T>> c, bool adds) {
  if constexpr (!std::is_same_v<T, double>) {
    if (tile_gemm) return tile_gemm->multiply({m, n, k, a.packed, b.packed, b.terms, c.data, c.stride, adds});
  }
  const OpMath<T> one = 1;
  const MatrixView to = dense(c.data, c.stride);
  const GemmArgs p{m, n, k, a.view, b.view, to, adds ? to : MatrixView{}, &one, adds ? &one : nullptr};
  if constexpr (std::is_same_v<Factor<T>, OpMath<T>>)
    gemm(dtype_of<OpMath<T>>, p);
  else
    gemm_bf16_f32(p);
}

// ---- exact recompute of split-bfloat16 sums ---------------------------------------------------------------

template <class A>
inline constexpr A kVisibleThreshold = A(0x1p-80);  // above it the error of flushed subnormals is not visible

// Finite, and 0 or not below the threshold.
template <class A>
TL_INLINE auto certain(Vec<A> v) {
  const Vec<A> size = abs(v);
  return (size <= std::numeric_limits<A>::max()) & ((size >= kVisibleThreshold<A>) | (size == A(0)));
}
template <class A>
TL_INLINE Vec<A> some(const A* row, int64_t j, int64_t columns) {
  const auto left = static_cast<int>(least(kLanes<A>, columns - j));
  return load_partial<A>(reinterpret_cast<const char*>(row + j), left);
}
template <class A>
bool all_certain(Sums<A> sums, int64_t rows, int64_t columns) {
  auto good = Vec<A>{} == Vec<A>{};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; j += kLanes<A>) good &= certain<A>(some(sums.row(i), j, columns));
  return !any(~good);
}
template <class A>
void replace_suspect(Sums<A> sums, Sums<A> exact, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; j += kLanes<A>) {
      const Vec<A> v = some(sums.row(i), j, columns);
      const auto left = static_cast<int>(least(kLanes<A>, columns - j));
      store_partial<A>(reinterpret_cast<char*>(sums.row(i) + j), left,
                       select<Vec<A>>(certain<A>(v), v, some(exact.row(i), j, columns)));
    }
  }
}

// The exact rows of some heads of a tensor.
template <class T>
class HeadCopy {
 public:
  HeadCopy(int64_t first, int64_t heads, int64_t rows, int64_t columns)
      : first_(first), rows_(rows), columns_(columns), memory_(heads * rows * columns * kSize) {}

  AttentionTensor tensor() const {
    return {memory_.data() - first_ * rows_ * columns_ * kSize, 0, rows_ * columns_, columns_, 1};
  }
  void replace_suspect(const AttentionTensor& t, RowIndex head) const {
    for (int64_t i = 0; t.data && i < rows_; ++i) {
      const RowIndex at{head.batch, head.head, i};
      for (int64_t j = 0; j < columns_; ++j) {
        char* to = address<T>(t, at) + j * t.column * kSize;
        const OpMath<T> size = std::abs(load_one<T>(to));
        const bool good = size <= std::numeric_limits<OpMath<T>>::max() &&
                          (size >= kVisibleThreshold<OpMath<T>> || size == 0);
        if (!good) std::memcpy(to, address<T>(tensor(), at) + j * kSize, kSize);
      }
    }
  }

 private:
  static constexpr int64_t kSize = sizeof(T);
  int64_t first_, rows_, columns_;
  Workspace<char> memory_;
};

}  // namespace

}  // namespace tl::cpu::TL_ISA_NAMESPACE
