// Exchange of tensors with other libraries through DLPack capsules, after the data API's specification 1.x.
#pragma once

#include <Python.h>

#include "bind/dlpack_structs.h"
#include "tensor/tensor.h"

namespace tl::bind {

// A capsule "dltensor_versioned", or "dltensor" for readers that know no versions; raises BufferError for
// what it can't say.
PyObject* to_dlpack(const Tensor& t, bool versioned, bool copied);
// A tensor on the capsule's memory, which it takes over.
Tensor from_dlpack(PyObject* capsule);

// The same without capsules. `describe` borrows sizes and strides from the tensor.
DlVersioned* export_versioned(const Tensor& t);
Tensor import_versioned(DlVersioned* managed);
void describe(const Tensor& t, DlTensor& out);
Tensor empty_like_prototype(const DlTensor& prototype);

}  // namespace tl::bind
