// isa: all
// cummax and cummin: running extremes with indices; vectors without a new extreme are skipped at once.
#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/reduce/cumulative.h"
#include "kernels/cpu/simd/complex.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// The extreme so far: a later equal element replaces it; a NaN stays and is only replaced by another NaN.
template <class T, bool largest>
struct RunningExtreme {
  using A = OpMath<T>;

  template <class V>
  static TL_INLINE auto is_replaced(V best, V x) {
    return (largest ? x >= best : x <= best) | (x != x);
  }
  template <class Index>
  static TL_INLINE void update(A& best, Index& index, A x, Index i) {
    const bool taken = is_replaced(best, x) & ((best == best) | (x != x));
    best = taken ? x : best;
    index = taken ? i : index;
  }
};

template <class T>
inline constexpr bool has_lanes = has_float_lanes<OpMath<T>> || std::is_same_v<T, int64_t>;

// One row: new extremes are rare in most, so vectors without one are skipped at once.
template <class T, bool largest>
class CummaxRow {
  using R = RunningExtreme<T, largest>;
  using A = OpMath<T>;

 public:
  CummaxRow(const AlongShape& s, char* const* at) : s_(s), at_(at), best_(load_one<T>(at[2])) {}

  void run() {
    int64_t i = 0;
    if constexpr (has_lanes<T>) {
      constexpr int64_t width = kLanes<A>;
      if (is_dense()) {
        for (; i + width <= s_.n; i += width) {
          if (!skip(i)) step(i, i + width);
        }
      }
    }
    step(i, s_.n);
  }

 private:
  bool is_dense() const {
    const int64_t size = sizeof(T), index_size = sizeof(int64_t);
    return s_.along[0] == size && s_.along[1] == index_size && s_.along[2] == size;
  }
  TL_INLINE bool skip(int64_t i) {
    using V = Vec<A>;
    const V best = broadcast<V>(best_);
    if (any(R::template is_replaced<V>(best, load<T>(at_[2] + i * sizeof(T))))) return false;
    store<T>(at_[0] + i * sizeof(T), best);
    const VecL index = broadcast<VecL>(index_);
    for (int k = 0; k < kLanes<A>; k += kLanes<int64_t>) write(at_[1] + (i + k) * sizeof(int64_t), index);
    return true;
  }
  TL_INLINE void step(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      R::update(best_, index_, load_one<T>(at_[2] + i * s_.along[2]), i);
      store_one<T>(at_[0] + i * s_.along[0], best_);
      write<int64_t>(at_[1] + i * s_.along[1], index_);
    }
  }

  const AlongShape& s_;
  char* const* at_;
  A best_;
  int64_t index_ = 0;
};

// Columns side by side, so that memory is read in order.
template <class T, bool largest>
class CummaxColumns {
  using R = RunningExtreme<T, largest>;
  using A = OpMath<T>;

 public:
  static constexpr int64_t kWidth = 64;

  CummaxColumns(const AlongShape& s, char* const* at, int64_t columns) : s_(s), at_(at), columns_(columns) {
    for (int64_t c = 0; c < columns; ++c) best_[c] = load_one<T>(at[2] + c * s.strides[2][0]), index_[c] = 0;
  }
  void run() {
    const int64_t index_size = sizeof(int64_t), size = sizeof(T);
    const bool dense = s_.strides[0][0] == size && s_.strides[1][0] == index_size && s_.strides[2][0] == size;
    for (int64_t i = 0; i < s_.n; ++i) {
      if (dense)
        row(i, size, index_size, size);
      else
        row(i, s_.strides[0][0], s_.strides[1][0], s_.strides[2][0]);
    }
  }

 private:
  TL_INLINE void row(int64_t i, int64_t value_step, int64_t index_step, int64_t in_step) {
    char *values = at_[0] + i * s_.along[0], *indices = at_[1] + i * s_.along[1];
    const char* in = at_[2] + i * s_.along[2];
    for (int64_t c = 0; c < columns_; ++c) R::update(best_[c], index_[c], load_one<T>(in + c * in_step), i);
    for (int64_t c = 0; c < columns_; ++c) store_one<T>(values + c * value_step, best_[c]);
    for (int64_t c = 0; c < columns_; ++c) write<int64_t>(indices + c * index_step, index_[c]);
  }

  const AlongShape& s_;
  char* const* at_;
  int64_t columns_;
  A best_[kWidth];
  int64_t index_[kWidth];
};

template <class T, bool largest>
void cummax_dtype(const AlongShape& s, char* const* data) {
  using Columns = CummaxColumns<T, largest>;
  if (s.dims > 0 && s.strides[2][0] < s.along[2])
    for_each_lines<3>(s, data, Columns::kWidth,
                      [&](char* const* at, int64_t columns) { Columns(s, at, columns).run(); });
  else
    for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) { CummaxRow<T, largest>(s, at).run(); });
}

template <class T, bool largest>
constexpr CummaxKernel entry() {
  if constexpr (is_complex_type<T> || (kIsaLevel > 1 && !has_lanes<T>))
    return nullptr;
  else
    return &cummax_dtype<T, largest>;
}

}  // namespace

extern const CummaxKernel cummax_table[kNumDTypes][2] = {
#define TL_CUMMAX(E, T, name) {entry<T, false>(), entry<T, true>()},
    TL_ALL_DTYPES(TL_CUMMAX)
#undef TL_CUMMAX
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const CummaxKernel cummax_table[kNumDTypes][2])

namespace tl::cpu {

void cummaxmin(bool largest, DType dtype, const AlongShape& shape, char* values, char* indices,
               const char* in) {
  char* const data[] = {values, indices, const_cast<char*>(in)};
  const int row = static_cast<int>(dtype);
  const CummaxKernel kernel = TL_SELECT(cummax_table)[row][largest];
  (kernel ? kernel : base::cummax_table[row][largest])(shape, data);
}

}  // namespace tl::cpu
#endif
