// Piecewise polynomials of vectors: a function on an interval by sixteen polynomials of low degree. Each lane
// looks up the coefficients of its own piece, so that it costs the same wherever its neighbours lie.
#pragma once

#include "kernels/cpu/elementwise/piecewise_tables.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kPieces = 16;

TL_INLINE VecD pick(const double (&of)[kPieces], VecL which) {
#if TL_ISA_LEVEL >= 4
  return _mm512_permutex2var_pd(_mm512_loadu_pd(of), bitcast<__m512i>(which), _mm512_loadu_pd(of + 8));
#elif TL_ISA_LEVEL >= 3
  return _mm256_i64gather_pd(of, bitcast<__m256i>(which), 8);
#else
  return VecD{of[which[0]], of[which[1]]};
#endif
}

// The piece in which a coordinate lies; coordinates go from 0 to 16, and what lies outside to the ends.
struct Piece {
  VecL which;
  VecD begin;
};
TL_INLINE Piece piece_of(VecD coordinate) {
  const VecD shifted = (within(coordinate, 0.0, kPieces - 0.25) - 0.5) + 0x1.8p52;
  return {bitcast<VecL>(shifted) & (kPieces - 1), shifted - 0x1.8p52};
}

// Horner's rule in the distance from the piece's middle.
template <size_t terms>
TL_INLINE VecD piecewise(const double (&table)[terms][kPieces], VecL which, VecD distance) {
  VecD sum = pick(table[0], which);
  for (size_t k = 1; k < terms; ++k) sum = fma(sum, distance, pick(table[k], which));
  return sum;
}
template <size_t terms>
TL_INLINE VecD piecewise(const double (&table)[terms][kPieces], VecD coordinate) {
  const Piece at = piece_of(coordinate);
  return piecewise(table, at.which, coordinate - (at.begin + 0.5));
}
// The same of a table whose first piece is a series about 0.
template <size_t terms>
TL_INLINE VecD piecewise_from_zero(const double (&table)[terms][kPieces], VecD coordinate) {
  const Piece at = piece_of(coordinate);
  return piecewise(table, at.which, select<VecD>(at.begin == 0.0, coordinate, coordinate - (at.begin + 0.5)));
}

// What the rounding of x * y lost.
TL_INLINE VecD product_rest(VecD x, VecD y, VecD product) {
#ifdef __FMA__
  return fma(x, y, -product);
#else  // both in halves, of which all products are exact (Dekker 1971)
  const auto upper = [](VecD v) { return bitcast<VecD>(bitcast<VecL>(v) & -0x8000000); };
  const VecD a = upper(x), b = x - a, c = upper(y), d = y - c;
  return ((a * c - product) + (a * d + b * c)) + b * d;
#endif
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE
