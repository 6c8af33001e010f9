// isa: all
// Inner loops of reductions: blocked summation of rows and columns, merging of partial results, argmax and
// argmin.
#include "kernels/cpu/reduce/inner_loops.h"

#include "kernels/cpu/loops/strided.h"
#include "kernels/cpu/reduce/partials.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// f(offset) for each position of the dimensions from `from` on, of which there are some. Compiled once.
void walk(const ReducedRange& r, int from, void (*f)(void* ctx, int64_t offset), void* ctx) {
  for (int64_t i = r.first; i < r.last; ++i) {
    for_each_offset(r.sizes + from, r.strides + from, r.dims - 1 - from,
                    [&](int64_t offset) { f(ctx, i * r.strides[r.dims - 1] + offset); });
  }
}
template <class F>
TL_INLINE void each(const ReducedRange& r, int from, F f) {
  if (r.dims <= from) return f(r.dims == 0 ? int64_t{0} : r.first * r.strides[0]);
  walk(r, from, [](void* ctx, int64_t offset) { (*static_cast<F*>(ctx))(offset); }, &f);
}
TL_INLINE int64_t inner_size(const ReducedRange& r) {
  return r.dims == 0 ? 1 : r.dims == 1 ? r.last - r.first : r.sizes[0];
}
TL_INLINE int64_t inner_stride(const ReducedRange& r) { return r.dims == 0 ? 0 : r.strides[0]; }

template <class S, class T>
void reduce_rows(void* acc, const char* in, int n, int64_t stride, const ReducedRange& range,
                 const void* shifts) {
  using A = Accumulator<S, T>;
  const int64_t length = inner_size(range), step = inner_stride(range);
  const A* shift = static_cast<const A*>(shifts);
  A* out = static_cast<A*>(acc);
  if constexpr (reduces_vectors<S, T>) {
    const bool dense = range.dims == 1 && step == static_cast<int64_t>(sizeof(T));
    if (dense && length <= VectorRow<S, T>::kShort)
      return VectorRow<S, T>::reduce_short(out, in + range.first * step, n, stride, length, shift);
  }
  for (int r = 0; r < n; ++r, in += stride) {
    Row<S, T> row(shift ? shift[r] : A{});
    each(range, 1, [&](int64_t offset) { row.add(in + offset, step, length); });
    out[r] = row.value();
  }
}

template <class S, class T>
void reduce_columns(void* acc, const char* in, int n, int64_t stride, const ReducedRange& range,
                    const void* shifts) {
  using A = Accumulator<S, T>;
  Columns<S, T> columns(n, stride, static_cast<const A*>(shifts));
  const int64_t length = inner_size(range), step = inner_stride(range);
  each(range, 1, [&](int64_t offset) { columns.add(in + offset, step, length); });
  const A* values = columns.values();
  for (int c = 0; c < n; ++c) static_cast<A*>(acc)[c] = values[c];
}

template <class S, class A>
void merge(void* acc, const void* part, int n) {
  A* a = static_cast<A*>(acc);
  for (int c = 0; c < n; ++c) a[c] = S::template merge<A>(a[c], static_cast<const A*>(part)[c]);
}

// ---- argmax and argmin: the index of the first extreme ----------------------------------------------------

template <class T>
TL_INLINE auto matches(T x, T value) {
  return (x == value) | ((x != x) & (value != value));
}

// The first elements of a row, as far as whole blocks reach: where the first match is, or where the
// blocks end.
template <class T>
TL_INLINE int64_t find_in_blocks(const char* p, int64_t stride, int64_t n, OpMath<T> value) {
  int64_t i = 0;
  const bool dense = stride == static_cast<int64_t>(sizeof(T));
  if constexpr (has_reduced_lanes<T>) {
    using V = Vec<OpMath<T>>;
    constexpr int lanes = kLanes<OpMath<T>>;
    const V all = broadcast<V>(value);
    for (; i + lanes <= n; i += lanes) {
      const char* at = p + i * stride;
      if (any(matches<V>(dense ? load<T>(at) : load_strided<T>(at, stride, lanes), all))) return i;
    }
  } else if (dense) {
    constexpr int64_t kBlock = 64;
    for (; i + kBlock <= n; i += kBlock) {
      UnsignedLike<T> found = 0;  // no branch for each
      for (int64_t k = i; k < i + kBlock; ++k)
        found |= static_cast<UnsignedLike<T>>(load_one<T>(p + k * sizeof(T)) == value);
      if (found) return i;
    }
  }
  return i;
}

// n if there is none.
template <class T>
TL_INLINE int64_t find_in_row(const char* p, int64_t stride, int64_t n, OpMath<T> value) {
  int64_t i = find_in_blocks<T>(p, stride, n, value);
  while (i < n && !matches(load_one<T>(p + i * stride), value)) ++i;
  return i;
}

template <class T>
int64_t find_one(const char* in, const ReducedRange& range, OpMath<T> value) {
  const int64_t n = inner_size(range), stride = inner_stride(range);
  int64_t before = 0, found = -1;
  each(range, 1, [&](int64_t offset) {
    if (found >= 0) return;
    const int64_t i = find_in_row<T>(in + offset, stride, n, value);
    if (i < n) found = before + i;
    before += n;
  });
  return found;
}

template <class T>
void find(char* second, int64_t second_stride, const char* in, int n, int64_t stride,
          const ReducedRange& range, const void* value) {
  for (int r = 0; r < n; ++r)
    write(second + r * second_stride,
          find_one<T>(in + r * stride, range, static_cast<const OpMath<T>*>(value)[r]));
}

// Running extremes of columns with their row indices, in integers as wide as the element so that the
// compiler vectorizes.
template <class S, class T>
struct ExtremeColumns {
  using A = OpMath<T>;
  using Index = std::conditional_t<sizeof(A) == 8, int64_t, int32_t>;
  A best[kColumns];
  Index index[kColumns];

  ExtremeColumns(const char* p, int n, int64_t stride) {
    for (int c = 0; c < n; ++c) {
      best[c] = load_one<T>(p + c * stride);
      index[c] = 0;
    }
  }
  [[gnu::noinline]] void add(const char* p, int n, int64_t stride, Index row) {
    if (stride == static_cast<int64_t>(sizeof(T)))
      compare(p, n, sizeof(T), row);
    else
      compare(p, n, stride, row);
  }
  TL_INLINE void compare(const char* p, int n, int64_t stride, Index row) {
    for (int c = 0; c < n; ++c) {
      const A x = load_one<T>(p + c * stride), b = best[c];
      const bool is_better = std::is_same_v<S, reducers::Amax> ? x > b : x < b;
      const bool taken = (is_better | (x != x)) & (b == b);
      best[c] = taken ? x : b;
      index[c] = taken ? row : index[c];
    }
  }
  // Takes n columns of `times` rows each, side by side: neighbours' rows are neighbours.
  void fold(int n, int times) {
    for (int c = 0; c < n; ++c) {
      index[c] *= static_cast<Index>(times);
      for (int i = 1; i < times; ++i)
        merge_column(c, best[i * n + c], index[i * n + c] * static_cast<Index>(times) + i);
    }
  }
  void merge_column(int c, A x, Index row) {
    const A b = best[c];
    const bool is_better = std::is_same_v<S, reducers::Amax> ? x > b : x < b;
    const bool same = matches(x, b) && row < index[c];
    if ((((is_better || x != x)) && b == b) || same) best[c] = x, index[c] = row;
  }
};

// As many rows at once as make kColumns, where a matrix of few columns has no gaps.
template <class T>
int64_t rows_at_once(int n, int64_t stride, const ReducedRange& r) {
  const int64_t size = sizeof(T), times = kColumns / n;
  const bool dense = stride == size && r.dims == 1 && r.strides[0] == n * size;
  return dense && r.last - r.first >= 4 * times ? times : 1;
}

template <class S, class T>
void extreme_columns(char* out, int64_t out_stride, char* second, int64_t second_stride, const char* in,
                     int n, int64_t stride, const ReducedRange& range) {
  using State = ExtremeColumns<S, T>;
  using Index = typename State::Index;
  const int times = static_cast<int>(rows_at_once<T>(n, stride, range));
  State columns(in, n * times, stride);
  Index row = 0;
  if (times == 1) {
    each(range, 0, [&](int64_t offset) { columns.add(in + offset, n, stride, row++); });
  } else {
    const int64_t step = range.strides[0], rows = range.last - range.first, groups = rows / times;
    for (; row < groups; ++row) columns.add(in + row * times * step, n * times, stride, row);
    columns.fold(n, times);
    for (int64_t i = groups * times; i < rows; ++i)
      columns.add(in + i * step, n, stride, static_cast<Index>(i));
  }
  for (int c = 0; c < n; ++c) {
    if (out) store_one<T>(out + c * out_stride, columns.best[c]);
    store_one<int64_t>(second + c * second_stride, columns.index[c]);
  }
}

// ---- tables -----------------------------------------------------------------------------------------------

template <class T>
inline constexpr bool is_portable_only =
    is_complex_type<T> || (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, int32_t> &&
                           !std::is_same_v<T, int64_t>);

template <class S>
inline constexpr bool is_about_mean =
    std::is_same_v<S, reducers::SquaredDeviations> || std::is_same_v<S, reducers::Deviations>;

// Compiled for every instruction set: common reducers of common dtypes.
template <class S, class T>
inline constexpr bool is_common =
    !is_portable_only<T> && !is_logical<S> && !std::is_same_v<S, reducers::Deviations> &&
    (has_reduced_lanes<T> || !std::is_same_v<S, reducers::Prod>) &&
    (!std::is_same_v<T, Half> || std::is_same_v<S, reducers::Sum>);

template <class S, class T>
constexpr ReducerKernels entry() {
  constexpr bool refused =
      (is_extreme<S> && is_complex_type<T>) || (is_about_mean<S> && !has_float_lanes<OpMath<T>>);
  if constexpr (refused || (kIsaLevel > 1 && !is_common<S, T>))
    return {};
  else if constexpr (is_logical<S> && std::is_integral_v<T> && !std::is_same_v<T, UnsignedLike<T>>)
    return entry<S, UnsignedLike<T>>();  // zero is zero
  else
    return {&reduce_rows<S, T>, &reduce_columns<S, T>, &merge<S, Accumulator<S, T>>, reduces_vectors<S, T>};
}
template <class S, class T>
constexpr ExtremeKernels extreme_entry() {
  if constexpr (is_complex_type<T> || (kIsaLevel > 1 && is_portable_only<T>))
    return {nullptr, nullptr};
  else
    return {&find<T>, &extreme_columns<S, T>};
}

}  // namespace

extern const ReducerKernels reducer_table[kNumDTypes][kNumReducers] = {
#define TL_REDUCERS(E, T, name)             \
  {entry<reducers::Sum, T>(),               \
   entry<reducers::Prod, T>(),              \
   entry<reducers::Amax, T>(),              \
   entry<reducers::Amin, T>(),              \
   entry<reducers::Any, T>(),               \
   entry<reducers::All, T>(),               \
   entry<reducers::SquaredDeviations, T>(), \
   entry<reducers::Deviations, T>()},
    TL_ALL_DTYPES(TL_REDUCERS)
#undef TL_REDUCERS
};

extern const ExtremeKernels extreme_table[kNumDTypes][2] = {
#define TL_EXTREMES(E, T, name) {extreme_entry<reducers::Amin, T>(), extreme_entry<reducers::Amax, T>()},
    TL_ALL_DTYPES(TL_EXTREMES)
#undef TL_EXTREMES
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const ReducerKernels reducer_table[kNumDTypes][kNumReducers];
          extern const ExtremeKernels extreme_table[kNumDTypes][2])

namespace tl::cpu {

const ReducerKernels& reducer_kernels(Reducer reducer, DType dtype) {
  const int row = static_cast<int>(dtype), column = static_cast<int>(reducer);
  const ReducerKernels& chosen = TL_SELECT(reducer_table)[row][column];
  return chosen.rows ? chosen : base::reducer_table[row][column];
}

const ExtremeKernels& extreme_kernels(bool largest, DType dtype) {
  const int row = static_cast<int>(dtype);
  const ExtremeKernels& chosen = TL_SELECT(extreme_table)[row][largest];
  return chosen.find ? chosen : base::extreme_table[row][largest];
}

}  // namespace tl::cpu
#endif
