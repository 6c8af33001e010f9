// vmap and grad of plain tensors in C++; for whatever is not plain they answer None and Python takes over.
#include "bind/plain_calls.h"

#include "bind/backward.h"
#include "bind/python.h"
#include "leaf.h"
#include "levels/entry.h"
#include "ops.h"
#include "view.h"

namespace tl::autograd {

namespace {
PyObject* g_tensor_type = nullptr;

// A tensor of the class itself: what others are, Python's part finds out.
TlTensor* plain_tensor(PyObject* o) {
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == g_tensor_type ? bridge->unwrap(o) : nullptr;
}

// A dimension, counted from the front, or -1 for None; -2: neither.
int64_t dimension(PyObject* o, const TlTensor* t) {
  if (o == Py_None) return -1;
  if (!PyLong_CheckExact(o) || !t) return -2;
  const long long d = PyLong_AsLongLong(o);
  const int64_t n = api->tensor_ndim(t);
  if (PyErr_Occurred()) PyErr_Clear();
  return d >= -n && d < n ? (d < 0 ? d + n : d) : -2;
}

// The dimension of the batch in each argument; false where Python's part is asked.
struct Dims {
  static constexpr Py_ssize_t kMax = 16;
  int64_t dim[kMax];
  int64_t size = -1;

  bool read(PyObject* args, PyObject* in_dims) {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    const bool many = PyTuple_CheckExact(in_dims);
    if (n > kMax || (many && PyTuple_GET_SIZE(in_dims) != n)) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      const TlTensor* t = plain_tensor(PyTuple_GET_ITEM(args, i));
      dim[i] = dimension(many ? PyTuple_GET_ITEM(in_dims, i) : in_dims, t);
      if (dim[i] == -2) return false;
      if (dim[i] == -1) continue;
      const int64_t own = api->tensor_sizes(t)[dim[i]];
      if (size >= 0 && own != size) return false;
      size = own;
    }
    return size >= 0;
  }
};

// enter_batch(arguments, in_dims, randomness) -> (the level, the arguments there), or None where they are not
// tensors with dimensions that fit
PyObject* enter_batch(PyObject*, PyObject* const* given, Py_ssize_t n_given) {
  return guarded([&]() -> PyObject* {
    if (n_given != 3 || !PyTuple_Check(given[0]))
      raise(PyExc_TypeError, "enter_batch(arguments, in_dims, randomness)");
    PyObject* args = given[0];
    Dims dims;
    if (!dims.read(args, given[1])) return Py_NewRef(Py_None);
    const long randomness = PyLong_AsLong(given[2]);
    if (randomness == -1 && PyErr_Occurred()) throw PythonError();
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyRef inside = checked(PyTuple_New(n));
    Level* level = begin_level(LevelKind::Batch);
    level->batch_size = dims.size;
    level->randomness = static_cast<Randomness>(randomness);
    const uint64_t serial = level->serial;
    try {
      for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* o = PyTuple_GET_ITEM(args, i);
        PyRef made =
            dims.dim[i] < 0 ? PyRef::share(o) : wrapped(wrap_batch(bridge->unwrap(o), dims.dim[i], *level));
        PyTuple_SET_ITEM(inside.get(), i, made.release());
      }
      return checked(Py_BuildValue("(KN)", static_cast<unsigned long long>(serial), inside.release()))
          .release();
    } catch (...) {
      end_level(level);
      throw;
    }
  });
}

// leave_batch(level, result, out_dim) -> the tensor with its batch as that dimension, or None where Python's
// part is asked
PyObject* leave_batch(PyObject*, PyObject* const* given, Py_ssize_t n_given) {
  return guarded([&]() -> PyObject* {
    if (n_given != 3) raise(PyExc_TypeError, "leave_batch(level, result, out_dim)");
    const TlTensor* t = plain_tensor(given[1]);
    const Entry* e = t ? entry_of(t) : nullptr;
    if (!e || e->level != PyLong_AsUnsignedLongLong(given[0])) return Py_NewRef(Py_None);
    if (dimension(given[2], e->value.get()) != e->dim) return Py_NewRef(Py_None);
    return wrapped(e->value).release();
  });
}

// enter_gradient(tensor) -> (the level, the tensor there), with gradients recorded, or None
PyObject* enter_gradient(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    TlTensor* t = plain_tensor(tensor);
    if (!t || !is_differentiable(api->tensor_dtype(t))) return Py_NewRef(Py_None);
    Level* level = begin_level(LevelKind::Grad);
    try {
      api->set_grad_enabled(1);
      Tensor followed = wrap_for_gradients(t, *level);
      set_requires_grad(followed.get(), true);
      return checked(Py_BuildValue("(KN)", static_cast<unsigned long long>(level->serial),
                                   wrapped(std::move(followed)).release()))
          .release();
    } catch (...) {
      api->set_grad_enabled(level->grad_mode);
      end_level(level);
      throw;
    }
  });
}

Tensor outside(TlTensor* t, const Level& level) {
  TlTensor* value = wrapped_value(t, level);
  return Tensor::share(value ? value : t);
}

Tensor zeros_below(TlTensor* t, Level& level) {
  static const TlOperator* op = operator_named("zeros_like");
  const Below below(level);
  return call_one(op, {value(outside(t, level)), none(), none(), none(), none(), none()});
}

// gradient_at(level, output, input) -> (the gradient, the output) outside of the level, or None
PyObject* gradient_at(PyObject*, PyObject* const* given, Py_ssize_t n_given) {
  return guarded([&]() -> PyObject* {
    if (n_given != 3) raise(PyExc_TypeError, "gradient_at(level, output, input)");
    Level* level = required_level(PyLong_AsUnsignedLongLong(given[0]));
    TlTensor *y = plain_tensor(given[1]), *x = plain_tensor(given[2]);
    if (!y || !x || api->tensor_ndim(y) != 0) return Py_NewRef(Py_None);
    Tensor gradient = gradient_of(given[1], x);
    Tensor result = gradient ? outside(gradient.get(), *level) : zeros_below(x, *level);
    return checked(Py_BuildValue("(NN)", wrapped(std::move(result)).release(),
                                 wrapped(outside(y, *level)).release()))
        .release();
  });
}

// leave_gradient(level): it ends, and gradients are recorded as before
PyObject* leave_gradient(PyObject*, PyObject* serial) {
  return guarded([&] {
    const unsigned long long n = PyLong_AsUnsignedLongLong(serial);
    if (n == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw PythonError();
    if (Level* level = level_of(n)) {
      api->set_grad_enabled(level->grad_mode);
      end_level(level);
    }
    return Py_NewRef(Py_None);
  });
}

PyMethodDef kFunctions[] = {
    {"enter_batch", method(enter_batch), METH_FASTCALL, nullptr},
    {"leave_batch", method(leave_batch), METH_FASTCALL, nullptr},
    {"enter_gradient", enter_gradient, METH_O, nullptr},
    {"gradient_at", method(gradient_at), METH_FASTCALL, nullptr},
    {"leave_gradient", leave_gradient, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_plain_calls(PyObject* module) {
  PyRef core = checked(import_module("tl_core._C"));
  g_tensor_type = checked(PyObject_GetAttrString(core.get(), "Tensor")).release();
  checked(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace tl::autograd
