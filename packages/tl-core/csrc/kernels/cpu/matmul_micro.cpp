// isa: all
#include "kernels/cpu/matmul_micro.h"

#include <array>
#include <utility>

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Of R rows and N vectors of columns. Sums are only met by constants: compilers keep arrays in registers,
// rather than in memory around a loop, where no loop goes over them.
template <class T, int R, int N>
class Sums {
 public:
  using V = Vec<T>;

  TL_INLINE Sums() {
    [&]<int... I>(Numbers<I...>) { ((sums_[I] = V{}), ...); }(std::make_integer_sequence<int, R * N>{});
  }
  // A term's factors, a_row apart, times its columns.
  TL_INLINE void add(const T* a, int64_t a_row, const T* b) { add(a, a_row, b, kRows, kVectors); }
  TL_INLINE void put(T* out, int64_t row) const { put(out, row, std::make_integer_sequence<int, R * N>{}); }

 private:
  template <int... I>
  using Numbers = std::integer_sequence<int, I...>;
  static constexpr std::make_integer_sequence<int, R> kRows{};
  static constexpr std::make_integer_sequence<int, N> kVectors{};

  template <int... i, int... v>
  TL_INLINE void add(const T* a, int64_t a_row, const T* b, Numbers<i...>, Numbers<v...>) {
    const V columns[] = {read<V>(reinterpret_cast<const char*>(b + v * kLanes<T>))...};
    (add_row<i>(broadcast<V>(a[i * a_row]), columns, kVectors), ...);
  }
  template <int i, int... v>
  TL_INLINE void add_row(V factor, const V* columns, Numbers<v...>) {
    ((sums_[i * N + v] = fma(factor, columns[v], sums_[i * N + v])), ...);
  }
  template <int... I>
  TL_INLINE void put(T* out, int64_t row, Numbers<I...>) const {
    (write(reinterpret_cast<char*>(out + I / N * row + I % N * kLanes<T>), sums_[I]), ...);
  }

  V sums_[R * N];
};

template <class T, int R, int N, bool packed>
void micro(T* out, int64_t out_row, const T* a, int64_t a_row, int64_t a_step, const T* b, int64_t b_step,
           int64_t depth) {
  if constexpr (packed) a_row = 1, a_step = Tile<T>::kRows;
  Sums<T, R, N> sums;
  for (int64_t p = 0; p < depth; ++p, a += a_step, b += b_step) {
    if constexpr (packed) {
      prefetch(a + kTermsAhead * a_step, Tile<T>::kRows * sizeof(T));
      prefetch(b + kTermsAhead * b_step, N * kVecBytes);
    }
    sums.add(a, a_row, b);
  }
  sums.put(out, out_row);
}

template <class T, int N, bool packed, size_t... R>
constexpr std::array<Micro<T>, sizeof...(R)> micros(std::index_sequence<R...>) {
  return {&micro<T, static_cast<int>(R) + 1, N, packed>...};
}
template <class T, int N, bool packed>
constexpr auto kMicros = micros<T, N, packed>(std::make_index_sequence<Tile<T>::kRows>{});

template <class T, bool packed>
const Micro<T>* for_vectors(int vectors) {
  if (vectors == 1) return kMicros<T, 1, packed>.data();
  if (vectors == 2) return kMicros<T, 2, packed>.data();
  return kMicros<T, Tile<T>::kVectors, packed>.data();
}

template <class T, int R>
void spread(T* out, const T* a, const T* b, const int64_t* offsets, int64_t depth) {
  constexpr int N = Tile<T>::kVectors;
  Sums<T, R, N> sums;
  for (int64_t p = 0; p < depth; ++p, a += Tile<T>::kRows) {
    prefetch(b + offsets[p + kTermsAhead], N * kVecBytes);
    sums.add(a, 1, b + offsets[p]);
  }
  sums.put(out, Tile<T>::kCols);
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

const Micro<float>* packed_micros(float, int vectors) { return for_vectors<float, true>(vectors); }
const Micro<double>* packed_micros(double, int vectors) { return for_vectors<double, true>(vectors); }
const Micro<float>* loose_micros(float, int vectors) { return for_vectors<float, false>(vectors); }
const Micro<double>* loose_micros(double, int vectors) { return for_vectors<double, false>(vectors); }

}  // namespace tl::cpu::TL_ISA_NAMESPACE
