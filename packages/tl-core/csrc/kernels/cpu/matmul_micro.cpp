// isa: all
#include "kernels/cpu/matmul_micro.h"

#include <array>

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

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

template <class T, int N, bool packed, size_t... R>
constexpr std::array<Micro<T>, sizeof...(R)> micros(std::index_sequence<R...>) {
  return {&micro<T, static_cast<int>(R) + 1, N, packed>...};
}
template <class T, int N, bool packed>
constexpr auto kMicros =
    micros<T, N, packed>(std::make_index_sequence<packed ? Tile<T>::kRows : kLooseRows<T>>{});

template <class T, bool packed>
const Micro<T>* for_vectors(int vectors) {
  return vectors == 1 ? kMicros<T, 1, packed>.data() : kMicros<T, 2, packed>.data();
}

}  // namespace

const Micro<float>* packed_micros(float, int vectors) { return for_vectors<float, true>(vectors); }
const Micro<double>* packed_micros(double, int vectors) { return for_vectors<double, true>(vectors); }
const Micro<float>* loose_micros(float, int vectors) { return for_vectors<float, false>(vectors); }
const Micro<double>* loose_micros(double, int vectors) { return for_vectors<double, false>(vectors); }

}  // namespace tl::cpu::TL_ISA_NAMESPACE
