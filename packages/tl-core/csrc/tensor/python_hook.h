// How a tensor that owns its Python object lets go of it; the binding fills this in.
#pragma once

#include "tensor/tensor.h"

namespace tl {

using PythonRelease = void (*)(TensorImpl& t);
void set_python_release(PythonRelease release);
void release_python(TensorImpl& t);

}  // namespace tl
