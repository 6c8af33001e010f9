// `backward` and `grad` for Python: checks roots, gradients and inputs, then runs the engine without the GIL.
#include "bind/backward.h"

#include <cstring>

#include "bind/node_object.h"
#include "bind/tensor_methods.h"
#include "engine.h"
#include "leaf.h"
#include "levels/entry.h"
#include "ops.h"
#include "thread.h"
#include "view.h"

namespace tl::autograd {

namespace {
// A tensor, or a pair (node, output number).
Edge edge_from(PyObject* o) {
  if (TlTensor* t = bridge->unwrap(o)) return gradient_edge(t);
  PyRef node = checked(PyObject_GetAttrString(o, "node")),
        output = checked(PyObject_GetAttrString(o, "output_nr"));
  const long nr = PyLong_AsLong(output.get());
  if (nr == -1 && PyErr_Occurred()) throw PythonError();
  return {node_of(node.get()), static_cast<uint32_t>(nr)};
}

// What has the shape, dtype and device of a root: the tensor itself, or what its edge keeps of them
// (graph.py); NULL for an edge that was put together by hand.
PyRef root_like(PyObject* root) {
  if (bridge->unwrap(root)) return PyRef::share(root);
  PyRef like(PyObject_GetAttrString(root, "like"));
  if (!like) PyErr_Clear();
  return like;
}

Tensor implied_gradient(PyObject* root) {
  const PyRef like = root_like(root);
  if (!like) raise(PyExc_RuntimeError, "gradients of edges that stand for no known tensor must be given");
  TlTensor* t = bridge->unwrap(like.get());
  if (api->tensor_numel(t) != 1)
    raise(PyExc_RuntimeError, "grad can be implicitly created only for scalar outputs");
  if (is_complex(api->tensor_dtype(t)))
    raise(PyExc_RuntimeError,
          "grad can be implicitly created only for real scalar outputs but got " +
              std::string(
                  PyUnicode_AsUTF8(checked(PyObject_Str(bridge->dtype_object(api->tensor_dtype(t)))).get())));
  GradMode off(false);
  return ones_like(t);
}

std::string shape_of(const TlTensor* t) {
  std::string text = "torch.Size([";
  for (int i = 0; i < api->tensor_ndim(t); ++i)
    text += (i ? ", " : "") + std::to_string(api->tensor_sizes(t)[i]);
  return text + "])";
}

Tensor given_gradient(PyObject* root, TlTensor* g, Py_ssize_t i) {
  const PyRef like = root_like(root);
  if (!like) return Tensor::share(g);
  const TlTensor* t = bridge->unwrap(like.get());
  if (!same_shape(t, static_cast<size_t>(api->tensor_ndim(g)), api->tensor_sizes(g)))
    raise(PyExc_RuntimeError, "Mismatch in shape: grad_output[" + std::to_string(i) + "] has a shape of " +
                                  shape_of(g) + " and output[" + std::to_string(i) + "] has a shape of " +
                                  shape_of(t) + ".");
  if (is_complex(api->tensor_dtype(t)) != is_complex(api->tensor_dtype(g)))
    raise(PyExc_RuntimeError,
          "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
          "dtype: "
          "grad_output[" +
              std::to_string(i) + "] and output[" + std::to_string(i) + "] differ.");
  return converted(g, api->tensor_dtype(t), api->tensor_device(t));
}

void add_root(Run& run, PyObject* root, PyObject* grad, Py_ssize_t i) {
  const Edge e = edge_from(root);
  if (!e.node)
    raise(PyExc_RuntimeError,
          "element " + std::to_string(i) + " of tensors does not require grad and does not have a grad_fn");
  run.add_root(e, grad == Py_None ? implied_gradient(root) : given_gradient(root, tensor_of(grad), i));
}

PyRef input_tuple(PyObject* inputs) {
  PyRef tuple = bridge->unwrap(inputs) || PyObject_HasAttrString(inputs, "output_nr")
                    ? checked(PyTuple_Pack(1, inputs))
                    : checked(PySequence_Tuple(inputs));
  if (PyTuple_GET_SIZE(tuple.get()) == 0)
    raise(PyExc_RuntimeError, "`inputs` argument to `backward()` cannot be empty.");
  return tuple;
}

void add_inputs(Run& run, PyObject* inputs, bool accumulate) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
    PyObject* input = PyTuple_GET_ITEM(inputs, i);
    const Edge e = edge_from(input);
    if (!e.node) raise(PyExc_RuntimeError, "One of the differentiated Tensors does not require grad");
    TlTensor* t = bridge->unwrap(input);
    if (accumulate && t && !as_leaf(e.node)) retain_grad(t);
    run.add_input(e);
  }
}

// Levels of tangents let it be.
void refuse_inside_transform() {
  const Level* top = top_beside_jvp();
  if (!top) return;
  if (top->is_older)
    raise(
        PyExc_RuntimeError,
        "backward() called inside torch.vmap. This is not supported, please call backward() outside of it or "
        "use torch.func.vmap(torch.func.grad(...)) instead.");
  raise(PyExc_RuntimeError,
        "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
        "functorch.vjp instead or call backward() outside of functorch transforms.");
}

// The older vmap takes batches of gradients, but no derivatives of what it wraps.
void refuse_inside_older_vmap(PyObject* tensors, const char* what) {
  const Level* top = top_beside_jvp();
  if (!top || !top->is_older) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
    TlTensor* t = bridge->unwrap(PyTuple_GET_ITEM(tensors, i));
    if (t && wrapped_value(t, *top))
      raise(PyExc_RuntimeError,
            std::string("torch.autograd.grad(outputs, inputs, grad_outputs) called inside "
                        "torch.vmap with a batch among the ") +
                what +
                ". This is not supported, please call it outside of vmap or use "
                "torch.func.vmap(torch.func.grad(...)) instead.");
  }
}

// They run in the order in which they came; each may bring others.
void call_back(Run& run) {
  struct Inside {
    Run* outer;
    explicit Inside(Run& run) : outer(std::exchange(thread_data().run, &run)) {}
    ~Inside() { thread_data().run = outer; }
  } inside(run);
  while (!run.callbacks.empty()) {
    const PyRef callback(static_cast<PyObject*>(run.callbacks.front()));
    run.callbacks.erase(run.callbacks.begin());
    checked(run_python(PyObject_CallNoArgs, callback.get()));
  }
}

void execute(Run& run) {
  struct Dropped {
    Run& run;
    ~Dropped() {
      for (void* callback : run.callbacks) Py_DECREF(static_cast<PyObject*>(callback));
      run.callbacks.clear();
    }
  } dropped{run};
  {
    WithoutGil released;
    run.execute();
  }
  if (!run.callbacks.empty()) call_back(run);
}

PyObject* captured(const Run& run, bool allow_unused) {
  const auto& grads = run.captured();
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(grads.size())));
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i] && !allow_unused)
      raise(PyExc_RuntimeError,
            "The differentiated Tensor at index " + std::to_string(i) +
                " appears to not have been used in the graph. Set allow_unused=True if this is the desired "
                "behavior.");
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrapped(grads[i]).release());
  }
  return tuple.release();
}

void warn_of_cycle() {
  const char* text =
      "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
      "gradient, which keeps memory until `.grad` is reset to None. autograd.grad makes none.";
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1) != 0) throw PythonError();
}

}  // namespace

PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&]() -> PyObject* {
    if (n_args != 7 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) || !PyTuple_Check(args[4]) ||
        PyTuple_GET_SIZE(args[0]) != PyTuple_GET_SIZE(args[1]))
      raise(PyExc_TypeError,
            "run_backward(roots, grads, retain_graph, create_graph, inputs, allow_unused, accumulate)");
    const bool accumulate = args[6] == Py_True;
    if (accumulate) {
      refuse_inside_transform();
      if (args[3] == Py_True) warn_of_cycle();
    } else {
      refuse_inside_older_vmap(args[0], "outputs");
      refuse_inside_older_vmap(args[4], "inputs");
    }
    Run run({args[2] == Py_True, args[3] == Py_True, accumulate});
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); ++i)
      add_root(run, PyTuple_GET_ITEM(args[0], i), PyTuple_GET_ITEM(args[1], i), i);
    add_inputs(run, args[4], accumulate);
    execute(run);
    if (accumulate) return Py_NewRef(Py_None);
    return captured(run, args[5] == Py_True);
  });
}

Tensor gradient_of(PyObject* output, TlTensor* input) {
  const Edge root = gradient_edge(bridge->unwrap(output)), leaf = gradient_edge(input);
  if (!root.node || !leaf.node) return {};
  Run run({false, false, false});
  run.add_root(root, implied_gradient(output));
  run.add_input(leaf);
  execute(run);
  return run.captured()[0];
}

// The gradient of one tensor may be given as a sequence of one, as several tensors' are.
PyRef only_gradient(PyObject* given) {
  if (!PyTuple_Check(given) && !PyList_Check(given)) return PyRef::share(given);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(given);
  if (n != 1) raise(PyExc_RuntimeError, "got 1 tensors and " + std::to_string(n) + " gradients");
  return PyRef::share(PySequence_Fast_GET_ITEM(given, 0));
}

// backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)
PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t n_args, PyObject* names) {
  return guarded([&] {
    static const char* const kNames[] = {"gradient", "retain_graph", "create_graph", "inputs"};
    PyObject* given[4] = {Py_None, Py_None, Py_False, Py_None};
    if (n_args > 4)
      raise(PyExc_TypeError, "backward() takes at most 4 arguments (" + std::to_string(n_args) + " given)");
    for (Py_ssize_t i = 0; i < n_args; ++i) given[i] = args[i];
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
      const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, k));
      int slot = 0;
      while (slot < 4 && std::strcmp(name, kNames[slot]) != 0) ++slot;
      if (slot == 4)
        raise(PyExc_TypeError, std::string("backward() got an unexpected keyword argument '") + name + "'");
      given[slot] = args[n_args + k];
    }
    const int create = PyObject_IsTrue(given[2]),
              retain = given[1] == Py_None ? create : PyObject_IsTrue(given[1]);
    if (create < 0 || retain < 0) throw PythonError();
    refuse_inside_transform();
    if (create) warn_of_cycle();
    Run run({retain != 0, create != 0, true});
    add_root(run, self, only_gradient(given[0]).get(), 0);
    if (given[3] != Py_None) add_inputs(run, input_tuple(given[3]).get(), true);
    execute(run);
    return Py_NewRef(Py_None);
  });
}

PyObject* run_number(PyObject*, PyObject*) {
  const Run* run = Run::current();
  return PyLong_FromLongLong(run ? run->number() : -1);
}

PyObject* current_node(PyObject*, PyObject*) {
  return guarded([&] {
    const Run* run = Run::current();
    Node* node = run ? run->current_node() : nullptr;
    return (node ? node_object(node) : PyRef::share(Py_None)).release();
  });
}

PyObject* keeps_graph(PyObject*, PyObject*) {
  return guarded([&] {
    const Run* run = Run::current();
    if (!run) raise(PyExc_RuntimeError, "no backward is running on this thread");
    return PyBool_FromLong(run->keeps_graph());
  });
}

PyObject* fills_leaves(PyObject*, PyObject*) {
  const Run* run = Run::current();
  return PyBool_FromLong(run && run->fills_leaves());
}

// queue_callback(function): called when this backward is done
PyObject* queue_callback(PyObject*, PyObject* callback) {
  return guarded([&] {
    Run* run = Run::current();
    if (!run) raise(PyExc_RuntimeError, "Final callbacks can only be installed during backward pass.");
    run->callbacks.push_back(Py_NewRef(callback));
    return Py_NewRef(Py_None);
  });
}

PyObject* will_run(PyObject*, PyObject* node) {
  return guarded([&] {
    if (!is_node(node))
      raise(PyExc_RuntimeError,
            std::string("_will_engine_execute_node expects an grad_fn, but got ") + Py_TYPE(node)->tp_name);
    Run* run = Run::current();
    if (!run)
      raise(PyExc_RuntimeError,
            "_will_engine_execute_node can be asked during the backward pass only: none is running on this "
            "thread");
    Node* asked = node_of(node);
    if (asked->is(Node::Leaf) && run->captures(asked))
      raise(PyExc_RuntimeError,
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(): the leaf's gradient is returned, and its node is not run.");
    return PyBool_FromLong(run->will_run(asked));
  });
}

}  // namespace tl::autograd
