// isa: all
// Dtype conversion kernels: one elementwise loop for each pair of source and destination dtypes.
#include "kernels/cpu/elementwise/cast.h"

#include "kernels/cpu/elementwise/float8_cast.h"
#include "kernels/cpu/elementwise/unary.h"
#include "kernels/cpu/loops/copy.h"
#include "kernels/cpu/loops/elementwise_loop.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class To>
struct Conversion {
  static constexpr int params = 0;
  static constexpr bool simd = false;
  template <class From, class P>
  static TL_INLINE OpMath<To> apply(From x, const P*) {
    return convert<OpMath<To>>(x);
  }
};

// Floating ones and zeros by their bits.
template <auto one>
struct OneOrNone {
  static constexpr int params = 0;
  static constexpr bool simd = false;
  template <class P>
  static TL_INLINE decltype(one) apply(bool x, const P*) {
    return static_cast<decltype(one)>(x ? one : 0);
  }
};
template <class To>
constexpr auto one_bits() {
  if constexpr (std::is_same_v<To, double>)
    return int64_t{0x3ff0000000000000};
  else if constexpr (std::is_same_v<To, float>)
    return int32_t{0x3f800000};
  else
    return static_cast<int16_t>(std::is_same_v<To, BFloat16> ? 0x3f80 : 0x3c00);
}

template <class To, class From>
constexpr ElementwiseLoop cast_entry();

// Integers become half floats, and these integers, by way of floats: the compiler knows no vectors of halves.
template <class To, class From>
void by_way_of_floats(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  run_staged({cast_entry<float, From>(), 2, {sizeof(float), sizeof(From)}, {cast_entry<To, float>()}}, data,
             strides, n0, n1, params);
}

template <class T>
constexpr bool is_hot_type =
    !is_complex_type<T> && !std::is_same_v<T, int8_t> && !std::is_same_v<T, int16_t> &&
    !std::is_same_v<T, uint16_t> && !std::is_same_v<T, uint32_t> && !std::is_same_v<T, uint64_t>;

template <class To, class From>
constexpr ElementwiseLoop cast_entry() {
  constexpr bool has_half = std::is_same_v<To, Half> || std::is_same_v<From, Half>;
  if constexpr (std::is_same_v<To, From>)
    return nullptr;
  else if constexpr (kIsaLevel > 1 && !(is_hot_type<To> && is_hot_type<From>))
    return nullptr;
  else if constexpr (std::is_same_v<OpMath<To>, float> && std::is_same_v<OpMath<From>, float>) {
    return &elementwise_loop<functions::identity, To, From>;
  } else if constexpr (std::is_same_v<From, bool> && has_float_lanes<OpMath<To>>) {
    constexpr auto one = one_bits<To>();
    return &elementwise_loop<OneOrNone<one>, std::remove_const_t<decltype(one)>, From>;
  } else if constexpr (has_half && (std::is_integral_v<To> || std::is_integral_v<From>) &&
                       !std::is_same_v<To, bool>) {
    return &by_way_of_floats<To, From>;
  } else
    return &elementwise_loop<Conversion<To>, To, From>;
}

}  // namespace

extern const ElementwiseLoop casts[kNumDTypes][kNumDTypes] = {
#define TL_ROW(E, T, name)                                                             \
  {cast_entry<T, bool>(),      cast_entry<T, uint8_t>(),   cast_entry<T, int8_t>(),    \
   cast_entry<T, int16_t>(),   cast_entry<T, int32_t>(),   cast_entry<T, int64_t>(),   \
   cast_entry<T, uint16_t>(),  cast_entry<T, uint32_t>(),  cast_entry<T, uint64_t>(),  \
   cast_entry<T, Half>(),      cast_entry<T, BFloat16>(),  cast_entry<T, float>(),     \
   cast_entry<T, double>(),    cast_entry<T, Complex32>(), cast_entry<T, Complex64>(), \
   cast_entry<T, Complex128>()},
    TL_ALL_DTYPES(TL_ROW)
#undef TL_ROW
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const ElementwiseLoop casts[kNumDTypes][kNumDTypes])

namespace tl::cpu {

ElementwiseLoop cast_loop(DType to, DType from) {
  if (to == from) return copy_loop(item_size(to));
  if (is_stored_only(to) || is_stored_only(from)) return float8_cast_loop(to, from);
  const int row = static_cast<int>(to), column = static_cast<int>(from);
  const ElementwiseLoop loop = TL_SELECT(casts)[row][column];
  return loop ? loop : base::casts[row][column];
}

}  // namespace tl::cpu
#endif
