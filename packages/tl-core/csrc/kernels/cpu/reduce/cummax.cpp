// isa: all
#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/reduce/cumulative.h"
#include "kernels/cpu/simd/complex.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// What has come so far: a later equal one takes its place, a NaN stays and is only followed by another.
template <class T, bool largest>
struct Record {
  using A = OpMath<T>;

  template <class V>
  static TL_INLINE auto is_beaten(V best, V x) {
    return (largest ? x >= best : x <= best) | (x != x);
  }
  template <class Index>
  static TL_INLINE void meet(A& best, Index& place, A x, Index i) {
    const bool taken = is_beaten(best, x) & ((best == best) | (x != x));
    best = taken ? x : best;
    place = taken ? i : place;
  }
};

template <class T>
inline constexpr bool has_lanes = has_float_lanes<OpMath<T>> || std::is_same_v<T, int64_t>;

// One line: records are rare in most, so whole vectors without one are passed at once.
template <class T, bool largest>
class RecordLine {
  using R = Record<T, largest>;
  using A = OpMath<T>;

 public:
  RecordLine(const AlongShape& s, char* const* at) : s_(s), at_(at), best_(load_one<T>(at[2])) {}

  void run() {
    int64_t i = 0;
    if constexpr (has_lanes<T>) {
      constexpr int64_t width = kLanes<A>;
      if (is_dense()) {
        for (; i + width <= s_.n; i += width) {
          if (!pass(i)) step(i, i + width);
        }
      }
    }
    step(i, s_.n);
  }

 private:
  bool is_dense() const {
    const int64_t size = sizeof(T), place = sizeof(int64_t);
    return s_.along[0] == size && s_.along[1] == place && s_.along[2] == size;
  }
  TL_INLINE bool pass(int64_t i) {
    using V = Vec<A>;
    const V best = broadcast<V>(best_);
    if (any(R::template is_beaten<V>(best, load<T>(at_[2] + i * sizeof(T))))) return false;
    store<T>(at_[0] + i * sizeof(T), best);
    const VecL place = broadcast<VecL>(place_);
    for (int k = 0; k < kLanes<A>; k += kLanes<int64_t>) write(at_[1] + (i + k) * sizeof(int64_t), place);
    return true;
  }
  TL_INLINE void step(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      R::meet(best_, place_, load_one<T>(at_[2] + i * s_.along[2]), i);
      store_one<T>(at_[0] + i * s_.along[0], best_);
      write<int64_t>(at_[1] + i * s_.along[1], place_);
    }
  }

  const AlongShape& s_;
  char* const* at_;
  A best_;
  int64_t place_ = 0;
};

// Lines side by side, so that memory is read in its order.
template <class T, bool largest>
class RecordLines {
  using R = Record<T, largest>;
  using A = OpMath<T>;

 public:
  static constexpr int64_t kWidth = 64;

  RecordLines(const AlongShape& s, char* const* at, int64_t lines) : s_(s), at_(at), lines_(lines) {
    for (int64_t c = 0; c < lines; ++c) best_[c] = load_one<T>(at[2] + c * s.strides[2][0]), place_[c] = 0;
  }
  void run() {
    const int64_t place = sizeof(int64_t), size = sizeof(T);
    const bool dense = s_.strides[0][0] == size && s_.strides[1][0] == place && s_.strides[2][0] == size;
    for (int64_t i = 0; i < s_.n; ++i) {
      if (dense)
        row(i, size, place, size);
      else
        row(i, s_.strides[0][0], s_.strides[1][0], s_.strides[2][0]);
    }
  }

 private:
  TL_INLINE void row(int64_t i, int64_t value_step, int64_t place_step, int64_t in_step) {
    char *values = at_[0] + i * s_.along[0], *places = at_[1] + i * s_.along[1];
    const char* in = at_[2] + i * s_.along[2];
    for (int64_t c = 0; c < lines_; ++c) R::meet(best_[c], place_[c], load_one<T>(in + c * in_step), i);
    for (int64_t c = 0; c < lines_; ++c) store_one<T>(values + c * value_step, best_[c]);
    for (int64_t c = 0; c < lines_; ++c) write<int64_t>(places + c * place_step, place_[c]);
  }

  const AlongShape& s_;
  char* const* at_;
  int64_t lines_;
  A best_[kWidth];
  int64_t place_[kWidth];
};

template <class T, bool largest>
void run_lines(const AlongShape& s, char* const* data) {
  using Lines = RecordLines<T, largest>;
  if (s.dims > 0 && s.strides[2][0] < s.along[2])
    for_each_lines<3>(s, data, Lines::kWidth,
                      [&](char* const* at, int64_t lines) { Lines(s, at, lines).run(); });
  else
    for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) { RecordLine<T, largest>(s, at).run(); });
}

template <class T, bool largest>
constexpr RecordKernel entry() {
  if constexpr (is_complex_type<T> || (kIsaLevel > 1 && !has_lanes<T>))
    return nullptr;
  else
    return &run_lines<T, largest>;
}

}  // namespace

extern const RecordKernel records[kNumDTypes][2] = {
#define TL_RECORDS(E, T, name) {entry<T, false>(), entry<T, true>()},
    TL_ALL_DTYPES(TL_RECORDS)
#undef TL_RECORDS
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const RecordKernel records[kNumDTypes][2])

namespace tl::cpu {

void running_extreme(bool largest, DType dtype, const AlongShape& shape, char* values, char* indices,
                     const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  const int row = static_cast<int>(dtype);
  const RecordKernel kernel = TL_SELECT(records)[row][largest];
  (kernel ? kernel : base::records[row][largest])(shape, data);
}

}  // namespace tl::cpu
#endif
