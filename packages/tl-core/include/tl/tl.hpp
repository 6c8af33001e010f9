// C++ over the table of tl/c_api.h and the bridge of tl/python.h, for extension modules: owned handles,
// values, operators called and kernels written with exceptions, none of which crosses the boundary.
// Header-only; C++17; links to nothing.
//
//   PyMODINIT_FUNC PyInit_mine() {
//     if (!tl::load(0)) return nullptr;               // an ImportError says which version is missing
//     ...
//   }
#ifndef TL_TL_HPP
#define TL_TL_HPP

#include <tl/python.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tl/exceptions.hpp>
#include <utility>
#include <vector>

namespace tl {

// ---- the tables -------------------------------------------------------------------------------------------

namespace detail {
inline const TlApi* table = nullptr;
inline const TlPython* bridge = nullptr;
}  // namespace detail

inline const TlApi& api() { return *detail::table; }
inline const TlPython& python() { return *detail::bridge; }

// Fetches both tables; false with a Python exception set. `min_minor` is the newest minor whose entries are
// used.
inline bool load(uint32_t min_minor = TL_API_TARGET) {
  detail::bridge = tl_import_python();
  detail::table = detail::bridge ? tl_import_api(min_minor) : nullptr;
  return detail::table != nullptr;
}

// ---- errors -----------------------------------------------------------------------------------------------

// An error of this library's own making.
class Error : public std::runtime_error {
 public:
  Error(TlErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  TlErrorKind kind() const { return kind_; }

 private:
  TlErrorKind kind_;
};

// Thrown after a call of the table failed: the error itself is pending on this thread.
struct Pending {};

inline void check(int status) {
  if (status != 0) throw Pending();
}
template <class T>
T* check(T* made) {
  if (!made) throw Pending();
  return made;
}

// Makes the exception that is being handled the thread's pending error; -1.
inline int pending_from_exception() noexcept {
  return exceptions::make_pending(api(), "", [] {
    try {
      throw;
    } catch (const Pending&) {
    } catch (const Error& e) {
      api().error_set(e.kind(), e.what());
    }
  });
}

// Runs body where no exception may pass: 0, or -1 with the error pending.
template <class F>
int guarded(F&& body) noexcept {
  return exceptions::guarded(body, pending_from_exception);
}

// Runs a body that returns a new Python reference: NULL with a Python exception set if it throws.
template <class F>
PyObject* to_python(F&& body) noexcept {
  PyObject* result = nullptr;
  if (guarded([&] { result = body(); }) != 0) python().raise_pending();
  return result;
}

// ---- tensors ----------------------------------------------------------------------------------------------

// A run of numbers somebody else owns.
class Span {
 public:
  Span(const int64_t* data, int size) : data_(data), size_(size) {}
  Span(std::initializer_list<int64_t> list) : Span(list.begin(), static_cast<int>(list.size())) {}
  Span(const std::vector<int64_t>& list) : Span(list.data(), static_cast<int>(list.size())) {}
  const int64_t* data() const { return data_; }
  int size() const { return size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t operator[](int i) const { return data_[i]; }

 private:
  const int64_t* data_;
  int size_;
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr int64_t code = TL_DTYPE_OF(TL_CODE_BOOL, 8);
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr int64_t code = TL_DTYPE_OF(TL_CODE_UINT, 8);
};
template <>
struct DTypeOf<int32_t> {
  static constexpr int64_t code = TL_DTYPE_OF(TL_CODE_INT, 32);
};
template <>
struct DTypeOf<int64_t> {
  static constexpr int64_t code = TL_DTYPE_OF(TL_CODE_INT, 64);
};
template <>
struct DTypeOf<float> {
  static constexpr int64_t code = TL_DTYPE_OF(TL_CODE_FLOAT, 32);
};
template <>
struct DTypeOf<double> {
  static constexpr int64_t code = TL_DTYPE_OF(TL_CODE_FLOAT, 64);
};
template <class T>
inline constexpr int64_t dtype_of = DTypeOf<T>::code;

inline constexpr int64_t kCpu = TL_DEVICE_OF(TL_DEVICE_CPU, -1);

// A share in a tensor.
class Tensor {
 public:
  Tensor() = default;
  static Tensor adopt(TlTensor* owned) {
    Tensor t;
    t.handle_ = owned;
    return t;
  }
  static Tensor share(TlTensor* borrowed) {
    if (borrowed) api().tensor_retain(borrowed);
    return adopt(borrowed);
  }
  static Tensor empty(Span sizes, int64_t dtype, int64_t device = kCpu) {
    return adopt(check(api().tensor_empty(sizes.size(), sizes.data(), dtype, device)));
  }

  Tensor(const Tensor& o) : Tensor(share(o.handle_)) {}
  Tensor(Tensor&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Tensor& operator=(Tensor o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_) api().tensor_release(handle_);
  }

  explicit operator bool() const { return handle_ != nullptr; }
  TlTensor* handle() const { return handle_; }
  TlTensor* release() { return std::exchange(handle_, nullptr); }

  int dim() const { return api().tensor_ndim(handle_); }
  Span sizes() const { return {api().tensor_sizes(handle_), dim()}; }
  Span strides() const { return {api().tensor_strides(handle_), dim()}; }
  int64_t numel() const { return api().tensor_numel(handle_); }
  int64_t dtype() const { return api().tensor_dtype(handle_); }
  int64_t device() const { return api().tensor_device(handle_); }
  bool is_contiguous() const { return api().tensor_is_contiguous(handle_) != 0; }
  void* data() const { return api().tensor_data(handle_); }

  // The elements; raises TypeError if they are of another type.
  template <class T>
  T* elements() const {
    if (dtype() != dtype_of<T>)
      throw Error(TL_ERROR_TYPE, "the tensor's elements are of another type than the kernel's");
    return static_cast<T*>(data());
  }

 private:
  TlTensor* handle_ = nullptr;
};

// ---- values -----------------------------------------------------------------------------------------------

// Borrowed arguments: what they are made from must outlive the call.
inline TlValue tagged(TlTag tag, int64_t i = 0) {
  TlValue v{};
  v.tag = static_cast<uint32_t>(tag);
  v.u.i = i;
  return v;
}
inline TlValue listed(TlTag tag, const void* data, size_t n) {
  TlValue v = tagged(tag);
  v.len = static_cast<uint32_t>(n);
  v.u.p = data;
  return v;
}
inline TlValue none() { return tagged(TL_NONE); }
inline TlValue value(const TlValue& v) { return v; }
inline TlValue value(TlTensor* t) {
  TlValue v = tagged(t ? TL_TENSOR : TL_NONE);
  v.u.t = t;
  return v;
}
inline TlValue value(const Tensor& t) { return value(t.handle()); }
inline TlValue value(bool b) { return tagged(TL_BOOL, b); }
inline TlValue value(int64_t i) { return tagged(TL_INT, i); }
inline TlValue value(int i) { return tagged(TL_INT, i); }
inline TlValue value(double f) {
  TlValue v = tagged(TL_FLOAT);
  v.u.f = f;
  return v;
}
inline TlValue value(std::string_view s) { return listed(TL_STRING, s.data(), s.size()); }
inline TlValue value(const char* s) { return value(std::string_view(s)); }
inline TlValue value(Span s) { return listed(TL_INT_LIST, s.data(), static_cast<size_t>(s.size())); }
inline TlValue value(const std::vector<TlTensor*>& list) {
  return listed(TL_TENSOR_LIST, list.data(), list.size());
}
inline TlValue dtype_value(int64_t code) { return tagged(TL_DTYPE, code); }
inline TlValue device_value(int64_t code) { return tagged(TL_DEVICE, code); }

// An owned result.
class Value {
 public:
  Value() : value_(none()) {}
  explicit Value(TlValue owned) : value_(owned) {}
  Value(Tensor t) : value_(tl::value(t.handle())) { t.release(); }
  // A copy of a borrowed value, lists with memory of their own.
  static Value copy(const TlValue& borrowed) {
    Value v;
    check(api().value_own(&borrowed, &v.value_));
    return v;
  }

  Value(Value&& o) noexcept : value_(o.release()) {}
  Value& operator=(Value o) noexcept {
    std::swap(value_, o.value_);
    return *this;
  }
  ~Value() { api().value_release(&value_); }

  const TlValue& get() const { return value_; }
  TlValue release() { return std::exchange(value_, none()); }
  TlValue* slot() { return &value_; }  // for a call to fill

  Tensor tensor() const {
    if (value_.tag != TL_TENSOR) throw Error(TL_ERROR_TYPE, "the value is no tensor");
    return Tensor::share(value_.u.t);
  }
  std::vector<Tensor> tensors() const {
    if (value_.tag != TL_TENSOR_LIST) throw Error(TL_ERROR_TYPE, "the value is no list of tensors");
    auto* list = static_cast<TlTensor* const*>(value_.u.p);
    std::vector<Tensor> out;
    for (uint32_t i = 0; i < value_.len; ++i) out.push_back(Tensor::share(list[i]));
    return out;
  }

 private:
  TlValue value_;
};

// ---- operators --------------------------------------------------------------------------------------------

class Operator {
 public:
  explicit Operator(const TlOperator* op) : op_(op) {}
  // By its full name, such as "add.Tensor"; raises AttributeError if there is none.
  static Operator find(const char* name) { return Operator(check(api().op_find(name))); }

  const TlOperator* handle() const { return op_; }
  const TlOperatorInfo& info() const { return *api().op_info(op_); }

  // All arguments are given, in the schema's order. The first result.
  template <class... A>
  Value operator()(const A&... a) const {
    const TlValue args[sizeof...(A) + 1] = {value(a)...};
    if (info().n_rets > 1)
      throw Error(TL_ERROR_TYPE, std::string(info().name) + " has several results: use all()");
    Value result;
    check(api().op_call(op_, args, sizeof...(A), result.slot(), info().n_rets));
    return result;
  }
  template <class... A>
  std::vector<Value> all(const A&... a) const {
    const TlValue args[sizeof...(A) + 1] = {value(a)...};
    std::vector<TlValue> raw(static_cast<size_t>(info().n_rets), none());
    check(api().op_call(op_, args, sizeof...(A), raw.data(), info().n_rets));
    std::vector<Value> results;
    for (const TlValue& v : raw) results.emplace_back(v);
    return results;
  }

 private:
  const TlOperator* op_;
};

// ---- kernels ----------------------------------------------------------------------------------------------

// What a kernel is called with.
class Arguments {
 public:
  Arguments(const TlValue* values, int n) : values_(values), n_(n) {}
  int size() const { return n_; }
  const TlValue& operator[](int i) const { return values_[i]; }
  const TlValue* data() const { return values_; }
  bool is_tensor(int i) const { return values_[i].tag == TL_TENSOR; }
  Tensor tensor(int i) const { return Tensor::share(values_[i].u.t); }
  bool is_none(int i) const { return values_[i].tag == TL_NONE; }
  int64_t integer(int i) const { return values_[i].u.i; }
  // A number as a double; complex numbers raise TypeError.
  double number(int i) const {
    const TlValue& v = values_[i];
    if (v.tag == TL_FLOAT) return v.u.f;
    if (v.tag == TL_INT || v.tag == TL_BOOL) return static_cast<double>(v.u.i);
    throw Error(TL_ERROR_TYPE, "expected a real number");
  }

 private:
  const TlValue* values_;
  int n_;
};

// What it answers with: for an in-place or out= form the tensor to be written stands here already.
class Results {
 public:
  Results(TlValue* values, int n) : values_(values), n_(n) {}
  int size() const { return n_; }
  TlValue* data() const { return values_; }
  bool is_given(int i) const { return values_[i].tag == TL_TENSOR; }
  Tensor given(int i) const { return Tensor::share(values_[i].u.t); }
  void set(int i, Value v) { values_[i] = v.release(); }

 private:
  TlValue* values_;
  int n_;
};

// Turns `void f(void* ctx, Arguments, Results)` into a TlCall.
template <void (*F)(void*, Arguments, Results)>
int boxed(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] { F(ctx, Arguments(args, n_args), Results(rets, n_rets)); });
}

inline Operator register_operator(const char* schema, TlCall call, const TlProgram* program = nullptr,
                                  int device_type = 0, void* ctx = nullptr) {
  TlOperatorDef def{};
  def.struct_size = sizeof def;
  def.schema = schema;
  def.call = call;
  def.ctx = ctx;
  def.device_type = device_type;
  def.program = program;
  const TlOperator* op = nullptr;
  check(api().op_register(&def, &op));
  return Operator(op);
}

inline void register_kernel(const char* op, int device_type, TlCall call, void* ctx = nullptr) {
  check(api().kernel_register(op, device_type, call, ctx));
}

// body(begin, end) over chunks of [begin, end) on the core's threads; what a chunk throws is thrown here.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& body) {
  using Body = std::remove_reference_t<F>;
  auto chunk = [](void* ctx, int64_t b, int64_t e) { guarded([&] { (*static_cast<Body*>(ctx))(b, e); }); };
  check(api().parallel_for(begin, end, grain, chunk, const_cast<void*>(static_cast<const void*>(&body))));
}

}  // namespace tl

#endif  // TL_TL_HPP
