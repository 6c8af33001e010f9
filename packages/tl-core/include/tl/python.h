/* The bridge between handles and Python objects: a second table, in the capsule `tl_core._C.python_v1`. Every
 * entry needs the GIL. Errors are Python exceptions unless said otherwise. */
#ifndef TL_PYTHON_H
#define TL_PYTHON_H

#include <Python.h>

#include "tl/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TL_PYTHON_CAPSULE "tl_core._C.python_v1"

typedef struct TlPython {
  size_t struct_size;
  uint32_t major, minor;

  PyTypeObject* tensor_type; /* the C base of tl_core.Tensor */

  PyObject* (*wrap)(TlTensor* t); /* owned: the tensor's one Python object; takes over the caller's handle */
  TlTensor* (*unwrap)(PyObject* object); /* borrowed; NULL without an exception if it is no tensor */
  PyObject* (*wrapper)(
      TlTensor* t); /* borrowed: the Python object if there is one, else NULL without an exception */
  void (*raise_pending)(void);             /* turns the thread's pending tl error into a Python exception */
  void (*pending_from_python)(void);       /* turns the current Python exception into the pending tl error */
  PyObject* (*from_value)(TlValue* value); /* owned; takes over what the value holds */
  /* Python object to value; tensors are borrowed. Lists and numbers without room in the value live in
   * `*scratch`, freed by `scratch_free`. */
  int (*to_value)(PyObject* object, int arg_kind, TlValue* out, void** scratch);
  void (*scratch_free)(void* scratch);
  PyObject* (*dtype_object)(int64_t dtype);   /* borrowed */
  PyObject* (*device_object)(int64_t device); /* owned */
  /* Adds methods and properties to the tensor type; the tables must outlive the process. Either may be NULL.
   */
  int (*extend_tensor)(PyMethodDef* methods, PyGetSetDef* getset);
  /* Addresses of the instructions that this thread's Python frames have reached, innermost first, without a
   * reference to anything; how many of the n places were filled. Needs no GIL. `tl_core.base.source_location`
   * finds the lines. */
  int (*frames)(const void** out, int n);
} TlPython;

/* The bridge; NULL with a Python exception if tl_core cannot be imported. */
static inline const TlPython* tl_import_python(void) {
  return (const TlPython*)PyCapsule_Import(TL_PYTHON_CAPSULE, 0);
}

/* The table of tl/c_api.h; NULL with an ImportError that names both versions if the installed core is too
 * old. */
static inline const TlApi* tl_import_api(uint32_t min_minor) {
  const TlPython* python = tl_import_python();
  void* entry = python ? PyCapsule_Import(TL_API_CAPSULE, 0) : NULL;
  const TlApi* api;
  if (!entry) return NULL;
  api = ((TlGetApi)entry)(TL_API_MAJOR, min_minor);
  if (!api) python->raise_pending();
  return api;
}

#ifdef __cplusplus
}
#endif
#endif /* TL_PYTHON_H */
