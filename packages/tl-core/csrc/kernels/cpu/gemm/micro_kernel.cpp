// isa: all
// GEMM micro-kernels: outer products accumulated in registers, one K step at a time.
#include "kernels/cpu/gemm/micro_kernel.h"

#include <array>

#include "kernels/cpu/gemm/register_tile.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// A tile plus a term's factors, a_row apart, times its columns.
template <class T, int R, int N>
TL_INLINE void add(RegisterTile<Vec<T>, R, N>& sums, const T* a, int64_t a_row, const T* b) {
  using V = Vec<T>;
  sums.add([&](int i) TL_INLINED { return broadcast<V>(a[i * a_row]); },
           [&](int j) TL_INLINED { return read<V>(reinterpret_cast<const char*>(b + j * kLanes<T>)); });
}
template <class T, int R, int N>
TL_INLINE void put(const RegisterTile<Vec<T>, R, N>& sums, const AccumulatorTarget<T>& to) {
  const auto at = [](auto* p, int64_t row, int i, int j) TL_INLINED { return p + i * row + j * kLanes<T>; };
  if (to.added) {
    sums.each([&](int i, int j, Vec<T> sum) TL_INLINED {
      const auto added = read<Vec<T>>(reinterpret_cast<const char*>(at(to.added, to.added_row, i, j)));
      write(reinterpret_cast<char*>(at(to.out, to.row, i, j)), added + sum);
    });
  } else {
    sums.each([&](int i, int j, Vec<T> sum)
                  TL_INLINED { write(reinterpret_cast<char*>(at(to.out, to.row, i, j)), sum); });
  }
}

template <class T, int R, int N, bool packed>
void micro(const AccumulatorTarget<T>& to, const T* a, int64_t a_row, int64_t a_step, const T* b,
           int64_t b_step, int64_t depth) {
  if constexpr (packed) a_row = 1, a_step = Tile<T>::kRows;
  RegisterTile<Vec<T>, R, N> sums;
  for (int64_t p = 0; p < depth; ++p, a += a_step, b += b_step) {
    if constexpr (packed) {
      prefetch(a + kPrefetchDistance * a_step, Tile<T>::kRows * sizeof(T));
      prefetch(b + kPrefetchDistance * b_step, N * kVecBytes);
    }
    add(sums, a, a_row, b);
  }
  put(sums, to);
}

template <class T, int N, bool packed, size_t... R>
constexpr std::array<MicroKernel<T>, sizeof...(R)> micros(std::index_sequence<R...>) {
  return {&micro<T, static_cast<int>(R) + 1, N, packed>...};
}
template <class T, int N, bool packed>
constexpr auto kMicros = micros<T, N, packed>(std::make_index_sequence<Tile<T>::kRows>{});

template <class T, bool packed>
const MicroKernel<T>* for_vectors(int vectors) {
  if (vectors == 1) return kMicros<T, 1, packed>.data();
  if (vectors == 2) return kMicros<T, 2, packed>.data();
  return kMicros<T, Tile<T>::kVectors, packed>.data();
}

template <class T, int R, int N>
void streamed(const AccumulatorTarget<T>& to, const T* a, int64_t a_row, int64_t a_step, const T* b,
              int64_t depth, Ahead ahead) {
  constexpr int kLine = 64;
  RegisterTile<Vec<T>, R, N> sums;
  for (int64_t p = 0; p < depth; ++p, a += a_step, b += Tile<T>::kCols) {
    for (int64_t i = 0; i < ahead.lines; ++i, ahead.from += kLine) __builtin_prefetch(ahead.from, 0, 2);
    add(sums, a, a_row, b);
  }
  put(sums, to);
}

template <class T, int N, size_t... R>
constexpr std::array<StreamedMicro<T>, sizeof...(R)> all_streamed(std::index_sequence<R...>) {
  return {&streamed<T, static_cast<int>(R) + 1, N>...};
}
template <class T, int N>
constexpr auto kStreamed = all_streamed<T, N>(std::make_index_sequence<Tile<T>::kRows>{});

template <class T>
const StreamedMicro<T>* streamed_for(int vectors) {
  if (vectors == 1) return kStreamed<T, 1>.data();
  if (vectors == 2) return kStreamed<T, 2>.data();
  return kStreamed<T, Tile<T>::kVectors>.data();
}

template <class T, int R>
void spread(T* out, const T* a, const T* b, const int64_t* offsets, int64_t depth) {
  constexpr int N = Tile<T>::kVectors;
  RegisterTile<Vec<T>, R, N> sums;
  for (int64_t p = 0; p < depth; ++p, a += Tile<T>::kRows) {
    prefetch(b + offsets[p + kPrefetchDistance], N * kVecBytes);
    add(sums, a, 1, b + offsets[p]);
  }
  put(sums, AccumulatorTarget<T>{out, Tile<T>::kCols});
}

// Every second number of rows will do: panels are filled up with zeros.
template <class T, size_t... R>
SpreadMicro<T> spread_for(int rows, std::index_sequence<R...>) {
  static constexpr SpreadMicro<T> kernels[] = {&spread<T, 2 * static_cast<int>(R) + 2>...};
  return kernels[(rows - 1) / 2];
}

}  // namespace

SpreadMicro<float> spread_micro(float, int rows) {
  return spread_for<float>(rows, std::make_index_sequence<Tile<float>::kRows / 2>{});
}
SpreadMicro<double> spread_micro(double, int rows) {
  return spread_for<double>(rows, std::make_index_sequence<Tile<double>::kRows / 2>{});
}

const MicroKernel<float>* packed_micros(float, int vectors) { return for_vectors<float, true>(vectors); }
const MicroKernel<double>* packed_micros(double, int vectors) { return for_vectors<double, true>(vectors); }
const MicroKernel<float>* loose_micros(float, int vectors) { return for_vectors<float, false>(vectors); }
const MicroKernel<double>* loose_micros(double, int vectors) { return for_vectors<double, false>(vectors); }

const StreamedMicro<float>* streamed_micros(float, int vectors) { return streamed_for<float>(vectors); }
const StreamedMicro<double>* streamed_micros(double, int vectors) { return streamed_for<double>(vectors); }

}  // namespace tl::cpu::TL_ISA_NAMESPACE
