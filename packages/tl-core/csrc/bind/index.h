// `x[...]` and `x[...] = y` through every form of index.
#pragma once

#include <Python.h>

namespace tl::bind {

PyObject* get_item(PyObject* self, PyObject* index) noexcept;
int set_item(PyObject* self, PyObject* index, PyObject* value) noexcept;

}  // namespace tl::bind
