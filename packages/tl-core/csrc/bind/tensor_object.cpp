// The tensor object: tied weakly to its TensorImpl, and revived where C++ still holds that when it dies.
#include "bind/tensor_object.h"

#include "bind/error.h"
#include "bind/python_dispatch.h"
#include "bind/tensor_slots.h"
#include "tensor/python_hook.h"
#include "tensor/slots.h"

namespace tl::bind {

PyTypeObject* g_tensor_type = nullptr;

namespace {
// ---- memory of plain tensors, kept while the GIL guards it ------------------------------------------------
#if defined(TL_NO_FREELISTS) || defined(Py_GIL_DISABLED)
constexpr int kFreeLimit = 0;
#else
constexpr int kFreeLimit = 256;
#endif
TensorObject* g_free[kFreeLimit + 1];
int g_free_count = 0;

TensorObject* new_object(PyTypeObject* type) {
  if (type == g_tensor_type && g_free_count > 0) {
    TensorObject* o = g_free[--g_free_count];
    _Py_NewReference(reinterpret_cast<PyObject*>(o));
    return o;
  }
  auto* o = reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
  if (!o) throw PythonError();
  // A tensor without attributes refers to no Python object: the collector need not visit it.
  if (type == g_tensor_type) PyObject_GC_UnTrack(o);
  return o;
}

void free_object(TensorObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == g_tensor_type && g_free_count < kFreeLimit) {
    o->impl = nullptr;
    g_free[g_free_count++] = o;  // keeps its reference to the type
    return;
  }
  type->tp_free(o);
  Py_DECREF(type);
}

// ---- lifetime ---------------------------------------------------------------------------------------------
bool has_identity(TensorObject* o) { return o->dict || o->weak || Py_TYPE(o) != g_tensor_type; }

// The object dies while C++ still holds the tensor: what hangs on it must be there when it comes back.
bool revive(TensorObject* o) {
  TensorImpl* t = o->impl;
  if (!t || t->refs.load(std::memory_order_acquire) == 1 || !has_identity(o)) return false;
  _Py_NewReference(reinterpret_cast<PyObject*>(o));
  t->set(TensorImpl::OwnsPython, true);
  if (!PyObject_GC_IsTracked(reinterpret_cast<PyObject*>(o))) PyObject_GC_Track(o);
  t->release();
  return true;
}

void dealloc(PyObject* self) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  if (revive(o)) return;
  if (o->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  if (TensorImpl* t = o->impl) {
    o->impl = nullptr;
    t->py = nullptr;
    t->release();
  }
  free_object(o);
}

// The tensor died and owned its object: called without the GIL, outside every lock.
void drop_owned_object(TensorImpl& t) {
  auto* o = reinterpret_cast<TensorObject*>(t.py);
  t.py = nullptr;
  // Also while Python ends, where the last run of the collector visits the object.
  if (!Py_IsInitialized()) return void(o->impl = nullptr);
  const WithGil lock;
  o->impl = nullptr;
  Py_DECREF(reinterpret_cast<PyObject*>(o));
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  // What hangs on the tensor is reachable through this object alone only if nobody else holds the tensor.
  if (o->impl && o->impl->refs.load(std::memory_order_relaxed) == 1 && !o->impl->has(TensorImpl::OwnsPython))
    return traverse_slots(*o->impl, reinterpret_cast<TlVisit>(reinterpret_cast<void*>(visit)), arg);
  return 0;
}

int clear(PyObject* self) {
  auto* o = reinterpret_cast<TensorObject*>(self);
  Py_CLEAR(o->dict);
  if (o->impl && o->impl->refs.load(std::memory_order_relaxed) == 1) break_slot_cycles(*o->impl);
  return 0;
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(self, name, value);
  if (status == 0 && reinterpret_cast<TensorObject*>(self)->dict && !PyObject_GC_IsTracked(self))
    PyObject_GC_Track(self);
  return status;
}

// Whoever asks for the attributes may put any object into them: from then on the collector visits the tensor.
PyObject* get_dict(PyObject* self, void*) {
  PyObject* dict = PyObject_GenericGetDict(self, nullptr);
  if (dict && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return dict;
}
int set_dict(PyObject* self, PyObject* value, void*) {
  const int status = PyObject_GenericSetDict(self, value, nullptr);
  if (status == 0 && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return status;
}
PyGetSetDef kDict = {"__dict__", get_dict, set_dict, "The attributes that programs have set.", nullptr};

PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
}  // namespace

PyObject* wrap(Tensor t) {
  TensorImpl* impl = t.impl();
  if (auto* o = reinterpret_cast<TensorObject*>(impl->py)) {
    if (impl->has(
            TensorImpl::OwnsPython)) {  // the object takes over our handle and hands out the impl's reference
      impl->set(TensorImpl::OwnsPython, false);
      t.detach_handle();
      return reinterpret_cast<PyObject*>(o);
    }
    return Py_NewRef(reinterpret_cast<PyObject*>(o));
  }
  return wrap_as(std::move(t), g_tensor_type);
}

PyObject* wrap_as(Tensor t, PyTypeObject* type) {
  TL_CHECK(!t->py, Runtime, "Creating a new Tensor subclass ", type->tp_name,
           " but the raw Tensor object is already associated to a python object of type ",
           Py_TYPE(reinterpret_cast<PyObject*>(t->py))->tp_name);
  TensorObject* o = new_object(type);
  o->impl = t.detach_handle();
  o->impl->py = reinterpret_cast<PyObject*>(o);
  if (type != g_tensor_type) join_python_layer(*o->impl, type);
  return reinterpret_cast<PyObject*>(o);
}

void swap_contents(PyObject* a, PyObject* b) {
  if (a == b) return;
  auto *x = reinterpret_cast<TensorObject*>(a), *y = reinterpret_cast<TensorObject*>(b);
  for (const TensorObject* o : {x, y})
    TL_CHECK(
        o->impl->refs.load(std::memory_order_relaxed) == 1, Runtime, "Cannot swap t", o == x ? "1" : "2",
        " because something else than its Python object holds it: a graph that has saved it, or a view of "
        "it. Run backward or delete them first");
  std::swap(x->impl, y->impl);
  std::swap(x->dict, y->dict);
  x->impl->py = a;
  y->impl->py = b;
  for (PyObject* o : {a, b})
    if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

void add_tensor_type(PyObject* module) {
  set_python_release(drop_owned_object);
  std::vector<PyType_Slot> slots = {
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_clear, slot(clear)},
      {Py_tp_setattro, slot(set_attribute)},
      {Py_tp_members, kMembers},
      {Py_tp_doc,
       const_cast<char*>(
           "An array of elements of one type on one device, with a shape and strides.\n\n"
           "Made by `tensor`, `zeros`, `arange` and their like; operators are functions and methods.")},
  };
  add_tensor_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"tl_core.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  g_tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (g_tensor_type) {
    g_tensor_type->tp_name =
        "Tensor";  // Python's own errors call it as users do; `__module__` is set already
    PyRef dict = checked(PyDescr_NewGetSet(g_tensor_type, &kDict));
    checked(PyDict_SetItemString(g_tensor_type->tp_dict, "__dict__", dict.get()));
  }
  if (!g_tensor_type ||
      PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(g_tensor_type)) < 0)
    throw PythonError();
}

}  // namespace tl::bind
