// `Tensor.__dlpack_c_exchange_api__`: DLPack's table of functions in C.
#pragma once

#include <Python.h>

namespace tl::bind {

void add_dlpack_exchange();  // to the type of tensors

}  // namespace tl::bind
