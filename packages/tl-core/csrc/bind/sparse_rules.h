// The rules by which operators take sparse tensors, written in Python: `tl_core/sparse_layouts/rules`.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_sparse_rules(PyObject* module);

}  // namespace tl::bind
