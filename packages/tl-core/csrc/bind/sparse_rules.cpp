// Sparse rules in Python: which calls get one, and where the results go.
#include "bind/sparse_rules.h"

#include <Python.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/thread_local.h"
#include "bind/rule_calls.h"
#include "bind/tensor_object.h"
#include "dispatch/sparse.h"
#include "dispatch/thread_state.h"
#include "iter/checks.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/differentiated.h"
#include "tensor/sparse.h"

namespace tl::bind {

namespace {
void check_fits(const Operator& op, const Tensor& target, const Tensor& made) {
  const bool stores_nothing =
      op.info.variant == TL_OUT && made.is_sparse() && parts_of(*made.impl()).count() == 0;
  if (!stores_nothing) check_castable(made.dtype(), target);
  // What has no other form, such as resize_as_, gives its own size.
  const bool resizes = op.info.variant == TL_OUT || op.info.functional == &op;
  TL_CHECK(resizes || std::ranges::equal(target.sizes(), made.sizes()), Runtime, "output with shape ",
           target.sizes(), " doesn't match the broadcast shape ", made.sizes());
}

bool is_one_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && std::ranges::equal(a.sizes(), b.sizes()) &&
         std::ranges::equal(a.strides(), b.strides());
}

// Whether the elements of `made` can be written into those of `own`, which other tensors may share: the
// indices are the same, and no element is read after a write to its memory.
bool has_indices_of(const SparseParts& made, const SparseParts& own) {
  return is_one_view(made.indices, own.indices) && made.is_compressed() == own.is_compressed() &&
         (!own.is_compressed() || is_one_view(made.compressed, own.compressed)) &&
         std::ranges::equal(made.values.sizes(), own.values.sizes()) &&
         made.values.storage() != own.values.storage();
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
  const SparseParts& own = parts_of(*target.impl());
  const bool same_size = std::ranges::equal(made.sizes(), target.sizes());
  if (op.info.variant == TL_INPLACE && same_size && has_indices_of(parts, own)) {
    ops::copy_(own.values, parts.values);
    return;
  }
  parts.values = alias(to_dtype(parts.values, target.dtype()));
  set_sparse(*target.impl(), made.sizes(), std::move(parts));
}

void deliver(const Operator& op, PyObject* made, TlValue* rets, int n_rets) {
  TlValue fresh[kMostRuleResults] = {};
  rule_results(op, made, fresh, n_rets);
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
    PyRef module = checked(import_module("tl_core.sparse_layouts.rules"));
    handler = checked(PyObject_GetAttrString(module.get(), "call")).release();
  }
  return call_rule(handler, op, rule_arguments(args, n_args).get()).release();
}

// ---- gradients of elements that are not stored ------------------------------------------------------------
// Functions of the stored elements, whatever else the tensor may hold; and draws, which a second call
// changes.
bool is_of_stored_elements(const Operator& op) {
  const std::string_view name(op.info.functional->info.name);
  return op.info.is_random || name.find("softmax") != name.npos || name == "dropout";
}

// The arguments with all elements of those that are sparse, whose gradients are sparse or dense.
class DenseArguments {
 public:
  DenseArguments(const TlValue* args, int n_args, bool sparse_gradients)
      : values_(args, args + n_args), sparse_gradients_(sparse_gradients) {
    for (TlValue& v : values_) {
      if (v.tag == TL_TENSOR) v = value(dense(reinterpret_cast<const Tensor&>(v.u.t)));
      if (v.tag != TL_TENSOR_LIST) continue;
      auto* list = static_cast<const Tensor*>(v.u.p);
      std::vector<Tensor>& made = lists_.emplace_back();
      for (uint32_t i = 0; i < v.len; ++i) made.push_back(list[i] ? dense(list[i]) : list[i]);
      v.u.p = made.data();
    }
  }
  const TlValue* data() const { return values_.data(); }

 private:
  const Tensor& dense(const Tensor& t) {
    if (!t.is_sparse()) return t;
    return tensors_.emplace_back(sparse_gradients_ ? ops::_to_dense(t, false) : ops::_all_elements(t));
  }
  std::vector<TlValue> values_;
  bool sparse_gradients_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> lists_;
};

bool is_argument(const Tensor& t, const TlValue* args, int n_args) {
  return std::any_of(args, args + n_args, [&](const TlValue& v) {
    return v.tag == TL_TENSOR && t.same(reinterpret_cast<const Tensor&>(v.u.t));
  });
}

// What the rule made, with the derivative that the operator has for dense tensors.
Tensor as_differentiated(const Tensor& made, const Tensor& dense, const TlValue* args, int n_args) {
  if (!made || is_argument(made, args, n_args) || !(is_floating(made.dtype()) || is_complex(made.dtype())))
    return made;
  return made.is_sparse() ? ops::_sparse_like(dense, made, true) : dense;
}

void differentiate(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const bool sparse = rets[0].tag == TL_TENSOR && reinterpret_cast<const Tensor&>(rets[0].u.t).is_sparse();
  const DenseArguments dense(args, n_args, sparse);
  TlValue found[8] = {};
  if (call(op, dense.data(), n_args, found, n_rets) != 0) throw_pending();
  for (int i = 0; i < n_rets; ++i) {
    if (rets[i].tag == TL_TENSOR) {
      const Tensor made = TakeResult<Tensor>::take(rets[i]), other = TakeResult<Tensor>::take(found[i]);
      rets[i] = none();
      rets[i] = owned(as_differentiated(made, other, args, n_args));
    } else if (rets[i].tag == TL_TENSOR_LIST) {
      auto* list = static_cast<Tensor*>(const_cast<void*>(rets[i].u.p));
      auto* others = static_cast<const Tensor*>(found[i].u.p);
      for (uint32_t k = 0; k < rets[i].len && k < found[i].len; ++k)
        list[k] = as_differentiated(list[k], others[k], args, n_args);
      release(found[i]);
    }
  }
}

bool any_recorded(const TlValue* args, int n_args) {
  return records_gradients() && std::any_of(args, args + n_args, [](const TlValue& v) {
           return v.tag == TL_TENSOR && is_recorded(reinterpret_cast<const Tensor&>(v.u.t));
         });
}

// A write as the copy of what the functional form makes, which is recorded.
void write_recorded(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  TlValue made[1] = {};
  const Tensor& target = reinterpret_cast<const Tensor&>(args[0].u.t);
  const Tensor before = ops::clone(target);  // which the derivative may read
  std::vector<TlValue> given(args, args + n_args);
  given[0] = value(before);
  if (call(*op.info.functional, given.data(), n_args, made, 1) != 0) throw_pending();
  ops::copy_(target, TakeResult<Tensor>::take(made[0]));
  if (n_rets) rets[0] = owned(target);
}

// Of a call that autograd has recorded: the gradients of its results are read where those of its arguments
// are.
void read_as_arguments(const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (!reads_dense_gradient(args, n_args)) return;
  for (int i = 0; i < n_rets; ++i) {
    if (rets[i].tag != TL_TENSOR) continue;
    const Tensor& t = reinterpret_cast<const Tensor&>(rets[i].u.t);
    if (t.is_sparse() && !is_argument(t, args, n_args))
      t->bits.fetch_and(~TL_BIT_STORED_GRADIENT, std::memory_order_relaxed);
  }
}

PyObject* call_python_unrecorded(const Operator& op, const TlValue* args, int n_args) {
  const NoGradGuard off;
  return call_python(op, args, n_args);
}

bool writes_recorded(const Operator& op, const TlValue* args, int n_args) {
  return op.info.variant == TL_INPLACE && op.info.functional != &op && op.info.n_rets <= 1 &&
         args[0].tag == TL_TENSOR && any_recorded(args, n_args);
}

void run_rule(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const WithGil lock;
  try {
    if (writes_recorded(op, args, n_args)) return write_recorded(op, args, n_args, rets, n_rets);
    const bool dense = op.info.variant == TL_FUNCTIONAL && !is_of_stored_elements(op) &&
                       records_gradients() && reads_dense_gradient(args, n_args);
    const PyRef made(dense ? call_python_unrecorded(op, args, n_args) : call_python(op, args, n_args));
    if (made.get() == Py_NotImplemented) return without_rule(op, args, n_args, rets, n_rets);
    deliver(op, made.get(), rets, n_rets);
    if (dense)
      differentiate(op, args, n_args, rets, n_rets);
    else if (!records_gradients())
      read_as_arguments(args, n_args, rets, n_rets);
  } catch (const PythonError&) {
    pending_from_python();
    throw_pending();
  }
}
PyObject* reads_dense(PyObject*, PyObject* o) {
  return translated(
      [&] {
        TL_CHECK(is_tensor(o), Type, "expected a Tensor, got ", Py_TYPE(o)->tp_name);
        const Tensor t = tensor_of(o);
        return PyBool_FromLong(records_gradients() && has_dense_gradient(t));
      },
      static_cast<PyObject*>(nullptr));
}

PyMethodDef kFunctions[] = {
    {"_reads_dense_gradient", reads_dense, METH_O,
     "_reads_dense_gradient(tensor)\n--\n\nWhether what is computed of the tensor is recorded, and its "
     "gradient read of all elements."},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_sparse_rules(PyObject* module) {
  set_sparse_rules(run_rule);
  if (PyModule_AddFunctions(module, kFunctions) != 0) throw PythonError();
}

}  // namespace tl::bind
