// Memory shared with other libraries through the buffer protocol.
#pragma once

#include <Python.h>

#include <optional>

#include "tensor/tensor.h"

namespace tl::bind {

// The element type of a buffer's format, in this machine's byte order; nothing if tl has none such. Without a
// format they are bytes.
std::optional<DType> dtype_of_format(const char* format);
// The memory of an object with a buffer, as uint8; read-only where the object says so.
Tensor tensor_from_buffer(PyObject* o);
// The object whose buffer a storage lies on; None if it has memory of its own.
PyObject* buffer_owner(const Storage& storage);
// Copies a storage's bytes into a buffer, on which it lies from then on.
void move_to_buffer(Storage& storage, PyObject* o);
// Whether it is an array, which has items to set: numpy's scalars have a buffer as well.
bool is_array(PyObject* o);
// The memory of a numpy array, shared; nothing if it is none.
std::optional<Tensor> tensor_from_array(PyObject* o);
// The elements of a numpy array, which may run backwards, copied; nothing if it is none.
std::optional<Tensor> tensor_like_array(PyObject* o);
// The type of one of numpy's scalars, also where it is a Python float as well.
std::optional<DType> dtype_of_numpy_scalar(PyObject* o);
PyObject* from_numpy(PyObject* module, PyObject* array);
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

}  // namespace tl::bind
