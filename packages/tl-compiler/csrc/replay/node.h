// The structure of a value: constants, tensors by number, and containers of them.
#pragma once

#include <Python.h>

#include <vector>

#include "tl/python.hpp"

namespace tl::compiler {

// The tensors of one run, by number; each holds a reference.
class Slots {
 public:
  explicit Slots(size_t n) : values_(n, nullptr) {}
  ~Slots() {
    for (PyObject* value : values_) Py_XDECREF(value);
  }
  Slots(const Slots&) = delete;
  PyObject* operator[](int i) const { return values_[i]; }
  void put(int i, PyObject* owned) { Py_XSETREF(values_[i], owned); }
  void drop(int i) { Py_CLEAR(values_[i]); }

 private:
  std::vector<PyObject*> values_;
};

// A description from Python: (kind, what). Objects are borrowed from it.
struct Node {
  enum Kind { Constant, Slot, Tuple, List, Dict, Slice, kKinds };

  Kind kind = Constant;
  PyObject* object = nullptr;  // the constant, or the keys of a dictionary
  int slot = 0;
  std::vector<Node> items;
};

// Throws PythonError where the description is wrong.
Node parse_node(PyObject* description, int n_slots);
std::vector<Node> parse_nodes(PyObject* descriptions, int n_slots);
long parse_int(PyObject* tuple, Py_ssize_t index);

// The value, a new reference, or null with an exception.
PyObject* build(const Node& node, const Slots& slots);

// Whether a program can't tell the values apart: the same object, or equal ones of a type without identity.
bool is_same(PyObject* value, PyObject* expected);

}  // namespace tl::compiler
