// The properties of the tensor type.
#pragma once

#include <Python.h>

namespace tl::bind {

PyGetSetDef* overridable_properties();  // a table that ends with an empty row

}  // namespace tl::bind
