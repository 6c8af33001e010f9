// The functions behind the table of tl/autograd.h. Those that Python's methods share code with take the GIL.
#include "bind/table.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "bind/backward.h"
#include "bind/callback_node.h"
#include "bind/hooks.h"
#include "bind/tensor_methods.h"
#include "inplace.h"
#include "leaf.h"
#include "view.h"
#include "view_origin.h"

namespace tl::autograd {

namespace {
// 0, or -1 with the pending error.
template <class F>
int attempt(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return pending_from_exception();
  }
}

// The same for a body that raises exceptions of Python.
template <class F>
int attempt_with_gil(F&& body) noexcept {
  return attempt([&] {
    WithGil lock;
    calling_python(body);
  });
}

void check_tensor(const TlTensor* t, const char* function, const char* argument) {
  if (!t)
    fail(TL_ERROR_TYPE,
         std::string(function) + "(): argument '" + argument + "' must be Tensor, not an undefined Tensor");
}

void check_tensors(TlTensor* const* list, int n, const char* function, const char* argument) {
  if (n < 0 || (n && !list))
    fail(TL_ERROR_TYPE, std::string(function) + "(): argument '" + argument +
                            "' must be a list of Tensors, not a NULL pointer to " + std::to_string(n));
  for (int i = 0; i < n; ++i) check_tensor(list[i], function, argument);
}

// ---- tensors ----------------------------------------------------------------------------------------------
int table_requires_grad(TlTensor* t) {
  int on = -1;
  attempt([&] {
    check_tensor(t, "requires_grad", "t");
    on = gradient_edge(t).node || stands_for_base(t);
  });
  return on;
}
int table_set_requires_grad(TlTensor* t, int on) {
  return attempt([&] {
    check_tensor(t, "set_requires_grad", "t");
    set_requires_grad(t, on != 0);
  });
}
int table_is_leaf(TlTensor* t) {
  int leaf = -1;
  attempt([&] {
    check_tensor(t, "is_leaf", "t");
    const Node* node = gradient_edge(t).node;
    leaf = !node || node->is(Node::Leaf);
  });
  return leaf;
}
int table_grad(TlTensor* t, TlTensor** out) {
  return attempt([&] {
    check_tensor(t, "grad", "t");
    *out = grad_of(t).take();
  });
}
int table_set_grad(TlTensor* t, TlTensor* grad) {
  return attempt_with_gil([&] {
    check_tensor(t, "set_grad", "t");
    set_grad_of(t, grad);
  });
}
int table_retain_grad(TlTensor* t) {
  return attempt_with_gil([&] {
    check_tensor(t, "retain_grad", "t");
    retain_grad(t);
  });
}

// ---- hooks ------------------------------------------------------------------------------------------------
struct Hook {
  TlGradientHook call;
  void* ctx;
  void (*destroy)(void*);
  ~Hook() {
    if (destroy) destroy(ctx);
  }
};
constexpr const char* kHook = "tl_autograd.hook";

PyObject* call_hook(PyObject* capsule, PyObject* grad) {
  return guarded([&] {
    auto* hook = static_cast<Hook*>(PyCapsule_GetPointer(capsule, kHook));
    TlTensor* replacement = nullptr;
    check(hook->call(hook->ctx, tensor_or_null(grad), &replacement));
    return wrapped(Tensor(replacement)).release();
  });
}
void drop_hook(PyObject* capsule) { delete static_cast<Hook*>(PyCapsule_GetPointer(capsule, kHook)); }
PyMethodDef g_hook_method = {"hook", call_hook, METH_O, nullptr};

int table_add_hook(TlTensor* t, TlGradientHook hook, void* ctx, void (*destroy)(void*)) {
  return attempt_with_gil([&] {
    check_tensor(t, "add_hook", "t");
    if (!hook) fail(TL_ERROR_TYPE, "add_hook(): argument 'hook' must be a function, not NULL");
    const Edge e = gradient_edge(t);
    if (!e.node) fail(TL_ERROR_RUNTIME, "cannot register a hook on a tensor that doesn't require gradient");
    auto owned = std::make_unique<Hook>(Hook{hook, ctx, nullptr});
    const PyRef capsule = checked(PyCapsule_New(owned.get(), kHook, drop_hook));
    Hook* hook_of_capsule = owned.release();
    const PyRef function = checked(PyCFunction_New(&g_hook_method, capsule.get()));
    add_tensor_hook(*e.node, e.output, function.get());
    hook_of_capsule->destroy = destroy;  // until here, the caller owns ctx
    track(t);
  });
}

// ---- backward ---------------------------------------------------------------------------------------------
PyRef tuple_of(TlTensor* const* list, int n) {
  PyRef tuple = checked(PyTuple_New(n));
  for (int i = 0; i < n; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, wrapped(Tensor::share(list ? list[i] : nullptr)).release());
  return tuple;
}

struct Graph {
  TlTensor* const* outputs;
  TlTensor* const* grads;
  int n_outputs;
  TlTensor* const* inputs;
  int n_inputs, flags;
};

PyRef run_graph(const Graph& g, const char* function, bool accumulate) {
  constexpr int kFlags = TL_RETAIN_GRAPH | TL_CREATE_GRAPH | TL_ALLOW_UNUSED;
  if (g.flags & ~kFlags)
    fail(TL_ERROR_VALUE, std::string(function) + "(): argument 'graph_flags' has unknown bits, got " +
                             std::to_string(g.flags));
  check_tensors(g.outputs, g.n_outputs, function, "outputs");
  check_tensors(g.inputs, g.n_inputs, function, "inputs");
  const PyRef roots = tuple_of(g.outputs, g.n_outputs), grads = tuple_of(g.grads, g.n_outputs),
              inputs = tuple_of(g.inputs, g.n_inputs);
  const auto truth = [](bool on) { return on ? Py_True : Py_False; };
  const bool allow_unused = accumulate || g.flags & TL_ALLOW_UNUSED;
  PyObject* args[] = {roots.get(),
                      grads.get(),
                      truth(g.flags & TL_RETAIN_GRAPH),
                      truth(g.flags & TL_CREATE_GRAPH),
                      inputs.get(),
                      truth(allow_unused),
                      truth(accumulate)};
  return checked(run_backward(nullptr, args, 7));
}

int table_backward(TlTensor* const* outputs, TlTensor* const* grads, int n_outputs, TlTensor* const* inputs,
                   int n_inputs, int graph_flags) {
  return attempt_with_gil(
      [&] { run_graph({outputs, grads, n_outputs, inputs, n_inputs, graph_flags}, "backward", true); });
}

int table_gradients(TlTensor* const* outputs, TlTensor* const* grads, int n_outputs, TlTensor* const* inputs,
                    int n_inputs, int graph_flags, TlTensor** out) {
  return attempt_with_gil([&] {
    const PyRef found =
        run_graph({outputs, grads, n_outputs, inputs, n_inputs, graph_flags}, "gradients", false);
    for (int i = 0; i < n_inputs; ++i)
      out[i] = Tensor::share(tensor_or_null(PyTuple_GET_ITEM(found.get(), i))).take();
  });
}

// ---- nodes ------------------------------------------------------------------------------------------------
// The number of the input that an output is, or -1.
int input_number(TlTensor* const* inputs, int n_inputs, const TlTensor* t) {
  const auto at = std::find(inputs, inputs + n_inputs, t);
  return at == inputs + n_inputs ? -1 : static_cast<int>(at - inputs);
}

void check_outputs(TlTensor* const* inputs, int n_inputs, TlTensor* const* outputs, const uint8_t* kinds,
                   int n_outputs) {
  for (int i = 0; i < n_outputs; ++i) {
    const uint8_t kind = kinds ? kinds[i] : uint8_t{TL_OUTPUT_PLAIN};
    const bool is_input = input_number(inputs, n_inputs, outputs[i]) >= 0;
    const std::string which = "record(): output " + std::to_string(i);
    if (kind > TL_OUTPUT_CONSTANT)
      fail(TL_ERROR_VALUE, which + " has the unknown kind " + std::to_string(kind));
    if (kind == TL_OUTPUT_WRITTEN && !is_input)
      fail(TL_ERROR_VALUE, which + " is said to be a written input, and is none");
    if (kind != TL_OUTPUT_WRITTEN && is_input)
      fail(TL_ERROR_VALUE, which + " is an input that was not written: an alias of it has to be returned");
    if (kind == TL_OUTPUT_WRITTEN) check_writable(outputs[i]);
  }
}

// What becomes of `ctx` where no node takes it over.
struct Context {
  TlNodeDef def;
  bool taken = false;
  ~Context() {
    if (!taken && def.destroy) def.destroy(def.ctx);
  }
};

void check_node(const TlNodeDef& def, TlTensor* const* inputs, int n_inputs, TlTensor* const* outputs,
                int n_outputs) {
  if (!def.backward) fail(TL_ERROR_TYPE, "record(): argument 'backward' must be a function, not NULL");
  check_tensors(inputs, n_inputs, "record", "inputs");
  check_tensors(outputs, n_outputs, "record", "outputs");
  for (int i = 0; i < n_inputs; ++i)
    if (api->bits_get(inputs[i]) >> TL_LAYER_TRANSFORMS & 1)
      fail(TL_ERROR_NOT_IMPLEMENTED,
           "record(): input " + std::to_string(i) + " belongs to a transform such as vmap or grad");
}

// The node shares the edges of the inputs. Outputs that exist keep the node alive.
int table_record(const TlNodeDef* def, TlTensor* const* inputs, int n_inputs, TlTensor* const* outputs,
                 const uint8_t* kinds, int n_outputs) {
  int recorded = -1;
  attempt([&] {
    if (!def || def->struct_size < sizeof(TlNodeDef))
      fail(TL_ERROR_VALUE, "record(): TlNodeDef.struct_size is too small");
    Context context{*def};
    check_node(*def, inputs, n_inputs, outputs, n_outputs);
    const bool wanted = api->grad_enabled() && std::any_of(inputs, inputs + n_inputs, [](TlTensor* t) {
                          return gradient_edge(t).node != nullptr;
                        });
    if (wanted) {
      check_outputs(inputs, n_inputs, outputs, kinds, n_outputs);
      auto* node = new CallbackNode(*def, inputs, n_inputs, n_outputs);
      context.taken = true;
      struct Share {
        Node* node;
        ~Share() { drop(node); }
      } share{node};
      for (int i = 0; i < n_outputs; ++i)
        node->attach(outputs[i], static_cast<uint32_t>(i), kinds ? kinds[i] : uint8_t{TL_OUTPUT_PLAIN},
                     input_number(inputs, n_inputs, outputs[i]));
    }
    recorded = wanted;
  });
  return recorded;
}

// 1.0
static_assert(offsetof(TlAutograd, record) == 11 * sizeof(void*));
static_assert(offsetof(TlNodeDef, destroy) == 5 * sizeof(void*));

constexpr TlAutograd kTable = {
    sizeof(TlAutograd), TL_API_MAJOR,    TL_API_MINOR,   table_requires_grad, table_set_requires_grad,
    table_is_leaf,      table_grad,      table_set_grad, table_retain_grad,   table_add_hook,
    table_backward,     table_gradients, table_record,
};
}  // namespace

void add_table(PyObject* module) {
  const PyRef capsule =
      checked(PyCapsule_New(const_cast<TlAutograd*>(&kTable), TL_AUTOGRAD_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(module, "autograd_v1", capsule.get()));
}

}  // namespace tl::autograd
