// The element type of floats nobody said the type of; one for the process.
#pragma once

#include "base/dtype.h"

namespace tl {

DType default_dtype();
void set_default_dtype(DType dtype);

}  // namespace tl
