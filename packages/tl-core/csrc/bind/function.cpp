// Entry points of functions and methods: the first overload whose table takes the arguments is called.
#include "bind/function.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/live_allocations.h"
#include "bind/deprecated_forms.h"
#include "bind/from_python.h"
#include "bind/names.h"
#include "bind/override.h"
#include "bind/parse.h"
#include "bind/python_frames.h"
#include "bind/result.h"
#include "bind/source_location.h"
#include "bind/tensor_object.h"
#include "bind/tensor_writes.h"

namespace tl::bind {

namespace {
// Releasing the GIL costs as much as a small operator: only work above some 32 K elements is worth it.
constexpr int64_t kReleaseAbove = 32768;

// Nobody can ask for the running line without the GIL: where blocks may be recorded it is asked for ahead.
OriginId origin_of_results(int64_t elements) {
  return elements >= recorded_size() / static_cast<int64_t>(sizeof(double)) ? running_line() : 0;
}

int64_t elements_of_shape(const int64_t* sizes, uint32_t n) {
  int64_t numel = 1;
  for (uint32_t d = 0; d < n; ++d)
    if (__builtin_mul_overflow(numel, sizes[d], &numel)) return 0;  // the operator will refuse it
  return numel;
}

// The elements of the largest tensor of a list, or of the shape that a list of integers may be.
int64_t elements_of_list(const TlValue& v) {
  if (v.tag == TL_INT_LIST) return elements_of_shape(static_cast<const int64_t*>(v.u.p), v.len);
  int64_t most = 0;
  if (v.tag == TL_TENSOR_LIST)
    for (uint32_t i = 0; i < v.len; ++i)
      if (const auto* t = static_cast<const TensorImpl* const*>(v.u.p)[i]) most = std::max(most, t->numel);
  return most;
}

inline int64_t elements_of(const TlValue& v) {
  if (v.tag == TL_TENSOR) return reinterpret_cast<const TensorImpl*>(v.u.t)->numel;
  return v.tag >= TL_BOOL_LIST ? elements_of_list(v) : 0;
}

int call_without_gil(const Operator& op, const TlValue* values, TlValue* rets, int64_t most) {
  const OriginScope origin(origin_of_results(most));
  const WithoutGil others_run;
  tl_without_gil = 1;
  const int status = call(op, values, op.info.n_args, rets, op.info.n_rets);
  tl_without_gil = 0;
  return status;
}
}  // namespace

thread_local constinit PythonCallWatcher t_watcher;

int call_from_python(const Operator& op, const TlValue* values, TlValue* rets) {
  const int n = op.info.n_args;
  int64_t most = 0;
  for (int i = 0; i < n; ++i) most = std::max(most, elements_of(values[i]));
  const int status = most <= kReleaseAbove || op.in_python ? call(op, values, n, rets, op.info.n_rets)
                                                           : call_without_gil(op, values, rets, most);
  if (op.written_mask && status == 0) [[unlikely]]
    note_writes(op, values);
  return status;
}

namespace {
// `out=` is a tensor, or a tuple or list of them for several results, which `held` keeps until the call is
// over.
const Operator& with_out(const Operator& op, const char* name, ParsedCall& parsed, PyRef& held) {
  const Operator& out_op = *op.out;
  const int first = op.info.n_args, n = out_op.info.n_rets;
  auto put = [&](int i, PyObject* o) {
    TL_CHECK(is_tensor(o), Type, name, "(): argument 'out' must be Tensor, not ", type_name(o));
    parsed.values[first + i] = value(tensor_of(o));
  };
  if (n == 1) {
    put(0, parsed.out);
    return out_op;
  }
  TL_CHECK(PyTuple_Check(parsed.out) || PyList_Check(parsed.out), Type, name,
           "(): argument 'out' must be tuple of Tensors, not ", type_name(parsed.out));
  held = checked(PySequence_Tuple(parsed.out));
  const auto count = static_cast<int64_t>(PyTuple_GET_SIZE(held.get()));
  TL_CHECK(count == n, Type, name, "(): argument 'out' must be tuple of ", n, " Tensors, got ", count);
  for (int i = 0; i < n; ++i) put(i, PyTuple_GET_ITEM(held.get(), i));
  return out_op;
}

bool is_list_kind(uint8_t kind) {
  return kind == TL_ARG_TENSOR_LIST || kind == TL_ARG_OPTIONAL_TENSOR_LIST ||
         (kind >= TL_ARG_INT_LIST && kind != TL_ARG_OBJECT);
}

// What operators that came at run time return as lists are Python lists.
PyObject* with_lists(const Operator& op, PyObject* result) {
  const int n = op.info.n_rets;
  if (n == 1 && is_list_kind(op.info.rets[0].kind) && PyTuple_Check(result)) {
    const PyRef tuple(result);
    return PySequence_List(result);
  }
  for (int i = 0; n > 1 && i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, i);
    if (!is_list_kind(op.info.rets[i].kind) || !PyTuple_Check(item)) continue;
    PyTuple_SET_ITEM(result, i, checked(PySequence_List(item)).release());
    Py_DECREF(item);
  }
  return result;
}

PyObject* finish(const Operator& op, const char* name, ParsedCall& parsed) {
  PyRef outputs;
  const Operator& chosen = parsed.out ? with_out(op, name, parsed, outputs) : op;
  TlValue rets[8];
  std::fill_n(rets, chosen.info.n_rets, none());
  if (call_from_python(chosen, parsed.values, rets) != 0) {
    raise_pending();
    return nullptr;
  }
  const bool records = parsed.requires_grad && parsed.requires_grad != Py_False;
  if (!chosen.added && !records && !parsed.names) note_python_call(chosen, parsed.values, rets);
  PyObject* result = results_to_python(op, name, rets, chosen.info.n_rets);
  if (chosen.added) [[unlikely]]
    return with_lists(chosen, result);
  if (!records && !parsed.names) [[likely]]
    return result;
  PyRef owned(result);
  if (parsed.names) name_result(result, parsed.names);
  if (!records) return owned.release();
  return recorded_from(owned.get(), parsed.requires_grad);
}

std::string given(const PyArgs& in) {
  std::string text;
  auto add = [&](const char* name, PyObject* o) {
    text += cat(text.empty() ? "" : ", ", name, type_name(o));
  };
  for (Py_ssize_t i = 0; i < in.nargs; ++i) add("", in.args[i]);
  for (Py_ssize_t i = 0; i < in.n_keywords(); ++i)
    add(cat(PyUnicode_AsUTF8(in.keyword(i)), "=").c_str(), in.keyword_value(i));
  return text;
}

// An overload that does not take the arguments, and why.
struct Refusal {
  const Operator* op;
  ArgumentCounts counts;
  std::string reason;
};

std::vector<Refusal> refusals_of(const FunctionDef& f, const PyArgs& in) {
  std::vector<Refusal> all;
  for (int i = 0; i < f.n_overloads; ++i) {
    const Operator& op = g_operators[f.overloads[i]];
    Refusal& refusal = all.emplace_back(&op, argument_counts(op.info, in.self != nullptr));
    ParsedCall parsed;
    Scratch scratch;
    parse_call(op, f.callee(in.self != nullptr), in, parsed, scratch, &refusal.reason);
  }
  return all;
}

// The reason that all overloads for so many arguments have, or else empty.
std::string common_reason(const FunctionDef& f, const std::vector<Refusal>& all, const PyArgs& in) {
  const Py_ssize_t n = in.nargs + in.n_keywords();
  ArgumentCounts widest = all.front().counts;
  const std::string* reason = nullptr;
  bool agree = true;
  for (const auto& [op, counts, own] : all) {
    widest.least = std::min(widest.least, counts.least);
    widest.positional = std::max(widest.positional, counts.positional);
    if (n < counts.least || n > counts.most) continue;
    agree = agree && (!reason || *reason == own);
    reason = &own;
  }
  if (in.nargs > widest.positional) return too_many_positional(f.name, widest, in.nargs);
  if (!reason) {  // every overload takes more arguments, or fewer
    reason = &all.front().reason;
    agree = std::ranges::all_of(all, [&](const Refusal& refusal) { return refusal.reason == *reason; });
  }
  return agree ? *reason : "";
}

[[gnu::cold]] PyObject* no_overload(const FunctionDef& f, const PyArgs& in) {
  const std::vector<Refusal> all = refusals_of(f, in);
  std::string why = common_reason(f, all, in);
  if (why.empty()) {
    why = cat(f.name, "() received an invalid combination of arguments - got (", given(in),
              "), but expected one of:");
    for (const Refusal& refusal : all)
      why += cat("\n * ", refusal.op->info.schema, "\n      ", refusal.reason);
  }
  PyErr_SetString(PyExc_TypeError, why.c_str());
  return nullptr;
}

bool any_override(const PyArgs& in) {
  for (Py_ssize_t i = 0; i < in.nargs + in.n_keywords(); ++i)
    if (has_torch_function(in.args[i])) return true;
  return in.self && has_torch_function(in.self);
}

// What Python calls by the same name where no overload takes the arguments.
std::unordered_map<const FunctionDef*, PyObject*>& fallbacks() {
  static auto* const by_function = new std::unordered_map<const FunctionDef*, PyObject*>;
  return *by_function;
}

PyObject* fallback_of(const FunctionDef& f) {
  const auto found = fallbacks().find(&f);
  return found == fallbacks().end() ? nullptr : found->second;
}

PyObject* call_fallback(PyObject* fallback, const PyArgs& in) {
  std::vector<PyObject*> args;
  if (in.self) args.push_back(in.self);
  args.insert(args.end(), in.args, in.args + in.nargs + in.n_keywords());
  return run_python(PyObject_Vectorcall, fallback, args.data(), args.size() - in.n_keywords(), in.kwnames);
}

// Calls the first overload that takes the arguments; NULL without an exception: none does. `tensors` says on
// return whether one would with a tensor in place of a number.
PyObject* call_overload(const FunctionDef& f, PyObject* object, const PyArgs& in, Scratch::Tensors& tensors) {
  const Callee callee = f.callee(in.self != nullptr);
  for (int i = 0; i < f.n_overloads; ++i) {
    const Operator& op = g_operators[f.overloads[i]];
    ParsedCall parsed;
    Scratch scratch;
    scratch.tensors = tensors;
    if (!parse_call(op, callee, in, parsed, scratch, nullptr)) {
      tensors = scratch.tensors;
      continue;
    }
    if (parsed.overloaded || (parsed.out && has_torch_function(parsed.out))) [[unlikely]]
      return call_override(object, in);
    return finish(op, f.name, parsed);
  }
  return nullptr;
}

PyObject* call_parsed(const FunctionDef& f, const PyArgs& in) {
  PyObject* object = g_function_objects[&f - kFunctions][in.self != nullptr];
  if (override_mode_active()) [[unlikely]]
    return call_override(object, in);
  auto tensors = f.n_overloads > 1 ? Scratch::Tensors::Apart : Scratch::Tensors::Taken;
  if (PyObject* result = call_overload(f, object, in, tensors)) return result;
  if (PyErr_Occurred()) return nullptr;
  if (tensors == Scratch::Tensors::Met) {
    tensors = Scratch::Tensors::Taken;
    if (PyObject* result = call_overload(f, object, in, tensors)) return result;
    if (PyErr_Occurred()) return nullptr;
  }
  if (any_override(in)) return call_override(object, in);
  if (const auto today = todays_form(f.name, in)) {
    const Py_ssize_t own = in.self != nullptr;
    const PythonCallPause unseen;  // the function does more than the call
    return call_parsed(f,
                       {in.self, today->args.data() + own, today->n_positional - own, today->keywords.get()});
  }
  if (PyObject* fallback = fallback_of(f)) return call_fallback(fallback, in);
  return no_overload(f, in);
}
}  // namespace

PyObject* call_function(const FunctionDef& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) noexcept {
  return translated([&] { return call_parsed(f, {self, args, nargs, kwnames}); },
                    static_cast<PyObject*>(nullptr));
}

namespace {
// `names` ends with the callable that overrides are told of, or holds names alone: then none may take part.
PyObject* call_named(PyObject* names, const PyArgs& in) {
  Py_ssize_t n = PyTuple_GET_SIZE(names);
  PyObject* object =
      n && !PyUnicode_Check(PyTuple_GET_ITEM(names, n - 1)) ? PyTuple_GET_ITEM(names, --n) : nullptr;
  std::vector<const Operator*> operators;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    if (!name) throw PythonError();
    operators.push_back(&operator_named(name));
  }
  return call_first(operators, object, in);
}
}  // namespace

PyObject* call_first(std::span<const Operator* const> operators, PyObject* object, const PyArgs& in) {
  if (object && (override_mode_active() || any_override(in))) return call_override(object, in);
  std::string why;
  for (const Operator* op : operators) {
    const char* name = op->info.name;
    ParsedCall parsed;
    Scratch scratch;
    std::string reason;
    if (parse_call(*op, {name}, in, parsed, scratch, &reason)) {
      TL_CHECK(!parsed.overloaded || object, Type, name,
               "(): arguments with __torch_function__ are not taken here");
      return parsed.overloaded ? call_override(object, in) : finish(*op, name, parsed);
    }
    why += cat(why.empty() ? "" : "\n", reason);
  }
  fail(ErrorKind::Type, why);
}

PyObject* call_operator(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) noexcept {
  return translated(
      [&] {
        TL_CHECK(nargs > 0 && PyTuple_Check(args[0]), Type,
                 "_call_operator(): argument 'names' must be a tuple of str");
        return call_named(args[0], {nullptr, args + 1, nargs - 1, kwnames});
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* why_not(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) noexcept {
  return translated(
      [&] {
        const char* name = nargs ? PyUnicode_AsUTF8(args[0]) : nullptr;
        if (!name) throw PythonError();
        ParsedCall parsed;
        Scratch scratch;
        std::string reason;
        const PyArgs in{nullptr, args + 1, nargs - 1, kwnames};
        if (parse_call(operator_named(name), {name}, in, parsed, scratch, &reason)) return Py_NewRef(Py_None);
        return PyUnicode_FromStringAndSize(reason.data(), static_cast<Py_ssize_t>(reason.size()));
      },
      static_cast<PyObject*>(nullptr));
}

const FunctionDef* find_function(const char* name) {
  for (int i = 0; i < kNumFunctions; ++i)
    if (!kFunctions[i].space[0] && std::strcmp(kFunctions[i].name, name) == 0) return &kFunctions[i];
  return nullptr;
}

void set_fallback(const char* name, PyObject* function) {
  const FunctionDef* f = find_function(name);
  TL_CHECK(f, Attribute, "there is no function named '", name, "'");
  fallbacks()[f] = Py_NewRef(function);
}

namespace {
// The definitions of the entry points must outlive the function objects.
PyMethodDef* definitions(bool methods) {
  auto* table = new PyMethodDef[kNumFunctions];
  for (int i = 0; i < kNumFunctions; ++i) {
    const FunctionDef& f = kFunctions[i];
    table[i] = {f.name, method(methods ? f.as_method : f.as_function), METH_FASTCALL | METH_KEYWORDS,
                methods ? f.method_doc : f.function_doc};
  }
  return table;
}
}  // namespace

namespace {
// The module that holds a namespace's functions: `_nn` is an attribute of the native module.
PyObject* space_of(PyObject* module, const char* name) {
  if (!name[0]) return module;
  if (!PyObject_HasAttrString(module, name)) {
    PyRef made = checked(PyModule_New(cat("tl_core.", name).c_str()));
    checked(PyModule_AddObjectRef(module, name, made.get()));
  }
  return PyRef(PyObject_GetAttrString(module, name)).get();  // borrowed: the module keeps it
}
}  // namespace

void add_functions(PyObject* module) {
  PyMethodDef* table = definitions(false);
  PyMethodDef* methods = definitions(true);
  PyRef own_name = checked(PyUnicode_FromString("tl_core"));
  for (int i = 0; i < kNumFunctions; ++i) {
    if (kFunctions[i].function) {
      // A pickle looks a function up in the module that the function names.
      PyObject* target = space_of(module, kFunctions[i].space);
      PyRef name =
          target == module ? PyRef(Py_NewRef(own_name.get())) : checked(PyModule_GetNameObject(target));
      PyRef f = checked(PyCFunction_NewEx(&table[i], nullptr, name.get()));
      checked(PyModule_AddObjectRef(target, kFunctions[i].name, f.get()));
      g_function_objects[i][0] = f.release();
    }
    if (kFunctions[i].method) {
      PyRef m = checked(PyDescr_NewMethod(g_tensor_type, &methods[i]));
      checked(PyDict_SetItemString(g_tensor_type->tp_dict, kFunctions[i].name, m.get()));
      g_function_objects[i][1] = m.release();
    }
  }
  PyType_Modified(g_tensor_type);
}

}  // namespace tl::bind
