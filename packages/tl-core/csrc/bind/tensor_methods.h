// The methods of the tensor type that are no operators.
#pragma once

#include <Python.h>

namespace tl::bind {

PyMethodDef* overridable_methods();  // a table that ends with an empty row

}  // namespace tl::bind
