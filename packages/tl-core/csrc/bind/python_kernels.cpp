// Run-time operators: schemas are parsed and registered, Python functions boxed into kernels and layers.
#include "bind/python_kernels.h"

#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "bind/argument_to_python.h"
#include "bind/error.h"
#include "bind/parse.h"
#include "bind/symbols.h"
#include "bind/tensor_object.h"
#include "dispatch/operator.h"
#include "dispatch/schema.h"
#include "dispatch/tensors.h"
#include "tensor/tensor.h"
#include "tl/extension.h"
#include "tl/rules.h"

namespace tl {
extern const TlRules kRules;  // generated
}

namespace tl::bind {

namespace {
// A Python function in a place of an operator's table. Such places outlive the function: a call that another
// thread has begun may still come to one.
struct PythonFunction {
  const Operator* op;
  PyObject* function = nullptr;   // NULL: removed
  bool is_kernel = false;         // of a device: it writes what the schema says
  bool refuses_aliasing = false;  // results may share no memory with arguments and with each other
  bool replaces = false;          // `replaced` is what stood there before
  KernelEntry replaced = {};
};

// ---- arguments --------------------------------------------------------------------------------------------
// The arguments of a call as Python gets them: by position, those after the `*` by keyword. Those at the end
// that are their defaults are left out, as the function has defaults of its own.
class PythonCall {
 public:
  PythonCall(const Operator& op, const TlValue* args, int n_args) {
    int positional = 0;
    while (positional < n_args && !op.info.args[positional].keyword_only) ++positional;
    n_positional_ = positional;
    while (n_positional_ > 0 && op.info.args[n_positional_ - 1].has_default &&
           is_default(op, n_positional_ - 1, args[n_positional_ - 1]))
      --n_positional_;
    for (int i = 0; i < n_positional_; ++i) put(op, i, args[i]);
    if (positional < n_args) [[unlikely]]
      keywords(op, args, positional, n_args);
  }
  ~PythonCall() {
    for (int i = 0; i < n_; ++i) Py_DECREF(objects_[static_cast<size_t>(i) + 1]);
  }
  PythonCall(const PythonCall&) = delete;

  PyRef operator()(PyObject* function) {
    const auto n = static_cast<size_t>(n_positional_) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    return checked(run_python(PyObject_Vectorcall, function, objects_.data() + 1, n, names_.get()));
  }

 private:
  void put(const Operator& op, int arg, const TlValue& v) {
    objects_[static_cast<size_t>(n_) + 1] = checked(argument_to_python(op, arg, v)).release();
    ++n_;
  }

  void keywords(const Operator& op, const TlValue* args, int first, int n_args) {
    PyRef names = checked(PyList_New(0));
    for (int i = first; i < n_args; ++i) {
      if (is_default(op, i, args[i])) continue;
      PyRef name = checked(PyUnicode_InternFromString(op.info.args[i].name));
      checked(PyList_Append(names.get(), name.get()));
      put(op, i, args[i]);
    }
    names_ = checked(PyList_AsTuple(names.get()));
  }

  std::array<PyObject*, kMaxArgs + 1> objects_;  // the first place is the callee's
  int n_ = 0, n_positional_ = 0;
  PyRef names_;
};

// ---- results ----------------------------------------------------------------------------------------------
std::string type_text(const TlArgInfo& info) { return kind_name(info) + (info.optional ? " or None" : ""); }

TlValue result_value(const Operator& op, PyObject* o, const TlArgInfo& info) {
  if (info.kind == TL_ARG_TENSOR && is_tensor(o)) [[likely]]
    return owned(tensor_of(o));
  if (info.kind == TL_ARG_OBJECT) return {TL_OBJECT, 0, {.p = Py_NewRef(o)}};
  if (is_symbolic(o)) [[unlikely]]
    return number_for_result(o);
  TlValue v;
  Scratch scratch;
  bool overloaded = false;
  const bool fits = parse_value(o, info, v, scratch, overloaded);
  TL_CHECK(fits && (v.tag != TL_NONE || info.optional), Type, op.info.name,
           ": the schema says that it returns ", type_text(info), ", but its Python function returned ",
           Py_TYPE(o)->tp_name);
  return owned_copy(v);
}

void take_results(const Operator& op, PyObject* made, TlValue* rets, int n_rets) {
  const TlOperatorInfo& info = op.info;
  if (n_rets == 1) {
    rets[0] = result_value(op, made, info.rets[0]);
    return;
  }
  TL_CHECK(n_rets || made == Py_None, Runtime, "Expected ", info.name,
           " to return None but it returned something else instead (", Py_TYPE(made)->tp_name, ").");
  if (n_rets == 0) return;
  TL_CHECK(PyTuple_Check(made) || PyList_Check(made), Runtime, "Expected ", info.name,
           " to return a tuple of ", n_rets, " values, got ", Py_TYPE(made)->tp_name);
  TL_CHECK(PySequence_Fast_GET_SIZE(made) == n_rets, Runtime, "Expected ", info.name,
           " to return a tuple of ", n_rets, " values, got ",
           static_cast<int64_t>(PySequence_Fast_GET_SIZE(made)));
  for (int i = 0; i < n_rets; ++i)
    rets[i] = result_value(op, PySequence_Fast_GET_ITEM(made, i), info.rets[i]);
}

// ---- results that share memory ----------------------------------------------------------------------------
template <class F>
bool any_storage(const TlValue* values, int n, F f) {
  return any_tensor(values, n, [&](const Tensor& t) { return f(t->storage); });
}

PyRef module_of(PyObject* function) {
  PyRef name(PyObject_GetAttrString(function, "__module__"));
  if (!name || !PyUnicode_Check(name.get())) {
    PyErr_Clear();  // a callable may have no module
    name = checked(PyUnicode_FromString("???"));
  }
  return name;
}

[[gnu::cold]] void fail_aliasing(const PythonFunction& f) {
  const PyRef module = module_of(f.function);
  fail(ErrorKind::Runtime, f.op->info.name, " (with implementation in ", PyUnicode_AsUTF8(module.get()),
       "): The output of this custom operator (1) must not also be an input to this custom operator and (2) "
       "may not alias any inputs to this custom operator or other returns. Return a clone of the output that "
       "shares memory with an input (x.clone()), or do not return it.");
}

// How many of the values lie on a storage: two of the results may not.
int count_on(const TlValue* values, int n, const Storage* storage) {
  int count = 0;
  any_storage(values, n, [&](const Storage* s) { return count += s == storage, false; });
  return count;
}

void check_aliasing(const PythonFunction& f, const TlValue* args, int n_args, const TlValue* rets,
                    int n_rets) {
  const bool shared = any_storage(rets, n_rets, [&](const Storage* s) {
    return s && (count_on(args, n_args, s) > 0 || count_on(rets, n_rets, s) > 1);
  });
  if (shared) fail_aliasing(f);
}

// What a row's kernel leaves to the dispatcher where the first argument is written.
void note_written(const Operator& op, const TlValue* args, int n_args) {
  for (int i = 0; i < n_args; ++i) {
    if (!(op.written_mask >> i & 1)) continue;
    for (TensorImpl* t : tensors_of(args[i]))
      if (t) bump_version(*t);
  }
}

// ---- the call ---------------------------------------------------------------------------------------------
void run(const PythonFunction& f, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  TL_CHECK(f.function, Runtime, "the Python function of ", f.op->info.name, " has been removed");
  const PyRef function(Py_NewRef(f.function));  // it may be removed while it runs
  PythonCall call(*f.op, args, n_args);
  const PyRef made = call(function.get());
  for (int i = 0; i < n_rets; ++i) rets[i] = none();
  try {
    take_results(*f.op, made.get(), rets, n_rets);
    if (f.refuses_aliasing) check_aliasing(f, args, n_args, rets, n_rets);
    if (f.is_kernel && f.op->info.variant == TL_FUNCTIONAL) note_written(*f.op, args, n_args);
  } catch (...) {
    for (int i = 0; i < n_rets; ++i) release(rets[i]);
    throw;
  }
}

int call_python(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const WithGil lock;
  return guarded([&] {
    try {
      run(*static_cast<const PythonFunction*>(ctx), args, n_args, rets, n_rets);
    } catch (const PythonError&) {
      pending_from_python();
      throw_pending();
    }
  });
}

// ---- places -----------------------------------------------------------------------------------------------
constexpr int kFirstLayer = kNumDeviceTypes;

PythonFunction& slot_of(const Operator& op, int slot) {
  static auto* const slots = new std::map<std::pair<const Operator*, int>, std::unique_ptr<PythonFunction>>;
  auto& found = (*slots)[{&op, slot}];
  if (!found) found.reset(new PythonFunction{&op});
  return *found;
}

const Operator& operator_argument(const char* name) { return operator_named(name); }

void put_function(PythonFunction& f, PyObject* function) {
  if (function) const_cast<Operator*>(f.op)->in_python = true;
  Py_XSETREF(f.function, Py_XNewRef(function));
}

// The kernel of an extension in a capsule; NULL: the object is none.
const TlLayerEntry* native_kernel(PyObject* o) {
  if (!PyCapsule_IsValid(o, TL_KERNEL_CAPSULE)) return nullptr;
  return static_cast<const TlLayerEntry*>(PyCapsule_GetPointer(o, TL_KERNEL_CAPSULE));
}

DeviceType device_type_of(int number) {
  TL_CHECK(number >= 0 && number < kNumDeviceTypes, Value, "there is no device type ", number);
  return static_cast<DeviceType>(number);
}

// _set_kernel(name, device, function, capsule or None, refuses_aliasing): None brings back what stood there
// before.
PyObject* set_kernel(PyObject*, PyObject* args) {
  const char* name;
  PyObject* function;
  int device, refuses_aliasing;
  if (!PyArg_ParseTuple(args, "siOp", &name, &device, &function, &refuses_aliasing)) return nullptr;
  return translated(
      [&] {
        const Operator& op = operator_argument(name);
        const DeviceType type = device_type_of(device);
        PythonFunction& f = slot_of(op, device);
        const bool removes = function == Py_None;
        const TlLayerEntry* native = native_kernel(function);
        if (removes && f.replaces) {
          exchange_kernel(op, type, f.replaced);
        } else if (!removes) {
          const KernelEntry entry =
              native ? KernelEntry{native->call, native->ctx} : KernelEntry{call_python, &f};
          const KernelEntry before = exchange_kernel(op, type, entry);
          if (!f.replaces) f.replaced = before;
        }
        f.replaces = !removes;
        f.is_kernel = true;
        f.refuses_aliasing = refuses_aliasing;
        put_function(f, removes || native ? nullptr : function);
        return Py_NewRef(Py_None);
      },
      static_cast<PyObject*>(nullptr));
}

// _set_layer(name, layer, function, capsule, None or Ellipsis): None brings the layer's own entry back,
// Ellipsis passes calls on.
PyObject* set_layer(PyObject*, PyObject* args) {
  const char* name;
  int layer;
  PyObject* function;
  if (!PyArg_ParseTuple(args, "siO", &name, &layer, &function)) return nullptr;
  return translated(
      [&] {
        TL_CHECK(layer >= 0 && layer < kNumLayers, Value, "there is no layer ", layer);
        const Operator& op = operator_argument(name);
        PythonFunction& f = slot_of(op, kFirstLayer + layer);
        const TlLayerEntry* native = native_kernel(function);
        const bool calls = function != Py_None && function != Py_Ellipsis && !native;
        put_function(f, calls ? function : nullptr);
        if (function == Py_None)
          drop_own_entry(op, layer);
        else if (native)
          set_own_entry(op, layer, *native);
        else
          set_own_entry(op, layer, calls ? TlLayerEntry{call_python, &f} : TlLayerEntry{});
        return Py_NewRef(Py_None);
      },
      static_cast<PyObject*>(nullptr));
}

// ---- operators --------------------------------------------------------------------------------------------
// Lives as long as the operator: the process.
TlValue saved_default(const TlOperatorInfo& info, int arg, PyObject* o) {
  auto* scratch = new Scratch;
  TlValue v;
  bool overloaded = false;
  TL_CHECK(parse_value(o, info.args[arg], v, *scratch, overloaded), Type, info.name, ": the default of '",
           info.args[arg].name, "' must be ", kind_name(info.args[arg]), ", not ", Py_TYPE(o)->tp_name);
  scratch->keep(Py_NewRef(o));
  return v;
}

// _register_operator(schema, defaults): the schema has been parsed; defaults has the values, by argument.
PyObject* register_one(PyObject*, PyObject* args) {
  const char* text;
  PyObject* defaults;
  if (!PyArg_ParseTuple(args, "sO!", &text, &PyDict_Type, &defaults)) return nullptr;
  return translated(
      [&] {
        auto schema = std::make_unique<ParsedSchema>(text, true);
        const TlOperatorInfo info = schema->info();
        TL_CHECK(info.n_args <= kMaxArgs && info.n_rets <= 8, NotImplemented, "the operator ", info.name,
                 " has ", info.n_args, " arguments and ", info.n_rets, " results; at most ", kMaxArgs,
                 " and 8 are taken");
        for (int i = 0; i < info.n_args; ++i)
          if (PyObject* o = PyDict_GetItemString(defaults, info.args[i].name))
            schema->set_default(i, saved_default(info, i, o));
        TlOperatorDef def{};
        def.struct_size = sizeof def;
        register_operator(std::move(schema), def);
        return Py_NewRef(Py_None);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* remove_one(PyObject*, PyObject* name) {
  return translated(
      [&] {
        const char* text = PyUnicode_AsUTF8(name);
        if (!text) throw PythonError();
        remove_operator(operator_argument(text));
        return Py_NewRef(Py_None);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* set_composite_one(PyObject*, PyObject* args) {
  const char* name;
  int on;
  if (!PyArg_ParseTuple(args, "sp", &name, &on)) return nullptr;
  return translated(
      [&] {
        set_composite(operator_argument(name), on != 0);
        return Py_NewRef(Py_None);
      },
      static_cast<PyObject*>(nullptr));
}

// _has_kernel(name, device)
PyObject* has_kernel(PyObject*, PyObject* args) {
  const char* name;
  int device;
  if (!PyArg_ParseTuple(args, "si", &name, &device)) return nullptr;
  return translated(
      [&] {
        device_type_of(device);
        return PyBool_FromLong(operator_argument(name).kernels[device].call != nullptr);
      },
      static_cast<PyObject*>(nullptr));
}

bool has_derivative(const TlOperatorInfo& info) { return info.program || info.no_grad_reason; }

bool is_elementwise(const Operator& op) {
  const std::string_view functional = op.info.functional->info.name;
  for (int i = 0; i < kRules.n; ++i)
    if (functional == kRules.rules[i].op) return kRules.rules[i].batch_kind == TL_BATCH_ELEMENTWISE;
  return false;
}

// _operator_facts(name): what the row says beyond the schema.
PyObject* operator_facts(PyObject*, PyObject* name) {
  return translated(
      [&] {
        const char* text = PyUnicode_AsUTF8(name);
        if (!text) throw PythonError();
        const Operator& op = operator_argument(text);
        const bool facts[] = {op.added,          op.info.is_composite != 0, has_derivative(op.info),
                              op.needs_values,   op.info.is_view != 0,      op.info.is_random != 0,
                              is_elementwise(op)};
        PyRef tuple = checked(PyTuple_New(std::size(facts)));
        for (size_t i = 0; i < std::size(facts); ++i)
          PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(facts[i]));
        return tuple.release();
      },
      static_cast<PyObject*>(nullptr));
}

// _operator_tags(name): the names of the tags that came with its registration.
PyObject* operator_tags(PyObject*, PyObject* name) {
  return translated(
      [&] {
        const char* text = PyUnicode_AsUTF8(name);
        if (!text) throw PythonError();
        const std::vector<std::string> tags = tags_of(operator_argument(text));
        PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(tags.size())));
        for (size_t i = 0; i < tags.size(); ++i)
          PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                           checked(PyUnicode_FromString(tags[i].c_str())).release());
        return tuple.release();
      },
      static_cast<PyObject*>(nullptr));
}

PyMethodDef kFunctions[] = {
    {"_register_operator", register_one, METH_VARARGS, nullptr},
    {"_remove_operator", remove_one, METH_O, nullptr},
    {"_set_kernel", set_kernel, METH_VARARGS, nullptr},
    {"_set_layer", set_layer, METH_VARARGS, nullptr},
    {"_set_composite", set_composite_one, METH_VARARGS, nullptr},
    {"_operator_facts", operator_facts, METH_O, nullptr},
    {"_operator_tags", operator_tags, METH_O, nullptr},
    {"_has_kernel", has_kernel, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_python_kernels(PyObject* module) {
  if (PyModule_AddFunctions(module, kFunctions) != 0) throw PythonError();
}

}  // namespace tl::bind
