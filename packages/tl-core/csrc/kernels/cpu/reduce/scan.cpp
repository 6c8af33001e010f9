// isa: all
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
struct RunningOf {
  using type = OpMath<T>;
};
template <>
struct RunningOf<float> {
  using type = double;
};
template <>
struct RunningOf<Complex64> {
  using type = Complex128;
};
template <class T>
using Running = typename RunningOf<T>::type;

template <class T, bool products>
TL_INLINE T combine(T a, T b) {
  if constexpr (products)
    return times(a, b);
  else
    return plus(a, b);
}

// Lines side by side keep their running values in a small array, so that memory is read in its order.
template <class T, bool products>
void scan_lines(const AlongShape& s, char* const* data) {
  using R = Running<T>;
  constexpr int64_t kWidth = 64;
  for_each_lines<2>(s, data, kWidth, [&](char* const* at, int64_t lines) {
    R running[kWidth];
    for (int64_t c = 0; c < lines; ++c) running[c] = products ? one_like(R{}) : R{};
    const int64_t out_step = s.dims ? s.strides[0][0] : 0, in_step = s.dims ? s.strides[1][0] : 0;
    for (int64_t i = 0; i < s.n; ++i) {
      char* out = at[0] + i * s.along[0];
      const char* in = at[1] + i * s.along[1];
      for (int64_t c = 0; c < lines; ++c) {
        running[c] = combine<R, products>(running[c], convert<R>(load_one<T>(in + c * in_step)));
        store_one<T>(out + c * out_step, convert<OpMath<T>>(running[c]));
      }
    }
  });
}

// Whether elements may be combined before they meet those in front: without loss, or in a wider type.
template <class T>
inline constexpr bool is_groupable = std::is_integral_v<T> || sizeof(Real<Running<T>>) > sizeof(Real<T>);

// A vector's lanes combined, each with those below it; then all with what is in front. Each vector waits only
// for the sum of the one before it. Returns how many elements were done.
template <class T, bool products>
class VectorScan {
  using R = Running<T>;
  using V = Vec<R>;
  static constexpr int kWidth = kLanes<R>;
  using Lanes = std::make_index_sequence<kWidth>;

 public:
  static TL_INLINE int64_t run(char* out, const char* in, int64_t n, R& running) {
    V front = broadcast<V>(running);
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      const V lanes = prefix<1>(get(in + i * sizeof(T)), Lanes{});
      put(out + i * sizeof(T), combine<V, products>(front, lanes));
      front = combine<V, products>(front, last(lanes, Lanes{}));
    }
    running = front[0];
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
      const V below = __builtin_shufflevector(
          x, neutral, (static_cast<int>(I) < distance ? n : static_cast<int>(I) - distance)...);
      return prefix<2 * distance>(combine<V, products>(x, below), all);
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

// A line by itself: the running value stays in a register.
template <class T, bool products>
void scan_line(const AlongShape& s, char* const* data) {
  using R = Running<T>;
  constexpr int64_t size = sizeof(T);
  for_each_lines<2>(s, data, 1, [&](char* const* at, int64_t) {
    R running = products ? one_like(R{}) : R{};
    int64_t i = 0;
    if constexpr (has_vector_scan<T>) {
      if (s.along[0] == size && s.along[1] == size)
        i = VectorScan<T, products>::run(at[0], at[1], s.n, running);
    }
    for (; i < s.n; ++i) {
      running = combine<R, products>(running, convert<R>(load_one<T>(at[1] + i * s.along[1])));
      store_one<T>(at[0] + i * s.along[0], convert<OpMath<T>>(running));
    }
  });
}

template <class T, bool products>
void scan_dtype(const AlongShape& s, char* const* data) {
  const bool side_by_side = s.dims > 0 && s.strides[1][0] < s.along[1];
  if (side_by_side)
    scan_lines<T, products>(s, data);
  else
    scan_line<T, products>(s, data);
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
