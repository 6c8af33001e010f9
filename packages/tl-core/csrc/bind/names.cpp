// Dimension names: conversion from and to Python, and dims that arguments give by name.
#include "bind/names.h"

#include "bind/error.h"
#include "bind/function.h"
#include "bind/tensor_object.h"
#include "dispatch/names.h"
#include "ops.h"

namespace tl::bind {

namespace {
std::string_view text_of(PyObject* o) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw PythonError();
  return {text, static_cast<size_t>(size)};
}

Name name_argument(PyObject* o) {
  if (o == Py_None) return nullptr;
  TL_CHECK(PyUnicode_Check(o), Type, "names must be str or None, but got ", Py_TYPE(o)->tp_name);
  return name_of(text_of(o));
}

PyObject* names_to_python(const TensorImpl& t) {
  const Names names = names_of(t);
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
  for (size_t i = 0; i < names.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), i,
                     names[i]
                         ? checked(PyUnicode_FromStringAndSize(names[i]->data(), names[i]->size())).release()
                         : Py_NewRef(Py_None));
  return tuple.release();
}

PyObject* not_a_tensor(PyObject* o) {
  return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(o)->tp_name);
}

PyObject* get_names(PyObject*, PyObject* o) {
  if (!is_tensor(o)) return not_a_tensor(o);
  return translated([&] { return names_to_python(*impl_of(o)); }, static_cast<PyObject*>(nullptr));
}

PyObject* get_has_names(PyObject*, PyObject* o) {
  if (!is_tensor(o)) return not_a_tensor(o);
  return PyBool_FromLong(has_names(*impl_of(o)));
}

Names wanted_names(const Tensor& t, PyObject* o) { return o == Py_None ? Names(t.dim()) : names_argument(o); }

// `_set_names(tensor, names)`: in place.
PyObject* assign_names(PyObject*, PyObject* args) {
  PyObject *o, *names;
  if (!PyArg_ParseTuple(args, "O!O", g_tensor_type, &o, &names)) return nullptr;
  return translated(
      [&] {
        set_names(*impl_of(o), wanted_names(tensor_of(o), names));
        return Py_NewRef(o);
      },
      static_cast<PyObject*>(nullptr));
}

// `_renamed(tensor, names)`: a view with other names, in the graph.
PyObject* renamed(PyObject*, PyObject* args) {
  PyObject *o, *names;
  if (!PyArg_ParseTuple(args, "O!O", g_tensor_type, &o, &names)) return nullptr;
  return translated(
      [&] {
        const Tensor& t = tensor_of(o);
        const Names wanted = wanted_names(t, names);
        check_can_have_names(*t.impl(), wanted);
        const NamesOff off;
        Tensor view = ops::view(t, t.sizes());
        set_names(*view.impl(), wanted);
        return wrap(std::move(view));
      },
      static_cast<PyObject*>(nullptr));
}

PyMethodDef kNameFunctions[] = {
    {"_names_of", get_names, METH_O, "_names_of(tensor)\n--\n\nA name or None a dimension."},
    {"_has_names", get_has_names, METH_O, "_has_names(tensor)\n--\n\nWhether a dimension has a name."},
    {"_set_names", assign_names, METH_VARARGS,
     "_set_names(tensor, names)\n--\n\nNames the dimensions, in place."},
    {"_renamed", renamed, METH_VARARGS,
     "_renamed(tensor, names)\n--\n\nA view with other names, or with none."},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

Names names_argument(PyObject* o) {
  TL_CHECK(PyTuple_Check(o) || PyList_Check(o), Type,
           "names must be a tuple or list of str and None, but got ", Py_TYPE(o)->tp_name);
  PyRef items = checked(PySequence_Fast(o, "names"));
  Names names;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    names.push_back(name_argument(PySequence_Fast_GET_ITEM(items.get(), i)));
  return names;
}

void name_result(PyObject* result, PyObject* names) {
  TL_CHECK(is_tensor(result), Type, "names= is for functions that return one tensor");
  TensorImpl& t = *impl_of(result);
  const Names wanted = names_argument(names);
  TL_CHECK(!has_names(t) || wanted == names_of(t), Runtime, "Name mismatch: the tensor has names ",
           shown(names_of(t)), ", but names=", shown(wanted));
  set_names(t, wanted);
}

void refuse_unnamed(PyObject* o) {
  TL_CHECK(o != Py_None, Runtime, "Please look up dimensions by name, got: name = None.");
}

bool gives_names(PyObject* o) {
  if (PyUnicode_Check(o)) return true;
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (PyUnicode_Check(PySequence_Fast_GET_ITEM(o, i))) return true;
  return false;
}

std::vector<int64_t> dims_named(const TensorImpl& t, PyObject* o) {
  const auto one = [&](PyObject* item) -> int64_t {
    if (PyUnicode_Check(item)) return dim_named(t, text_of(item));
    refuse_unnamed(item);
    const int64_t d = PyLong_AsLongLong(item);
    if (d == -1 && PyErr_Occurred()) throw PythonError();
    return d;
  };
  if (PyUnicode_Check(o)) return {one(o)};
  std::vector<int64_t> dims;
  for (Py_ssize_t i = 0, n = PySequence_Fast_GET_SIZE(o); i < n; ++i)
    dims.push_back(one(PySequence_Fast_GET_ITEM(o, i)));
  return dims;
}

void add_names(PyObject* module) { checked(PyModule_AddFunctions(module, kNameFunctions)); }

}  // namespace tl::bind
