// NaN and infinity check: a layer that reads each operator's results and names the first that made one.
#include "bind/operator_observer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/thread_local.h"
#include "bind/error.h"
#include "bind/tensor_object.h"
#include "dispatch/operator.h"
#include "dispatch/tensors.h"
#include "dispatch/thread_state.h"
#include "ops.h"
#include "tensor/sparse.h"

namespace tl::bind {

namespace {
constexpr uint64_t kBit = uint64_t{1} << TL_LAYER_CHECK;

// What this thread is watched for.
enum Watch : uint8_t { kNan = 1, kInf = 2 };
thread_local uint8_t t_watch = 0;
thread_local bool t_inside = false;  // an operator that is watched: what it is made of is not

// ---- numbers that are none --------------------------------------------------------------------------------
// Memory that was only made holds anything.
bool makes_memory(const Operator& op) {
  const std::string_view name = op.info.name;
  return name.find("empty") != name.npos || name.find("resize") != name.npos ||
         name.find("set_") != name.npos;
}

bool holds(const Tensor& t, Watch what) {
  if (!t || is_integral(t.dtype(), true) || !t.device().is_cpu() || t.numel() == 0) return false;
  if (t.is_sparse()) return holds(parts_of(*t.impl()).values, what);
  const Tensor real = is_complex(t.dtype()) ? ops::view_as_real(ops::resolve_conj(t)) : t;
  const Tensor where = what == kNan ? ops::ne(real, real) : ops::eq(ops::abs(real), Scalar(HUGE_VAL));
  return ops::_local_scalar_dense(ops::any(where)).to_int() != 0;
}

bool holds(const TlValue& v, Watch what) {
  if (v.tag == TL_FLOAT) return what == kNan ? std::isnan(v.u.f) : std::isinf(v.u.f);
  return any_tensor(&v, 1, [&](const Tensor& t) { return holds(t, what); });
}

PyRef python_list(const TlValue* values, int n) {
  PyRef list = checked(PyList_New(0));
  for (int i = 0; i < n; ++i)
    for (TensorImpl* t : tensors_of(values[i])) {
      if (!t) continue;
      PyRef item = checked(wrap(Tensor::share(t)));
      if (PyList_Append(list.get(), item.get()) != 0) throw PythonError();
    }
  return list;
}

// Python words the message: with the position and with statistics of the inputs.
[[noreturn]] void refuse(const Operator& op, Watch what, const Tensor& result, const TlValue* args,
                         int n_args) {
  const WithGil lock;
  std::string text = cat(op.info.name, " made ", what == kNan ? "nan" : "inf");
  try {
    PyRef module = checked(import_module("tl_core.settings.nan_check"));
    PyRef inputs = python_list(args, n_args), made = checked(wrap(result));
    PyRef words = checked(run_python(PyObject_CallMethod, module.get(), "describe", "ssOO", op.info.name,
                                     what == kNan ? "nan" : "inf", made.get(), inputs.get()));
    const char* utf8 = PyUnicode_AsUTF8(words.get());
    if (!utf8) throw PythonError();
    text = utf8;
  } catch (const PythonError&) {
    PyErr_Clear();
  }
  fail(ErrorKind::Runtime, text);
}

void check_result(const Operator& op, const Tensor& t, const TlValue* args, int n_args, uint8_t watched) {
  for (Watch what : {kNan, kInf}) {
    if (!(watched & what) || !holds(t, what)) continue;
    const int n_in = n_args - (op.info.variant == TL_OUT ? op.info.n_rets : 0);
    const bool was_there = op.info.variant != TL_INPLACE &&
                           std::any_of(args, args + n_in, [&](const TlValue& v) { return holds(v, what); });
    if (!was_there) refuse(op, what, t, args, n_in);
  }
}

int check_results(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const uint8_t watched = std::exchange(t_watch, 0);
  const int status = guarded([&] {
    NoGradGuard off;
    for (int i = 0; i < n_rets; ++i)
      for (TensorImpl* const& t : tensors_of(rets[i]))
        check_result(op, reinterpret_cast<const Tensor&>(t), args, n_args, watched);
  });
  t_watch = watched;
  if (status != 0)
    for (int i = 0; i < n_rets; ++i) release(rets[i]);
  return status;
}

// What an in-place call overwrites is looked at before.
bool bad_before(const TlValue* args, int n_args) {
  const uint8_t watched = std::exchange(t_watch, 0);
  bool bad = false;
  const int status = guarded([&] {
    NoGradGuard off;
    for (Watch what : {kNan, kInf})
      if (watched & what)
        bad |= std::any_of(args, args + n_args, [&](const TlValue& v) { return holds(v, what); });
  });
  t_watch = watched;
  return bad || status != 0;
}

// ---- the layer --------------------------------------------------------------------------------------------
int observed(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Operator& op = *static_cast<const Operator*>(ctx);
  if (t_inside) return call_past(op, TL_LAYER_CHECK, args, n_args, rets, n_rets);
  const bool judged = t_watch && any_tensor(args, n_args, [](const Tensor&) { return true; }) &&
                      !makes_memory(op) && !(op.info.variant == TL_INPLACE && bad_before(args, n_args));
  t_inside = true;
  const int status = call_past(op, TL_LAYER_CHECK, args, n_args, rets, n_rets);
  t_inside = false;
  return status == 0 && judged ? check_results(op, args, n_args, rets, n_rets) : status;
}

int bind_observer(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {observed, const_cast<TlOperator*>(op)};
  return 0;
}

// ---- what Python calls ------------------------------------------------------------------------------------
// _observe(nan, inf) -> the previous two, of this thread; None leaves one as it is
PyObject* watch(PyObject*, PyObject* args) {
  PyObject* given[2];
  if (!PyArg_ParseTuple(args, "OO", &given[0], &given[1])) return nullptr;
  return translated(
      [&] {
        static const bool installed = (install_layer(TL_LAYER_CHECK, bind_observer, nullptr), true);
        (void)installed;
        const uint8_t before = t_watch;
        for (int i = 0; i < 2; ++i)
          if (given[i] != Py_None)
            t_watch = static_cast<uint8_t>(given[i] == Py_True ? t_watch | 1 << i : t_watch & ~(1 << i));
        uint64_t& included = thread_locals().included;
        included = t_watch ? included | kBit : included & ~kBit;
        return Py_BuildValue("(NN)", PyBool_FromLong(before & kNan), PyBool_FromLong(before & kInf));
      },
      static_cast<PyObject*>(nullptr));
}

PyMethodDef kFunctions[] = {
    {"_observe", watch, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_observer(PyObject* module) {
  if (PyModule_AddFunctions(module, kFunctions) != 0) throw PythonError();
}

}  // namespace tl::bind
