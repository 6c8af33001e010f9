// The module tl_core._C: what isn't hot goes through pybind11 here.
#include <execinfo.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdlib>
#include <memory>

#include "base/allocator.h"
#include "base/denormals.h"
#include "base/interrupt.h"
#include "base/lapack.h"
#include "base/live_allocations.h"
#include "base/matmul_precision.h"
#include "base/operator_switches.h"
#include "base/parallel.h"
#include "bind/buffer.h"
#include "bind/counted_values.h"
#include "bind/dlpack.h"
#include "bind/error.h"
#include "bind/event_range.h"
#include "bind/files.h"
#include "bind/from_python.h"
#include "bind/function.h"
#include "bind/generator_object.h"
#include "bind/memory_map.h"
#include "bind/names.h"
#include "bind/operator_object.h"
#include "bind/operator_observer.h"
#include "bind/overridable.h"
#include "bind/override.h"
#include "bind/packings.h"
#include "bind/parse.h"
#include "bind/python_api.h"
#include "bind/python_dispatch.h"
#include "bind/python_helpers.h"
#include "bind/python_kernels.h"
#include "bind/quantized.h"
#include "bind/recording.h"
#include "bind/result.h"
#include "bind/runtime_hooks.h"
#include "bind/snapshot.h"
#include "bind/source_location.h"
#include "bind/sparse_rules.h"
#include "bind/tensor_object.h"
#include "bind/tensor_writes.h"
#include "bind/types.h"
#include "bind/wrapper_subclass.h"
#include "dispatch/autocast.h"
#include "dispatch/lazy_bits.h"
#include "dispatch/names.h"
#include "dispatch/python.h"
#include "dispatch/shrunk_storages.h"
#include "dispatch/sparse.h"
#include "dispatch/stored_dtypes.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "ops.h"
#include "ops/shared/uninitialized_fill.h"
#include "ops/shared/warn.h"
#include "tensor/device_registry.h"
#include "tensor/geometry.h"
#include "tensor/pending.h"
#include "tensor/sparse.h"
#include "tensor/weak_storages.h"

namespace py = pybind11;

namespace tl::bind {

namespace {
void translate(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Error& e) {
    raise(e);
  } catch (const PythonError&) {  // the exception is set already
  }
}

const Tensor& tensor_argument(py::handle o) {
  TL_CHECK(is_tensor(o.ptr()), Type, "expected a Tensor, got ", Py_TYPE(o.ptr())->tp_name);
  return tensor_of(o.ptr());
}

DType dtype_argument(py::handle o) {
  DType d;
  TL_CHECK(to_dtype(o.ptr(), d), Type, "expected a torch.dtype, got ", type_name(o.ptr()));
  return d;
}

// Of a function of two element types.
DType dtype_argument(py::handle o, const char* function, const char* name, int position) {
  DType d;
  TL_CHECK(to_dtype(o.ptr(), d), Type, function, "(): argument '", name, "' (position ", position,
           ") must be torch.dtype, not ", type_name(o.ptr()));
  return d;
}

py::object take(PyObject* o) { return py::reinterpret_steal<py::object>(o); }

PyObject* warning_class(WarnCategory category) {
  switch (category) {
    case WarnCategory::Deprecation:
      return PyExc_DeprecationWarning;
    case WarnCategory::Future:
      return PyExc_FutureWarning;
    case WarnCategory::Runtime:
      return PyExc_RuntimeWarning;
    default:
      return PyExc_UserWarning;
  }
}

void warn_in_python(const std::string& message, WarnCategory category) {
  const WithGil lock;
  const auto warn = [&] { return PyErr_WarnEx(warning_class(category), message.c_str(), 1); };
  if (park_at_exit(warn) == 0) return;
  pending_from_python();  // the filter turned it into an error: the operator ends with it
  throw_pending();
}

constexpr const char* kDefaultDtypeDoc =
    "get_default_dtype()\n--\n\n"
    "The element type of tensors from floating-point numbers.\n\n"
    "Returns:\n    dtype\n\n"
    "Example:\n    >>> import tl_core as tl\n    >>> tl.get_default_dtype()\n    torch.float32";

void add_modes(py::module_& m) {
  m.def("_grad_enabled", grad_enabled);
  m.def("_set_grad_enabled", [](bool on) {
    const bool before = grad_enabled();
    set_grad_enabled(on);
    return before;
  });
  m.def("_inference_mode", inference_mode);
  m.def("_set_inference_mode", [](bool on) {
    const bool before = inference_mode();
    set_inference_mode(on);
    return before;
  });
  py::options texts;
  texts.disable_function_signatures();
  m.def(
      "get_default_dtype", [] { return py::reinterpret_borrow<py::object>(dtype_object(default_dtype())); },
      kDefaultDtypeDoc);
  m.def("_set_default_dtype", [](py::object o) { set_default_dtype(dtype_argument(o)); });
  m.def("_set_fill_uninitialized", set_fill_uninitialized);
  m.def("_set_warn_always", set_warn_always);
  m.def("_get_default_device", [] { return take(device_object(default_device())); });
  m.def("_set_default_device", [](py::object o) {
    Device d;
    TL_CHECK(o.is_none() || to_device(o.ptr(), d), Type, "expected a device, got ",
             Py_TYPE(o.ptr())->tp_name);
    set_default_device(o.is_none() ? Device{} : d);
  });
  m.def("_private_device_name", private_device_name);
  m.def("_name_private_device", name_private_device);
}

void add_autocast(py::module_& m) {
  const auto type_of = [](const std::string& device) { return parse_device(device).type; };
  const auto row_of = [=](const std::string& device) {
    const DeviceType type = type_of(device);
    TL_CHECK(has_row(type), Runtime, "nothing lives on the device '", device, "': it has no lower type");
    return static_cast<size_t>(type);
  };
  const auto change = [](auto edit) {
    AutocastState state = autocast_state();
    edit(state);
    set_autocast_state(state);
  };
  m.def("_autocast_is_on",
        [=](const std::string& device) { return autocast_state().is_on(type_of(device)); });
  m.def("_set_autocast_on", [=](const std::string& device, bool on) {
    const uint32_t bit = uint32_t{1} << static_cast<int>(type_of(device));
    change([&](AutocastState& s) { s.on = on ? s.on | bit : s.on & ~bit; });
  });
  m.def("_autocast_dtype", [=](const std::string& device) {
    const DType type = autocast_state().types[row_of(device)];
    return py::reinterpret_borrow<py::object>(dtype_object(type));
  });
  m.def("_set_autocast_dtype", [=](const std::string& device, py::object dtype) {
    const auto row = row_of(device);
    change([&, type = dtype_argument(dtype)](AutocastState& s) { s.types[row] = type; });
  });
  m.def("_autocast_caches", [] { return autocast_state().caches; });
  m.def("_set_autocast_caches", [=](bool on) { change([=](AutocastState& s) { s.caches = on; }); });
  m.def("_nest_autocast", nest_autocast);
  m.def("_clear_autocast_cache", clear_autocast_cache);
}

void add_layers(py::module_& m) {
  m.attr("_LAYER_TRANSFORMS") = int{TL_LAYER_TRANSFORMS};
  m.attr("_LAYER_AUTOCAST") = int{TL_LAYER_AUTOCAST};
  m.attr("_LAYER_TRACE") = int{TL_LAYER_TRACE};
  m.attr("_LAYER_AUTOGRAD") = int{TL_LAYER_AUTOGRAD};
  m.attr("_LAYER_FUNCTIONALIZE") = int{TL_LAYER_FUNCTIONALIZE};
  m.attr("_LAYER_PYTHON") = int{TL_LAYER_PYTHON};
  m.def("_exclude_layer", [](int layer, bool on) {
    uint64_t& excluded = thread_locals().excluded;
    const uint64_t bit = uint64_t{1} << layer;
    const bool before = excluded & bit;
    excluded = on ? excluded | bit : excluded & ~bit;
    return before;
  });
  m.def("_is_layer_excluded", [](int layer) { return (thread_locals().excluded >> layer & 1) != 0; });
}

// The stack of this thread from the caller on, a text a frame.
std::vector<std::string> native_frames() {
  void* addresses[256];
  const int n = backtrace(addresses, 256);
  std::unique_ptr<char*, decltype(&std::free)> texts(backtrace_symbols(addresses, n), std::free);
  std::vector<std::string> frames;
  for (int i = 1; texts && i < n; ++i) frames.emplace_back(texts.get()[i]);
  return frames;
}

py::dict build_info() {
  py::dict info;
#ifdef __clang__
  info["compiler"] = "Clang " __clang_version__;
#else
  info["compiler"] = "GCC " __VERSION__;
#endif
  info["cxx"] = static_cast<long>(__cplusplus);
  info["cxx11_abi"] = _GLIBCXX_USE_CXX11_ABI != 0;
#ifdef NDEBUG
  info["assertions"] = false;
#else
  info["assertions"] = true;
#endif
  info["python"] = PY_VERSION;
  return info;
}

constexpr const char* kGetThreadsDoc =
    "get_num_threads()\n--\n\n"
    "The number of threads of an operator.\n\n"
    "Returns:\n    int\n\n"
    "Example:\n    >>> import tl_core as tl\n    >>> tl.get_num_threads() >= 1\n    True";
constexpr const char* kSetThreadsDoc =
    "set_num_threads(int)\n--\n\n"
    "Sets the number of threads of an operator. Results do not depend on it.\n\n"
    "Args:\n    int: A positive number.\n\n"
    "Raises:\n    RuntimeError: If the number is not positive, or no int.\n\n"
    "Example:\n    >>> import tl_core as tl\n    >>> tl.set_num_threads(tl.get_num_threads())";

void add_threads(py::module_& m) {
  py::options texts;
  texts.disable_function_signatures();
  m.def("get_num_threads", num_threads, kGetThreadsDoc);
  m.def(
      "set_num_threads",
      [](const py::object& n) {
        TL_CHECK(PyLong_Check(n.ptr()), Runtime, "set_num_threads expects an int, but got ",
                 type_name(n.ptr()));
        set_num_threads(n.cast<int>());
      },
      py::arg("int"), kSetThreadsDoc);
}

void add_machine(py::module_& m) {
  add_threads(m);
  m.def("_set_einsum_order", [](int order) { einsum_order = EinsumOrder(order); });
  m.def("_set_attention_allowed", [](bool allowed) { attention_is_allowed = allowed; });
  m.def("_set_float32_matmul_precision", [](int fewer) { matmul_precision = MatmulPrecision(fewer); });
  m.def("_flush_denormals", flush_denormals);
  m.def("_native_frames", native_frames);
  m.def("_build_info", build_info);
  m.def("_capability_level", cpu::isa_level);
  m.def("_request_interrupt", request_interrupt);
}

void add_memory(py::module_& m) {
  add_recordings(m);
  m.def("_empty_cache", empty_cache);
  m.def("_reset_peak", reset_peak);
  m.def("_memory_stats", [] {
    const MemoryStats s = memory_stats();
    return py::make_tuple(s.current, s.peak, s.allocations, s.cached);
  });
  m.def("_memory_limit", memory_limit);
  m.def("_set_memory_limit", set_memory_limit);
  m.def("_set_memory_scope", set_memory_scope);
  m.def("_memory_scope", memory_scope);
  m.def("_set_recorded_size", set_recorded_size);
  m.def("_recorded_size", recorded_size);
  m.def("_live_groups", [] {
    py::list groups;
    for (const LiveGroup& g : live_groups())
      groups.append(
          py::make_tuple(g.origin.scope, g.origin.file, g.origin.line, g.origin.function, g.bytes, g.blocks));
    return groups;
  });
  add_packings(m.ptr());
}

py::object result_type(const py::object& a, const py::object& b) {
  static constexpr TlArgInfo kOperand{"tensor", TL_ARG_OPERAND, 0, 0, 0, 0, 0};
  Promotion p;
  for (const auto& o : {a, b}) {
    TlValue v;
    Scratch scratch;
    bool ignored = false;
    TL_CHECK(parse_value(o.ptr(), kOperand, v, scratch, ignored), Type,
             "result_type(): expected a Tensor or a number, got ", Py_TYPE(o.ptr())->tp_name);
    p.add(v);
  }
  return py::reinterpret_borrow<py::object>(dtype_object(p.result()));
}

// The first line of a text is a signature that `inspect` reads.
constexpr const char* kPromoteTypesDoc =
    "promote_types(type1, type2)\n--\n\n"
    "The smallest element type that holds the values of both.\n\n"
    "Args:\n    type1, type2 (dtype): The two types.\n\n"
    "Returns:\n    dtype\n\n"
    "Raises:\n    TypeError: If an argument is no element type.\n\n"
    "Example:\n    >>> import tl_core as tl\n    >>> tl.promote_types(tl.int64, tl.float32)\n    "
    "torch.float32";
constexpr const char* kCanCastDoc =
    "can_cast(from_, to)\n--\n\n"
    "Whether type promotion allows a conversion of elements.\n\n"
    "Args:\n    from_ (dtype): The type of the elements.\n    to (dtype): The type of the result.\n\n"
    "Returns:\n    bool\n\n"
    "Raises:\n    TypeError: If an argument is no element type.\n\n"
    "Example:\n    >>> import tl_core as tl\n    >>> tl.can_cast(tl.float32, tl.int64)\n    False";
constexpr const char* kResultTypeDoc =
    "result_type(tensor1, tensor2)\n--\n\n"
    "The element type of an arithmetic operation on two operands.\n\n"
    "Args:\n    tensor1, tensor2 (Tensor or number): The operands.\n\n"
    "Returns:\n    dtype\n\n"
    "Raises:\n    TypeError: If an operand is neither a tensor nor a number.\n\n"
    "Example:\n    >>> import tl_core as tl\n    >>> tl.result_type(tl.ones(2, dtype=tl.int64), 1.0)\n    "
    "torch.float32";

void add_types_and_promotion(py::module_& m) {
  py::options texts;
  texts.disable_function_signatures();
  m.def(
      "promote_types",
      [](py::object a, py::object b) {
        return py::reinterpret_borrow<py::object>(dtype_object(promote(
            dtype_argument(a, "promote_types", "type1", 1), dtype_argument(b, "promote_types", "type2", 2))));
      },
      py::arg("type1"), py::arg("type2"), kPromoteTypesDoc);
  m.def(
      "can_cast",
      [](py::object from, py::object to) {
        return can_cast(dtype_argument(from, "can_cast", "from_", 1),
                        dtype_argument(to, "can_cast", "to", 2));
      },
      py::arg("from_"), py::arg("to"), kCanCastDoc);
  m.def("result_type", result_type, py::arg("tensor1"), py::arg("tensor2"), kResultTypeDoc);
}

// A function that raises the exceptions that `function` returns: a traceback shows no frame of it.
py::cpp_function without_frames(const py::object& function) {
  return py::cpp_function([function](const py::object& argument) {
    py::object result = function(argument);
    if (!PyExceptionInstance_Check(result.ptr())) return result;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(result.ptr())), result.ptr());
    throw py::error_already_set();
  });
}

void add_hooks(py::module_& m) {
  m.def("_without_frames", without_frames);
  m.def("_load_lapack", [](const std::string& path) { lapack::load(path.c_str()); });
  m.def("_lapack_path", []() -> py::object {
    const lapack::Library* library = lapack::loaded();
    return library ? py::object(py::str(library->path)) : py::none();
  });
  m.def("_set_fallback", [](const char* name, py::object f) { set_fallback(name, f.ptr()); });
  m.def("_set_python_helper", [](const char* name, py::object f) { set_python_helper(name, f.ptr()); });
  m.def("_set_override_handler", [](py::object f) { set_override_handler(f.ptr()); });
  m.def("_set_override_modes", set_override_modes);
  m.def("_override_mode_active", override_mode_active);
  m.def("_overrides_disabled", overrides_disabled);
  m.def("_set_overrides_disabled", set_overrides_disabled);
  m.def("_set_disabled_torch_function", [](py::object f) { g_disabled_torch_function = f.inc_ref().ptr(); });
  m.def("_set_size_type", [](py::object t) { g_size_type = t.inc_ref().ptr(); });
  m.def("_set_exception_class", [](const char* name, py::object t) { set_exception_class(name, t.ptr()); });
}

// ---- tensors by hand --------------------------------------------------------------------------------------
PyTypeObject* subclass_argument(py::handle type) {
  auto* cls = reinterpret_cast<PyTypeObject*>(type.ptr());
  TL_CHECK(PyType_Check(type.ptr()) && PyType_IsSubtype(cls, g_tensor_type), Type,
           "cls must be a type derived from Tensor");
  return cls;
}

py::object make_subclass(py::object type, py::object data, bool) {
  const Tensor& source = tensor_argument(data);
  const AllModesOff off;
  return take(wrap_as(detached_alias(source), subclass_argument(type)));
}

// In the graph, as a view: what is done with the new object has a gradient.
py::object as_subclass(py::object type, py::object data) {
  const Tensor& source = tensor_argument(data);
  const AllModesOff off;
  return take(wrap_as(ops::view(source, source.sizes()), subclass_argument(type)));
}

const Tensor& stored(const py::object& o) {
  const Tensor& t = tensor_argument(o);
  TL_CHECK(!t.is_sparse(), NotImplemented, "Cannot access storage of Sparse", is_compressed(t) ? "Csr" : "",
           "TensorImpl");
  return t;
}

py::object storage_facts(py::object o) {
  Storage* s = stored(o).storage();
  return py::make_tuple(reinterpret_cast<uintptr_t>(s->data), s->bytes, take(device_object(s->device)),
                        s->read_only, s->resizable);
}

uintptr_t storage_address(py::object o) {
  Storage* s = stored(o).storage();
  expose(*s);
  return reinterpret_cast<uintptr_t>(s->data);
}

py::object memory_of(py::object o) {
  const Tensor& t = stored(o);
  const int64_t span = span_bytes(t.sizes(), t.strides(), t.itemsize());
  const int64_t begin = span ? t.offset() * t.itemsize() : 0;
  return py::make_tuple(reinterpret_cast<uintptr_t>(t.storage()), t.storage()->bytes, begin, begin + span);
}

py::object with_storage(py::object source, py::object dtype, py::tuple sizes, py::tuple strides,
                        int64_t offset) {
  const Tensor& t = stored(source);
  DimVector n, by;
  for (auto s : sizes) n.push_back(s.cast<int64_t>());
  for (auto s : strides) by.push_back(s.cast<int64_t>());
  const DType d = dtype_argument(dtype);
  check_reach(t.storage()->bytes, item_size(d), n, by, offset);
  return take(wrap(on_storage(StoragePtr::share(t.storage()), d, n, by, offset)));
}

void swap_tensor_contents(py::object a, py::object b) {
  tensor_argument(a);
  tensor_argument(b);
  swap_contents(a.ptr(), b.ptr());
}

void add_storages(py::module_& m) {
  m.def("_storage_facts", storage_facts);
  m.def("_storage_address", storage_address);
  m.def("_memory_of", memory_of);
  m.def("_with_storage", with_storage);
  m.def("_set_storage", [](py::object o, py::object from) {
    const Tensor& source = stored(from);
    TensorImpl& t = *stored(o).impl();
    set_storage(t, StoragePtr::share(source.storage()));
    set_geometry(t, DimVector(source.sizes()), DimVector(source.strides()), source.offset());
    t.set_dtype(source.dtype());
  });
  m.def("_storage_use_count", [](py::object o) { return stored(o).storage()->refs.load(); });
  m.def("_weak_storage", [](py::object o) { return weak_storage(*stored(o).storage()); });
  m.def("_lock_weak_storage", [](int64_t number) -> py::object {
    StoragePtr s = lock_weak_storage(number);
    if (!s) return py::none();
    const auto n = static_cast<int64_t>(s->bytes);
    return take(wrap(on_storage(std::move(s), DType::UInt8, DimVector{n}, DimVector{1}, 0)));
  });
  m.def("_drop_weak_storage", drop_weak_storage);
  m.def("_resize_storage",
        [](py::object o, size_t bytes) { resize_used_storage(*stored(o).storage(), bytes); });
  m.def("_storage_owner", [](py::object o) { return take(Py_NewRef(buffer_owner(*stored(o).storage()))); });
  m.def("_move_storage",
        [](py::object o, py::object buffer) { move_to_buffer(*stored(o).storage(), buffer.ptr()); });
  m.def("_set_read_only", [](py::object o, bool on) { stored(o).storage()->read_only = on; });
}

void add_exchange(py::module_& m) {
  m.def("_to_dlpack", [](py::object o, bool versioned, bool copied) {
    return take(to_dlpack(tensor_argument(o), versioned, copied));
  });
  m.def("_from_dlpack", [](py::object capsule) { return take(wrap(from_dlpack(capsule.ptr()))); });
  m.def("_dtype_of_format", [](const char* format) {
    const auto dtype = dtype_of_format(format);
    return dtype ? py::reinterpret_borrow<py::object>(dtype_object(*dtype)) : py::none();
  });
  m.def("_from_buffer", [](py::object o) { return take(wrap(tensor_from_buffer(o.ptr()))); });
}

// Writes nothing: from now on the elements are read as their conjugates or negatives, or no longer are.
void set_lazy_bit(const Tensor& t, TensorImpl::Flag bit, bool on) {
  if (t->has(bit) != on) toggle_conj_neg_bits(*t.impl(), bit);
}

void add_lazy_bits(py::module_& m) {
  m.def("_set_conj", [](const py::object& o, bool on) {
    const Tensor& t = tensor_argument(o);
    TL_CHECK(is_complex(t.dtype()) || !on, Runtime, "_set_conj(): expected a complex tensor, got ",
             dtype_name(t.dtype()));
    set_lazy_bit(t, TensorImpl::Conjugated, on);
  });
  m.def("_set_neg", [](const py::object& o, bool on) {
    const Tensor& t = tensor_argument(o);
    TL_CHECK(t.dtype() != DType::Bool || !on, Runtime, "_set_neg(): a bool has no negative");
    set_lazy_bit(t, TensorImpl::Negated, on);
  });
}

void add_tensors(py::module_& m) {
  m.def("_swap_tensors", swap_tensor_contents);
  m.def("_make_subclass", make_subclass, py::arg("cls"), py::arg("data"), py::arg("require_grad") = false);
  m.def("_as_subclass", as_subclass, py::arg("cls"), py::arg("data"));
  m.def("_in_transform", in_transform);
  m.def("_is_alias_of", [](py::object a, py::object b) {
    return tensor_argument(a).storage() == tensor_argument(b).storage();
  });
  m.def("_is_operator", [](const std::string& name) { return find_operator(name) != nullptr; });
  m.def("_operators", [] {
    py::dict schemas;
    for (size_t i = 0; i < num_operators(); ++i)
      schemas[operator_at(i)->info.name] = operator_at(i)->info.schema;
    return schemas;
  });
  m.def("_named_results", [] {
    py::list names;
    for (const std::string& name : named_results()) names.append(name);
    return names;
  });
  m.def("_named_result", [](const std::string& name) { return take(named_result(name)); });
  m.def("_mark_parameter", [](py::object o) { tensor_argument(o)->set(TensorImpl::Parameter, true); });
  m.def("_bump_version", [](py::object o) { bump_version(*tensor_argument(o).impl()); });
  m.def("_set_version",
        [](py::object o, uint32_t version) { set_version(*tensor_argument(o).impl(), version); });
}

PyObject* any_autocast_is_on(PyObject*, PyObject*) { return PyBool_FromLong(autocast_state().on != 0); }

PyMethodDef g_fast[] = {
    {"_any_autocast_is_on", any_autocast_is_on, METH_NOARGS, "_any_autocast_is_on()\n--\n\nFor any device."},
    {"tensor", method(py_tensor), METH_FASTCALL | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\n"
     "A tensor with a copy of the data: a number, nested sequences of numbers, an array or a tensor."},
    {"from_numpy", from_numpy, METH_O,
     "from_numpy(ndarray)\n--\n\nA tensor on the array's own memory: a change of one is a change of the "
     "other."},
    {"_call_operator", method(call_operator), METH_FASTCALL | METH_KEYWORDS,
     "_call_operator(names, *args, **kwargs)\n--\n\nCalls the first of the named operators that takes the "
     "arguments."},
    {"_why_not", method(why_not), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

void install_hooks() {
  install_runtime_hooks();
  install_object_counts();
  install_origin_source();
  set_warn_handler(warn_in_python);
}

void build(py::module_& m) {
  py::register_local_exception_translator(translate);
  register_builtin_operators();
  install_autocast();
  install_lazy_bits();
  install_sparse();
  install_names();
  install_stored_dtypes();
  PyObject* module = m.ptr();
  add_sparse_rules(module);
  add_quantized(module);
  add_types(module);
  add_generator_type(module);
  add_tensor_type(module);
  add_python_dispatch(module);
  add_functions(module);
  checked(PyModule_AddFunctions(module, g_fast));
  add_python_api(module);
  add_writes(module);
  add_observer(module);
  add_event_range(module);
  add_files(module);
  add_snapshots(module);
  add_memory_map(module);
  add_names(module);
  add_operator_type(module);
  add_overridable_type(module);
  add_python_kernels(module);
  start_allocator();
  num_threads();  // makes the pool, for the same reason
  install_hooks();
  add_modes(m);
  add_autocast(m);
  add_layers(m);
  add_machine(m);
  add_memory(m);
  add_types_and_promotion(m);
  add_hooks(m);
  add_tensors(m);
  add_lazy_bits(m);
  add_storages(m);
  add_exchange(m);
  add_wrapper_subclasses(module);
}
}  // namespace

}  // namespace tl::bind

PYBIND11_MODULE(_C, m) {
  m.doc() = "The native half of tl_core.";
  tl::bind::build(m);
}
