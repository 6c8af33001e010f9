// The events of a recording as columns of numbers, for readers that are not Python.
#pragma once

#include "profile/recorded_events.h"
#include "tl/python.hpp"

namespace tl::bind {

// {"start": bytes, …, "names": [str], "threads": [(number, the system's)]}; throws PythonError
PyRef event_columns(const Recording& recording);

}  // namespace tl::bind
