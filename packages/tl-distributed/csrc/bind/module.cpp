// The extension module tl_distributed._C.
#include "base/forks.h"
#include "bind/group_object.h"
#include "bind/python.h"
#include "bind/reducer_object.h"
#include "bind/store_object.h"
#include "bind/task_object.h"

namespace tl::distributed {

namespace {
PyObject* fork_count_function(PyObject*, PyObject*) { return PyLong_FromLong(fork_count()); }

PyMethodDef kFunctions[] = {
    {"fork_count", fork_count_function, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "tl_distributed._C", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};

PyObject* make_module() {
  if (!load(0)) return nullptr;
  return for_python([] {
    watch_forks();
    PyRef module = checked(PyModule_Create(&kModule));
    add_task_type(module.get());
    add_group_type(module.get());
    add_reducer_types(module.get());
    add_store_types(module.get());
    return module.release();
  });
}
}  // namespace

}  // namespace tl::distributed

PyMODINIT_FUNC PyInit__C() { return tl::distributed::make_module(); }
