// Storages, streams and capsules in calls of operators, as objects of Python; the counts of objects.
#pragma once

#include <Python.h>

#include "dispatch/value.h"

namespace tl::bind {

// An object as an argument, which stays the object's: false if it is none of the kind.
bool storage_argument(PyObject* o, TlValue& out);
bool stream_argument(PyObject* o, TlValue& out);
bool capsule_argument(PyObject* o, TlValue& out);

// A new reference to an object for a borrowed value.
PyObject* storage_object(const TlValue& v);
PyObject* stream_object(const TlValue& v);
PyObject* capsule_object(const TlValue& v);

void install_object_counts();  // value.h: set_object_counts

}  // namespace tl::bind
