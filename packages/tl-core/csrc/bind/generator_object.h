// The Python object of a random generator.
#pragma once

#include <Python.h>

#include "dispatch/value.h"

namespace tl::bind {

extern PyTypeObject* g_generator_type;

// A generator as an argument: false if the object is none.
bool generator_argument(PyObject* o, TlValue& out);
// Owned; takes over the caller's share. The default generator has one object for life.
PyObject* wrap_generator(Generator* generator);
void add_generator_type(PyObject* module);  // and `default_generator`

}  // namespace tl::bind
