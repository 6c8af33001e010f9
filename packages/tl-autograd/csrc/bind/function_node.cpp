// Functions written in Python: the node calls their `backward`; saved inputs keep their edge and version.
#include "bind/function_node.h"

#include <structmember.h>

#include <algorithm>

#include "anomaly.h"
#include "bind/hooks.h"
#include "bind/node_object.h"
#include "bind/saved_tensor.h"
#include "extra.h"
#include "inplace.h"
#include "leaf.h"
#include "levels/entry.h"
#include "ops.h"
#include "saved_hooks.h"
#include "view.h"

namespace tl::autograd {

[[noreturn]] void fail_changed(const TlTensor* t, uint32_t expected, const std::string& source);
[[noreturn]] void fail_released();

namespace {
struct ContextObject {
  PyObject_HEAD FunctionNode* node;  // borrowed: the node owns the context
  PyObject* dict;
  PyObject* weak;
};
PyTypeObject* g_context_type = nullptr;
ContextObject* context_of(PyObject* o) { return reinterpret_cast<ContextObject*>(o); }
}  // namespace

// ---- the node ---------------------------------------------------------------------------------------------

FunctionNode::FunctionNode(PyObject* context, uint32_t n_outputs, uint32_t n_edges)
    : HeapNode(n_outputs, n_edges), context_(Py_NewRef(context)), name_(Py_TYPE(context)->tp_name) {
  name_ = name_.substr(name_.rfind('.') + 1);
  context_of(context)->node = this;
}

FunctionNode::~FunctionNode() {
  forget_saved();
  drop_python();
}

TlValue* FunctionNode::saved_result(uint32_t output) {
  for (SavedInput& k : saved)
    if (k.output == static_cast<int>(output)) return &k.value;
  return nullptr;
}

void FunctionNode::drop_python() {
  if (!context_) return;
  // Also while Python ends, where the last run of the collector visits the context.
  if (!Py_IsInitialized()) return void(context_of(context_)->node = nullptr);
  WithGil lock;
  context_of(context_)->node = nullptr;
  Py_CLEAR(context_);
}

void FunctionNode::forget_saved() {
  for (SavedInput& k : saved) {
    drop(k.edge);
    forget(k.value);
  }
  saved.clear();
}

void FunctionNode::release() {
  if (saved.empty()) return;
  forget_saved();
  set(Released);
}

void FunctionNode::apply(const GradientsIn& in, TlTensor** out) {
  if (is(Released)) fail_released();
  WithGil lock;
  calling_python([&] { apply_python(in, out); });
  if (in.last) release();
}

void FunctionNode::apply_python(const GradientsIn& in, TlTensor** out) {
  if (!context_) raise(PyExc_RuntimeError, name_ + ": the context of this function was collected");
  PyRef args = checked(PyTuple_New(in.count));
  for (uint32_t i = 0; i < in.count; ++i) {
    Tensor g = Tensor::share(in.grads[i]);
    const bool fill = materialize && (materialize_constant || !constant[i]);
    if (!g && fill && outputs[i].dtype) g = zeros(outputs[i]);
    PyTuple_SET_ITEM(args.get(), i, wrapped(std::move(g)).release());
  }
  PyRef context = PyRef::share(context_);
  PyRef method = checked(PyObject_GetAttrString(context.get(), "_apply_backward"));
  PyRef result = checked(run_python(PyObject_Call, method.get(), args.get(), nullptr));
  if (!PyTuple_Check(result.get())) {
    PyRef single = checked(PyTuple_Pack(1, result.get()));
    return take_results(single.get(), in, out);
  }
  take_results(result.get(), in, out);
}

// One gradient for each argument of forward; more are allowed if they are None, and None for what is no
// tensor.
void FunctionNode::take_results(PyObject* tuple, const GradientsIn& in, TlTensor** out) {
  const auto n = static_cast<size_t>(PyTuple_GET_SIZE(tuple)), expected = edge_of_argument.size();
  for (size_t i = expected; i < n; ++i)
    if (PyTuple_GET_ITEM(tuple, i) != Py_None || n < expected)
      raise(PyExc_RuntimeError, "function " + name_ +
                                    " returned an incorrect number of gradients (expected " +
                                    std::to_string(expected) + ", got " + std::to_string(n) + ")");
  if (n < expected)
    raise(PyExc_RuntimeError, "function " + name_ + " returned an incorrect number of gradients (expected " +
                                  std::to_string(expected) + ", got " + std::to_string(n) + ")");
  for (size_t i = 0; i < expected; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i));
    if (item == Py_None) continue;
    TlTensor* grad = bridge->unwrap(item);
    if (!grad)
      raise(PyExc_RuntimeError, "function " + name_ + " returned a gradient of type " +
                                    Py_TYPE(item)->tp_name + " at position " + std::to_string(i) +
                                    "; expected a Tensor or None");
    const int edge = edge_of_argument[i];
    if (edge == -1)
      raise(PyExc_RuntimeError,
            "function " + name_ + " returned a gradient different from None at position " +
                std::to_string(i + 1) + ", but the corresponding forward input was not a Variable");
    if (edge >= 0 && in.needs[edge]) out[edge] = fitted(grad, static_cast<uint32_t>(edge)).take();
  }
}

namespace {
std::string shown(const int64_t* sizes, size_t n) {
  std::string text = "[";
  for (size_t i = 0; i < n; ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}
}  // namespace

Tensor FunctionNode::fitted(TlTensor* grad, uint32_t edge) const {
  const TensorMeta& want = inputs[edge];
  Tensor g = Tensor::share(grad);
  if (!same_shape(grad, want.sizes.size(), want.sizes.data())) {
    if (!broadcasts_to(want.sizes.size(), want.sizes.data(), grad))
      raise(PyExc_RuntimeError,
            "Function " + name_ + " returned an invalid gradient at index " + std::to_string(edge) +
                " - got " + shown(api->tensor_sizes(grad), static_cast<size_t>(api->tensor_ndim(grad))) +
                " but expected shape compatible with " + shown(want.sizes.data(), want.sizes.size()));
    g = sum_to_size(grad, want.sizes.size(), want.sizes.data());
  }
  return converted(g.get(), want.dtype, want.device);
}

// ---- saved tensors ----------------------------------------------------------------------------------------

Tensor FunctionNode::linked(const SavedInput& k) {
  if (k.value.tag == TL_NONE) return {};
  const bool packed = k.value.tag == kPacked;
  Tensor tensor = packed ? unpack(k.value) : Tensor::share(k.value.u.t);
  TlTensor* t = tensor.get();
  if (packed && is_in_other_level(k.value, t)) return tensor;
  if (!packed && api->tensor_version(t) != k.value.len)
    fail_changed(t, k.value.len,
                 k.output < 0 ? "" : ", which is output " + std::to_string(k.output) + " of " + name_ + ",");
  Edge wanted = k.edge;
  if (k.output >= 0) wanted = {this, static_cast<uint32_t>(k.output)};
  const Edge has = k.output >= 0 ? Edge{} : gradient_edge(t);
  if (has.node == wanted.node && has.output == wanted.output) return tensor;
  Tensor alias = alias_in_levels(t);
  if (!alias) throw Pending();
  if (wanted.node && is_differentiable(api->tensor_dtype(t))) {
    wanted.node->retain();
    set_slot(alias.get(), wanted.node, wanted.output);
  }
  return alias;
}

PyRef FunctionNode::saved_tensors() {
  if (is(Released)) fail_released();
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(saved.size())));
  for (size_t i = 0; i < saved.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrapped(linked(saved[i])).release());
  return tuple;
}

PyRef FunctionNode::raw_saved_tensors() {
  if (is(Released)) fail_released();
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(saved.size())));
  for (size_t i = 0; i < saved.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), saved_tensor(*this, saved[i].value).release());
  return tuple;
}

// ---- the context object -----------------------------------------------------------------------------------

namespace {
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(context_of(self)->dict);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(context_of(self)->dict);
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (context_of(self)->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(context_of(self)->dict);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

FunctionNode& live_node(PyObject* self) {
  FunctionNode* node = context_of(self)->node;
  if (!node)
    raise(PyExc_RuntimeError,
          "this function's context is not part of a graph (any more): it was not recorded, or its outputs "
          "are gone");
  return *node;
}

PyObject* get_saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    if (FunctionNode* node = context_of(self)->node) return node->saved_tensors().release();
    PyRef waiting(PyObject_GetAttrString(self, "to_save"));
    if (waiting && waiting.get() != Py_None) return waiting.release();
    PyErr_Clear();
    return checked(PyTuple_New(0)).release();
  });
}
PyObject* get_raw_saved_tensors(PyObject* self, void*) {
  return guarded([&] { return live_node(self).raw_saved_tensors().release(); });
}
PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&] { return next_functions(live_node(self)).release(); });
}
PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&] { return metadata(live_node(self)).release(); });
}
PyObject* register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_hook(live_node(self), HookKind::Post, hook).release(); });
}
PyObject* register_prehook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_hook(live_node(self), HookKind::Pre, hook).release(); });
}
PyObject* name(PyObject* self, PyObject*) {
  const std::string full = Py_TYPE(self)->tp_name;
  return PyUnicode_FromString(full.substr(full.rfind('.') + 1).c_str());
}
PyObject* sequence_nr(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(live_node(self).sequence); });
}

PyObject* set_sequence(PyObject* self, PyObject* number) {
  return guarded([&] { return set_sequence_number(live_node(self), number); });
}

PyMethodDef kMethods[] = {
    {"name", name, METH_NOARGS, "name($self)\n--\n\nThe node's name."},
    {"register_hook", register_hook, METH_O,
     "register_hook($self, fn)\n--\n\nCalls fn(grad_inputs, grad_outputs) after backward."},
    {"register_prehook", register_prehook, METH_O,
     "register_prehook($self, fn)\n--\n\nCalls fn(grad_outputs) before backward."},
    {"_sequence_nr", sequence_nr, METH_NOARGS, "The number by which the backward orders nodes."},
    {"_set_sequence_nr", set_sequence, METH_O,
     "_set_sequence_nr($self, number, /)\n--\n\nAmong nodes that can run, those with greater numbers run "
     "first."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef kGetSet[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"saved_tensors", get_saved_tensors, nullptr, "The tensors given to save_for_backward.", nullptr},
    {"_raw_saved_tensors", get_raw_saved_tensors, nullptr, "The same as objects that take hooks.", nullptr},
    {"next_functions", get_next_functions, nullptr,
     "Pairs (node, output number) that gradients of the inputs go to.", nullptr},
    {"metadata", get_metadata, nullptr, "A dict of the user's.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ContextObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ContextObject, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
}  // namespace

Node* function_node(PyObject* context) {
  return PyObject_TypeCheck(context, g_context_type) ? context_of(context)->node : nullptr;
}

void add_function_type(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, slot(dealloc)},
                                {Py_tp_traverse, slot(traverse)},
                                {Py_tp_clear, slot(clear)},
                                {Py_tp_methods, kMethods},
                                {Py_tp_getset, kGetSet},
                                {Py_tp_members, kMembers},
                                {Py_tp_doc, const_cast<char*>("The base of function contexts.")},
                                {Py_tp_new, slot(PyType_GenericNew)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tl_autograd.ContextBase", sizeof(ContextObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  g_context_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  checked(PyModule_AddObjectRef(module, "ContextBase", reinterpret_cast<PyObject*>(g_context_type)));
}

// ---- after forward ----------------------------------------------------------------------------------------

namespace {
// finish_function(context, inputs, outputs, to_save, dirty, non_differentiable, materialize,
// materialize_constant)
class Finishing {
 public:
  Finishing(PyObject* context, PyObject* inputs, PyObject* outputs, PyObject* to_save, PyObject* dirty,
            PyObject* constant, bool materialize, bool materialize_constant)
      : inputs_(inputs), outputs_(outputs), to_save_(to_save), dirty_(dirty), constant_(constant) {
    gather();
    node_ = new FunctionNode(context, static_cast<uint32_t>(PyTuple_GET_SIZE(outputs)),
                             static_cast<uint32_t>(edges_.size()));
    node_->materialize = materialize;
    node_->materialize_constant = materialize_constant;
    link_edges();
    note_origin(*node_);
  }
  ~Finishing() { drop(node_); }

  PyRef run() {
    const Py_ssize_t n = PyTuple_GET_SIZE(outputs_);
    PyRef results = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i)
      PyTuple_SET_ITEM(results.get(), i,
                       output(PyTuple_GET_ITEM(outputs_, i), static_cast<uint32_t>(i)).release());
    save(results.get());
    return results;
  }

 private:
  void gather() {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs_); ++i) {
      TlTensor* t = bridge->unwrap(PyTuple_GET_ITEM(inputs_, i));
      argument_edges_.push_back(t ? static_cast<int>(edges_.size()) : -1);
      if (!t) continue;
      edges_.push_back(gradient_edge(t));
      metas_.push_back(meta_of(t));
    }
  }

  void link_edges() {
    for (size_t i = 0; i < edges_.size(); ++i) {
      node_->edges[i] = edges_[i];
      if (edges_[i].node) edges_[i].node->retain();
    }
    node_->sequence = next_sequence();
    node_->edge_of_argument = argument_edges_;
    node_->inputs = metas_;
  }

  static bool within(PyObject* tuple, PyObject* item) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
      if (PyTuple_GET_ITEM(tuple, i) == item) return true;
    return false;
  }

  int edge_of(PyObject* input) const {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs_); ++i)
      if (PyTuple_GET_ITEM(inputs_, i) == input) return argument_edges_[static_cast<size_t>(i)];
    return -1;
  }

  PyRef output(PyObject* item, uint32_t i) {
    TlTensor* t = bridge->unwrap(item);
    node_->outputs.push_back(t ? meta_of(t) : TensorMeta{{}, 0, 0});
    const bool constant = t && (within(constant_, item) || !is_differentiable(api->tensor_dtype(t)));
    node_->constant.push_back(constant);
    if (!t) return PyRef::share(item);
    if (within(dirty_, item)) return written(item, t, i);
    PyRef result = within(inputs_, item) ? wrapped(aliased(t)) : PyRef::share(item);
    t = bridge->unwrap(result.get());
    if (constant) {
      if (gradient_edge(t).node) clear_slot(t);
      return result;
    }
    node_->retain();
    set_slot(t, node_, i);
    node_->base_slots.resize(i + 1);
    node_->base_slots[i] = base_slot_of(t);  // writes from now on pass the function by, those before it don't
    track(t);
    return result;
  }

  PyRef written(PyObject* item, TlTensor* t, uint32_t i) {
    check_writable(t);
    rebase(t, node_, i, edge_of(item));
    track(t);
    return PyRef::share(item);
  }

  // An input handed out unchanged: a tensor of its own on the same memory.
  static Tensor aliased(TlTensor* t) {
    GradMode off(false);
    return as_strided(t, static_cast<size_t>(api->tensor_ndim(t)), api->tensor_sizes(t),
                      api->tensor_strides(t), api->tensor_offset(t));
  }

  void save(PyObject* results) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(to_save_); ++i)
      node_->saved.push_back(saved_input(i, results));
  }

  SavedInput saved_input(Py_ssize_t position, PyObject* results) {
    PyObject* const item = PyTuple_GET_ITEM(to_save_, position);
    if (item == Py_None) return {};
    TlTensor* t = bridge->unwrap(item);
    if (!t)
      raise(PyExc_TypeError, "save_for_backward can only save variables, but argument " +
                                 std::to_string(position) + " is of type " + Py_TYPE(item)->tp_name);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(results); ++k) {
      if (PyTuple_GET_ITEM(results, k) != item || gradient_edge(t).node != node_) continue;
      Tensor alias = alias_in_levels(t);
      if (!alias) throw Pending();
      return stored(alias.get(), static_cast<int>(k), {});
    }
    SavedInput k = stored(t, -1, gradient_edge(t));
    if (k.edge.node) k.edge.node->retain();
    return k;
  }

  static SavedInput stored(TlTensor* t, int output, Edge e) {
    return {packing() ? pack(t) : keep(value(t)), output, e};
  }

  PyObject *inputs_, *outputs_, *to_save_, *dirty_, *constant_;
  std::vector<Edge> edges_;
  std::vector<TensorMeta> metas_;
  std::vector<int> argument_edges_;
  FunctionNode* node_ = nullptr;
};

// Raises when its gradient is asked for.
class ErrorNode final : public HeapNode<ErrorNode> {
 public:
  ErrorNode(std::string message, PyObject* given)
      : HeapNode(static_cast<uint32_t>(PyTuple_GET_SIZE(given)),
                 static_cast<uint32_t>(PyTuple_GET_SIZE(given))),
        message_(std::move(message)) {
    sequence = next_sequence();
    for (uint32_t i = 0; i < n_edges; ++i)
      if (TlTensor* t = bridge->unwrap(PyTuple_GET_ITEM(given, i)); t && (edges[i] = gradient_edge(t)).node)
        edges[i].node->retain();
  }
  void apply(const GradientsIn&, TlTensor**) override { fail(TL_ERROR_RUNTIME, message_); }
  std::string name() const override { return "Error"; }

 private:
  std::string message_;
};
}  // namespace

PyObject* finish_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 8) raise(PyExc_TypeError, "finish_function takes 8 arguments");
    for (int i = 1; i < 6; ++i)
      if (!PyTuple_Check(args[i])) raise(PyExc_TypeError, "finish_function takes tuples");
    Finishing finishing(args[0], args[1], args[2], args[3], args[4], args[5], args[6] == Py_True,
                        args[7] == Py_True);
    return finishing.run().release();
  });
}

PyObject* delayed_error(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2 || !PyTuple_Check(args[1]))
      raise(PyExc_TypeError, "delayed_error takes a message and a tuple");
    const char* message = PyUnicode_AsUTF8(args[0]);
    if (!message) throw PythonError();
    const Py_ssize_t n = PyTuple_GET_SIZE(args[1]);
    Node* node = new ErrorNode(message, args[1]);
    PyRef results = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      TlTensor* t = bridge->unwrap(PyTuple_GET_ITEM(args[1], i));
      Tensor alias = t ? alias_in_levels(t) : Tensor();
      if (t && is_differentiable(api->tensor_dtype(t))) {
        node->retain();
        set_slot(alias.get(), node, static_cast<uint32_t>(i));
      }
      PyTuple_SET_ITEM(results.get(), i, wrapped(std::move(alias)).release());
    }
    drop(node);
    return results.release();
  });
}

}  // namespace tl::autograd
