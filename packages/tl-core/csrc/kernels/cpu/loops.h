// elementwise_loop: carries a function of single elements, or of vectors, over two-dimensional strided operands. And the macros
// with which a `// isa: all` file lists an operator's loops:
//
//   TL_LOOPS_BEGIN(exp)
//   TL_LOOP(exp, Float32, Float32)
//   TL_LOOP(exp, Complex64, Complex64)
//   TL_LOOPS_END(exp)
//
// which defines tl::cpu::exp_loops(), the operator's LoopSet.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "kernels/cpu/loop.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/functions/arithmetic.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// ---- vectors --------------------------------------------------------------------------------------------------------

// The floating type a loop's lanes have: the first operand's that is not bool.
template <class... T> struct FirstValue;
template <class T> struct FirstValue<T> { using type = T; };
template <class T, class... Rest>
struct FirstValue<T, Rest...> {
  using type = std::conditional_t<std::is_same_v<T, bool>, typename FirstValue<Rest...>::type, T>;
};
template <class... In> using LoopLane = Compute<typename FirstValue<In...>::type>;

template <class T> inline constexpr bool has_lanes = std::is_same_v<T, float> || std::is_same_v<T, double>;

template <class F, class Out, class... In>
inline constexpr bool uses_vectors =
    F::simd && has_lanes<LoopLane<In...>> && (std::is_same_v<Out, bool> || std::is_same_v<Compute<Out>, LoopLane<In...>>) &&
    ((std::is_same_v<In, bool> || std::is_same_v<Compute<In>, LoopLane<In...>>)&&...);

template <class F, class Out, class... In>
struct VectorLoop {
  using T = LoopLane<In...>;
  static constexpr int kStep = kLanes<T>;
  using Indices = std::index_sequence_for<In...>;

  template <class In1>
  static TL_INLINE auto load_any(const char* p, int64_t stride, int n) {
    if (stride == static_cast<int64_t>(sizeof(In1))) return n == kStep ? load<In1, T>(p) : load_partial<In1, T>(p, n);
    return stride == 0 ? load_all<In1, T>(p) : load_strided<In1, T>(p, stride, n);
  }
  template <class V>
  static TL_INLINE void store_any(char* p, int64_t stride, int n, V v) {
    if (stride != static_cast<int64_t>(sizeof(Out))) store_strided<Out>(p, stride, n, v);
    else if (n == kStep) store<Out>(p, v);
    else store_partial<Out>(p, n, v);
  }

  // One row whose operands all follow each other without gaps.
  template <size_t... I>
  static TL_INLINE void dense_row(char* const* d, int64_t n, const T* p, std::index_sequence<I...>) {
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      store<Out>(d[0] + i * sizeof(Out), F::apply(load<In, T>(d[I + 1] + i * sizeof(In))..., p));
    }
    if (const int left = static_cast<int>(n - i)) {
      store_partial<Out>(d[0] + i * sizeof(Out), left, F::apply(load_partial<In, T>(d[I + 1] + i * sizeof(In), left)..., p));
    }
  }

  template <size_t... I>
  static TL_INLINE void strided_row(char* const* d, const int64_t* s, int64_t n, const T* p, std::index_sequence<I...>) {
    for (int64_t i = 0; i < n; i += kStep) {
      const int count = n - i < kStep ? static_cast<int>(n - i) : kStep;
      store_any(d[0] + i * s[0], s[0], count, F::apply(load_any<In>(d[I + 1] + i * s[I + 1], s[I + 1], count)..., p));
    }
  }

  static TL_INLINE void row(bool dense, char* const* d, const int64_t* s, int64_t n, const T* p) {
    if (dense) dense_row(d, n, p, Indices{});
    else strided_row(d, s, n, p, Indices{});
  }
};

// ---- single elements ------------------------------------------------------------------------------------------------

template <class F, class Out, class... In>
struct ScalarLoop {
  using P = std::conditional_t<std::is_same_v<Out, bool>, LoopLane<In...>, Compute<Out>>;
  static constexpr int64_t kSizes[] = {sizeof(Out), sizeof(In)...};
  static constexpr int kOperands = 1 + static_cast<int>(sizeof...(In));
  using Indices = std::index_sequence_for<In...>;

  static constexpr int kDense = -1, kStrided = -2;

  // Strides known while compiling let the compiler vectorise. `Form` is kDense, kStrided, or the one operand that is a number.
  template <int Form, int k>
  static constexpr int64_t fixed_stride() {
    return Form == k ? 0 : kSizes[k];
  }
  template <int Form, size_t... I>
  static TL_INLINE void run(char* const* d, const int64_t* s, int64_t n, const P* p, std::index_sequence<I...>) {
    char* const out = d[0];
    const std::array<const char*, sizeof...(In)> in{d[I + 1]...};
    if constexpr (Form == kStrided) {
      for (int64_t i = 0; i < n; ++i) {
        store_one<Out>(out + i * s[0], convert(F::apply(load_one<In>(in[I] + i * s[I + 1])..., p)));
      }
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        store_one<Out>(out + i * kSizes[0],
                       convert(F::apply(load_one<In>(in[I] + i * fixed_stride<Form, static_cast<int>(I) + 1>())..., p)));
      }
    }
  }
  template <class R>
  static TL_INLINE Compute<Out> convert(R r) {
    if constexpr (std::is_arithmetic_v<R>) return static_cast<Compute<Out>>(r);
    else return r;
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

// ---- the loop -------------------------------------------------------------------------------------------------------

template <class F, class Out, class... In>
void elementwise_loop(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  using Loop = std::conditional_t<uses_vectors<F, Out, In...>, VectorLoop<F, Out, In...>, ScalarLoop<F, Out, In...>>;
  using P = std::conditional_t<uses_vectors<F, Out, In...>, LoopLane<In...>, typename ScalarLoop<F, Out, In...>::P>;
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

// ---- which loops this level has -------------------------------------------------------------------------------------

constexpr bool is_hot(DType d) {
  return d == DType::Float32 || d == DType::Float64 || d == DType::Int64 || d == DType::Int32 || d == DType::Bool ||
         d == DType::UInt8 || d == DType::BFloat16 || d == DType::Float16;
}

template <DType d> struct CTypeOf;
#define TL_C_TYPE(E, T, name) \
  template <> struct CTypeOf<DType::E> { using type = T; };
TL_ALL_DTYPES(TL_C_TYPE)
#undef TL_C_TYPE
template <DType d> using CType = typename CTypeOf<d>::type;

template <class F, DType Out, DType... In>
constexpr LoopEntry loop_entry() {
  if constexpr (kIsaLevel == 1 || (is_hot(Out) && ... && is_hot(In))) {
    return {Out, sizeof...(In), {In...}, &elementwise_loop<F, CType<Out>, CType<In>...>};
  } else {
    return {Out, sizeof...(In), {In...}, nullptr};
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#define TL_LOOP_1(f, OUT, A) loop_entry<functions::f, DType::OUT, DType::A>(),
#define TL_LOOP_2(f, OUT, A, B) loop_entry<functions::f, DType::OUT, DType::A, DType::B>(),
#define TL_LOOP_3(f, OUT, A, B, C) loop_entry<functions::f, DType::OUT, DType::A, DType::B, DType::C>(),
#define TL_LOOP_PICK(_1, _2, _3, NAME, ...) NAME
// TL_LOOP(function, output dtype, input dtypes...)
#define TL_LOOP(f, OUT, ...) TL_LOOP_PICK(__VA_ARGS__, TL_LOOP_3, TL_LOOP_2, TL_LOOP_1)(f, OUT, __VA_ARGS__)

#define TL_LOOPS_BEGIN(name)              \
  namespace tl::cpu::TL_ISA_NAMESPACE {   \
  LoopTable name##_level_loops() {        \
    static constexpr LoopEntry entries[] = {
#define TL_LOOPS_END(name)                                           \
    };                                                               \
    return {entries, static_cast<int>(sizeof entries / sizeof *entries)}; \
  }                                                                  \
  }                                                                  \
  TL_LOOPS_ACCESSOR(name)

#if TL_ISA_LEVEL == 1
#include "kernels/cpu/select.h"
#define TL_LOOPS_ACCESSOR(name)                                  \
  TL_LEVELS(LoopTable name##_level_loops())                      \
  namespace tl::cpu {                                            \
  LoopSet name##_loops() {                                       \
    return {#name, TL_SELECT(name##_level_loops)(), base::name##_level_loops()}; \
  }                                                              \
  }
#else
#define TL_LOOPS_ACCESSOR(name)
#endif
