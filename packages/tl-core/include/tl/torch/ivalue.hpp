// Values of any type that operators have.
#ifndef TL_TORCH_IVALUE_HPP
#define TL_TORCH_IVALUE_HPP

#include <tl/torch/containers.hpp>

namespace c10 {
TL_FACE {
  // A number or a tensor lies in the value itself. Copies share everything else, which nothing writes to. The
  // standard's variant is not used: its templates are a tenth of what a compiler reads of these headers.
  struct IValue {
   private:
    enum class Kind : uint8_t {
      None,
      Tensor,
      Int,
      Double,
      Bool,
      ComplexDouble,
      Device,
      String,
      IntVector,
      DoubleVector,
      BoolVector,
      TensorVector,
      Tuple,
      List,
      Dict,
      Object,
      Generator
    };
    struct Payload {
      virtual ~Payload() = default;
    };
    template <class T>
    struct Holder : Payload {
      explicit Holder(T v) : value(std::move(v)) {}
      T value;
    };

   public:
    using Items = std::vector<IValue>;
    using Pairs = std::vector<std::pair<IValue, IValue>>;
    using Object = intrusive_ptr<intrusive_ptr_target>;
    // The items of a tuple.
    class Elements {
     public:
      const Items& elements() const { return static_cast<const Holder<Items>&>(*payload_).value; }
      size_t size() const { return elements().size(); }
      const Elements* operator->() const { return this; }

     private:
      friend IValue;
      explicit Elements(std::shared_ptr<Payload> p) : payload_(std::move(p)) {}
      std::shared_ptr<Payload> payload_;
    };

    IValue() {}
    IValue(std::nullopt_t) {}
    IValue(at::Tensor t) : kind_(Kind::Tensor), tensor_(std::move(t)) {}
    template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
    IValue(T i) : kind_(Kind::Int) {
      number_.i = int64_t(i);
    }
    IValue(double d) : kind_(Kind::Double) { number_.real = d; }
    IValue(float d) : IValue(double(d)) {}
    IValue(bool b) : kind_(Kind::Bool) { number_.i = b; }
    IValue(std::complex<double> c) : kind_(Kind::ComplexDouble), imaginary_(c.imag()) {
      number_.real = c.real();
    }
    IValue(const char* s) : IValue(std::string(s)) {}
    IValue(std::string s) { hold(Kind::String, std::move(s)); }
    IValue(std::string_view s) : IValue(std::string(s)) {}
    IValue(Device d) : kind_(Kind::Device) { number_.device = {d.type(), d.index()}; }
    IValue(ScalarType t) : IValue(int64_t(t)) {}
    IValue(Layout l) : IValue(int64_t(l)) {}
    IValue(MemoryFormat f) : IValue(int64_t(f)) {}
    IValue(const Scalar& s) {
      if (s.isFloatingPoint())
        *this = s.toDouble();
      else if (s.isBoolean())
        *this = s.toBool();
      else if (s.isComplex())
        *this = s.to<std::complex<double>>();
      else
        *this = s.toLong();
    }
    IValue(at::Generator g) { hold(Kind::Generator, std::move(g)); }
    IValue(IntArrayRef l) : IValue(l.vec()) {}
    IValue(ArrayRef<at::Tensor> l) : IValue(l.vec()) {}
    IValue(std::vector<int64_t> l) { hold(Kind::IntVector, std::move(l)); }
    IValue(std::vector<double> l) { hold(Kind::DoubleVector, std::move(l)); }
    IValue(std::vector<bool> l) { hold(Kind::BoolVector, std::move(l)); }
    IValue(std::vector<at::Tensor> l) { hold(Kind::TensorVector, std::move(l)); }
    template <class T>
    IValue(const std::vector<T>& l) {
      hold(Kind::List, Items(l.begin(), l.end()));
    }
    template <class T>
    IValue(const List<T>& l) : IValue(l.vec()) {}
    template <class T>
    IValue(const std::optional<T>& o) {
      if (o) *this = IValue(*o);
    }
    template <class... T>
    IValue(const std::tuple<T...>& t) {
      Items items;
      std::apply([&](const auto&... x) { (items.emplace_back(x), ...); }, t);
      *this = tuple(std::move(items));
    }
    template <class K, class V>
    IValue(const c10::Dict<K, V>& d) {
      Pairs pairs;
      for (const auto& e : d) pairs.emplace_back(IValue(e.key()), IValue(e.value()));
      *this = dict(std::move(pairs));
    }
    template <class T, class = std::enable_if_t<std::is_base_of_v<intrusive_ptr_target, T>>>
    IValue(intrusive_ptr<T> p) {
      hold(Kind::Object, Object(std::shared_ptr<intrusive_ptr_target>(std::move(p))));
    }
    static IValue tuple(Items items) {
      IValue v;
      v.hold(Kind::Tuple, std::move(items));
      return v;
    }
    static IValue dict(Pairs pairs) {
      IValue v;
      v.hold(Kind::Dict, std::move(pairs));
      return v;
    }

    bool isNone() const { return kind_ == Kind::None; }
#define TL_FACE_KIND(NAME) \
  bool is##NAME() const { return kind_ == Kind::NAME; }
    TL_FACE_KIND(Tensor)
    TL_FACE_KIND(Int)
    TL_FACE_KIND(Double)
    TL_FACE_KIND(Bool)
    TL_FACE_KIND(ComplexDouble)
    TL_FACE_KIND(Device)
    TL_FACE_KIND(String)
    TL_FACE_KIND(IntVector)
    TL_FACE_KIND(DoubleVector)
    TL_FACE_KIND(TensorVector)
    TL_FACE_KIND(Tuple)
    TL_FACE_KIND(Object)
    TL_FACE_KIND(Generator)
#undef TL_FACE_KIND
    bool isStringRef() const { return isString(); }
    bool isBoolList() const { return kind_ == Kind::BoolVector; }
    bool isIntList() const { return isIntVector(); }
    bool isDoubleList() const { return isDoubleVector(); }
    bool isTensorList() const { return isTensorVector(); }
    bool isGenericDict() const { return kind_ == Kind::Dict; }
    bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
    bool isList() const {
      return isIntVector() || isDoubleVector() || isBoolList() || isTensorVector() || kind_ == Kind::List;
    }

    at::Tensor toTensor() const {
      return isNone() ? at::Tensor() : (expect(Kind::Tensor, "Tensor"), tensor_);
    }
    int64_t toInt() const { return expect(Kind::Int, "Int"), number_.i; }
    double toDouble() const { return expect(Kind::Double, "Double"), number_.real; }
    bool toBool() const { return expect(Kind::Bool, "Bool"), number_.i != 0; }
    std::complex<double> toComplexDouble() const {
      return expect(Kind::ComplexDouble, "ComplexDouble"), std::complex<double>(number_.real, imaginary_);
    }
    Device toDevice() const {
      return expect(Kind::Device, "Device"), Device(number_.device.type, number_.device.index);
    }
    const std::string& toStringRef() const { return payload<std::string>(Kind::String, "String"); }
    const std::string& toString() const { return toStringRef(); }
    std::string_view toStringView() const { return toStringRef(); }
    const at::Generator& toGenerator() const { return payload<at::Generator>(Kind::Generator, "Generator"); }
    Scalar toScalar() const {
      return isDouble()          ? Scalar(toDouble())
             : isBool()          ? Scalar(toBool())
             : isComplexDouble() ? Scalar(toComplexDouble())
                                 : Scalar(toInt());
    }
    ScalarType toScalarType() const { return ScalarType(toInt()); }
    Layout toLayout() const { return Layout(toInt()); }
    MemoryFormat toMemoryFormat() const { return MemoryFormat(toInt()); }
    const std::vector<int64_t>& toIntVector() const {
      return payload<std::vector<int64_t>>(Kind::IntVector, "IntList");
    }
    const std::vector<double>& toDoubleVector() const {
      return payload<std::vector<double>>(Kind::DoubleVector, "DoubleList");
    }
    const std::vector<bool>& toBoolVector() const {
      return payload<std::vector<bool>>(Kind::BoolVector, "BoolList");
    }
    const std::vector<at::Tensor>& toTensorVector() const {
      return payload<std::vector<at::Tensor>>(Kind::TensorVector, "TensorList");
    }
    List<int64_t> toIntList() const { return List<int64_t>(toIntVector()); }
    List<double> toDoubleList() const { return List<double>(toDoubleVector()); }
    List<at::Tensor> toTensorList() const { return List<at::Tensor>(toTensorVector()); }
    Elements toTuple() const { return expect(Kind::Tuple, "Tuple"), Elements(payload_); }
    Elements toTupleRef() const { return toTuple(); }
    Items toListRef() const {
      switch (kind_) {
        case Kind::IntVector:
          return {toIntVector().begin(), toIntVector().end()};
        case Kind::DoubleVector:
          return {toDoubleVector().begin(), toDoubleVector().end()};
        case Kind::BoolVector:
          return {toBoolVector().begin(), toBoolVector().end()};
        case Kind::TensorVector:
          return {toTensorVector().begin(), toTensorVector().end()};
        default:
          return payload<Items>(Kind::List, "List");
      }
    }
    const Pairs& toPairs() const { return payload<Pairs>(Kind::Dict, "Dict"); }
    const Object& toObject() const { return payload<Object>(Kind::Object, "Object"); }
    template <class T>
    intrusive_ptr<T> toCustomClass() const {
      auto p = std::dynamic_pointer_cast<T>(std::shared_ptr<intrusive_ptr_target>(toObject()));
      if (!p) face::fail<TypeError>("", "the object is of another class");
      return intrusive_ptr<T>(std::move(p));
    }
    template <class T>
    T to() const;

   private:
    template <class T>
    void hold(Kind kind, T value) {
      kind_ = kind;
      payload_.reset(static_cast<Payload*>(new Holder<T>(std::move(value))));
    }
    template <class T>
    const T& payload(Kind kind, const char* name) const {
      expect(kind, name);
      return static_cast<const Holder<T>&>(*payload_).value;
    }
    void expect(Kind kind, const char* name) const {
      if (kind_ != kind) refuse(name);
    }
    [[noreturn, gnu::cold, gnu::noinline]] static void refuse(const char* name) {
      face::fail<Error>("", "Expected ", name, " but got another type of IValue");
    }

    Kind kind_ = Kind::None;
    union {
      int64_t i = 0;
      double real;
      struct {
        DeviceType type;
        DeviceIndex index;
      } device;
    } number_;
    double imaginary_ = 0;
    at::Tensor tensor_;
    std::shared_ptr<Payload> payload_;
  };
  // Values of generic types.
  template <class T>
  struct IValueOf {
    static_assert(sizeof(T) == 0, "IValue::to: tl has no conversion to this type");
  };
  template <class T>
  struct IValueOf<std::optional<T>> {
    static std::optional<T> of(const IValue& v) {
      if (v.isNone()) return std::nullopt;
      return v.to<T>();
    }
  };
  template <class T>
  struct IValueOf<std::vector<T>> {
    static std::vector<T> of(const IValue& v) {
      std::vector<T> items;
      for (const IValue& item : v.toListRef()) items.push_back(item.to<T>());
      return items;
    }
  };
  template <class T>
  struct IValueOf<List<T>> {
    static List<T> of(const IValue& v) { return List<T>(IValueOf<std::vector<T>>::of(v)); }
  };
  template <class T>
  struct IValueOf<intrusive_ptr<T>> {
    static intrusive_ptr<T> of(const IValue& v) { return v.toCustomClass<T>(); }
  };
  template <class T>
  T IValue::to() const {
    if constexpr (std::is_same_v<T, at::Tensor>)
      return toTensor();
    else if constexpr (std::is_same_v<T, bool>)
      return toBool();
    else if constexpr (std::is_integral_v<T>)
      return T(toInt());
    else if constexpr (std::is_floating_point_v<T>)
      return T(toDouble());
    else if constexpr (std::is_same_v<T, std::string>)
      return toStringRef();
    else if constexpr (std::is_same_v<T, Scalar>)
      return toScalar();
    else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
      return toIntVector();
    else if constexpr (std::is_same_v<T, std::vector<double>>)
      return toDoubleVector();
    else if constexpr (std::is_same_v<T, std::vector<at::Tensor>>)
      return toTensorVector();
    else if constexpr (std::is_same_v<T, Device>)
      return toDevice();
    else if constexpr (std::is_same_v<T, std::complex<double>>)
      return toComplexDouble();
    else if constexpr (std::is_same_v<T, IValue>)
      return *this;
    else
      return IValueOf<T>::of(*this);
  }
  using Stack = std::vector<IValue>;
}
}  // namespace c10
namespace torch {
TL_FACE {
  using c10::IValue;
  using CustomClassHolder = c10::intrusive_ptr_target;
  namespace jit {
  using c10::IValue;
  using c10::Stack;
  using CustomClassHolder = c10::intrusive_ptr_target;
  inline IValue pop(Stack& s) {
    IValue v = std::move(s.back());
    s.pop_back();
    return v;
  }
  template <class... A>
  void push(Stack& s, A&&... a) {
    (s.emplace_back(std::forward<A>(a)), ...);
  }
  inline IValue& peek(Stack& s, size_t i, size_t n) { return s[s.size() - n + i]; }
  inline void drop(Stack& s, size_t n) { s.erase(s.end() - int64_t(n), s.end()); }
  }  // namespace jit
}
}  // namespace torch

#endif  // TL_TORCH_IVALUE_HPP
