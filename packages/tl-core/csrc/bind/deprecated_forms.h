// Calls as they were written before the factors became keywords: `add(x, 2, y)`, `addmm(beta, x, alpha, a,
// b)`.
#pragma once

#include "bind/parse.h"

namespace tl::bind {

// The same call in today's form, with the objects that it holds.
struct TodaysForm {
  std::vector<PyObject*> args;
  PyRef keywords;
  Py_ssize_t n_positional;
};

// Nothing if the function has no older form, or these aren't its arguments. Warns.
std::optional<TodaysForm> todays_form(const char* name, const PyArgs& in);

}  // namespace tl::bind
