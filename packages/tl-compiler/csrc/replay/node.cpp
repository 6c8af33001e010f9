// Structures from Python's descriptions, and values from structures.
#include "replay/node.h"

#include <cstring>

#include "replay/bridge.h"

namespace tl::compiler {

PyObject* Slots::object(int i) {
  Value& value = values_[i];
  if (!value.object && value.tensor) value.object = python->wrap(std::exchange(value.tensor, nullptr));
  return value.object;
}

TlTensor* Slots::tensor_of_object(int i) const {
  return values_[i].object ? python->unwrap(values_[i].object) : nullptr;
}

void Slots::release(int i) {
  const Value value = std::exchange(values_[i], {});
  if (value.tensor) api->tensor_release(value.tensor);
  Py_XDECREF(value.object);
}

long parse_int(PyObject* tuple, Py_ssize_t index) {
  const long n = PyLong_AsLong(PyTuple_GET_ITEM(tuple, index));
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return n;
}

std::vector<Node> parse_nodes(PyObject* descriptions, int n_slots) {
  if (!PyTuple_Check(descriptions)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple of descriptions");
    throw PythonError();
  }
  std::vector<Node> nodes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(descriptions); ++i)
    nodes.push_back(parse_node(PyTuple_GET_ITEM(descriptions, i), n_slots));
  return nodes;
}

namespace {
[[noreturn]] void refuse(PyObject* error, const char* text) {
  PyErr_SetString(error, text);
  throw PythonError();
}

int parse_slot(PyObject* description, Py_ssize_t index, int n_slots) {
  const long slot = parse_int(description, index);
  if (slot < 0 || slot >= n_slots) refuse(PyExc_IndexError, "a description names a slot that is not there");
  return static_cast<int>(slot);
}

bool is_base(PyObject* type) {
  for (PyTypeObject* each : {&PyBaseObject_Type, &PyTuple_Type, &PyList_Type, &PyDict_Type, &PyODict_Type})
    if (type == reinterpret_cast<PyObject*>(each)) return true;
  return false;
}

// (class, base, names): names of attributes, and descriptors of slots.
bool is_layout(PyObject* layout) {
  if (!PyTuple_CheckExact(layout) || PyTuple_GET_SIZE(layout) != 3) return false;
  PyObject *const cls = PyTuple_GET_ITEM(layout, 0), *const names = PyTuple_GET_ITEM(layout, 2);
  if (!PyType_Check(cls) || !is_base(PyTuple_GET_ITEM(layout, 1)) || !PyTuple_CheckExact(names)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    if (!PyUnicode_CheckExact(name) && Py_TYPE(name) != &PyMemberDescr_Type) return false;
  }
  auto* const type = reinterpret_cast<PyTypeObject*>(cls);
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(layout, 1)));
}

PyObject* base_of(const Node& node) { return PyTuple_GET_ITEM(node.object, 1); }
PyObject* names_of(const Node& node) { return PyTuple_GET_ITEM(node.object, 2); }
bool has_base(const Node& node, const PyTypeObject& base) {
  return base_of(node) == reinterpret_cast<const PyObject*>(&base);
}

// Whether a node has as many items as its kind asks for.
bool is_complete(const Node& node) {
  const auto n = static_cast<Py_ssize_t>(node.items.size());
  if (node.kind == Node::Slice) return n == 3;
  if (node.kind == Node::Shared) return n == 1;
  if (node.kind == Node::Dict) return n == PyTuple_Size(node.object);
  if (node.kind != Node::Object) return true;
  const Py_ssize_t n_items = n - PyTuple_GET_SIZE(names_of(node));
  if (has_base(node, PyBaseObject_Type)) return n_items == 0;
  const bool is_dict = has_base(node, PyDict_Type) || has_base(node, PyODict_Type);
  return n_items >= 0 && !(is_dict && n_items % 2);
}
}  // namespace

Node parse_node(PyObject* description, int n_slots) {
  // A description is a tuple whose first element says which of the kinds it is.
  Node node;
  const bool is_pair = PyTuple_Check(description) && PyTuple_GET_SIZE(description) >= 2;
  const long kind = is_pair ? parse_int(description, 0) : -1;
  const bool has_third = kind == Node::Dict || kind == Node::Object || kind == Node::Shared;
  if (kind < 0 || kind >= Node::kKinds || (has_third && PyTuple_GET_SIZE(description) != 3))
    refuse(PyExc_ValueError, "expected a description (kind, what)");
  node.kind = static_cast<Node::Kind>(kind);
  PyObject* const what = PyTuple_GET_ITEM(description, 1);
  if (kind == Node::Constant) {
    node.object = what;
    return node;
  }
  if (kind == Node::Slot) {
    node.slot = parse_slot(description, 1, n_slots);
    return node;
  }
  node.items = parse_nodes(what, n_slots);
  if (kind == Node::Shared) node.slot = parse_slot(description, 2, n_slots);
  if (kind == Node::Dict || kind == Node::Object) node.object = PyTuple_GET_ITEM(description, 2);
  if (kind == Node::Object && !is_layout(node.object))
    refuse(PyExc_TypeError, "a description of an object has no class, base and names");
  if (!is_complete(node)) refuse(PyExc_ValueError, "a description has too few or too many items");
  return node;
}

namespace {
PyObject* build_sequence(const Node& node, Slots& slots) {
  const auto n = static_cast<Py_ssize_t>(node.items.size());
  PyRef result(node.kind == Node::List ? PyList_New(n) : PyTuple_New(n));
  for (Py_ssize_t i = 0; result && i < n; ++i) {
    PyObject* const item = build(node.items[i], slots);
    if (!item) return nullptr;
    if (node.kind == Node::List)
      PyList_SET_ITEM(result.get(), i, item);
    else
      PyTuple_SET_ITEM(result.get(), i, item);
  }
  return result.release();
}

PyObject* build_dict(const Node& node, Slots& slots) {
  PyRef result(PyDict_New());
  for (size_t i = 0; result && i < node.items.size(); ++i) {
    const PyRef item(build(node.items[i], slots));
    if (!item || PyDict_SetItem(result.get(), PyTuple_GET_ITEM(node.object, i), item.get()) < 0)
      return nullptr;
  }
  return result.release();
}

// The first n items, as a tuple.
PyObject* build_items(const Node& node, Py_ssize_t n, Slots& slots) {
  PyRef result(PyTuple_New(n));
  for (Py_ssize_t i = 0; result && i < n; ++i) {
    PyObject* const item = build(node.items[i], slots);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, item);
  }
  return result.release();
}

// An object without attributes yet. A tuple has its items from the start.
PyObject* allocate(const Node& node, const PyRef& items) {
  auto* const cls = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(node.object, 0));
  const bool is_tuple = has_base(node, PyTuple_Type);
  const PyRef args(is_tuple ? PyTuple_Pack(1, items.get()) : PyTuple_New(0));
  return args ? reinterpret_cast<PyTypeObject*>(base_of(node))->tp_new(cls, args.get(), nullptr) : nullptr;
}

bool fill(const Node& node, PyObject* object, PyObject* items) {
  const Py_ssize_t n = PyTuple_GET_SIZE(items);
  if (has_base(node, PyList_Type)) return PyList_SetSlice(object, 0, 0, items) == 0;
  const bool is_ordered = has_base(node, PyODict_Type);
  if (!is_ordered && !has_base(node, PyDict_Type)) return true;
  for (Py_ssize_t i = 0; i < n; i += 2) {
    PyObject *const key = PyTuple_GET_ITEM(items, i), *const value = PyTuple_GET_ITEM(items, i + 1);
    if ((is_ordered ? PyODict_SetItem(object, key, value) : PyDict_SetItem(object, key, value)) < 0)
      return false;
  }
  return true;
}

// As the attributes stood when the call was recorded: no code of the class runs.
bool set_attributes(const Node& node, PyObject* object, size_t first, Slots& slots) {
  PyObject* const names = names_of(node);
  PyRef members;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    const PyRef value(build(node.items[first + i], slots));
    if (!value) return false;
    if (!PyUnicode_CheckExact(name)) {
      if (Py_TYPE(name)->tp_descr_set(name, object, value.get()) < 0) return false;
      continue;
    }
    if (!members) members = PyRef(PyObject_GenericGetDict(object, nullptr));
    if (!members || PyDict_SetItem(members.get(), name, value.get()) < 0) return false;
  }
  return true;
}

PyObject* build_object(const Node& node, Slots& slots) {
  const size_t n_items = node.items.size() - PyTuple_GET_SIZE(names_of(node));
  const PyRef items(build_items(node, static_cast<Py_ssize_t>(n_items), slots));
  PyRef object(items ? allocate(node, items) : nullptr);
  if (!object || !fill(node, object.get(), items.get())) return nullptr;
  return set_attributes(node, object.get(), n_items, slots) ? object.release() : nullptr;
}

PyObject* build_shared(const Node& node, Slots& slots) {
  PyObject* const object = build(node.items[0], slots);
  if (object) slots.put(node.slot, Py_NewRef(object));
  return object;
}
}  // namespace

PyObject* build(const Node& node, Slots& slots) {
  switch (node.kind) {
    case Node::Constant:
      return Py_NewRef(node.object);
    case Node::Slot:
      if (PyObject* const object = slots.object(node.slot)) return Py_NewRef(object);
      if (PyErr_Occurred()) return nullptr;
      PyErr_SetString(PyExc_SystemError, "a replayed call reads a tensor that is not there");
      return nullptr;
    case Node::Dict:
      return build_dict(node, slots);
    case Node::Slice: {
      const PyRef start(build(node.items[0], slots)), stop(build(node.items[1], slots)),
          step(build(node.items[2], slots));
      return start && stop && step ? PySlice_New(start.get(), stop.get(), step.get()) : nullptr;
    }
    case Node::Object:
      return build_object(node, slots);
    case Node::Shared:
      return build_shared(node, slots);
    default:
      return build_sequence(node, slots);
  }
}

bool is_same(PyObject* value, PyObject* expected) {
  if (value == expected) return true;
  if (!value || !expected || Py_TYPE(value) != Py_TYPE(expected)) return false;
  if (PyFloat_CheckExact(value)) {
    const double a = PyFloat_AS_DOUBLE(value), b = PyFloat_AS_DOUBLE(expected);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  if (PyTuple_Check(value) &&
      (PyTuple_CheckExact(value) || Py_TYPE(value)->tp_basicsize == PyTuple_Type.tp_basicsize)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(value);
    if (n != PyTuple_GET_SIZE(expected)) return false;
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!is_same(PyTuple_GET_ITEM(value, i), PyTuple_GET_ITEM(expected, i))) return false;
    return true;
  }
  if (!PyLong_CheckExact(value) && !PyUnicode_CheckExact(value) && !PyBytes_CheckExact(value)) return false;
  const int equal = PyObject_RichCompareBool(value, expected, Py_EQ);
  if (equal < 0) PyErr_Clear();  // of exact ints and texts: out of memory alone
  return equal == 1;
}

}  // namespace tl::compiler
