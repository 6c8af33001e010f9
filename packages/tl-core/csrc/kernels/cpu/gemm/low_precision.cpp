// isa: all bf16, by hand
// GEMM of narrow types by the instructions that processors have for them.
#include "kernels/cpu/gemm/kernels.h"

#if defined(__AVX512BF16__)
#include "kernels/cpu/gemm/amx_gemm.h"
#include "kernels/cpu/gemm/split_bf16_gemm.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// ---- bfloat16: pairs of terms are multiplied and both products added in float -----------------------------

// A pair of terms in a float's bits.
struct Pairs {
  using Storage = BFloat16;
  using Element = float;
  static constexpr int kPack = 2;

  static TL_INLINE VecF along(const BFloat16* p) { return read<VecF>(reinterpret_cast<const char*>(p)); }
  static TL_INLINE VecF across(const BFloat16* p, int64_t step, int n) {
    const auto lanes = static_cast<__mmask16>((1u << n) - 1);
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, p));
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, p + step));
    return reinterpret_cast<VecF>(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
  }
  static TL_INLINE float one(const BFloat16* p, int64_t step, int left) {
    const uint32_t high = left > 1 ? p[step].bits : 0;
    return bitcast<float>(uint32_t{p->bits} | high << 16);
  }
};

template <int R, int N>
void pair_micro(const AccumulatorTarget<float>& to, const float* a, int64_t, int64_t, const float* b,
                int64_t b_step, int64_t depth) {
  __m512 sums[R][N] = {};
  for (int64_t p = 0; p < depth; ++p, a += Tile<float>::kRows, b += b_step) {
    __m512bh columns[N];
    for (int v = 0; v < N; ++v) columns[v] = reinterpret_cast<__m512bh>(_mm512_loadu_ps(b + v * 16));
    for (int i = 0; i < R; ++i) {
      const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_ps(a[i]));
      for (int v = 0; v < N; ++v) sums[i][v] = _mm512_dpbf16_ps(sums[i][v], factor, columns[v]);
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int v = 0; v < N; ++v) {
      if (to.added) sums[i][v] = _mm512_loadu_ps(to.added + i * to.added_row + v * 16) + sums[i][v];
      _mm512_storeu_ps(to.out + i * to.row + v * 16, sums[i][v]);
    }
  }
}

template <int N, size_t... R>
const MicroKernel<float>* table(std::index_sequence<R...>) {
  static constexpr MicroKernel<float> kernels[] = {&pair_micro<static_cast<int>(R) + 1, N>...};
  return kernels;
}
const MicroKernel<float>* pair_micros(int vectors) {
  constexpr auto rows = std::make_index_sequence<Tile<float>::kRows>{};
  return vectors == 1 ? table<1>(rows) : vectors == 2 ? table<2>(rows) : table<3>(rows);
}

void by_pairs(const GemmArgs& p, const Epilogue<float>& out) {
  BlockedGemm<Pairs>{operand<BFloat16>(p.a), operand<BFloat16>(p.b), p.m, p.n, p.k, &pair_micros}.run(out);
}
void bfloat16_by_pairs(const GemmArgs& p) { narrow_gemm<BFloat16>(p, &by_pairs); }
void in_float_by_pairs(const GemmArgs& p) { by_pairs(p, epilogue_of<float>(p)); }

// `S` packs for tiles.
template <class S>
TiledProduct<S> tiled(const GemmArgs& p) {
  using T = typename S::Storage;
  return {operand<T>(p.a), operand<T>(p.b), p.m, p.n, p.k};
}
template <class S>
void by_tiles_to(const GemmArgs& p, const Epilogue<typename S::E>& out) {
  tiled<S>(p).run(out);
}
template <class S>
void by_tiles(const GemmArgs& p) {
  by_tiles_to<S>(p, epilogue_of<typename S::E>(p));
}

// 32 sums become a whole line of memory: half of one would have to be read before.
void store_narrow_row(const float* sums, float alpha, char* to) {
  const auto half = [&](int i) {
    return bitcast<__m256i>(narrow(read<VecF>(reinterpret_cast<const char*>(sums + i)) * alpha, BFloat16{}));
  };
  _mm512_storeu_si512(to, _mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(16), 1));
}

// Sums stay where they are until they are whole, unless that takes much memory.
void bfloat16_by_tiles(const GemmArgs& p) {
  using S = InTiles<Pairs>;
  constexpr int64_t size = sizeof(BFloat16), kPack = 4096;
  if (p.k > kPack) return narrow_gemm<BFloat16>(p, &by_tiles_to<S>);
  const float alpha = scalar_or<float>(p.alpha, 1), beta = scalar_or<float>(p.beta, 0);
  const auto at = [](const MatrixView& v, int64_t i, int64_t j) {
    return v.data + (i * v.row_stride + j * v.column_stride) * size;
  };
  tiled<S>(p).run_whole([&](const float* sums, int64_t i, int64_t j, int rows, int columns) {
    const bool full_rows = columns == S::kCols && p.c.column_stride == 1 && beta == 0;
    for (int64_t r = i; r < i + rows; ++r, sums += S::kCols) {
      if (full_rows)
        store_narrow_row(sums, alpha, at(p.c, r, j));
      else
        narrow_row<BFloat16>(sums, columns, at(p.c, r, j), p.c.column_stride * size, at(p.added, r, j),
                             p.added.column_stride * size, alpha, beta);
    }
  });
}

// ---- sides packed once for several products ---------------------------------------------------------------

template <class T, class Scheme>
struct PackedTileGemm {
  static constexpr int kRows = TileGemm::kTileRows, kCols = TileGemm::kTileRows;

  static int64_t depth(int64_t terms) { return packed_terms<Scheme>(terms); }
  static int64_t bytes(int64_t lines, int64_t terms) {
    const int64_t whole = (lines + TileGemm::kTileRows - 1) / TileGemm::kTileRows * TileGemm::kTileRows;
    return whole * depth(terms) * static_cast<int64_t>(sizeof(float));
  }
  static void pack_left(const GemmArgs& p, char* to) {
    Scheme::pack_rows(reinterpret_cast<float*>(to), operand<T>(p.a), static_cast<int>(p.m), p.k, depth(p.k));
  }
  static void pack_right(const GemmArgs& p, char* to) {
    const Operand<T> b = operand<T>(p.b);
    for (int64_t j = 0; j < p.n; j += kCols)
      Scheme::pack_columns(reinterpret_cast<float*>(to) + j * depth(p.k), {b.at(0, j), b.row, b.column},
                           static_cast<int>(std::min<int64_t>(p.n - j, kCols)), p.k, depth(p.k));
  }
  static TL_TILES void begin() { _tile_loadconfig(&kTileSizes); }
  static TL_TILES void end() { _tile_release(); }
  static void multiply(const TileGemmArgs& p) {
    const auto *a = reinterpret_cast<const float*>(p.left), *b = reinterpret_cast<const float*>(p.right);
    const int64_t terms = depth(p.terms), panel = depth(p.right_terms);
    for (int64_t j = 0; j < p.n; j += kCols) {
      for (int64_t i = 0; i < p.m; i += kRows)
        add_tile<Scheme>(p.m - i, {p.c + i * p.stride + j, p.stride, p.adds}, a + i * terms, terms,
                         b + j * panel, terms);
    }
  }
};

template <class Of>
constexpr TileGemm kTileGemm{&Of::bytes, &Of::pack_left, &Of::pack_right,
                             &Of::begin, &Of::multiply,  &Of::end};

// ---- int8: four terms are multiplied and their products added in int32 ------------------------------------

struct Quads {
  using Storage = int8_t;
  using Element = int32_t;
  static constexpr int kPack = 4;

  static TL_INLINE VecI along(const int8_t* p) { return read<VecI>(reinterpret_cast<const char*>(p)); }
  static TL_INLINE VecI across(const int8_t* p, int64_t step, int n) {
    const auto lanes = static_cast<__mmask16>((1u << n) - 1);
    __m512i quads = {};
    for (int t = 0; t < kPack; ++t) {
      const __m512i bytes = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, p + t * step));
      quads = _mm512_or_si512(quads, _mm512_slli_epi32(bytes, static_cast<unsigned>(8 * t)));
    }
    return reinterpret_cast<VecI>(quads);
  }
  static TL_INLINE int32_t one(const int8_t* p, int64_t step, int left) {
    uint32_t quad = 0;
    for (int t = 0; t < kPack && t < left; ++t)
      quad |= uint32_t{static_cast<uint8_t>(p[t * step])} << (8 * t);
    return static_cast<int32_t>(quad);
  }
};

}  // namespace

extern const GemmKernel narrow_products[7] = {&bfloat16_by_pairs,           &bfloat16_by_tiles,
                                              &in_float_by_pairs,           &by_tiles<InTiles<Pairs>>,
                                              &by_tiles<InTiles<Quads>>,    &by_tiles<SplitBf16Format<1>>,
                                              &by_tiles<SplitBf16Format<2>>};
extern const TileGemm tile_gemms[2] = {kTileGemm<PackedTileGemm<BFloat16, InTiles<Pairs>>>,
                                       kTileGemm<PackedTileGemm<float, SplitBf16Format<>>>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
#endif

#if TL_ISA_LEVEL == 1
#include "base/cpu_capability.h"

#if defined(TL_ISA_X86)
namespace tl::cpu::v4bf16 {
extern const GemmKernel narrow_products[7];
extern const TileGemm tile_gemms[2];
}  // namespace tl::cpu::v4bf16
#endif

namespace tl::cpu {

GemmKernel bfloat16_vnni_gemm() {
#if defined(TL_ISA_X86)
  if (cpu_has_bf16()) return v4bf16::narrow_products[cpu_has_tiles()];
#endif
  return nullptr;
}

GemmKernel bfloat16_vnni_gemm_to_float() {
#if defined(TL_ISA_X86)
  if (cpu_has_bf16()) return v4bf16::narrow_products[2 + cpu_has_tiles()];
#endif
  return nullptr;
}

const TileGemm* tile_gemm(DType dtype) {
#if defined(TL_ISA_X86)
  if (cpu_has_tiles()) return &v4bf16::tile_gemms[dtype == DType::Float32];
#endif
  return nullptr;
}

GemmKernel split_bf16_kernel(int parts) {
#if defined(TL_ISA_X86)
  if (cpu_has_tiles()) return v4bf16::narrow_products[4 + parts];
#endif
  return nullptr;
}

GemmKernel int8_gemm() {
#if defined(TL_ISA_X86)
  if (cpu_has_tiles()) return v4bf16::narrow_products[4];
#endif
  return nullptr;
}

}  // namespace tl::cpu
#endif
