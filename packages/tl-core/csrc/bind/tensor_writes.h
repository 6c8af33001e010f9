// Which line of a program changed a tensor: the latest writes with the instructions that made them. Lines are
// found only when an error asks for them.
#pragma once

#include <Python.h>

#include "dispatch/operator.h"

namespace tl::bind {

void note_write(const TensorImpl& t);  // after it; with the GIL
void note_writes(const Operator& op, const TlValue* values);
void add_writes(PyObject* module);

}  // namespace tl::bind
