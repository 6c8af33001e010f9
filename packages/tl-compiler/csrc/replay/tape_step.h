// A step of a recorded call.
#pragma once

#include <Python.h>

#include <utility>
#include <vector>

#include "replay/native_call.h"
#include "replay/node.h"

namespace tl::compiler {

// A call of a function of C.
struct TapeStep {
  enum Result { Drop, Keep, Unpack, Compare, Number };

  PyObject* function = nullptr;
  std::vector<Node> args;
  Py_ssize_t n_positional = 0;
  PyObject* names = nullptr;  // of the keyword arguments, or null
  Result result = Drop;
  int slot = 0;  // Keep, of these sizes and this type; Number, a float that the caller alone reads
  std::vector<int64_t> sizes;
  int64_t dtype = 0;
  std::vector<std::pair<int, int>> children;  // Unpack: the index of an item, its slot
  PyObject* expected = nullptr;               // Compare
  bool restarts = false;                      // whether nothing has been written before
  std::vector<int> dead;                      // slots that nothing reads after this step
  const NativeCall* native = nullptr;         // the same call without Python, or null
  std::vector<Node> tensors;                  // of `native`: slots and constants
};

}  // namespace tl::compiler
