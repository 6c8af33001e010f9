// Parallel loops, guards of the thread's modes and devices, checks of arguments.
#ifndef TL_TORCH_MODES_HPP
#define TL_TORCH_MODES_HPP

#include <tl/torch/tensor_methods.hpp>

namespace at {
TL_FACE {
  namespace internal {
  inline constexpr int64_t GRAIN_SIZE = 32768;
  // The number of the chunk's thread, while a loop of this extension runs.
  inline thread_local int thread_number = 0;
  inline thread_local bool in_loop = false;
  inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
  }  // namespace internal
  inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
  inline int get_num_threads() { return face::api().num_threads(); }
  inline int get_num_interop_threads() { return 1; }
  inline int get_thread_num() { return internal::thread_number; }
  inline bool in_parallel_region() { return internal::in_loop; }
  inline void set_num_threads(int n) {
    ::tl::WithGil gil;
    const auto core = face::checked(PyImport_ImportModule("tl_core"));
    face::checked(PyObject_CallMethod(core.get(), "set_num_threads", "i", n));
  }
  inline void init_num_threads() {}
  inline void lazy_init_num_threads() {}

  namespace face {
  // One chunk a thread at most, because a program may number buffers by `get_thread_num`.
  template <class F>
  struct Loop {
    const F& body;
    int64_t begin, end, chunk;
    static void run(void* context, int64_t first, int64_t last) {
      auto& loop = *static_cast<Loop*>(context);
      guarded([&] {
        const int before = internal::thread_number;
        const bool inside = std::exchange(internal::in_loop, true);
        struct Restore {
          int number;
          bool inside;
          ~Restore() { internal::thread_number = number, internal::in_loop = inside; }
        } restore{before, inside};
        for (int64_t i = first; i < last; ++i) {
          internal::thread_number = int(i);
          const int64_t b = loop.begin + i * loop.chunk;
          loop.body(b, std::min(loop.end, b + loop.chunk));
        }
      });
    }
  };
  }  // namespace face
  template <class F>
  void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
    if (begin >= end) return;
    const int64_t n = end - begin, threads = get_num_threads();
    if (threads <= 1 || n <= grain_size || internal::in_loop) return f(begin, end);
    const int64_t chunk = std::max(divup(n, threads), std::max<int64_t>(grain_size, 1));
    face::Loop<F> loop{f, begin, end, chunk};
    face::check(face::api().parallel_for(0, divup(n, chunk), 1, face::Loop<F>::run, &loop));
  }
  template <class T, class F, class S>
  T parallel_reduce(int64_t begin, int64_t end, int64_t grain_size, T identity, const F& f,
                    const S& combine) {
    std::vector<T> parts(size_t(get_num_threads()) + 1, identity);
    parallel_for(begin, end, grain_size, [&](int64_t b, int64_t e) {
      T& part = parts[size_t(get_thread_num())];
      part = f(b, e, part);
    });
    T result = identity;
    for (const T& part : parts) result = combine(result, part);
    return result;
  }

  // ---- modes of the thread ----------------------------------------------------------------------------------------
  struct GradMode {
    static bool is_enabled() { return face::api().grad_enabled() != 0; }
    static void set_enabled(bool on) { face::api().set_grad_enabled(on); }
  };
  struct AutoGradMode {
    explicit AutoGradMode(bool on) : before(GradMode::is_enabled()) { GradMode::set_enabled(on); }
    ~AutoGradMode() { GradMode::set_enabled(before); }
    AutoGradMode(const AutoGradMode&) = delete;
    bool before;
  };
  struct NoGradGuard : AutoGradMode {
    NoGradGuard() : AutoGradMode(false) {}
  };
  struct InferenceMode {
    explicit InferenceMode(bool on = true) : before(face::api().inference_mode()) {
      face::extension().set_inference_mode(on);
    }
    ~InferenceMode() { face::extension().set_inference_mode(before); }
    InferenceMode(const InferenceMode&) = delete;
    static bool is_enabled() { return face::api().inference_mode() != 0; }
    int before;
  };
  // While it lives, calls pass a layer by.
  template <int Layer>
  struct WithoutLayer {
    WithoutLayer() : before(face::api().thread_excluded() >> Layer & 1) {
      face::api().thread_exclude(uint64_t(1) << Layer, 1);
    }
    ~WithoutLayer() {
      if (!before) face::api().thread_exclude(uint64_t(1) << Layer, 0);
    }
    WithoutLayer(const WithoutLayer&) = delete;
    bool before;
  };
  struct AutoDispatchBelowAutograd : WithoutLayer<TL_LAYER_AUTOGRAD> {};
  struct AutoDispatchBelowADInplaceOrView : WithoutLayer<TL_LAYER_AUTOGRAD> {};
  using AutoNonVariableTypeMode = AutoDispatchBelowAutograd;
  namespace autocast {
  inline bool is_autocast_enabled(DeviceType t) {
    return t == kCPU && face::extension().autocast_enabled(TL_DEVICE_CPU) == 1;
  }
  inline bool is_enabled() { return false; }  // of CUDA
  inline bool is_cpu_enabled() { return is_autocast_enabled(kCPU); }
  inline ScalarType get_autocast_dtype(DeviceType) {
    return face::type_of(face::extension().autocast_dtype(TL_DEVICE_CPU));
  }
  inline Tensor cached_cast(ScalarType t, const Tensor& x, DeviceType = kCUDA) {
    return x.defined() && x.is_floating_point() && x.scalar_type() != kDouble ? x.to(t) : x;
  }
  }  // namespace autocast

  inline Generator getDefaultCPUGenerator() {
    return Generator::share(face::extension().generator_default());
  }
  namespace detail {
  inline Generator getDefaultCPUGenerator() { return at::getDefaultCPUGenerator(); }
  inline Generator createCPUGenerator(uint64_t seed = 67280421310721ULL) {
    return Generator(face::check(face::extension().generator_create(seed)));
  }
  }  // namespace detail
  inline void manual_seed(uint64_t seed) {
    ::tl::WithGil gil;
    const auto core = face::checked(PyImport_ImportModule("tl_core"));
    face::checked(PyObject_CallMethod(core.get(), "manual_seed", "K", static_cast<unsigned long long>(seed)));
  }
  inline bool hasCUDA() { return false; }
  struct Context {
    bool hasCUDA() const { return false; }
    bool deterministicAlgorithms() const {
      ::tl::WithGil gil;
      const auto core = face::checked(PyImport_ImportModule("tl_core"));
      const auto on =
          face::checked(PyObject_CallMethod(core.get(), "are_deterministic_algorithms_enabled", nullptr));
      return PyObject_IsTrue(on.get()) == 1;
    }
    void alertNotDeterministic(std::string_view caller) const {
      if (deterministicAlgorithms())
        face::fail<Error>("", caller,
                          " does not have a deterministic implementation, but you set "
                          "'torch.use_deterministic_algorithms(True)'");
    }
  };
  inline Context& globalContext() {
    static Context context;
    return context;
  }

  // ---- checks of arguments ----------------------------------------------------------------------------------------
  using CheckedFrom = const char*;
  struct TensorGeometryArg;
  struct TensorArg {
    TensorArg(Tensor t, const char* n, int p) : tensor(std::move(t)), name(n), pos(p) {}
    Tensor tensor;
    const char* name;
    int pos;
    const Tensor* operator->() const { return &tensor; }
    const Tensor& operator*() const { return tensor; }
    friend std::ostream& operator<<(std::ostream& out, const TensorArg& t) {
      return out << "argument #" << t.pos << " '" << t.name << "'";
    }
  };
  inline void checkDim(CheckedFrom c, const TensorArg& t, int64_t dim) {
    TORCH_CHECK(t->dim() == dim, "Expected ", dim, "-dimensional tensor, but got ", t->dim(),
                "-dimensional tensor for ", t, " (while checking arguments for ", c, ")");
  }
  inline void checkDim(CheckedFrom c, const Tensor& t, const char* name, int pos, int64_t dim) {
    checkDim(c, TensorArg(t, name, pos), dim);
  }
  inline void checkContiguous(CheckedFrom c, const TensorArg& t) {
    TORCH_CHECK(t->is_contiguous(), "Expected contiguous tensor, but got non-contiguous tensor for ", t,
                " (while checking arguments for ", c, ")");
  }
  inline void checkSize(CheckedFrom c, const TensorArg& t, IntArrayRef sizes) {
    TORCH_CHECK(t->sizes() == sizes, "Expected tensor of size ", sizes, ", but got tensor of size ",
                t->sizes(), " for ", t, " (while checking arguments for ", c, ")");
  }
  inline void checkSize(CheckedFrom c, const TensorArg& t, int64_t dim, int64_t size) {
    TORCH_CHECK(t->size(dim) == size, "Expected tensor to have size ", size, " at dimension ", dim,
                ", but got size ", t->size(dim), " for ", t, " (while checking arguments for ", c, ")");
  }
  inline void checkScalarType(CheckedFrom c, const TensorArg& t, ScalarType s) {
    TORCH_CHECK(t->scalar_type() == s, "Expected tensor for ", t, " to have scalar type ", s, "; but got ",
                t->toString(), " instead (while checking arguments for ", c, ")");
  }
  inline void checkScalarTypes(CheckedFrom c, const TensorArg& t, ArrayRef<ScalarType> types) {
    TORCH_CHECK(std::find(types.begin(), types.end(), t->scalar_type()) != types.end(),
                "Expected tensor for ", t, " to have one of the scalar types ", types, "; but got ",
                t->toString(), " instead (while checking arguments for ", c, ")");
  }
  inline void checkNumel(CheckedFrom c, const TensorArg& t, int64_t n) {
    TORCH_CHECK(t->numel() == n, "Expected tensor for ", t, " to have ", n, " elements; but it has ",
                t->numel(), " elements (while checking arguments for ", c, ")");
  }
  inline void checkDefined(CheckedFrom c, const TensorArg& t) {
    TORCH_CHECK(t->defined(), "Expected tensor for ", t,
                " to be non-null, but it was undefined (while checking arguments for ", c, ")");
  }
  inline void checkSameType(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->scalar_type() == b->scalar_type(), "Expected tensor for ", a,
                " to have the same type as tensor for ", b, "; but type ", a->toString(), " does not equal ",
                b->toString(), " (while checking arguments for ", c, ")");
  }
  inline void checkSameDim(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->dim() == b->dim(), "Expected tensor for ", a, " to have the same dimension as tensor for ",
                b, " (while checking arguments for ", c, ")");
  }
  inline void checkSameSize(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->sizes() == b->sizes(), "Expected tensor for ", a, " to have same size as tensor for ", b,
                "; but ", a->sizes(), " does not equal ", b->sizes(), " (while checking arguments for ", c,
                ")");
  }
  inline void checkSameNumel(CheckedFrom c, const TensorArg& a, const TensorArg& b) {
    TORCH_CHECK(a->numel() == b->numel(), "Expected tensor for ", a,
                " to have the same number of elements as tensor for ", b, " (while checking arguments for ",
                c, ")");
  }
  inline void checkSameGPU(CheckedFrom c, const TensorArg& a, const TensorArg&) {
    TORCH_CHECK(a->is_cuda(), "Expected tensor for ", a,
                " to be on GPU, but it is on CPU (while checking arguments for ", c, ")");
  }
#define TL_FACE_CHECK_ALL(NAME)                                            \
  inline void checkAll##NAME(CheckedFrom c, ArrayRef<TensorArg> tensors) { \
    for (const TensorArg& t : tensors) {                                   \
      if (!t->defined()) continue;                                         \
      for (const TensorArg& first : tensors) {                             \
        if (first->defined()) {                                            \
          check##NAME(c, first, t);                                        \
          break;                                                           \
        }                                                                  \
      }                                                                    \
    }                                                                      \
  }
  TL_FACE_CHECK_ALL(SameType)
  TL_FACE_CHECK_ALL(SameSize)
  TL_FACE_CHECK_ALL(SameNumel)
  TL_FACE_CHECK_ALL(SameGPU)
#undef TL_FACE_CHECK_ALL
  inline void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> tensors) {
    for (const TensorArg& t : tensors) checkContiguous(c, t);
  }
  inline void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> tensors) {
    for (const TensorArg& t : tensors) checkDefined(c, t);
  }
  inline void checkBackend(CheckedFrom, ArrayRef<Tensor>, Backend) {}
  inline void checkDeviceType(CheckedFrom c, ArrayRef<Tensor> tensors, DeviceType d) {
    for (const Tensor& t : tensors)
      TORCH_CHECK(!t.defined() || t.device().type() == d, "Expected tensor to have ", d,
                  " DeviceType, but got tensor with ", t.device().type(),
                  " DeviceType (while checking arguments for ", c, ")");
  }

  // The type in which the CPU accumulates sums.
  template <class T, bool cuda = false>
  struct AccumulateType {
    using type =
        std::conditional_t<std::is_same_v<T, float>, double,
                           std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int64_t, T>>;
  };
  template <bool cuda>
  struct AccumulateType<Half, cuda> {
    using type = float;
  };
  template <bool cuda>
  struct AccumulateType<BFloat16, cuda> {
    using type = float;
  };
  template <class T, bool cuda = false>
  using acc_type = typename AccumulateType<T, cuda>::type;
  template <class T>
  struct OpMathType {
    using type = T;
  };
  template <>
  struct OpMathType<Half> {
    using type = float;
  };
  template <>
  struct OpMathType<BFloat16> {
    using type = float;
  };
  template <class T>
  using opmath_type = typename OpMathType<T>::type;
  inline ScalarType toOpMathType(ScalarType t) { return t == kHalf || t == kBFloat16 ? kFloat : t; }
}
}  // namespace at

namespace c10 {
TL_FACE {
  using at::AutoGradMode;
  using at::GradMode;
  using at::InferenceMode;
  // Guards of devices: tl computes on the CPU, whose current device never changes.
  struct DeviceGuard {
    explicit DeviceGuard(Device d) : device_(d) {}
    void set_index(DeviceIndex) {}
    void reset_device(Device d) { device_ = d; }
    Device current_device() const { return device_; }
    Device original_device() const { return Device(kCPU); }

   private:
    Device device_;
  };
  struct OptionalDeviceGuard {
    OptionalDeviceGuard() = default;
    explicit OptionalDeviceGuard(std::optional<Device> d) : device_(d) {}
    void reset_device(Device d) { device_ = d; }
    std::optional<Device> current_device() const { return device_; }

   private:
    std::optional<Device> device_;
  };
  inline int64_t maybe_wrap_dim(int64_t d, int64_t n, bool wrap_scalar = true) {
    if (n == 0 && wrap_scalar) n = 1;
    const int64_t i = d < 0 ? d + n : d;
    if (i < 0 || i >= n) at::face::refuse_dimension(d, n);
    return i;
  }
  // Numbers of bits. A number without bits has as many zeros as its type has bits.
  namespace llvm {
  template <class T>
  unsigned countLeadingZeros(T x) {
    constexpr int bits = int(sizeof(T)) * 8;
    const auto wide = uint64_t(std::make_unsigned_t<T>(x));
    return unsigned(wide ? __builtin_clzll(wide) - (64 - bits) : bits);
  }
  template <class T>
  unsigned countTrailingZeros(T x) {
    const auto wide = uint64_t(std::make_unsigned_t<T>(x));
    return wide ? unsigned(__builtin_ctzll(wide)) : unsigned(sizeof(T)) * 8;
  }
  template <class T>
  unsigned countPopulation(T x) {
    return unsigned(__builtin_popcountll(uint64_t(std::make_unsigned_t<T>(x))));
  }
  inline bool isPowerOf2_32(uint32_t x) { return countPopulation(x) == 1; }
  inline bool isPowerOf2_64(uint64_t x) { return countPopulation(x) == 1; }
  inline unsigned Log2_32(uint32_t x) { return 31 - countLeadingZeros(x); }
  inline unsigned Log2_64(uint64_t x) { return 63 - countLeadingZeros(x); }
  }  // namespace llvm
  inline int64_t multiply_integers(IntArrayRef l) {
    int64_t n = 1;
    for (int64_t i : l) n *= i;
    return n;
  }
  template <class C>
  int64_t multiply_integers(const C& l) {
    return multiply_integers(IntArrayRef(l));
  }
  template <class... A>
  auto irange(A... a);
  template <class I>
  struct IntegerRange {
    struct iterator {
      I i;
      I operator*() const { return i; }
      iterator& operator++() { return ++i, *this; }
      bool operator!=(const iterator& o) const { return i != o.i; }
    };
    I first, last;
    iterator begin() const { return {first}; }
    iterator end() const { return {last}; }
  };
  template <class I>
  IntegerRange<I> irange(I end) {
    return {I(0), std::max(I(0), end)};
  }
  template <class A, class B>
  IntegerRange<B> irange(A begin, B end) {
    return {B(begin), std::max(B(begin), end)};
  }
  template <class T>
  T divup(T x, T y) {
    return (x + y - 1) / y;
  }
  // A value or a borrowed reference to one.
  template <class T>
  class MaybeOwned {
   public:
    static MaybeOwned borrowed(const T& t) { return MaybeOwned(t); }
    static MaybeOwned owned(T t) { return MaybeOwned(std::move(t)); }
    const T& operator*() const { return value_; }
    const T* operator->() const { return &value_; }

   private:
    explicit MaybeOwned(T t) : value_(std::move(t)) {}
    T value_;
  };
}
}  // namespace c10
namespace at {
TL_FACE {
  using c10::DeviceGuard;
  using c10::OptionalDeviceGuard;
  inline std::optional<Device> device_of(const Tensor& t) {
    return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
  }
  inline std::optional<Device> device_of(const std::optional<Tensor>& t) {
    return t ? device_of(*t) : std::nullopt;
  }
  inline std::optional<Device> device_of(TensorList l) {
    return l.empty() ? std::nullopt : device_of(l.front());
  }
  inline c10::MaybeOwned<Tensor> borrow_from_optional_tensor(const std::optional<Tensor>& t) {
    return c10::MaybeOwned<Tensor>::owned(t ? *t : Tensor());
  }
}
}  // namespace at

#endif  // TL_TORCH_MODES_HPP
