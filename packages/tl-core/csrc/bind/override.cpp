// __torch_function__: hands a function, its arguments and keywords to Python's handler while it is on.
#include "bind/override.h"

#include <utility>

#include "bind/tensor_object.h"

namespace tl::bind {

namespace {
PyObject* g_handler = nullptr;
thread_local bool g_disabled = false;
}  // namespace

constinit thread_local int detail::t_override_modes __attribute__((tls_model("initial-exec"))) = 0;

bool overrides_disabled() { return g_disabled; }
bool set_overrides_disabled(bool on) { return std::exchange(g_disabled, on); }
void set_override_handler(PyObject* handler) { Py_XSETREF(g_handler, Py_NewRef(handler)); }
void set_override_modes(int count) { detail::t_override_modes = count; }

PyObject* call_override(PyObject* function, const PyArgs& in) {
  const Py_ssize_t shift = in.self ? 1 : 0;
  PyRef args = checked(PyTuple_New(in.nargs + shift));
  if (in.self) PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(in.self));
  for (Py_ssize_t i = 0; i < in.nargs; ++i) PyTuple_SET_ITEM(args.get(), i + shift, Py_NewRef(in.args[i]));
  PyRef kwargs = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < in.n_keywords(); ++i)
    checked(PyDict_SetItem(kwargs.get(), in.keyword(i), in.keyword_value(i)));
  return call_override(function, args.get(), kwargs.get());
}

PyObject* call_override(PyObject* function, PyObject* args, PyObject* kwargs) {
  if (kwargs) return run_python(PyObject_CallFunctionObjArgs, g_handler, function, args, kwargs, nullptr);
  PyRef none = checked(PyDict_New());
  return run_python(PyObject_CallFunctionObjArgs, g_handler, function, args, none.get(), nullptr);
}

namespace {
PyRef tensor_attribute(const char* name) {
  return checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(g_tensor_type), name));
}
}  // namespace

PyObject* override_method(const char* name, PyObject* self, PyObject* more_args, PyObject* kwargs) {
  return translated(
      [&] {
        PyRef first = checked(PyTuple_Pack(1, self));
        PyRef args = more_args ? checked(PySequence_Concat(first.get(), more_args)) : std::move(first);
        return call_override(tensor_attribute(name).get(), args.get(), kwargs);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* override_property(const char* name, PyObject* self) {
  return translated(
      [&] {
        PyRef getter = checked(PyObject_GetAttrString(tensor_attribute(name).get(), "__get__"));
        PyRef args = checked(PyTuple_Pack(1, self));
        return call_override(getter.get(), args.get(), nullptr);
      },
      static_cast<PyObject*>(nullptr));
}

int override_setter(const char* name, PyObject* self, PyObject* value) {
  return translated(
      [&] {
        PyRef attribute = tensor_attribute(name);
        PyRef setter = checked(PyObject_GetAttrString(attribute.get(), value ? "__set__" : "__delete__"));
        PyRef args = checked(value ? PyTuple_Pack(2, self, value) : PyTuple_Pack(1, self));
        const PyRef none = checked(call_override(setter.get(), args.get(), nullptr));
        return 0;
      },
      -1);
}

namespace {
PyObject* get_asked(PyObject* self, void* original) {
  const auto& property = *static_cast<PyGetSetDef*>(original);
  if (wants_override(self)) [[unlikely]]
    return override_property(property.name, self);
  return property.get(self, property.closure);
}

int set_asked(PyObject* self, PyObject* value, void* original) {
  const auto& property = *static_cast<PyGetSetDef*>(original);
  if (wants_override(self)) [[unlikely]]
    return override_setter(property.name, self, value);
  return property.set(self, value, property.closure);
}
}  // namespace

PyGetSetDef asking(PyGetSetDef& property) {
  return {property.name, get_asked, property.set ? set_asked : nullptr, property.doc, &property};
}

}  // namespace tl::bind
