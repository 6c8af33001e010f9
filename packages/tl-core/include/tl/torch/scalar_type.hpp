// Element types, devices, layouts, and the options of a new tensor.
#ifndef TL_TORCH_SCALAR_TYPE_HPP
#define TL_TORCH_SCALAR_TYPE_HPP

#include <tl/torch/half.hpp>

// Types in PyTorch's order, whose places are the numbers of `ScalarType`: type in C++, name, code, bits.
#define TL_FACE_TYPES(_)                                               \
  _(uint8_t, Byte, TL_CODE_UINT, 8)                                    \
  _(int8_t, Char, TL_CODE_INT, 8)                                      \
  _(int16_t, Short, TL_CODE_INT, 16)                                   \
  _(int, Int, TL_CODE_INT, 32)                                         \
  _(int64_t, Long, TL_CODE_INT, 64)                                    \
  _(c10::Half, Half, TL_CODE_FLOAT, 16)                                \
  _(float, Float, TL_CODE_FLOAT, 32)                                   \
  _(double, Double, TL_CODE_FLOAT, 64)                                 \
  _(c10::complex<c10::Half>, ComplexHalf, TL_CODE_COMPLEX, 32)         \
  _(c10::complex<float>, ComplexFloat, TL_CODE_COMPLEX, 64)            \
  _(c10::complex<double>, ComplexDouble, TL_CODE_COMPLEX, 128)         \
  _(bool, Bool, TL_CODE_BOOL, 8)                                       \
  _(c10::qint8, QInt8, TL_CODE_QINT, 8)                                \
  _(c10::quint8, QUInt8, TL_CODE_QUINT, 8)                             \
  _(c10::qint32, QInt32, TL_CODE_QINT, 32)                             \
  _(c10::BFloat16, BFloat16, TL_CODE_BFLOAT, 16)                       \
  _(void, QUInt4x2, TL_CODE_QUINT4X2, 8)                               \
  _(void, QUInt2x4, TL_CODE_QUINT2X4, 8)                               \
  _(void, Bits1x8, TL_CODE_BITS1X8, 8)                                 \
  _(void, Bits2x4, TL_CODE_BITS2X4, 8)                                 \
  _(void, Bits4x2, TL_CODE_BITS4X2, 8)                                 \
  _(void, Bits8, TL_CODE_BITS, 8)                                      \
  _(void, Bits16, TL_CODE_BITS, 16)                                    \
  _(c10::Float8_e5m2, Float8_e5m2, TL_CODE_FLOAT8_E5M2, 8)             \
  _(c10::Float8_e4m3fn, Float8_e4m3fn, TL_CODE_FLOAT8_E4M3FN, 8)       \
  _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz, TL_CODE_FLOAT8_E5M2FNUZ, 8) \
  _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz, TL_CODE_FLOAT8_E4M3FNUZ, 8) \
  _(uint16_t, UInt16, TL_CODE_UINT, 16)                                \
  _(uint32_t, UInt32, TL_CODE_UINT, 32)                                \
  _(uint64_t, UInt64, TL_CODE_UINT, 64)

// clang-format off
#define TL_FACE_CPP_TYPES(_) \
  _(uint8_t, Byte) \
  _(int8_t, Char) \
  _(int16_t, Short) \
  _(int, Int) \
  _(int64_t, Long) \
  _(c10::Half, Half) \
  _(float, Float) \
  _(double, Double) \
  _(c10::complex<c10::Half>, ComplexHalf) \
  _(c10::complex<float>, ComplexFloat) \
  _(c10::complex<double>, ComplexDouble) \
  _(bool, Bool) \
  _(c10::BFloat16, BFloat16) \
  _(c10::Float8_e5m2, Float8_e5m2) \
  _(c10::Float8_e4m3fn, Float8_e4m3fn) \
  _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz) \
  _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz) \
  _(uint16_t, UInt16) \
  _(uint32_t, UInt32) \
  _(uint64_t, UInt64)
#define AT_FORALL_SCALAR_TYPES(_) \
  _(uint8_t, Byte) \
  _(int8_t, Char) \
  _(int16_t, Short) \
  _(int, Int) \
  _(int64_t, Long) \
  _(float, Float) \
  _(double, Double)
// clang-format on
#define AT_FORALL_SCALAR_TYPES_AND(TYPE, _) \
  AT_FORALL_SCALAR_TYPES(_)                 \
  _(decltype(::c10::impl::ScalarTypeToCPPType<::c10::ScalarType::TYPE>::t), TYPE)
// clang-format off
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_) \
  AT_FORALL_SCALAR_TYPES(_) \
  _(c10::Half, Half) \
  _(c10::complex<c10::Half>, ComplexHalf) \
  _(c10::complex<float>, ComplexFloat) \
  _(c10::complex<double>, ComplexDouble) \
  _(bool, Bool) \
  _(c10::BFloat16, BFloat16)
// clang-format on

namespace c10 {
TL_FACE {
  enum class ScalarType : int8_t {
#define TL_FACE_NAME(T, NAME, CODE, BITS) NAME,
    TL_FACE_TYPES(TL_FACE_NAME)
#undef TL_FACE_NAME
        Float8_e8m0fnu = 44,
    Undefined = 46,
    NumOptions = 47
  };
#define TL_FACE_NAME(T, NAME, CODE, BITS) inline constexpr ScalarType k##NAME = ScalarType::NAME;
  TL_FACE_TYPES(TL_FACE_NAME)
#undef TL_FACE_NAME
  inline constexpr ScalarType kFloat8_e8m0fnu = ScalarType::Float8_e8m0fnu;
  inline constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong;
  inline constexpr ScalarType kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
  inline constexpr ScalarType kComplex64 = kComplexFloat, kComplex128 = kComplexDouble;
  inline constexpr uint16_t NumScalarTypes = 46;

  template <class T>
  struct CppTypeToScalarType;
  namespace impl {
  template <ScalarType>
  struct ScalarTypeToCPPType;
  template <ScalarType N>
  using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
  }  // namespace impl
#define TL_FACE_PAIR(T, NAME)                                                              \
  template <>                                                                              \
  struct CppTypeToScalarType<T> : std::integral_constant<ScalarType, ScalarType::NAME> {}; \
  namespace impl {                                                                         \
  template <>                                                                              \
  struct ScalarTypeToCPPType<ScalarType::NAME> {                                           \
    using type = T;                                                                        \
    static type t;                                                                         \
  };                                                                                       \
  }
  TL_FACE_CPP_TYPES(TL_FACE_PAIR)
#undef TL_FACE_PAIR
  template <>
  struct CppTypeToScalarType<long long> : std::integral_constant<ScalarType, ScalarType::Long> {};
  template <>
  struct CppTypeToScalarType<unsigned long long> : std::integral_constant<ScalarType, ScalarType::UInt64> {};

  namespace face {
  struct TypeFacts {
    const char* name;
    int32_t dtype, bits;
  };
  inline const TypeFacts& facts(ScalarType t) {
    static constexpr TypeFacts all[] = {
#define TL_FACE_NAME(T, NAME, CODE, BITS) {#NAME, int32_t(TL_DTYPE_OF(CODE, BITS)), BITS},
        TL_FACE_TYPES(TL_FACE_NAME)
#undef TL_FACE_NAME
            {"Float8_e8m0fnu", int32_t(TL_DTYPE_OF(TL_CODE_FLOAT8_E8M0FNU, 8)), 8},
        {"Undefined", 0, 0}};
    constexpr int n = int(sizeof all / sizeof *all);
    const int i = int(t);
    return all[i >= 0 && i < n - 2 ? i : t == ScalarType::Float8_e8m0fnu ? n - 2 : n - 1];
  }
  // The code of the C interface.
  inline int64_t code_of(ScalarType t) {
    const TypeFacts& f = facts(t);
    if (f.bits == 0) fail<TypeError>("", "an undefined scalar type has no elements");
    return f.dtype;
  }
  [[gnu::noinline]] inline ScalarType type_of(int64_t dtype) {
    for (int i = 0; i < int(ScalarType::NumOptions); ++i)
      if (facts(ScalarType(i)).dtype == dtype && facts(ScalarType(i)).bits) return ScalarType(i);
    return ScalarType::Undefined;
  }
  }  // namespace face

  inline const char* toString(ScalarType t) { return face::facts(t).name; }
  inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
  namespace face {
  // The type of C++ as sources write it, for messages about numbers.
  inline const char* source_name(ScalarType t) {
    switch (t) {
#define TL_FACE_NAME(T, NAME) \
  case ScalarType::NAME:      \
    return #T;
      TL_FACE_CPP_TYPES(TL_FACE_NAME)
#undef TL_FACE_NAME
      default:
        return toString(t);
    }
  }
  // The type of C++ as compilers write it.
  inline const char* compiler_name(ScalarType t) {
    switch (t) {
      case ScalarType::Byte:
        return "unsigned char";
      case ScalarType::Char:
        return "signed char";
      case ScalarType::Short:
        return "short int";
      case ScalarType::Long:
        return "long int";
      case ScalarType::UInt16:
        return "short unsigned int";
      case ScalarType::UInt32:
        return "unsigned int";
      case ScalarType::UInt64:
        return "long unsigned int";
      default:
        return source_name(t);
    }
  }
  }  // namespace face
  inline size_t elementSize(ScalarType t) { return size_t(face::facts(t).bits) / 8; }
  inline bool isFloat8Type(ScalarType t) {
    return (t >= kFloat8_e5m2 && t <= kFloat8_e4m3fnuz) || t == kFloat8_e8m0fnu;
  }
  inline bool isReducedFloatingType(ScalarType t) { return t == kHalf || t == kBFloat16 || isFloat8Type(t); }
  inline bool isFloatingType(ScalarType t) { return t == kDouble || t == kFloat || isReducedFloatingType(t); }
  inline bool isComplexType(ScalarType t) { return t >= kComplexHalf && t <= kComplexDouble; }
  inline bool isIntegralType(ScalarType t, bool include_bool) {
    return (t >= kByte && t <= kLong) || (t >= kUInt16 && t <= kUInt64) || (include_bool && t == kBool);
  }
  inline bool isQIntType(ScalarType t) { return t >= kQInt8 && t <= kQInt32; }
  inline bool isSignedType(ScalarType t) {
    return t != kByte && t != kBool && !(t >= kUInt16 && t <= kUInt64);
  }
  inline ScalarType toComplexType(ScalarType t) {
    return t == kDouble ? kComplexDouble : t == kHalf ? kComplexHalf : isComplexType(t) ? t : kComplexFloat;
  }
  inline ScalarType toRealValueType(ScalarType t) {
    return t == kComplexDouble ? kDouble : t == kComplexFloat ? kFloat : t == kComplexHalf ? kHalf : t;
  }

  enum class DeviceType : int8_t {
    CPU = 0,
    CUDA,
    MKLDNN,
    OPENGL,
    OPENCL,
    IDEEP,
    HIP,
    FPGA,
    MAIA,
    XLA,
    Vulkan,
    Metal,
    XPU,
    MPS,
    Meta,
    HPU,
    VE,
    Lazy,
    IPU,
    MTIA,
    PrivateUse1,
    COMPILE_TIME_MAX_DEVICE_TYPES
  };
  inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kHIP = DeviceType::HIP;
  inline constexpr DeviceType kMeta = DeviceType::Meta, kXPU = DeviceType::XPU, kMPS = DeviceType::MPS;
  inline constexpr DeviceType kPrivateUse1 = DeviceType::PrivateUse1;
  inline constexpr DeviceType COMPILE_TIME_MAX_DEVICE_TYPES = DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES;
  using DeviceIndex = int8_t;

  inline std::string DeviceTypeName(DeviceType t, bool lower = false) {
    switch (t) {
      case DeviceType::CPU:
        return lower ? "cpu" : "CPU";
      case DeviceType::CUDA:
        return lower ? "cuda" : "CUDA";
      case DeviceType::Meta:
        return lower ? "meta" : "META";
      case DeviceType::XPU:
        return lower ? "xpu" : "XPU";
      case DeviceType::MPS:
        return lower ? "mps" : "MPS";
      case DeviceType::PrivateUse1:
        return lower ? "privateuseone" : "PRIVATEUSEONE";
      default:
        return lower ? "device" : "DEVICE";
    }
  }
  inline std::ostream& operator<<(std::ostream& out, DeviceType t) { return out << DeviceTypeName(t, true); }

  struct Device {
    Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
    Device(const std::string& text) : type_(kCPU), index_(-1) {
      const auto colon = text.find(':');
      const std::string name = text.substr(0, colon);
      const DeviceType all[] = {kCPU, kCUDA, kMeta, kXPU, kMPS, kPrivateUse1};
      bool known = false;
      for (DeviceType t : all)
        if (DeviceTypeName(t, true) == name) type_ = t, known = true;
      const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
      const bool digits =
          !number.empty() && number.size() < 4 && number.find_first_not_of("0123456789") == std::string::npos;
      if (!known || (colon != std::string::npos && !digits))
        face::fail<Error>("", "Invalid device string: '", text, "'");
      if (digits) index_ = DeviceIndex(std::stoi(number));
    }
    Device(const char* text) : Device(std::string(text)) {}
    DeviceType type() const { return type_; }
    DeviceIndex index() const { return index_; }
    void set_index(DeviceIndex index) { index_ = index; }
    bool has_index() const { return index_ != -1; }
    bool is_cpu() const { return type_ == kCPU; }
    bool is_cuda() const { return type_ == kCUDA; }
    bool is_meta() const { return type_ == kMeta; }
    bool is_xpu() const { return type_ == kXPU; }
    bool is_mps() const { return type_ == kMPS; }
    bool is_hip() const { return false; }
    bool is_privateuseone() const { return type_ == kPrivateUse1; }
    std::string str() const {
      return DeviceTypeName(type_, true) + (has_index() ? ":" + std::to_string(index_) : "");
    }
    bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
    bool operator!=(const Device& o) const { return !(*this == o); }

   private:
    DeviceType type_;
    DeviceIndex index_;
  };
  inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }

  namespace face {
  inline int64_t code_of(const Device& d) {
    int type = TL_DEVICE_EXTENSION;
    if (d.is_cpu())
      type = TL_DEVICE_CPU;
    else if (d.is_cuda())
      type = TL_DEVICE_CUDA;
    else if (d.is_meta())
      type = TL_DEVICE_META;
    else if (!d.is_privateuseone())
      fail<Error>("", "tl has no device ", d);
    return TL_DEVICE_OF(type, d.index());
  }
  inline Device device_of(int64_t code) {
    const int type = TL_DEVICE_TYPE(code);
    const auto index = DeviceIndex(TL_DEVICE_INDEX(code));
    if (type == TL_DEVICE_CPU) return Device(kCPU);
    return Device(type == TL_DEVICE_CUDA ? kCUDA : type == TL_DEVICE_META ? kMeta : kPrivateUse1, index);
  }
  }  // namespace face

  enum class Layout : int8_t {
    Strided = 0,
    Sparse,
    SparseCsr,
    Mkldnn,
    SparseCsc,
    SparseBsr,
    SparseBsc,
    Jagged
  };
  inline constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse,
                          kSparseCsr = Layout::SparseCsr;
  inline constexpr Layout kSparseCsc = Layout::SparseCsc, kSparseBsr = Layout::SparseBsr;
  inline constexpr Layout kSparseBsc = Layout::SparseBsc, kMkldnn = Layout::Mkldnn, kJagged = Layout::Jagged;
  inline std::ostream& operator<<(std::ostream& out, Layout l) {
    static const char* const names[] = {"Strided",   "Sparse",    "SparseCsr", "Mkldnn",
                                        "SparseCsc", "SparseBsr", "SparseBsc", "Jagged"};
    return out << names[int(l)];
  }
  enum class MemoryFormat : int8_t { Contiguous = 0, Preserve, ChannelsLast, ChannelsLast3d };
  inline std::ostream& operator<<(std::ostream& out, MemoryFormat f) {
    static const char* const names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
    return out << names[int(f)];
  }
  enum class Backend { CPU, CUDA, Meta, SparseCPU, SparseCUDA, Undefined };
  inline const char* toString(Backend b) {
    static const char* const names[] = {"CPU", "CUDA", "Meta", "SparseCPU", "SparseCUDA", "Undefined"};
    return names[int(b)];
  }
  inline std::ostream& operator<<(std::ostream& out, Backend b) { return out << toString(b); }
  namespace face {
  inline constexpr Layout kLayouts[] = {kStrided, kSparse, kSparseCsr, kSparseCsc, kSparseBsr, kSparseBsc};
  inline int64_t code_of(Layout l) {
    for (int i = 0; i < 6; ++i)
      if (kLayouts[i] == l) return i;
    fail<NotImplementedError>("", "tl has no tensors of the layout ", l);
  }
  }  // namespace face

  // A type of elements; PyTorch's C++ has it beside ScalarType.
  class TypeMeta {
   public:
    TypeMeta() = default;
    TypeMeta(ScalarType t) : type_(t) {}
    template <class T>
    static TypeMeta Make() {
      return TypeMeta(CppTypeToScalarType<T>::value);
    }
    operator ScalarType() const { return type_; }
    ScalarType toScalarType() const { return type_; }
    const char* name() const { return face::compiler_name(type_); }
    size_t itemsize() const { return elementSize(type_); }
    template <class T>
    bool Match() const {
      return type_ == CppTypeToScalarType<T>::value;
    }
    friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
    friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
    friend bool operator==(TypeMeta a, ScalarType b) { return a.type_ == b; }
    friend bool operator!=(TypeMeta a, ScalarType b) { return a.type_ != b; }
    friend bool operator==(ScalarType a, TypeMeta b) { return a == b.type_; }
    friend bool operator!=(ScalarType a, TypeMeta b) { return a != b.type_; }
    friend std::ostream& operator<<(std::ostream& out, TypeMeta t) { return out << t.name(); }

   private:
    ScalarType type_ = ScalarType::Undefined;
  };
  inline ScalarType typeMetaToScalarType(TypeMeta t) { return t.toScalarType(); }
  inline TypeMeta scalarTypeToTypeMeta(ScalarType t) { return t; }

  // What a new tensor is to be. A field that is not set takes the default.
  struct TensorOptions {
    TensorOptions() = default;
    TensorOptions(ScalarType t) : dtype_(t) {}
    TensorOptions(TypeMeta t) : dtype_(t.toScalarType()) {}
    TensorOptions(Layout l) : layout_(l) {}
    TensorOptions(Device d) : device_(d) {}
    TensorOptions(DeviceType d) : device_(Device(d)) {}
    TensorOptions(const char* device) : device_(Device(device)) {}
    TensorOptions(MemoryFormat f) : format_(f) {}

#define TL_FACE_OPTION(NAME, TYPE, FIELD)               \
  TensorOptions NAME(std::optional<TYPE> value) const { \
    TensorOptions o = *this;                            \
    o.FIELD = value;                                    \
    return o;                                           \
  }                                                     \
  bool has_##NAME() const { return FIELD.has_value(); } \
  std::optional<TYPE> NAME##_opt() const { return FIELD; }
    TL_FACE_OPTION(dtype, ScalarType, dtype_)
    TL_FACE_OPTION(layout, Layout, layout_)
    TL_FACE_OPTION(device, Device, device_)
    TL_FACE_OPTION(pinned_memory, bool, pinned_)
    TL_FACE_OPTION(requires_grad, bool, grad_)
    TL_FACE_OPTION(memory_format, MemoryFormat, format_)
#undef TL_FACE_OPTION
    TensorOptions dtype(TypeMeta t) const { return dtype(std::optional<ScalarType>(t.toScalarType())); }
    TensorOptions dtype(ScalarType t) const { return dtype(std::optional<ScalarType>(t)); }
    template <class T>
    TensorOptions dtype() const {
      return dtype(CppTypeToScalarType<T>::value);
    }
    TensorOptions device(DeviceType t, DeviceIndex index = -1) const {
      return device(std::optional<Device>(Device(t, index)));
    }
    TensorOptions device_index(DeviceIndex index) const { return device(kCUDA, index); }
    TypeMeta dtype() const { return dtype_ ? *dtype_ : default_type(); }
    Device device() const { return device_.value_or(Device(kCPU)); }
    DeviceIndex device_index() const { return device().index(); }
    Layout layout() const { return layout_.value_or(kStrided); }
    bool requires_grad() const { return grad_.value_or(false); }
    bool pinned_memory() const { return pinned_.value_or(false); }
    bool is_sparse() const { return layout() == kSparse; }
    Backend backend() const {
      return device().is_cuda() ? Backend::CUDA : device().is_meta() ? Backend::Meta : Backend::CPU;
    }
    // The options, with those of the other that are set in their place.
    TensorOptions merge_in(TensorOptions o) const {
      if (!o.dtype_) o.dtype_ = dtype_;
      if (!o.layout_) o.layout_ = layout_;
      if (!o.device_) o.device_ = device_;
      if (!o.pinned_) o.pinned_ = pinned_;
      if (!o.grad_) o.grad_ = grad_;
      if (!o.format_) o.format_ = format_;
      return o;
    }

    std::optional<ScalarType> dtype_;
    std::optional<Layout> layout_;
    std::optional<Device> device_;
    std::optional<bool> pinned_, grad_;
    std::optional<MemoryFormat> format_;

   private:
    static ScalarType default_type();
  };
  inline std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
    const auto mark = [](bool is_set) { return is_set ? "" : " (default)"; };
    const auto word = [](bool on) { return on ? "true" : "false"; };
    out << "TensorOptions(dtype=" << o.dtype() << mark(o.has_dtype()) << ", device=" << o.device()
        << mark(o.has_device()) << ", layout=" << o.layout() << mark(o.has_layout())
        << ", requires_grad=" << word(o.requires_grad()) << mark(o.has_requires_grad())
        << ", pinned_memory=" << word(o.pinned_memory()) << mark(o.has_pinned_memory()) << ", memory_format=";
    return (o.format_ ? out << *o.format_ : out << "(nullopt)") << ")";
  }
  inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
  inline TensorOptions dtype(TypeMeta t) { return TensorOptions(t); }
  template <class T>
  TensorOptions dtype() {
    return TensorOptions(CppTypeToScalarType<T>::value);
  }
  inline TensorOptions device(Device d) { return TensorOptions(d); }
  inline TensorOptions device_index(DeviceIndex i) { return TensorOptions(Device(kCUDA, i)); }
  inline TensorOptions layout(Layout l) { return TensorOptions(l); }
  inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }
  inline TensorOptions memory_format(MemoryFormat f) { return TensorOptions(f); }
  inline ScalarType dtype_or_default(std::optional<ScalarType> t) {
    return t ? *t : TensorOptions().dtype().toScalarType();
  }
  inline Device device_or_default(std::optional<Device> d) { return d.value_or(Device(kCPU)); }

  // PyTorch's element types in accumulators, on the CPU.
  inline ScalarType promoteTypes(ScalarType a, ScalarType b);
}
}  // namespace c10

namespace caffe2 {
using c10::TypeMeta;
}  // namespace caffe2

namespace std {
template <>
struct hash<c10::Device> {
  size_t operator()(c10::Device d) const { return (size_t(d.type()) << 8) | size_t(uint8_t(d.index())); }
};
}  // namespace std

#endif  // TL_TORCH_SCALAR_TYPE_HPP
