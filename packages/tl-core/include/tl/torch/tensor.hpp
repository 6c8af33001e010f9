// Tensors, random generators, and the calls of operators.
#ifndef TL_TORCH_TENSOR_HPP
#define TL_TORCH_TENSOR_HPP

#include <functional>
#include <map>
#include <mutex>
#include <tl/torch/accessor.hpp>
#include <tl/torch/array_ref.hpp>
#include <tl/torch/scalar.hpp>
#include <tuple>

namespace torch {
TL_FACE {
  namespace autograd {
  struct Node;
  }
}
}  // namespace torch
namespace at {
TL_FACE {
  class Tensor;
  struct OptionalTensorList;
  struct Storage;
  using TensorList = ArrayRef<Tensor>;
  using ITensorListRef = TensorList;
  using TensorBase = Tensor;
  using Stream = int64_t;
  namespace indexing {
  class TensorIndex;
  }

  // A share in a generator of random numbers.
  class Generator {
   public:
    Generator() = default;
    explicit Generator(TlGenerator* owned) : handle_(owned) {}
    Generator(const Generator& o) : handle_(o.handle_) {
      if (handle_) face::extension().generator_retain(handle_);
    }
    Generator(Generator&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
    Generator& operator=(Generator o) noexcept { return std::swap(handle_, o.handle_), *this; }
    ~Generator() {
      if (handle_) face::extension().generator_release(handle_);
    }
    static Generator share(TlGenerator* borrowed) {
      if (borrowed) face::extension().generator_retain(borrowed);
      return Generator(borrowed);
    }
    bool defined() const { return handle_ != nullptr; }
    TlGenerator* handle() const { return handle_; }
    void set_current_seed(uint64_t seed) { face::extension().generator_seed(handle_, seed); }
    uint64_t current_seed() const { return face::extension().generator_initial_seed(handle_); }
    Device device() const { return face::device_of(face::extension().generator_device(handle_)); }
    uint64_t random64() {
      uint64_t bits;
      face::extension().generator_draw(handle_, &bits, 1);
      return bits;
    }
    uint32_t random() { return uint32_t(random64()); }
    // A draw takes the generator's own lock. This one is for several draws of an extension.
    std::mutex& mutex() const {
      static std::mutex all;
      return all;
    }

   private:
    TlGenerator* handle_ = nullptr;
  };

  namespace face {
  using namespace c10::face;

  // An argument of an operator. It borrows what it is constructed from.
  struct Value : TlValue {
    Value(uint32_t kind, int64_t n) { tag = kind, len = 0, u.i = n; }
    Value(uint32_t kind, const void* data, size_t n) { tag = kind, len = uint32_t(n), u.p = data; }
    Value(std::nullopt_t) : Value(TL_NONE, 0) {}
    inline Value(const Tensor& t);
    inline Value(TensorList l);
    inline Value(const OptionalTensorList& l);
    Value(const Scalar& s) : TlValue(s.value()) {}
    Value(bool b) : Value(TL_BOOL, b) {}
    Value(int64_t i) : Value(TL_INT, i) {}
    Value(double f) : Value(TL_FLOAT, 0) { u.f = f; }
    Value(IntArrayRef l) : Value(TL_INT_LIST, l.data(), l.size()) {}
    Value(ArrayRef<double> l) : Value(TL_FLOAT_LIST, l.data(), l.size()) {}
    Value(ArrayRef<bool> l) : Value(TL_BOOL_LIST, l.data(), l.size()) {}
    Value(std::string_view s) : Value(TL_STRING, s.data(), s.size()) {}
    Value(ScalarType t) : Value(TL_DTYPE, code_of(t)) {}
    Value(const Device& d) : Value(TL_DEVICE, code_of(d)) {}
    Value(Layout l) : Value(TL_LAYOUT, code_of(l)) {}
    Value(MemoryFormat f) : Value(TL_MEMORY_FORMAT, int64_t(f)) {}
    Value(const Generator& g) : Value(g.defined() ? TL_GENERATOR : TL_NONE, g.handle(), 0) {}
    Value(const OptionalIntArrayRef& l) : Value(TL_NONE, 0) {
      if (l) *this = Value(*l);
    }
    // Numbers of a list need memory of their own, which lives to the end of the call.
    Value(const std::vector<TlValue>& numbers) : Value(TL_SCALAR_LIST, numbers.data(), numbers.size()) {}
    template <class T, class = std::enable_if_t<std::is_constructible_v<Value, const T&>>>
    Value(const std::optional<T>& o) : Value(TL_NONE, 0) {
      if (o) *this = Value(*o);
    }
    template <class T>
    Value(const T*) = delete;  // a pointer is no bool
  };
  static_assert(sizeof(Value) == sizeof(TlValue));
  inline std::vector<TlValue> numbers(ArrayRef<Scalar> l) {
    std::vector<TlValue> v;
    for (const Scalar& s : l) v.push_back(s.value());
    return v;
  }

  inline std::optional<MemoryFormat> format_of(const TensorOptions& o, std::optional<MemoryFormat> f) {
    return f ? f : o.format_;
  }
  inline Tensor finish(Tensor t, const TensorOptions& o);

  // An operator by its name, found with the first call.
  struct Slot {
    const char* name;
    const TlOperator* op;
    const TlOperator* get() {
      const TlOperator* o = __atomic_load_n(&op, __ATOMIC_RELAXED);
      return __builtin_expect(o != nullptr, 1) ? o : find();
    }
    [[gnu::cold, gnu::noinline]] const TlOperator* find() {
      const TlOperator* o = check(api().op_find(name));
      __atomic_store_n(&op, o, __ATOMIC_RELAXED);
      return o;
    }
  };
  using Values = std::initializer_list<Value>;
  [[gnu::noinline]] inline void run(Slot& s, const Value* args, size_t n, TlValue* rets, int m) {
    check(api().op_call(s.get(), args, int(n), rets, m));
  }
  [[gnu::noinline]] inline void run_in_place(Slot& s, const Value* args, size_t n) {
    const TlOperator* op = s.get();
    TlValue rets[4] = {};
    const int m = api().op_info(op)->n_rets;
    check(api().op_call(op, args, int(n), rets, m));
    for (int i = 0; i < m; ++i) api().value_release(&rets[i]);
  }
  inline void write(Slot& s, Values args) { run_in_place(s, args.begin(), args.size()); }
  template <class R>
  R take(TlValue& v);
  template <class R>
  struct Caller {
    static R call(Slot& s, Values args) {
      TlValue r{};
      run(s, args.begin(), args.size(), &r, 1);
      return take<R>(r);
    }
  };
  template <>
  struct Caller<void> {
    static void call(Slot& s, Values args) { run_in_place(s, args.begin(), args.size()); }
  };
  template <class... R>
  struct Caller<std::tuple<R...>> {
    static std::tuple<R...> call(Slot& s, Values args) {
      TlValue r[sizeof...(R)] = {};
      run(s, args.begin(), args.size(), r, sizeof...(R));
      return collect(r, std::index_sequence_for<R...>{});
    }
    template <size_t... I>
    static std::tuple<R...> collect(TlValue* r, std::index_sequence<I...>) {
      return std::tuple<R...>(take<R>(r[I])...);
    }
  };
  template <class R>
  R call(Slot& s, Values args) {
    return Caller<R>::call(s, args);
  }
  template <size_t N>
  struct TensorsOf;
  template <>
  struct TensorsOf<2> {
    using owned = std::tuple<Tensor, Tensor>;
    using written = std::tuple<Tensor&, Tensor&>;
  };
  template <>
  struct TensorsOf<3> {
    using owned = std::tuple<Tensor, Tensor, Tensor>;
    using written = std::tuple<Tensor&, Tensor&, Tensor&>;
  };
  template <>
  struct TensorsOf<4> {
    using owned = std::tuple<Tensor, Tensor, Tensor, Tensor>;
    using written = std::tuple<Tensor&, Tensor&, Tensor&, Tensor&>;
  };
  template <>
  struct TensorsOf<5> {
    using owned = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
    using written = std::tuple<Tensor&, Tensor&, Tensor&, Tensor&, Tensor&>;
  };
  template <size_t N>
  using Tensors = typename TensorsOf<N>::owned;
  template <size_t N>
  using References = typename TensorsOf<N>::written;
  template <class... T>
  std::tuple<T&...> references(T&... t) {
    return {t...};
  }
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_type(ScalarType wanted, ScalarType present) {
    fail<Error>("", "expected scalar type ", wanted, " but found ", present);
  }
  // For a tensor whose data is NULL, or of another type.
  [[gnu::cold, gnu::noinline]] inline void check_type(const TlTensor* t, ScalarType wanted) {
    const int64_t dtype = api().tensor_dtype(t);
    if (dtype != facts(wanted).dtype) refuse_type(wanted, type_of(dtype));
  }
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_dimension(int64_t d, int64_t n) {
    if (n == 0 && (d == 0 || d == -1))
      fail<IndexError>("", "dimension specified as ", d, " but tensor has no dimensions");
    fail<IndexError>("", "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                     "], but got ", d, ")");
  }
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_undefined(const char* what) {
    fail<Error>("", "Cannot call ", what, "() on an undefined Tensor: it is empty");
  }
  }  // namespace face

  class Tensor {
   public:
    Tensor() : handle_(nullptr) {}
    explicit Tensor(TlTensor* owned) : handle_(owned) {}
    static Tensor adopt(TlTensor* owned) {
      Tensor t;
      t.handle_ = owned;
      return t;
    }
    static Tensor share(TlTensor* borrowed) {
      if (borrowed) face::api().tensor_retain(borrowed);
      return adopt(borrowed);
    }
    Tensor(const Tensor& o) : Tensor(share(o.handle_)) {}
    Tensor(Tensor&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
    ~Tensor() {
      if (handle_) face::api().tensor_release(handle_);
    }
    Tensor& operator=(const Tensor& o) & {
      Tensor copy(o);
      std::swap(handle_, copy.handle_);
      return *this;
    }
    Tensor& operator=(Tensor&& o) & noexcept {
      std::swap(handle_, o.handle_);
      return *this;
    }
    // An assignment to a result of an index writes its elements.
    Tensor& operator=(const Tensor& o) && { return copy_(o); }
    Tensor& operator=(Tensor&& o) && { return copy_(o); }
    Tensor& operator=(const Scalar& s) && { return fill_(s); }

    TlTensor* handle() const { return handle_; }
    TlTensor* get() const { return handle_; }
    TlTensor* release() { return std::exchange(handle_, nullptr); }
    TlTensor* unsafeGetTensorImpl() const { return handle_; }
    void reset() { Tensor().swap(*this); }
    void swap(Tensor& o) noexcept { std::swap(handle_, o.handle_); }
    bool defined() const { return handle_ != nullptr; }
    bool is_same(const Tensor& o) const { return handle_ == o.handle_; }
    int64_t use_count() const { return handle_ ? face::api().tensor_refcount(handle_) : 0; }

    // An undefined tensor has one dimension, of size 0.
    int64_t dim() const { return handle_ ? tl_ndim(&face::extension(), handle_) : 1; }
    int64_t ndimension() const { return dim(); }
    int64_t numel() const { return handle_ ? tl_numel(&face::extension(), handle_) : 0; }
    IntArrayRef sizes() const {
      static constexpr int64_t none = 0;
      const TlTensor* t = handle_;
      if (!t) return {&none, 1};
      return {tl_sizes(&face::extension(), t), size_t(tl_ndim(&face::extension(), t))};
    }
    IntArrayRef strides() const {
      const TlTensor* t = at("strides");
      const int n = tl_ndim(&face::extension(), t);
      return {tl_sizes(&face::extension(), t) + n, size_t(n)};
    }
    SymIntArrayRef sym_sizes() const { return sizes(); }
    SymIntArrayRef sym_strides() const { return strides(); }
    int64_t size(int64_t d) const {
      const TlTensor* t = handle_;
      if (__builtin_expect(t == nullptr, 0)) return wrapped(d, 1) * 0;
      return tl_sizes(&face::extension(), t)[wrapped(d, tl_ndim(&face::extension(), t))];
    }
    int64_t stride(int64_t d) const {
      const TlTensor* t = at("stride");
      const int n = tl_ndim(&face::extension(), t);
      return tl_sizes(&face::extension(), t)[n + wrapped(d, n)];
    }
    int64_t sym_size(int64_t d) const { return size(d); }
    int64_t sym_numel() const { return numel(); }
    int64_t storage_offset() const { return face::api().tensor_offset(at("storage_offset")); }
    bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
    bool is_non_overlapping_and_dense() const;
    MemoryFormat suggest_memory_format(bool channels_last_strides_exact_match = false) const;
    Tensor contiguous(MemoryFormat f = MemoryFormat::Contiguous) const {
      return is_contiguous(f) ? *this : clone(f);
    }

    ScalarType scalar_type() const { return face::type_of(face::api().tensor_dtype(at("scalar_type"))); }
    TypeMeta dtype() const { return scalar_type(); }
    Device device() const { return face::device_of(face::api().tensor_device(at("device"))); }
    Layout layout() const { return face::kLayouts[face::api().tensor_layout(at("layout"))]; }
    TensorOptions options() const { return TensorOptions(scalar_type()).device(device()).layout(layout()); }
    // PyTorch's older object for a type and device.
    struct Type : TensorOptions {
      Type(TensorOptions o) : TensorOptions(o) {}
      ScalarType scalarType() const { return dtype().toScalarType(); }
      const TensorOptions& options() const { return *this; }
      operator ScalarType() const { return scalarType(); }
      bool is_cuda() const { return device().is_cuda(); }
      bool is_sparse() const { return TensorOptions::is_sparse(); }
      DeviceType device_type() const { return device().type(); }
      std::string toString() const { return c10::str(is_cuda() ? "CUDA" : "CPU", scalarType(), "Type"); }
      friend std::ostream& operator<<(std::ostream& out, const Type& t) { return out << t.toString(); }
      friend bool operator==(const Type& a, const Type& b) {
        return a.scalarType() == b.scalarType() && a.device() == b.device() && a.layout() == b.layout();
      }
      friend bool operator!=(const Type& a, const Type& b) { return !(a == b); }
    };
    Type type() const { return options(); }
    std::string toString() const { return handle_ ? type().toString() : "UndefinedType"; }
    bool is_cpu() const { return device().is_cpu(); }
    bool is_cuda() const { return device().is_cuda(); }
    bool is_meta() const { return device().is_meta(); }
    bool is_xpu() const { return false; }
    bool is_mps() const { return false; }
    bool is_hip() const { return false; }
    bool is_mkldnn() const { return false; }
    bool is_privateuseone() const { return device().is_privateuseone(); }
    bool is_sparse() const { return layout() == kSparse; }
    bool is_sparse_csr() const { return layout() == kSparseCsr; }
    bool is_quantized() const { return isQIntType(scalar_type()); }
    bool is_floating_point() const { return isFloatingType(scalar_type()); }
    bool is_complex() const { return isComplexType(scalar_type()); }
    bool is_signed() const { return isSignedType(scalar_type()); }
    bool is_nested() const { return false; }
    bool is_conj() const { return face::api().tensor_marks(at("is_conj")) & TL_MARK_CONJUGATED; }
    bool is_neg() const { return face::api().tensor_marks(at("is_neg")) & TL_MARK_NEGATED; }
    bool is_inference() const { return face::api().tensor_is_inference(at("is_inference")); }
    bool has_storage() const { return face::api().tensor_storage_id(at("has_storage")) != nullptr; }
    int64_t get_device() const { return device().index(); }
    DeviceIndex get_device_index() const { return device().index(); }
    size_t element_size() const { return elementSize(scalar_type()); }
    size_t itemsize() const { return element_size(); }
    size_t nbytes() const { return size_t(numel()) * element_size(); }
    int64_t _version() const { return face::api().tensor_version(at("_version")); }
    inline Storage storage() const;
    bool is_pinned() const { return false; }
    Tensor pin_memory(std::optional<Device> device = {}) const;
    Tensor to_sparse(int64_t sparse_dim) const;
    Tensor to_sparse(std::optional<Layout> layout = {}, OptionalIntArrayRef blocksize = {},
                     std::optional<int64_t> dense_dim = {}) const;
    Tensor to_sparse_csr(std::optional<int64_t> dense_dim = {}) const;
    Tensor to_sparse_csc(std::optional<int64_t> dense_dim = {}) const;
    Tensor to_sparse_bsr(IntArrayRef blocksize, std::optional<int64_t> dense_dim = {}) const;
    Tensor to_sparse_bsc(IntArrayRef blocksize, std::optional<int64_t> dense_dim = {}) const;
    Tensor chalf(std::optional<MemoryFormat> f = {}) const;
    bool is_set_to(const Tensor& o) const;
    Tensor mT() const;
    Tensor mH() const;
    Tensor matrix_H() const;
    Tensor numpy_T() const;
    bool is_alias_of(const Tensor& o) const {
      return face::api().tensor_storage_id(at("is_alias_of")) ==
             face::api().tensor_storage_id(o.at("is_alias_of"));
    }

    void* data_ptr() const { return face::api().tensor_data(at("data_ptr")); }
    void* mutable_data_ptr() const { return data_ptr(); }
    const void* const_data_ptr() const { return data_ptr(); }
    template <class T>
    T* data_ptr() const {
      constexpr ScalarType wanted = CppTypeToScalarType<std::remove_const_t<T>>::value;
      void* data = face::extension().tensor_data_of(at("data_ptr"), face::facts(wanted).dtype);
      if (__builtin_expect(data == nullptr, 0)) face::check_type(handle_, wanted);
      return static_cast<T*>(data);
    }
    template <class T>
    T* mutable_data_ptr() const {
      return data_ptr<T>();
    }
    template <class T>
    const std::remove_const_t<T>* const_data_ptr() const {
      return data_ptr<std::remove_const_t<T>>();
    }
    template <class T>
    T* data() const {
      return data_ptr<T>();
    }
    template <class T, size_t N>
    TensorAccessor<T, N> accessor() const& {
      const TlView v = view_("accessor");
      check_dimensions(N, v.ndim);
      return {data_ptr<T>(), v.sizes, v.strides};
    }
    template <class T, size_t N>
    TensorAccessor<T, N> accessor() && = delete;
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
    GenericPackedTensorAccessor<T, N, Traits, I> generic_packed_accessor() const& {
      const TlView v = view_("packed_accessor");
      check_dimensions(N, v.ndim);
      return {data_ptr<T>(), v.sizes, v.strides};
    }
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
    PackedTensorAccessor32<T, N, Traits> packed_accessor32() const& {
      if (numel() > std::numeric_limits<int32_t>::max())
        face::fail<Error>(
            "", "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
      return generic_packed_accessor<T, N, Traits, int32_t>();
    }
    template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
    PackedTensorAccessor64<T, N, Traits> packed_accessor64() const& {
      return generic_packed_accessor<T, N, Traits, int64_t>();
    }
    inline Scalar item() const;
    template <class T>
    T item() const {
      return item().template to<T>();
    }

    Tensor to(const TensorOptions& o, bool non_blocking = false, bool copy = false,
              std::optional<MemoryFormat> f = {}) const;
    Tensor to(ScalarType t, bool non_blocking = false, bool copy = false,
              std::optional<MemoryFormat> f = {}) const {
      return to(TensorOptions(t), non_blocking, copy, f);
    }
    Tensor to(TypeMeta t, bool non_blocking = false, bool copy = false) const {
      return to(TensorOptions(t), non_blocking, copy);
    }
    Tensor to(Device d, bool non_blocking = false, bool copy = false) const {
      return to(TensorOptions(d), non_blocking, copy);
    }
    Tensor to(Device d, ScalarType t, bool non_blocking = false, bool copy = false,
              std::optional<MemoryFormat> f = {}) const {
      return to(TensorOptions(t).device(d), non_blocking, copy, f);
    }
    Tensor to(DeviceType d, bool non_blocking = false, bool copy = false) const {
      return to(Device(d), non_blocking, copy);
    }
    Tensor to(const Tensor& o, bool non_blocking = false, bool copy = false) const {
      return to(TensorOptions(o.scalar_type()).device(o.device()), non_blocking, copy);
    }
    Tensor cpu() const { return to(Device(kCPU)); }
    Tensor cuda() const { return to(Device(kCUDA)); }
    Tensor toType(ScalarType t) const { return to(t); }
    Tensor toBackend(Backend) const { return *this; }
    Tensor type(ScalarType t) const { return to(t); }
    Tensor type_as(const Tensor& o) const { return to(o); }
    Tensor toDevice(Device d) const { return to(d); }

    // gradients
    bool requires_grad() const {
      return handle_ && (face::api().bits_get(handle_) >> TL_LAYER_AUTOGRAD & 1) != 0;
    }
    const Tensor& set_requires_grad(bool on) const;
    const Tensor& requires_grad_(bool on = true) const { return set_requires_grad(on); }
    Tensor grad() const;
    void set_grad_(const Tensor& g) const;
    struct GradField {  // `t.mutable_grad() = g`
      const Tensor& of;
      operator Tensor() const;
      GradField& operator=(const Tensor& g);
      bool defined() const;
      void reset();
    };
    GradField mutable_grad() const { return GradField{*this}; }
    void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = {},
                  bool create_graph = false, std::optional<TensorList> inputs = {}) const;
    bool is_leaf() const;
    void retain_grad() const;
    bool retains_grad() const;
    template <class F>
    unsigned register_hook(F hook) const;
    void remove_hook(unsigned number) const;
    Tensor data() const;
    const Tensor& detach_() const;
    int64_t output_nr() const;
    std::shared_ptr<torch::autograd::Node> grad_fn() const;
    Tensor tensor_data() const { return data(); }
    Tensor variable_data() const { return data(); }
    void set_data(const Tensor& t) const;
    std::string name() const { return at("name"), std::string(); }
    bool is_view() const;
    Tensor _base() const;
    // A function with this tensor as its first argument.
    template <class F, class... A>
    auto m(F function, A&&... a) const {
      return function(*this, std::forward<A>(a)...);
    }
    void print() const;

    // operators of C++
    inline Tensor operator[](int64_t i) const;
    inline Tensor operator[](const Tensor& i) const;
    inline Tensor operator[](const Scalar& i) const;
    inline Tensor operator-() const;
    inline Tensor operator~() const;
#define TL_FACE_WRITES(OP)                     \
  inline Tensor& operator OP(const Tensor& o); \
  inline Tensor& operator OP(const Scalar& o);
    TL_FACE_WRITES(+=)
    TL_FACE_WRITES(-=)
    TL_FACE_WRITES(*=)
    TL_FACE_WRITES(/=)
    TL_FACE_WRITES(&=)
    TL_FACE_WRITES(|=)
    TL_FACE_WRITES(^=)
#undef TL_FACE_WRITES
    inline Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
    inline Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
    inline Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values) const;
    inline Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;
    inline Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices,
                              const Tensor& values) const;
    inline Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices,
                              const Scalar& value) const;

    // A number written as `0` is a dimension here, and no bool.
    Tensor std(int dim) const;
    Tensor var(int dim) const;

#define TL_FACE_METHODS
#include <tl/torch/methods.hpp>
#undef TL_FACE_METHODS

   private:
    TlTensor* at(const char* what) const {
      if (__builtin_expect(handle_ == nullptr, 0)) face::refuse_undefined(what);
      return handle_;
    }
    TlView view_(const char* what) const {
      TlView v;
      face::extension().tensor_view(at(what), &v);
      return v;
    }
    static int64_t wrapped(int64_t d, int64_t n) {
      const int64_t i = d < 0 ? d + n : d;
      if (__builtin_expect(i < 0 || i >= n, 0)) face::refuse_dimension(d, n);
      return i;
    }
    static void check_dimensions(size_t wanted, int n) {
      if (__builtin_expect(size_t(n) != wanted, 0))
        face::fail<Error>("", "TensorAccessor expected ", wanted, " dims but tensor has ", n);
    }
    TlTensor* handle_;
  };
  static_assert(sizeof(Tensor) == sizeof(TlTensor*));  // a list of them is a list of handles

  struct OptionalTensorList {
    std::vector<TlTensor*> handles;
    OptionalTensorList() = default;
    OptionalTensorList(std::initializer_list<std::optional<Tensor>> l) { add(l); }
    template <class L, class = std::enable_if_t<std::is_constructible_v<
                           std::optional<Tensor>, decltype(*std::declval<const L&>().begin())>>>
    OptionalTensorList(const L& l) {
      add(l);
    }

   private:
    template <class L>
    void add(const L& list) {
      for (auto it = list.begin(); it != list.end(); ++it) {
        const auto& item = *it;
        if constexpr (std::is_base_of_v<Tensor, std::decay_t<decltype(item)>>) {
          handles.push_back(static_cast<const Tensor&>(item).handle());
        } else {
          const std::optional<Tensor> t = item;
          handles.push_back(t ? t->handle() : nullptr);  // the list keeps the tensor
        }
      }
    }
  };

  namespace face {
  inline Value::Value(const Tensor& t) : Value(t.defined() ? TL_TENSOR : TL_NONE, 0) { u.t = t.handle(); }
  inline Value::Value(TensorList l) : Value(TL_TENSOR_LIST, l.data(), l.size()) {}
  inline Value::Value(const OptionalTensorList& l)
      : Value(TL_TENSOR_LIST, l.handles.data(), l.handles.size()) {}

  // The owned result of a call.
  template <class R>
  R take(TlValue& v) {
    if constexpr (std::is_same_v<R, Tensor>) {
      return v.tag == TL_TENSOR ? Tensor::adopt(v.u.t) : Tensor();
    } else if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
      R list;
      auto* handles = static_cast<TlTensor* const*>(v.u.p);
      for (uint32_t i = 0; i < v.len; ++i) list.push_back(Tensor::share(handles[i]));
      api().value_release(&v);
      return list;
    } else if constexpr (std::is_same_v<R, Scalar>) {
      const Scalar s(v);
      api().value_release(&v);
      return s;
    } else if constexpr (std::is_same_v<R, double>) {
      return v.u.f;
    } else if constexpr (std::is_same_v<R, ScalarType>) {
      return type_of(v.u.i);
    } else {
      return R(v.u.i);
    }
  }
  inline Tensor finish(Tensor t, const TensorOptions& o) {
    if (o.requires_grad()) t.set_requires_grad(true);
    return t;
  }
  }  // namespace face
}
}  // namespace at

#include <tl/torch/functions.hpp>
#include <tl/torch/tensor_methods.hpp>

#endif  // TL_TORCH_TENSOR_HPP
