// Functions of C++ as operators: the schema of their types, values to arguments, results to values.
#ifndef TL_TORCH_SCHEMA_HPP
#define TL_TORCH_SCHEMA_HPP

#include <cstdarg>
#include <tl/torch/ivalue.hpp>

namespace c10 {
TL_FACE {
  namespace face {
  using at::Tensor;

  // How values of a type cross: the name in a schema, from a borrowed value, and to an owned one.
  template <class T, class = void>
  struct Cross {
    static_assert(sizeof(T) == 0, "tl has no schema for this type of an operator's argument or result");
  };
  [[gnu::noinline]] inline TlValue own(const at::face::Value& borrowed) {
    TlValue v{};
    check(api().value_own(&borrowed, &v));
    return v;
  }
#define TL_FACE_CROSS(T, NAME, FROM)                                  \
  template <>                                                         \
  struct Cross<T> {                                                   \
    static std::string name() { return NAME; }                        \
    static T from(const TlValue& v) { return FROM; }                  \
    static TlValue to(const T& x) { return own(at::face::Value(x)); } \
  };
  TL_FACE_CROSS(bool, "bool", v.u.i != 0)
  TL_FACE_CROSS(int64_t, "int", v.u.i)
  TL_FACE_CROSS(double, "float", v.tag == TL_FLOAT ? v.u.f : double(v.u.i))
  TL_FACE_CROSS(Scalar, "Scalar", Scalar(v))
  TL_FACE_CROSS(ScalarType, "ScalarType", v.tag == TL_DTYPE ? type_of(v.u.i) : ScalarType(v.u.i))
  TL_FACE_CROSS(Device, "Device", device_of(v.u.i))
  TL_FACE_CROSS(Layout, "Layout", kLayouts[v.u.i])
  TL_FACE_CROSS(MemoryFormat, "MemoryFormat", MemoryFormat(v.u.i))
  TL_FACE_CROSS(std::string_view, "str", std::string_view(static_cast<const char*>(v.u.p), v.len))
  TL_FACE_CROSS(at::Generator, "Generator",
                at::Generator::share(static_cast<TlGenerator*>(const_cast<void*>(v.u.p))))
#undef TL_FACE_CROSS
  template <>
  struct Cross<Tensor> {
    static std::string name() { return "Tensor"; }
    static Tensor from(const TlValue& v) { return v.tag == TL_TENSOR ? Tensor::share(v.u.t) : Tensor(); }
    static TlValue to(Tensor t) {
      TlValue v{};
      v.tag = t.defined() ? TL_TENSOR : TL_NONE;
      v.u.t = t.release();
      return v;
    }
  };
  template <>
  struct Cross<int> : Cross<int64_t> {};
  template <>
  struct Cross<float> : Cross<double> {};
  template <>
  struct Cross<std::string> : Cross<std::string_view> {
    static std::string from(const TlValue& v) { return std::string(Cross<std::string_view>::from(v)); }
  };
  template <>
  struct Cross<const char*> : Cross<std::string_view> {};

  // Lists. Elements of strings and numbers are values themselves.
  template <class T>
  std::vector<T> list_of(const TlValue& v) {
    std::vector<T> list;
    list.reserve(v.len);
    for (uint32_t i = 0; i < v.len; ++i) {
      if constexpr (std::is_same_v<T, Tensor>)
        list.push_back(Tensor::share(static_cast<TlTensor* const*>(v.u.p)[i]));
      else if constexpr (std::is_same_v<T, std::optional<Tensor>>) {
        TlTensor* t = static_cast<TlTensor* const*>(v.u.p)[i];
        list.push_back(t ? std::optional<Tensor>(Tensor::share(t)) : std::nullopt);
      } else if constexpr (std::is_same_v<T, bool>)
        list.push_back(static_cast<const uint8_t*>(v.u.p)[i] != 0);
      else if constexpr (std::is_integral_v<T>)
        list.push_back(T(static_cast<const int64_t*>(v.u.p)[i]));
      else if constexpr (std::is_floating_point_v<T>)
        list.push_back(T(static_cast<const double*>(v.u.p)[i]));
      else
        list.push_back(Cross<T>::from(static_cast<const TlValue*>(v.u.p)[i]));
    }
    return list;
  }
  template <class T>
  TlValue list_value(const std::vector<T>& l) {
    if constexpr (std::is_same_v<T, Tensor>)
      return own(at::face::Value(ArrayRef<Tensor>(l)));
    else if constexpr (std::is_same_v<T, std::optional<Tensor>>)
      return own(at::face::Value(at::OptionalTensorList(l)));
    else if constexpr (std::is_same_v<T, bool>) {
      const std::vector<uint8_t> bytes(l.begin(), l.end());
      return own(at::face::Value(TL_BOOL_LIST, bytes.data(), bytes.size()));
    } else if constexpr (std::is_integral_v<T>) {
      const std::vector<int64_t> wide(l.begin(), l.end());
      return own(at::face::Value(IntArrayRef(wide)));
    } else if constexpr (std::is_floating_point_v<T>) {
      const std::vector<double> wide(l.begin(), l.end());
      return own(at::face::Value(ArrayRef<double>(wide)));
    } else {
      std::vector<TlValue> values;
      for (const T& item : l) values.push_back(at::face::Value(item));
      return own(at::face::Value(std::is_same_v<T, Scalar> ? TL_SCALAR_LIST : TL_STRING_LIST, values.data(),
                                 values.size()));
    }
  }
  // Lists of lists, tuples, dictionaries and strings are objects of Python (objects.hpp).
  template <class T>
  struct CrossObject;
  template <class T>
  inline constexpr bool is_item = std::is_arithmetic_v<T> || std::is_same_v<T, Scalar> ||
                                  std::is_same_v<T, Tensor> || std::is_same_v<T, std::optional<Tensor>>;
  template <class T>
  std::vector<T> items_of(const TlValue& v) {
    if constexpr (!is_item<T>)
      if (v.tag != TL_STRING_LIST) return CrossObject<std::vector<T>>::from(v);
    if constexpr (is_item<T> || std::is_constructible_v<T, std::string_view>)
      return list_of<T>(v);
    else
      return CrossObject<std::vector<T>>::from(v);
  }
  template <class T>
  TlValue items_value(const std::vector<T>& l) {
    if constexpr (is_item<T>)
      return list_value(l);
    else
      return CrossObject<std::vector<T>>::to(l);
  }
  template <class T>
  struct Cross<std::vector<T>> {
    static std::string name() { return Cross<T>::name() + "[]"; }
    static std::vector<T> from(const TlValue& v) { return items_of<T>(v); }
    static TlValue to(const std::vector<T>& l) { return items_value(l); }
  };
  template <class T>
  struct Cross<List<T>> {
    static std::string name() { return Cross<T>::name() + "[]"; }
    static List<T> from(const TlValue& v) { return List<T>(items_of<T>(v)); }
    static TlValue to(const List<T>& l) { return items_value(l.vec()); }
  };
  // A run refers to a list that lives while the kernel runs.
  template <class T>
  struct Run {
    std::vector<T> list;
    operator ArrayRef<T>() const { return list; }
    operator std::optional<ArrayRef<T>>() const { return ArrayRef<T>(list); }
  };
  template <class T>
  struct Cross<ArrayRef<T>> {
    static std::string name() { return Cross<T>::name() + "[]"; }
    static Run<T> from(const TlValue& v) { return {items_of<T>(v)}; }
    static TlValue to(ArrayRef<T> l) { return items_value(l.vec()); }
  };
  template <class T, size_t N>
  struct Cross<std::array<T, N>> {
    static std::string name() { return Cross<T>::name() + "[" + std::to_string(N) + "]"; }
    static std::array<T, N> from(const TlValue& v) {
      const auto list = list_of<T>(v);
      if (list.size() != N) fail<ValueError>("", "expected a list of ", N, " elements, got ", list.size());
      std::array<T, N> a;
      std::copy(list.begin(), list.end(), a.begin());
      return a;
    }
    static TlValue to(const std::array<T, N>& a) { return list_value(std::vector<T>(a.begin(), a.end())); }
  };
  template <class T>
  struct Cross<std::optional<T>> {
    using Inner = decltype(Cross<T>::from(std::declval<TlValue>()));
    static std::string name() { return Cross<T>::name() + "?"; }
    static std::optional<Inner> from(const TlValue& v) {
      if (v.tag == TL_NONE) return std::nullopt;
      return Cross<T>::from(v);
    }
    static TlValue to(std::optional<T> o) {
      if (!o) return TlValue{};
      return Cross<T>::to(std::move(*o));
    }
  };
  template <class T>
  struct OptionalRun {
    std::optional<std::vector<T>> list;
    operator OptionalArrayRef<T>() const {
      return list ? OptionalArrayRef<T>(ArrayRef<T>(*list)) : OptionalArrayRef<T>();
    }
    operator std::optional<ArrayRef<T>>() const {
      return list ? std::optional<ArrayRef<T>>(ArrayRef<T>(*list)) : std::nullopt;
    }
  };
  template <class T>
  struct Cross<OptionalArrayRef<T>> {
    static std::string name() { return Cross<T>::name() + "[]?"; }
    static OptionalRun<T> from(const TlValue& v) {
      if (v.tag == TL_NONE) return {};
      return {list_of<T>(v)};
    }
    static TlValue to(OptionalArrayRef<T> o) { return o ? list_value(o->vec()) : TlValue{}; }
  };
  template <class T>
  struct Cross<std::optional<ArrayRef<T>>> : Cross<OptionalArrayRef<T>> {};

  // ---- results ----------------------------------------------------------------------------------------------------
  inline void release_value(TlValue& v) { api().value_release(&v); }
  template <class R>
  struct Result {
    static constexpr int count = 1;
    static std::string name() { return Cross<R>::name(); }
    static void put(TlValue* rets, R r) { rets[0] = Cross<R>::to(std::move(r)); }
    static R take(TlValue* rets) {
      R r = Cross<R>::from(rets[0]);
      release_value(rets[0]);
      return r;
    }
  };
  template <>
  struct Result<void> {
    static constexpr int count = 0;
    static std::string name() { return "()"; }
    static void take(TlValue*) {}
  };
  template <class... R>
  struct Result<std::tuple<R...>> {
    static constexpr int count = sizeof...(R);
    static std::string name() {
      std::string s;
      ((s += (s.empty() ? "" : ", ") + Cross<std::decay_t<R>>::name()), ...);
      return "(" + s + ")";
    }
    static void put(TlValue* rets, std::tuple<R...> r) {
      int i = 0;
      std::apply(
          [&](auto&&... x) { ((rets[i++] = Cross<std::decay_t<R>>::to(std::forward<decltype(x)>(x))), ...); },
          std::move(r));
    }
    static std::tuple<R...> take(TlValue* rets) { return take_all(rets, std::index_sequence_for<R...>{}); }

   private:
    template <size_t... I>
    static std::tuple<R...> take_all(TlValue* rets, std::index_sequence<I...>) {
      return std::tuple<R...>(Result<std::decay_t<R>>::take(rets + I)...);
    }
  };

  // ---- functions --------------------------------------------------------------------------------------------------
  // A value as the parameter P of a function takes it.
  template <class P, class V>
  decltype(auto) pass(V& v) {
    if constexpr (std::is_lvalue_reference_v<P> && std::is_same_v<std::decay_t<P>, V>)
      return static_cast<P>(v);
    else
      return static_cast<std::decay_t<P>>(std::move(v));
  }
  template <class F>
  struct SignatureOf;
  template <class R, class... A>
  struct SignatureOf<R(A...)> {
    using Plain = R(A...);
    using Return = std::decay_t<R>;
    using Indices = std::index_sequence_for<A...>;
    template <size_t I>
    using Argument = std::decay_t<std::tuple_element_t<I, std::tuple<std::decay_t<A>...>>>;
    // A parameter that is a reference to a tensor that may change is written.
    template <class P>
    static constexpr bool written = std::is_same_v<P, Tensor&>;
    static std::string schema() {
      std::string s = "(";
      int i = 0;
      ((s += (i ? ", " : "") + type<A>(i) + " _" + std::to_string(i), ++i), ...);
      std::string result = Result<Return>::name();
      if (std::is_same_v<R, Tensor&>) result = "Tensor(a0!)";
      return s + ") -> " + result;
    }
    template <class F, size_t... I>
    static R call(F&& f, const TlValue* a, std::index_sequence<I...>) {
      return apply(f, Cross<std::decay_t<A>>::from(a[I])...);
    }

   private:
    template <class P>
    static std::string type(int i) {
      return written<P> ? "Tensor(a" + std::to_string(i) + "!)" : Cross<std::decay_t<P>>::name();
    }
    template <class F, class... V>
    static R apply(F& f, V&&... v) {
      return f(pass<A>(v)...);
    }
  };
  template <class R, class... A>
  struct SignatureOf<R (*)(A...)> : SignatureOf<R(A...)> {};
  template <class R, class... A>
  struct SignatureOf<R (*)(A...) noexcept> : SignatureOf<R(A...)> {};
  template <class C, class R, class... A>
  struct SignatureOf<R (C::*)(A...)> : SignatureOf<R(A...)> {};
  template <class C, class R, class... A>
  struct SignatureOf<R (C::*)(A...) const> : SignatureOf<R(A...)> {};
  template <class F, class = void>
  struct CallableSignature : SignatureOf<F> {};
  template <class F>
  struct CallableSignature<F, std::void_t<decltype(&F::operator())>> : SignatureOf<decltype(&F::operator())> {
  };
  template <class F, class = void>
  inline constexpr bool has_call = false;
  template <class F>
  inline constexpr bool has_call<F, std::void_t<decltype(&F::operator())>> = true;
  template <class F>
  inline constexpr bool is_function =
      (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) || has_call<F>;

  template <class F>
  struct Wrapped {
    using Signature = CallableSignature<F>;
    static void* context(F f) { return new F(std::move(f)); }  // lives as long as the process
    static int call(void* context, const TlValue* args, int, TlValue* rets, int) noexcept {
      return guarded([&] {
        F& f = *static_cast<F*>(context);
        using R = typename Signature::Return;
        if constexpr (std::is_void_v<R>)
          Signature::call(f, args, typename Signature::Indices{});
        else
          Result<R>::put(rets, Signature::call(f, args, typename Signature::Indices{}));
      });
    }
  };

  // ---- calls by name ----------------------------------------------------------------------------------------------
  // An argument: a view of the value, or a copy that it owns where the interface has another form.
  template <class T, class = void>
  struct Passed {
    TlValue value;
    explicit Passed(const T& x) : value(Cross<T>::to(x)) {}
    Passed(const Passed&) = delete;
    ~Passed() { release_value(value); }
  };
  template <class T>
  struct Passed<
      T, std::enable_if_t<std::is_constructible_v<at::face::Value, const T&> && !std::is_arithmetic_v<T>>> {
    at::face::Value value;
    explicit Passed(const T& x) : value(x) {}
  };
  template <class T>
  struct Passed<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
    using Wide = std::conditional_t<std::is_same_v<T, bool>, bool,
                                    std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
    at::face::Value value;
    explicit Passed(T x) : value(Wide(x)) {}
  };
  template <class R, class... A>
  R call_typed(const TlOperator* op, const A&... a) {
    const std::tuple<Passed<A>...> passed(a...);
    return std::apply(
        [&](const auto&... p) -> R {
          const TlValue args[sizeof...(A) + 1] = {p.value..., TlValue{}};
          constexpr int n = Result<std::decay_t<R>>::count;
          TlValue rets[n + 1] = {};
          check(api().op_call(op, args, sizeof...(A), rets, n));
          if constexpr (std::is_lvalue_reference_v<R>) {
            for (int i = 0; i < n; ++i) api().value_release(&rets[i]);
            return const_cast<R>(std::get<0>(std::tie(a...)));
          } else {
            return Result<R>::take(rets);
          }
        },
        passed);
  }

  // ---- values on a stack ------------------------------------------------------------------------------------------
  inline IValue ivalue_of(const TlValue& v) {
    switch (v.tag) {
      case TL_NONE:
        return {};
      case TL_BOOL:
        return v.u.i != 0;
      case TL_INT:
        return v.u.i;
      case TL_FLOAT:
        return v.u.f;
      case TL_COMPLEX:
        return Scalar(v);
      case TL_DTYPE:
        return type_of(v.u.i);
      case TL_DEVICE:
        return device_of(v.u.i);
      case TL_LAYOUT:
        return kLayouts[v.u.i];
      case TL_MEMORY_FORMAT:
        return MemoryFormat(v.u.i);
      case TL_STRING:
        return std::string(static_cast<const char*>(v.u.p), v.len);
      case TL_TENSOR:
        return Tensor::share(v.u.t);
      case TL_GENERATOR:
        return Cross<at::Generator>::from(v);
      case TL_BOOL_LIST:
        return list_of<bool>(v);
      case TL_INT_LIST:
        return list_of<int64_t>(v);
      case TL_FLOAT_LIST:
        return list_of<double>(v);
      case TL_TENSOR_LIST:
        return list_of<Tensor>(v);
      default:
        fail<NotImplementedError>("", "a value of tag ", v.tag, " has no IValue");
    }
  }
  // By the kind of the argument, as types and layouts are numbers in an IValue.
  inline TlValue value_of(const IValue& i, int kind) {
    if (i.isNone()) return TlValue{};
    switch (kind) {
      case TL_ARG_DTYPE:
        return Cross<ScalarType>::to(i.toScalarType());
      case TL_ARG_LAYOUT:
        return Cross<Layout>::to(i.toLayout());
      case TL_ARG_MEMORY_FORMAT:
        return Cross<MemoryFormat>::to(MemoryFormat(i.toInt()));
      case TL_ARG_FLOAT:
        return Cross<double>::to(i.isInt() ? double(i.toInt()) : i.toDouble());
      default:
        break;
    }
    if (i.isTensor()) return Cross<Tensor>::to(i.toTensor());
    if (i.isScalar()) return Cross<Scalar>::to(i.toScalar());
    if (i.isString()) return Cross<std::string_view>::to(i.toStringView());
    if (i.isDevice()) return Cross<Device>::to(i.toDevice());
    if (i.isGenerator()) return Cross<at::Generator>::to(i.toGenerator());
    if (i.isIntVector()) return list_value(i.toIntVector());
    if (i.isDoubleVector()) return list_value(i.toDoubleVector());
    if (i.isBoolList()) return Cross<std::vector<bool>>::to(i.toBoolVector());
    if (i.isTensorVector()) return list_value(i.toTensorVector());
    fail<NotImplementedError>("", "an IValue of this type cannot be an operator's argument");
  }
  inline void call_boxed(const TlOperator* op, Stack& stack) {
    const TlOperatorInfo& info = *api().op_info(op);
    if (stack.size() < size_t(info.n_args)) fail<TypeError>("", info.name, ": the stack has too few values");
    std::vector<TlValue> args, rets(size_t(info.n_rets) + 1);
    const size_t first = stack.size() - size_t(info.n_args);
    int status;
    {
      struct Release {
        std::vector<TlValue>& values;
        ~Release() {
          for (TlValue& v : values) api().value_release(&v);
        }
      } release{args};
      for (int i = 0; i < info.n_args; ++i)
        args.push_back(value_of(stack[first + size_t(i)], tl_argument(&extension(), info.args, i)->kind));
      status = api().op_call(op, args.data(), info.n_args, rets.data(), info.n_rets);
    }
    check(status);
    stack.resize(first);
    for (int i = 0; i < info.n_rets; ++i) {
      stack.push_back(ivalue_of(rets[size_t(i)]));
      api().value_release(&rets[size_t(i)]);
    }
  }
  }  // namespace face
}
}  // namespace c10

#endif  // TL_TORCH_SCHEMA_HPP
