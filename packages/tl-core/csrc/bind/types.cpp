// dtype, layout, memory format, device and Size as Python types, one object for each enumerated value.
#include "bind/types.h"

#include <structmember.h>

#include <cstring>

#include "dispatch/thread_state.h"
#include "iter/dtypes.h"

namespace tl::bind {

PyTypeObject *g_dtype_type, *g_layout_type, *g_memory_format_type, *g_device_type;
PyObject* g_size_type = nullptr;

namespace {
PyObject* g_dtypes[kNumStorableDTypes];
PyObject* g_layouts[8];
PyObject* g_memory_formats[4];
// No TensorImpl has the last two: nested tensors are made in Python, and oneDNN's order of blocks is not
// there.
constexpr const char* kLayoutNames[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                        "sparse_bsr", "sparse_bsc", "jagged",     "_mkldnn"};
constexpr const char* kFormatNames[] = {"contiguous_format", "preserve_format", "channels_last",
                                        "channels_last_3d"};

const EnumObject& as_enum(PyObject* o) { return *reinterpret_cast<EnumObject*>(o); }
DType dtype_in(PyObject* o) { return static_cast<DType>(as_enum(o).value); }

PyObject* enum_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", as_enum(o).name); }
// A string names a global of the type's module: `tl_core.float32`.
PyObject* enum_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(as_enum(o).name); }
PyObject* enum_self(PyObject* o, PyObject*) { return Py_NewRef(o); }

PyMethodDef kEnumMethods[] = {
    {"__reduce__", enum_reduce, METH_NOARGS, nullptr},
    {"__copy__", enum_self, METH_NOARGS, nullptr},
    {"__deepcopy__", enum_self, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// ---- dtype ------------------------------------------------------------------------------------------------
PyObject* dtype_to_real(PyObject* o, PyObject*) { return Py_NewRef(dtype_object(to_real(dtype_in(o)))); }
PyObject* dtype_to_complex(PyObject* o, PyObject*) {
  return translated([&] { return Py_NewRef(dtype_object(checked_to_complex(dtype_in(o)))); },
                    static_cast<PyObject*>(nullptr));
}
PyObject* dtype_is_signed(PyObject* o, void*) {
  return translated(
      [&] {
        const DType d = dtype_in(o);
        TL_CHECK(!is_bits(d), Runtime, "is_signed: ", dtype_name(d),
                 " has no sign: bits types are undefined");
        TL_CHECK(!is_quantized(d), Runtime, "is_signed is not supported for quantized types, got ",
                 dtype_name(d));
        return PyBool_FromLong(!is_unsigned(d));
      },
      static_cast<PyObject*>(nullptr));
}
PyMethodDef kDtypeMethods[] = {
    {"__reduce__", enum_reduce, METH_NOARGS, nullptr},
    {"__copy__", enum_self, METH_NOARGS, nullptr},
    {"__deepcopy__", enum_self, METH_O, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS,
     "to_real($self)\n--\n\nThe real element type of the same precision."},
    {"to_complex", dtype_to_complex, METH_NOARGS,
     "to_complex($self)\n--\n\nThe complex element type of the same precision."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef kDtypeGetset[] = {
    {"is_floating_point", [](PyObject* o, void*) { return PyBool_FromLong(is_floating(dtype_in(o))); },
     nullptr, "True for the floating-point types.", nullptr},
    {"is_complex", [](PyObject* o, void*) { return PyBool_FromLong(is_complex(dtype_in(o))); }, nullptr,
     "True for the complex types.", nullptr},
    {"is_signed", dtype_is_signed, nullptr, "True for the types with negative values.", nullptr},
    {"itemsize", [](PyObject* o, void*) { return PyLong_FromLongLong(item_size(dtype_in(o))); }, nullptr,
     "Bytes of one element.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject* enum_type(PyObject* module, const char* full_name, const char* doc, PyMethodDef* methods,
                        PyGetSetDef* getset) {
  PyType_Slot slots[] = {
      {Py_tp_repr, slot(enum_repr)},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>(doc)},
      {getset ? Py_tp_getset : 0, getset},
      {0, nullptr},
  };
  PyType_Spec spec = {full_name, sizeof(EnumObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyRef type = checked(PyType_FromSpec(&spec));
  checked(PyModule_AddObjectRef(module, std::strrchr(full_name, '.') + 1, type.get()));
  return reinterpret_cast<PyTypeObject*>(type.release());
}

PyObject* add_enum(PyObject* module, PyTypeObject* type, int64_t value, const char* name) {
  auto* o = PyObject_New(EnumObject, type);
  if (!o) throw PythonError();
  o->value = value;
  o->name = name;
  checked(PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(o)));
  return reinterpret_cast<PyObject*>(o);
}

// ---- device -----------------------------------------------------------------------------------------------
Device device_in(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->device; }

// device("cuda", 1), device("cuda:1"), device(device), device(device=...).
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type = nullptr, *index = nullptr;
  if (PyTuple_GET_SIZE(args) == 0 && kwargs && PyDict_GetItemString(kwargs, "device")) {
    return translated(
        [&]() -> PyObject* {
          Device d;
          if (!to_device(PyDict_GetItemString(kwargs, "device"), d))
            fail(ErrorKind::Type, "device(): expected a device or a string");
          return device_object(d);
        },
        static_cast<PyObject*>(nullptr));
  }
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index))
    return nullptr;
  return translated(
      [&]() -> PyObject* {
        Device d;
        TL_CHECK(to_device(type, d), Type, "device(): argument 'type' (position 1) must be str, not ",
                 Py_TYPE(type)->tp_name);
        if (index && index != Py_None) {
          TL_CHECK(d.index < 0, Runtime,
                   "type (string) must not include an index because index was passed explicitly: ",
                   device_name(d));
          TL_CHECK(PyIndex_Check(index), Type, "device(): argument 'index' (position 2) must be int, not ",
                   Py_TYPE(index)->tp_name);
          const long i = PyLong_AsLong(index);
          if (i == -1 && PyErr_Occurred()) throw PythonError();
          TL_CHECK(i >= 0 && i < 128, Runtime, "Device index must not be negative, got ",
                   static_cast<int64_t>(i));
          d.index = static_cast<int8_t>(i);
        }
        return device_object(d);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* device_repr(PyObject* o) {
  const Device d = device_in(o);
  const std::string type = device_name(d.type);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", type.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%d)", type.c_str(), int{d.index});
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(device_name(device_in(o)).c_str()); }
Py_hash_t device_hash(PyObject* o) {
  const Device d = device_in(o);
  return 31 * static_cast<int>(d.type) + d.index + 7;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != g_device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_in(a) == device_in(b)) == (op == Py_EQ));
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  const Device d = device_in(o);
  if (d.index < 0) return Py_BuildValue("O(s)", g_device_type, device_name(d.type).c_str());
  return Py_BuildValue("O(si)", g_device_type, device_name(d.type).c_str(), int{d.index});
}

// `with device(...)`: new tensors go there; the device before is kept on a list of this thread.
thread_local std::vector<Device>* g_entered = nullptr;
PyObject* device_enter(PyObject* o, PyObject*) {
  if (!g_entered) g_entered = new std::vector<Device>;
  g_entered->push_back(default_device());
  set_default_device(device_in(o));
  return Py_NewRef(o);
}
PyObject* device_exit(PyObject*, PyObject*) {
  set_default_device(g_entered->back());
  g_entered->pop_back();
  Py_RETURN_NONE;
}
PyMethodDef kDeviceMethods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr}, {"__copy__", enum_self, METH_NOARGS, nullptr},
    {"__deepcopy__", enum_self, METH_O, nullptr},        {"__enter__", device_enter, METH_NOARGS, nullptr},
    {"__exit__", device_exit, METH_VARARGS, nullptr},    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef kDeviceGetset[] = {
    {"type", [](PyObject* o, void*) { return PyUnicode_FromString(device_name(device_in(o).type).c_str()); },
     nullptr, "The kind of device, such as 'cpu'.", nullptr},
    {"index",
     [](PyObject* o, void*) -> PyObject* {
       const Device d = device_in(o);
       if (d.index < 0) Py_RETURN_NONE;
       return PyLong_FromLong(d.index);
     },
     nullptr, "Which device of that kind, or None for the current one.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

void add_device_type(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_new, slot(device_new)},
      {Py_tp_repr, slot(device_repr)},
      {Py_tp_str, slot(device_str)},
      {Py_tp_hash, slot(device_hash)},
      {Py_tp_richcompare, slot(device_compare)},
      {Py_tp_methods, kDeviceMethods},
      {Py_tp_getset, kDeviceGetset},
      {Py_tp_doc, const_cast<char*>("device(type, index=None)\n--\n\nWhere a tensor lives; also a context in "
                                    "which new tensors go there.")},
      {0, nullptr},
  };
  PyType_Spec spec = {"tl_core.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, slots};
  PyRef type = checked(PyType_FromSpec(&spec));
  checked(PyModule_AddObjectRef(module, "device", type.get()));
  g_device_type = reinterpret_cast<PyTypeObject*>(type.release());
}
}  // namespace

PyObject* dtype_object(DType d) { return g_dtypes[static_cast<int>(d)]; }
PyObject* layout_object(Layout l) { return g_layouts[static_cast<int>(l)]; }
PyObject* memory_format_object(MemoryFormat m) { return g_memory_formats[static_cast<int>(m)]; }

PyObject* device_object(Device device) {
  auto* o = PyObject_New(DeviceObject, g_device_type);
  if (!o) throw PythonError();
  o->device = device;
  return reinterpret_cast<PyObject*>(o);
}

namespace {
PyObject* fill_tuple(PyObject* tuple, IntSpan values) {
  if (!tuple) throw PythonError();
  for (size_t i = 0; i < values.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(values[i]);
    if (!item) {
      Py_DECREF(tuple);
      throw PythonError();
    }
    PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}
}  // namespace

PyObject* size_object(IntSpan sizes) {
  auto* type = reinterpret_cast<PyTypeObject*>(g_size_type);
  return fill_tuple(type->tp_alloc(type, static_cast<Py_ssize_t>(sizes.size())), sizes);
}
PyObject* int_tuple(IntSpan values) {
  return fill_tuple(PyTuple_New(static_cast<Py_ssize_t>(values.size())), values);
}

bool to_dtype(PyObject* o, DType& out) {
  if (Py_TYPE(o) == g_dtype_type)
    out = dtype_in(o);
  else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type))
    out = DType::Float64;
  else if (o == reinterpret_cast<PyObject*>(&PyLong_Type))
    out = DType::Int64;
  else if (o == reinterpret_cast<PyObject*>(&PyBool_Type))
    out = DType::Bool;
  else if (o == reinterpret_cast<PyObject*>(&PyComplex_Type))
    out = DType::Complex128;
  else
    return false;
  return true;
}

bool to_device(PyObject* o, Device& out) {
  if (Py_TYPE(o) == g_device_type) {
    out = device_in(o);
  } else if (PyUnicode_Check(o)) {
    const char* text = PyUnicode_AsUTF8(o);
    if (!text) throw PythonError();
    out = parse_device(text);
  } else if (PyLong_CheckExact(o)) {
    const long index = PyLong_AsLong(o);
    TL_CHECK(index >= 0 && index < 128, Runtime, "Device index must not be negative, got ",
             static_cast<int64_t>(index));
    out = {DeviceType::CUDA, static_cast<int8_t>(index)};
  } else {
    return false;
  }
  return true;
}

void add_types(PyObject* module) {
  g_dtype_type =
      enum_type(module, "tl_core.dtype", "The type of a tensor's elements, such as `float32` or `int64`.",
                kDtypeMethods, kDtypeGetset);
  g_layout_type = enum_type(module, "tl_core.layout",
                            "How a tensor's elements are kept; `strided` is the one with sizes and strides.",
                            kEnumMethods, nullptr);
  g_memory_format_type =
      enum_type(module, "tl_core.memory_format",
                "The order of a tensor's elements in memory, such as `contiguous_format` or `channels_last`.",
                kEnumMethods, nullptr);
  add_device_type(module);
  for (int i = 0; i < kNumStorableDTypes; ++i) {
    const char* name = dtype_name(static_cast<DType>(i));
    g_dtypes[i] = add_enum(module, g_dtype_type, i, name);
  }
  for (int i = 0; i < 8; ++i) g_layouts[i] = add_enum(module, g_layout_type, i, kLayoutNames[i]);
  for (int i = 0; i < 4; ++i)
    g_memory_formats[i] = add_enum(module, g_memory_format_type, i, kFormatNames[i]);
}

}  // namespace tl::bind
