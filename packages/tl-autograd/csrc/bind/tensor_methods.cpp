// Autograd's part of the tensor type: `grad`, `requires_grad`, `grad_fn`, hooks as getters and methods.
#include "bind/tensor_methods.h"

#include "bind/backward.h"
#include "bind/hooks.h"
#include "bind/node_object.h"
#include "extra.h"
#include "leaf.h"
#include "levels/entry.h"
#include "levels/level.h"
#include "ops.h"
#include "view.h"
#include "view_origin.h"

namespace tl::autograd {

namespace {
// ---- grad -------------------------------------------------------------------------------------------------

Extra::Retained* retained(Edge e) {
  return e.node && e.node->extra ? e.node->extra->retains(e.output) : nullptr;
}

void warn_not_leaf() {
  checked(PyErr_WarnEx(PyExc_UserWarning,
                       "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                       ".grad attribute won't be "
                       "populated during autograd.backward(). If you indeed want the .grad field to be "
                       "populated for a non-leaf "
                       "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
                       "by mistake, make sure "
                       "you access the leaf Tensor instead.",
                       1));
}

PyObject* get_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Edge e = edge_of(tensor_of(self));
    if (const Leaf* leaf = as_leaf(e.node)) return wrapped(leaf->grad).release();
    if (const auto* r = retained(e)) return wrapped(r->grad).release();
    if (e.node) warn_not_leaf();
    return Py_NewRef(Py_None);
  });
}

std::string text_of(PyObject* o) {
  PyRef text = checked(PyObject_Str(o));
  return PyUnicode_AsUTF8(text.get());
}

// The type of a tensor's gradients; kAnyDtype: any.
int64_t grad_dtype_of(TlTensor* t) {
  const Leaf* leaf = as_leaf(edge_of(t).node);
  return leaf && leaf->grad_dtype != Leaf::kOwnDtype ? leaf->grad_dtype : api->tensor_dtype(t);
}

std::string name_of(int64_t dtype) { return text_of(bridge->dtype_object(dtype)); }

std::string sizes_text(TlTensor* t) {
  const int64_t* sizes = api->tensor_sizes(t);
  std::string text = "[";
  for (int d = 0; d < api->tensor_ndim(t); ++d) text += (d ? ", " : "") + std::to_string(sizes[d]);
  return text + "]";
}

void check_grad(TlTensor* t, TlTensor* g) {
  if (t == g) raise(PyExc_RuntimeError, "can't assign Variable as its own grad");
  const int64_t wanted = grad_dtype_of(t), got = api->tensor_dtype(g);
  if (wanted != Leaf::kAnyDtype && got != wanted)
    raise(PyExc_RuntimeError,
          "attempting to assign a gradient with dtype '" + name_of(got) + "' to a tensor with " +
              (wanted == api->tensor_dtype(t) ? "dtype '" : "grad_dtype '") + name_of(wanted) +
              "'. Please ensure that the gradient and the tensor have the same dtype");
  if (api->tensor_device(t) != api->tensor_device(g))
    raise(PyExc_RuntimeError,
          "attempting to assign a gradient located on device with another device than the tensor's. Please "
          "ensure that the gradient and the tensor are on the same device");
  if (!same_shape(t, static_cast<size_t>(api->tensor_ndim(g)), api->tensor_sizes(g)))
    raise(PyExc_RuntimeError, "attempting to assign a gradient of size '" + sizes_text(g) +
                                  "' to a tensor of size '" + sizes_text(t) +
                                  "'. Please ensure that the gradient and the tensor are the same size");
}

void store_grad(TlTensor* t, Tensor grad) {
  const Edge e = edge_of(t);
  if (e.node && !as_leaf(e.node)) {
    Extra& extra = extra_of(*e.node);
    if (auto* r = extra.retains(e.output))
      r->grad = std::move(grad);
    else
      extra.retained.push_back({e.output, std::move(grad)});
  } else if (e.node || grad) {
    leaf_of(t, false)->grad = std::move(grad);
  }
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    if (!value || value == Py_None) {
      store_grad(t, {});
      return 0;
    }
    TlTensor* g = bridge->unwrap(value);
    if (!g)
      raise(PyExc_TypeError,
            std::string("assigned grad expected to be a Tensor or None but got grad of type ") +
                Py_TYPE(value)->tp_name);
    set_grad_of(t, g);
    return 0;
  });
}

// ---- grad_dtype -------------------------------------------------------------------------------------------

void refuse_result(TlTensor* t, const char* what) {
  Node* node = edge_of(t).node;
  if (node && !as_leaf(node))
    raise(PyExc_RuntimeError, std::string("grad_dtype can only be ") + what + " on leaf tensors.");
}

PyObject* get_grad_dtype(PyObject* self, void*) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    refuse_result(t, "accessed");
    const int64_t dtype = grad_dtype_of(t);
    return Py_NewRef(dtype == Leaf::kAnyDtype ? Py_None : bridge->dtype_object(dtype));
  });
}

int64_t dtype_argument(PyObject* value) {
  if (value == Py_None) return Leaf::kAnyDtype;
  TlValue dtype;
  void* scratch = nullptr;
  if (!value || Py_TYPE(value) != Py_TYPE(bridge->dtype_object(TL_DTYPE_OF(TL_CODE_FLOAT, 32))) ||
      bridge->to_value(value, TL_ARG_DTYPE, &dtype, &scratch))
    raise(PyExc_RuntimeError, std::string("grad_dtype must be a torch.dtype or None, but got ") +
                                  (value ? Py_TYPE(value)->tp_name : "nothing"));
  return dtype.u.i;
}

int set_grad_dtype(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    const int64_t dtype = dtype_argument(value);
    refuse_result(t, "set");
    Leaf* leaf = leaf_of(t, false);
    if (leaf->grad && dtype != Leaf::kAnyDtype && api->tensor_dtype(leaf->grad.get()) != dtype)
      raise(PyExc_RuntimeError, "Cannot set grad_dtype to '" + name_of(dtype) +
                                    "' because there is already a gradient with dtype '" +
                                    name_of(api->tensor_dtype(leaf->grad.get())) +
                                    "'. Please clear the gradient (.grad = None) first.");
    leaf->grad_dtype = dtype;
    return 0;
  });
}

// ---- requires_grad, grad_fn -------------------------------------------------------------------------------

PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    return PyBool_FromLong(gradient_edge(t).node || stands_for_base(t));
  });
}

int set_requires_grad_property(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    if (!value || !PyBool_Check(value))
      raise(PyExc_RuntimeError, std::string("requires_grad must be a bool, got ") +
                                    (value ? Py_TYPE(value)->tp_name : "nothing"));
    set_requires_grad(tensor_of(self), value == Py_True);
    return 0;
  });
}

// Of methods that only recording outside of transforms heeds.
void refuse_inside_transform(const std::string& method, const std::string& hint = "") {
  const Level* top = top_beside_jvp();
  if (!top) return;
  raise(PyExc_RuntimeError,
        "You are attempting to call Tensor." + method + "()" + hint +
            " inside of a function being transformed by a functorch transform (level " +
            std::to_string(top->number) +
            "). This is unsupported, please attempt to use the functorch transforms (e.g. "
            "grad, vjp, jacrev, jacfwd, hessian) or call " +
            method + "() outside of a function being transformed instead.");
}

PyObject* requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"requires_grad", nullptr};
    int on = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", const_cast<char**>(names), &on))
      throw PythonError();
    if (on) refuse_inside_transform("requires_grad_", " (or perhaps using torch.autograd.functional.* APIs)");
    if (on && !is_differentiable(api->tensor_dtype(tensor_of(self))))
      raise(PyExc_RuntimeError,
            "only Tensors of floating point dtype can require gradients, or of complex dtype");
    set_requires_grad(tensor_of(self), on);
    return Py_NewRef(self);
  });
}

PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    check_unchanged(t);
    Node* node = edge_of(t).node;
    return PyBool_FromLong(!node || as_leaf(node));
  });
}

PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    check_unchanged(t);
    Node* node = edge_of(t).node;
    return node && !as_leaf(node) ? node_object(node).release() : Py_NewRef(Py_None);
  });
}

PyObject* get_output_nr(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromUnsignedLong(edge_of(tensor_of(self)).output); });
}

PyObject* detach_(PyObject* self, PyObject*) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    const Edge e = gradient_edge(t);
    if (e.node && api->tensor_view_base(t))
      raise(
          PyExc_RuntimeError,
          "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) "
          "for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and "
          "hence detach_() cannot be called on these gradients.");
    if (as_leaf(e.node))
      set_requires_grad(t, false);
    else if (e.node)
      clear_slot(t);
    if (in_transform() && levels().top->kind == LevelKind::Jvp) drop_tangent(t, *levels().top);
    return Py_NewRef(self);
  });
}

// ---- hooks ------------------------------------------------------------------------------------------------

PyObject* get_retains_grad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(retained(edge_of(tensor_of(self))) != nullptr); });
}

PyObject* retain_grad_method(PyObject* self, PyObject*) {
  return guarded([&] {
    refuse_inside_transform("retain_grad");
    retain_grad(tensor_of(self));
    return Py_NewRef(Py_None);
  });
}

PyObject* register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    const Edge e = gradient_edge(t);
    if (!e.node)
      raise(PyExc_RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
    PyRef handle = add_tensor_hook(*e.node, e.output, hook);
    track(t);
    return handle.release();
  });
}

PyObject* register_accumulated_hook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    TlTensor* t = tensor_of(self);
    const Edge e = gradient_edge(t);
    if (!e.node)
      raise(PyExc_RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
    if (!as_leaf(e.node))
      raise(PyExc_RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors");
    PyRef handle = add_hook(*e.node, HookKind::Accumulated, hook);
    track(t);
    return handle.release();
  });
}

// A mapping of hooks, or None: what unpickling and older programs give.
int set_backward_hooks(PyObject* self, PyObject* hooks, void*) {
  return guarded([&] {
    if (!hooks) raise(PyExc_RuntimeError, "_backward_hooks of a tensor can't be deleted");
    if (hooks != Py_None && !PyMapping_Check(hooks))
      raise(PyExc_TypeError,
            std::string("_backward_hooks must be a mapping or None, got ") + Py_TYPE(hooks)->tp_name);
    TlTensor* t = tensor_of(self);
    Edge e = edge_of(t);
    if (!e.node && hooks == Py_None) return 0;
    if (!e.node) e = {leaf_of(t, false), 0};
    extra_of(*e.node).set_tensor_hooks(e.output, hooks == Py_None ? nullptr : hooks);
    track(t);
    return 0;
  });
}

int refuse_grad_fn(PyObject*, PyObject* value, void*) {
  return guarded([&] {
    if (value != Py_None) raise(PyExc_RuntimeError, "_grad_fn can be set to None only");
    return 0;
  });
}

PyObject* get_backward_hooks(PyObject* self, void*) {
  return guarded([&] {
    const Edge e = edge_of(tensor_of(self));
    PyObject* dict = e.node && e.node->extra ? e.node->extra->tensor_hooks_of(e.output) : nullptr;
    return Py_NewRef(dict ? dict : Py_None);
  });
}

PyObject* get_accumulated_hooks(PyObject* self, void*) {
  return guarded([&] {
    const Leaf* leaf = as_leaf(edge_of(tensor_of(self)).node);
    PyObject* dict = leaf && leaf->extra ? leaf->extra->accumulated_hooks : nullptr;
    return Py_NewRef(dict ? dict : Py_None);
  });
}

PyMethodDef kMethods[] = {
    {"backward", method(tensor_backward), METH_FASTCALL | METH_KEYWORDS,
     "backward($self, gradient=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\nAdds the "
     "gradients of "
     "this tensor with respect to the "
     "leaves of its graph to their .grad; `gradient` is needed unless the tensor has one element."},
    {"requires_grad_", method(requires_grad_), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_($self, requires_grad=True)\n--\n\nSwitches the recording of operations on this leaf, in "
     "place."},
    {"detach_", detach_, METH_NOARGS,
     "detach_($self)\n--\n\nTakes the tensor out of its graph, making it a leaf."},
    {"retain_grad", retain_grad_method, METH_NOARGS,
     "retain_grad($self)\n--\n\nLets a tensor that is no leaf have its .grad filled by the backward."},
    {"register_hook", register_hook, METH_O,
     "register_hook($self, hook)\n--\n\nCalls hook(grad) when the gradient of this tensor was computed; what "
     "it returns replaces the gradient."},
    {"register_post_accumulate_grad_hook", register_accumulated_hook, METH_O,
     "register_post_accumulate_grad_hook($self, hook)\n--\n\nCalls hook(param) after .grad of this leaf was "
     "accumulated."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef kGetSet[] = {
    {"grad", get_grad, set_grad, "The gradient that backward has accumulated, or None.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad_property,
     "Whether gradients are computed for this tensor.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether the tensor was made by the user, not by a recorded operation.",
     nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node of the operation that made the tensor, or None.", nullptr},
    {"_grad_fn", get_grad_fn, refuse_grad_fn, nullptr, nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of grad_fn the tensor is.", nullptr},
    {"retains_grad", get_retains_grad, nullptr,
     "Whether retain_grad() was called on this tensor that is no leaf.", nullptr},
    {"_backward_hooks", get_backward_hooks, set_backward_hooks, nullptr, nullptr},
    {"_post_accumulate_grad_hooks", get_accumulated_hooks, nullptr, nullptr, nullptr},
    {"grad_dtype", get_grad_dtype, set_grad_dtype,
     "The element type that gradients of this leaf have: its own unless it is set; None for any.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
}  // namespace

void retain_grad(TlTensor* t) {
  const Edge e = gradient_edge(t);
  if (!e.node) raise(PyExc_RuntimeError, "can't retain_grad on Tensor that has requires_grad=False");
  if (as_leaf(e.node) || retained(e)) return;
  extra_of(*e.node).retained.push_back({e.output, {}});
}

Tensor grad_of(TlTensor* t) {
  const Edge e = edge_of(t);
  if (const Leaf* leaf = as_leaf(e.node)) return leaf->grad;
  const auto* r = retained(e);
  return r ? r->grad : Tensor();
}

void set_grad_of(TlTensor* t, TlTensor* grad) {
  if (grad) check_grad(t, grad);
  store_grad(t, Tensor::share(grad));
}

void extend_tensor_type() { checked(bridge->extend_tensor(kMethods, kGetSet)); }

}  // namespace tl::autograd
