// Partial reductions by two-level blocked summation: of one row, and of many columns side by side.
//
// Floating-point elements are accumulated in a fixed number of lanes (kRowBytes of them, whatever the
// instruction set's vectors hold), in blocks of kStage additions so that rounding errors stay small, and the
// lanes are merged by halves. So every instruction set adds in the same order.
#pragma once

#include <utility>

#include "kernels/cpu/reduce/accumulators.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kRowBytes = 256;
inline constexpr int kStage = 64;

template <class S>
inline constexpr bool is_logical = std::is_same_v<S, reducers::Any> || std::is_same_v<S, reducers::All>;
template <class S>
inline constexpr bool is_extreme = std::is_same_v<S, reducers::Amax> || std::is_same_v<S, reducers::Amin>;

// The type partial results have.
template <class S, class T>
using Accumulator =
    std::conditional_t<is_logical<S>, bool,
                       std::conditional_t<std::is_integral_v<T> && !is_extreme<S>, int64_t, OpMath<T>>>;

template <class T>
inline constexpr bool has_reduced_lanes = has_float_lanes<OpMath<T>> || std::is_same_v<T, int64_t>;
template <class S, class T>
inline constexpr bool reduces_vectors = has_reduced_lanes<T> && !is_logical<S>;

// Prefetch distance: one page, as the hardware prefetcher stops at the end of a page; with a shorter distance
// both would fetch the same lines. Shorter rows are not prefetched.
inline constexpr int64_t kPrefetchBytes = 4096;

// ---- units: the elements that are loaded and accumulated at once ------------------------------------------

template <class S, class T>
struct VectorUnit {
  using A = Accumulator<S, T>;
  using Unit = Vec<A>;
  static constexpr int kWidth = kLanes<A>;

  static TL_INLINE Unit at(const char* p) { return load<T>(p); }
  static TL_INLINE Unit part(const char* p, int64_t stride, int n) {
    return stride == static_cast<int64_t>(sizeof(T)) ? load_partial<T>(p, n) : load_strided<T>(p, stride, n);
  }
  static TL_INLINE Unit read(const A* p) {
    return cpu::TL_ISA_NAMESPACE::read<Unit>(reinterpret_cast<const char*>(p));
  }
  static TL_INLINE void write(A* p, Unit x) { cpu::TL_ISA_NAMESPACE::write(reinterpret_cast<char*>(p), x); }
};

template <class S, class T>
struct ScalarUnit {
  using A = Accumulator<S, T>;
  using Unit = A;
  static constexpr int kWidth = 1;

  static TL_INLINE Unit at(const char* p) {
    if constexpr (is_logical<S>)
      return functions::truth(load_one<T>(p));
    else
      return convert<A>(load_one<T>(p));
  }
  static TL_INLINE Unit read(const A* p) { return *p; }
  static TL_INLINE void write(A* p, Unit x) { *p = x; }
};

template <class S, class T>
using UnitOf = std::conditional_t<reduces_vectors<S, T>, VectorUnit<S, T>, ScalarUnit<S, T>>;

// ---- one row ----------------------------------------------------------------------------------------------

// Horizontal reduction by halves: lane k of the first `half` is merged with lane k + half; lane 0 holds the
// result.
template <class S, int half, class V, size_t... I>
TL_INLINE V merge_lanes(V x, std::index_sequence<I...> all) {
  constexpr int n = sizeof...(I);
  if constexpr (half == 0)
    return x;
  else
    return merge_lanes<S, half / 2>(
        S::template merge<V>(x, __builtin_shufflevector(x, x, (static_cast<int>(I + half) % n)...)), all);
}

// The same for as many rows as there are lanes: lane k of the result is that of rows[k]. While 2 * half lanes
// of each are left, two vectors of such parts become one.
template <int half, int n>
constexpr int part_lane(int lane) {
  constexpr int parts = n / (2 * half);
  const int part = lane / half;
  return part / parts * n + part % parts * 2 * half + lane % half;
}
template <class S, int half, class V, size_t... I>
TL_INLINE V merge_rows(V* rows, std::index_sequence<I...> all) {
  constexpr int n = sizeof...(I);
  if constexpr (half == 0) {
    return rows[0];
  } else {
    for (int k = 0; k < half; ++k) {
      const V x = rows[2 * k], y = rows[2 * k + 1];
      rows[k] = S::template merge<V>(__builtin_shufflevector(x, y, part_lane<half, n>(I)...),
                                     __builtin_shufflevector(x, y, (part_lane<half, n>(I) + half)...));
    }
    return merge_rows<S, half / 2>(rows, all);
  }
}

template <class S, class T>
class VectorRow {
  using U = VectorUnit<S, T>;
  using A = typename U::A;
  using V = typename U::Unit;
  static constexpr int kUnits = kRowBytes / kVecBytes, kWidth = U::kWidth, kLanesInRow = kUnits * kWidth;
  static constexpr int64_t kUnitBytes = kWidth * sizeof(T), kStepBytes = kUnits * kUnitBytes;

 public:
  static constexpr int64_t kShort = kStage * kLanesInRow;

  // The results of n dense rows of at most kShort elements, which stay in registers. shifts may be null.
  static TL_INLINE void reduce_short(A* out, const char* p, int n, int64_t stride, int64_t length,
                                     const A* shifts) {
    for (int r = 0; r < n;) {
      const int count = n - r < kWidth ? 1 : kWidth;
      V rows[kWidth];
      for (int k = 0; k < count; ++k)
        rows[k] = short_row(p + (r + k) * stride, length, broadcast<V>(shifts ? shifts[r + k] : A{}));
      if (count == 1)
        out[r] = merge_lanes<S, kWidth / 2>(rows[0], std::make_index_sequence<kWidth>{})[0];
      else
        U::write(out + r, merge_rows<S, kWidth / 2>(rows, std::make_index_sequence<kWidth>{}));
      r += count;
    }
  }

  explicit VectorRow(A shift) : shift_(broadcast<V>(shift)) {
    for (int k = 0; k < kUnits; ++k) stage_[k] = total_[k] = S::template identity<V>();
  }

  [[gnu::noinline]] void add(const char* p, int64_t stride, int64_t n) {
    if (stride == static_cast<int64_t>(sizeof(T))) {
      while (n >= kLanesInRow) {
        const int64_t steps = n / kLanesInRow < kStage - steps_ ? n / kLanesInRow : kStage - steps_;
        add_dense(p, steps, n * stride > kPrefetchBytes);
        n -= steps * kLanesInRow, p += steps * kStepBytes;
      }
    }
    for (; n > 0; n -= kLanesInRow, p += kLanesInRow * stride) {
      add_tail(stage_, p, stride, n, shift_);
      count_steps(1);
    }
  }

  A value() {
    merge_stage();
    return merge_lanes<S, kWidth / 2>(merged(total_), std::make_index_sequence<kWidth>{})[0];
  }

 private:
  static TL_INLINE void add_step(V* acc, const char* p, V shift, bool prefetches = true) {
    if (prefetches) prefetch(p + kPrefetchBytes, kStepBytes);
    for (int k = 0; k < kUnits; ++k)
      acc[k] = S::template accumulate<V>(acc[k], U::at(p + k * kUnitBytes), shift);
  }
  static TL_INLINE V add_partial(V acc, const char* p, int64_t stride, int64_t left, V shift) {
    const int count = left < kWidth ? static_cast<int>(left) : kWidth;
    const V next = S::template accumulate<V>(acc, U::part(p, stride, count), shift);
    return select<V>(iota<Mask<V>>() < static_cast<Lane<Mask<V>>>(count), next, acc);
  }
  static TL_INLINE void add_tail(V* acc, const char* p, int64_t stride, int64_t n, V shift) {
    for (int k = 0; k < kUnits; ++k) {
      const int64_t left = n - k * kWidth;
      if (left > 0) acc[k] = add_partial(acc[k], p + k * kWidth * stride, stride, left, shift);
    }
  }
  static TL_INLINE V short_row(const char* p, int64_t n, V shift) {
    if (n <= kWidth) return add_partial(S::template identity<V>(), p, sizeof(T), n, shift);
    V acc[kUnits];
    for (int k = 0; k < kUnits; ++k) acc[k] = S::template identity<V>();
    for (; n >= kLanesInRow; n -= kLanesInRow, p += kStepBytes) add_step(acc, p, shift);
    if (n > 0) add_tail(acc, p, sizeof(T), n, shift);
    return merged(acc);
  }
  static TL_INLINE V merged(V* acc) {
    for (int half = kUnits / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) acc[k] = S::template merge<V>(acc[k], acc[k + half]);
    }
    return acc[0];
  }

  // Whole steps of a dense row; the accumulators stay in registers.
  TL_INLINE void add_dense(const char* p, int64_t steps, bool prefetches) {
    V acc[kUnits];
    for (int k = 0; k < kUnits; ++k) acc[k] = stage_[k];
    for (int64_t i = 0; i < steps; ++i) add_step(acc, p + i * kStepBytes, shift_, prefetches);
    for (int k = 0; k < kUnits; ++k) stage_[k] = acc[k];
    count_steps(static_cast<int>(steps));
  }
  TL_INLINE void count_steps(int steps) {
    steps_ += steps;
    if (steps_ == kStage) merge_stage();
  }
  TL_INLINE void merge_stage() {
    for (int k = 0; k < kUnits; ++k) {
      total_[k] = S::template merge<V>(total_[k], stage_[k]);
      stage_[k] = S::template identity<V>();
    }
    steps_ = 0;
  }

  V stage_[kUnits], total_[kUnits], shift_;
  int steps_ = 0;
};

// Integers in any order, complex numbers in stages; any and all stop at the first element that decides.
template <class T>
using UnsignedLike = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <class S, class T>
class ScalarRow {
  using U = ScalarUnit<S, T>;
  using A = typename U::A;
  static constexpr int64_t kBlock = is_complex_type<A> ? kStage : 4096;

 public:
  explicit ScalarRow(A shift) : shift_(shift) {}

  [[gnu::noinline]] void add(const char* p, int64_t stride, int64_t n) {
    for (; n > 0; n -= kBlock, p += kBlock * stride) {
      const int64_t count = n < kBlock ? n : kBlock;
      const bool dense = stride == static_cast<int64_t>(sizeof(T));
      total_ = S::template merge<A>(total_,
                                    dense ? block<true>(p, stride, count) : block<false>(p, stride, count));
      if constexpr (is_logical<S>) {
        if (total_ != S::template identity<A>()) return;
      }
    }
  }
  A value() { return total_; }

 private:
  // Whether one of the elements of whole words decides; how many are left behind them. A word holds a zero if
  // its lanes less one borrow into a top bit that was not set (Warren, Hacker's Delight, section 6-1).
  static TL_INLINE bool decided_by_words(const char*& p, int64_t& n) {
    constexpr int64_t kLanes = 8 / sizeof(T), kWords = 4;
    constexpr uint64_t kOnes = ~uint64_t{0} / static_cast<UnsignedLike<T>>(~UnsignedLike<T>{0}),
                       kHighBits = kOnes << (8 * sizeof(T) - 1);
    uint64_t decided[kWords] = {};
    for (; n >= kWords * kLanes; n -= kWords * kLanes, p += 8 * kWords) {
      for (int w = 0; w < kWords; ++w) {
        const uint64_t x = read<uint64_t>(p + 8 * w);
        decided[w] |= std::is_same_v<S, reducers::All> ? (x - kOnes) & ~x & kHighBits : x;
      }
    }
    return (decided[0] | decided[1] | decided[2] | decided[3]) != 0;
  }
  // Whether one of the elements decides; of dense floats, how many are left behind whole vectors.
  static TL_INLINE bool decided_by_vectors(const char*& p, int64_t& n) {
    using V = Vec<T>;
    Mask<V> decided{};
    for (; n >= kLanes<T>; n -= kLanes<T>, p += kLanes<T> * sizeof(T)) {
      const V x = load<T>(p);
      decided |= std::is_same_v<S, reducers::All> ? x == V{} : x != V{};
    }
    return any(decided);
  }
  template <bool dense>
  TL_INLINE A block(const char* p, int64_t stride, int64_t n) {
    A acc = S::template identity<A>();
    if constexpr (dense) stride = sizeof(T);
    if constexpr (std::is_same_v<T, bool> && std::is_same_v<S, reducers::Sum>) {
      uint16_t count = 0;  // holds a block's, and more of them lie in a vector
      for (int64_t i = 0; i < n; ++i) count = static_cast<uint16_t>(count + load_one<bool>(p + i * stride));
      return count;
    } else if constexpr (is_logical<S>) {
      UnsignedLike<T> decided = 0;  // as wide as the elements, for the compiler's vectors
      if constexpr (dense && has_float_lanes<T>) decided = decided_by_vectors(p, n);
      if constexpr (dense && std::is_integral_v<T>) decided = decided_by_words(p, n);
      for (int64_t i = 0; i < n; ++i)
        decided |= static_cast<UnsignedLike<T>>(U::at(p + i * stride) != S::template identity<A>());
      return decided ? !acc : acc;
    } else {
      for (int64_t i = 0; i < n; ++i) acc = S::template accumulate<A>(acc, U::at(p + i * stride), shift_);
      return acc;
    }
  }

  A shift_, total_ = S::template identity<A>();
};

template <class S, class T>
using Row = std::conditional_t<reduces_vectors<S, T>, VectorRow<S, T>, ScalarRow<S, T>>;

// ---- columns side by side ---------------------------------------------------------------------------------

// Up to kColumns columns, `stride` bytes apart, each with its own partial result; rows are added in order.
template <class S, class T>
class Columns {
  using U = UnitOf<S, T>;
  using A = typename U::A;
  using Unit = typename U::Unit;

 public:
  // shifts: one a column, or null.
  Columns(int n, int64_t stride, const A* shifts) : n_(n), stride_(stride) {
    for (int c = 0; c < n; c += U::kWidth) {
      U::write(stage_ + c, S::template identity<Unit>());
      U::write(total_ + c, S::template identity<Unit>());
      U::write(shifts_ + c, Unit{});
    }
    if (shifts) __builtin_memcpy(shifts_, shifts, static_cast<size_t>(n) * sizeof(A));
  }

  // n rows, `step` bytes apart.
  void add(const char* p, int64_t step, int64_t n) {
    while (n > 0) {
      const bool unrolled = n >= kUnroll && steps_ + kUnroll <= kStage;
      if (unrolled)
        add_rows<kUnroll>(p, step);
      else
        add_rows<1>(p, step);
      n -= unrolled ? kUnroll : 1, p += unrolled ? kUnroll * step : step;
    }
  }

  const A* values() {
    merge_stage();
    return total_;
  }

 private:
  static constexpr int kUnroll = 4;

  template <int rows>
  [[gnu::noinline]] void add_rows(const char* p, int64_t step) {
    constexpr int64_t size = sizeof(T), bytes = U::kWidth * size;
    int c = 0;
    if (stride_ == size) {
      for (; c + U::kWidth <= n_; c += U::kWidth) {
        if (c * size % 64 < bytes) prefetch_next<rows>(p + c * size, step);
        add_unit<rows>(c, [&](int r) { return U::at(p + r * step + c * size); });
      }
    }
    for (; c < n_; c += U::kWidth) {
      if constexpr (U::kWidth > 1) {
        const int count = n_ - c < U::kWidth ? n_ - c : U::kWidth;
        add_unit<rows>(c, [&](int r) { return U::part(p + r * step + c * stride_, stride_, count); });
      } else {
        add_unit<rows>(c, [&](int r) { return U::at(p + r * step + c * stride_); });
      }
    }
    steps_ += rows;
    if (steps_ == kStage) merge_stage();
  }
  template <int rows, class F>
  TL_INLINE void add_unit(int c, F at) {
    Unit acc = U::read(stage_ + c);
    const Unit shift = U::read(shifts_ + c);
    for (int r = 0; r < rows; ++r) acc = S::template accumulate<Unit>(acc, at(r), shift);
    U::write(stage_ + c, acc);
  }
  // Prefetches the rows after these.
  template <int rows>
  static TL_INLINE void prefetch_next(const char* p, int64_t step) {
    if constexpr (rows > 1 && U::kWidth > 1)
      for (int r = 0; r < rows; ++r) __builtin_prefetch(p + (rows + r) * step);
  }
  TL_INLINE void merge_stage() {
    for (int c = 0; c < n_; c += U::kWidth) {
      U::write(total_ + c, S::template merge<Unit>(U::read(total_ + c), U::read(stage_ + c)));
      U::write(stage_ + c, S::template identity<Unit>());
    }
    steps_ = 0;
  }

  alignas(64) A stage_[kColumns], total_[kColumns], shifts_[kColumns];
  int n_, steps_ = 0;
  int64_t stride_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
