// Partial results of reductions: a row's, and those of many columns side by side.
//
// Floating numbers are accumulated in a fixed number of lanes (kRowBytes of them, whatever the level's
// vectors hold), in two stages of kStage additions so that rounding errors stay small, and the lanes are
// merged by halves. So every level adds in the same order.
#pragma once

#include "kernels/cpu/convert.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/reduce_steps.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int kRowBytes = 256;
inline constexpr int kStage = 64;

template <class S>
inline constexpr bool is_logical = std::is_same_v<S, steps::Any> || std::is_same_v<S, steps::All>;
template <class S>
inline constexpr bool is_extreme = std::is_same_v<S, steps::Amax> || std::is_same_v<S, steps::Amin>;

// The type partial results have.
template <class S, class T>
using Accumulator =
    std::conditional_t<is_logical<S>, bool,
                       std::conditional_t<std::is_integral_v<T> && !is_extreme<S>, int64_t, Compute<T>>>;

template <class S, class T>
inline constexpr bool reduces_vectors = has_float_lanes<Compute<T>> && !is_logical<S>;

// ---- units: what is loaded and accumulated at once
// ------------------------------------------------------------------

template <class S, class T>
struct VectorUnit {
  using A = Accumulator<S, T>;
  using Unit = Vec<A>;
  static constexpr int kWidth = kLanes<A>;

  static TL_INLINE Unit at(const char* p) { return load<T>(p); }
  // Lanes beyond n hold `rest`.
  static TL_INLINE Unit part(const char* p, int64_t stride, int n, Unit rest) {
    const Unit x =
        stride == static_cast<int64_t>(sizeof(T)) ? load_partial<T>(p, n) : load_strided<T>(p, stride, n);
    return select<Unit>(iota<Mask<Unit>>() < static_cast<Lane<Mask<Unit>>>(n), x, rest);
  }
  static TL_INLINE Unit read(const A* p) {
    return cpu::TL_ISA_NAMESPACE::read<Unit>(reinterpret_cast<const char*>(p));
  }
  static TL_INLINE void write(A* p, Unit x) { cpu::TL_ISA_NAMESPACE::write(reinterpret_cast<char*>(p), x); }
};

template <class S, class T>
struct PlainUnit {
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
using UnitOf = std::conditional_t<reduces_vectors<S, T>, VectorUnit<S, T>, PlainUnit<S, T>>;

// ---- one row
// --------------------------------------------------------------------------------------------------------

template <class S, class T>
class VectorRow {
  using U = VectorUnit<S, T>;
  using A = typename U::A;
  using V = typename U::Unit;
  static constexpr int kUnits = kRowBytes / kVecBytes, kWidth = U::kWidth, kLanesInRow = kUnits * kWidth;

 public:
  explicit VectorRow(A shift) : shift_(broadcast<V>(shift)) {
    for (int k = 0; k < kUnits; ++k) stage_[k] = total_[k] = S::template start<V>();
  }

  [[gnu::noinline]] void add(const char* p, int64_t stride, int64_t n) {
    if (stride == static_cast<int64_t>(sizeof(T))) {
      while (n >= kLanesInRow) {
        const int64_t steps = n / kLanesInRow < kStage - steps_ ? n / kLanesInRow : kStage - steps_;
        add_dense(p, steps);
        n -= steps * kLanesInRow, p += steps * kLanesInRow * sizeof(T);
      }
    }
    while (n > 0) n -= add_part(p, stride, n), p += kLanesInRow * stride;
  }

  A value() {
    merge_stage();
    for (int half = kUnits / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) total_[k] = S::template merge<V>(total_[k], total_[k + half]);
    }
    alignas(kVecBytes) A lanes[kWidth];
    U::write(lanes, total_[0]);
    for (int half = kWidth / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lanes[k] = S::template merge<A>(lanes[k], lanes[k + half]);
    }
    return lanes[0];
  }

 private:
  static constexpr int64_t kUnitBytes = kWidth * sizeof(T);

  // The partial results stay in registers. The processor's own fetching ahead is better than ours.
  TL_INLINE void add_dense(const char* p, int64_t steps) {
    V acc[kUnits], shift = shift_;
    for (int k = 0; k < kUnits; ++k) acc[k] = stage_[k];
    for (int64_t i = 0; i < steps; ++i, p += kUnits * kUnitBytes) {
      for (int k = 0; k < kUnits; ++k) acc[k] = S::template step<V>(acc[k], U::at(p + k * kUnitBytes), shift);
    }
    for (int k = 0; k < kUnits; ++k) stage_[k] = acc[k];
    steps_ += static_cast<int>(steps);
    if (steps_ == kStage) merge_stage();
  }

  TL_INLINE int64_t add_part(const char* p, int64_t stride, int64_t n) {
    const V rest = S::template start<V>();
    for (int k = 0; k < kUnits && k * kWidth < n; ++k) {
      const int64_t left = n - k * kWidth;
      const int count = left < kWidth ? static_cast<int>(left) : kWidth;
      const V next =
          S::template step<V>(stage_[k], U::part(p + k * kWidth * stride, stride, count, rest), shift_);
      stage_[k] = select<V>(iota<Mask<V>>() < static_cast<Lane<Mask<V>>>(count), next, stage_[k]);
    }
    if (++steps_ == kStage) merge_stage();
    return kLanesInRow;
  }
  TL_INLINE void merge_stage() {
    for (int k = 0; k < kUnits; ++k) {
      total_[k] = S::template merge<V>(total_[k], stage_[k]);
      stage_[k] = S::template start<V>();
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
class PlainRow {
  using U = PlainUnit<S, T>;
  using A = typename U::A;
  static constexpr int64_t kBlock = is_complex_type<A> ? kStage : 4096;

 public:
  explicit PlainRow(A shift) : shift_(shift) {}

  [[gnu::noinline]] void add(const char* p, int64_t stride, int64_t n) {
    for (; n > 0; n -= kBlock, p += kBlock * stride) {
      const int64_t count = n < kBlock ? n : kBlock;
      const bool dense = stride == static_cast<int64_t>(sizeof(T));
      total_ = S::template merge<A>(total_,
                                    dense ? block<true>(p, stride, count) : block<false>(p, stride, count));
      if constexpr (is_logical<S>) {
        if (total_ != S::template start<A>()) return;
      }
    }
  }
  A value() { return total_; }

 private:
  template <bool dense>
  TL_INLINE A block(const char* p, int64_t stride, int64_t n) {
    A acc = S::template start<A>();
    if constexpr (dense) stride = sizeof(T);
    if constexpr (is_logical<S>) {
      UnsignedLike<T> decided = 0;  // as wide as the elements, for the compiler's vectors
      for (int64_t i = 0; i < n; ++i)
        decided |= static_cast<UnsignedLike<T>>(U::at(p + i * stride) != S::template start<A>());
      return decided ? !acc : acc;
    } else {
      for (int64_t i = 0; i < n; ++i) acc = S::template step<A>(acc, U::at(p + i * stride), shift_);
      return acc;
    }
  }

  A shift_, total_ = S::template start<A>();
};

template <class S, class T>
using Row = std::conditional_t<reduces_vectors<S, T>, VectorRow<S, T>, PlainRow<S, T>>;

// ---- columns side by side
// -------------------------------------------------------------------------------------------

// Up to kColumns columns, `stride` bytes apart, each with its own partial result; rows are added one at a
// time.
template <class S, class T>
class Columns {
  using U = UnitOf<S, T>;
  using A = typename U::A;
  using Unit = typename U::Unit;

 public:
  // shifts: one a column, or null.
  Columns(int n, int64_t stride, const A* shifts) : n_(n), stride_(stride) {
    for (int c = 0; c < n; c += U::kWidth) {
      U::write(stage_ + c, S::template start<Unit>());
      U::write(total_ + c, S::template start<Unit>());
      U::write(shifts_ + c, Unit{});
    }
    if (shifts) __builtin_memcpy(shifts_, shifts, static_cast<size_t>(n) * sizeof(A));
  }

  [[gnu::noinline]] void add(const char* p) {
    int c = 0;
    if (stride_ == static_cast<int64_t>(sizeof(T))) {
      for (; c + U::kWidth <= n_; c += U::kWidth) step(c, U::at(p + c * sizeof(T)));
    }
    for (; c < n_; c += U::kWidth) {
      if constexpr (U::kWidth > 1)
        step(c, U::part(p + c * stride_, stride_, n_ - c < U::kWidth ? n_ - c : U::kWidth, Unit{}));
      else
        step(c, U::at(p + c * stride_));
    }
    if (++steps_ == kStage) merge_stage();
  }

  const A* values() {
    merge_stage();
    return total_;
  }

 private:
  TL_INLINE void step(int c, Unit x) {
    U::write(stage_ + c, S::template step<Unit>(U::read(stage_ + c), x, U::read(shifts_ + c)));
  }
  TL_INLINE void merge_stage() {
    for (int c = 0; c < n_; c += U::kWidth) {
      U::write(total_ + c, S::template merge<Unit>(U::read(total_ + c), U::read(stage_ + c)));
      U::write(stage_ + c, S::template start<Unit>());
    }
    steps_ = 0;
  }

  alignas(64) A stage_[kColumns], total_[kColumns], shifts_[kColumns];
  int n_, steps_ = 0;
  int64_t stride_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
