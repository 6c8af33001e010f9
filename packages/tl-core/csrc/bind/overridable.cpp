#include "bind/overridable.h"

#include <structmember.h>

#include "bind/error.h"
#include "bind/override.h"
#include "bind/parse.h"
#include "bind/tensor_object.h"

namespace tl::bind {

namespace {
struct Overridable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weak;
};

Overridable& overridable_of(PyObject* o) { return *reinterpret_cast<Overridable*>(o); }

// ---- the call --------------------------------------------------------------------------------------------
bool is_plain(PyTypeObject* type) {
  return type == g_tensor_type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
         type == Py_TYPE(Py_None) || type == &PyUnicode_Type;
}

bool overrides(PyObject* o) { return !is_plain(Py_TYPE(o)) && detail::class_has_torch_function(Py_TYPE(o)); }

bool any_overrides(PyObject* const* objects, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i)
    if (overrides(objects[i])) return true;
  return false;
}

bool argument_overrides(PyObject* o) {
  if (is_plain(Py_TYPE(o))) return false;
  if (PyTuple_CheckExact(o)) return any_overrides(&PyTuple_GET_ITEM(o, 0), PyTuple_GET_SIZE(o));
  if (PyList_CheckExact(o))
    return any_overrides(reinterpret_cast<PyListObject*>(o)->ob_item, PyList_GET_SIZE(o));
  return detail::class_has_torch_function(Py_TYPE(o));
}

[[gnu::cold, gnu::noinline]] PyObject* call_handler(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                                    PyObject* kwnames) {
  return translated([&] { return call_override(self, PyArgs{nullptr, args, nargs, kwnames}); },
                    static_cast<PyObject*>(nullptr));
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  const Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  bool taken = override_mode_active();
  for (Py_ssize_t i = 0; !taken && i < n; ++i) taken = argument_overrides(args[i]);
  if (taken) [[unlikely]]
    return call_handler(self, args, nargs, kwnames);
  return PyObject_Vectorcall(overridable_of(self).function, args, nargsf, kwnames);
}

// ---- what makes it a function ----------------------------------------------------------------------------
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"function", nullptr};
  PyObject* function;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(keywords), &function))
    return nullptr;
  if (!PyCallable_Check(function))
    return PyErr_Format(PyExc_TypeError, "overridable() expects a function, got %s",
                        Py_TYPE(function)->tp_name);
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  Overridable& o = overridable_of(self);
  o.vectorcall = call;
  o.function = Py_NewRef(function);
  o.dict = PyDict_New();
  if (o.dict && PyDict_SetItemString(o.dict, "__wrapped__", function) == 0) return self;
  Py_DECREF(self);
  return nullptr;
}

PyObject* bound(PyObject* self, PyObject* object, PyObject*) {
  return object ? PyMethod_New(self, object) : Py_NewRef(self);
}

// What programs ask of functions: the wrapped one's, unless it was set on the wrapper.
bool is_of_function(PyObject* name) {
  static PyObject* const names = [] {
    PyObject* set = PyFrozenSet_New(nullptr);
    for (const char* n : {"__name__", "__qualname__", "__doc__", "__module__", "__class__", "__defaults__",
                          "__kwdefaults__", "__code__", "__globals__", "__closure__", "__annotations__"}) {
      const PyRef text(PyUnicode_InternFromString(n));
      if (text) PySet_Add(set, text.get());
    }
    return set;
  }();
  return PySet_Contains(names, name) == 1;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  const Overridable& o = overridable_of(self);
  if (PyObject* own = PyDict_GetItemWithError(o.dict, name)) return Py_NewRef(own);
  if (PyErr_Occurred()) return nullptr;
  if (is_of_function(name)) return PyObject_GetAttr(o.function, name);
  if (PyObject* found = PyObject_GenericGetAttr(self, name)) return found;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  return PyObject_GetAttr(o.function, name);
}

PyObject* name_of(PyObject* self) { return PyObject_GetAttrString(self, "__qualname__"); }

PyObject* repr(PyObject* self) {
  return translated(
      [&] {
        const PyRef name = checked(name_of(self));
        return PyUnicode_FromFormat("<function %U at %p>", name.get(), self);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* reduce(PyObject* self, PyObject*) { return name_of(self); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(overridable_of(self).function);
  Py_VISIT(overridable_of(self).dict);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(overridable_of(self).function);
  Py_CLEAR(overridable_of(self).dict);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (overridable_of(self).weak) PyObject_ClearWeakRefs(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overridable, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Overridable, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Overridable, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef g_methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* make_type() {
  static PyType_Slot slots[] = {
      {Py_tp_new, slot(make)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_clear, slot(clear)},
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_descr_get, slot(bound)},
      {Py_tp_getattro, slot(get_attribute)},
      {Py_tp_setattro, slot(PyObject_GenericSetAttr)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_members, g_members},
      {Py_tp_methods, g_methods},
      {0, nullptr},
  };
  static PyType_Spec spec = {"tl_core._C.overridable", sizeof(Overridable), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
                             slots};
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
}
}  // namespace

namespace {
PyTypeObject* g_type = nullptr;
}

void add_overridable_type(PyObject* module) {
  g_type = make_type();
  checked(PyModule_AddObjectRef(module, "overridable", reinterpret_cast<PyObject*>(g_type)));
}

PyObject* make_overridable(PyObject* function) {
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(g_type), function);
}

}  // namespace tl::bind
