// isa: all
// cumsum and cumprod: serial scan of rows, in-register prefix sums for vectors, columns side by side.
#include "kernels/cpu/reduce/scan.h"

#include <utility>

#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/loops/arithmetic.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class T>
struct ScanAccumulatorOf {
  using type = OpMath<T>;
};
template <>
struct ScanAccumulatorOf<float> {
  using type = double;
};
template <>
struct ScanAccumulatorOf<Complex64> {
  using type = Complex128;
};
template <class T>
using ScanAccumulator = typename ScanAccumulatorOf<T>::type;

template <class T, bool products>
TL_INLINE T combine(T a, T b) {
  if constexpr (products)
    return times(a, b);
  else
    return plus(a, b);
}

// Columns side by side with an array of accumulators, so that memory is read in order.
template <class T, bool products>
void scan_columns(const AlongShape& s, char* const* data) {
  using R = ScanAccumulator<T>;
  constexpr int64_t kWidth = 64;
  for_each_lines<2>(s, data, kWidth, [&](char* const* at, int64_t columns) {
    R totals[kWidth];
    for (int64_t c = 0; c < columns; ++c) totals[c] = products ? one_like(R{}) : R{};
    const int64_t out_step = s.dims ? s.strides[0][0] : 0, in_step = s.dims ? s.strides[1][0] : 0;
    for (int64_t i = 0; i < s.n; ++i) {
      char* out = at[0] + i * s.along[0];
      const char* in = at[1] + i * s.along[1];
      for (int64_t c = 0; c < columns; ++c) {
        totals[c] = combine<R, products>(totals[c], convert<R>(load_one<T>(in + c * in_step)));
        store_one<T>(out + c * out_step, convert<OpMath<T>>(totals[c]));
      }
    }
  });
}

// Whether the scan may be reassociated: exact integers, or accumulation in a wider type.
template <class T>
inline constexpr bool is_groupable = std::is_integral_v<T> ||
                                     sizeof(Real<ScanAccumulator<T>>) > sizeof(Real<T>);

// Hillis-Steele prefix scan of a vector's lanes by log2(lanes) shifts, then the carry from the vectors
// before: each vector waits only for the total of the one before it. Returns how many elements were done.
template <class T, bool products>
class VectorScan {
  using R = ScanAccumulator<T>;
  using V = Vec<R>;
  static constexpr int kWidth = kLanes<R>;
  using Lanes = std::make_index_sequence<kWidth>;

 public:
  static TL_INLINE int64_t run(char* out, const char* in, int64_t n, R& total) {
    V carry = broadcast<V>(total);
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      const V lanes = prefix<1>(get(in + i * sizeof(T)), Lanes{});
      put(out + i * sizeof(T), combine<V, products>(carry, lanes));
      carry = combine<V, products>(carry, last(lanes, Lanes{}));
    }
    total = carry[0];
    return i;
  }

 private:
  static TL_INLINE V get(const char* p) {
    if constexpr (std::is_same_v<R, OpMath<T>>)
      return load<T>(p);
    else
      return __builtin_convertvector(read<Pack<T, kWidth>>(p), V);
  }
  static TL_INLINE void put(char* p, V x) {
    if constexpr (std::is_same_v<R, OpMath<T>>)
      store<T>(p, x);
    else
      write(p, __builtin_convertvector(x, Pack<T, kWidth>));
  }
  template <int distance, size_t... I>
  static TL_INLINE V prefix(V x, std::index_sequence<I...> all) {
    if constexpr (distance < kWidth) {
      constexpr int n = kWidth;
      const V neutral = products ? one_like(V{}) : V{};
      const V shifted = __builtin_shufflevector(
          x, neutral, (static_cast<int>(I) < distance ? n : static_cast<int>(I) - distance)...);
      return prefix<2 * distance>(combine<V, products>(x, shifted), all);
    } else {
      return x;
    }
  }
  template <size_t... I>
  static TL_INLINE V last(V x, std::index_sequence<I...>) {
    return __builtin_shufflevector(x, x, (static_cast<int>(I) * 0 + kWidth - 1)...);
  }
};

template <class T>
inline constexpr bool has_vector_scan =
    is_groupable<T> && (std::is_same_v<T, float> || std::is_same_v<T, int64_t> || kIs16<T>);

// A row by itself: the accumulator stays in a register.
template <class T, bool products>
void scan_row(const AlongShape& s, char* const* data) {
  using R = ScanAccumulator<T>;
  constexpr int64_t size = sizeof(T);
  for_each_lines<2>(s, data, 1, [&](char* const* at, int64_t) {
    R total = products ? one_like(R{}) : R{};
    int64_t i = 0;
    if constexpr (has_vector_scan<T>) {
      if (s.along[0] == size && s.along[1] == size)
        i = VectorScan<T, products>::run(at[0], at[1], s.n, total);
    }
    for (; i < s.n; ++i) {
      total = combine<R, products>(total, convert<R>(load_one<T>(at[1] + i * s.along[1])));
      store_one<T>(at[0] + i * s.along[0], convert<OpMath<T>>(total));
    }
  });
}

template <class T, bool products>
void scan_dtype(const AlongShape& s, char* const* data) {
  const bool columns = s.dims > 0 && s.strides[1][0] < s.along[1];
  if (columns)
    scan_columns<T, products>(s, data);
  else
    scan_row<T, products>(s, data);
}

template <class T>
inline constexpr bool is_common =
    has_float_lanes<OpMath<T>> || std::is_same_v<T, int64_t> || std::is_same_v<T, int32_t>;

template <class T, bool products>
constexpr ScanKernel entry() {
  if constexpr (kIsaLevel > 1 && !is_common<T>)
    return nullptr;
  else
    return &scan_dtype<T, products>;
}

}  // namespace

extern const ScanKernel scans[kNumDTypes][2] = {
#define TL_SCANS(E, T, name) {entry<T, false>(), entry<T, true>()},
    TL_ALL_DTYPES(TL_SCANS)
#undef TL_SCANS
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const ScanKernel scans[kNumDTypes][2])

namespace tl::cpu {

void scan(Scan op, DType dtype, const AlongShape& shape, char* out, const char* in) {
  char* const data[] = {out, const_cast<char*>(in)};
  const int row = static_cast<int>(dtype), column = op == Scan::Prod;
  const auto kernel = TL_SELECT(scans)[row][column];
  (kernel ? kernel : base::scans[row][column])(shape, data);
}

}  // namespace tl::cpu
#endif
