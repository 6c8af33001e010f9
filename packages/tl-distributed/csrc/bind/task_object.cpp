// Tasks for Python: waiting, exceptions and callbacks from whichever thread ends the operation.
#include "bind/task_object.h"

namespace tl::distributed {

namespace {
struct TaskObject {
  PyObject_HEAD std::shared_ptr<Task> task;
};
PyTypeObject* g_type = nullptr;

Task& task_of(PyObject* self) { return *reinterpret_cast<TaskObject*>(self)->task; }

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<TaskObject*>(self)->task.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* is_completed(PyObject* self, PyObject*) { return PyBool_FromLong(task_of(self).is_done()); }

// wait(nanoseconds) -> whether it is over; raises what it failed with
PyObject* wait(PyObject* self, PyObject* ns) {
  return for_python([&] {
    const int64_t limit = integer_of(ns);
    Task& task = task_of(self);
    bool over;
    {
      WithoutGil others_run;
      over = task.wait(limit);
    }
    if (over) task.rethrow();
    return PyBool_FromLong(over);
  });
}

PyObject* exception(PyObject* self, PyObject*) {
  return for_python([&] { return exception_object(task_of(self).error()).release(); });
}

PyObject* source(PyObject* self, PyObject*) { return PyLong_FromLong(task_of(self).source); }

// on_done(function): calls it, from whatever thread, when the operation is over
PyObject* on_done(PyObject* self, PyObject* function) {
  return for_python([&] {
    PyObject* function_ref = Py_NewRef(function);
    task_of(self).on_done([function_ref] {
      WithGil python_runs;
      PyRef called(run_python(PyObject_CallNoArgs, function_ref));
      if (!called) PyErr_WriteUnraisable(function_ref);
      Py_DECREF(function_ref);
    });
    return Py_NewRef(Py_None);
  });
}

PyMethodDef kMethods[] = {
    {"is_completed", is_completed, METH_NOARGS, nullptr},
    {"wait", wait, METH_O, nullptr},
    {"exception", exception, METH_NOARGS, nullptr},
    {"source", source, METH_NOARGS, nullptr},
    {"on_done", on_done, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kSlots[] = {{Py_tp_dealloc, slot(dealloc)}, {Py_tp_methods, kMethods}, {0, nullptr}};
PyType_Spec kSpec = {"tl_distributed._C.Task", sizeof(TaskObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};
}  // namespace

void add_task_type(PyObject* module) {
  g_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&kSpec)).release());
  checked(PyModule_AddObjectRef(module, "Task", reinterpret_cast<PyObject*>(g_type)));
}

PyRef task_object(std::shared_ptr<Task> task) {
  PyRef made = checked(g_type->tp_alloc(g_type, 0));
  new (&reinterpret_cast<TaskObject*>(made.get())->task) std::shared_ptr<Task>(std::move(task));
  return made;
}

PyRef exception_object(const std::exception_ptr& error) {
  if (!error) return PyRef::share(Py_None);
  try {
    try {
      std::rethrow_exception(error);
    } catch (const PortableError& portable) {
      portable.rethrow();
    }
  } catch (...) {
    raise_from_exception();
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return PyRef(value);
}

}  // namespace tl::distributed
