// Wrapper subclasses: tensors with a geometry and a device but no memory, made and changed from Python.
#include "bind/wrapper_subclass.h"

#include <pybind11/pybind11.h>

#include "bind/error.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "dispatch/python.h"
#include "ops.h"
#include "tensor/geometry.h"
#include "tensor/sparse.h"

namespace py = pybind11;

namespace tl::bind {

namespace {
const Tensor& tensor_argument(const py::handle& o) {
  TL_CHECK(is_tensor(o.ptr()), Type, "expected a Tensor, got ", Py_TYPE(o.ptr())->tp_name);
  return tensor_of(o.ptr());
}

PyTypeObject* class_argument(const py::handle& type, const char* caller) {
  auto* cls = reinterpret_cast<PyTypeObject*>(type.ptr());
  TL_CHECK(PyType_Check(type.ptr()) && PyType_IsSubtype(cls, g_tensor_type), Type, caller,
           "(): cls must be a type derived from Tensor");
  return cls;
}

Device device_argument(const py::handle& o) {
  Device d;
  TL_CHECK(to_device(o.ptr(), d), Type, "expected a device, got ", Py_TYPE(o.ptr())->tp_name);
  return d;
}

DimVector ints(const py::handle& o) {
  DimVector list;
  for (auto item : o) list.push_back(py::cast<int64_t>(item));
  return list;
}

void make_hollow(TensorImpl& t) {
  install_python_layers();
  if (!t.device.is_meta()) t.bits.fetch_or(kHollowBit, std::memory_order_relaxed);
}

// _make_wrapper(cls, sizes, strides, offset, dtype, device, bytes): geometry without memory
py::object make_wrapper(const py::object& cls, const py::object& sizes, const py::object& strides,
                        int64_t offset, const py::object& dtype, const py::object& device, int64_t bytes) {
  PyTypeObject* type = class_argument(cls, "_make_wrapper_subclass");
  DType d;
  TL_CHECK(to_dtype(dtype.ptr(), d), Type,
           "_make_wrapper_subclass(): argument 'dtype' must be torch.dtype, not ",
           Py_TYPE(dtype.ptr())->tp_name);
  const DimVector n = ints(sizes), by = strides.is_none() ? contiguous_strides(n) : ints(strides);
  TL_CHECK(n.size() == by.size(), Runtime,
           "mismatch in length of strides and shape: ", static_cast<int64_t>(by.size()), " and ",
           static_cast<int64_t>(n.size()));
  Tensor t = empty_strided(n, by, {d, Device{DeviceType::Meta}});
  set_geometry(*t.impl(), n, by, offset);
  if (bytes >= 0) t.storage()->bytes = static_cast<size_t>(bytes);
  t->device = device_argument(device);
  make_hollow(*t.impl());
  return py::reinterpret_steal<py::object>(wrap_as(std::move(t), type));
}

// _claim(cls, meta, device): a tensor on meta as an object of the class that says it lies on the device
py::object claim(const py::object& cls, const py::object& meta, const py::object& device) {
  PyTypeObject* type = class_argument(cls, "_claim");
  Tensor t = alias(tensor_argument(meta));
  TL_CHECK(t.is_meta(), Runtime, "_claim(): expected a tensor on meta, got one on ", device_name(t.device()));
  t->device = device_argument(device);
  make_hollow(*t.impl());
  return py::reinterpret_steal<py::object>(wrap_as(std::move(t), type));
}

// _unclaimed(t): on meta, the same storage and geometry
py::object unclaimed(const py::object& o) {
  const Tensor& given = tensor_argument(o);
  TL_CHECK(is_hollow(given) || given.is_meta(), Runtime, "_unclaimed(): expected a tensor without memory");
  Tensor t = alias(given);
  t->device = Device{DeviceType::Meta};
  t->bits.fetch_and(~kHollowBit, std::memory_order_relaxed);
  return py::reinterpret_steal<py::object>(wrap(std::move(t)));
}

// _take_geometry(t, from): storage, sizes, strides and sparse parts of another tensor without memory; the
// device stays
void take_geometry(const py::object& o, const py::object& from) {
  const Tensor &t = tensor_argument(o), &source = tensor_argument(from);
  const Device device = t.device();
  set_storage(*t.impl(), StoragePtr::share(source.storage()));
  set_geometry(*t.impl(), DimVector(source.sizes()), DimVector(source.strides()), source.offset());
  t->set_dtype(source.dtype());
  t->device = device;
  if (source.is_sparse()) set_sparse(*t.impl(), source.sizes(), parts_of(*source.impl()));
}

// _alias_info(name) -> [(argument, alias set, written)], [alias set of a result], is_view, is_random
py::object alias_info(const std::string& name) {
  const TlOperatorInfo& info = operator_named(name).info;
  py::list args, rets;
  for (int i = 0; i < info.n_args; ++i)
    args.append(py::make_tuple(info.args[i].name, int{info.args[i].alias}, info.args[i].written != 0));
  for (int i = 0; i < info.n_rets; ++i) rets.append(int{info.rets[i].alias});
  return py::make_tuple(args, rets, info.is_view != 0, info.is_random != 0);
}

void share_storage(const py::object& view, const py::object& base) {
  const Tensor &t = tensor_argument(view), &source = tensor_argument(base);
  TL_CHECK(is_hollow(t) && is_hollow(source), Runtime,
           "_share_storage(): expected two tensors without memory");
  const Device device = t.device();
  set_storage(*t.impl(), StoragePtr::share(source.storage()));
  t->device = device;
}

void set_geometry_of(const py::object& o, const py::object& sizes, const py::object& strides,
                     int64_t offset) {
  const Tensor& t = tensor_argument(o);
  TL_CHECK(is_hollow(t), Runtime, "_set_geometry(): expected a tensor without memory");
  set_geometry(*t.impl(), ints(sizes), ints(strides), offset);
}
}  // namespace

void add_wrapper_subclasses(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def("_make_wrapper", make_wrapper);
  m.def("_claim", claim);
  m.def("_unclaimed", unclaimed);
  m.def("_take_geometry", take_geometry);
  m.def("_alias_info", alias_info);
  m.def("_share_storage", share_storage);
  m.def("_set_geometry", set_geometry_of);
  m.def("_ask_handler", [](const py::object& o) {
    tensor_argument(o)->bits.fetch_or(kAsksHandlerBit, std::memory_order_relaxed);
  });
  m.def("_is_hollow", [](const py::object& o) { return is_hollow(tensor_argument(o)); });
}

}  // namespace tl::bind
