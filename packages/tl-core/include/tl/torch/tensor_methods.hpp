// Methods of tensors that use functions of `at::`: indices, conversions, gradients, operators of C++.
#ifndef TL_TORCH_TENSOR_METHODS_HPP
#define TL_TORCH_TENSOR_METHODS_HPP

#include <tl/torch/tensor.hpp>
#include <unordered_map>

namespace c10 {
TL_FACE {
  inline ScalarType TensorOptions::default_type() {
    static at::face::Slot s{"empty.memory_format", nullptr};
    const int64_t size = 0;
    const auto none = std::nullopt;
    return at::face::call<at::Tensor>(s, {IntArrayRef(&size, 1), none, none, none, none, none}).scalar_type();
  }
  inline ScalarType get_default_dtype_as_scalartype() { return TensorOptions().dtype().toScalarType(); }
  inline TypeMeta get_default_dtype() { return TensorOptions().dtype(); }
  inline ScalarType promoteTypes(ScalarType a, ScalarType b) {
    const at::Tensor x = at::empty({1}, a), y = at::empty({1}, b);
    const at::face::Value values[] = {x, y};
    const int64_t code = face::api().common_dtype(values, 2);
    if (code < 0) face::raise();
    return face::type_of(code);
  }
}
}  // namespace c10

namespace at {
TL_FACE {
  // Memory that tensors share.
  struct Storage {
    Storage() = default;
    explicit Storage(Tensor t) : tensor_(std::move(t)) {}
    void* data() const {
      const int64_t skipped = tensor_.storage_offset() * int64_t(tensor_.element_size());
      return tensor_.data_ptr() ? static_cast<char*>(tensor_.data_ptr()) - skipped : nullptr;
    }
    void* mutable_data() const { return data(); }
    size_t nbytes() const { return size_t(face::api().tensor_storage_bytes(tensor_.handle())); }
    Device device() const { return tensor_.device(); }
    DeviceType device_type() const { return device().type(); }
    size_t use_count() const { return size_t(face::api().tensor_storage_refcount(tensor_.handle())); }
    bool is_alias_of(const Storage& o) const { return tensor_.is_alias_of(o.tensor_); }
    explicit operator bool() const { return tensor_.defined(); }
    struct Pointer {
      void* pointer;
      void* get() const { return pointer; }
    };
    Pointer data_ptr() const { return {data()}; }

   private:
    Tensor tensor_;
  };
  inline Storage Tensor::storage() const { return Storage(*this); }

  inline Scalar Tensor::item() const {
    if (numel() != 1)
      face::fail<Error>("", "a Tensor with ", numel(), " elements cannot be converted to Scalar");
    return at::_local_scalar_dense(*this);
  }
  inline Tensor Tensor::operator[](int64_t i) const { return select(0, i); }
  inline Tensor Tensor::operator[](const Scalar& i) const { return select(0, i.toLong()); }
  inline Tensor Tensor::operator[](const Tensor& i) const {
    if (i.dim() != 0) face::fail<IndexError>("", "Can only index with tensors that are scalars (zero-dim)");
    return select(0, i.item<int64_t>());
  }
  inline Tensor Tensor::operator-() const { return neg(); }
  inline Tensor Tensor::operator~() const { return bitwise_not(); }
#define TL_FACE_WRITES(OP, METHOD)                                          \
  inline Tensor& Tensor::operator OP(const Tensor& o) { return METHOD(o); } \
  inline Tensor& Tensor::operator OP(const Scalar& o) { return METHOD(o); }
  TL_FACE_WRITES(+=, add_)
  TL_FACE_WRITES(-=, sub_)
  TL_FACE_WRITES(*=, mul_)
  TL_FACE_WRITES(/=, div_)
  TL_FACE_WRITES(&=, bitwise_and_)
  TL_FACE_WRITES(|=, bitwise_or_)
  TL_FACE_WRITES(^=, bitwise_xor_)
#undef TL_FACE_WRITES
#define TL_FACE_READS(OP, FUNCTION)                                                          \
  inline Tensor operator OP(const Tensor& a, const Tensor& b) { return at::FUNCTION(a, b); } \
  inline Tensor operator OP(const Tensor& a, const Scalar& b) { return at::FUNCTION(a, b); }
#define TL_FACE_REVERSED(OP, EXPRESSION) \
  inline Tensor operator OP(const Scalar& a, const Tensor& b) { return EXPRESSION; }
  // clang-format off
  TL_FACE_READS(+, add)
  TL_FACE_REVERSED(+, at::add(b, a))
  TL_FACE_READS(-, sub)
  TL_FACE_REVERSED(-, at::rsub(b, a))
  TL_FACE_READS(*, mul)
  TL_FACE_REVERSED(*, at::mul(b, a))
  TL_FACE_READS(/, div)
  TL_FACE_REVERSED(/, at::mul(at::reciprocal(b), a))
  TL_FACE_READS(%, remainder)
  TL_FACE_READS(&, bitwise_and)
  TL_FACE_REVERSED(&, at::bitwise_and(b, a))
  TL_FACE_READS(|, bitwise_or)
  TL_FACE_REVERSED(|, at::bitwise_or(b, a))
  TL_FACE_READS(^, bitwise_xor)
  TL_FACE_REVERSED(^, at::bitwise_xor(b, a))
  TL_FACE_READS(<, lt)
  TL_FACE_REVERSED(<, at::gt(b, a))
  TL_FACE_READS(<=, le)
  TL_FACE_REVERSED(<=, at::ge(b, a))
  TL_FACE_READS(>, gt)
  TL_FACE_REVERSED(>, at::lt(b, a))
  TL_FACE_READS(>=, ge)
  TL_FACE_REVERSED(>=, at::le(b, a))
  TL_FACE_READS(==, eq)
  TL_FACE_REVERSED(==, at::eq(b, a))
  TL_FACE_READS(!=, ne)
  TL_FACE_REVERSED(!=, at::ne(b, a))
  // clang-format on
#undef TL_FACE_READS
#undef TL_FACE_REVERSED

  inline bool Tensor::is_set_to(const Tensor& o) const {
    return is_alias_of(o) && storage_offset() == o.storage_offset() && sizes() == o.sizes() &&
           strides() == o.strides();
  }
  inline Tensor Tensor::mT() const { return transpose(-2, -1); }
  inline Tensor Tensor::mH() const { return transpose(-2, -1).conj(); }
  inline Tensor Tensor::matrix_H() const {
    if (dim() != 2)
      face::fail<Error>("", "tensor.H is only supported on matrices (2-D tensors), got ", dim(), "-D");
    return mH();
  }
  inline Tensor Tensor::numpy_T() const {
    std::vector<int64_t> dims(static_cast<size_t>(dim()), 0);
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = int64_t(dims.size() - d) - 1;
    return permute(dims);
  }

  inline bool Tensor::is_contiguous(MemoryFormat f) const {
    const TlView v = view_("is_contiguous");
    if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve) return v.is_contiguous != 0;
    const int n = f == MemoryFormat::ChannelsLast ? 4 : 5;
    if (v.ndim != n) return false;
    static constexpr int kOrder[] = {1, 4, 3, 2, 0};  // innermost first; with four dimensions 4 is skipped
    int64_t stride = 1;
    for (int d : kOrder) {
      if (d >= n) continue;
      if (v.sizes[d] != 1 && v.strides[d] != stride) return false;
      stride *= v.sizes[d];
    }
    return true;
  }
  inline bool Tensor::is_non_overlapping_and_dense() const {
    std::vector<std::pair<int64_t, int64_t>> dims;
    for (int64_t d = 0; d < dim(); ++d)
      if (size(d) != 1) dims.emplace_back(stride(d), size(d));
    std::sort(dims.begin(), dims.end());
    int64_t stride = 1;
    for (auto& [st, n] : dims) {
      if (st != stride) return false;
      stride *= n;
    }
    return true;
  }
  inline MemoryFormat Tensor::suggest_memory_format(bool) const {
    for (auto f : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
      if (is_contiguous(f) && !is_contiguous()) return f;
    return MemoryFormat::Contiguous;
  }

  inline Tensor Tensor::std(int dim) const { return std(IntArrayRef{dim}); }
  inline Tensor Tensor::var(int dim) const { return var(IntArrayRef{dim}); }
  inline Tensor std(const Tensor& t, int dim) { return t.std(dim); }
  inline Tensor var(const Tensor& t, int dim) { return t.var(dim); }
  inline std::tuple<Tensor, Tensor> std_mean(const Tensor& t, int dim) {
    return at::std_mean(t, IntArrayRef{dim});
  }
  inline std::tuple<Tensor, Tensor> var_mean(const Tensor& t, int dim) {
    return at::var_mean(t, IntArrayRef{dim});
  }

  inline Tensor Tensor::to(const TensorOptions& o, bool non_blocking, bool copy,
                           std::optional<MemoryFormat> f) const {
    TORCH_CHECK(
        !o.requires_grad(),
        "Operators taking TensorOptions cannot take a TensorOptions with options.requires_grad set as true. "
        "This isn't implemented yet.");
    const bool same = (!o.dtype_ || *o.dtype_ == scalar_type()) && (!f || *f == MemoryFormat::Preserve) &&
                      (!o.device_ || o.device_->type() == device().type());
    if (same && !copy) return *this;
    return at::_to_copy(*this, o, non_blocking, f);
  }

  // ---- gradients: the attributes of the tensor's object in Python ------------------------------------------------
  namespace face {
  inline ::tl::PyRef object(const Tensor& t) {
    if (!t.defined()) return ::tl::PyRef::share(Py_None);
    PyObject* o = python().wrap(Tensor(t).release());
    if (!o) raise_python();
    return ::tl::PyRef(o);
  }
  inline ::tl::PyRef checked(PyObject* owned) {
    if (!owned) raise_python();
    return ::tl::PyRef(owned);
  }
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_object(PyObject* o) {
    const auto type = checked(PyObject_Repr(reinterpret_cast<PyObject*>(Py_TYPE(o))));
    const auto bytes = checked(PyUnicode_AsUTF8String(type.get()));
    fail<TypeError>("", "expected a tensor, got ", PyBytes_AsString(bytes.get()));
  }
  inline Tensor tensor_of(PyObject* o) {
    if (o == Py_None) return Tensor();
    TlTensor* t = python().unwrap(o);
    if (!t) refuse_object(o);
    return Tensor::share(t);
  }
  inline ::tl::PyRef attribute(const Tensor& t, const char* name) {
    return checked(PyObject_GetAttrString(object(t).get(), name));
  }
  inline void set_attribute(const Tensor& t, const char* name, PyObject* value) {
    if (PyObject_SetAttrString(object(t).get(), name, value) != 0) raise_python();
  }
  inline bool truth(const Tensor& t, const char* name) {
    ::tl::WithGil gil;
    const int on = PyObject_IsTrue(attribute(t, name).get());
    if (on < 0) raise_python();
    return on != 0;
  }
  }  // namespace face
  inline const Tensor& Tensor::set_requires_grad(bool on) const {
    ::tl::WithGil gil;
    at("set_requires_grad");
    face::set_attribute(*this, "requires_grad", on ? Py_True : Py_False);
    return *this;
  }
  inline Tensor Tensor::grad() const {
    ::tl::WithGil gil;
    at("grad");
    return face::tensor_of(face::attribute(*this, "grad").get());
  }
  inline void Tensor::set_grad_(const Tensor& g) const {
    ::tl::WithGil gil;
    at("mutable_grad");
    face::set_attribute(*this, "grad", face::object(g).get());
  }
  inline Tensor::GradField::operator Tensor() const { return of.grad(); }
  inline Tensor::GradField& Tensor::GradField::operator=(const Tensor& g) { return of.set_grad_(g), *this; }
  inline bool Tensor::GradField::defined() const { return of.grad().defined(); }
  inline void Tensor::GradField::reset() { of.set_grad_({}); }
  inline bool Tensor::is_leaf() const { return at("is_leaf"), face::truth(*this, "is_leaf"); }
  inline bool Tensor::retains_grad() const { return at("retains_grad"), face::truth(*this, "retains_grad"); }
  inline bool Tensor::is_view() const {
    ::tl::WithGil gil;
    at("is_view");
    return face::checked(PyObject_CallMethod(face::object(*this).get(), "_is_view", nullptr)).get() ==
           Py_True;
  }
  inline Tensor Tensor::_base() const {
    ::tl::WithGil gil;
    at("_base");
    const Tensor base = face::tensor_of(face::attribute(*this, "_base").get());
    TORCH_CHECK(base.defined(), "Can't get base of non-view Variable");
    return base;
  }
  inline void Tensor::retain_grad() const {
    ::tl::WithGil gil;
    at("retain_grad");
    face::checked(PyObject_CallMethod(face::object(*this).get(), "retain_grad", nullptr));
  }
  inline void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                               std::optional<TensorList> inputs) const {
    ::tl::WithGil gil;
    at("backward");
    ::tl::PyRef listed = ::tl::PyRef::share(Py_None);
    if (inputs) {
      listed = face::checked(PyList_New(0));
      for (const Tensor& t : *inputs)
        if (PyList_Append(listed.get(), face::object(t).get()) != 0) face::raise_python();
    }
    PyObject* retained = !retain_graph ? Py_None : *retain_graph ? Py_True : Py_False;
    face::checked(PyObject_CallMethod(face::object(*this).get(), "backward", "OOOO",
                                      face::object(gradient).get(), retained,
                                      create_graph ? Py_True : Py_False, listed.get()));
  }
  namespace face {
  // A hook that was removed is empty. The registry has those that live, under the interpreter's lock.
  struct Hook {
    std::function<Tensor(const Tensor&)> run;
    unsigned number;
    const TlTensor* tensor;
    static std::unordered_map<unsigned, Hook*>& registry() {
      static auto* all = new std::unordered_map<unsigned, Hook*>;
      return *all;
    }
    static Hook* of(PyObject* capsule) { return static_cast<Hook*>(PyCapsule_GetPointer(capsule, nullptr)); }
    static void drop(PyObject* capsule) {
      registry().erase(of(capsule)->number);
      delete of(capsule);
    }
  };
  inline PyObject* call_hook(PyObject* capsule, PyObject* gradient) {
    Hook* const hook = Hook::of(capsule);
    ::tl::PyRef result = ::tl::PyRef::share(Py_None);
    if (hook->run && guarded([&] { result = object(hook->run(tensor_of(gradient))); }) != 0)
      return python().raise_pending(), nullptr;
    return result.release();
  }
  inline PyMethodDef hook_method = {"hook", call_hook, METH_O, nullptr};
  inline unsigned add_hook(const Tensor& t, std::function<Tensor(const Tensor&)> run) {
    static unsigned count = 0;
    ::tl::WithGil gil;
    auto* const hook = new Hook{std::move(run), count++, t.handle()};
    const ::tl::PyRef capsule(PyCapsule_New(hook, nullptr, Hook::drop));
    if (!capsule) {
      delete hook;
      raise_python();
    }
    Hook::registry()[hook->number] = hook;
    const auto function = checked(PyCFunction_New(&hook_method, capsule.get()));
    checked(PyObject_CallMethod(object(t).get(), "register_hook", "O", function.get()));
    return hook->number;
  }
  }  // namespace face
  template <class F>
  unsigned Tensor::register_hook(F hook) const {
    at("register_hook");
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Tensor>>)
      return face::add_hook(*this,
                            [hook = std::move(hook)](const Tensor& g) mutable { return hook(g), Tensor(); });
    else
      return face::add_hook(*this, std::move(hook));
  }
  inline void Tensor::remove_hook(unsigned number) const {
    ::tl::WithGil gil;
    const auto entry = face::Hook::registry().find(number);
    TORCH_CHECK(entry != face::Hook::registry().end() && entry->second->tensor == handle_,
                "Invalid index, no hook at position ", number);
    entry->second->run = nullptr;
  }
  inline Tensor Tensor::data() const { return detach(); }
  inline const Tensor& Tensor::detach_() const {
    ::tl::WithGil gil;
    at("detach_");
    face::checked(PyObject_CallMethod(face::object(*this).get(), "detach_", nullptr));
    return *this;
  }
  inline int64_t Tensor::output_nr() const {
    ::tl::WithGil gil;
    at("output_nr");
    const int64_t n = PyLong_AsLongLong(face::attribute(*this, "output_nr").get());
    if (n < 0 && PyErr_Occurred()) face::raise_python();
    return n;
  }
  inline void Tensor::set_data(const Tensor& t) const {
    ::tl::WithGil gil;
    at("set_data");
    face::set_attribute(*this, "data", face::object(t).get());
  }

  [[gnu::noinline]] inline std::string to_text(const Tensor& t) {
    if (!t.defined()) return "[ Tensor (undefined) ]";
    ::tl::WithGil gil;
    const auto text = face::checked(PyObject_Str(face::object(t).get()));
    const auto bytes = face::checked(PyUnicode_AsUTF8String(text.get()));
    return PyBytes_AsString(bytes.get());
  }
  inline std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_text(t); }
  inline void Tensor::print() const { std::fputs((to_text(*this) + "\n").c_str(), stderr); }

  // ---- indices ----------------------------------------------------------------------------------------------------
  namespace indexing {
  enum class TensorIndexType { None, Ellipsis, SymInt, Boolean, Slice, Tensor };
  inline constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min(),
                           INDEX_MAX = std::numeric_limits<int64_t>::max();
  inline constexpr std::nullopt_t None = std::nullopt;
  struct EllipsisIndexType {};
  inline constexpr EllipsisIndexType Ellipsis{};
  class Slice {
   public:
    Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
          std::optional<int64_t> step = {})
        : step_(step.value_or(1)) {
      if (step_ == 0) face::fail<ValueError>("", "slice step cannot be zero");
      start_ = start.value_or(step_ < 0 ? INDEX_MAX : 0);
      stop_ = stop.value_or(step_ < 0 ? INDEX_MIN : INDEX_MAX);
    }
    int64_t start() const { return start_; }
    int64_t stop() const { return stop_; }
    int64_t step() const { return step_; }
    friend std::ostream& operator<<(std::ostream& out, const Slice& s) {
      return out << s.start_ << ":" << s.stop_ << ":" << s.step_;
    }

   private:
    int64_t start_ = 0, stop_ = 0, step_;
  };
  class TensorIndex {
    using Kind = TensorIndexType;

   public:
    TensorIndex(std::nullopt_t) : kind_(Kind::None) {}
    TensorIndex(EllipsisIndexType) : kind_(Kind::Ellipsis) {}
    TensorIndex(const char* text) : kind_(Kind::Ellipsis) {
      if (std::string_view(text) != "...")
        face::fail<ValueError>("", "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
    }
    template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
    TensorIndex(T i) : kind_(std::is_same_v<T, bool> ? Kind::Boolean : Kind::SymInt), integer_(int64_t(i)) {}
    TensorIndex(Slice s) : kind_(Kind::Slice), slice_(s) {}
    TensorIndex(at::Tensor t) : kind_(Kind::Tensor), tensor_(std::move(t)) {}
    TensorIndexType kind() const { return kind_; }
    bool is_none() const { return kind_ == Kind::None; }
    bool is_ellipsis() const { return kind_ == Kind::Ellipsis; }
    bool is_integer() const { return kind_ == Kind::SymInt; }
    bool is_boolean() const { return kind_ == Kind::Boolean; }
    bool is_slice() const { return kind_ == Kind::Slice; }
    bool is_tensor() const { return kind_ == Kind::Tensor; }
    int64_t integer() const { return integer_; }
    bool boolean() const { return integer_ != 0; }
    const Slice& slice() const { return slice_; }
    const at::Tensor& tensor() const { return tensor_; }
    friend std::ostream& operator<<(std::ostream& out, const TensorIndex& i) {
      return i.is_none()       ? out << "None"
             : i.is_ellipsis() ? out << "..."
             : i.is_integer()  ? out << i.integer_
             : i.is_boolean()  ? out << (i.integer_ ? "true" : "false")
             : i.is_slice()    ? out << i.slice_
                               : out << i.tensor_;
    }

   private:
    Kind kind_;
    int64_t integer_ = 0;
    Slice slice_;
    at::Tensor tensor_;
  };
  inline std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices) {
    const char* between = "(";
    for (const TensorIndex& i : indices) out << between << i, between = ", ";
    return out << (indices.empty() ? "()" : ")");
  }
  inline bool is_mask(const at::Tensor& t) { return t.scalar_type() == kBool || t.scalar_type() == kByte; }
  // The dimensions of the tensor that an index counts.
  inline int64_t dimensions(const TensorIndex& i) {
    if (i.is_tensor()) return is_mask(i.tensor()) ? i.tensor().dim() : 1;
    return i.is_integer() || i.is_slice();
  }
  // The view that numbers, slices and new dimensions take. The tensors among the indices are left over.
  struct Selection {
    at::Tensor t;
    std::vector<std::optional<at::Tensor>> left = {};
    int64_t next = 0, real = 0;  // the dimension of the view, and that of the tensor

    void take(const TensorIndex& i, int64_t skipped) {
      if (i.is_none()) {
        t = t.unsqueeze(next++);
      } else if (i.is_ellipsis()) {
        next += skipped, real += skipped;
      } else if (i.is_integer()) {
        select(i.integer());
      } else if (i.is_boolean()) {
        mask(i.boolean());
      } else if (i.is_slice()) {
        if (i.slice().step() < 0) face::fail<ValueError>("", "step must be greater than zero");
        t = t.slice(next++, i.slice().start(), i.slice().stop(), i.slice().step());
        ++real;
      } else {
        take(i.tensor());
      }
    }

   private:
    void take(const at::Tensor& index) {
      if (index.scalar_type() == kByte)
        face::warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
      if (index.dim() == 0 && isIntegralType(index.scalar_type(), true))
        return is_mask(index) ? mask(index.item<bool>()) : select(index.item<int64_t>());
      leave(index);  // a mask stands at the first of the dimensions that it counts
      real += is_mask(index) ? index.dim() : 1;
      ++next;
    }
    void select(int64_t i) {
      if (i == 0 && next == 0 && t.dim() == 0)
        face::fail<IndexError>("",
                               "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                               "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
      const int64_t n = t.size(next);
      if (i < -n || i >= n)
        face::fail<IndexError>("", "index ", i, " is out of bounds for dimension ", real, " with size ", n);
      t = t.select(next, i);
      ++real;
    }
    void mask(bool on) {
      t = t.unsqueeze(next);
      leave(at::full({1}, on, TensorOptions(kBool)));
      ++next;
    }
    void leave(at::Tensor index) {
      while (int64_t(left.size()) < next) left.emplace_back();
      left.emplace_back(std::move(index));
    }
  };
  inline Selection apply(const at::Tensor& t, ArrayRef<TensorIndex> indices, const char* method) {
    TORCH_CHECK_VALUE(!indices.empty(), "Passing an empty index list to Tensor::", method,
                      "() is not valid syntax");
    int64_t counted = 0;
    for (const auto& i : indices) counted += dimensions(i);
    const bool first = t.dim() == 0 && indices.size() == 1;  // `select` has the message
    if (counted > t.dim() && !first)
      face::fail<IndexError>("", "too many indices for tensor of dimension ", t.dim());
    Selection selection{t};
    for (const auto& i : indices) selection.take(i, t.dim() - counted);
    return selection;
  }
  // The values without their first dimensions of size 1, which stand for none of the indexed tensor.
  inline at::Tensor without_first_ones(const at::Tensor& values) {
    const IntArrayRef sizes = values.sizes();
    size_t first = 0;
    while (first < sizes.size() && sizes[first] == 1) ++first;
    return first ? values.view(sizes.slice(first)) : values;
  }
  }  // namespace indexing
  inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
    const indexing::Selection selection = indexing::apply(*this, indices, "index");
    const Tensor& t = selection.t;
    if (!selection.left.empty()) return t.index(OptionalTensorList(selection.left));
    return t.is_same(*this) ? t.alias() : t;
  }
  inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
    return index(ArrayRef<indexing::TensorIndex>(indices));
  }
  inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values) const {
    const indexing::Selection selection = indexing::apply(*this, indices, "index_put_");
    const Tensor rows = indexing::without_first_ones(values);
    if (selection.left.empty())
      selection.t.copy_(rows);
    else
      selection.t.index_put_(OptionalTensorList(selection.left), rows.to(*this));
    return const_cast<Tensor&>(*this);
  }
  inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const {
    return index_put_(indices, at::scalar_tensor(value, options()));
  }
  inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                    const Tensor& values) const {
    return index_put_(ArrayRef<indexing::TensorIndex>(indices), values);
  }
  inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value)
      const {
    return index_put_(ArrayRef<indexing::TensorIndex>(indices), value);
  }
}
}  // namespace at

#endif  // TL_TORCH_TENSOR_METHODS_HPP
