// What only some nodes have: hooks, retained gradients, and their Python object.
#pragma once

#include <Python.h>

#include <utility>
#include <vector>

#include "core.h"
#include "tl/python.hpp"

namespace tl::autograd {

struct Extra {
  struct Retained {
    uint32_t output;
    Tensor grad;
  };
  PyObject* object = nullptr;             // the node's Python object while it lives; borrowed
  PyObject* metadata = nullptr;           // dict
  PyObject* pre_hooks = nullptr;          // dict: called with the gradients of the results
  PyObject* post_hooks = nullptr;         // dict: called with the gradients of the inputs and of the results
  PyObject* accumulated_hooks = nullptr;  // dict: of a leaf, called after .grad was written
  std::vector<std::pair<uint32_t, PyObject*>> tensor_hooks;  // (output, dict)
  std::vector<Retained> retained;

  Extra() = default;
  Extra(const Extra&) = delete;
  ~Extra();

  Retained* retains(uint32_t output);
  PyObject* tensor_hooks_of(uint32_t output) const;
  void set_tensor_hooks(uint32_t output, PyObject* hooks);  // borrowed; NULL takes them away; needs the GIL
  template <class F>
  void each_object(F f) const {
    for (PyObject* o : {metadata, pre_hooks, post_hooks, accumulated_hooks})
      if (o) f(o);
    for (auto& [output, dict] : tensor_hooks) f(dict);
  }
  void clear();  // drops all Python objects; needs the GIL
};

class Node;
Extra& extra_of(Node& node);

}  // namespace tl::autograd
