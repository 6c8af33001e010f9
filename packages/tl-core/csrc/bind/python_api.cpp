// The C tables as capsules: the operator interface and the bridge between tensors and Python objects.
#include "bind/python_api.h"

#include <memory>

#include "bind/dlpack_exchange.h"
#include "bind/error.h"
#include "bind/function.h"
#include "bind/overridable.h"
#include "bind/override.h"
#include "bind/parse.h"
#include "bind/python_frames.h"
#include "bind/result.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "c_abi/api.h"
#include "c_abi/extension_api.h"
#include "tl/python.h"
#include "tl/rules.h"

namespace tl {
extern const TlRules kRules;  // generated
}

namespace tl::bind {

namespace {
PyObject* api_wrap(TlTensor* t) {
  return translated([&] { return wrap(Tensor::adopt(reinterpret_cast<TensorImpl*>(t))); },
                    static_cast<PyObject*>(nullptr));
}
TlTensor* api_unwrap(PyObject* o) { return is_tensor(o) ? reinterpret_cast<TlTensor*>(impl_of(o)) : nullptr; }
PyObject* api_wrapper(TlTensor* t) { return reinterpret_cast<TensorImpl*>(t)->py; }

PyObject* api_from_value(TlValue* v) {
  return translated([&] { return to_python(*v); }, static_cast<PyObject*>(nullptr));
}

int api_to_value(PyObject* o, int kind, TlValue* out, void** scratch) {
  return translated(
      [&] {
        auto held = std::make_unique<Scratch>();
        bool overloaded = false;
        const TlArgInfo arg{"value", static_cast<uint8_t>(kind), 1, 0, 0, 0, 0};
        TL_CHECK(parse_value(o, arg, *out, *held, overloaded), Type, "expected ", kind_name(arg), ", got ",
                 Py_TYPE(o)->tp_name);
        *scratch = held.release();
        return 0;
      },
      -1);
}
void api_scratch_free(void* scratch) { delete static_cast<Scratch*>(scratch); }

PyObject* api_dtype(int64_t dtype) {
  return translated([&] { return dtype_object(dtype_from_abi(dtype)); }, static_cast<PyObject*>(nullptr));
}
PyObject* api_device(int64_t device) {
  return translated([&] { return device_object(device_from_abi(device)); }, static_cast<PyObject*>(nullptr));
}

int api_extend(PyMethodDef* methods, PyGetSetDef* getset) {
  return translated(
      [&] {
        for (PyMethodDef* m = methods; m && m->ml_name; ++m) {
          PyRef plain = checked(PyDescr_NewMethod(g_tensor_type, m));
          PyRef d = checked(make_overridable(plain.get()));
          checked(PyDict_SetItemString(g_tensor_type->tp_dict, m->ml_name, d.get()));
        }
        for (PyGetSetDef* g = getset; g && g->name; ++g) {
          PyRef d = checked(PyDescr_NewGetSet(g_tensor_type, new PyGetSetDef(asking(*g))));  // for good
          checked(PyDict_SetItemString(g_tensor_type->tp_dict, g->name, d.get()));
        }
        PyType_Modified(g_tensor_type);
        return 0;
      },
      -1);
}

static_assert(offsetof(TlPython, digest) == 15 * sizeof(void*));  // 1.0

TlPython g_table;

int calls_call(const TlOperator* op, const TlValue* args, TlValue* rets) {
  return call_from_python(*op, args, rets);
}
void calls_watch(TlPythonCallWatcher watcher, void* user) { t_watcher = {watcher, user}; }

const TlPythonCalls kCalls = {sizeof(TlPythonCalls), TL_API_MAJOR, TL_API_MINOR, calls_call, calls_watch};
}  // namespace

void add_python_api(PyObject* module) {
  g_table = {sizeof(TlPython), TL_API_MAJOR,     TL_API_MINOR,  g_tensor_type,       api_wrap,
             api_unwrap,       api_wrapper,      raise_pending, pending_from_python, api_from_value,
             api_to_value,     api_scratch_free, api_dtype,     api_device,          api_extend,
             tl_python_frames, TL_API_DIGEST};
  PyRef python = checked(PyCapsule_New(&g_table, TL_PYTHON_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(module, "python_v1", python.get()));
  PyRef api = checked(PyCapsule_New(reinterpret_cast<void*>(c_abi::get_api), TL_API_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(module, "api_v1", api.get()));
  PyRef rules = checked(PyCapsule_New(const_cast<TlRules*>(&kRules), TL_RULES_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(module, "rules_v1", rules.get()));
  PyRef extension =
      checked(PyCapsule_New(const_cast<TlExtension*>(c_abi::get_extension()), TL_EXTENSION_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(module, "extension_v1", extension.get()));
  PyRef calls = checked(PyCapsule_New(const_cast<TlPythonCalls*>(&kCalls), TL_PYTHON_CALLS_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(module, "python_calls_v1", calls.get()));
  add_dlpack_exchange();
}

}  // namespace tl::bind
