// The first bytes of a file as a buffer of Python. Unlike `mmap.mmap`, it keeps no descriptor of the file:
// who sends many small tensors needs one for each, not two.
#include "bind/memory_map.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "bind/error.h"
#include "bind/gil_release.h"

namespace tl::bind {

namespace {
struct MemoryMap {
  PyObject_HEAD void* address;
  Py_ssize_t size;
};

MemoryMap* as_map(PyObject* o) { return reinterpret_cast<MemoryMap*>(o); }

// Whether a file has the bytes: those behind its end would end the process when they are read.
bool has_bytes(int descriptor, Py_ssize_t size) {
  struct stat facts;
  if (fstat(descriptor, &facts) != 0) return raise_os_error(errno) != nullptr;
  if (size >= 0 && (!S_ISREG(facts.st_mode) || size <= facts.st_size)) return true;
  PyErr_Format(PyExc_ValueError, "can't map %zd bytes of a file of %lld", size,
               static_cast<long long>(facts.st_size));
  return false;
}

// _MemoryMap(descriptor, nbytes, shared)
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"descriptor", "nbytes", "shared", nullptr};
  int descriptor, shared;
  Py_ssize_t size;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "inp", const_cast<char**>(keywords), &descriptor, &size,
                                   &shared) ||
      !has_bytes(descriptor, size))
    return nullptr;
  void* address = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                       shared ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) return raise_os_error(errno);
  PyObject* made = type->tp_alloc(type, 0);
  if (!made) {
    munmap(address, static_cast<size_t>(size));
    return nullptr;
  }
  as_map(made)->address = address;
  as_map(made)->size = size;
  return made;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  munmap(as_map(self)->address, static_cast<size_t>(as_map(self)->size));
  type->tp_free(self);
  Py_DECREF(type);
}

int buffer(PyObject* self, Py_buffer* view, int flags) {
  return PyBuffer_FillInfo(view, self, as_map(self)->address, as_map(self)->size, 0, flags);
}

Py_ssize_t length(PyObject* self) { return as_map(self)->size; }

PyType_Slot kSlots[] = {
    {Py_tp_new, slot(make)},
    {Py_tp_dealloc, slot(dealloc)},
    {Py_bf_getbuffer, slot(buffer)},
    {Py_sq_length, slot(length)},
    {Py_tp_doc,
     const_cast<char*>("_MemoryMap(descriptor, nbytes, shared)\n--\n\nThe first bytes of a file.")},
    {0, nullptr},
};
PyType_Spec kSpec = {"tl_core._C._MemoryMap", sizeof(MemoryMap), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                     kSlots};
}  // namespace

void add_memory_map(PyObject* module) {
  PyRef type = checked(PyType_FromSpec(&kSpec));
  checked(PyModule_AddObjectRef(module, "_MemoryMap", type.get()));
}

}  // namespace tl::bind
