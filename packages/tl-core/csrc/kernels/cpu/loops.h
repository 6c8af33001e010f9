// elementwise_loop: carries a function of single elements, or of vectors, over two-dimensional strided
// operands; and the macros with which a `// isa: all` file lists an operator's loops:
//
//   extern const ElementwiseLoop exp_loops[kNumDTypes] = {..., TL_LOOP(exp, float, float), ...};
#pragma once

#include <array>
#include <utility>

#include "kernels/cpu/functions/arithmetic.h"
#include "kernels/cpu/loop.h"
#include "kernels/cpu/memory.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// ---- vectors
// --------------------------------------------------------------------------------------------------------

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
using LoopLane = Compute<typename FirstValue<In...>::type>;

template <class F, class Out, class... In>
inline constexpr bool uses_vectors =
    F::simd && has_float_lanes<LoopLane<In...>> &&
    (std::is_same_v<Out, bool> || std::is_same_v<Compute<Out>, LoopLane<In...>>) &&
    ((std::is_same_v<In, bool> || std::is_same_v<Compute<In>, LoopLane<In...>>) && ...);

template <class F, class Out, class... In>
struct VectorLoop {
  using T = LoopLane<In...>;
  static constexpr int kStep = kLanes<T>;
  using Indices = std::index_sequence_for<In...>;

  template <class In1>
  static TL_INLINE auto load_any(const char* p, int64_t stride, int n) {
    if (stride == static_cast<int64_t>(sizeof(In1)))
      return n == kStep ? load<In1, T>(p) : load_partial<In1, T>(p, n);
    return stride == 0 ? load_all<In1, T>(p) : load_strided<In1, T>(p, stride, n);
  }
  template <class V>
  static TL_INLINE void store_any(char* p, int64_t stride, int n, V v) {
    if (stride != static_cast<int64_t>(sizeof(Out)))
      store_strided<Out>(p, stride, n, v);
    else if (n == kStep)
      store<Out>(p, v);
    else
      store_partial<Out>(p, n, v);
  }

  // One row whose operands all follow each other without gaps.
  template <size_t... I>
  static TL_INLINE void dense_row(char* const* d, int64_t n, const T* p, std::index_sequence<I...>) {
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      store<Out>(d[0] + i * sizeof(Out), F::apply(load<In, T>(d[I + 1] + i * sizeof(In))..., p));
    }
    if (const int left = static_cast<int>(n - i)) {
      store_partial<Out>(d[0] + i * sizeof(Out), left,
                         F::apply(load_partial<In, T>(d[I + 1] + i * sizeof(In), left)..., p));
    }
  }

  template <size_t... I>
  static TL_INLINE void strided_row(char* const* d, const int64_t* s, int64_t n, const T* p,
                                    std::index_sequence<I...>) {
    for (int64_t i = 0; i < n; i += kStep) {
      const int count = n - i < kStep ? static_cast<int>(n - i) : kStep;
      store_any(d[0] + i * s[0], s[0], count,
                F::apply(load_any<In>(d[I + 1] + i * s[I + 1], s[I + 1], count)..., p));
    }
  }

  static TL_INLINE void row(bool dense, char* const* d, const int64_t* s, int64_t n, const T* p) {
    if (dense)
      dense_row(d, n, p, Indices{});
    else
      strided_row(d, s, n, p, Indices{});
  }
};

// ---- single elements
// ------------------------------------------------------------------------------------------------

template <class F, class Out, class... In>
struct ScalarLoop {
  using P = std::conditional_t<std::is_same_v<Out, bool>, LoopLane<In...>, Compute<Out>>;
  static constexpr int64_t kSizes[] = {sizeof(Out), sizeof(In)...};
  static constexpr int kOperands = 1 + static_cast<int>(sizeof...(In));
  using Indices = std::index_sequence_for<In...>;

  static constexpr int kDense = -1, kStrided = -2;

  // Strides known while compiling let the compiler vectorise. `Form` is kDense, kStrided, or the one operand
  // that is a number.
  template <int Form, int k>
  static constexpr int64_t fixed_stride() {
    return Form == k ? 0 : kSizes[k];
  }
  template <int Form, size_t... I>
  static TL_INLINE void run(char* const* d, const int64_t* s, int64_t n, const P* p,
                            std::index_sequence<I...>) {
    char* const out = d[0];
    const std::array<const char*, sizeof...(In)> in{d[I + 1]...};
    if constexpr (Form == kStrided) {
      for (int64_t i = 0; i < n; ++i) {
        store_one<Out>(out + i * s[0], convert(F::apply(load_one<In>(in[I] + i * s[I + 1])..., p)));
      }
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        store_one<Out>(
            out + i * kSizes[0],
            convert(F::apply(load_one<In>(in[I] + i * fixed_stride<Form, static_cast<int>(I) + 1>())..., p)));
      }
    }
  }
  template <class R>
  static TL_INLINE Compute<Out> convert(R r) {
    if constexpr (std::is_arithmetic_v<R>)
      return static_cast<Compute<Out>>(r);
    else
      return r;
  }

  static TL_INLINE void row(bool dense, char* const* d, const int64_t* s, int64_t n, const P* p) {
    if (dense) return run<kDense>(d, s, n, p, Indices{});
    if constexpr (sizeof...(In) == 2) {
      const bool packed = s[0] == kSizes[0];
      if (packed && s[1] == kSizes[1] && s[2] == 0) return run<2>(d, s, n, p, Indices{});
      if (packed && s[2] == kSizes[2] && s[1] == 0) return run<1>(d, s, n, p, Indices{});
    }
    run<kStrided>(d, s, n, p, Indices{});
  }
};

// ---- the loop
// -------------------------------------------------------------------------------------------------------

template <class F, class Out, class... In>
void elementwise_loop(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  using Loop =
      std::conditional_t<uses_vectors<F, Out, In...>, VectorLoop<F, Out, In...>, ScalarLoop<F, Out, In...>>;
  using P =
      std::conditional_t<uses_vectors<F, Out, In...>, LoopLane<In...>, typename ScalarLoop<F, Out, In...>::P>;
  constexpr int k = 1 + static_cast<int>(sizeof...(In));
  const int64_t sizes[] = {sizeof(Out), sizeof(In)...};
  bool dense = true;
  for (int i = 0; i < k; ++i) dense &= strides[i] == sizes[i];
  char* d[k];
  for (int i = 0; i < k; ++i) d[i] = data[i];
  for (int64_t j = 0; j < n1; ++j) {
    Loop::row(dense, d, strides, n0, static_cast<const P*>(params));
    for (int i = 0; i < k; ++i) d[i] += strides[k + i];
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

// TL_LOOP(function, output type, input types...): the loop, for a table. TL_COLD_LOOP: of rare types only the
// portable level has one, which saves build time and size; the table's reader falls back on it.
#define TL_LOOP(f, ...) &elementwise_loop<functions::f, __VA_ARGS__>
#if TL_ISA_LEVEL == 1
#define TL_COLD_LOOP(f, ...) TL_LOOP(f, __VA_ARGS__)
#else
#define TL_COLD_LOOP(f, ...) nullptr
#endif
