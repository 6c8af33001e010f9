// Recordings for Python: begun and ended, read as tuples, written as Chrome traces; and the memory's history.
#pragma once

#include <pybind11/pybind11.h>

namespace tl::bind {

void add_recordings(pybind11::module_& m);

}  // namespace tl::bind
