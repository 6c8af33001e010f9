#include "bind/snapshot.h"

#include <vector>

#include "base/snapshot.h"
#include "bind/error.h"
#include "bind/tensor_object.h"

namespace tl::bind {

namespace {
const Tensor& item(PyObject* list, Py_ssize_t i) {
  PyObject* o = PyList_GET_ITEM(list, i);
  TL_CHECK(is_tensor(o), Type, "expected a tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

SnapshotPart part(const Tensor& to, const Tensor& from) {
  const auto size = static_cast<size_t>(from.numel() * from.itemsize());
  TL_CHECK(to.numel() == from.numel() && to.dtype() == from.dtype(), Value,
           "a copy must have the element type and count of its tensor");
  return {static_cast<char*>(to.data()), static_cast<const char*>(from.data()), size};
}

PyObject* py_begin(PyObject*, PyObject* args) {
  return translated(
      [&]() -> PyObject* {
        PyObject *copies, *tensors;
        if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &copies, &PyList_Type, &tensors))
          throw PythonError();
        TL_CHECK(PyList_GET_SIZE(copies) == PyList_GET_SIZE(tensors), Value, "as many copies as tensors");
        std::vector<SnapshotPart> parts;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i)
          parts.push_back(part(item(copies, i), item(tensors, i)));
        const pid_t process = begin_snapshot(parts.data(), parts.size());
        return process < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(process);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* py_end(PyObject*, PyObject* process) {
  const long id = PyLong_AsLong(process);
  if (id == -1 && PyErr_Occurred()) return nullptr;
  PyThreadState* thread = PyEval_SaveThread();
  const int status = end_snapshot(static_cast<pid_t>(id));
  PyEval_RestoreThread(thread);  // keeps errno
  return status < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(status);
}

PyMethodDef kFunctions[] = {
    {"_begin_snapshot", py_begin, METH_VARARGS, nullptr},
    {"_end_snapshot", py_end, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_snapshots(PyObject* module) { checked(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace tl::bind
