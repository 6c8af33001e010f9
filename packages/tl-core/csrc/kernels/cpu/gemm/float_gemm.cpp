// isa: all
// GEMM of float and double, and of the half types through float.
#include "kernels/cpu/gemm/kernels.h"
#include "kernels/cpu/gemm/packed_product.h"
#include "kernels/cpu/gemm/skinny.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// ---- small products, and those of few rows ----------------------------------------------------------------

// Reads a where it is, and b too if its rows are dense; else b is packed a panel at a time.
template <class T>
class PanelProduct {
 public:
  using E = OpMath<T>;
  using S = Tile<E>;
  static constexpr int kCols = S::kCols;
  static constexpr int64_t kDepth = S::kDepth;

  PanelProduct(Operand<E> a, Operand<T> b, int64_t m, int64_t n, int64_t k)
      : a_(a), b_(b), m_(m), n_(n), k_(k), panels_(n) {}

  void run(const Epilogue<E>& first) const {
    if (SkinnyTransposedGemm<T>::suits(b_, m_)) return SkinnyTransposedGemm<T>{a_, b_, m_, n_, k_}.run(first);
    if (SkinnyGemm<T>::suits(b_, m_, n_, k_)) return SkinnyGemm<T>(a_, b_, m_, n_, k_).run(first);
    const int64_t grain = kGemmGrain / (m_ * k_ * kCols + 1) + 1;
    parallel_for(0, panels_.count(), grain, [&](int64_t begin, int64_t end) {
      Scratch<E, kDepth * kCols> panel(kDepth * kCols);
      for (int64_t i = begin; i < end; ++i) one_panel(first, i, panel.data());
    });
  }

 private:
  void one_panel(const Epilogue<E>& first, int64_t i, E* panel) const {
    const int64_t j = panels_.begin(i);
    const int columns = panels_.columns(i);
    const bool loose = std::is_same_v<T, E> && b_.column == 1 && columns % kLanes<E> == 0;
    for (int64_t p = 0; p == 0 || p < k_; p += kDepth) {
      const int64_t depth = k_ - p < kDepth ? k_ - p : kDepth;
      if (!loose) pack_columns_as<Plain<T>>(panel, {b_.at(p, j), b_.row, b_.column}, columns, depth);
      if (loose && j + columns < n_) prefetch_panel(j + columns, p, depth);
      rows(loose ? reinterpret_cast<const E*>(b_.at(p, j)) : panel, loose ? b_.row : kCols, p, depth,
           p == 0 ? first : continued(first), j, columns);
    }
  }

  // Its rows lie apart.
  void prefetch_panel(int64_t j, int64_t p, int64_t depth) const {
    for (int64_t q = p; q < p + depth; ++q) prefetch(b_.at(q, j), kCols * sizeof(E));
  }

  void rows(const E* b, int64_t b_step, int64_t p, int64_t depth, const Epilogue<E>& o, int64_t j,
            int columns) const {
    const MicroKernel<E>* kernels = loose_micros(E{}, vectors_for<E>(columns));
    for (int64_t i = 0; i < m_; i += S::kRows) {
      const int r = static_cast<int>(m_ - i < S::kRows ? m_ - i : S::kRows);
      run_epilogue<S::kRows, kCols>(o, i, j, r, columns, [&](const AccumulatorTarget<E>& to) {
        kernels[r - 1](to, a_.at(i, p), a_.row, a_.column, b, b_step, depth);
      });
    }
  }

  Operand<E> a_;
  Operand<T> b_;
  int64_t m_, n_, k_;
  Panels<E> panels_;
};

template <class T>
void pack_panels(const MatrixView& b, int64_t k, int64_t n, char* packed) {
  PackedProduct<T>::pack(operand<T>(b), k, n, reinterpret_cast<T*>(packed));
}
template <class T>
void packed_panels(const GemmArgs& p) {
  PackedProduct<T>(operand<T>(p.a), reinterpret_cast<const T*>(p.b.data), p.m, p.n, p.k)
      .run(epilogue_of<T>(p));
}

// ---- which way --------------------------------------------------------------------------------------------

template <class T>
const MicroKernel<T>* packed(int vectors) {
  return packed_micros(T{}, vectors);
}

template <class T>
void blocked(const GemmArgs& p, const Epilogue<OpMath<T>>& out) {
  BlockedGemm<Plain<T>>{operand<T>(p.a), operand<T>(p.b), p.m, p.n, p.k, &packed<OpMath<T>>}.run(out);
}

// Whether a is so small that reading it again for every panel costs less than packing it.
bool stays_cached(const GemmArgs& p) {
  constexpr int64_t kDepth = 256, kElements = 1 << 15, kStride = 512;
  const bool in_rows = p.a.column_stride == 1 && p.a.row_stride <= kStride && p.b.row_stride <= kStride;
  return p.k <= kDepth && p.m <= (in_rows ? 2 * kElements : kElements) / std::max<int64_t>(p.k, 1);
}

// A single panel of columns meets each row once: packing the rows would only add to that.
template <class T>
bool has_one_panel(const GemmArgs& p) {
  constexpr int64_t kDepth = 256, kStride = 512;
  return p.n <= Tile<T>::kCols && p.k <= kDepth && p.a.column_stride == 1 && p.a.row_stride <= kStride;
}
template <class T>
void one_panel_product(const GemmArgs& p) {
  constexpr int64_t kRows = 512;  // of a part; even parts, so that none has so few that it goes another way
  const int64_t parts = std::max<int64_t>(1, p.m / kRows);
  const int64_t grain = kGemmGrain / (kRows * p.n * p.k + 1) + 1;
  const auto below = [](MatrixView v, int64_t row) {
    if (v.data) v.data += row * v.row_stride * static_cast<int64_t>(sizeof(T));
    return v;
  };
  parallel_for(0, parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = part_begin(i, parts, p.m);
      GemmArgs part = p;
      part.m = part_begin(i + 1, parts, p.m) - row;
      part.a = below(p.a, row), part.c = below(p.c, row), part.added = below(p.added, row);
      PanelProduct<T>(operand<T>(part.a), operand<T>(part.b), part.m, part.n, part.k)
          .run(epilogue_of<T>(part));
    }
  });
}

template <class T>
void product(const GemmArgs& p) {
  if (p.m <= 2 * Tile<T>::kRows || p.m * p.n * p.k <= 64 * 64 * 64 || stays_cached(p))
    PanelProduct<T>(operand<T>(p.a), operand<T>(p.b), p.m, p.n, p.k).run(epilogue_of<T>(p));
  else if (has_one_panel<T>(p))
    one_panel_product<T>(p);
  else
    blocked<T>(p, epilogue_of<T>(p));
}

template <class T>
void few_half_rows(const GemmArgs& p, const Epilogue<float>& out) {
  Workspace<float> a(p.m * p.k);
  const Operand<T> from = operand<T>(p.a);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.k; j += kLanes<float>) {
      const int left = static_cast<int>(p.k - j < kLanes<float> ? p.k - j : kLanes<float>);
      store_partial<float>(reinterpret_cast<char*>(a.data() + i * p.k + j), left,
                           load_strided<T>(reinterpret_cast<const char*>(from.at(i, j)),
                                           from.column * static_cast<int64_t>(sizeof(T)), left));
    }
  }
  PanelProduct<T>({a.data(), p.k, 1}, operand<T>(p.b), p.m, p.n, p.k).run(out);
}

template <class T>
void half_rows(const GemmArgs& p, const Epilogue<float>& out) {
  p.m <= 2 * Tile<float>::kRows ? few_half_rows<T>(p, out) : blocked<T>(p, out);
}
template <class T>
void half_gemm(const GemmArgs& p) {
  narrow_gemm<T>(p, &half_rows<T>);
}
template <class T>
void half_product_in_float(const GemmArgs& p) {
  half_rows<T>(p, epilogue_of<float>(p));
}

}  // namespace

extern const GemmKernel float_products[5] = {&product<float>, &product<double>, &half_gemm<Half>,
                                             &half_gemm<BFloat16>, &half_product_in_float<BFloat16>};

extern const PackedGemm packed_products[2] = {
    {&PackedProduct<float>::size, &pack_panels<float>, &packed_panels<float>},
    {&PackedProduct<double>::size, &pack_panels<double>, &packed_panels<double>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const GemmKernel float_products[5])
TL_LEVELS(extern const PackedGemm packed_products[2])

namespace tl::cpu {

const PackedGemm& packed_gemm(DType dtype) { return TL_SELECT(packed_products)[dtype == DType::Float64]; }

GemmKernel float_gemm() { return TL_SELECT(float_products)[0]; }
GemmKernel double_gemm() { return TL_SELECT(float_products)[1]; }
GemmKernel half_gemm() { return TL_SELECT(float_products)[2]; }
GemmKernel bfloat16_gemm() { return TL_SELECT(float_products)[3]; }
GemmKernel bfloat16_gemm_to_float() { return TL_SELECT(float_products)[4]; }

}  // namespace tl::cpu
#endif
