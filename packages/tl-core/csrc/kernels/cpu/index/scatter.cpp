// isa: all
// Scatter with a reduction (add, multiply, max, min), in the order of the indices.
#include "kernels/cpu/elementwise/binary.h"
#include "kernels/cpu/index/index.h"
#include "kernels/cpu/index/index_loop.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// to[...] = to[...] combined with from[...]
template <class T, Combine combine>
struct CombineItem {
  static constexpr int64_t size = sizeof(T);
  static TL_INLINE void apply(char* to, const char* from) {
    const OpMath<T> x = load_one<T>(to), y = load_one<T>(from);
    if constexpr (std::is_same_v<T, BFloat16>)
      narrow(to, bitcast<uint32_t>(combined(x, y)));
    else
      store_one<T>(to, combined(x, y));
  }
  // A NaN that comes of two bfloat16 ends in zeros: rounding does not carry into its upper half.
  static TL_INLINE void narrow(char* to, uint32_t bits) {
    constexpr bool exact = combine == Combine::Max || combine == Combine::Min;
    const uint32_t rounded = exact ? bits : bits + (0x7fff + (bits >> 16 & 1));
    write(to, static_cast<uint16_t>(rounded >> 16));
  }
  static TL_INLINE void row(char* to, const char* from, int64_t n) {
    int64_t i = 0;
    if constexpr (has_float_lanes<OpMath<T>>) {
      for (; i + kLanes<OpMath<T>> <= n; i += kLanes<OpMath<T>>)
        store<T>(to + i * size, combined(load<T>(to + i * size), load<T>(from + i * size)));
    }
    for (; i < n; ++i) apply(to + i * size, from + i * size);
  }
  template <class A>
  static TL_INLINE A combined(A x, A y) {
    if constexpr (combine == Combine::Add)
      return plus(x, y);
    else if constexpr (combine == Combine::Multiply)
      return times(x, y);
    else if constexpr (combine == Combine::Max)
      return functions::maximum::apply(x, y, static_cast<const int*>(nullptr));
    else
      return functions::minimum::apply(x, y, static_cast<const int*>(nullptr));
  }
};

template <class T>
inline constexpr bool is_common =
    has_float_lanes<OpMath<T>> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;

template <class T, Combine combine>
constexpr ElementwiseLoop entry() {
  constexpr bool refused = is_complex_type<T> && (combine == Combine::Max || combine == Combine::Min);
  if constexpr (refused || (kIsaLevel > 1 && !is_common<T>))
    return nullptr;
  else
    return &IndexLoop<CombineItem<T, combine>, 0>::run;
}

}  // namespace

// By dtype and combination, from Combine::Add on.
extern const ElementwiseLoop combinations[kNumDTypes][4] = {
#define TL_COMBINATIONS(E, T, name)                                                   \
  {entry<T, Combine::Add>(), entry<T, Combine::Multiply>(), entry<T, Combine::Max>(), \
   entry<T, Combine::Min>()},
    TL_ALL_DTYPES(TL_COMBINATIONS)
#undef TL_COMBINATIONS
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const ElementwiseLoop combinations[kNumDTypes][4])

namespace tl::cpu {

ElementwiseLoop scatter_loop(Combine combine, DType dtype) {
  if (combine == Combine::Set) return set_loop(item_size(dtype));
  const int row = static_cast<int>(dtype),
            column = static_cast<int>(combine) - static_cast<int>(Combine::Add);
  const ElementwiseLoop loop = TL_SELECT(combinations)[row][column];
  return loop ? loop : base::combinations[row][column];
}

}  // namespace tl::cpu
#endif
