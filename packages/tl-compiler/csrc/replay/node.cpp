// Structures from Python's descriptions, and values from structures.
#include "replay/node.h"

#include <cstring>

namespace tl::compiler {

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

Node parse_node(PyObject* description, int n_slots) {
  Node node;
  const bool is_pair = PyTuple_Check(description) && PyTuple_GET_SIZE(description) >= 2;
  const long kind = is_pair ? parse_int(description, 0) : -1;
  if (kind < 0 || kind >= Node::kKinds || (kind == Node::Dict && PyTuple_GET_SIZE(description) != 3)) {
    PyErr_SetString(PyExc_ValueError, "expected a description (kind, what)");
    throw PythonError();
  }
  node.kind = static_cast<Node::Kind>(kind);
  PyObject* const what = PyTuple_GET_ITEM(description, 1);
  if (kind == Node::Constant) {
    node.object = what;
  } else if (kind == Node::Slot) {
    node.slot = static_cast<int>(parse_int(description, 1));
    if (node.slot < 0 || node.slot >= n_slots) {
      PyErr_SetString(PyExc_IndexError, "a description names a slot that is not there");
      throw PythonError();
    }
  } else {
    node.items = parse_nodes(what, n_slots);
    if (kind == Node::Dict) node.object = PyTuple_GET_ITEM(description, 2);
    const size_t expected = kind == Node::Slice  ? 3
                            : kind == Node::Dict ? PyTuple_Size(node.object)
                                                 : node.items.size();
    if (node.items.size() != expected) {
      PyErr_SetString(PyExc_ValueError, "a description has too few or too many items");
      throw PythonError();
    }
  }
  return node;
}

namespace {
PyObject* build_sequence(const Node& node, const Slots& slots) {
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

PyObject* build_dict(const Node& node, const Slots& slots) {
  PyRef result(PyDict_New());
  for (size_t i = 0; result && i < node.items.size(); ++i) {
    const PyRef item(build(node.items[i], slots));
    if (!item || PyDict_SetItem(result.get(), PyTuple_GET_ITEM(node.object, i), item.get()) < 0)
      return nullptr;
  }
  return result.release();
}
}  // namespace

PyObject* build(const Node& node, const Slots& slots) {
  switch (node.kind) {
    case Node::Constant:
      return Py_NewRef(node.object);
    case Node::Slot:
      if (slots[node.slot]) return Py_NewRef(slots[node.slot]);
      PyErr_SetString(PyExc_SystemError, "a replayed call reads a tensor that is not there");
      return nullptr;
    case Node::Dict:
      return build_dict(node, slots);
    case Node::Slice: {
      const PyRef start(build(node.items[0], slots)), stop(build(node.items[1], slots)),
          step(build(node.items[2], slots));
      return start && stop && step ? PySlice_New(start.get(), stop.get(), step.get()) : nullptr;
    }
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
