// Graph nodes as Python objects: one type for each operator name; saved values are attributes.
#include "bind/node_object.h"

#include <structmember.h>

#include <map>
#include <string>
#include <string_view>

#include "bind/function_node.h"
#include "bind/hooks.h"
#include "bind/saved_tensor.h"
#include "extra.h"
#include "leaf.h"
#include "node_event.h"
#include "recorder.h"

namespace tl::autograd {

namespace {
struct NodeObject {
  PyObject_HEAD Node* node;  // owned
  PyObject* weak;
};
PyTypeObject* g_node_type = nullptr;

Node& self_node(PyObject* self) { return *reinterpret_cast<NodeObject*>(self)->node; }

// Hooks may hold this object. They belong to the node, which is seen only if nothing else keeps it.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Node* node = reinterpret_cast<NodeObject*>(self)->node;
  if (!node || !node->extra || node->refs.load(std::memory_order_relaxed) != 1) return 0;
  int status = 0;
  node->extra->each_object([&](PyObject* object) { status = status ? status : visit(object, arg); });
  return status;
}
int clear(PyObject* self) {
  Node* node = reinterpret_cast<NodeObject*>(self)->node;
  if (node && node->extra && node->refs.load(std::memory_order_relaxed) == 1) node->extra->clear();
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* o = reinterpret_cast<NodeObject*>(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  if (o->node) {
    if (o->node->extra) o->node->extra->object = nullptr;
    drop(o->node);
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- what was saved ---------------------------------------------------------------------------------------

std::string saved_name(const TlOperatorInfo& info, const TlSaved& what) {
  if (what.meta == TL_META_SHAPE && what.source == TL_SOURCE_ARG)
    return std::string(argument_info(info, what.index).name) + "_sym_sizes";
  if (what.meta != TL_META_VALUE) return {};
  if (what.source == TL_SOURCE_ARG) return argument_info(info, what.index).name;
  const char* ret = info.n_rets > what.index ? result_info(info, what.index).name : nullptr;
  return ret && *ret ? ret : what.index ? "result" + std::to_string(what.index) : "result";
}

PyObject* from_saved(TlValue v) {
  if (v.tag == TL_TENSOR) return wrapped(Tensor(v.u.t)).release();
  if (v.tag == TL_NONE) return Py_NewRef(Py_None);
  if (v.tag != kList) {  // Python frees what it takes over, and this is memory of nodes
    TlValue own = none();
    const int status = api->value_own(&v, &own);
    forget(v);
    check(status);
    return checked(bridge->from_value(&own)).release();
  }
  const List& list = list_of(v);
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), from_saved(keep(list[i])));
  forget(v);
  return tuple.release();
}

constexpr std::string_view kSaved = "_saved_", kRawSaved = "_raw_saved_";

// What `_saved_<name>` or `_raw_saved_<name>` is; NULL if the node has none of that name.
PyObject* saved_attribute(Node& node, std::string_view attribute) {
  auto* program_node = dynamic_cast<ProgramNode*>(&node);
  const bool raw = attribute.starts_with(kRawSaved);
  if (!program_node || (!raw && !attribute.starts_with(kSaved))) return nullptr;
  const std::string_view name = attribute.substr(raw ? kRawSaved.size() : kSaved.size());
  const Recorder& r = program_node->recorder;
  for (int i = 0; i < r.derivative->program.n_saved; ++i) {
    const TlSaved& what = r.derivative->program.saved[i];
    if (saved_name(*r.info, what) != name) continue;
    if (!raw) return from_saved(program_node->read_saved(i));
    if (r.saves_tensor(what)) return saved_tensor(node, program_node->saved[i]).release();
  }
  return nullptr;
}

PyObject* getattro(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text || *text != '_') return nullptr;
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyObject* value = guarded([&] { return saved_attribute(self_node(self), text); });
  if (value || PyErr_Occurred()) {
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
  } else {
    PyErr_Restore(type, error, trace);
  }
  return value;
}

// ---- attributes -------------------------------------------------------------------------------------------

PyObject* name(PyObject* self, PyObject*) {
  return guarded(
      [&] { return checked(PyUnicode_FromString(recorded_name(self_node(self)).c_str())).release(); });
}
PyObject* repr(PyObject* self) {
  return guarded([&] {
    return checked(PyUnicode_FromFormat("<%s object at %p>", self_node(self).name().c_str(), self)).release();
  });
}

void append(PyObject* names, std::string_view prefix, const std::string& name) {
  const std::string whole = std::string(prefix) + name;
  checked(PyList_Append(names, checked(PyUnicode_FromString(whole.c_str())).get()));
}

// The class's names and those of what was saved.
PyObject* dir(PyObject* self, PyObject*) {
  return guarded([&] {
    PyRef base = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__"));
    PyRef names = checked(run_python(PyObject_CallOneArg, base.get(), self));
    auto* node = dynamic_cast<ProgramNode*>(&self_node(self));
    for (int i = 0; node && i < node->recorder.derivative->program.n_saved; ++i) {
      const TlSaved& what = node->recorder.derivative->program.saved[i];
      const std::string saved = saved_name(*node->recorder.info, what);
      if (saved.empty()) continue;
      append(names.get(), kSaved, saved);
      if (node->recorder.saves_tensor(what)) append(names.get(), kRawSaved, saved);
    }
    return names.release();
  });
}

PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&] { return next_functions(self_node(self)).release(); });
}
PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&] { return metadata(self_node(self)).release(); });
}
PyObject* get_variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Leaf* leaf = as_leaf(&self_node(self));
    if (!leaf) raise(PyExc_AttributeError, "only AccumulateGrad nodes have a variable");
    return wrapped(leaf->variable()).release();
  });
}
PyObject* register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_hook(self_node(self), HookKind::Post, hook).release(); });
}
PyObject* register_prehook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_hook(self_node(self), HookKind::Pre, hook).release(); });
}
PyObject* sequence_nr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(self_node(self).sequence);
}

PyObject* set_sequence(PyObject* self, PyObject* number) {
  return guarded([&] { return set_sequence_number(self_node(self), number); });
}

PyObject* call(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&] {
    Node& node = self_node(self);
    if (PyTuple_GET_SIZE(args) != static_cast<Py_ssize_t>(node.n_outputs))
      raise(PyExc_TypeError, node.name() + " expected " + std::to_string(node.n_outputs) +
                                 " arguments, got " + std::to_string(PyTuple_GET_SIZE(args)) + " instead");
    std::vector<TlTensor*> grads, out(node.n_edges);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
      grads.push_back(tensor_or_null(PyTuple_GET_ITEM(args, i)));
    std::vector<uint8_t> needs;
    for (uint32_t i = 0; i < node.n_edges; ++i) needs.push_back(node.edges[i].node != nullptr);
    node.apply({grads.data(), node.n_outputs, needs.data(), api->grad_enabled() != 0, false}, out.data());
    PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(out.size())));
    for (size_t i = 0; i < out.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrapped(Tensor(out[i])).release());
    return out.size() == 1 ? Py_NewRef(PyTuple_GET_ITEM(tuple.get(), 0)) : tuple.release();
  });
}

PyMethodDef kMethods[] = {
    {"name", name, METH_NOARGS, "name($self)\n--\n\nThe node's name."},
    {"register_hook", register_hook, METH_O,
     "register_hook($self, fn)\n--\n\nCalls fn(grad_inputs, grad_outputs) each time gradients of the inputs "
     "were computed. It may "
     "return a tuple that replaces grad_inputs."},
    {"register_prehook", register_prehook, METH_O,
     "register_prehook($self, fn)\n--\n\nCalls fn(grad_outputs) before the node runs. It may return a tuple "
     "that replaces them."},
    {"__dir__", dir, METH_NOARGS, nullptr},
    {"_sequence_nr", sequence_nr, METH_NOARGS, "The number by which the backward orders nodes."},
    {"_set_sequence_nr", set_sequence, METH_O,
     "_set_sequence_nr($self, number, /)\n--\n\nAmong nodes that can run, those with greater numbers run "
     "first."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef kGetSet[] = {
    {"next_functions", get_next_functions, nullptr,
     "Pairs (node, output number) that gradients of the inputs go to.", nullptr},
    {"metadata", get_metadata, nullptr, "A dict of the user's.", nullptr},
    {"variable", get_variable, nullptr, "The leaf tensor of an AccumulateGrad node.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyTypeObject* make_type(const std::string& qualified, PyTypeObject* base) {
  std::vector<PyType_Slot> slots;
  if (!base) {
    slots = {{Py_tp_dealloc, slot(dealloc)},
             {Py_tp_traverse, slot(traverse)},
             {Py_tp_clear, slot(clear)},
             {Py_tp_getattro, slot(getattro)},
             {Py_tp_call, slot(call)},
             {Py_tp_repr, slot(repr)},
             {Py_tp_methods, kMethods},
             {Py_tp_getset, kGetSet},
             {Py_tp_members, kMembers},
             {Py_tp_doc, const_cast<char*>("A recorded call in the graph of derivatives.")}};
  }
  slots.push_back({0, nullptr});
  const unsigned long collected =
      base ? 0 : Py_TPFLAGS_HAVE_GC;  // a derived class inherits it with the functions
  const unsigned long flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | collected;
  PyType_Spec spec = {qualified.c_str(), sizeof(NodeObject), 0, static_cast<unsigned>(flags), slots.data()};
  return reinterpret_cast<PyTypeObject*>(
      checked(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base))).release());
}

PyTypeObject* type_named(const std::string& name) {
  static auto* types = new std::map<std::string, PyTypeObject*>;
  PyTypeObject*& type = (*types)[name];
  // Types keep the pointer to their name: the key lives as long.
  static auto* names = new std::map<std::string, std::string>;
  if (!type) type = make_type((*names)[name] = "tl_autograd." + name, g_node_type);
  return type;
}
}  // namespace

PyRef node_object(Node* node) {
  if (auto* own = static_cast<PyObject*>(node->python())) return PyRef::share(own);
  Extra& extra = extra_of(*node);
  if (extra.object) return PyRef::share(extra.object);
  PyTypeObject* type = type_named(node->name());
  PyRef object = checked(type->tp_alloc(type, 0));
  node->retain();
  reinterpret_cast<NodeObject*>(object.get())->node = node;
  extra.object = object.get();
  return object;
}

Node* node_of(PyObject* object) {
  if (PyObject_TypeCheck(object, g_node_type)) return &self_node(object);
  if (Node* node = function_node(object)) return node;
  raise(PyExc_TypeError, std::string("expected a node of the graph, got ") + Py_TYPE(object)->tp_name);
}

bool is_node(PyObject* object) { return PyObject_TypeCheck(object, g_node_type) || function_node(object); }

PyRef next_functions(Node& node) {
  PyRef tuple = checked(PyTuple_New(node.n_edges));
  for (uint32_t i = 0; i < node.n_edges; ++i) {
    const Edge& e = node.edges[i];
    PyRef object = e.node ? node_object(e.node) : PyRef::share(Py_None);
    PyTuple_SET_ITEM(tuple.get(), i, checked(Py_BuildValue("(OI)", object.get(), e.output)).release());
  }
  return tuple;
}

PyObject* set_sequence_number(Node& node, PyObject* number) {
  const unsigned long long value = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) throw PythonError();
  node.sequence = value;
  return Py_NewRef(Py_None);
}

PyRef metadata(Node& node) {
  Extra& extra = extra_of(node);
  if (!extra.metadata) extra.metadata = checked(PyDict_New()).release();
  return PyRef::share(extra.metadata);
}

void add_node_type(PyObject* module) {
  g_node_type = make_type("tl_autograd.Node", nullptr);
  checked(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(g_node_type)));
}

}  // namespace tl::autograd
