// Quantized tensors in Python: integers and quantizers as objects, and calls of rules.
#include "bind/quantized.h"

#include <algorithm>

#include "bind/error.h"
#include "bind/rule_calls.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "dispatch/quantized.h"
#include "ops.h"
#include "ops/elementwise/bytes.h"
#include "ops/shared/copy.h"
#include "tensor/hollow.h"
#include "tensor/quantizer.h"

namespace tl::bind {

namespace {
PyObject* g_handler = nullptr;  // guarded by the interpreter's lock

const Tensor& tensor_argument(PyObject* o) {
  TL_CHECK(is_tensor(o), Type, "expected a Tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

const Tensor& quantized_argument(PyObject* o) {
  const Tensor& t = tensor_argument(o);
  TL_CHECK(has_quantizer(t), Runtime, "expected a quantized tensor, but got one of torch.",
           dtype_name(t.dtype()), "; tl_quantization.quantize_per_tensor makes one");
  return t;
}

template <class F>
PyObject* object(F body) {
  return translated(body, static_cast<PyObject*>(nullptr));
}

// _quantizer(tensor)
PyObject* get_quantizer(PyObject*, PyObject* o) {
  return object([&]() -> PyObject* {
    const Quantizer& q = *quantizer_of(*quantized_argument(o).impl());
    if (!q.is_per_channel()) return Py_BuildValue("dL", q.scale, static_cast<long long>(q.zero_point));
    const PyRef scales = checked(wrap(q.scales)), zeros = checked(wrap(q.zero_points));
    return Py_BuildValue("OOL", scales.get(), zeros.get(), static_cast<long long>(q.axis));
  });
}

// The quantizer of the last arguments: scale and zero point, or scales, zero points and axis.
QuantizerPtr quantizer_from(PyObject* const* args, Py_ssize_t n) {
  if (n == 2) {
    const double scale = PyFloat_AsDouble(args[0]);
    const long long zero_point = PyErr_Occurred() ? 0 : PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred()) throw PythonError();
    return per_tensor(scale, zero_point);
  }
  TL_CHECK(n == 3, Type, "a quantizer is a scale and a zero point, or scales, zero points and an axis");
  const long long axis = PyLong_AsLongLong(args[2]);
  if (PyErr_Occurred()) throw PythonError();
  return per_channel(tensor_argument(args[0]), tensor_argument(args[1]), axis);
}

// _quantized(integers, dtype, *quantizer)
PyObject* make_quantized(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return object([&]() -> PyObject* {
    DType dtype;
    TL_CHECK(n >= 2 && to_dtype(args[1], dtype), Type, "_quantized expects integers, a type and a quantizer");
    const Tensor& integers = tensor_argument(args[0]);
    TL_CHECK(
        !is_hollow(integers), NotImplemented,
        "there are no fakes of quantized tensors: leave FakeTensorMode to quantize, or use the operators of "
        "quantized_decomposed, whose integers are plain tensors");
    return wrap(quantized(integers, dtype, quantizer_from(args + 2, n - 2)));
  });
}

// _integers(tensor)
PyObject* get_integers(PyObject*, PyObject* o) {
  return object([&] { return wrap(integers_of(quantized_argument(o))); });
}

// _requantized_bytes(numbers, scale, zero_point, is_signed)
PyObject* requantize(PyObject*, PyObject* args) {
  return object([&]() -> PyObject* {
    PyObject* x;
    double scale;
    long long zero_point;
    int is_signed;
    if (!PyArg_ParseTuple(args, "OdLp", &x, &scale, &zero_point, &is_signed)) return nullptr;
    return wrap(requantized_bytes(tensor_argument(x), scale, zero_point, is_signed));
  });
}

// _multiplied_bytes(x, y, scale, zero_point, relu)
PyObject* multiply(PyObject*, PyObject* args) {
  return object([&]() -> PyObject* {
    PyObject *x, *y;
    double scale;
    long long zero_point;
    int relu;
    if (!PyArg_ParseTuple(args, "OOdLp", &x, &y, &scale, &zero_point, &relu)) return nullptr;
    const Tensor &one = quantized_argument(x), &two = quantized_argument(y);
    const Quantizer &first = *quantizer_of(*one.impl()), &second = *quantizer_of(*two.impl());
    const Tensor integers[] = {integers_of(one), integers_of(two)};
    const Tensor product =
        multiplied_bytes({integers[0], first.scale, first.zero_point},
                         {integers[1], second.scale, second.zero_point}, scale, zero_point, relu);
    return wrap(quantized(product, one.dtype(), per_tensor(scale, zero_point)));
  });
}

// _look_up_bytes(integers, table)
PyObject* look_up(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return object([&]() -> PyObject* {
    TL_CHECK(n == 2, Type, "_look_up_bytes expects two tensors");
    return wrap(look_up_bytes(tensor_argument(args[0]), tensor_argument(args[1])));
  });
}

// _share_quantizer(tensor, source): a tensor of a quantized type gets the quantizer of another one
PyObject* share_quantizer(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return object([&]() -> PyObject* {
    TL_CHECK(n == 2, Type, "_share_quantizer expects two tensors");
    const Tensor &t = tensor_argument(args[0]), &source = quantized_argument(args[1]);
    TL_CHECK(t.dtype() == source.dtype(), Type, "expected a tensor of torch.", dtype_name(source.dtype()),
             ", but got torch.", dtype_name(t.dtype()));
    set_quantizer(*t.impl(), QuantizerPtr::share(quantizer_of(*source.impl())));
    Py_RETURN_NONE;
  });
}

// _set_quantized_rules(handler)
PyObject* set_rules(PyObject*, PyObject* handler) {
  Py_XSETREF(g_handler, Py_NewRef(handler));
  Py_RETURN_NONE;
}

// ---- operators --------------------------------------------------------------------------------------------
[[noreturn]] void refuse(const Operator& op) {
  fail(ErrorKind::NotImplemented, "Could not run 'aten::", op.info.name,
       "' with arguments from the 'QuantizedCPU' backend: ", op.info.name,
       " doesn't compute with quantized tensors; call dequantize() before, as a DeQuantStub does in a model");
}

// A composite operator needs no rule where its parts have theirs.
void run_parts(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const KernelEntry& k = op.kernels[static_cast<int>(DeviceType::CPU)];
  if (!(op.info.is_composite || op.info.is_view) || !k.call) refuse(op);
  if (k.call(k.ctx, args, n_args, rets, n_rets) != 0) throw_pending();
}

// The result of a call in the memory of a tensor that the call writes.
void store(const Operator& op, const Tensor& target, const Tensor& result) {
  if (target.same(result)) return;
  if (op.info.variant == TL_OUT) resize(target, result.sizes());
  ops::copy_(target, result);
}

void deliver(const Operator& op, PyObject* o, TlValue* rets, int n_rets) {
  TlValue results[kMostRuleResults] = {};
  rule_results(op, o, results, n_rets);
  for (int i = 0; i < n_rets; ++i) {
    if (op.info.variant == TL_FUNCTIONAL || rets[i].tag != TL_TENSOR) {
      rets[i] = results[i];
      continue;
    }
    const Tensor target = Tensor::share(reinterpret_cast<TensorImpl*>(rets[i].u.t));
    store(op, target, TakeResult<Tensor>::take(results[i]));
    rets[i] = owned(target);
  }
}

void run_rule(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const WithGil lock;
  try {
    if (!g_handler) return run_parts(op, args, n_args, rets, n_rets);
    const PyRef arguments = rule_arguments(args, positional_count(op, n_args));
    const PyRef keywords = rule_keywords(op, args, n_args);
    const PyRef result = call_rule(g_handler, op, arguments.get(), keywords.get());
    if (result.get() == Py_NotImplemented) return run_parts(op, args, n_args, rets, n_rets);
    deliver(op, result.get(), rets, n_rets);
  } catch (const PythonError&) {
    pending_from_python();
    throw_pending();
  }
}

PyMethodDef kFunctions[] = {
    {"_quantizer", get_quantizer, METH_O,
     "_quantizer(tensor)\n--\n\nScale and zero point, or scales, zero points and axis."},
    {"_quantized", method(make_quantized), METH_FASTCALL,
     "_quantized(integers, dtype, *quantizer)\n--\n\nA quantized tensor on the memory of its integers."},
    {"_integers", get_integers, METH_O,
     "_integers(tensor)\n--\n\nThe integers of a quantized tensor, on its memory."},
    {"_requantized_bytes", requantize, METH_VARARGS,
     "_requantized_bytes(numbers, scale, zero_point, is_signed)\n--\n\nNumbers as the bytes of a result."},
    {"_multiplied_bytes", multiply, METH_VARARGS,
     "_multiplied_bytes(x, y, scale, zero_point, relu)\n--\n\nThe product of two tensors of bytes."},
    {"_look_up_bytes", method(look_up), METH_FASTCALL,
     "_look_up_bytes(integers, table)\n--\n\nThe byte of a table for each byte."},
    {"_share_quantizer", method(share_quantizer), METH_FASTCALL,
     "_share_quantizer(tensor, source)\n--\n\nGives a tensor the quantizer of another one."},
    {"_set_quantized_rules", set_rules, METH_O,
     "_set_quantized_rules(handler)\n--\n\nSets the function with the rules of operators."},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

PyObject* numbers_object(PyObject* tensor) {
  if (!has_quantizer(tensor_of(tensor))) return Py_NewRef(tensor);
  return run_python(PyObject_CallMethod, tensor, "dequantize", nullptr);
}

void add_quantized(PyObject* module) {
  set_quantized_rules(run_rule);
  if (PyModule_AddFunctions(module, kFunctions) != 0) throw PythonError();
}

}  // namespace tl::bind
