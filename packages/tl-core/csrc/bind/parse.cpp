// Argument parsing: one pass over positions and keywords against the overload's table, a type test a kind.
#include "bind/parse.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "bind/counted_values.h"
#include "bind/generator_object.h"
#include "bind/names.h"
#include "bind/override.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "ops/shared/known_values.h"

namespace tl::bind {

PyObject* g_disabled_torch_function = nullptr;

namespace {
PyObject* torch_function_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}
}  // namespace

bool detail::class_has_torch_function(PyTypeObject* type) {
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type || type == &PyTuple_Type ||
      type == &PyList_Type || type == &PyBool_Type)
    return false;
  PyObject* found = _PyType_Lookup(type, torch_function_name());
  return found && found != g_disabled_torch_function && !overrides_disabled();
}

namespace {
// ---- numbers ----------------------------------------------------------------------------------------------
TlValue int_value(int64_t i) { return {TL_INT, 0, {.i = i}}; }

// Integers from 2^63 on travel as the bits of a uint64; beyond 64 bits Python's OverflowError is raised.
bool long_value(PyObject* o, TlValue& out) {
  int overflow = 0;
  out = int_value(PyLong_AsLongLongAndOverflow(o, &overflow));
  if (!overflow) [[likely]]
    return true;
  const unsigned long long bits = PyLong_AsUnsignedLongLong(o);
  if (PyErr_Occurred()) throw PythonError();
  out = int_value(static_cast<int64_t>(bits));
  out.len = 1;
  return true;
}

// Sizes, dimensions and the like fit an int64.
bool whole_value(PyObject* o, TlValue& out) {
  int overflow = 0;
  out = int_value(PyLong_AsLongLongAndOverflow(o, &overflow));
  TL_CHECK(!overflow, Value, "Overflow when unpacking long long");
  return true;
}

bool is_scalar_tensor(PyObject* o) { return is_tensor(o) && impl_of(o)->numel == 1 && impl_of(o)->ndim == 0; }

// A tensor that requires a gradient or is in a transform is no plain number: what is computed from it would
// be lost to the derivative, or to the other examples of a batch.
bool is_followed(PyObject* o) {
  constexpr uint64_t kFollowed =
      uint64_t{1} << TL_LAYER_AUTOGRAD | uint64_t{1} << TL_LAYER_TRANSFORMS | TL_BIT_HIDES_BATCH;
  return impl_of(o)->bits.load(std::memory_order_relaxed) & kFollowed;
}

TlValue item_value(PyObject* o, Scratch& scratch) {
  static const Operator& op = operator_named("_local_scalar_dense");
  const Scalar s = call_typed<Scalar>(op, tensor_of(o));
  TlValue v = s.value();
  if (s.is_complex()) {
    auto* parts = scratch.take<double>(2);
    parts[0] = s.to_complex().re;
    parts[1] = s.to_complex().im;
    v.u.p = parts;
  }
  return v;
}

TlValue complex_value(Py_complex c, Scratch& scratch) {
  auto* parts = scratch.take<double>(2);
  parts[0] = c.real;
  parts[1] = c.imag;
  return {TL_COMPLEX, 0, {.p = parts}};
}

// numpy's scalars and anything else that says it is a number.
bool foreign_number(PyObject* o, TlValue& out, Scratch& scratch) {
  if (is_symbolic(o)) {
    out = scratch.symbol_value(o);
    return true;
  }
  PyNumberMethods* number = Py_TYPE(o)->tp_as_number;
  if (PyComplex_Check(o)) {
    out = complex_value(PyComplex_AsCComplex(o), scratch);
    return true;
  }
  if (!number || PyUnicode_Check(o) || PySequence_Check(o)) {
    // numpy's 0-d arrays and scalars are sequences by type but have __array_interface__ of no dimension; only
    // scalars count
    if (!number || !number->nb_float || PyUnicode_Check(o) || PyObject_HasAttrString(o, "__len__"))
      return false;
  }
  if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool_") == 0 ||
      std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool") == 0) {
    out = {TL_BOOL, 0, {.i = PyObject_IsTrue(o)}};
    return true;
  }
  if (number->nb_index) {
    PyRef index = checked(PyNumber_Index(o));
    return long_value(index.get(), out);
  }
  if (PyObject_HasAttrString(o, "__complex__") && !number->nb_float) {
    const Py_complex c = PyComplex_AsCComplex(o);
    if (PyErr_Occurred()) throw PythonError();
    out = complex_value(c, scratch);
    return true;
  }
  if (!number->nb_float) return false;
  const double v = PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  out = {TL_FLOAT, 0, {.f = v}};
  return true;
}

bool number_value(PyObject* o, TlValue& out, Scratch& scratch) {
  if (PyFloat_CheckExact(o)) {
    out = {TL_FLOAT, 0, {.f = PyFloat_AS_DOUBLE(o)}};
    return true;
  }
  if (PyBool_Check(o)) {
    out = {TL_BOOL, 0, {.i = o == Py_True}};
    return true;
  }
  if (PyLong_Check(o)) return long_value(o, out);
  if (PyFloat_Check(o)) {
    out = {TL_FLOAT, 0, {.f = PyFloat_AS_DOUBLE(o)}};
    return true;
  }
  return !is_tensor(o) && foreign_number(o, out, scratch);
}

// A tensor without dimensions stands for its number where no overload takes the tensor.
bool scalar_value(PyObject* o, TlValue& out, Scratch& scratch) {
  if (number_value(o, out, scratch)) return true;
  if (!is_scalar_tensor(o) || is_followed(o)) return false;
  if (scratch.tensors != Scratch::Tensors::Taken) {
    scratch.tensors = Scratch::Tensors::Met;
    return false;
  }
  out = item_value(o, scratch);
  return true;
}

// The class says so: an object may claim to have whatever attribute it is asked for.
bool is_kind_of_array(PyObject* o) {
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__array_interface__");
}

// numpy's arrays have an index where they hold one integer and no dimension.
bool index_of_array(PyObject* o, TlValue& out) {
  const PyRef index(PyNumber_Index(o));
  if (index) return long_value(index.get(), out);
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();
  return false;
}

// Of integers: `dim`, `dims`, `dim0`; `start_dim`; and what movedim calls them.
bool speaks_of_dims(const char* parameter) {
  return std::strstr(parameter, "dim") || !std::strcmp(parameter, "source") ||
         !std::strcmp(parameter, "destination");
}

// A size or an index may be a tensor of one element and any shape; a dimension, a count, and what an overload
// takes as a tensor have none.
bool takes_any_shape(const TlArgInfo& arg) {
  static constexpr std::string_view kCounts[] = {"chunks", "num_classes", "bins",    "steps",
                                                 "high",   "num_groups",  "sections"};
  return arg.kind != TL_ARG_INT ||
         !(speaks_of_dims(arg.name) || std::ranges::find(kCounts, arg.name) != std::end(kCounts));
}

bool int_argument(PyObject* o, TlValue& out, Scratch& scratch) {
  if (PyLong_CheckExact(o)) return whole_value(o, out);
  if (PyBool_Check(o) || PyFloat_Check(o)) return false;
  if (is_tensor(o)) {
    if (impl_of(o)->numel != 1 || !is_integral(impl_of(o)->dtype, false)) return false;
    if (impl_of(o)->ndim != 0 && !takes_any_shape(*scratch.argument)) return false;
    out = item_value(o, scratch);
    return true;
  }
  if (!PyIndex_Check(o) && !is_symbolic_int(o)) return false;
  if (PySequence_Check(o) && is_kind_of_array(o)) return index_of_array(o, out);
  return foreign_number(o, out, scratch) && out.tag == TL_INT && !out.len;
}

bool bool_argument(PyObject* o, TlValue& out, Scratch& scratch) {
  if (PyBool_Check(o)) {
    out = {TL_BOOL, 0, {.i = o == Py_True}};
    return true;
  }
  if (is_symbolic_bool(o)) {
    out = scratch.symbol_value(o);
    return out.tag == TL_BOOL;
  }
  if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) != 0) return false;
  out = {TL_BOOL, 0, {.i = PyObject_IsTrue(o)}};
  return true;
}

// ---- lists ------------------------------------------------------------------------------------------------
struct Items {
  PyObject* const* data;
  Py_ssize_t size;
};

bool items_of(PyObject* o, Items& out) {
  if (PyTuple_Check(o))
    out = {&PyTuple_GET_ITEM(o, 0), PyTuple_GET_SIZE(o)};
  else if (PyList_Check(o))
    out = {reinterpret_cast<PyListObject*>(o)->ob_item, PyList_GET_SIZE(o)};
  else
    return false;
  return true;
}

bool int_list(Items items, TlValue& out, Scratch& scratch) {
  auto* list = scratch.take<int64_t>(items.size);
  for (Py_ssize_t i = 0; i < items.size; ++i) {
    TlValue v;
    scratch.position = static_cast<int>(i);
    if (!int_argument(items.data[i], v, scratch)) return false;
    list[i] = v.u.i;
  }
  scratch.position = -1;
  out = {TL_INT_LIST, static_cast<uint32_t>(items.size), {.p = list}};
  return true;
}

bool float_list(Items items, TlValue& out, Scratch& scratch) {
  auto* list = scratch.take<double>(items.size);
  for (Py_ssize_t i = 0; i < items.size; ++i) {
    TlValue v;
    if (!number_value(items.data[i], v, scratch) || v.tag == TL_COMPLEX) return false;
    list[i] = Unbox<double>::get(v);
  }
  out = {TL_FLOAT_LIST, static_cast<uint32_t>(items.size), {.p = list}};
  return true;
}

bool bool_list(Items items, TlValue& out, Scratch& scratch) {
  auto* list = scratch.take<uint8_t>(items.size);
  for (Py_ssize_t i = 0; i < items.size; ++i) {
    TlValue v;
    if (!bool_argument(items.data[i], v, scratch)) return false;
    list[i] = v.u.i != 0;
  }
  out = {TL_BOOL_LIST, static_cast<uint32_t>(items.size), {.p = list}};
  return true;
}

bool scalar_list(Items items, TlValue& out, Scratch& scratch) {
  auto* list = scratch.take<TlValue>(items.size);
  for (Py_ssize_t i = 0; i < items.size; ++i)
    if (!number_value(items.data[i], list[i], scratch)) return false;
  out = {TL_SCALAR_LIST, static_cast<uint32_t>(items.size), {.p = list}};
  return true;
}

bool string_argument(PyObject* o, TlValue& out) {
  if (!PyUnicode_Check(o)) return false;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw PythonError();
  out = {TL_STRING, static_cast<uint32_t>(size), {.p = text}};
  return true;
}

bool string_list(Items items, TlValue& out, Scratch& scratch) {
  auto* list = scratch.take<TlValue>(items.size);
  for (Py_ssize_t i = 0; i < items.size; ++i)
    if (!string_argument(items.data[i], list[i])) return false;
  out = {TL_STRING_LIST, static_cast<uint32_t>(items.size), {.p = list}};
  return true;
}

bool note_override(PyObject* o, bool& overloaded) {
  if (!has_torch_function(o)) return false;
  overloaded = true;
  return true;
}

bool tensor_list(Items items, bool optional, TlValue& out, Scratch& scratch, bool& overloaded) {
  auto* list = scratch.take<TensorImpl*>(items.size);
  for (Py_ssize_t i = 0; i < items.size; ++i) {
    PyObject* o = items.data[i];
    if (Py_TYPE(o) == g_tensor_type) {
      list[i] = impl_of(o);
    } else if (optional && o == Py_None) {
      list[i] = nullptr;
    } else if (note_override(o, overloaded)) {
      list[i] = is_tensor(o) ? impl_of(o) : nullptr;
    } else if (is_tensor(o)) {
      list[i] = impl_of(o);
    } else {
      return false;
    }
  }
  out = {TL_TENSOR_LIST, static_cast<uint32_t>(items.size), {.p = list}};
  return true;
}

bool is_list(uint8_t kind) {
  return kind == TL_ARG_INT_LIST || kind == TL_ARG_FLOAT_LIST || kind == TL_ARG_BOOL_LIST ||
         kind == TL_ARG_SCALAR_LIST || kind == TL_ARG_STRING_LIST || kind == TL_ARG_TENSOR_LIST ||
         kind == TL_ARG_OPTIONAL_TENSOR_LIST;
}

bool list_argument(PyObject* o, const TlArgInfo& arg, TlValue& out, Scratch& scratch, bool& overloaded) {
  Items items;
  const bool sequence = items_of(o, items);
  if (!sequence) {
    // A single number stands for a list of it, as the reference allows for sizes and dims.
    if (arg.kind == TL_ARG_INT_LIST)
      return (PyLong_Check(o) || is_tensor(o) || PyIndex_Check(o) || is_symbolic_int(o)) &&
             !PyBool_Check(o) && int_list({&o, 1}, out, scratch);
    if (arg.kind == TL_ARG_FLOAT_LIST) return PyFloat_Check(o) && float_list({&o, 1}, out, scratch);
    return false;
  }
  switch (arg.kind) {
    case TL_ARG_INT_LIST:
      return int_list(items, out, scratch);
    case TL_ARG_FLOAT_LIST:
      return float_list(items, out, scratch);
    case TL_ARG_BOOL_LIST:
      return bool_list(items, out, scratch);
    case TL_ARG_SCALAR_LIST:
      return scalar_list(items, out, scratch);
    case TL_ARG_STRING_LIST:
      return string_list(items, out, scratch);
    default:
      return tensor_list(items, arg.kind == TL_ARG_OPTIONAL_TENSOR_LIST, out, scratch, overloaded);
  }
}

bool tensor_argument(PyObject* o, TlValue& out, bool& overloaded) {
  const bool overrides = note_override(o, overloaded);
  if (!is_tensor(o)) {
    out = none();
    return overrides;
  }
  out = value(tensor_of(o));
  return true;
}

bool enum_argument(PyObject* o, PyTypeObject* type, TlTag tag, TlValue& out) {
  if (Py_TYPE(o) != type) return false;
  out = {static_cast<uint32_t>(tag), 0, {.i = reinterpret_cast<EnumObject*>(o)->value}};
  return true;
}

bool dtype_argument(PyObject* o, TlValue& out) {
  DType d;
  if (!to_dtype(o, d)) return false;
  out = value(d);
  return true;
}

bool device_argument(PyObject* o, TlValue& out) {
  Device d;
  if (!to_device(o, d)) return false;
  out = value(d);
  return true;
}

// What one object of the core or of an extension stands for.
bool handle_argument(PyObject* o, int kind, TlValue& out) {
  if (kind == TL_ARG_STORAGE) return storage_argument(o, out);
  return kind == TL_ARG_STREAM ? stream_argument(o, out) : capsule_argument(o, out);
}
}  // namespace

bool detail::parse_any_value(PyObject* o, const TlArgInfo& arg, TlValue& out, Scratch& scratch,
                             bool& overloaded) {
  if (o == Py_None && arg.optional) {
    out = none();
    return true;
  }
  scratch.argument = &arg;
  scratch.position = -1;
  switch (arg.kind) {
    case TL_ARG_TENSOR:
      return tensor_argument(o, out, overloaded);
    case TL_ARG_OPERAND:
      return tensor_argument(o, out, overloaded) || number_value(o, out, scratch);
    case TL_ARG_SCALAR:
      return note_override(o, overloaded) || scalar_value(o, out, scratch);
    case TL_ARG_BOOL:
      return bool_argument(o, out, scratch);
    case TL_ARG_INT:
      return int_argument(o, out, scratch);
    case TL_ARG_FLOAT:
      return scalar_value(o, out, scratch) && out.tag != TL_COMPLEX;
    case TL_ARG_STRING:
      return string_argument(o, out);
    case TL_ARG_DTYPE:
      return dtype_argument(o, out);
    case TL_ARG_DEVICE:
      return device_argument(o, out);
    case TL_ARG_LAYOUT:
      return enum_argument(o, g_layout_type, TL_LAYOUT, out);
    case TL_ARG_MEMORY_FORMAT:
      return enum_argument(o, g_memory_format_type, TL_MEMORY_FORMAT, out);
    case TL_ARG_GENERATOR:
      return generator_argument(o, out);
    case TL_ARG_OBJECT:
      out = {TL_OBJECT, 0, {.p = o}};
      return true;
    case TL_ARG_STORAGE:
    case TL_ARG_STREAM:
    case TL_ARG_CAPSULE:
      return handle_argument(o, arg.kind, out);
    default:
      return list_argument(o, arg, out, scratch, overloaded);
  }
}

std::string kind_name(const TlArgInfo& arg) {
  static constexpr const char* kNames[] = {"Tensor",
                                           "tuple of Tensors",
                                           "tuple of Tensors",
                                           "Tensor",
                                           "Number",
                                           "bool",
                                           "int",
                                           "float",
                                           "str",
                                           "torch.dtype",
                                           "torch.device",
                                           "torch.layout",
                                           "torch.memory_format",
                                           "torch.Generator",
                                           "tuple of ints",
                                           "tuple of floats",
                                           "tuple of bools",
                                           "tuple of Numbers",
                                           "object",
                                           "tuple of strs",
                                           "torch.Storage",
                                           "torch.Stream",
                                           "a capsule of an extension"};
  return kNames[arg.kind];
}

// The name of an object's class as the reference's messages write it.
std::string type_name(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name, own = "tl_core.";
  return std::string(name.starts_with(own) ? name.substr(own.size()) : name);
}

ArgumentCounts argument_counts(const TlOperatorInfo& info, bool is_method) {
  ArgumentCounts counts{};
  for (int i = is_method ? 1 : 0; i < info.n_args; ++i) {
    counts.least += !info.args[i].has_default && !info.args[i].keyword_only;
    counts.positional += !info.args[i].keyword_only;
    ++counts.most;
  }
  return counts;
}

std::string too_many_positional(const char* name, const ArgumentCounts& counts, Py_ssize_t n) {
  const std::string least = counts.least < counts.positional ? cat("from ", counts.least, " to ") : "";
  return cat(name, "() takes ", least, counts.positional, " positional argument",
             counts.positional == 1 && least.empty() ? "" : "s", " but ", n, n == 1 ? " was" : " were",
             " given");
}

// ---- a whole call -----------------------------------------------------------------------------------------
namespace {
bool same_name(PyObject* keyword, const char* name) {
  return PyUnicode_CompareWithASCIIString(keyword, name) == 0;
}

int parameter_named(const TlOperatorInfo& info, const char* name) {
  for (int i = 0; i < info.n_args; ++i)
    if (std::strcmp(info.args[i].name, name) == 0) return i;
  return -1;
}

// The spellings of numpy and of PyTorch's documentation.
int common_parameter(const TlOperatorInfo& info, PyObject* keyword) {
  struct Alias {
    const char *from, *to;
  };
  static constexpr Alias kAliases[] = {
      {"input", "self"}, {"axis", "dim"}, {"keepdims", "keepdim"}, {"x1", "self"}, {"x2", "other"},
      {"x", "self"},     {"a", "self"},   {"input", "A"},          {"input", "x"}, {"other", "src"}};
  for (const auto& a : kAliases)
    if (same_name(keyword, a.from))
      if (const int i = parameter_named(info, a.to); i >= 0) return i;
  return -1;
}

// The same name may stand for one parameter or another, as the overload has it.
int spelled_parameter(const TlOperatorInfo& info, const Spelling* spellings, PyObject* keyword) {
  for (const Spelling* s = spellings; s && s->shown; ++s)
    if (same_name(keyword, s->shown))
      if (const int i = parameter_named(info, s->schema); i >= 0) return i;
  return -1;
}

int find_parameter(const TlOperatorInfo& info, const Spelling* spellings, PyObject* keyword) {
  for (int i = 0; i < info.n_args; ++i)
    if (same_name(keyword, info.args[i].name)) return i;
  if (const int i = spelled_parameter(info, spellings, keyword); i >= 0) return i;
  return common_parameter(info, keyword);
}

class CallParser {
 public:
  CallParser(const Operator& op, const Callee& callee, const PyArgs& in, ParsedCall& out, Scratch& scratch,
             std::string* why)
      : op_(op),
        info_(op.info),
        name_(callee.name),
        callee_(callee),
        in_(in),
        out_(out),
        scratch_(scratch),
        why_(why) {}

  bool parse() {
    n_ = info_.n_args;
    int next = 0;
    if (in_.self) {
      if (n_ == 0 || !accept(0, in_.self, -1)) return false;
      next = 1;
    }
    return positional(next) && keywords() && defaults();
  }

 private:
  template <class... Parts>
  bool refuse(const Parts&... parts) {
    if (why_) *why_ = cat(parts...);
    return false;
  }

  bool accept(int param, PyObject* o, Py_ssize_t position) {
    const TlArgInfo& arg = info_.args[param];
    const bool fits = !is_number_for_size(param, o) &&
                      (parse_value(o, arg, out_.values[param], scratch_, out_.overloaded) ||
                       named_dims(param, o) || stands_for_empty(param, o));
    if (!fits) return mismatch(arg, o, position);
    seen_ |= uint64_t{1} << param;
    return true;
  }

  // None is an empty list where that is the default, as in `dims=None` of the reference's documentation.
  bool stands_for_empty(int param, PyObject* o) {
    const TlArgInfo& arg = info_.args[param];
    const bool empty = o == Py_None && is_list(arg.kind) && arg.has_default && !op_.defaults[param].len;
    if (empty) out_.values[param] = op_.defaults[param];
    return empty;
  }

  // The tensor whose dimensions the call speaks of: the first, or the first of a list.
  const TensorImpl* first_tensor() const {
    const TlValue& v = out_.values[0];
    if (!(seen_ & 1)) return nullptr;
    if (v.tag == TL_TENSOR) return reinterpret_cast<const TensorImpl*>(v.u.t);
    return v.tag == TL_TENSOR_LIST && v.len ? *static_cast<TensorImpl* const*>(v.u.p) : nullptr;
  }

  // `x.sum("N")`: a dimension, or a list of them, given by name.
  bool named_dims(int param, PyObject* o) {
    const TlArgInfo& arg = info_.args[param];
    const bool one = arg.kind == TL_ARG_INT;
    if ((!one && arg.kind != TL_ARG_INT_LIST) || !speaks_of_dims(arg.name)) return false;
    const TensorImpl* t = first_tensor();
    if (t && one && has_names(*t)) refuse_unnamed(o);
    if (!t || !has_names(*t) || !gives_names(o) || (one && !PyUnicode_Check(o))) return false;
    const std::vector<int64_t> dims = dims_named(*t, o);
    if (one) {
      out_.values[param] = int_value(dims[0]);
      return true;
    }
    auto* list = scratch_.take<int64_t>(dims.size());
    std::copy(dims.begin(), dims.end(), list);
    out_.values[param] = {TL_INT_LIST, static_cast<uint32_t>(dims.size()), {.p = list}};
    return true;
  }

  bool mismatch(const TlArgInfo& arg, PyObject* o, Py_ssize_t position) {
    if (!why_) return false;
    const char* shown = std::strcmp(arg.name, "self") == 0 ? "input" : arg.name;
    std::string at = position >= 0 ? cat(" (position ", position + 1, ")") : "";
    std::string got = type_name(o);
    if (is_list(arg.kind) && (PyTuple_Check(o) || PyList_Check(o)))
      return refuse(name_, "(): argument '", shown, "'", at, " must be ", kind_name(arg), ", but got ",
                    first_bad(arg, o));
    return refuse(name_, "(): argument '", shown, "'", at, " must be ", kind_name(arg), ", not ", got);
  }

  std::string first_bad(const TlArgInfo& arg, PyObject* o) {
    Items items;
    items_of(o, items);
    for (Py_ssize_t i = 0; i < items.size; ++i) {
      TlValue v;
      bool ignored = false, ok = false;
      switch (arg.kind) {
        case TL_ARG_INT_LIST:
          ok = int_argument(items.data[i], v, scratch_);
          break;
        case TL_ARG_TENSOR_LIST:
        case TL_ARG_OPTIONAL_TENSOR_LIST:
          ok = tensor_argument(items.data[i], v, ignored);
          break;
        default:
          ok = number_value(items.data[i], v, scratch_);
      }
      if (!ok) return cat(type_name(items.data[i]), " at pos ", i);
    }
    return type_name(o);
  }

  // Whether a number stands where the schema has `SymInt[] size`: the 10 of `randint(0, 10)`, which lacks its
  // size. Where `size` is the only positional parameter, as in `zeros(2, 3)`, a number is a size.
  bool is_number_for_size(int param, PyObject* o) const {
    return PyLong_CheckExact(o) && info_.args[param].kind == TL_ARG_INT_LIST &&
           std::strcmp(info_.args[param].name, "size") == 0 && !is_only_positional(param) &&
           std::strstr(info_.schema, "[] size");  // int[2] takes a number
  }

  bool is_only_positional(int param) const {
    const bool first = param == 0 || (param == 1 && std::strcmp(info_.args[0].name, "self") == 0);
    return first && (param + 1 >= n_ || info_.args[param + 1].keyword_only);
  }

  // `x.view(2, 3)`: a list may be written out where it is the only positional parameter.
  bool spread(int param, Py_ssize_t first) {
    const TlArgInfo& arg = info_.args[param];
    if (arg.kind != TL_ARG_INT_LIST || !is_only_positional(param)) return false;
    PyObject* o = in_.args[first];
    if (PyTuple_Check(o) || PyList_Check(o) || o == Py_None) return false;
    if (in_.nargs - first < 2) return false;
    TlValue v;
    scratch_.argument = &arg;
    if (!int_list({in_.args + first, in_.nargs - first}, v, scratch_)) return false;
    out_.values[param] = v;
    seen_ |= uint64_t{1} << param;
    return true;
  }

  bool positional(int param) {
    for (Py_ssize_t i = 0; i < in_.nargs; ++i, ++param) {
      if (param >= n_ || (info_.args[param].keyword_only && !callee_.by_position)) return too_many();
      if (in_.nargs - i > 1 && spread(param, i)) return true;
      if (!accept(param, in_.args[i], i)) return false;
    }
    return true;
  }

  bool too_many() {
    if (!why_) return false;
    return refuse(too_many_positional(name_, argument_counts(info_, in_.self != nullptr), in_.nargs));
  }

  bool keywords() {
    for (Py_ssize_t i = 0, n = in_.n_keywords(); i < n; ++i) {
      PyObject* keyword = in_.keyword(i);
      PyObject* o = in_.keyword_value(i);
      const int param = find_parameter(info_, callee_.spellings, keyword);
      if (param >= 0) {
        if (seen_ >> param & 1)
          return refuse(name_, "() got multiple values for argument '", PyUnicode_AsUTF8(keyword), "'");
        if (!accept(param, o, -1)) return false;
      } else if (!special(keyword, o)) {
        return refuse(name_, "() got an unexpected keyword argument '", PyUnicode_AsUTF8(keyword), "'");
      }
    }
    return true;
  }

  // Creation operators have pin_memory as their last or, before memory_format, their last but one argument.
  bool makes_tensor() const {
    for (int i = n_ - 1; i >= 0 && i >= n_ - 2; --i)
      if (std::strcmp(info_.args[i].name, "pin_memory") == 0) return true;
    return false;
  }

  bool special(PyObject* keyword, PyObject* o) {
    const bool writes_self =
        op_.written_mask & 1;  // in-place operators take no second place for their result
    if (same_name(keyword, "out") && !writes_self && (op_.out || o == Py_None)) {
      out_.out = o == Py_None ? nullptr : o;
      return true;
    }
    if (same_name(keyword, "requires_grad") && makes_tensor()) {
      out_.requires_grad = o;
      return true;
    }
    if (!same_name(keyword, "names")) return false;
    if (o == Py_None) return true;
    out_.names = o;
    return makes_tensor();
  }

  bool defaults() {
    for (int i = 0; i < n_; ++i) {
      if (seen_ >> i & 1) continue;
      if (!info_.args[i].has_default && !(info_.args[i].optional && info_.args[i].keyword_only))
        return missing();
      out_.values[i] = op_.defaults[i];
    }
    return true;
  }

  bool missing() {
    if (!why_) return false;
    std::string names;
    int count = 0;
    for (int i = 0; i < n_; ++i) {
      if ((seen_ >> i & 1) || info_.args[i].has_default) continue;
      names += cat(count++ ? ", \"" : "\"",
                   std::strcmp(info_.args[i].name, "self") ? info_.args[i].name : "input", "\"");
    }
    return refuse(name_, "() missing ", count, " required positional argument", count > 1 ? "s" : "", ": ",
                  names);
  }

  const Operator& op_;
  const TlOperatorInfo& info_;
  const char* name_;
  const Callee& callee_;
  const PyArgs& in_;
  ParsedCall& out_;
  Scratch& scratch_;
  std::string* why_;
  int n_ = 0;
  uint64_t seen_ = 0;
};
}  // namespace

bool parse_call(const Operator& op, const Callee& callee, const PyArgs& in, ParsedCall& out, Scratch& scratch,
                std::string* why) {
  return CallParser(op, callee, in, out, scratch, why).parse();
}

}  // namespace tl::bind
