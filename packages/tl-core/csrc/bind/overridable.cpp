// Overridable functions: a vectorcall wrapper looks for handlers among the arguments before the call.
#include "bind/overridable.h"

#include <structmember.h>

#include <vector>

#include "bind/error.h"
#include "bind/override.h"
#include "bind/parse.h"
#include "bind/tensor_object.h"
#include "dispatch/python.h"
#include "dispatch/thread_state.h"

namespace tl::bind {

namespace {
struct Overridable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* written;  // the function at the end of the chain of `__wrapped__`, which programs inspect
  PyObject* dict;
  PyObject* weak;
  PyObject* spellings;  // other names of the function's keywords, to its own; null if it has none of them
  int spreads;          // whether one sequence behind the first argument stands for several arguments
};

Overridable& overridable_of(PyObject* o) { return *reinterpret_cast<Overridable*>(o); }

// ---- the call ---------------------------------------------------------------------------------------------
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

// ---- numpy's names of keywords ----------------------------------------------------------------------------
struct Spelling {
  const char *numpy, *own;
};
constexpr Spelling kSpellings[] = {{"axis", "dim"}, {"keepdims", "keepdim"}};

PyRef written_function(PyObject* function) {
  PyRef written = PyRef::share(function);
  while (PyFunction_Check(written.get())) {
    PyRef inner(PyObject_GetAttrString(written.get(), "__wrapped__"));
    if (!inner) break;
    written = std::move(inner);
  }
  PyErr_Clear();
  return written;
}

PyRef parameters_of(PyObject* function) {
  PyObject* code = PyFunction_GetCode(function);
  const auto& counts = *reinterpret_cast<PyCodeObject*>(code);
  const PyRef locals = checked(PyObject_GetAttrString(code, "co_varnames"));
  return checked(PyTuple_GetSlice(locals.get(), 0, counts.co_argcount + counts.co_kwonlyargcount));
}

bool contains(const PyRef& names, const char* name) {
  const PyRef text = checked(PyUnicode_FromString(name));
  const int found = PySequence_Contains(names.get(), text.get());
  checked(found);
  return found;
}

PyRef spellings_of(PyObject* function) {
  PyRef spellings;
  if (!PyFunction_Check(function)) return spellings;
  const PyRef parameters = parameters_of(function);
  for (const auto& [numpy, own] : kSpellings) {
    if (!contains(parameters, own) || contains(parameters, numpy)) continue;
    if (!spellings) spellings = checked(PyDict_New());
    const PyRef text = checked(PyUnicode_FromString(own));
    checked(PyDict_SetItemString(spellings.get(), numpy, text.get()));
  }
  const PyRef more(PyObject_GetAttrString(function, "__keyword_names__"));  // keyword_names.py sets it
  if (!more) PyErr_Clear();
  if (more && !spellings) spellings = checked(PyDict_New());
  if (more) checked(PyDict_Update(spellings.get(), more.get()));
  return spellings;
}

// The keywords as the function calls them.
PyRef respelled(PyObject* spellings, PyObject* kwnames) {
  PyRef changed;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject* own = PyDict_GetItemWithError(spellings, PyTuple_GET_ITEM(kwnames, i));
    if (!own) {
      if (PyErr_Occurred()) throw PythonError();
      continue;
    }
    if (!changed) {
      changed = checked(PyTuple_New(PyTuple_GET_SIZE(kwnames)));
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k)
        PyTuple_SET_ITEM(changed.get(), k, Py_NewRef(PyTuple_GET_ITEM(kwnames, k)));
    }
    checked(PyTuple_SetItem(changed.get(), i, Py_NewRef(own)));
  }
  return changed ? changed : PyRef::share(kwnames);
}

PyObject* call_respelled(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return translated(
      [&] {
        const Overridable& o = overridable_of(self);
        const PyRef names = respelled(o.spellings, kwnames);
        return run_python(PyObject_Vectorcall, o.function, args, nargsf, names.get());
      },
      static_cast<PyObject*>(nullptr));
}

// Handlers and tracers see the elements as arguments.
bool is_spread(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return overridable_of(self).spreads && nargs == 2 && PyUnicode_Check(args[0]) &&
         (PyList_Check(args[1]) || PyTuple_Check(args[1]));
}

PyObject* call_spread(PyObject* self, PyObject* const* args, PyObject* kwnames) {
  return translated(
      [&] {
        TL_CHECK(!kwnames, Type, "a sequence of operands takes no keywords beside it");
        const PyRef rest = checked(PySequence_Tuple(args[1]));
        std::vector<PyObject*> all{args[0]};
        all.insert(all.end(), &PyTuple_GET_ITEM(rest.get(), 0),
                   &PyTuple_GET_ITEM(rest.get(), 0) + PyTuple_GET_SIZE(rest.get()));
        return run_python(PyObject_Vectorcall, self, all.data(), all.size(), nullptr);
      },
      static_cast<PyObject*>(nullptr));
}

// ---- modes and classes that see it whole ------------------------------------------------------------------
bool comes_with_handler(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!is_plain(Py_TYPE(args[i])) && is_tensor(args[i]) && tensor_of(args[i])->all_bits() & kPythonBit)
      return true;
  return false;
}

bool handlers_see_operators(PyObject* const* args, Py_ssize_t n) {
  if (!python_layers_installed()) [[likely]]
    return false;
  constexpr uint64_t kAbove = (uint64_t{1} << TL_LAYER_TRACE) | (uint64_t{1} << TL_LAYER_TRANSFORMS);
  const auto& here = thread_locals();
  if (here.included & kAbove || here.excluded & kPythonBit) return false;
  return here.included & kPythonBit || comes_with_handler(args, n);
}

// By the function's attribute `__as_operator__`, if it has one, which gives NotImplemented where handlers get
// the parts.
[[gnu::cold, gnu::noinline]] PyObject* call_as_operator(PyObject* self, PyObject* const* args, size_t nargsf,
                                                        PyObject* kwnames) {
  PyObject* whole = PyDict_GetItemString(overridable_of(self).dict, "__as_operator__");
  return whole ? run_python(PyObject_Vectorcall, whole, args, nargsf, kwnames) : Py_NewRef(Py_NotImplemented);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (is_spread(self, args, nargs)) [[unlikely]]
    return call_spread(self, args, kwnames);
  const Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  bool taken = override_mode_active();
  for (Py_ssize_t i = 0; !taken && i < n; ++i) taken = argument_overrides(args[i]);
  if (taken) [[unlikely]]
    return call_handler(self, args, nargs, kwnames);
  if (handlers_see_operators(args, n)) [[unlikely]] {
    PyObject* made = call_as_operator(self, args, nargsf, kwnames);
    if (made != Py_NotImplemented) return made;
    Py_DECREF(made);
  }
  if (kwnames && overridable_of(self).spellings) return call_respelled(self, args, nargsf, kwnames);
  return run_python(PyObject_Vectorcall, overridable_of(self).function, args, nargsf, kwnames);
}

// ---- what makes it a function -----------------------------------------------------------------------------
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"function", "spreads", nullptr};
  PyObject* function;
  int spreads = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", const_cast<char**>(keywords), &function, &spreads))
    return nullptr;
  if (!PyCallable_Check(function))
    return PyErr_Format(PyExc_TypeError, "overridable() expects a function, got %s",
                        Py_TYPE(function)->tp_name);
  return translated(
      [&] {
        PyRef self = checked(type->tp_alloc(type, 0));
        Overridable& o = overridable_of(self.get());
        o.vectorcall = call;
        o.function = Py_NewRef(function);
        o.written = written_function(function).release();
        o.dict = checked(PyDict_New()).release();
        checked(PyDict_SetItemString(o.dict, "__wrapped__", function));
        o.spellings = spellings_of(o.written).release();
        o.spreads = spreads;
        return self.release();
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* bound(PyObject* self, PyObject* object, PyObject*) {
  return object ? PyMethod_New(self, object) : Py_NewRef(self);
}

// What programs ask of functions: that of the written one, unless it was set on the wrapper.
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
  if (is_of_function(name)) return PyObject_GetAttr(o.written, name);
  if (PyObject* found = PyObject_GenericGetAttr(self, name)) return found;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  return PyObject_GetAttr(o.function, name);
}

// pydoc reads it without `tp_getattro`, and ignores the text of a type.
PyObject* doc_of(PyObject* self, void*) { return PyObject_GetAttrString(self, "__doc__"); }

int set_doc(PyObject* self, PyObject* text, void*) {
  PyObject* dict = overridable_of(self).dict;
  return text ? PyDict_SetItemString(dict, "__doc__", text) : PyDict_DelItemString(dict, "__doc__");
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
  Py_VISIT(overridable_of(self).written);
  Py_VISIT(overridable_of(self).dict);
  Py_VISIT(overridable_of(self).spellings);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(overridable_of(self).function);
  Py_CLEAR(overridable_of(self).written);
  Py_CLEAR(overridable_of(self).dict);
  Py_CLEAR(overridable_of(self).spellings);
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
PyGetSetDef g_properties[] = {
    {"__doc__", doc_of, set_doc, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
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
      {Py_tp_getset, g_properties},
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
  return run_python(PyObject_CallOneArg, reinterpret_cast<PyObject*>(g_type), function);
}

}  // namespace tl::bind
