// The reducer for Python: hooks on parameters that call C++ directly and mark a gradient as ready.
#include "bind/reducer_object.h"

#include "bind/group_object.h"
#include "ddp/reducer.h"

namespace tl::distributed {

namespace {
// A reducer with the Python objects of its parameters, and the program in Python that it serves.
class Owner final : public ReducerCallbacks {
 public:
  // `program` is a weak proxy: it owns the reducer.
  Owner(Reducer reducer_, std::vector<PyRef> parameters, PyRef program)
      : reducer(std::move(reducer_)), parameters_(std::move(parameters)), program_(std::move(program)) {}

  Tensor gradient(size_t parameter) override {
    PyRef object = checked(PyObject_GetAttr(parameters_[parameter].get(), name()));
    return Tensor::share(python().unwrap(object.get()));
  }
  void set_gradient(size_t parameter, Tensor gradient) override {
    PyRef object = checked(python().wrap(gradient.release()));
    checked(PyObject_SetAttr(parameters_[parameter].get(), name(), object.get()));
  }
  void while_waiting(const std::function<void()>& body) override {
    WithoutGil others_run;
    body();
  }
  void start(size_t bucket, const Tensor& flat) override {
    PyRef buffer = flat ? checked(python().wrap(Tensor(flat).release())) : PyRef::share(Py_None);
    call("start_bucket", "nO", static_cast<Py_ssize_t>(bucket), buffer.get());
  }
  Tensor finish(size_t bucket) override {
    PyRef gradient = call("finish_bucket", "n", static_cast<Py_ssize_t>(bucket));
    return Tensor::share(tensor_of(gradient.get()));
  }
  std::vector<char> used_anywhere(const std::vector<char>& used_here) override {
    PyRef flags = checked(PyList_New(0));
    for (char is_used : used_here) checked(PyList_Append(flags.get(), is_used ? Py_True : Py_False));
    flags = call("used_anywhere", "(O)", flags.get());
    std::vector<char> used(used_here.size());
    for (size_t p = 0; p < used.size(); ++p) {
      PyRef flag = checked(PySequence_GetItem(flags.get(), static_cast<Py_ssize_t>(p)));
      used[p] = integer_of(flag.get()) != 0;
    }
    return used;
  }

  // Records the arrival of a gradient.
  void on_gradient(size_t parameter) {
    const bool recorded = api().grad_enabled();
    api().set_grad_enabled(0);
    bool is_first = true;
    try {
      is_first = reducer.mark(parameter, *this);
    } catch (...) {
      api().set_grad_enabled(recorded);
      throw;
    }
    api().set_grad_enabled(recorded);
    if (!is_first) call("refuse_second", "n", static_cast<Py_ssize_t>(parameter));
  }

  Reducer reducer;

 private:
  static PyObject* name() {
    static PyObject* const text = PyUnicode_InternFromString("grad");
    return text;
  }
  template <class... A>
  PyRef call(const char* method, const char* format, A... args) {
    return checked(run_python(PyObject_CallMethod, program_.get(), method, format, args...));
  }
  std::vector<PyRef> parameters_;
  PyRef program_;
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

std::vector<size_t> numbers_of(PyObject* o) {
  std::vector<size_t> numbers;
  PyRef list = checked(PySequence_Fast(o, "expected a list of int"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    numbers.push_back(static_cast<size_t>(integer_of(PySequence_Fast_GET_ITEM(list.get(), i))));
  return numbers;
}

// A list of (numbers of parameters, is_sparse).
std::vector<BucketPlan> plans_of(PyObject* o) {
  std::vector<BucketPlan> plans;
  PyRef list = checked(PySequence_Fast(o, "expected a list of buckets"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* numbers;
    int is_sparse;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list.get(), i), "Op", &numbers, &is_sparse))
      throw PythonError();
    plans.push_back({numbers_of(numbers), is_sparse != 0});
  }
  return plans;
}

// Reducer(group, size, parameters, buckets, grads_are_views, finds_unused, program)
PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  return for_python([&] {
    PyObject *group, *parameters, *buckets, *program;
    int size, views, unused;
    if (!PyArg_ParseTuple(args, "OiOOppO", &group, &size, &parameters, &buckets, &views, &unused, &program))
      throw PythonError();
    std::vector<PyRef> objects;
    std::vector<Tensor> tensors;
    PyRef items = checked(PySequence_Fast(parameters, "expected a list of Tensor"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      objects.push_back(PyRef::share(PySequence_Fast_GET_ITEM(items.get(), i)));
      tensors.push_back(Tensor::share(tensor_of(objects.back().get())));
    }
    Reducer reducer(group == Py_None ? nullptr : group_of(group), std::move(tensors), plans_of(buckets),
                    {size, views != 0, unused != 0});
    PyRef proxy = checked(PyWeakref_NewProxy(program, nullptr));
    auto owner = std::make_shared<Owner>(std::move(reducer), std::move(objects), std::move(proxy));
    PyRef self = checked(type->tp_alloc(type, 0));
    new (&reinterpret_cast<ReducerObject*>(self.get())->owner) std::shared_ptr<Owner>(std::move(owner));
    return self.release();
  });
}

PyObject* hook_of(PyObject* self, PyObject* parameter) {
  return for_python([&] {
    const auto number = static_cast<size_t>(integer_of(parameter));
    PyRef object = checked(g_hook_type->tp_alloc(g_hook_type, 0));
    auto* hook = reinterpret_cast<HookObject*>(object.get());
    new (&hook->owner) std::weak_ptr<Owner>(reinterpret_cast<ReducerObject*>(self)->owner);
    hook->parameter = number;
    return object.release();
  });
}

PyObject* prepare(PyObject* self, PyObject* unused) {
  return for_python([&] {
    owner_of(self).reducer.prepare(numbers_of(unused));
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
PyObject* set_hook(PyObject* self, PyObject*) {
  owner_of(self).reducer.set_hook();
  return Py_NewRef(Py_None);
}

PyMethodDef kMethods[] = {
    {"hook", hook_of, METH_O, nullptr},
    {"prepare", prepare, METH_O, nullptr},
    {"pause", pause_reducer, METH_NOARGS, nullptr},
    {"missing", missing, METH_NOARGS, nullptr},
    {"set_divisor", set_divisor, METH_O, nullptr},
    {"set_hook", set_hook, METH_NOARGS, nullptr},
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
