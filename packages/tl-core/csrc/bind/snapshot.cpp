// Snapshots for Python: parts of memory are named, then read from the copied process.
#include "bind/snapshot.h"

#include <cerrno>
#include <vector>

#include "base/snapshot.h"
#include "bind/error.h"
#include "bind/gil_release.h"
#include "bind/tensor_object.h"

namespace tl::bind {

namespace {
SnapshotPart part(PyObject* o) {
  TL_CHECK(is_tensor(o), Type, "expected a tensor, got ", Py_TYPE(o)->tp_name);
  const Tensor& t = tensor_of(o);
  return {static_cast<const char*>(t.data()), static_cast<size_t>(t.numel() * t.itemsize())};
}

PyObject* py_begin(PyObject*, PyObject* tensors) {
  return translated(
      [&]() -> PyObject* {
        const PyRef all = checked(PySequence_Tuple(tensors));
        std::vector<SnapshotPart> parts;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i)
          parts.push_back(part(PyTuple_GET_ITEM(all.get(), i)));
        const Snapshot made = begin_snapshot(parts.data(), parts.size());
        return made.process < 0 ? raise_os_error(errno) : Py_BuildValue("ii", made.process, made.descriptor);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* py_read(PyObject*, PyObject* args) {
  return translated(
      [&]() -> PyObject* {
        Snapshot from;
        PyObject* to;
        if (!PyArg_ParseTuple(args, "iiO", &from.process, &from.descriptor, &to)) throw PythonError();
        const SnapshotPart target = part(to);
        const int error =
            unlocked(true, [&] { return read_snapshot(from, const_cast<char*>(target.data), target.size); });
        return error ? raise_os_error(error) : Py_NewRef(Py_None);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* py_end(PyObject*, PyObject* args) {
  Snapshot made;
  if (!PyArg_ParseTuple(args, "ii", &made.process, &made.descriptor)) return nullptr;
  unlocked(true, [&] { return end_snapshot(made), 0; });
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"_begin_snapshot", py_begin, METH_O, nullptr},
    {"_read_snapshot", py_read, METH_VARARGS, nullptr},
    {"_end_snapshot", py_end, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_snapshots(PyObject* module) { checked(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace tl::bind
