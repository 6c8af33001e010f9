// The reducer for Python: hooks on parameters that call C++ directly and mark a gradient as ready.
#include "bind/reducer_object.h"

#include "bind/group_object.h"
#include "ddp/reducer.h"

namespace tl::distributed {

namespace {
// A reducer with the Python objects of its parameters.
class Owner final : public Gradients {
 public:
  Owner(std::shared_ptr<Group> group, std::vector<PyRef> parameters, std::vector<Tensor> tensors,
        std::vector<std::vector<size_t>> buckets, int64_t divisor, bool grads_are_views)
      : reducer(std::move(group), std::move(tensors), std::move(buckets), divisor, grads_are_views),
        parameters_(std::move(parameters)) {}

  Tensor get(size_t parameter) override {
    PyRef found = checked(PyObject_GetAttr(parameters_[parameter].get(), name()));
    return Tensor::share(python().unwrap(found.get()));
  }
  void set(size_t parameter, Tensor gradient) override {
    PyRef object = checked(python().wrap(gradient.release()));
    checked(PyObject_SetAttr(parameters_[parameter].get(), name(), object.get()));
  }
  void while_waiting(const std::function<void()>& body) override {
    WithoutGil others_run;
    body();
  }

  // A gradient has come.
  void on_gradient(size_t parameter) {
    if (forward_) {
      checked(
          run_python(PyObject_CallFunctionObjArgs, forward_.get(), parameters_[parameter].get(), nullptr));
      return;
    }
    if (!reducer.is_expecting()) return;
    const bool recorded = api().grad_enabled();
    api().set_grad_enabled(0);
    bool first = true;
    try {
      first = reducer.mark(parameter, *this);
    } catch (...) {
      api().set_grad_enabled(recorded);
      throw;
    }
    api().set_grad_enabled(recorded);
    if (!first)
      checked(run_python(PyObject_CallFunction, twice_.get(), "n", static_cast<Py_ssize_t>(parameter)));
  }
  void forward_to(PyRef function) { forward_ = std::move(function); }
  void raise_by(PyRef twice) { twice_ = std::move(twice); }

  Reducer reducer;

 private:
  static PyObject* name() {
    static PyObject* const text = PyUnicode_InternFromString("grad");
    return text;
  }
  std::vector<PyRef> parameters_;
  PyRef forward_, twice_;
};

struct ReducerObject {
  PyObject_HEAD std::shared_ptr<Owner> owner;
};
struct HookObject {
  PyObject_HEAD std::weak_ptr<Owner> owner;
  size_t parameter;
};
PyTypeObject* g_hook_type = nullptr;

Owner& owner_of(PyObject* self) { return *reinterpret_cast<ReducerObject*>(self)->owner; }

template <class Object, auto member>
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  std::destroy_at(&(reinterpret_cast<Object*>(self)->*member));
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* call_hook(PyObject* self, PyObject*, PyObject*) {
  return for_python([&] {
    auto* hook = reinterpret_cast<HookObject*>(self);
    if (std::shared_ptr<Owner> owner = hook->owner.lock()) owner->on_gradient(hook->parameter);
    return Py_NewRef(Py_None);
  });
}

// Reducer(group, parameters, buckets, divisor, grads_are_views, twice)
PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  return for_python([&] {
    PyObject *group, *parameters, *buckets, *twice;
    long long divisor;
    int views;
    if (!PyArg_ParseTuple(args, "OOOLpO", &group, &parameters, &buckets, &divisor, &views, &twice))
      throw PythonError();
    std::vector<PyRef> objects;
    std::vector<Tensor> tensors;
    PyRef items = checked(PySequence_Fast(parameters, "expected a list of Tensor"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      objects.push_back(PyRef::share(PySequence_Fast_GET_ITEM(items.get(), i)));
      tensors.push_back(Tensor::share(tensor_of(objects.back().get())));
    }
    std::vector<std::vector<size_t>> numbers;
    PyRef lists = checked(PySequence_Fast(buckets, "expected a list of lists"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(lists.get()); ++i) {
      PyRef list =
          checked(PySequence_Fast(PySequence_Fast_GET_ITEM(lists.get(), i), "expected a list of int"));
      numbers.emplace_back();
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list.get()); ++k)
        numbers.back().push_back(static_cast<size_t>(integer_of(PySequence_Fast_GET_ITEM(list.get(), k))));
    }
    auto owner = std::make_shared<Owner>(group_of(group), std::move(objects), std::move(tensors),
                                         std::move(numbers), divisor, views != 0);
    owner->raise_by(PyRef::share(twice));
    PyRef made = checked(type->tp_alloc(type, 0));
    new (&reinterpret_cast<ReducerObject*>(made.get())->owner) std::shared_ptr<Owner>(std::move(owner));
    return made.release();
  });
}

PyObject* hook_of(PyObject* self, PyObject* parameter) {
  return for_python([&] {
    const auto number = static_cast<size_t>(integer_of(parameter));
    PyRef made = checked(g_hook_type->tp_alloc(g_hook_type, 0));
    auto* hook = reinterpret_cast<HookObject*>(made.get());
    new (&hook->owner) std::weak_ptr<Owner>(reinterpret_cast<ReducerObject*>(self)->owner);
    hook->parameter = number;
    return made.release();
  });
}

PyObject* prepare(PyObject* self, PyObject*) {
  return for_python([&] {
    owner_of(self).reducer.prepare();
    return Py_NewRef(Py_None);
  });
}
PyObject* pause_reducer(PyObject* self, PyObject*) {
  owner_of(self).reducer.pause();
  return Py_NewRef(Py_None);
}
PyObject* missing(PyObject* self, PyObject*) {
  return for_python([&] {
    PyRef list = checked(PyList_New(0));
    for (size_t p : owner_of(self).reducer.missing()) {
      PyRef number = checked(PyLong_FromSize_t(p));
      checked(PyList_Append(list.get(), number.get()));
    }
    return list.release();
  });
}
PyObject* set_divisor(PyObject* self, PyObject* divisor) {
  return for_python([&] {
    owner_of(self).reducer.set_divisor(integer_of(divisor));
    return Py_NewRef(Py_None);
  });
}
// forward_to(function): from now on hooks call it with the parameter, and this reducer does nothing
PyObject* forward_to(PyObject* self, PyObject* function) {
  owner_of(self).forward_to(PyRef::share(function));
  return Py_NewRef(Py_None);
}

PyMethodDef kMethods[] = {
    {"hook", hook_of, METH_O, nullptr},
    {"prepare", prepare, METH_NOARGS, nullptr},
    {"pause", pause_reducer, METH_NOARGS, nullptr},
    {"missing", missing, METH_NOARGS, nullptr},
    {"set_divisor", set_divisor, METH_O, nullptr},
    {"forward_to", forward_to, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kSlots[] = {{Py_tp_dealloc, slot(dealloc<ReducerObject, &ReducerObject::owner>)},
                        {Py_tp_new, slot(create)},
                        {Py_tp_methods, kMethods},
                        {0, nullptr}};
PyType_Spec kSpec = {"tl_distributed._C.Reducer", sizeof(ReducerObject), 0, Py_TPFLAGS_DEFAULT, kSlots};
PyType_Slot kHookSlots[] = {{Py_tp_dealloc, slot(dealloc<HookObject, &HookObject::owner>)},
                            {Py_tp_call, slot(call_hook)},
                            {0, nullptr}};
PyType_Spec kHookSpec = {"tl_distributed._C.GradientHook", sizeof(HookObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kHookSlots};
}  // namespace

void add_reducer_types(PyObject* module) {
  PyRef type = checked(PyType_FromSpec(&kSpec));
  checked(PyModule_AddObjectRef(module, "Reducer", type.get()));
  g_hook_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&kHookSpec)).release());
}

}  // namespace tl::distributed
