// Typed views of the uniform calling convention's values, and the boxing that turns a typed function into a
// `TlCall`.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "tensor/scalar.h"
#include "tensor/tensor.h"

namespace tl {

class Generator;

using TensorList = std::span<const Tensor>;
using OptTensor = const Tensor*;  // NULL: None

// A tensor or a number in one slot; numbers stay weak in promotion.
class Operand {
 public:
  Operand(const Tensor& t) : value_{TL_TENSOR, 0, {.t = reinterpret_cast<TlTensor*>(t.impl())}} {}
  Operand(const Scalar& s) : scalar_(s), value_(scalar_.value()) {
    if (s.is_complex()) value_ = scalar_.value();
  }
  explicit Operand(const TlValue& v) : value_(v) {}
  Operand(const Operand& o) : scalar_(o.scalar_), value_(o.value_) {
    if (o.value_.tag == TL_COMPLEX && o.scalar_.is_complex()) value_ = scalar_.value();
  }
  bool is_tensor() const { return value_.tag == TL_TENSOR; }
  const Tensor& tensor() const { return reinterpret_cast<const Tensor&>(value_.u.t); }
  Scalar scalar() const { return Scalar::from(value_); }
  const TlValue& value() const { return value_; }

 private:
  Scalar scalar_;
  TlValue value_;
};

static_assert(sizeof(Tensor) == sizeof(TlTensor*), "tensor lists cross the C interface as they are");

// ---- DType and the ABI's code -----------------------------------------------------------------------------
extern const int64_t kDTypeCodes[kNumStorableDTypes];
inline int64_t dtype_to_abi(DType dtype) { return kDTypeCodes[static_cast<int>(dtype)]; }
DType dtype_from_abi(int64_t code);  // raises for codes tl has no type for
inline bool is_stored_code(int64_t code) {
  return TL_DTYPE_CODE(code) > TL_CODE_BOOL || TL_DTYPE_BITS(code) < 8;
}

// ---- reading arguments ------------------------------------------------------------------------------------
template <class T>
struct Unbox;
template <>
struct Unbox<Tensor> {
  static const Tensor& get(const TlValue& v) { return reinterpret_cast<const Tensor&>(v.u.t); }
};
template <>
struct Unbox<OptTensor> {
  static OptTensor get(const TlValue& v) {
    return v.tag == TL_TENSOR ? &reinterpret_cast<const Tensor&>(v.u.t) : nullptr;
  }
};
template <>
struct Unbox<Operand> {
  static Operand get(const TlValue& v) { return Operand(v); }
};
template <>
struct Unbox<Scalar> {
  static Scalar get(const TlValue& v) { return Scalar::from(v); }
};
template <>
struct Unbox<bool> {
  static bool get(const TlValue& v) { return v.u.i != 0; }
};
template <>
struct Unbox<int64_t> {
  static int64_t get(const TlValue& v) { return v.u.i; }
};
template <>
struct Unbox<double> {
  static double get(const TlValue& v) { return v.tag == TL_FLOAT ? v.u.f : static_cast<double>(v.u.i); }
};
template <>
struct Unbox<std::string_view> {
  static std::string_view get(const TlValue& v) { return {static_cast<const char*>(v.u.p), v.len}; }
};
template <>
struct Unbox<DType> {
  static DType get(const TlValue& v) { return dtype_from_abi(v.u.i); }
};
template <>
struct Unbox<Device> {
  static Device get(const TlValue& v) { return device_from_abi(v.u.i); }
};
template <>
struct Unbox<Layout> {
  static Layout get(const TlValue& v) { return static_cast<Layout>(v.u.i); }
};
template <>
struct Unbox<MemoryFormat> {
  static MemoryFormat get(const TlValue& v) { return static_cast<MemoryFormat>(v.u.i); }
};
template <>
struct Unbox<IntSpan> {
  static IntSpan get(const TlValue& v) { return {static_cast<const int64_t*>(v.u.p), v.len}; }
};
template <>
struct Unbox<std::span<const uint8_t>> {
  static std::span<const uint8_t> get(const TlValue& v) {
    return {static_cast<const uint8_t*>(v.u.p), v.len};
  }
};
template <>
struct Unbox<std::span<const double>> {
  static std::span<const double> get(const TlValue& v) { return {static_cast<const double*>(v.u.p), v.len}; }
};
template <>
struct Unbox<std::span<const TlValue>> {
  static std::span<const TlValue> get(const TlValue& v) {
    return {static_cast<const TlValue*>(v.u.p), v.len};
  }
};
template <>
struct Unbox<TensorList> {
  static TensorList get(const TlValue& v) { return {static_cast<const Tensor*>(v.u.p), v.len}; }
};
template <>
struct Unbox<Generator*> {
  static Generator* get(const TlValue& v) {
    return v.tag == TL_GENERATOR ? static_cast<Generator*>(const_cast<void*>(v.u.p)) : nullptr;
  }
};
template <class T>
struct Unbox<std::optional<T>> {
  static std::optional<T> get(const TlValue& v) {
    if (v.tag == TL_NONE) return std::nullopt;
    return Unbox<T>::get(v);
  }
};

// What a new tensor is to be: four arguments of a schema, one parameter of a function.
struct FactoryOptions {
  std::optional<DType> dtype = std::nullopt;
  std::optional<Layout> layout = std::nullopt;
  std::optional<Device> device = std::nullopt;
  std::optional<bool> pin_memory = std::nullopt;
};
template <>
struct Unbox<FactoryOptions> {
  static FactoryOptions get(const TlValue& first) {
    const TlValue* a = &first;
    return {Unbox<std::optional<DType>>::get(a[0]), Unbox<std::optional<Layout>>::get(a[1]),
            Unbox<std::optional<Device>>::get(a[2]), Unbox<std::optional<bool>>::get(a[3])};
  }
};

// ---- writing arguments: value(x) borrows x ----------------------------------------------------------------
inline TlValue none() { return {TL_NONE, 0, {0}}; }
inline TlValue value(const Tensor& t) {
  return t ? TlValue{TL_TENSOR, 0, {.t = reinterpret_cast<TlTensor*>(t.impl())}} : none();
}
inline TlValue value(OptTensor t) { return t ? value(*t) : none(); }
inline TlValue value(const Operand& o) { return o.value(); }
inline TlValue value(const Scalar& s) { return s.value(); }
inline TlValue value(bool b) { return {TL_BOOL, 0, {.i = b}}; }
inline TlValue value(int64_t i) { return {TL_INT, 0, {.i = i}}; }
inline TlValue value(int i) { return value(static_cast<int64_t>(i)); }
inline TlValue value(double f) { return {TL_FLOAT, 0, {.f = f}}; }
inline TlValue value(std::string_view s) {
  return {TL_STRING, static_cast<uint32_t>(s.size()), {.p = s.data()}};
}
inline TlValue value(DType d) { return {TL_DTYPE, 0, {.i = dtype_to_abi(d)}}; }
inline TlValue value(Device d) { return {TL_DEVICE, 0, {.i = device_to_abi(d)}}; }
inline TlValue value(Layout l) { return {TL_LAYOUT, 0, {.i = static_cast<int64_t>(l)}}; }
inline TlValue value(MemoryFormat m) { return {TL_MEMORY_FORMAT, 0, {.i = static_cast<int64_t>(m)}}; }
inline TlValue value(IntSpan s) { return {TL_INT_LIST, static_cast<uint32_t>(s.size()), {.p = s.data()}}; }
inline TlValue value(std::span<const uint8_t> s) {
  return {TL_BOOL_LIST, static_cast<uint32_t>(s.size()), {.p = s.data()}};
}
inline TlValue value(std::span<const double> s) {
  return {TL_FLOAT_LIST, static_cast<uint32_t>(s.size()), {.p = s.data()}};
}
inline TlValue value(std::span<const TlValue> s) {
  return {TL_SCALAR_LIST, static_cast<uint32_t>(s.size()), {.p = s.data()}};
}
inline TlValue value(TensorList s) {
  return {TL_TENSOR_LIST, static_cast<uint32_t>(s.size()), {.p = s.data()}};
}
inline TlValue value(Generator* g) { return g ? TlValue{TL_GENERATOR, 0, {.p = g}} : none(); }
template <class T>
TlValue value(const std::optional<T>& o) {
  return o ? value(*o) : none();
}

// ---- results ----------------------------------------------------------------------------------------------
inline TlValue owned(Tensor t) {
  if (!t) return none();
  return {TL_TENSOR, 0, {.t = reinterpret_cast<TlTensor*>(t.detach_handle())}};
}
inline TlValue owned(bool b) { return value(b); }
inline TlValue owned(int64_t i) { return value(i); }
inline TlValue owned(double f) { return value(f); }
inline TlValue owned(DType d) { return value(d); }
TlValue owned(const Scalar& s);              // complex: allocated
TlValue owned(const DimVector& list);        // allocated
TlValue owned(std::vector<Tensor> tensors);  // allocated
TlValue owned_copy(const TlValue& borrowed);
void release(TlValue& v);  // frees what an owned result holds

// How objects of Python are counted; each takes the interpreter's lock.
struct ObjectCounts {
  void (*retain)(void* object);
  void (*release)(void* object);
};
void set_object_counts(const ObjectCounts* counts);

template <class T>
struct TakeResult {
  static T take(TlValue& v) { return Unbox<T>::get(v); }
};
template <>
struct TakeResult<Tensor> {
  static Tensor take(TlValue& v) {
    return v.tag == TL_TENSOR ? Tensor::adopt(reinterpret_cast<TensorImpl*>(v.u.t)) : Tensor();
  }
};
template <>
struct TakeResult<Scalar> {
  static Scalar take(TlValue& v) {
    Scalar s = Scalar::from(v);
    release(v);
    return s;
  }
};
template <>
struct TakeResult<std::vector<Tensor>> {
  static std::vector<Tensor> take(TlValue& v);
};

// The tensor an in-place or out= call writes; NULL: allocate. Trailing `Out` parameters are bound to the
// results in order.
struct Out {
  const Tensor* tensor = nullptr;
  bool is_first_input = false;  // so in an in-place call, whose result can't have another shape
  explicit operator bool() const { return tensor; }
  const Tensor& operator*() const { return *tensor; }
  static Out of(const TlValue* args, const TlValue& ret) {
    if (ret.tag != TL_TENSOR) return {};
    return {&reinterpret_cast<const Tensor&>(ret.u.t), args[0].tag == TL_TENSOR && args[0].u.t == ret.u.t};
  }
};

// ---- boxing -----------------------------------------------------------------------------------------------
namespace detail {
template <class T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

// How many values of a call a parameter stands for.
template <class T>
constexpr size_t kValues = std::is_same_v<T, FactoryOptions> ? 4 : 1;

// Where the values of each parameter begin: those of `Out` among the results, all others among the arguments.
template <class... T>
constexpr std::array<size_t, sizeof...(T)> first_values() {
  std::array<size_t, sizeof...(T)> first{};
  size_t i = 0, arg = 0, ret = 0;
  ((std::is_same_v<T, Out> ? first[i++] = ret++ : (first[i++] = arg, arg += kValues<T>)), ...);
  return first;
}

template <class T>
decltype(auto) argument(const TlValue* args, TlValue* rets, size_t first) {
  if constexpr (std::is_same_v<Bare<T>, Out>) {
    return Out::of(args, rets[first]);
  } else {
    return Unbox<Bare<T>>::get(args[first]);
  }
}

template <class R>
void store_result(TlValue* rets, R&& result) {
  using T = Bare<R>;
  if constexpr (requires { std::tuple_size<T>::value; }) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((rets[I] = owned(std::get<I>(std::move(result)))), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else {
    rets[0] = owned(std::forward<R>(result));
  }
}

template <auto F, class R, class... A, size_t... I>
void apply(const TlValue* args, TlValue* rets, R (*)(A...), std::index_sequence<I...>) {
  [[maybe_unused]] constexpr auto first = first_values<Bare<A>...>();
  if constexpr (std::is_void_v<R>)
    F(argument<A>(args, rets, first[I])...);
  else
    store_result(rets, F(argument<A>(args, rets, first[I])...));
}

template <auto F, class R, class... A>
void apply(const TlValue* args, TlValue* rets, R (*f)(A...)) {
  apply<F>(args, rets, f, std::index_sequence_for<A...>{});
}
}  // namespace detail

template <auto F>
int boxed(void*, const TlValue* args, int, TlValue* rets, int) noexcept {
  try {
    detail::apply<F>(args, rets, F);
    return 0;
  } catch (...) {
    set_pending_from_current_exception();
    return -1;
  }
}

// Gives a typed function the symbol that a row names as its kernel.
#define TL_KERNEL(symbol, function)                                                   \
  int kernel_##symbol(void* c, const TlValue* a, int n, TlValue* r, int m) noexcept { \
    return ::tl::boxed<&function>(c, a, n, r, m);                                     \
  }

}  // namespace tl
