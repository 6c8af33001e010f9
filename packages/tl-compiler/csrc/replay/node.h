// The structure of a value: constants, tensors by number, and containers of them.
#pragma once

#include <Python.h>

#include <vector>

#include "core.h"
#include "tl/python.hpp"

namespace tl::compiler {

// The tensors of one run, by number, each as an object of Python or as a handle. An object is made of a
// handle when something asks for it.
class Slots {
 public:
  explicit Slots(size_t n) : values_(n) {}
  ~Slots() {
    for (size_t i = 0; i < values_.size(); ++i) drop(static_cast<int>(i));
  }
  Slots(const Slots&) = delete;
  // Borrowed. Null: the slot is empty, or with an exception, there is no memory for the object.
  PyObject* object(int i);
  TlTensor* tensor(int i) const { return values_[i].tensor ? values_[i].tensor : tensor_of_object(i); }
  bool is_empty(int i) const { return !values_[i].object && !values_[i].tensor; }
  void put(int i, PyObject* owned) {
    drop(i);
    values_[i].object = owned;
  }
  void put(int i, TlTensor* owned) {
    drop(i);
    values_[i].tensor = owned;
  }
  void drop(int i) {
    if (!is_empty(i)) release(i);
  }

 private:
  TlTensor* tensor_of_object(int i) const;
  void release(int i);
  struct Value {
    PyObject* object = nullptr;
    TlTensor* tensor = nullptr;
  };
  std::vector<Value> values_;
};

// A description from Python: (kind, what, …). Objects are borrowed from it.
struct Node {
  // Object: of a class of Python, by its parts. Shared: an object that goes into a slot as well.
  enum Kind { Constant, Slot, Tuple, List, Dict, Slice, Object, Shared, kKinds };

  Kind kind = Constant;
  PyObject* object = nullptr;  // the constant, the keys of a dictionary, or (class, base, names) of an object
  int slot = 0;
  std::vector<Node> items;
};

// Throws PythonError where the description is wrong.
Node parse_node(PyObject* description, int n_slots);
std::vector<Node> parse_nodes(PyObject* descriptions, int n_slots);
long parse_int(PyObject* tuple, Py_ssize_t index);

// The value, a new reference, or null with an exception.
PyObject* build(const Node& node, Slots& slots);

// Whether a program can't tell the values apart: the same object, or equal ones of a type without identity.
bool is_same(PyObject* value, PyObject* expected);

}  // namespace tl::compiler
