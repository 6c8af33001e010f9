/* The bridge between handles and Python objects: a second table, in the capsule `tl_core._C.python_v1`. Every
 * entry needs the GIL. Errors are Python exceptions unless said otherwise. */
#ifndef TL_PYTHON_H
#define TL_PYTHON_H

#include <Python.h>

#include "tl/c_api.h"
#include "tl/extension.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TL_PYTHON_CAPSULE "tl_core._C.python_v1"

/* While the interface is a draft, it may change without a new version: an extension runs only on a core that
 * was compiled with the same headers. `python -m tools.abi freeze` writes the number. */
#define TL_API_DRAFT 1
#define TL_API_DIGEST UINT64_C(0x26602c8022a0baed)

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
  uint64_t digest; /* of the core's headers: TL_API_DIGEST */
} TlPython;

/* The header of every table. */
typedef struct TlTable {
  size_t struct_size;
  uint32_t major, minor;
} TlTable;

/* The table in a capsule, of which the first `size` bytes are read; NULL with an ImportError if the core is
 * of another major or its table is shorter. */
static inline const void* tl_import_table(const char* capsule, size_t size) {
  const TlTable* table = (const TlTable*)PyCapsule_Import(capsule, 0);
  if (!table) return NULL;
  if (table->major == TL_API_MAJOR && table->struct_size >= size) return table;
  PyErr_Format(
      PyExc_ImportError,
      "this extension reads %zu bytes of the table %s with the major version %d of tl-core's C "
      "interface, the installed core has %zu bytes and the version %u.%u: install the version of tl-core "
      "that the extension was compiled for, or compile it again",
      size, capsule, TL_API_MAJOR, table->struct_size, (unsigned)table->major, (unsigned)table->minor);
  return NULL;
}

/* The bridge; NULL with a Python exception if tl_core cannot be imported or does not fit. */
static inline const TlPython* tl_import_python(void) {
  const TlPython* python = (const TlPython*)tl_import_table(TL_PYTHON_CAPSULE, sizeof(TlPython));
#if TL_API_DRAFT
  if (python && python->digest != TL_API_DIGEST) {
    char numbers[2][32]; /* PyErr_Format knows no hexadecimal numbers of 64 bits before Python 3.12 */
    PyOS_snprintf(numbers[0], sizeof numbers[0], "%016llx", (unsigned long long)TL_API_DIGEST);
    PyOS_snprintf(numbers[1], sizeof numbers[1], "%016llx", (unsigned long long)python->digest);
    PyErr_Format(
        PyExc_ImportError,
        "this extension was compiled with headers of another draft of tl-core's C interface (%s) than "
        "the installed core (%s): compile it again",
        numbers[0], numbers[1]);
    return NULL;
  }
#endif
  return python;
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

/* The table of tl/extension.h; NULL with an ImportError if the installed core is too old. */
static inline const TlExtension* tl_import_extension(void) {
  return (const TlExtension*)tl_import_table(TL_EXTENSION_CAPSULE, sizeof(TlExtension));
}

#ifdef __cplusplus
}
#endif
#endif /* TL_PYTHON_H */
