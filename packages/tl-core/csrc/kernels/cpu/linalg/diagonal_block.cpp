// isa: all
// Substitution in a small triangle, a lane a right-hand side; a row waits for those before it in registers.
#include "kernels/cpu/linalg/diagonal_block.h"

#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Some vectors of right-hand sides; `left` are left from the first of them on.
template <int vectors, class T>
TL_INLINE void substitute(const DiagonalBlock& b, const T* t, T* x, int64_t left) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  for (int64_t n = 0; n < b.rows; ++n) {
    const int64_t i = b.upper ? b.rows - 1 - n : n;
    V sums[vectors];
    for (int v = 0; v < vectors; ++v) sums[v] = load_some<T>(x + i * b.x_stride + v * W, left);
    for (int64_t j = b.upper ? i + 1 : 0, end = j + n; j < end; ++j) {
      const V factor = broadcast<V>(-t[i * b.t_stride + j]);
      for (int v = 0; v < vectors; ++v)
        sums[v] = fma(factor, load_some<T>(x + j * b.x_stride + v * W, left), sums[v]);
    }
    const V pivot = broadcast<V>(b.unit ? T(1) : t[i * b.t_stride + i]);
    for (int v = 0; v < vectors; ++v)
      store_some<T>(x + i * b.x_stride + v * W, left, b.unit ? sums[v] : sums[v] / pivot);
  }
}

template <class T>
void solve(const DiagonalBlock& b) {
  constexpr int kVectors = 8, W = kLanes<T>;
  const T* t = reinterpret_cast<const T*>(b.t);
  T* x = reinterpret_cast<T*>(b.x);
  int64_t c = 0;
  for (; c + kVectors * W <= b.columns; c += kVectors * W) substitute<kVectors>(b, t, x + c, W);
  for (; c < b.columns; c += W) substitute<1>(b, t, x + c, b.columns - c);
}

}  // namespace

using DiagonalBlockKernel = void (*)(const DiagonalBlock&);
extern const DiagonalBlockKernel diagonal_blocks[2] = {&solve<float>, &solve<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using DiagonalBlockKernel = void (*)(const DiagonalBlock&);
          extern const DiagonalBlockKernel diagonal_blocks[2])

namespace tl::cpu {

void solve_block(DType dtype, const DiagonalBlock& block) {
  TL_SELECT(diagonal_blocks)[dtype == DType::Float64](block);
}

}  // namespace tl::cpu
#endif
