// The small Python types an argument may have: dtype, layout, memory_format, device, Size.
#pragma once

#include <Python.h>

#include "bind/error.h"
#include "dispatch/value.h"

namespace tl::bind {

// dtype, layout and memory_format: one immortal object a value.
struct EnumObject {
  PyObject_HEAD int64_t value;
  const char* name;
};
struct DeviceObject {
  PyObject_HEAD Device device;
};

extern PyTypeObject *g_dtype_type, *g_layout_type, *g_memory_format_type, *g_device_type;
extern PyObject* g_size_type;  // tl_core.Size, set from Python

PyObject* dtype_object(DType dtype);  // borrowed
PyObject* layout_object(Layout layout);
PyObject* memory_format_object(MemoryFormat format);
PyObject* device_object(Device device);  // owned
PyObject* size_object(IntSpan sizes);    // owned: a Size
PyObject* int_tuple(IntSpan values);     // owned: a plain tuple

bool to_dtype(PyObject* o, DType& out);    // dtype objects, and the types bool, int, float, complex
bool to_device(PyObject* o, Device& out);  // device objects, strings, indices; raises for bad strings

void add_types(PyObject* module);

}  // namespace tl::bind
