// Register tile of accumulators.
#pragma once

#include <utility>

#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// R rows of N vectors, which begin as zeros. They are only met by constants: compilers keep arrays in
// registers, rather than in memory around a loop, where no loop goes over them. What is handed in is to be
// inlined.
template <class V, int R, int N>
class RegisterTile {
 public:
  TL_INLINE RegisterTile() {
    fill([](int, int) TL_INLINED { return V{}; });
  }
  // What f(i, j) gives, in each place.
  template <class F>
  TL_INLINE void fill(F f) {
    fill(f, kAll);
  }
  // Adds row(i) * column(j) in each place.
  template <class Row, class Column>
  TL_INLINE void add(Row row, Column column) {
    add(row, column, kRows, kColumns);
  }
  // f(i, j, the vector) for each place.
  template <class F>
  TL_INLINE void each(F f) const {
    each(f, kAll);
  }

 private:
  template <int... I>
  using Numbers = std::integer_sequence<int, I...>;
  static constexpr std::make_integer_sequence<int, R> kRows{};
  static constexpr std::make_integer_sequence<int, N> kColumns{};
  static constexpr std::make_integer_sequence<int, R * N> kAll{};

  template <class F, int... I>
  TL_INLINE void fill(F f, Numbers<I...>) {
    ((at_[I] = f(I / N, I % N)), ...);
  }
  template <class Row, class Column, int... i, int... j>
  TL_INLINE void add(Row row, Column column, Numbers<i...>, Numbers<j...>) {
    const V columns[] = {column(j)...};
    (add_row<i>(row(i), columns, kColumns), ...);
  }
  template <int i, int... j>
  TL_INLINE void add_row(V row, const V* columns, Numbers<j...>) {
    ((at_[i * N + j] = fma(row, columns[j], at_[i * N + j])), ...);
  }
  template <class F, int... I>
  TL_INLINE void each(F f, Numbers<I...>) const {
    (f(I / N, I % N, at_[I]), ...);
  }

  V at_[R * N];
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
