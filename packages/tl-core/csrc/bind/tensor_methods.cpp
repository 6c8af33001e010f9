// The methods of the tensor type that are no operators, behind overrides and the handlers of classes.
#include "bind/tensor_methods.h"

#include <algorithm>
#include <array>

#include "bind/names.h"
#include "bind/number_protocol.h"
#include "bind/override.h"
#include "bind/python_helpers.h"
#include "bind/result.h"
#include "bind/tensor_conversions.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"
#include "tensor/pending.h"
#include "tensor/sparse.h"

namespace tl::bind {

namespace {
// The compressed layouts have rows or columns in storage of their own, and no element with a fixed place.
void check_not_compressed(const Tensor& t, const char* what) {
  if (!is_compressed(t)) return;
  std::string layout = std::string(layout_name(t.layout())).substr(std::strlen("Sparse"));
  std::ranges::transform(layout, layout.begin(), [](unsigned char c) { return std::toupper(c); });
  fail(ErrorKind::Runtime, "Sparse ", layout, " tensors do not have ", what);
}

PyObject* sizes_or_one(PyObject* o, PyObject* args, PyObject* kwargs, bool strides) {
  PyObject* dim = Py_None;
  static const char* names[] = {"dim", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &dim)) return nullptr;
  return translated(
      [&]() -> PyObject* {
        const Tensor& t = tensor_of(o);
        const IntSpan values = strides ? t.strides() : t.sizes();
        if (dim == Py_None) return strides ? int_tuple(values) : size_object(values);
        const long long d = PyUnicode_Check(dim) ? dims_named(*t.impl(), dim)[0] : PyLong_AsLongLong(dim);
        if (d == -1 && PyErr_Occurred()) throw PythonError();
        TL_CHECK(t.dim() > 0, Index, "Dimension specified as ", static_cast<int64_t>(d),
                 " but tensor has no dimensions");
        TL_CHECK(d >= -t.dim() && d < t.dim(), Index, "Dimension out of range (expected to be in range of [",
                 -t.dim(), ", ", t.dim() - 1, "], but got ", static_cast<int64_t>(d), ")");
        return PyLong_FromLongLong(values[d < 0 ? d + t.dim() : d]);
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* size(PyObject* o, PyObject* args, PyObject* kwargs) { return sizes_or_one(o, args, kwargs, false); }
PyObject* stride(PyObject* o, PyObject* args, PyObject* kwargs) {
  return translated(
      [&] {
        check_not_compressed(tensor_of(o), "strides");
        return sizes_or_one(o, args, kwargs, true);
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* dim(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).dim()); }
PyObject* numel(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).numel()); }
PyObject* element_size(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).itemsize()); }
PyObject* storage_offset(PyObject* o, PyObject*) { return PyLong_FromLongLong(tensor_of(o).offset()); }
PyObject* hides_batch_(PyObject* o, PyObject*) { return PyBool_FromLong(hides_batch(tensor_of(o))); }

// Whether a tensor says that it has no element.
bool says_empty(PyObject* o) {
  if (asks_handler(o)) {
    const PyRef count(handler_metadata("plain_numel", o, nullptr, nullptr));
    if (PyErr_Occurred()) throw PythonError();
    if (count.get()) return PyObject_Not(count.get());
  }
  return tensor_of(o).numel() == 0;
}
PyObject* data_ptr(PyObject* o, PyObject*) {
  return translated(
      [&] {
        const Tensor& t = tensor_of(o);
        if (!is_hollow(t)) check_has_memory(t);
        expose(t);
        // No element, no address; nor has one what stands for others.
        return PyLong_FromVoidPtr(says_empty(o) || is_hollow(t) ? nullptr : t.data());
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* is_contiguous_(PyObject* o, PyObject* args, PyObject* kwargs) {
  PyObject* format = nullptr;
  static const char* names[] = {"memory_format", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O!", const_cast<char**>(names), g_memory_format_type,
                                   &format))
    return nullptr;
  return translated(
      [&]() -> PyObject* {
        const Tensor& t = tensor_of(o);
        check_not_compressed(t, "is_contiguous");
        const auto f = format ? static_cast<MemoryFormat>(reinterpret_cast<EnumObject*>(format)->value)
                              : MemoryFormat::Contiguous;
        if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve)
          return PyBool_FromLong(t.is_contiguous());
        const int64_t rank = f == MemoryFormat::ChannelsLast ? 4 : 5;
        return PyBool_FromLong(t.dim() == rank && is_channels_last(t.sizes(), t.strides()));
      },
      static_cast<PyObject*>(nullptr));
}
PyObject* is_complex_(PyObject* o, PyObject*) { return PyBool_FromLong(is_complex(tensor_of(o).dtype())); }
PyObject* is_floating_(PyObject* o, PyObject*) { return PyBool_FromLong(is_floating(tensor_of(o).dtype())); }
PyObject* is_signed_(PyObject* o, PyObject*) { return PyBool_FromLong(!is_unsigned(tensor_of(o).dtype())); }
PyObject* is_inference_(PyObject* o, PyObject*) {
  return PyBool_FromLong(impl_of(o)->has(TensorImpl::Inference));
}
PyObject* is_view_(PyObject* o, PyObject*) { return PyBool_FromLong(impl_of(o)->base != nullptr); }
template <TensorImpl::Flag mark>
PyObject* is_marked(PyObject* o, PyObject*) {
  return PyBool_FromLong(tensor_of(o)->has(mark));
}
PyObject* false_method(PyObject*, PyObject*) { Py_RETURN_FALSE; }
PyObject* get_device_index(PyObject* o, PyObject*) { return PyLong_FromLong(tensor_of(o).device().index); }
PyObject* is_set_to(PyObject* o, PyObject* other) {
  if (!is_tensor(other))
    return PyErr_Format(PyExc_TypeError, "is_set_to(): argument 'tensor' must be Tensor, not %s",
                        Py_TYPE(other)->tp_name);
  const Tensor &a = tensor_of(o), &b = tensor_of(other);
  return PyBool_FromLong(
      a.storage() == b.storage() && a.offset() == b.offset() && a->conj_neg_bits() == b->conj_neg_bits() &&
      std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.strides(), b.strides()));
}

PyMethodDef kMethods[] = {
    {"size", method(size), METH_VARARGS | METH_KEYWORDS,
     "size($self, dim=None)\n--\n\nThe sizes, or one of them."},
    {"stride", method(stride), METH_VARARGS | METH_KEYWORDS,
     "stride($self, dim=None)\n--\n\nThe strides in elements, or one of them."},
    {"dim", dim, METH_NOARGS, "dim($self)\n--\n\nThe number of dimensions."},
    {"ndimension", dim, METH_NOARGS, "ndimension($self)\n--\n\nThe number of dimensions."},
    {"numel", numel, METH_NOARGS, "numel($self)\n--\n\nThe number of elements."},
    {"nelement", numel, METH_NOARGS, "nelement($self)\n--\n\nThe number of elements."},
    {"element_size", element_size, METH_NOARGS, "element_size($self)\n--\n\nBytes of one element."},
    {"storage_offset", storage_offset, METH_NOARGS,
     "storage_offset($self)\n--\n\nElements in the storage before the first one."},
    {"data_ptr", data_ptr, METH_NOARGS, "data_ptr($self)\n--\n\nThe address of the first element."},
    {"is_contiguous", method(is_contiguous_), METH_VARARGS | METH_KEYWORDS,
     "is_contiguous($self, memory_format=None)\n--\n\nWhether the elements lie in that "
     "order without gaps."},
    {"is_complex", is_complex_, METH_NOARGS, "is_complex($self)\n--\n\nWhether the elements are complex."},
    {"is_floating_point", is_floating_, METH_NOARGS,
     "is_floating_point($self)\n--\n\nWhether the elements are floating-point numbers."},
    {"is_signed", is_signed_, METH_NOARGS, "is_signed($self)\n--\n\nWhether the elements may be negative."},
    {"is_inference", is_inference_, METH_NOARGS,
     "is_inference($self)\n--\n\nWhether it was made under inference_mode."},
    {"_hides_batch", hides_batch_, METH_NOARGS,
     "_hides_batch($self)\n--\n\nWhether it stands for a batch of vmap, and has no values that can be asked "
     "for."},
    {"_is_view", is_view_, METH_NOARGS, "_is_view($self)\n--\n\nWhether it is a view of another tensor."},
    {"is_conj", is_marked<TensorImpl::Conjugated>, METH_NOARGS,
     "is_conj($self)\n--\n\nWhether the elements are conjugated when they are read."},
    {"is_neg", is_marked<TensorImpl::Negated>, METH_NOARGS,
     "is_neg($self)\n--\n\nWhether the elements are negated when they are read."},
    {"is_pinned", false_method, METH_VARARGS,
     "is_pinned($self, device=None)\n--\n\nFalse: no accelerator is present."},
    {"is_shared", false_method, METH_NOARGS,
     "is_shared($self)\n--\n\nWhether other processes see the memory."},
    {"get_device", get_device_index, METH_NOARGS,
     "get_device($self)\n--\n\nThe index of the device; -1 on the CPU."},
    {"is_set_to", is_set_to, METH_O,
     "is_set_to($self, tensor)\n--\n\nWhether both are the same view of the same memory."},
    {"item", tensor_item, METH_NOARGS, "item($self)\n--\n\nThe one element as a Python number."},
    {"tolist", tensor_to_list, METH_NOARGS,
     "tolist($self)\n--\n\nThe elements as nested lists of Python numbers."},
    {"__complex__", tensor_to_complex, METH_NOARGS, nullptr},
    {"__rtruediv__", reflected_quotient, METH_O | METH_COEXIST,
     "__rtruediv__($self, value, /)\n--\n\nReturn value/self."},
    {nullptr, nullptr, 0, nullptr},
};

// Entry points know no closure, so there is one for each row of the table and way of calling.
template <size_t row>
struct OverridableMethod {
  static PyObject* plain(PyObject* o, PyObject* arg) {
    if (!wants_override(o)) {
      if (asks_handler(o) && !arg) [[unlikely]] {
        PyObject* answer = handler_metadata(kMethods[row].ml_name, o, nullptr, nullptr);
        if (answer || PyErr_Occurred()) return answer;
      }
      return kMethods[row].ml_meth(o, arg);
    }
    if (kMethods[row].ml_flags == METH_VARARGS) return override_method(kMethods[row].ml_name, o, arg);
    PyRef more(arg ? PyTuple_Pack(1, arg) : PyTuple_New(0));
    return more ? override_method(kMethods[row].ml_name, o, more.get()) : nullptr;
  }
  static PyObject* keywords(PyObject* o, PyObject* args, PyObject* kwargs) {
    if (wants_override(o)) return override_method(kMethods[row].ml_name, o, args, kwargs);
    if (asks_handler(o)) [[unlikely]] {
      PyObject* answer = handler_metadata(kMethods[row].ml_name, o, args, kwargs);
      if (answer || PyErr_Occurred()) return answer;
    }
    return reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(kMethods[row].ml_meth))(
        o, args, kwargs);
  }
  static PyMethodDef definition() {
    PyMethodDef d = kMethods[row];
    if (!d.ml_name) return d;
    d.ml_meth = d.ml_flags & METH_KEYWORDS ? method(keywords) : plain;
    return d;
  }
};

template <size_t... rows>
auto method_table(std::index_sequence<rows...>) {
  return std::array<PyMethodDef, sizeof...(rows)>{OverridableMethod<rows>::definition()...};
}
}  // namespace

PyMethodDef* overridable_methods() {
  static auto table = method_table(std::make_index_sequence<std::size(kMethods)>());
  return table.data();
}

}  // namespace tl::bind
