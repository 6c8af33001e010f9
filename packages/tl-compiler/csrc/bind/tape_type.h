// The type `tl_compiler._C.Tape`, and functions that read frames.
#pragma once

#include <Python.h>

namespace tl::compiler {

// -1 with an exception where that fails.
int add_replay(PyObject* module);

}  // namespace tl::compiler
