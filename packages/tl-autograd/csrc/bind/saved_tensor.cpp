// A node's saved tensor as a Python object, on which hooks can be registered before it is read.
#include "bind/saved_tensor.h"

#include "bind/saved_hooks_functions.h"
#include "saved_hooks.h"

namespace tl::autograd {

namespace {
struct SavedTensorObject {
  PyObject_HEAD Node* node;  // owned
  TlValue* slot;
};
PyTypeObject* g_type = nullptr;

void dealloc(PyObject* self) {
  drop(reinterpret_cast<SavedTensorObject*>(self)->node);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden");
  return nullptr;
}

// The tensor in a slot that has no hooks yet, or the error that says why there is none.
Tensor unpacked(Node& node, const TlValue& slot) {
  NodeLock lock(node);
  if (node.is(Node::Released))
    raise(PyExc_RuntimeError,
          "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of "
          "the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
          "you need to backward through the graph a second time or if you need to access saved variables "
          "after calling backward.");
  if (slot.tag == kPacked)
    raise(PyExc_RuntimeError,
          "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair "
          "of hooks is allowed at a time.");
  if (slot.tag != TL_TENSOR)
    raise(PyExc_RuntimeError, "Calling register_hooks on a saved tensor with value None is forbidden");
  return Tensor::share(slot.u.t);
}

// register_hooks(pack_hook, unpack_hook)
PyObject* register_hooks(PyObject* self, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2 || !PyCallable_Check(args[0]) || !PyCallable_Check(args[1]))
      raise(
          PyExc_TypeError,
          "register_hooks(): incompatible function arguments: expected (pack_hook: Callable[[Tensor], Any], "
          "unpack_hook: Callable[[Any], Tensor])");
    auto& saved = *reinterpret_cast<SavedTensorObject*>(self);
    const Tensor tensor = unpacked(*saved.node, *saved.slot);
    TlValue packed = pack_with(args[0], args[1], tensor.get());
    try {
      unpacked(*saved.node, *saved.slot);  // the hook may have run a backward
    } catch (...) {
      forget(packed);
      throw;
    }
    std::swap(*saved.slot, packed);
    saved.node->set(Node::HoldsPacked);
    forget(packed);
    return Py_NewRef(Py_None);
  });
}

PyMethodDef kMethods[] = {
    {"register_hooks", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(register_hooks)), METH_FASTCALL,
     "register_hooks($self, pack_hook, unpack_hook, /)\n--\n\nKeeps what pack_hook(tensor) returns instead "
     "of the "
     "tensor; the backward gets unpack_hook of that."},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

PyRef saved_tensor(Node& node, TlValue& slot) {
  if (slot.tag == kList) {
    List& list = *static_cast<List*>(const_cast<void*>(slot.u.p));
    PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
    for (size_t i = 0; i < list.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), saved_tensor(node, list[i]).release());
    return tuple;
  }
  PyRef object = checked(g_type->tp_alloc(g_type, 0));
  node.retain();
  auto& saved = *reinterpret_cast<SavedTensorObject*>(object.get());
  saved.node = &node;
  saved.slot = &slot;
  return object;
}

void add_saved_tensor_type(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
      {Py_tp_methods, kMethods},
      {Py_tp_doc,
       const_cast<char*>(
           "A tensor that a node of the graph saved for the backward: its `_raw_saved_<name>`.\n\n"
           "Example:\n"
           "    >>> x = tl_core.tensor([3.0], requires_grad=True)\n"
           "    >>> y = x * x\n"
           "    >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t.tolist(), tl_core.tensor)\n"
           "    >>> y.grad_fn._saved_self.tolist()\n"
           "    [3.0]")},
      {0, nullptr}};
  static PyType_Spec spec = {"tl_autograd.SavedTensor", sizeof(SavedTensorObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  g_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  checked(PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(g_type)));
}

}  // namespace tl::autograd
