// Tensors from nested sequences: shape and dtype are inferred in a first pass, elements stored in a second.
#include "bind/from_python.h"

#include <algorithm>
#include <cstring>

#include "bind/buffer.h"
#include "bind/error.h"
#include "bind/names.h"
#include "bind/parse.h"
#include "bind/symbols.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "dispatch/lazy_bits.h"
#include "dispatch/python.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/warn.h"
#include "tensor/shrunk.h"

namespace tl::bind {

namespace {
bool is_sequence(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o)) return true;
  return PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !is_tensor(o);
}

constexpr size_t kMaxDepth = 64;  // of nested sequences, which may hold themselves

// ---- shape and type of nested sequences -------------------------------------------------------------------
DimVector shape_of(PyObject* o) {
  DimVector shape;
  PyRef held;
  while (is_sequence(o)) {
    const Py_ssize_t n = PySequence_Size(o);
    if (n < 0) throw PythonError();
    TL_CHECK(shape.size() < kMaxDepth, Value, "too many dimensions '", Py_TYPE(o)->tp_name, "'");
    shape.push_back(n);
    if (n == 0) break;
    PyRef first(PySequence_GetItem(o, 0));
    if (!first) {
      PyErr_Clear();
      fail(ErrorKind::Value, "could not determine the shape of object type '", Py_TYPE(o)->tp_name, "'");
    }
    held = std::move(first);
    o = held.get();
    TL_CHECK(!PyUnicode_Check(o), Value, "too many dimensions 'str': a tensor stores numbers");
    if (is_tensor(o) && tensor_of(o).numel() == 1) break;  // counts as a number
    const auto array = tensor_like_array(o);
    if (array || is_tensor(o)) {
      for (int64_t s : (array ? *array : tensor_of(o)).sizes()) shape.push_back(s);
      break;
    }
  }
  return shape;
}

DType dtype_of_number(PyObject* o) {
  if (PyFloat_CheckExact(o)) return default_dtype();
  if (PyBool_Check(o)) return DType::Bool;
  if (PyLong_Check(o)) return DType::Int64;
  if (PyComplex_Check(o)) return to_complex(default_dtype());
  if (is_tensor(o)) return tensor_of(o).dtype();
  if (auto d = dtype_of_numpy_scalar(o)) return *d;
  TlValue v;
  Scratch scratch;
  bool ignored = false;
  static constexpr TlArgInfo kScalar{"data", TL_ARG_OPERAND, 0, 0, 0, 0, 0};
  if (!PyUnicode_Check(o) && parse_value(o, kScalar, v, scratch, ignored))
    return scalar_dtype(Scalar::from(v));
  if (PyUnicode_Check(o)) fail(ErrorKind::Type, "new(): invalid data type 'str'");
  fail(ErrorKind::Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
}

struct Inferred {
  DType dtype = DType::Bool;
  bool defined = false;
};

void infer(PyObject* o, Inferred& out, size_t depth = 0) {
  const auto array = tensor_like_array(o);
  if (array || !is_sequence(o)) {
    const DType d = array ? array->dtype() : dtype_of_number(o);
    out = {out.defined ? promote(out.dtype, d) : d, true};
    return;
  }
  PyRef items = checked(PySequence_Fast(o, "expected a sequence"));
  PyObject** data = PySequence_Fast_ITEMS(items.get());
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  TL_CHECK(depth < kMaxDepth, Value, "too many dimensions '", Py_TYPE(o)->tp_name, "'");
  for (Py_ssize_t i = 0; i < n; ++i) {
    TL_CHECK(data[i] != o, Type, "new(): self-referential lists are incompatible");
    infer(data[i], out, depth + 1);
  }
}

// ---- filling ----------------------------------------------------------------------------------------------
// A scalar of NumPy of the kind of the dtype; complex64 is no subclass of Python's complex.
bool store_numpy_scalar(PyObject* o, DType dtype, char* out) {
  const auto own = dtype_of_numpy_scalar(o);
  if (own && is_floating(*own) && is_floating(dtype)) {
    Scalar(PyFloat_AsDouble(o)).store(dtype, out);
    return true;
  }
  if (!own || !is_complex(*own) || !is_complex(dtype)) return false;
  const Py_complex c = PyComplex_AsCComplex(o);
  if (PyErr_Occurred()) throw PythonError();
  const double parts[] = {c.real, c.imag};
  Scalar::from({TL_COMPLEX, 0, {.p = const_cast<double*>(parts)}}).store(dtype, out);
  return true;
}

void store_number(PyObject* o, DType dtype, char* out) {
  if (dtype == DType::Float32 && PyFloat_CheckExact(o)) {
    *reinterpret_cast<float*>(out) = static_cast<float>(PyFloat_AS_DOUBLE(o));
    return;
  }
  if (dtype == DType::Int64 && PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    TL_CHECK(!overflow, Value, "Overflow when unpacking long long");
    *reinterpret_cast<int64_t*>(out) = v;
    return;
  }
  const bool truth = dtype == DType::Bool && (PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o));
  if (truth || (PyLong_Check(o) && is_floating(dtype))) {  // of any size
    const double v = truth ? PyObject_IsTrue(o) : PyLong_AsDouble(o);
    if (PyErr_Occurred()) throw PythonError();
    Scalar(v).store(dtype, out);
    return;
  }
  const auto array = tensor_like_array(o);
  if (array || is_tensor(o)) {
    ops::_local_scalar_dense(array ? *array : tensor_of(o)).store(dtype, out);
    return;
  }
  if (store_numpy_scalar(o, dtype, out)) return;
  TlValue v;
  Scratch scratch;
  bool ignored = false;
  static constexpr TlArgInfo kScalar{"data", TL_ARG_OPERAND, 0, 0, 0, 0, 0};
  TL_CHECK(!PyUnicode_Check(o) && parse_value(o, kScalar, v, scratch, ignored), Type,
           "must be real number, not ", Py_TYPE(o)->tp_name);
  const Scalar s = Scalar::from(v);
  TL_CHECK(!s.is_complex() || is_complex(dtype), Type, "can't convert complex to ",
           is_floating(dtype) ? "float" : "int");
  if (is_integral(dtype, true)) s.check_fits(dtype);
  s.store(dtype, out);
}

class Filler {
 public:
  Filler(const Tensor& t) : t_(t), size_(t.itemsize()) {}

  void fill(PyObject* o, int64_t d, char* out) {
    if (d == t_.dim()) return store_number(o, t_.dtype(), out);
    if (is_tensor(o)) return fill_tensor(tensor_of(o), d, out);
    if (const auto array = tensor_like_array(o)) return fill_tensor(*array, d, out);
    TL_CHECK(is_sequence(o), Type, "expected sequence of length ", t_.size(d), " at dim ", d, " (got '",
             Py_TYPE(o)->tp_name, "')");
    PyRef items = checked(PySequence_Fast(o, "expected a sequence"));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
    TL_CHECK(n == t_.size(d), Value, "expected sequence of length ", t_.size(d), " at dim ", d, " (got ",
             static_cast<int64_t>(n), ")");
    PyObject** data = PySequence_Fast_ITEMS(items.get());
    const int64_t step = t_.stride(d) * size_;
    for (Py_ssize_t i = 0; i < n; ++i) fill(data[i], d + 1, out + i * step);
  }

 private:
  void fill_tensor(const Tensor& part, int64_t d, char* out) {
    TL_CHECK(!part.is_sparse(), NotImplemented,
             "a list with tensors of the layout torch.sparse_coo cannot be made a tensor");
    const IntSpan rest = t_.sizes().subspan(static_cast<size_t>(d));
    TL_CHECK(std::ranges::equal(part.sizes(), rest), Value, "expected sequence of length ", t_.size(d),
             " at dim ", d, " (got ", part.dim() ? part.size(0) : 0, ")");
    TL_CHECK(!part.is_meta(), Runtime,
             "a list with tensors on meta, which have no elements, cannot be made a tensor");
    check_inside_storage(*part.impl());
    const int64_t offset = (out - t_.ptr<char>()) / size_;
    copy_elements(on_storage(StoragePtr::share(t_.storage()), t_.dtype(), rest,
                             t_.strides().subspan(static_cast<size_t>(d)), offset),
                  resolved(part.device().is_cpu() ? part : ops::to_device(part, Device{}, std::nullopt)));
  }

  const Tensor& t_;
  int64_t size_;
};

Tensor from_nested(PyObject* data, std::optional<DType> dtype) {
  const DimVector shape = shape_of(data);
  if (!dtype) {
    Inferred inferred;
    infer(data, inferred);
    dtype = inferred.defined ? inferred.dtype : default_dtype();
  }
  Tensor t = empty(shape, {*dtype, {}});
  if (t.numel() || shape.empty()) Filler(t).fill(data, 0, t.ptr<char>());
  return t;
}

// The elements of a storage, whose class says how they are read; nothing if it is none.
std::optional<Tensor> tensor_on_storage(PyObject* o, std::optional<DType> dtype) {
  static PyObject* const method = PyUnicode_InternFromString("_as_tensor");
  PyTypeObject* const type = Py_TYPE(o);
  if (type == &PyList_Type || type == &PyTuple_Type || type == &PyFloat_Type || type == &PyLong_Type ||
      !_PyType_Lookup(type, method))
    return std::nullopt;
  PyObject* const wanted = dtype ? dtype_object(*dtype) : Py_None;
  PyRef t = checked(run_python(PyObject_CallMethodOneArg, o, method, wanted));
  return tensor_of(t.get());
}

void warn_of_data(PyObject* data) {
  static WarnOnce arrays;
  if (is_tensor(data)) {
    warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).");
  } else if (PyList_Check(data) && PyList_GET_SIZE(data) && is_array(PyList_GET_ITEM(data, 0))) {
    arrays(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow: each is read on its own. Make "
        "the list one array with numpy.array() before it becomes a tensor.");
  }
}

// A copy with memory of its own, detached from everything.
Tensor fresh_tensor(PyObject* data, std::optional<DType> dtype, Device device) {
  Tensor t;
  if (is_tensor(data)) {
    NoGradGuard no_grad;
    t = ops::_to_copy(tensor_of(data), {.dtype = dtype, .device = device});
    return t;
  }
  if (auto storage = tensor_on_storage(data, dtype))
    t = ops::clone(*storage);
  else if (auto array = tensor_from_array(data))
    t = dtype && *dtype != array->dtype() ? to_dtype(*array, *dtype) : ops::clone(*array);
  else
    t = from_nested(data, dtype);
  return device.is_cpu() ? t : ops::_to_copy(t, {.device = device});
}

struct TensorArguments {
  PyObject* data = nullptr;
  std::optional<DType> dtype;
  std::optional<Device> device;
  PyObject* requires_grad = nullptr;
  PyObject* names = nullptr;

  void keyword(PyObject* name, PyObject* o) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!std::strcmp(text, "data"))
      data = o;
    else if (!std::strcmp(text, "dtype"))
      set_dtype(o);
    else if (!std::strcmp(text, "device"))
      set_device(o);
    else if (!std::strcmp(text, "requires_grad"))
      requires_grad = o;
    else if (!std::strcmp(text, "names"))
      names = o == Py_None ? nullptr : o;
    else
      TL_CHECK(!std::strcmp(text, "pin_memory"), Type, "tensor() got an unexpected keyword argument '", text,
               "'");
  }
  void set_dtype(PyObject* o) {
    DType d;
    if (o == Py_None) return;
    TL_CHECK(to_dtype(o, d), Type, "tensor(): argument 'dtype' must be torch.dtype, not ",
             Py_TYPE(o)->tp_name);
    dtype = d;
  }
  void set_device(PyObject* o) {
    Device d;
    if (o == Py_None) return;
    TL_CHECK(to_device(o, d), Type, "tensor(): argument 'device' must be torch.device, not ",
             Py_TYPE(o)->tp_name);
    device = d;
  }
  bool to_dtype(PyObject* o, DType& d) { return bind::to_dtype(o, d); }
};
}  // namespace

Tensor tensor_from_python(PyObject* data, std::optional<DType> dtype, Device device) {
  if (is_tensor(data)) return tensor_of(data);
  return fresh_tensor(data, dtype, device);
}

namespace {
// What copies the data is no part of the program.
Tensor without_modes(PyObject* data, std::optional<DType> dtype, Device device) {
  const AllModesOff off;
  return fresh_tensor(data, dtype, device);
}
}  // namespace

namespace {
bool watched() { return !modes_of(TL_LAYER_PYTHON).empty() || !modes_of(TL_LAYER_TRACE).empty(); }

bool holds_symbol(PyObject* o, size_t depth = 0) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) return is_symbolic(o);
  if (depth >= kMaxDepth) return false;
  PyObject* const* items = PySequence_Fast_ITEMS(o);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(o),
                     [&](PyObject* item) { return holds_symbol(item, depth + 1); });
}

// Of symbolic numbers, by operators that the modes see.
PyObject* tensor_of_symbols(PyObject* data, std::optional<DType> dtype, Device device) {
  PyRef module = checked(import_module("tl_core.symbolic.data"));
  PyRef on = checked(device_object(device));
  return run_python(PyObject_CallMethod, module.get(), "tensor_of_symbols", "OOO", data,
                    dtype ? dtype_object(*dtype) : Py_None, on.get());
}
}  // namespace

// A level of gradients or of functions without writes wraps the tensor, so that the function may write to it.
Tensor lifted(Tensor made) { return watched() || in_transform() ? ops::lift_fresh(made) : made; }

bool in_transform() { return included_layers(thread_locals()) >> TL_LAYER_TRANSFORMS & 1; }

Tensor detached_alias(const Tensor& t) {
  constexpr uint64_t kSeen = kPythonBit | uint64_t{1} << TL_LAYER_TRANSFORMS;
  return t->all_bits() & kSeen ? ops::detach(t) : alias(t);
}

PyObject* recorded_from(PyObject* tensor, PyObject* requires_grad) {
  const DType dtype = impl_of(tensor)->dtype;
  TL_CHECK(requires_grad == Py_False || is_floating(dtype) || is_complex(dtype), Runtime,
           "Only Tensors of floating point and complex dtype can require gradients");
  // The method refuses its call inside of a transform, where programs create modules, too.
  const int on = PyObject_IsTrue(requires_grad);
  if (on < 0 || run_python(PyObject_SetAttrString, tensor, "requires_grad", on ? Py_True : Py_False) < 0)
    throw PythonError();
  return Py_NewRef(tensor);
}

PyObject* py_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return translated(
      [&]() -> PyObject* {
        TensorArguments in;
        TL_CHECK(nargs <= 1, Type, "tensor() takes 1 positional argument but ", static_cast<int64_t>(nargs),
                 " were given");
        if (nargs == 1) in.data = args[0];
        for (Py_ssize_t i = 0, n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0; i < n; ++i)
          in.keyword(PyTuple_GET_ITEM(kwnames, i), args[nargs + i]);
        TL_CHECK(in.data, Type, "tensor() missing 1 required positional argument: \"data\"");
        warn_of_data(in.data);
        Device device =
            in.device.value_or(is_tensor(in.data) ? tensor_of(in.data).device() : default_device());
        PyRef t = watched() && holds_symbol(in.data)
                      ? checked(tensor_of_symbols(in.data, in.dtype, device))
                      : PyRef(wrap(lifted(without_modes(in.data, in.dtype, device))));
        if (in.names) name_result(t.get(), in.names);
        if (!in.requires_grad || in.requires_grad == Py_False) return t.release();
        return recorded_from(t.get(), in.requires_grad);
      },
      static_cast<PyObject*>(nullptr));
}

}  // namespace tl::bind
