// elementwise_loop: carries a function of single elements, or of vectors, over two-dimensional strided
// operands; and the macros with which a `// isa: all` file lists an operator's loops:
//
//   extern const ElementwiseLoop exp_loops[kNumDTypes] = {..., TL_LOOP(exp, float, float), ...};
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/loops/arithmetic.h"
#include "kernels/cpu/loops/loop_table.h"
#include "kernels/cpu/loops/staging.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <size_t size>
using UnsignedOf = std::conditional_t<
    size == 1, uint8_t,
    std::conditional_t<size == 2, uint16_t, std::conditional_t<size == 4, uint32_t, uint64_t>>>;

// ---- vectors ----------------------------------------------------------------------------------------------

// The floating type a loop's lanes have: the first operand's that is not bool.
template <class... T>
struct FirstValue;
template <class T>
struct FirstValue<T> {
  using type = T;
};
template <class T, class... Rest>
struct FirstValue<T, Rest...> {
  using type = std::conditional_t<std::is_same_v<T, bool>, typename FirstValue<Rest...>::type, T>;
};
template <class... In>
using LoopLane = OpMath<typename FirstValue<In...>::type>;

template <class F, class Out, class... In>
inline constexpr bool uses_vectors =
    F::simd && has_float_lanes<LoopLane<In...>> &&
    (std::is_same_v<Out, bool> || std::is_same_v<OpMath<Out>, LoopLane<In...>>) &&
    ((std::is_same_v<In, bool> || std::is_same_v<OpMath<In>, LoopLane<In...>>) && ...);

template <class F, class Out, class... In>
struct VectorLoop {
  using T = LoopLane<In...>;
  using P = T;
  using Function = typename functions::FunctionFor<F, Out>::type;
  static constexpr int kStep = kLanes<T>;
  using Indices = std::index_sequence_for<In...>;

  // An input may be one number for the row: its stride is 0, and the same vector is read over and over.
  static bool takes(const int64_t* strides) { return takes_inputs(strides, Indices{}); }
  static TL_INLINE void row(char* const* d, const int64_t* strides, int64_t n, const T* p) {
    run(d, strides, n, p, Indices{});
  }

 private:
  template <size_t... I>
  static bool takes_inputs(const int64_t* strides, std::index_sequence<I...>) {
    return strides[0] == sizeof(Out) && ((strides[I + 1] == sizeof(In) || strides[I + 1] == 0) && ...);
  }
  struct Numbers {
    alignas(kVecBytes) char lanes[sizeof...(In)][kVecBytes];
  };
  template <class In1>
  static TL_INLINE const char* first(const char* p, int64_t stride, char* lanes) {
    using Word = UnsignedOf<sizeof(In1)>;
    if (stride != 0) return p;
    write(lanes, Pack<Word, kStep>{} + read<Word>(p));
    return lanes;
  }
  template <size_t... I>
  static TL_INLINE void run(char* const* d, const int64_t* strides, int64_t n, const T* p,
                            std::index_sequence<I...>) {
    Numbers numbers;
    std::array<const char*, sizeof...(In)> in{first<In>(d[I + 1], strides[I + 1], numbers.lanes[I])...};
    const int64_t steps[] = {kStep * strides[I + 1]...};
    char* out = d[0];
    for (; n >= kStep; n -= kStep, out += kStep * sizeof(Out)) {
      store<Out>(out, Function::apply(load<In, T>(in[I])..., p));
      ((in[I] += steps[I]), ...);
    }
    if (const int left = static_cast<int>(n))
      store_partial<Out>(out, left, Function::apply(load_partial<In, T>(in[I], left)..., p));
  }
};

// ---- single elements --------------------------------------------------------------------------------------

template <class T>
__attribute__((noinline)) void repeat(char* items, T number, int64_t n) {
  for (int64_t i = 0; i < n; ++i) write(items + i * sizeof(T), number);
}

template <class F, class Out, class... In>
struct ScalarLoop {
  using P = std::conditional_t<std::is_same_v<Out, bool>, LoopLane<In...>, OpMath<Out>>;
  using Indices = std::index_sequence_for<In...>;

  // An input may be one number for the row: its stride is 0.
  static bool takes(const int64_t* strides) { return takes_inputs(strides, Indices{}); }
  static TL_INLINE void row(char* const* d, const int64_t* strides, int64_t n, const P* p) {
    run(d, strides, n, p, Indices{});
  }

 private:
  static constexpr int64_t kBlockBytes = 1024, kBlock = kBlockBytes / std::max({sizeof(In)...});
  struct Numbers {
    alignas(64) char items[sizeof...(In)][kBlockBytes];
  };

  template <size_t... I>
  static bool takes_inputs(const int64_t* strides, std::index_sequence<I...>) {
    return strides[0] == sizeof(Out) && ((strides[I + 1] == sizeof(In) || strides[I + 1] == 0) && ...);
  }
  template <class In1>
  static TL_INLINE const char* first(const char* p, int64_t stride, int64_t n, char* items) {
    if (stride != 0) return p;
    repeat(items, read<In1>(p), n < kBlock ? n : kBlock);
    return items;
  }
  // Numbers are repeated for a block, and blocks take them again.
  template <size_t... I>
  static TL_INLINE void run(char* const* d, const int64_t* strides, int64_t n, const P* p,
                            std::index_sequence<I...>) {
    Numbers numbers;
    std::array<const char*, sizeof...(In)> in{first<In>(d[I + 1], strides[I + 1], n, numbers.items[I])...};
    const int64_t at_once = ((strides[I + 1] == 0) || ...) ? kBlock : n;
    P params[F::params + 1];  // which no store to the output can change
    for (int k = 0; k < F::params; ++k) params[k] = p[k];
    for (int64_t begin = 0; begin < n; begin += at_once) {
      const int64_t count = n - begin < at_once ? n - begin : at_once;
      char* const out = d[0] + begin * static_cast<int64_t>(sizeof(Out));
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i)
        store_one<Out>(out + i * sizeof(Out),
                       convert(F::apply(load_one<In>(in[I] + i * sizeof(In))..., params)));
      ((in[I] += count * strides[I + 1]), ...);
    }
  }
  template <class R>
  static TL_INLINE OpMath<Out> convert(R r) {
    if constexpr (std::is_arithmetic_v<R>)
      return static_cast<OpMath<Out>>(r);
    else
      return r;
  }
};

// ---- complex numbers in vectors ---------------------------------------------------------------------------

template <class F, class Out, class... In>
inline constexpr bool computes_pairs = false;
template <class F, class R>
  requires requires(Vec<R> x) { F::pairs(x, x); }
inline constexpr bool computes_pairs<F, ComplexOf<R>, ComplexOf<R>, ComplexOf<R>> = true;

template <class F, class R>
struct PairLoop {
  using P = ComplexOf<R>;
  static constexpr int64_t kStep = kLanes<R>, kBytes = sizeof(P);

  // An input may be one number for the row: its stride is 0.
  static bool takes(const int64_t* strides) {
    return strides[0] == kBytes && (strides[1] == kBytes || strides[1] == 0) &&
           (strides[2] == kBytes || strides[2] == 0);
  }
  static TL_INLINE void row(char* const* d, const int64_t* strides, int64_t n, const P*) {
    alignas(kVecBytes) P numbers[2][kStep / 2];
    const char *x = first(d[1], strides[1], numbers[0]), *y = first(d[2], strides[2], numbers[1]);
    const int64_t x_step = kStep / 2 * strides[1], y_step = kStep / 2 * strides[2];
    char* out = d[0];
    int64_t left = 2 * n;  // parts
    for (; left >= kStep; left -= kStep, out += sizeof(Vec<R>), x += x_step, y += y_step)
      store<R>(out, F::pairs(load<R, R>(x), load<R, R>(y)));
    if (left)
      store_partial<R>(out, static_cast<int>(left),
                       F::pairs(load_partial<R, R>(x, static_cast<int>(left)),
                                load_partial<R, R>(y, static_cast<int>(left))));
  }

 private:
  static TL_INLINE const char* first(const char* p, int64_t stride, P* numbers) {
    if (stride != 0) return p;
    std::fill_n(numbers, kStep / 2, read<P>(p));
    return reinterpret_cast<const char*>(numbers);
  }
};

// ---- half floats' bits ------------------------------------------------------------------------------------

template <class F, class Out, class... In>
inline constexpr bool changes_bits = false;
template <class F, class T>
  requires kIs16<T> && requires { F::bits(uint16_t{}); }
inline constexpr bool changes_bits<F, T, T> = true;

template <class F>
struct BitsLoop {
  using P = float;
  static bool takes(const int64_t* strides) { return strides[0] == 2 && strides[1] == 2; }
  static TL_INLINE void row(char* const* d, const int64_t*, int64_t n, const P*) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) write(d[0] + 2 * i, F::bits(read<uint16_t>(d[1] + 2 * i)));
  }
};

// ---- the loop ---------------------------------------------------------------------------------------------

template <class F, class Out, class... In>
auto loop_of() {
  if constexpr (changes_bits<F, Out, In...>)
    return BitsLoop<F>();
  else if constexpr (uses_vectors<F, Out, In...>)
    return VectorLoop<F, Out, In...>();
  else if constexpr (computes_pairs<F, Out, In...>)
    return PairLoop<F, typename RealOf<Out>::type>();
  else
    return ScalarLoop<F, Out, In...>();
}

// The function is compiled once, for rows without gaps; what lies otherwise is staged.
template <class F, class Out, class... In>
void elementwise_loop(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  using Loop = decltype(loop_of<F, Out, In...>());
  using P = typename Loop::P;
  constexpr int k = 1 + static_cast<int>(sizeof...(In));
  static constexpr int64_t kDense[] = {sizeof(Out), sizeof(In)...};
  const int64_t* within = n0 == 1 ? kDense : strides;
  if (!Loop::takes(within))
    return run_staged({&elementwise_loop<F, Out, In...>, k, {sizeof(Out), sizeof(In)...}}, data, strides, n0,
                      n1, params);
  char* d[k];
  for (int i = 0; i < k; ++i) d[i] = data[i];
  for (int64_t j = 0; j < n1; ++j) {
    Loop::row(d, within, n0, static_cast<const P*>(params));
    for (int i = 0; i < k; ++i) d[i] += strides[k + i];
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// TL_LOOP(function, output type, input types...): the loop, for a table. TL_COLD_LOOP: of rare types only the
// portable level has one, which saves build time and size; the table's reader falls back on it.
// TL_UPPER_LOOP: the portable level has none and computes in a wider type.
#define TL_LOOP(f, ...) &elementwise_loop<functions::f, __VA_ARGS__>
#if TL_ISA_LEVEL == 1
#define TL_COLD_LOOP(f, ...) TL_LOOP(f, __VA_ARGS__)
#define TL_UPPER_LOOP(f, ...) nullptr
#else
#define TL_COLD_LOOP(f, ...) nullptr
#define TL_UPPER_LOOP(f, ...) TL_LOOP(f, __VA_ARGS__)
#endif
