// Names of dimensions between Python and tensors.
#pragma once

#include <Python.h>

#include "tensor/names.h"

namespace tl::bind {

// A sequence of str and None; raises TypeError for anything else.
Names names_argument(PyObject* o);
// `names=` of a factory, on its fresh result.
void name_result(PyObject* result, PyObject* names);
// None is no name by which a dimension can be found.
void refuse_unnamed(PyObject* o);
// Whether an argument for a dimension, or a list of them, is given by name.
bool gives_names(PyObject* o);
// The dimensions of a tensor that a name, or a list of names and numbers, means.
std::vector<int64_t> dims_named(const TensorImpl& t, PyObject* o);
void add_names(PyObject* module);

}  // namespace tl::bind
