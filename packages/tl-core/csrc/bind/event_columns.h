// The events of a recording as columns of numbers, for readers that are not Python.
#pragma once

#include <pybind11/pybind11.h>

#include "profile/recorded_events.h"

namespace tl::bind {

// {"start": bytes, …, "names": [str], "threads": [(number, the system's)]}
pybind11::dict event_columns(const Recording& recording);

}  // namespace tl::bind
