// GEMM micro-kernels: mr rows times a few vectors of columns, accumulators in registers.
#pragma once

#include "kernels/cpu/gemm/pack.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// Where sums of some rows and whole vectors of columns go, and what is added to them, unless null.
template <class T>
struct AccumulatorTarget {
  T* out;
  int64_t row;
  const T* added = nullptr;
  int64_t added_row = 0;
};

// out[i, j] = added[i, j] + sum over p of a[i, p] * b[p, j]. Packed: a[p * kRows + i], whatever the strides
// say.
template <class T>
using MicroKernel = void (*)(const AccumulatorTarget<T>& to, const T* a, int64_t a_row, int64_t a_step,
                             const T* b, int64_t b_step, int64_t depth);

// For so many vectors of columns, the micro-kernels for 1, 2, … rows.
const MicroKernel<float>* packed_micros(float, int vectors);
const MicroKernel<double>* packed_micros(double, int vectors);
const MicroKernel<float>* loose_micros(float, int vectors);
const MicroKernel<double>* loose_micros(double, int vectors);

// With each step, so many lines of the cache from an address on are fetched into the second level.
struct Ahead {
  const char* from;
  int64_t lines;
};

// As loose micro-kernels, for packed columns that stream through the cache.
template <class T>
using StreamedMicro = void (*)(const AccumulatorTarget<T>& to, const T* a, int64_t a_row, int64_t a_step,
                               const T* b, int64_t depth, Ahead ahead);
const StreamedMicro<float>* streamed_micros(float, int vectors);
const StreamedMicro<double>* streamed_micros(double, int vectors);

// How many steps of K ahead micro-kernels prefetch operands: with both hyper-threads of a core busy, loads
// from the second-level cache have a long latency.
inline constexpr int64_t kPrefetchDistance = 16;

// For a panel's columns whose terms are spread: b[offsets[p] + j], with kPrefetchDistance more offsets after
// the last. a is packed; out may get a row more.
template <class T>
using SpreadMicro = void (*)(T* out, const T* a, const T* b, const int64_t* offsets, int64_t depth);

SpreadMicro<float> spread_micro(float, int rows);
SpreadMicro<double> spread_micro(double, int rows);

}  // namespace tl::cpu::TL_ISA_NAMESPACE
