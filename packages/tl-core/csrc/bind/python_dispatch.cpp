// __torch_dispatch__: boxes a call's arguments, asks modes and then classes, unboxes the answer.
#include "bind/python_dispatch.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/thread_local.h"
#include "bind/argument_to_python.h"
#include "bind/error.h"
#include "bind/generator_object.h"
#include "bind/python_frames.h"
#include "bind/result.h"
#include "bind/symbols.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "bind/wrapper_plans.h"
#include "dispatch/program_handlers.h"
#include "dispatch/python.h"
#include "dispatch/tensors.h"
#include "dispatch/thread_state.h"
#include "ops.h"

namespace tl::bind {

namespace {
PyObject* g_disabled = nullptr;  // Tensor's own `__torch_dispatch__`

PyObject* handler_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_dispatch__");
  return name;
}

// ---- the caller's lock ------------------------------------------------------------------------------------
class WithLock {
 public:
  WithLock() : without_(tl_without_gil) { tl_without_gil = 0; }
  ~WithLock() { tl_without_gil = without_; }
  WithLock(const WithLock&) = delete;

 private:
  WithGil gil_;
  int without_;
};

// ---- arguments --------------------------------------------------------------------------------------------
template <class F>
PyObject* list_of(uint32_t n, F item) {
  PyRef list = checked(PyList_New(n));
  for (uint32_t i = 0; i < n; ++i) PyList_SET_ITEM(list.get(), i, checked(item(i)).release());
  return list.release();
}

struct Arguments {
  PyRef positional, named;
};

// `2 * x`: handlers see the tensor first, where the order does not matter.
bool number_comes_first(const Operator& op, const TlValue* args, int n_args) {
  static const Operator* const kSymmetric[] = {
      &operator_named("add.Tensor"), &operator_named("mul.Tensor"), &operator_named("bitwise_and.Tensor"),
      &operator_named("bitwise_or.Tensor"), &operator_named("bitwise_xor.Tensor")};
  if (n_args < 2 || args[0].tag == TL_TENSOR || args[1].tag != TL_TENSOR) return false;
  return std::ranges::find(kSymmetric, &op) != std::end(kSymmetric) &&
         (n_args == 2 || is_default(op, 2, args[2]));
}

// How an operator makes tensors: not at all, like another one, or of numbers alone.
enum class Makes { Nothing, AlikeOnes, NewOnes };

Makes made_by(const Operator& op) {
  bool pins = false, of_tensors = false;
  for (int i = 0; i < op.info.n_args; ++i) {
    const TlArgInfo& a = op.info.args[i];
    of_tensors = of_tensors || a.kind == TL_ARG_TENSOR || a.kind == TL_ARG_TENSOR_LIST;
    pins = pins || std::string_view(a.name) == "pin_memory";
  }
  if (!pins) return Makes::Nothing;
  if (!of_tensors) return Makes::NewOnes;
  const std::string_view name(op.info.name);
  const std::string_view base = name.substr(0, name.find('.'));
  return base.ends_with("_like") || base.starts_with("new_") ? Makes::AlikeOnes : Makes::Nothing;
}

// The device or `pin_memory` that was not said: handlers are told, as the reference tells them. Null of
// others.
PyRef unsaid_option(Makes makes, const TlArgInfo& info) {
  const std::string_view name(info.name);
  if (makes == Makes::NewOnes && name == "device") return PyRef(device_object(default_device()));
  return makes != Makes::Nothing && name == "pin_memory" ? PyRef(Py_NewRef(Py_False)) : PyRef(nullptr);
}

// What a caller of the operator would write: trailing arguments that have their defaults are left out.
Arguments arguments_of(const Operator& op, const TlValue* args, int n_args) {
  const TlArgInfo* info = op.info.args;
  const int n = std::min(n_args, op.info.n_args);
  int n_positional = 0;
  while (n_positional < n && !info[n_positional].keyword_only) ++n_positional;
  int given = n_positional;
  while (given > 0 && info[given - 1].has_default && is_default(op, given - 1, args[given - 1])) --given;
  Arguments made{checked(PyTuple_New(given)), checked(PyDict_New())};
  const bool swapped = number_comes_first(op, args, n_args);
  for (int i = 0; i < given; ++i)
    PyTuple_SET_ITEM(made.positional.get(), swapped && i < 2 ? 1 - i : i,
                     checked(argument_to_python(op, i, args[i])).release());
  const Makes makes = made_by(op);
  for (int i = n_positional; i < n; ++i) {
    const bool unsaid = is_default(op, i, args[i]);
    PyRef o = unsaid ? unsaid_option(makes, info[i]) : checked(argument_to_python(op, i, args[i]));
    if (!o.get()) continue;
    checked(PyDict_SetItemString(made.named.get(), info[i].name, o.get()));
  }
  return made;
}

// ---- results ----------------------------------------------------------------------------------------------
[[noreturn]] void refuse_result(const Operator& op, PyObject* o, const char* needed) {
  fail(ErrorKind::Runtime, "Unable to cast ", Py_TYPE(o)->tp_name, ", which __torch_dispatch__ of ",
       op.info.name, " returned, to ", needed);
}

Tensor tensor_result(const Operator& op, PyObject* o) {
  if (!is_tensor(o)) refuse_result(op, o, "a Tensor");
  return tensor_of(o);
}

TlValue tensors_result(const Operator& op, PyObject* o) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) refuse_result(op, o, "a list of Tensors");
  PyRef items = checked(PySequence_Fast(o, "expected a sequence"));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    tensors.push_back(tensor_result(op, PySequence_Fast_GET_ITEM(items.get(), i)));
  return owned(std::move(tensors));
}

TlValue int_result(PyObject* o) {
  const int64_t i = PyLong_AsLongLong(o);
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  return owned(i);
}

TlValue number_result(const Operator& op, PyObject* o) {
  if (PyBool_Check(o)) return owned(o == Py_True);
  if (PyLong_Check(o)) return int_result(o);
  if (PyFloat_Check(o)) return owned(PyFloat_AS_DOUBLE(o));
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return owned(Scalar(Complex128{c.real, c.imag}));
  }
  if (is_symbolic(o)) return number_for_result(o);
  refuse_result(op, o, "a number");
}

TlValue ints_result(const Operator& op, PyObject* o) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) refuse_result(op, o, "a list of ints");
  PyRef items = checked(PySequence_Fast(o, "expected a sequence"));
  DimVector list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    list.push_back(int_result(PySequence_Fast_GET_ITEM(items.get(), i)).u.i);
  return owned(list);
}

TlValue text_result(PyObject* o) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw PythonError();
  return owned_copy(value(std::string_view(text, static_cast<size_t>(size))));
}

TlValue other_result(const Operator& op, PyObject* o) {
  DType dtype;
  Device device;
  if (PyUnicode_Check(o)) return text_result(o);
  if (Py_TYPE(o) == g_dtype_type && to_dtype(o, dtype)) return owned(dtype);
  if (Py_TYPE(o) == g_device_type && to_device(o, device)) return value(device);
  return number_result(op, o);
}

// Whether a kernel of the operator leaves out results that nobody has asked for.
bool may_leave_out(const Operator& op) {
  const std::string_view name(op.info.name);
  return op.info.n_rets > 1 && (name.find("backward") != name.npos || name.find("attention") != name.npos ||
                                name.find("norm") != name.npos || name.find("embedding_bag") != name.npos);
}

TlValue result_from(const Operator& op, PyObject* o, const TlArgInfo& info) {
  switch (info.kind) {
    case TL_ARG_TENSOR:
      if (o == Py_None && may_leave_out(op)) return none();
      return owned(tensor_result(op, o));
    case TL_ARG_TENSOR_LIST:
    case TL_ARG_OPTIONAL_TENSOR_LIST:
      return tensors_result(op, o);
    case TL_ARG_INT_LIST:
      return ints_result(op, o);
    case TL_ARG_OBJECT:
      return {TL_OBJECT, 0, {.p = Py_NewRef(o)}};
    default:
      return o == Py_None ? none() : other_result(op, o);
  }
}

// Another object of the class, on the same memory and with the same attributes.
Tensor shallow_copy(const Tensor& given) {
  auto* o = reinterpret_cast<PyObject*>(given->py);
  Tensor again = alias(given);
  again->bits.fetch_or(given->bits & (kHollowBit | kAsksHandlerBit), std::memory_order_relaxed);
  if (!o) return again;
  PyRef made(wrap_as(std::move(again), Py_TYPE(o)));
  PyRef from = checked(PyObject_GenericGetDict(o, nullptr));
  PyRef to = checked(PyObject_GenericGetDict(made.get(), nullptr));
  checked(PyDict_Update(to.get(), from.get()));
  return tensor_of(made.get());
}

// Below autograd a result has no place in the graph yet: one that a handler hands on, such as its argument,
// would lose its own. A class makes the copy by its `detach`, which may do the same in turn.
Tensor outside_graph(const Operator& op, const Tensor& t) {
  static const Operator* const detach = &operator_named("detach");
  if (!t || !t->autograd) return t;
  if (!(t->all_bits() & kPythonBit)) return alias(t);
  return &op == detach ? shallow_copy(t) : ops::detach(t);
}

void leave_graph(const Operator& op, TlValue& v) {
  if (v.tag == TL_TENSOR) {
    const Tensor given = TakeResult<Tensor>::take(v);
    v = none();
    v = owned(outside_graph(op, given));
  } else if (v.tag == TL_TENSOR_LIST) {
    auto* list = static_cast<Tensor*>(const_cast<void*>(v.u.p));
    for (uint32_t i = 0; i < v.len; ++i) list[i] = outside_graph(op, list[i]);
  }
}

// In-place and out= calls return what they were given, whatever the handler says.
void deliver_written(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const int first = op.info.variant == TL_INPLACE ? 0 : n_args - n_rets;
  for (int i = 0; i < n_rets; ++i) rets[i] = owned_copy(args[first + i]);
}

void deliver(const Operator& op, PyObject* made, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (op.info.variant != TL_FUNCTIONAL) return deliver_written(op, args, n_args, rets, n_rets);
  if (n_rets == 0) return;
  if (n_rets == 1) {
    rets[0] = result_from(op, made, op.info.rets[0]);
    return;
  }
  if (!PyTuple_Check(made) && !PyList_Check(made)) refuse_result(op, made, "the tuple of all its results");
  PyRef items = checked(PySequence_Fast(made, "expected a sequence"));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  TL_CHECK(n == n_rets, Runtime, "__torch_dispatch__ of ", op.info.name, " returned ",
           static_cast<int64_t>(n), " results where ", n_rets, " are due");
  try {
    for (int i = 0; i < n_rets; ++i)
      rets[i] = result_from(op, PySequence_Fast_GET_ITEM(items.get(), i), op.info.rets[i]);
  } catch (...) {
    for (int i = 0; i < n_rets; ++i) release(rets[i]);
    throw;
  }
}

// ---- who handles it ---------------------------------------------------------------------------------------
PyObject* object_with_handler(TensorImpl* t) {
  if (!t || !(t->all_bits() & kPythonBit)) return nullptr;
  auto* o = reinterpret_cast<PyObject*>(t->py);
  return o && class_has_torch_dispatch(Py_TYPE(o)) ? o : nullptr;
}

// Classes of the arguments with a handler, each once, subclasses before their bases.
class Classes {
 public:
  Classes(const TlValue* args, int n_args) {
    for (int i = 0; i < n_args; ++i)
      for (TensorImpl* t : tensors_of(args[i])) add(t);
  }
  // An object of each class; its attributes are the class's.
  const std::vector<PyObject*>& in_order() const { return found_; }
  PyRef tuple() const {
    PyRef made = checked(PyTuple_New(static_cast<Py_ssize_t>(found_.size())));
    for (size_t i = 0; i < found_.size(); ++i)
      PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i),
                       Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(found_[i]))));
    return made;
  }

 private:
  void add(TensorImpl* t) {
    PyObject* o = object_with_handler(t);
    if (!o) return;
    PyTypeObject* type = Py_TYPE(o);
    if (std::ranges::any_of(found_, [&](PyObject* f) { return Py_TYPE(f) == type; })) return;
    const auto before =
        std::ranges::find_if(found_, [&](PyObject* f) { return PyType_IsSubtype(type, Py_TYPE(f)); });
    found_.insert(before, o);
  }
  std::vector<PyObject*> found_;
};

bool is_number(const TlValue& v) { return v.tag >= TL_BOOL && v.tag <= TL_COMPLEX; }

// Which of two arguments is a number where a tensor may be; none: -1.
int number_at(const Operator& op, const TlValue* args, int n_args) {
  if (n_args < 2) return -1;
  if (number_comes_first(op, args, n_args)) return 1;
  if (op.info.args[0].kind == TL_ARG_TENSOR && is_number(args[0])) return 0;
  return op.info.args[1].kind == TL_ARG_OPERAND && is_number(args[1]) ? 1 : -1;
}

// As the reference names it: some operators have an overload of their own for a number. Borrowed; guarded by
// the interpreter's lock.
PyObject* overload_of(const Operator& op, const TlValue* args, int n_args) {
  static auto* const known = new std::unordered_map<const Operator*, PyObject* [3]>;
  const int number = number_at(op, args, n_args);
  PyObject*& object = (*known)[&op][number + 1];
  if (object) return object;
  PyRef module = checked(import_module("tl_core.operators.packets"));
  return object =
             checked(run_python(PyObject_CallMethod, module.get(), "_overload", "si", op.info.name, number))
                 .release();
}

void check_is_method(PyObject* mode) {
  PyObject* found = _PyType_Lookup(Py_TYPE(mode), handler_name());
  TL_CHECK(!found || Py_TYPE(found) != &PyClassMethod_Type, Runtime,
           "Defining your mode's `__torch_dispatch__`",
           " as a classmethod is not supported, please make it a plain method");
}

PyRef ask(PyObject* handler, PyObject* function, PyObject* types, const Arguments& in) {
  PyObject* stack[] = {handler, function, types, in.positional.get(), in.named.get()};
  return checked(run_python(PyObject_VectorcallMethod, handler_name(), stack, 5, nullptr));
}

[[noreturn]] void all_declined(PyObject* function, PyObject* mode, const Classes& classes) {
  std::string text;
  const auto add = [&](const char* what, PyObject* o) {
    PyRef shown = checked(PyObject_Repr(o));
    const char* utf8 = PyUnicode_AsUTF8(shown.get());
    text += cat("\n  - ", what, utf8 ? utf8 : "?");
  };
  if (mode) add("mode object ", mode);
  for (PyObject* o : classes.in_order()) add("tensor subclass ", reinterpret_cast<PyObject*>(Py_TYPE(o)));
  PyRef packet = checked(PyObject_GetAttrString(function, "overloadpacket"));
  PyRef name = checked(PyObject_Str(packet.get()));
  fail(ErrorKind::Type, "Multiple dispatch failed for 'torch.ops.", PyUnicode_AsUTF8(name.get()),
       "'; all __torch_dispatch__ handlers returned NotImplemented:", text);
}

// ---- operators that others know ---------------------------------------------------------------------------
// What calls those in the place of one of our own, None of others. Borrowed; guarded by the interpreter's
// lock.
PyObject* replacement_of(const Operator& op, PyObject* function) {
  static auto* const known = new std::unordered_map<const Operator*, PyObject*>;
  PyObject*& object = (*known)[&op];
  if (object) return object;
  PyRef module = checked(import_module("tl_core.operators.public.handlers"));
  return object = checked(run_python(PyObject_CallMethod, module.get(), "replacement_of", "O", function))
                      .release();
}

// Handlers of this library know its kernels.
bool knows_kernels(PyObject* handler) {
  static PyObject* const name = PyUnicode_InternFromString("handles_kernels_only");
  const PyRef answer(PyObject_GetAttr(handler, name));
  if (!answer) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
    PyErr_Clear();
  }
  return answer.get() == Py_True;
}

// The results by operators that others know; NotImplemented where the handler gets the operator itself.
PyRef by_others(const Operator& op, int layer, PyObject* handler, PyObject* function, const Arguments& in) {
  PyRef declined(Py_NewRef(Py_NotImplemented));
  if (layer != TL_LAYER_PYTHON || op.info.variant != TL_FUNCTIONAL) return declined;
  PyObject* replacement = replacement_of(op, function);
  if (replacement == Py_None || knows_kernels(handler)) return declined;
  PyObject* stack[] = {function, in.positional.get(), in.named.get()};
  return checked(run_python(PyObject_Vectorcall, replacement, stack, 3, nullptr));
}

PyObject* programs_mode(int layer) {
  const auto modes = modes_of(layer);
  return !modes.empty() && modes.back().rank == Mode::kUsers ? static_cast<PyObject*>(modes.back().handler)
                                                             : nullptr;
}

bool is_programs(PyObject* handler) { return handler && !knows_kernels(handler); }

bool handled_by_program(std::span<const Tensor* const> tensors) {
  const WithLock lock;
  try {
    if (PyObject* mode = programs_mode(TL_LAYER_PYTHON)) return is_programs(mode);
    return std::ranges::any_of(
        tensors, [](const Tensor* t) { return t && is_programs(object_with_handler(t->impl())); });
  } catch (const PythonError&) {
    pending_from_python();
    throw_pending();
  }
}

PyRef handled(const Operator& op, int layer, const TlValue* args, int n_args) {
  const Classes classes(args, n_args);
  const PyRef types = classes.tuple();
  PyObject* function = overload_of(op, args, n_args);
  const Arguments in = arguments_of(op, args, n_args);
  const SymbolsHidden hidden;
  PyObject* mode = programs_mode(layer);
  if (mode) {
    PyRef made = by_others(op, layer, mode, function, in);
    if (made.get() != Py_NotImplemented) return made;
  }
  {
    const InnermostModeOff off(layer);
    mode = static_cast<PyObject*>(off.handler());
    if (mode) {
      check_is_method(mode);
      PyRef made = ask(mode, function, types.get(), in);
      if (made.get() != Py_NotImplemented) return made;
    }
  }
  for (PyObject* o : classes.in_order()) {
    PyRef made = mode ? PyRef(Py_NewRef(Py_NotImplemented)) : by_others(op, layer, o, function, in);
    if (made.get() == Py_NotImplemented) made = ask(o, function, types.get(), in);
    if (made.get() != Py_NotImplemented) return made;
  }
  all_declined(function, mode, classes);
}

void run(const Operator& op, int layer, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const WithLock lock;
  try {
    std::optional<WrapperCall> call;
    if (layer == TL_LAYER_PYTHON && call.emplace(op, args, n_args).run(rets, n_rets)) return;
    const PyRef made = handled(op, layer, args, n_args);
    deliver(op, made.get(), args, n_args, rets, n_rets);
    if (layer == TL_LAYER_PYTHON && op.info.variant == TL_FUNCTIONAL)
      for (int i = 0; i < n_rets; ++i) leave_graph(op, rets[i]);
  } catch (const PythonError&) {
    pending_from_python();
    throw_pending();
  }
}

bool says_contiguous(const Tensor& t, MemoryFormat format) {
  const WithLock lock;
  try {
    auto* o = reinterpret_cast<PyObject*>(t->py);
    PyRef made =
        format == MemoryFormat::Contiguous
            ? checked(run_python(PyObject_CallMethod, o, "is_contiguous", nullptr))
            : checked(run_python(PyObject_CallMethod, o, "is_contiguous", "O", memory_format_object(format)));
    const int said = PyObject_IsTrue(made.get());
    if (said < 0) throw PythonError();
    return said;
  } catch (const PythonError&) {
    pending_from_python();
    throw_pending();
  }
}

// ---- what Python calls ------------------------------------------------------------------------------------
int layer_argument(PyObject* o) {
  const long layer = PyLong_AsLong(o);
  if (layer == -1 && PyErr_Occurred()) throw PythonError();
  TL_CHECK(is_python_layer(static_cast<int>(layer)), Value, "layer ", static_cast<int64_t>(layer),
           " has no modes");
  return static_cast<int>(layer);
}

int rank_argument(PyObject* const* args, Py_ssize_t n, Py_ssize_t at) {
  const long rank = n > at ? PyLong_AsLong(args[at]) : long{Mode::kUsers};
  if (rank == -1 && PyErr_Occurred()) throw PythonError();
  TL_CHECK(rank >= 0 && rank <= Mode::kUsers, Value, "the rank of a mode must be in [0, ", int{Mode::kUsers},
           "], got ", static_cast<int64_t>(rank));
  return static_cast<int>(rank);
}

PyObject* push(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return translated(
      [&]() -> PyObject* {
        TL_CHECK(n == 2 || n == 3, Type, "_push_mode() takes a layer, a mode and, as an option, a rank");
        install_python_layers();
        const int layer = layer_argument(args[0]), rank = rank_argument(args, n, 2);
        push_mode(layer, {Py_NewRef(args[1]), rank});
        Py_RETURN_NONE;
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* pop(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return translated(
      [&]() -> PyObject* {
        TL_CHECK(n == 1 || n == 2, Type, "_pop_mode() takes a layer and, as an option, a rank");
        const int layer = layer_argument(args[0]);
        const Mode mode = n == 1 ? pop_mode(layer) : take_mode(layer, rank_argument(args, n, 1));
        TL_CHECK(mode.handler, Runtime, "_pop_mode(): no such mode is on");
        return static_cast<PyObject*>(mode.handler);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* stack(PyObject*, PyObject* layer) {
  return translated(
      [&]() -> PyObject* {
        const auto modes = modes_of(layer_argument(layer));
        return list_of(static_cast<uint32_t>(modes.size()),
                       [&](uint32_t i) { return Py_NewRef(static_cast<PyObject*>(modes[i].handler)); });
      },
      static_cast<PyObject*>(nullptr));
}

class WithoutClasses {
 public:
  WithoutClasses() : before_(thread_locals().excluded) { thread_locals().excluded |= kPythonBit; }
  ~WithoutClasses() { thread_locals().excluded = before_; }

 private:
  uint64_t before_;
};

// Tensor's own: the operator as if nobody handled it.
PyObject* disabled(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject *function, *types, *positional = nullptr, *named = nullptr;
  static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO", const_cast<char**>(names), &function, &types,
                                   &positional, &named))
    return nullptr;
  return translated(
      [&] {
        if (named == Py_None) named = nullptr;
        TL_CHECK(!named || PyDict_Check(named), Type, "__torch_dispatch__(): kwargs must be a dict, got ",
                 Py_TYPE(named)->tp_name);
        PyRef tuple = checked(positional ? PySequence_Tuple(positional) : PyTuple_New(0));
        const WithoutClasses off;
        return run_python(PyObject_Call, function, tuple.get(), named);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* set_types(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return translated(
      [&]() -> PyObject* {
        TL_CHECK(n == 3, Type, "_set_symbolic_types() takes three classes");
        set_symbolic_types(args[0], args[1], args[2]);
        Py_RETURN_NONE;
      },
      static_cast<PyObject*>(nullptr));
}

// _reenter() -> what `_leave` needs: from here on calls meet the layers that the running handler stands below
PyObject* reenter(PyObject*, PyObject*) {
  uint64_t& excluded = thread_locals().excluded;
  PyObject* before = PyLong_FromUnsignedLongLong(excluded);
  excluded = excluded_before_handler();
  return before;
}

PyObject* leave(PyObject*, PyObject* before) {
  const uint64_t bits = PyLong_AsUnsignedLongLong(before);
  if (PyErr_Occurred()) return nullptr;
  thread_locals().excluded = bits;
  Py_RETURN_NONE;
}

PyObject* pass_once(PyObject*, PyObject* name) {
  return translated(
      [&]() -> PyObject* {
        const char* text = name == Py_None ? nullptr : PyUnicode_AsUTF8(name);
        if (!text && PyErr_Occurred()) throw PythonError();
        pass_modes_once(text ? &operator_named(text) : nullptr);
        Py_RETURN_NONE;
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* has_torch_dispatch(PyObject*, PyObject* type) {
  return PyBool_FromLong(PyType_Check(type) &&
                         class_has_torch_dispatch(reinterpret_cast<PyTypeObject*>(type)));
}

PyMethodDef kFunctions[] = {
    {"_push_mode", method(push), METH_FASTCALL,
     "_push_mode(layer, mode, rank=255)\n--\n\nFrom now on the mode's `__torch_dispatch__` handles this "
     "thread's calls at the layer; those of a lower rank stand below."},
    {"_pop_mode", method(pop), METH_FASTCALL,
     "_pop_mode(layer, rank=None)\n--\n\nTakes the innermost mode, or that of the rank, off and returns it."},
    {"_mode_stack", stack, METH_O, "_mode_stack(layer)\n--\n\nThe modes that are on, the outermost first."},
    {"_disabled_torch_dispatch_impl", method(disabled), METH_VARARGS | METH_KEYWORDS,
     "_disabled_torch_dispatch_impl(func, types, args=(), kwargs=None)\n--\n\nA `__torch_dispatch__` that "
     "leaves calls as they are."},
    {"_reenter", reenter, METH_NOARGS,
     "_reenter()\n--\n\nFrom now on calls meet the layers above the running handler, too; returns what "
     "`_leave` needs."},
    {"_leave", leave, METH_O, "_leave(before)\n--\n\nUndoes `_reenter`."},
    {"_pass_modes_once", pass_once, METH_O,
     "_pass_modes_once(name)\n--\n\nThe thread's next call of the operator passes the modes above autograd "
     "by; "
     "what it calls meets them. None: no call does."},
    {"_has_torch_dispatch", has_torch_dispatch, METH_O,
     "_has_torch_dispatch(cls)\n--\n\nWhether objects of the class handle operators themselves."},
    {"_set_symbolic_types", method(set_types), METH_FASTCALL,
     "_set_symbolic_types(ints, floats, bools)\n--\n\nThe classes of symbolic numbers."},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

bool class_has_torch_dispatch(PyTypeObject* type) {
  if (type == g_tensor_type) return false;
  PyObject* found = _PyType_Lookup(type, handler_name());
  return found && found != g_disabled;
}

void join_python_layer(TensorImpl& t, PyTypeObject* type) {
  if (!class_has_torch_dispatch(type)) return;
  install_python_layers();
  t.bits.fetch_or(kPythonBit, std::memory_order_relaxed);
}

void add_python_dispatch(PyObject* module) {
  add_wrapper_plans(module);
  set_python_call(run);
  set_says_contiguous(says_contiguous);
  set_handled_by_program(handled_by_program);
  if (PyModule_AddFunctions(module, kFunctions) != 0) throw PythonError();
  g_disabled = checked(PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl")).release();
  checked(PyDict_SetItem(g_tensor_type->tp_dict, handler_name(), g_disabled));
  PyType_Modified(g_tensor_type);
}

}  // namespace tl::bind
