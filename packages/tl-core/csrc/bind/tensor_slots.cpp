// The tensor type's slots: number and mapping protocols, properties and the methods that are no operators.
#include "bind/tensor_slots.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include "bind/buffer.h"
#include "bind/function.h"
#include "bind/index.h"
#include "bind/names.h"
#include "bind/override.h"
#include "bind/parse.h"
#include "bind/result.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "dispatch/lazy_bits.h"
#include "dispatch/python.h"
#include "ops.h"
#include "ops/shared/known_values.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"
#include "tensor/shrunk.h"
#include "tensor/sparse.h"

namespace tl::bind {

namespace {
std::unordered_map<std::string, PyObject*>& helpers() {
  static auto* map = new std::unordered_map<std::string, PyObject*>;
  return *map;
}
PyObject* helper(const char* name) {
  PyObject* f = helpers()[name];
  TL_CHECK(f, NotImplemented, "the Python half of tl_core has not provided '", name, "'");
  return f;
}

// ---- operators of the language
// ---------------------------------------------------------------------------------------- Which row serves
// `a + b`, looked up once.
struct Entry {
  const char* op;         // "add.Tensor"
  const char* method;     // of Tensor, for overrides
  const char* reflected;  // the same with the tensor on the right
  const Operator* found = nullptr;
};
enum Language {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  And,
  Or,
  Xor,
  LShift,
  RShift,
  Neg,
  Abs,
  Invert,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  IAdd,
  ISub,
  IMul,
  IDiv,
  IFloorDiv,
  IMod,
  IPow,
  IAnd,
  IOr,
  IXor,
  ILShift,
  IRShift,
  Reciprocal,
  LanguageCount
};
Entry g_language[LanguageCount] = {
    {"add.Tensor", "add", "add"},
    {"sub.Tensor", "sub", "__rsub__"},
    {"mul.Tensor", "mul", "mul"},
    {"div.Tensor", "div", "__rtruediv__"},
    {"floor_divide", "__floordiv__", "__rfloordiv__"},
    {"remainder.Tensor", "remainder", "__rmod__"},
    {"pow.Tensor_Tensor", "pow", "__rpow__"},
    {"matmul", "matmul", "__rmatmul__"},
    {"bitwise_and.Tensor", "__and__", "__rand__"},
    {"bitwise_or.Tensor", "__or__", "__ror__"},
    {"bitwise_xor.Tensor", "__xor__", "__rxor__"},
    {"bitwise_left_shift.Tensor", "__lshift__", "__rlshift__"},
    {"bitwise_right_shift.Tensor", "__rshift__", "__rrshift__"},
    {"neg", "neg", nullptr},
    {"abs", "abs", nullptr},
    {"bitwise_not", "__invert__", nullptr},
    {"eq.Tensor", "eq", "eq"},
    {"ne.Tensor", "ne", "ne"},
    {"lt.Tensor", "lt", "gt"},
    {"le.Tensor", "le", "ge"},
    {"gt.Tensor", "gt", "lt"},
    {"ge.Tensor", "ge", "le"},
    {"add_.Tensor", "__iadd__", nullptr},
    {"sub_.Tensor", "__isub__", nullptr},
    {"mul_.Tensor", "__imul__", nullptr},
    {"div_.Tensor", "__itruediv__", nullptr},
    {"floor_divide_", "__ifloordiv__", nullptr},
    {"remainder_.Tensor", "__imod__", nullptr},
    {"pow_.Tensor_Tensor", "__ipow__", nullptr},
    {"bitwise_and_.Tensor", "__iand__", nullptr},
    {"bitwise_or_.Tensor", "__ior__", nullptr},
    {"bitwise_xor_.Tensor", "__ixor__", nullptr},
    {"bitwise_left_shift_.Tensor", "__ilshift__", nullptr},
    {"bitwise_right_shift_.Tensor", "__irshift__", nullptr},
    {"reciprocal", "reciprocal", nullptr},
};

const Operator& language(Language which) {
  Entry& e = g_language[which];
  if (!e.found) e.found = &operator_named(e.op);
  return *e.found;
}

// The function an override is told is a method of Tensor, so the tensor comes first, also where it stands on
// the right.
PyObject* override_operator(Language which, PyObject* a, PyObject* b) {
  const bool swapped = b && !is_tensor(a);
  PyRef more = checked(b ? PyTuple_Pack(1, swapped ? a : b) : PyTuple_New(0));
  return override_method(swapped ? g_language[which].reflected : g_language[which].method, swapped ? b : a,
                         more.get());
}

PyObject* call_language(const Operator& op, TlValue* values) {
  TlValue rets[1] = {};
  if (call_from_python(op, values, rets) != 0) {
    raise_pending();
    return nullptr;
  }
  return to_python(rets[0]);
}

// As PyTorch does it, a half's reciprocal is rounded before the number is multiplied by it.
bool is_number_over_half(Language which, const TlValue* values) {
  return which == Div && values[0].tag != TL_TENSOR && values[1].tag == TL_TENSOR &&
         is_half(Unbox<Tensor>::get(values[1]).dtype());
}
PyObject* multiply_reciprocal(PyObject* dividend, TlValue* divisor) {
  const PyRef reciprocal(call_language(language(Reciprocal), divisor));
  return reciprocal ? PyNumber_Multiply(reciprocal.get(), dividend) : nullptr;
}

// NotImplemented for what the operator does not take, so that Python asks the other side. Where its second
// operand may be a number, so may its first: `2 - x`.
template <Language which>
PyObject* binary(PyObject* a, PyObject* b) noexcept {
  return translated(
      [&]() -> PyObject* {
        const Operator& op = language(which);
        const TlArgInfo operand{"other", op.info.args[1].kind, 0, 0, 0, 0, 0};
        TlValue values[4];
        Scratch scratch;
        bool overloaded = override_mode_active();
        const auto parse = [&](PyObject* o, int i) {
          const bool fits = parse_value(o, operand, values[i], scratch, overloaded);
          scratch.move_symbols(&operand, &op.info.args[i]);
          return fits;
        };
        if (!parse(a, 0) || !parse(b, 1)) {
          if (!overloaded) return Py_NewRef(Py_NotImplemented);
        }
        if (overloaded) [[unlikely]]
          return override_operator(which, a, b);
        if (is_number_over_half(which, values)) [[unlikely]]
          return multiply_reciprocal(a, values + 1);
        for (int i = 2; i < op.info.n_args; ++i) values[i] = op.defaults[i];
        return call_language(op, values);
      },
      static_cast<PyObject*>(nullptr));
}

// Called by its name with a tensor, it multiplies the reciprocal of integers as well: `half / integers` is a
// half, `integers.__rtruediv__(half)` is a float.
PyObject* reflected_quotient(PyObject* self, PyObject* other) noexcept {
  if (!is_tensor(other)) return binary<Div>(other, self);
  return translated(
      [&]() -> PyObject* {
        if (wants_override(self) || has_torch_function(other))
          return override_method("__rtruediv__", self, checked(PyTuple_Pack(1, other)).get());
        TlValue divisor[1] = {value(tensor_of(self))};
        return multiply_reciprocal(other, divisor);
      },
      static_cast<PyObject*>(nullptr));
}

template <Language which>
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  return modulus == Py_None ? binary<which>(a, b) : Py_NewRef(Py_NotImplemented);
}

template <Language which>
PyObject* unary(PyObject* a) noexcept {
  return translated(
      [&]() -> PyObject* {
        if (override_mode_active() || has_torch_function(a)) return override_operator(which, a, nullptr);
        TlValue values[1] = {value(tensor_of(a))};
        return call_language(language(which), values);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* positive(PyObject* a) { return wants_override(a) ? override_method("positive", a) : Py_NewRef(a); }

// NumPy gives way to us here, and where both give way Python compares the objects themselves.
template <Language which>
PyObject* equality(PyObject* a, PyObject* b) {
  PyRef answer(binary<which>(a, b));
  if (answer.get() != Py_NotImplemented) return answer.release();
  return translated(
      [&]() -> PyObject* {
        const auto array = tensor_like_array(b);
        if (!array) return answer.release();
        PyRef other(wrap(*array));
        return binary<which>(a, other.get());
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  switch (how) {
    case Py_EQ:
      return equality<Eq>(a, b);
    case Py_NE:
      return equality<Ne>(a, b);
    case Py_LT:
      return binary<Lt>(a, b);
    case Py_LE:
      return binary<Le>(a, b);
    case Py_GT:
      return binary<Gt>(a, b);
    default:
      return binary<Ge>(a, b);
  }
}

Py_hash_t hash(PyObject* o) { return _Py_HashPointer(o); }

// ---- one element
// --------------------------------------------------------------------------------------------------------
Scalar item_of(PyObject* o) {
  static const Operator& op = operator_named("_local_scalar_dense");
  return call_typed<Scalar>(op, tensor_of(o));
}

PyObject* item(PyObject* o, PyObject*) {
  return translated([&] { return scalar_to_python(item_of(o)); }, static_cast<PyObject*>(nullptr));
}

int truth(PyObject* o) {
  if (wants_override(o)) {
    const PyRef answer(override_method("__bool__", o));
    if (!answer || PyBool_Check(answer.get())) return answer ? answer.get() == Py_True : -1;
    PyErr_Format(PyExc_TypeError, "__bool__ should return bool, returned %s", Py_TYPE(answer.get())->tp_name);
    return -1;
  }
  return translated(
      [&] {
        const Tensor& t = tensor_of(o);
        TL_CHECK(t.numel() != 0, Runtime, "Boolean value of Tensor with no values is ambiguous");
        TL_CHECK(t.numel() == 1, Runtime, "Boolean value of Tensor with more than one value is ambiguous");
        return static_cast<int>(item_of(o).to_bool());
      },
      -1);
}

Scalar number_of(PyObject* o) {
  const int64_t elements = tensor_of(o).numel();
  TL_CHECK(elements == 1, Value, "only one element tensors can be converted to Python scalars, got ",
           elements, " elements");
  return item_of(o);
}

template <class Convert>
PyObject* converted(PyObject* o, const char* type, Convert convert) {
  return translated(
      [&]() -> PyObject* {
        const Scalar s = number_of(o);
        TL_CHECK(!s.is_complex() || s.to_complex().im == 0, Runtime, "value cannot be converted to type ",
                 type, " without overflow");
        return convert(s);
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* to_float(PyObject* o) {
  if (wants_override(o)) return override_method("__float__", o);
  return converted(o, "double", [](const Scalar& s) { return PyFloat_FromDouble(s.to_double()); });
}
PyObject* to_int(PyObject* o) {
  if (wants_override(o)) return override_method("__int__", o);
  return converted(o, "int64_t", [](const Scalar& s) {
    if (s.is_bool()) return PyLong_FromLong(s.to_bool());
    return s.is_int() ? scalar_to_python(s) : PyLong_FromDouble(s.to_double());
  });
}
PyObject* to_index(PyObject* o) {
  if (wants_override(o)) return override_method("__index__", o);
  return translated(
      [&]() -> PyObject* {
        const Tensor& t = tensor_of(o);
        TL_CHECK(is_integral(t.dtype(), true) && t.numel() == 1, Type,
                 "only integer tensors of a single element can be converted to an index");
        return PyLong_FromLongLong(item_of(o).to_int());
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* to_complex_number(PyObject* o, PyObject*) {
  return translated(
      [&]() -> PyObject* {
        const Complex128 c = number_of(o).to_complex();
        return PyComplex_FromDoubles(c.re, c.im);
      },
      static_cast<PyObject*>(nullptr));
}

// ---- lists
// ----------------------------------------------------------------------------------------------------------------
PyObject* element_to_python(DType dtype, const char* p) {
  switch (dtype) {
    case DType::Float32:
      return PyFloat_FromDouble(*reinterpret_cast<const float*>(p));
    case DType::Float64:
      return PyFloat_FromDouble(*reinterpret_cast<const double*>(p));
    case DType::Int64:
      return PyLong_FromLongLong(*reinterpret_cast<const int64_t*>(p));
    default:
      return scalar_to_python(load_scalar(dtype, p));
  }
}

PyObject* nested_list(const Tensor& t, int64_t d, const char* p) {
  if (d == t.dim()) return element_to_python(t.dtype(), p);
  PyRef list = checked(PyList_New(t.size(d)));
  const int64_t step = t.numel() ? t.byte_stride(d) : 0;  // without elements there is no address to move
  for (int64_t i = 0; i < t.size(d); ++i)
    PyList_SET_ITEM(list.get(), i, checked(nested_list(t, d + 1, p + i * step)).release());
  return list.release();
}

void check_has_memory(const Tensor& t) {
  TL_CHECK(!t.is_sparse(), Runtime, "Cannot access data pointer of Tensor that doesn't have storage");
  check_is_no_batch(t, "the memory");
  check_inside_storage(*t.impl());
}

PyObject* tolist(PyObject* o, PyObject*) {
  return translated(
      [&]() -> PyObject* {
        const Tensor& t = tensor_of(o);
        check_has_memory(t);
        const Tensor host = resolved(t.device().is_cpu() ? t : ops::to_device(t, Device{}, std::nullopt));
        return nested_list(host, 0, host.ptr<char>());
      },
      static_cast<PyObject*>(nullptr));
}

// ---- properties
// -----------------------------------------------------------------------------------------------------------
template <class F>
PyObject* get(F f) {
  return translated(f, static_cast<PyObject*>(nullptr));
}

PyObject* get_shape(PyObject* o, void*) {
  return get([&] { return size_object(tensor_of(o).sizes()); });
}
PyObject* get_dtype(PyObject* o, void*) { return Py_NewRef(dtype_object(tensor_of(o).dtype())); }
PyObject* get_device(PyObject* o, void*) {
  return get([&] { return device_object(tensor_of(o).device()); });
}
PyObject* get_layout(PyObject* o, void*) { return Py_NewRef(layout_object(tensor_of(o).layout())); }
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLongLong(tensor_of(o).dim()); }
PyObject* get_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(tensor_of(o).itemsize()); }
PyObject* get_nbytes(PyObject* o, void*) {
  return get([&] {
    const Tensor& t = tensor_of(o);
    TL_CHECK(
        !t.is_sparse(), Runtime,
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add "
        "the nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, "
        "multiply numel() by element_size()");
    return PyLong_FromLongLong(t.numel() * t.itemsize());
  });
}
PyObject* get_version(PyObject* o, void*) {
  return get([&] {
    TL_CHECK(!impl_of(o)->has(TensorImpl::Inference), Runtime,
             "Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(version(*impl_of(o)));
  });
}
PyObject* get_base(PyObject* o, void*) {
  return get([&] { return impl_of(o)->base ? wrap(Tensor::share(impl_of(o)->base)) : Py_NewRef(Py_None); });
}
PyObject* get_data(PyObject* o, void*) {
  return get([&] {
    const bool handled = tensor_of(o)->all_bits() & kPythonBit;
    Tensor t = handled ? ops::detach(tensor_of(o)) : alias(tensor_of(o));
    t->set(TensorImpl::PrivateVersion, true);
    t->own_version = 0;
    return wrap(std::move(t));
  });
}
int set_data(PyObject* o, PyObject* to, void*) {
  return translated(
      [&] {
        TL_CHECK(to, Runtime, "data of a tensor can't be deleted");
        TL_CHECK(is_tensor(to), Type, "Variable data has to be a tensor, but got ", Py_TYPE(to)->tp_name);
        TensorImpl& t = *impl_of(o);
        const Tensor& source = tensor_of(to);
        const bool records = t.bits.load(std::memory_order_relaxed) >> TL_LAYER_AUTOGRAD & 1;
        TL_CHECK(!records || is_floating(source.dtype()) || is_complex(source.dtype()), Runtime,
                 "data set to a tensor that requires gradients must be floating point or complex dtype, got ",
                 dtype_name(source.dtype()));
        TL_CHECK(
            t.layout == source.layout(), Runtime,
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
            "tensor type.");
        if (source.is_sparse()) set_parts(t, parts_of(*source.impl()));
        set_storage(t, StoragePtr::share(source.storage()));
        t.device = source.device();
        t.set_dtype(source.dtype());
        if (is_hollow(source)) t.bits.fetch_or(kHollowBit, std::memory_order_relaxed);
        set_geometry(t, DimVector(source.sizes()), DimVector(source.strides()), source.offset());
        toggle_conj_neg_bits(t, t.conj_neg_bits() ^ source->conj_neg_bits());
        return 0;
      },
      -1);
}
void warn_of_T(int64_t dim) {
  static WarnOnce no_matrix, number;
  if (dim == 0)
    number("Tensor.T is deprecated on 0-D tensors: it gives the tensor itself");
  else if (dim != 2)
    no_matrix(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated: `x.mT` "
        "transposes matrices of a batch, `x.permute(*range(x.ndim - 1, -1, -1))` reverses the dimensions");
}

// A matrix's transpose; a number's is itself, which is deprecated.
Tensor matrix_transpose(const Tensor& t, const char* name) {
  TL_CHECK(t.dim() >= 2 || t.dim() == 0, Runtime, "tensor.", name,
           " is only supported on matrices or batches of matrices. Got ", t.dim(), "-D tensor.");
  static WarnOnce number;
  if (t.dim() == 0)
    number("Tensor.mT, Tensor.mH and Tensor.H are deprecated on 0-D tensors: use x or x.conj()");
  return t.dim() == 0 ? t : ops::transpose_int(t, -2, -1);
}
PyObject* get_T(PyObject* o, void*) {
  return get([&] {
    const Tensor& t = tensor_of(o);
    warn_of_T(t.dim());
    DimVector dims(static_cast<size_t>(t.dim()));
    for (int64_t d = 0; d < t.dim(); ++d) dims[d] = t.dim() - 1 - d;
    return wrap(ops::permute(t, dims));
  });
}
PyObject* get_mT(PyObject* o, void*) {
  return get([&] { return wrap(matrix_transpose(tensor_of(o), "mT")); });
}
PyObject* get_H(PyObject* o, void*) {
  return get([&] {
    const Tensor& t = tensor_of(o);
    TL_CHECK(t.dim() == 2 || t.dim() == 0, Runtime,
             "tensor.H is only supported on matrices (2-D tensors). Got ", t.dim(), "-D tensor.");
    return wrap(ops::conj(matrix_transpose(t, "H")));
  });
}
PyObject* get_mH(PyObject* o, void*) {
  return get([&] { return wrap(ops::conj(matrix_transpose(tensor_of(o), "mH"))); });
}
PyObject* get_real(PyObject* o, void*) {
  return get([&] { return wrap(ops::real(tensor_of(o))); });
}
PyObject* get_imag(PyObject* o, void*) {
  return get([&] { return wrap(ops::imag(tensor_of(o))); });
}
int set_part(getter part_of, PyObject* o, PyObject* to) {
  if (!to) {
    PyErr_SetString(PyExc_RuntimeError, "the parts of a tensor can't be deleted");
    return -1;
  }
  const PyRef part(part_of(o, nullptr));
  return part ? PyObject_SetItem(part.get(), Py_Ellipsis, to) : -1;
}
int set_real(PyObject* o, PyObject* to, void*) { return set_part(get_real, o, to); }
int set_imag(PyObject* o, PyObject* to, void*) { return set_part(get_imag, o, to); }
template <DeviceType type>
PyObject* on_device(PyObject* o, void*) {
  return PyBool_FromLong(tensor_of(o).device().type == type);
}
template <Layout layout>
PyObject* has_layout(PyObject* o, void*) {
  return PyBool_FromLong(tensor_of(o).layout() == layout);
}
PyObject* never(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_name(PyObject*, void*) { Py_RETURN_NONE; }

// A tensor with attributes may be part of a cycle, which the collector has to see.
void track(PyObject* self) {
  if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}
PyObject* get_dict(PyObject* self, void* closure) {
  PyObject* dict = PyObject_GenericGetDict(self, closure);
  if (dict) track(self);
  return dict;
}
int set_dict(PyObject* self, PyObject* value, void* closure) {
  const int status = PyObject_GenericSetDict(self, value, closure);
  if (status == 0) track(self);
  return status;
}

PyGetSetDef kGetset[] = {
    {"__dict__", get_dict, set_dict, "The attributes that were set on this tensor.", nullptr},
    {"shape", get_shape, nullptr, "The sizes of the dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the memory lies.", nullptr},
    {"layout", get_layout, nullptr, "How the elements are stored.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"data", get_data, set_data, "The same memory outside the graph; changes are not counted.", nullptr},
    {"T", get_T, nullptr, "The dimensions in reverse order.", nullptr},
    {"mT", get_mT, nullptr, "The last two dimensions exchanged.", nullptr},
    {"H", get_H, nullptr, "The conjugate transpose of a matrix.", nullptr},
    {"mH", get_mH, nullptr, "The conjugate transpose of a batch of matrices.", nullptr},
    {"real", get_real, set_real, "The real parts, as a view.", nullptr},
    {"imag", get_imag, set_imag, "The imaginary parts, as a view.", nullptr},
    {"_version", get_version, nullptr, "How often the memory was changed.", nullptr},
    {"_base", get_base, nullptr, "What this is a view of, or None.", nullptr},
    {"name", get_name, nullptr, "None.", nullptr},
    {"is_cpu", on_device<DeviceType::CPU>, nullptr, "Whether it lives on the CPU.", nullptr},
    {"is_cuda", on_device<DeviceType::CUDA>, nullptr, "Whether it lives on a CUDA device.", nullptr},
    {"is_meta", on_device<DeviceType::Meta>, nullptr, "Whether it has no memory.", nullptr},
    {"is_sparse", has_layout<Layout::SparseCoo>, nullptr, "Whether the layout is torch.sparse_coo.", nullptr},
    {"is_sparse_csr", has_layout<Layout::SparseCsr>, nullptr, "Whether the layout is torch.sparse_csr.",
     nullptr},
    {"is_quantized", never, nullptr, "Whether the elements are quantized.", nullptr},
    {"is_nested", never, nullptr, "Whether it is a list of tensors.", nullptr},
    {"is_mkldnn", never, nullptr, "Whether the layout is that of oneDNN.", nullptr},
    {"is_mps", never, nullptr, "Whether it lives on a Metal device.", nullptr},
    {"is_xpu", never, nullptr, "Whether it lives on an XPU.", nullptr},
    {"is_ipu", never, nullptr, "Whether it lives on an IPU.", nullptr},
    {"is_maia", never, nullptr, "Whether it lives on a MAIA device.", nullptr},
    {"is_mtia", never, nullptr, "Whether it lives on an MTIA device.", nullptr},
    {"is_vulkan", never, nullptr, "Whether it lives on a Vulkan device.", nullptr},
    {"is_xla", never, nullptr, "Whether it lives on an XLA device.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---- methods
// --------------------------------------------------------------------------------------------------------------
PyObject* sizes_or_one(PyObject* o, PyObject* args, PyObject* kwargs, bool strides) {
  PyObject* dim = Py_None;
  static const char* names[] = {"dim", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &dim)) return nullptr;
  return translated(
      [&]() -> PyObject* {
        const Tensor& t = tensor_of(o);
        const IntSpan values = strides ? t.strides() : t.sizes();
        if (dim == Py_None) return strides ? int_tuple(values) : size_object(values);
        const long long d = PyUnicode_Check(dim) ? dims_named(*t.impl(), dim)[0] : PyLong_AsLongLong(dim);
        if (d == -1 && PyErr_Occurred()) throw PythonError();
        TL_CHECK(t.dim() > 0, Index, "Dimension specified as ", static_cast<int64_t>(d),
                 " but tensor has no dimensions");
        TL_CHECK(d >= -t.dim() && d < t.dim(), Index, "Dimension out of range (expected to be in range of [",
                 -t.dim(), ", ", t.dim() - 1, "], but got ", static_cast<int64_t>(d), ")");
        return PyLong_FromLongLong(values[d < 0 ? d + t.dim() : d]);
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* size(PyObject* o, PyObject* args, PyObject* kwargs) { return sizes_or_one(o, args, kwargs, false); }
PyObject* stride(PyObject* o, PyObject* args, PyObject* kwargs) {
  return sizes_or_one(o, args, kwargs, true);
}
PyObject* dim(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).dim()); }
PyObject* numel(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).numel()); }
PyObject* element_size(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).itemsize()); }
PyObject* storage_offset(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).offset()); }
PyObject* hides_batch_(PyObject* o, PyObject*) { return PyBool_FromLong(hides_batch(tensor_of(o))); }
bool asks_handler(PyObject* o) {
  return Py_TYPE(o) != g_tensor_type && (impl_of(o)->bits.load(std::memory_order_relaxed) & kAsksHandlerBit);
}
PyObject* metadata(const char* name, PyObject* o, PyObject* args, PyObject* kwargs);
// Whether a tensor says that it has no element.
bool says_empty(PyObject* o) {
  if (asks_handler(o)) {
    const PyRef count(metadata("plain_numel", o, nullptr, nullptr));
    if (PyErr_Occurred()) throw PythonError();
    if (count.get()) return PyObject_Not(count.get());
  }
  return tensor_of(o).numel() == 0;
}
PyObject* data_ptr(PyObject* o, PyObject*) {
  return get([&] {
    const Tensor& t = tensor_of(o);
    if (!is_hollow(t)) check_has_memory(t);
    // No element, no address; nor has one what stands for others.
    return PyLong_FromVoidPtr(says_empty(o) || is_hollow(t) ? nullptr : t.data());
  });
}
PyObject* is_contiguous_(PyObject* o, PyObject* args, PyObject* kwargs) {
  PyObject* format = nullptr;
  static const char* names[] = {"memory_format", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O!", const_cast<char**>(names), g_memory_format_type,
                                   &format))
    return nullptr;
  return translated(
      [&]() -> PyObject* {
        const Tensor& t = tensor_of(o);
        const auto f = format ? static_cast<MemoryFormat>(reinterpret_cast<EnumObject*>(format)->value)
                              : MemoryFormat::Contiguous;
        if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve)
          return PyBool_FromLong(t.is_contiguous());
        const int64_t rank = f == MemoryFormat::ChannelsLast ? 4 : 5;
        return PyBool_FromLong(t.dim() == rank && is_channels_last(t.sizes(), t.strides()));
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* is_complex_(PyObject* o, PyObject*) { return PyBool_FromLong(is_complex(tensor_of(o).dtype())); }
PyObject* is_floating_(PyObject* o, PyObject*) { return PyBool_FromLong(is_floating(tensor_of(o).dtype())); }
PyObject* is_signed_(PyObject* o, PyObject*) { return PyBool_FromLong(!is_unsigned(tensor_of(o).dtype())); }
PyObject* is_inference_(PyObject* o, PyObject*) {
  return PyBool_FromLong(impl_of(o)->has(TensorImpl::Inference));
}
PyObject* is_view_(PyObject* o, PyObject*) { return PyBool_FromLong(impl_of(o)->base != nullptr); }
template <TensorImpl::Flag mark>
PyObject* is_marked(PyObject* o, PyObject*) {
  return PyBool_FromLong(tensor_of(o)->has(mark));
}
PyObject* false_method(PyObject*, PyObject*) { Py_RETURN_FALSE; }
PyObject* get_device_index(PyObject* o, PyObject*) { return PyLong_FromLong(tensor_of(o).device().index); }
PyObject* is_set_to(PyObject* o, PyObject* other) {
  if (!is_tensor(other))
    return PyErr_Format(PyExc_TypeError, "is_set_to(): argument 'tensor' must be Tensor, not %s",
                        Py_TYPE(other)->tp_name);
  const Tensor &a = tensor_of(o), &b = tensor_of(other);
  return PyBool_FromLong(
      a.storage() == b.storage() && a.offset() == b.offset() && a->conj_neg_bits() == b->conj_neg_bits() &&
      std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.strides(), b.strides()));
}

PyMethodDef kMethods[] = {
    {"size", method(size), METH_VARARGS | METH_KEYWORDS,
     "size($self, dim=None)\n--\n\nThe sizes, or one of them."},
    {"stride", method(stride), METH_VARARGS | METH_KEYWORDS,
     "stride($self, dim=None)\n--\n\nThe strides in elements, or one of them."},
    {"dim", dim, METH_NOARGS, "dim($self)\n--\n\nThe number of dimensions."},
    {"ndimension", dim, METH_NOARGS, "ndimension($self)\n--\n\nThe number of dimensions."},
    {"numel", numel, METH_NOARGS, "numel($self)\n--\n\nThe number of elements."},
    {"nelement", numel, METH_NOARGS, "nelement($self)\n--\n\nThe number of elements."},
    {"element_size", element_size, METH_NOARGS, "element_size($self)\n--\n\nBytes of one element."},
    {"storage_offset", storage_offset, METH_NOARGS,
     "storage_offset($self)\n--\n\nElements in the storage before the first one."},
    {"data_ptr", data_ptr, METH_NOARGS, "data_ptr($self)\n--\n\nThe address of the first element."},
    {"is_contiguous", method(is_contiguous_), METH_VARARGS | METH_KEYWORDS,
     "is_contiguous($self, memory_format=None)\n--\n\nWhether the elements lie in that "
     "order without gaps."},
    {"is_complex", is_complex_, METH_NOARGS, "is_complex($self)\n--\n\nWhether the elements are complex."},
    {"is_floating_point", is_floating_, METH_NOARGS,
     "is_floating_point($self)\n--\n\nWhether the elements are floating-point numbers."},
    {"is_signed", is_signed_, METH_NOARGS, "is_signed($self)\n--\n\nWhether the elements may be negative."},
    {"is_inference", is_inference_, METH_NOARGS,
     "is_inference($self)\n--\n\nWhether it was made under inference_mode."},
    {"_hides_batch", hides_batch_, METH_NOARGS,
     "_hides_batch($self)\n--\n\nWhether it stands for a batch of vmap, and has no values that can be asked "
     "for."},
    {"_is_view", is_view_, METH_NOARGS, "_is_view($self)\n--\n\nWhether it is a view of another tensor."},
    {"is_conj", is_marked<TensorImpl::Conjugated>, METH_NOARGS,
     "is_conj($self)\n--\n\nWhether the elements are conjugated when they are read."},
    {"is_neg", is_marked<TensorImpl::Negated>, METH_NOARGS,
     "is_neg($self)\n--\n\nWhether the elements are negated when they are read."},
    {"is_pinned", false_method, METH_VARARGS,
     "is_pinned($self, device=None)\n--\n\nFalse: no accelerator is present."},
    {"is_shared", false_method, METH_NOARGS,
     "is_shared($self)\n--\n\nWhether other processes see the memory."},
    {"get_device", get_device_index, METH_NOARGS,
     "get_device($self)\n--\n\nThe index of the device; -1 on the CPU."},
    {"is_set_to", is_set_to, METH_O,
     "is_set_to($self, tensor)\n--\n\nWhether both are the same view of the same memory."},
    {"item", item, METH_NOARGS, "item($self)\n--\n\nThe one element as a Python number."},
    {"tolist", tolist, METH_NOARGS, "tolist($self)\n--\n\nThe elements as nested lists of Python numbers."},
    {"__complex__", to_complex_number, METH_NOARGS, nullptr},
    {"__rtruediv__", reflected_quotient, METH_O | METH_COEXIST,
     "__rtruediv__($self, value, /)\n--\n\nReturn value/self."},
    {nullptr, nullptr, 0, nullptr},
};

// ---- the rest
// -------------------------------------------------------------------------------------------------------------
PyObject* repr(PyObject* o) {
  if (wants_override(o)) return override_method("__repr__", o);
  return translated([&] { return run_python(PyObject_CallOneArg, helper("repr"), o); },
                    static_cast<PyObject*>(nullptr));
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return translated(
      [&]() -> PyObject* {
        const Py_ssize_t n = PyTuple_GET_SIZE(args);
        PyRef all = checked(PyTuple_New(n + 1));
        PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(type)));
        for (Py_ssize_t i = 0; i < n; ++i)
          PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
        return run_python(PyObject_Call, helper("new"), all.get(), kwargs);
      },
      static_cast<PyObject*>(nullptr));
}

int accept_init(PyObject*, PyObject*, PyObject*) { return 0; }

// The answer of an override, held to what Python asks of `__len__`.
Py_ssize_t length_of(PyObject* answer) {
  const Py_ssize_t n = PyNumber_AsSsize_t(answer, PyExc_OverflowError);
  if (n >= 0 || PyErr_Occurred()) return n < 0 ? -1 : n;
  PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
  return -1;
}

Py_ssize_t length(PyObject* o) {
  if (wants_override(o)) {
    const PyRef answer(override_method("__len__", o));
    return answer ? length_of(answer.get()) : -1;
  }
  return translated(
      [&]() -> Py_ssize_t {
        TL_CHECK(tensor_of(o).dim() > 0, Type, "len() of a 0-d tensor");
        return tensor_of(o).size(0);
      },
      Py_ssize_t{-1});
}

// An override may return a tensor, which is iterated in its turn.
PyObject* iterate(PyObject* o) {
  if (Py_EnterRecursiveCall(" while iterating over a tensor")) return nullptr;
  PyObject* made = translated(
      [&]() -> PyObject* {
        TL_CHECK(tensor_of(o).dim() > 0, Type, "iteration over a 0-d tensor");
        PyRef parts = checked(run_python(PyObject_CallMethod, o, "unbind", "i", 0));
        return PyObject_GetIter(parts.get());
      },
      static_cast<PyObject*>(nullptr));
  Py_LeaveRecursiveCall();
  return made;
}

// ---- what a handler is asked for
// What the tensor's handler says in place of what is stored; NULL without an exception: nothing.
PyObject* metadata(const char* name, PyObject* o, PyObject* args, PyObject* kwargs) {
  return translated(
      [&]() -> PyObject* {
        PyRef none = checked(PyTuple_New(0));
        PyRef made = checked(run_python(PyObject_CallFunction, helper("metadata"), "sOOO", name, o,
                                        args ? args : none.get(), kwargs ? kwargs : Py_None));
        return made.get() == Py_NotImplemented ? nullptr : made.release();
      },
      static_cast<PyObject*>(nullptr));
}

// ---- the tables with overrides before them
// ------------------------------------------------------------------------------
PyObject* get_property(PyObject* o, void* original) {
  const auto& property = *static_cast<PyGetSetDef*>(original);
  if (asks_handler(o) && !wants_override(o)) [[unlikely]] {
    PyObject* made = metadata(property.name, o, nullptr, nullptr);
    if (made || PyErr_Occurred()) return made;
  }
  return wants_override(o) ? override_property(property.name, o) : property.get(o, nullptr);
}

PyGetSetDef* overridable_properties() {
  static PyGetSetDef table[std::size(kGetset)];
  for (size_t i = 0; kGetset[i].name; ++i) {
    const bool asks = std::strcmp(kGetset[i].name, "__dict__") != 0;
    table[i] = asks ? asking(kGetset[i]) : kGetset[i];
    if (asks) table[i].get = get_property;
  }
  return table;
}

// Entry points know no closure, so there is one for each row of the table and way of calling.
template <size_t row>
struct OverridableMethod {
  static PyObject* plain(PyObject* o, PyObject* arg) {
    if (!wants_override(o)) {
      if (asks_handler(o) && !arg) [[unlikely]] {
        PyObject* made = metadata(kMethods[row].ml_name, o, nullptr, nullptr);
        if (made || PyErr_Occurred()) return made;
      }
      return kMethods[row].ml_meth(o, arg);
    }
    if (kMethods[row].ml_flags == METH_VARARGS) return override_method(kMethods[row].ml_name, o, arg);
    PyRef more(arg ? PyTuple_Pack(1, arg) : PyTuple_New(0));
    return more ? override_method(kMethods[row].ml_name, o, more.get()) : nullptr;
  }
  static PyObject* keywords(PyObject* o, PyObject* args, PyObject* kwargs) {
    if (wants_override(o)) return override_method(kMethods[row].ml_name, o, args, kwargs);
    if (asks_handler(o)) [[unlikely]] {
      PyObject* made = metadata(kMethods[row].ml_name, o, args, kwargs);
      if (made || PyErr_Occurred()) return made;
    }
    return reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(kMethods[row].ml_meth))(
        o, args, kwargs);
  }
  static PyMethodDef definition() {
    PyMethodDef d = kMethods[row];
    if (!d.ml_name) return d;
    d.ml_meth = d.ml_flags & METH_KEYWORDS ? method(keywords) : plain;
    return d;
  }
};

template <size_t... rows>
auto method_table(std::index_sequence<rows...>) {
  return std::array<PyMethodDef, sizeof...(rows)>{OverridableMethod<rows>::definition()...};
}
auto& overridable_methods() {
  static auto table = method_table(std::make_index_sequence<std::size(kMethods)>());
  return table;
}

}  // namespace

void set_python_helper(const char* name, PyObject* function) {
  Py_XSETREF(helpers()[name], Py_NewRef(function));
}

namespace {
// The number protocol: the language's operators.
void add_number_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot more[] = {
      {Py_nb_add, slot(binary<Add>)},
      {Py_nb_subtract, slot(binary<Sub>)},
      {Py_nb_multiply, slot(binary<Mul>)},
      {Py_nb_true_divide, slot(binary<Div>)},
      {Py_nb_floor_divide, slot(binary<FloorDiv>)},
      {Py_nb_remainder, slot(binary<Mod>)},
      {Py_nb_power, slot(power<Pow>)},
      {Py_nb_matrix_multiply, slot(binary<MatMul>)},
      {Py_nb_and, slot(binary<And>)},
      {Py_nb_or, slot(binary<Or>)},
      {Py_nb_xor, slot(binary<Xor>)},
      {Py_nb_lshift, slot(binary<LShift>)},
      {Py_nb_rshift, slot(binary<RShift>)},
      {Py_nb_negative, slot(unary<Neg>)},
      {Py_nb_positive, slot(positive)},
      {Py_nb_absolute, slot(unary<Abs>)},
      {Py_nb_invert, slot(unary<Invert>)},
      {Py_nb_inplace_add, slot(binary<IAdd>)},
      {Py_nb_inplace_subtract, slot(binary<ISub>)},
      {Py_nb_inplace_multiply, slot(binary<IMul>)},
      {Py_nb_inplace_true_divide, slot(binary<IDiv>)},
      {Py_nb_inplace_floor_divide, slot(binary<IFloorDiv>)},
      {Py_nb_inplace_remainder, slot(binary<IMod>)},
      {Py_nb_inplace_power, slot(power<IPow>)},
      {Py_nb_inplace_and, slot(binary<IAnd>)},
      {Py_nb_inplace_or, slot(binary<IOr>)},
      {Py_nb_inplace_xor, slot(binary<IXor>)},
      {Py_nb_inplace_lshift, slot(binary<ILShift>)},
      {Py_nb_inplace_rshift, slot(binary<IRShift>)},
      {Py_nb_bool, slot(truth)},
      {Py_nb_float, slot(to_float)},
      {Py_nb_int, slot(to_int)},
      {Py_nb_index, slot(to_index)},
  };
  slots.insert(slots.end(), std::begin(more), std::end(more));
}
}  // namespace

void add_tensor_slots(std::vector<PyType_Slot>& slots) {
  add_number_slots(slots);
  const PyType_Slot more[] = {
      {Py_tp_richcompare, slot(compare)},
      {Py_tp_hash, slot(hash)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_new, slot(make)},
      {Py_tp_init, slot(accept_init)},
      {Py_tp_iter, slot(iterate)},
      {Py_mp_length, slot(length)},
      {Py_mp_subscript, slot(get_item)},
      {Py_mp_ass_subscript, slot(set_item)},
      {Py_tp_getset, overridable_properties()},
      {Py_tp_methods, overridable_methods().data()},
      {Py_bf_getbuffer, slot(get_buffer)},
      {Py_bf_releasebuffer, slot(release_buffer)},
  };
  slots.insert(slots.end(), std::begin(more), std::end(more));
}

}  // namespace tl::bind
