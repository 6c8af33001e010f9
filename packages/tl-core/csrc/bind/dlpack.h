// Exchange of tensors with other libraries through DLPack capsules, after the data API's specification 1.x.
#pragma once

#include <Python.h>

#include "tensor/tensor.h"

namespace tl::bind {

// A capsule "dltensor_versioned", or "dltensor" for readers that know no versions; raises BufferError for
// what it can't say.
PyObject* to_dlpack(const Tensor& t, bool versioned, bool copied);
// A tensor on the capsule's memory, which it takes over.
Tensor from_dlpack(PyObject* capsule);

}  // namespace tl::bind
