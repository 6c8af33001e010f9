// Sparse rules in Python: arguments are boxed, the rule runs without modes, results are checked.
#include "bind/sparse_rules.h"

#include <Python.h>

#include <algorithm>
#include <utility>

#include "bind/error.h"
#include "bind/override.h"
#include "bind/result.h"
#include "bind/types.h"
#include "dispatch/sparse.h"
#include "iter/checks.h"
#include "ops.h"
#include "ops/copy.h"
#include "tensor/sparse.h"

namespace tl::bind {

namespace {
// Rules see plain tensors: neither classes nor modes take their calls over.
class PlainCalls {
 public:
  PlainCalls() : disabled_(set_overrides_disabled(true)), modes_(detail::t_override_modes) {
    set_override_modes(0);
  }
  ~PlainCalls() {
    set_override_modes(modes_);
    set_overrides_disabled(disabled_);
  }
  PlainCalls(const PlainCalls&) = delete;

 private:
  bool disabled_;
  int modes_;
};

PyObject* tensors_to_python(const TlValue& v) {
  const auto* items = static_cast<const Tensor*>(v.u.p);
  PyRef tuple = checked(PyTuple_New(v.len));
  for (uint32_t i = 0; i < v.len; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, items[i] ? wrap(items[i]) : Py_NewRef(Py_None));
  return tuple.release();
}

PyObject* argument_to_python(const TlValue& v) {
  if (v.tag == TL_TENSOR_LIST) return tensors_to_python(v);
  if (v.tag == TL_MEMORY_FORMAT) return Py_NewRef(memory_format_object(static_cast<MemoryFormat>(v.u.i)));
  if (v.tag == TL_GENERATOR) return Py_NewRef(Py_None);
  TlValue copy = owned_copy(v);
  return to_python(copy);
}

Tensor tensor_from(const Operator& op, PyObject* o) {
  TL_CHECK(is_tensor(o), Type, op.info.name, ": the rule for sparse tensors made ", Py_TYPE(o)->tp_name,
           " where a tensor is due");
  return tensor_of(o);
}

std::vector<Tensor> tensors_from(const Operator& op, PyObject* o) {
  PyRef items = checked(PySequence_Fast(o, "a rule for sparse tensors made no list of tensors"));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    tensors.push_back(tensor_from(op, PySequence_Fast_GET_ITEM(items.get(), i)));
  return tensors;
}

TlValue result_from(const Operator& op, PyObject* o, uint8_t kind) {
  if (is_tensor(o)) return owned(tensor_of(o));
  if (kind == TL_ARG_TENSOR_LIST) return owned(tensors_from(op, o));
  if (PyBool_Check(o)) return owned(o == Py_True);
  if (PyLong_Check(o)) return owned(static_cast<int64_t>(PyLong_AsLongLong(o)));
  if (PyFloat_Check(o)) return owned(PyFloat_AsDouble(o));
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return owned(Scalar(Complex128{c.real, c.imag}));
  }
  return owned(tensor_from(op, o));
}

void check_fits(const Operator& op, const Tensor& target, const Tensor& made) {
  const bool stores_nothing =
      op.info.variant == TL_OUT && made.is_sparse() && parts_of(*made.impl()).count() == 0;
  if (!stores_nothing) check_castable(made.dtype(), target);
  // What has no other form, such as resize_as_, gives its own size.
  const bool resizes = op.info.variant == TL_OUT || op.info.functional == &op;
  TL_CHECK(resizes || std::ranges::equal(target.sizes(), made.sizes()), Runtime, "output with shape ",
           target.sizes(), " doesn't match the broadcast shape ", made.sizes());
}

// What a call made becomes what `target` holds.
void store(const Operator& op, const Tensor& target, const Tensor& made) {
  if (target.same(made)) return;
  check_fits(op, target, made);
  if (!target.is_sparse()) {
    const Tensor dense = made.is_sparse() ? ops::to_dense(made) : made;
    if (op.info.variant == TL_OUT) resize(target, dense.sizes());
    ops::copy_(target, dense);
    return;
  }
  TL_CHECK(target.layout() == made.layout(), Runtime, op.info.name, ": expected an output of the layout ",
           layout_name(made.layout()), ", got ", layout_name(target.layout()));
  SparseParts parts = parts_of(*made.impl());
  parts.values = alias(to_dtype(parts.values, target.dtype()));
  set_sparse(*target.impl(), made.sizes(), std::move(parts));
}

void deliver(const Operator& op, PyObject* made, TlValue* rets, int n_rets) {
  TlValue fresh[8] = {};
  TL_CHECK(n_rets <= 8, NotImplemented, op.info.name, " has too many results for a rule");
  if (n_rets == 1) {
    fresh[0] = result_from(op, made, op.info.rets[0].kind);
  } else if (n_rets > 1) {
    std::vector<Tensor> tensors = tensors_from(op, made);
    TL_CHECK(tensors.size() == static_cast<size_t>(n_rets), Type, op.info.name, " has ", n_rets,
             " results, the rule made ", tensors.size());
    for (int i = 0; i < n_rets; ++i) fresh[i] = owned(std::move(tensors[static_cast<size_t>(i)]));
  }
  for (int i = 0; i < n_rets; ++i) {
    if (op.info.variant == TL_FUNCTIONAL || rets[i].tag != TL_TENSOR) {
      rets[i] = fresh[i];
      continue;
    }
    const Tensor target = Tensor::share(reinterpret_cast<TensorImpl*>(rets[i].u.t));
    store(op, target, TakeResult<Tensor>::take(fresh[i]));
    rets[i] = owned(target);
  }
}

[[noreturn]] void refuse(const Operator& op, const TlValue* args, int n_args) {
  const char* name = "Sparse";
  bool compressed = false;
  for (int i = n_args - 1; i >= 0; --i)
    if (args[i].tag == TL_TENSOR && reinterpret_cast<const Tensor&>(args[i].u.t).is_sparse()) {
      const Layout layout = reinterpret_cast<const Tensor&>(args[i].u.t).layout();
      name = layout_name(layout);
      compressed = layout != Layout::SparseCoo;
    }
  TL_CHECK(!compressed, Runtime, "unsupported tensor layout: ", name, " in 'aten::", op.info.name,
           "'; to_dense() makes a tensor that all operators take");
  fail(ErrorKind::NotImplemented, "Could not run 'aten::", op.info.name, "' with arguments from the '", name,
       "CPU' backend: it is not implemented for tensors of this layout; to_dense() makes a tensor that all "
       "operators take");
}

// A composite operator needs no rule where its parts have theirs.
void without_rule(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const KernelEntry& k = op.kernels[static_cast<int>(DeviceType::CPU)];
  if (!op.info.is_composite || !k.call || k.call == kernel_sparse_rule) refuse(op, args, n_args);
  if (k.call(k.ctx, args, n_args, rets, n_rets) != 0) throw_pending();
}

PyObject* call_python(const Operator& op, const TlValue* args, int n_args) {
  static PyObject* handler = nullptr;  // guarded by the interpreter's lock
  if (!handler) {
    PyRef module = checked(PyImport_ImportModule("tl_core.sparse_layouts.rules"));
    handler = checked(PyObject_GetAttrString(module.get(), "call")).release();
  }
  PyRef values = checked(PyTuple_New(n_args));
  for (int i = 0; i < n_args; ++i)
    PyTuple_SET_ITEM(values.get(), i, checked(argument_to_python(args[i])).release());
  const PlainCalls plain;
  return checked(run_python(PyObject_CallFunction, handler, "ssO", op.info.name,
                            op.info.functional->info.name, values.get()))
      .release();
}

void run_rule(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const WithGil lock;
  try {
    const PyRef made(call_python(op, args, n_args));
    if (made.get() == Py_NotImplemented) return without_rule(op, args, n_args, rets, n_rets);
    deliver(op, made.get(), rets, n_rets);
  } catch (const PythonError&) {
    pending_from_python();
    throw_pending();
  }
}
}  // namespace

void install_sparse_rules() { set_sparse_rules(run_rule); }

}  // namespace tl::bind
