// Results as Python objects: tensors, numbers, lists, and named tuple types made once for each operator name.
#include "bind/result.h"

#include <structseq.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "bind/argument_to_python.h"
#include "bind/error.h"
#include "bind/symbols.h"
#include "bind/tensor_object.h"
#include "bind/types.h"

namespace tl::bind {

namespace {
PyObject* tensor_tuple(TlValue& v) {
  std::vector<Tensor> tensors = TakeResult<std::vector<Tensor>>::take(v);
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, tensors[i] ? wrap(std::move(tensors[i])) : Py_NewRef(Py_None));
  return tuple.release();
}

// One result a line, as the reference writes them.
PyObject* named_repr(PyObject* o) {
  const char* name = std::strrchr(Py_TYPE(o)->tp_name, '.') + 1;
  PyRef text = checked(PyUnicode_FromFormat("torch.return_types.%s(\n", name));
  const Py_ssize_t n = PyTuple_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i)
    text = checked(PyUnicode_FromFormat("%U%s=%R%s", text.get(), Py_TYPE(o)->tp_members[i].name,
                                        PyTuple_GET_ITEM(o, i), i + 1 < n ? ",\n" : ")"));
  return text.release();
}

PyTypeObject* make_named_tuple_type(const Operator& op, const char* name) {
  std::vector<PyStructSequence_Field> fields;
  for (int i = 0; i < op.info.n_rets; ++i) fields.push_back({op.info.rets[i].name, nullptr});
  fields.push_back({nullptr, nullptr});
  const std::string full = cat("tl_core.base.return_types.", name);
  const std::string doc = cat("What `", name, "` returns.");
  PyStructSequence_Desc desc = {full.c_str(), doc.c_str(), fields.data(), op.info.n_rets};
  PyTypeObject* type = PyStructSequence_NewType(&desc);
  if (!type) throw PythonError();
  type->tp_repr = [](PyObject* o) {
    return translated([&] { return named_repr(o); }, static_cast<PyObject*>(nullptr));
  };
  return type;
}

// The named tuple that operators of one name share; made when first needed and kept. `ops.aten.frexp.Tensor`
// calls by the overload's name, and returns what `frexp` does.
PyTypeObject* named_tuple_type(const Operator& op, const char* name) {
  static auto* by_operator = new std::unordered_map<const Operator*, PyTypeObject*>;
  static auto* by_name = new std::unordered_map<std::string, PyTypeObject*>;
  PyTypeObject*& type = (*by_operator)[&op];
  if (type) return type;
  const std::string base(name, std::strcspn(name, "."));
  PyTypeObject*& shared = (*by_name)[base];
  if (!shared) shared = make_named_tuple_type(op, base.c_str());
  return type = shared;
}

bool named(const Operator& op) {
  return op.info.n_rets > 1 && !op.added && op.info.rets[0].name[0] != '\0' && op.info.rets[0].name[0] != 'o';
}
std::string base_name(const Operator& op) {
  return std::string(op.info.name, std::strcspn(op.info.name, "."));
}
}  // namespace

std::vector<std::string> named_results() {
  std::vector<std::string> names;
  for (size_t i = 0; i < num_operators(); ++i)
    if (named(*operator_at(i))) names.push_back(base_name(*operator_at(i)));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

PyObject* named_result(const std::string& name) {
  for (size_t i = 0; i < num_operators(); ++i) {
    const Operator& op = *operator_at(i);
    if (named(op) && base_name(op) == name)
      return Py_NewRef(reinterpret_cast<PyObject*>(named_tuple_type(op, name.c_str())));
  }
  return Py_NewRef(Py_None);
}

PyObject* scalar_to_python(const Scalar& s) {
  if (s.is_bool()) return Py_NewRef(s.to_bool() ? Py_True : Py_False);
  if (s.is_above_int64()) return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(s.to_int()));
  if (s.is_int()) return PyLong_FromLongLong(s.to_int());
  if (s.is_float()) return PyFloat_FromDouble(s.to_double());
  return PyComplex_FromDoubles(s.to_complex().re, s.to_complex().im);
}

// As handlers get the same value among the arguments.
static PyObject* as_argument(TlValue& v) {
  PyObject* result = argument_to_python(nullptr, v);
  release(v);
  return result;
}

PyObject* detail::other_to_python(TlValue& v) {
  switch (v.tag) {
    case TL_NONE:
      return Py_NewRef(Py_None);
    case TL_TENSOR_LIST:
      return tensor_tuple(v);
    case TL_BOOL:
    case TL_INT:
    case TL_FLOAT:
      if (PyObject* symbol = symbol_of_result(v)) return symbol;
      return scalar_to_python(Scalar::from(v));
    case TL_COMPLEX:
      return scalar_to_python(TakeResult<Scalar>::take(v));
    case TL_DTYPE:
      return Py_NewRef(dtype_object(dtype_from_abi(v.u.i)));
    case TL_DEVICE:
      return device_object(device_from_abi(v.u.i));
    case TL_LAYOUT:
      return Py_NewRef(layout_object(static_cast<Layout>(v.u.i)));
    case TL_INT_LIST: {
      PyObject* tuple = int_tuple(Unbox<IntSpan>::get(v));
      release(v);
      return tuple;
    }
    case TL_STRING: {
      PyObject* text = PyUnicode_FromStringAndSize(static_cast<const char*>(v.u.p), v.len);
      release(v);
      return text;
    }
    case TL_OBJECT:
      return static_cast<PyObject*>(const_cast<void*>(v.u.p));
    case TL_MEMORY_FORMAT:
    case TL_GENERATOR:
    case TL_STORAGE:
    case TL_STREAM:
    case TL_CAPSULE:
    case TL_BOOL_LIST:
    case TL_FLOAT_LIST:
    case TL_SCALAR_LIST:
    case TL_STRING_LIST:
      return as_argument(v);
    default:
      fail(ErrorKind::Type, "a result with the tag ", static_cast<int>(v.tag), " has no Python form");
  }
}

PyObject* detail::several_to_python(const Operator& op, const char* name, TlValue* rets, int n_rets) {
  if (n_rets == 0) return Py_NewRef(Py_None);
  const bool with_names = named(op);
  PyRef tuple = checked(with_names ? PyStructSequence_New(named_tuple_type(op, name)) : PyTuple_New(n_rets));
  for (int i = 0; i < n_rets; ++i) {
    PyObject* item = to_python(rets[i]);
    if (with_names)
      PyStructSequence_SetItem(tuple.get(), i, item);
    else
      PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple.release();
}

}  // namespace tl::bind
