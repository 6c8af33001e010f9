// Hooks on tensors and nodes: ordered dicts of callables that the engine calls before and after a node.
#include "bind/hooks.h"

#include <vector>

#include "engine.h"
#include "extra.h"
#include "leaf.h"
#include "ops.h"

namespace tl::autograd {

namespace {
PyObject* g_factory = nullptr;

PyRef new_dict() {
  static PyObject* type = nullptr;
  if (!type)
    type =
        checked(PyObject_GetAttrString(checked(import_module("collections")).get(), "OrderedDict")).release();
  return checked(run_python(PyObject_CallNoArgs, type));
}

PyRef add_to(PyObject* dict, PyObject* hook) {
  return checked(run_python(PyObject_CallFunctionObjArgs, g_factory, dict, hook, nullptr));
}

PyObject*& dict_of(Extra& extra, HookKind kind) {
  if (kind == HookKind::Pre) return extra.pre_hooks;
  return kind == HookKind::Post ? extra.post_hooks : extra.accumulated_hooks;
}
}  // namespace

void set_handle_factory(PyObject* factory) {
  Py_INCREF(factory);
  Py_XSETREF(g_factory, factory);
}

PyRef add_hook(Node& node, HookKind kind, PyObject* hook) {
  PyObject*& dict = dict_of(extra_of(node), kind);
  if (!dict) dict = new_dict().release();
  return add_to(dict, hook);
}

PyRef add_tensor_hook(Node& node, uint32_t output, PyObject* hook) {
  Extra& extra = extra_of(node);
  if (!extra.tensor_hooks_of(output)) extra.tensor_hooks.push_back({output, new_dict().release()});
  return add_to(extra.tensor_hooks_of(output), hook);
}

// ---- running ----------------------------------------------------------------------------------------------

namespace {
std::vector<PyRef> callables(PyObject* dict) {
  std::vector<PyRef> hooks;
  PyRef values = checked(PyMapping_Values(dict));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); ++i)
    hooks.push_back(PyRef::share(PyList_GET_ITEM(values.get(), i)));
  return hooks;
}

Tensor tensor_result(PyObject* o, const char* what) {
  if (o == Py_None) return {};
  TlTensor* t = bridge->unwrap(o);
  if (!t)
    raise(PyExc_TypeError, std::string(what) + " must return None or a Tensor, got " + Py_TYPE(o)->tp_name);
  return Tensor::share(t);
}

void replace(Tensor& grad, PyObject* by) {
  Tensor t = tensor_result(by, "a hook");
  if (!t) return;
  const auto n = static_cast<size_t>(api->tensor_ndim(t.get()));
  if (grad && !same_shape(grad.get(), n, api->tensor_sizes(t.get())))
    raise(PyExc_RuntimeError, "hook has changed the size of value");
  grad = std::move(t);
}

void run_hooks_of(PyObject* dict, Tensor& grad) {
  for (const PyRef& hook : callables(dict)) {
    PyRef argument = wrapped(grad);
    replace(grad, checked(run_python(PyObject_CallOneArg, hook.get(), argument.get())).get());
  }
}

template <class Get>
PyRef tuple_of(size_t n, Get get) {
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(n)));
  for (size_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrapped(get(i)).release());
  return tuple;
}

// A hook's answer for n gradients: a tuple, or one tensor for one gradient.
template <class Set>
void spread(PyObject* answer, size_t n, Set set) {
  if (answer == Py_None) return;
  if (n == 1 && bridge->unwrap(answer)) return set(0, tensor_result(answer, "a hook"));
  const size_t got = PyTuple_Check(answer) ? static_cast<size_t>(PyTuple_GET_SIZE(answer)) : 1;
  if (!PyTuple_Check(answer) || got != n)
    raise(PyExc_RuntimeError, "hook has returned an incorrect number of values (got " + std::to_string(got) +
                                  ", but expected " + std::to_string(n) + "): it needs a tuple of them");
  for (size_t i = 0; i < n; ++i)
    set(i, tensor_result(PyTuple_GET_ITEM(answer, static_cast<Py_ssize_t>(i)), "a hook"));
}

void run_node_pre_hooks(PyObject* dict, std::vector<Tensor>& grads) {
  for (const PyRef& hook : callables(dict)) {
    PyRef argument = tuple_of(grads.size(), [&](size_t i) { return grads[i]; });
    PyRef answer = checked(run_python(PyObject_CallOneArg, hook.get(), argument.get()));
    spread(answer.get(), grads.size(), [&](size_t i, Tensor t) { grads[i] = std::move(t); });
  }
}

void retain(Extra& extra, const std::vector<Tensor>& grads) {
  for (auto& r : extra.retained) {
    const Tensor& g = grads[r.output];
    if (g) r.grad = r.grad ? added(value(r.grad), value(g)) : g;
  }
}
}  // namespace

void run_tensor_hooks(Node* node, std::vector<Tensor>& grads) {
  Extra& extra = *node->extra;
  if (!extra.tensor_hooks.empty()) {
    WithGil lock;
    calling_python([&] {
      const auto hooks = extra.tensor_hooks;
      for (auto& [output, dict] : hooks) run_hooks_of(dict, grads[output]);
    });
  }
  retain(extra, grads);
}

void run_pre_hooks(Node* node, std::vector<Tensor>& grads) {
  if (!node->extra->pre_hooks) return;
  WithGil lock;
  calling_python([&] { run_node_pre_hooks(node->extra->pre_hooks, grads); });
}

void run_post_hooks(Node* node, TlTensor** out, const std::vector<Tensor>& grads) {
  if (!node->extra->post_hooks) return;
  WithGil lock;
  calling_python([&] {
    for (const PyRef& hook : callables(node->extra->post_hooks)) {
      PyRef inputs = tuple_of(node->n_edges, [&](size_t i) { return Tensor::share(out[i]); });
      PyRef outputs = tuple_of(grads.size(), [&](size_t i) { return grads[i]; });
      PyRef answer =
          checked(run_python(PyObject_CallFunctionObjArgs, hook.get(), inputs.get(), outputs.get(), nullptr));
      spread(answer.get(), node->n_edges, [&](size_t i, Tensor t) {
        Tensor old(out[i]);
        out[i] = t.take();
      });
    }
  });
}

void run_accumulated_hooks(Node* node) {
  if (!node->extra->accumulated_hooks) return;
  WithGil lock;
  calling_python([&] {
    PyRef variable = wrapped(static_cast<Leaf*>(node)->variable());
    if (variable.get() == Py_None) return;
    for (const PyRef& hook : callables(node->extra->accumulated_hooks)) {
      const PyRef result = checked(run_python(PyObject_CallOneArg, hook.get(), variable.get()));
      if (result.get() != Py_None)
        raise(PyExc_RuntimeError, "Tensor post accumulate grad hooks should return None.");
    }
  });
}

// ---- garbage collection -----------------------------------------------------------------------------------

namespace {
// Calls f for each node of the chain that this reference alone keeps alive. Only those: a shared node's
// objects have other owners that the collector cannot see.
template <class F>
void each_sole_node(void* slot, F f) {
  Node* node = read_slot(slot).node;
  for (int depth = 0; node && depth < 64; ++depth) {
    if (node->refs.load(std::memory_order_acquire) != 1 || f(node)) return;
    Node* next = nullptr;
    for (uint32_t i = 0; i < node->n_edges; ++i) {
      if (!node->edges[i].node) continue;
      if (next) return;
      next = node->edges[i].node;
    }
    node = next;
  }
}
}  // namespace

int traverse_slot(void* slot, TlVisit visit, void* arg) {
  int status = 0;
  each_sole_node(slot, [&](Node* node) {
    if (auto* object = static_cast<PyObject*>(node->python())) status = visit(object, arg);
    if (node->extra)
      node->extra->each_object([&](PyObject* o) {
        if (!status) status = visit(o, arg);
      });
    return status != 0;
  });
  return status;
}

void clear_slot_objects(void* slot) {
  Node* node = read_slot(slot).node;
  if (node->refs.load(std::memory_order_acquire) != 1) return;
  node->retain();  // what is dropped may own the slot
  node->drop_python();
  if (node->extra) node->extra->clear();
  drop(node);
}

}  // namespace tl::autograd
