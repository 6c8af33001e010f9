// The properties of the tensor type, each with a getter, behind overrides and the handlers of classes.
#include "bind/tensor_properties.h"

#include <cstring>

#include "bind/from_python.h"
#include "bind/override.h"
#include "bind/python_helpers.h"
#include "bind/result.h"
#include "bind/tensor_object.h"
#include "bind/types.h"
#include "dispatch/python.h"
#include "ops.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"
#include "tensor/quantizer.h"
#include "tensor/sparse.h"
#include "tl/rules.h"

namespace tl::bind {

namespace {
template <class F>
PyObject* get(F f) {
  return translated(f, static_cast<PyObject*>(nullptr));
}

PyObject* get_shape(PyObject* o, void*) {
  return get([&] { return size_object(tensor_of(o).sizes()); });
}
PyObject* get_dtype(PyObject* o, void*) { return Py_NewRef(dtype_object(tensor_of(o).dtype())); }
PyObject* get_device(PyObject* o, void*) {
  return get([&] { return device_object(tensor_of(o).device()); });
}
PyObject* get_layout(PyObject* o, void*) { return Py_NewRef(layout_object(tensor_of(o).layout())); }
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLongLong(tensor_of(o).dim()); }
PyObject* get_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(tensor_of(o).itemsize()); }
PyObject* get_nbytes(PyObject* o, void*) {
  return get([&] {
    const Tensor& t = tensor_of(o);
    TL_CHECK(
        !t.is_sparse(), Runtime,
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add "
        "the nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, "
        "multiply numel() by element_size()");
    return PyLong_FromLongLong(t.numel() * t.itemsize());
  });
}
PyObject* get_version(PyObject* o, void*) {
  return get([&] {
    TL_CHECK(!impl_of(o)->has(TensorImpl::Inference), Runtime,
             "Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(version(*impl_of(o)));
  });
}
PyObject* get_base(PyObject* o, void*) {
  return get([&] { return impl_of(o)->base ? wrap(Tensor::share(impl_of(o)->base)) : Py_NewRef(Py_None); });
}
PyObject* get_data(PyObject* o, void*) {
  return get([&] {
    Tensor t = detached_alias(tensor_of(o));
    t->set(TensorImpl::PrivateVersion, true);
    t->own_version = 0;
    return wrap(std::move(t));
  });
}
int set_data(PyObject* o, PyObject* to, void*) {
  return translated(
      [&] {
        TL_CHECK(to, Runtime, "data of a tensor can't be deleted");
        TL_CHECK(is_tensor(to), Type, "Variable data has to be a tensor, but got ", Py_TYPE(to)->tp_name);
        TensorImpl& t = *impl_of(o);
        const Tensor& source = tensor_of(to);
        constexpr uint64_t kWrapped = TL_BIT_HIDES_BATCH | uint64_t{1} << TL_LAYER_VIEW;
        TL_CHECK(!((t.all_bits() | source->all_bits()) & kWrapped), Runtime,
                 "mutating directly with `.data` inside functorch transform is not allowed: write to the "
                 "tensor, or "
                 "create another one.");
        const bool records = t.bits.load(std::memory_order_relaxed) >> TL_LAYER_AUTOGRAD & 1;
        TL_CHECK(!records || is_floating(source.dtype()) || is_complex(source.dtype()), Runtime,
                 "data set to a tensor that requires gradients must be floating point or complex dtype, got ",
                 dtype_name(source.dtype()));
        TL_CHECK(
            t.layout == source.layout(), Runtime,
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
            "tensor type.");
        if (source.is_sparse()) set_parts(t, parts_of(*source.impl()));
        set_storage(t, StoragePtr::share(source.storage()));
        t.device = source.device();
        t.set_dtype(source.dtype());
        if (is_hollow(source)) t.bits.fetch_or(kHollowBit, std::memory_order_relaxed);
        set_geometry(t, DimVector(source.sizes()), DimVector(source.strides()), source.offset());
        toggle_conj_neg_bits(t, t.conj_neg_bits() ^ source->conj_neg_bits());
        return 0;
      },
      -1);
}
void warn_of_T(int64_t dim) {
  static WarnOnce no_matrix, number;
  if (dim == 0)
    number("Tensor.T is deprecated on 0-D tensors: it gives the tensor itself");
  else if (dim != 2)
    no_matrix(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated: `x.mT` "
        "transposes matrices of a batch, `x.permute(*range(x.ndim - 1, -1, -1))` reverses the dimensions");
}

// A matrix's transpose; a number's is itself, which is deprecated.
Tensor matrix_transpose(const Tensor& t, const char* name) {
  TL_CHECK(t.dim() >= 2 || t.dim() == 0, Runtime, "tensor.", name,
           " is only supported on matrices or batches of matrices. Got ", t.dim(), "-D tensor.");
  static WarnOnce number;
  if (t.dim() == 0)
    number("Tensor.mT, Tensor.mH and Tensor.H are deprecated on 0-D tensors: use x or x.conj()");
  return t.dim() == 0 ? t : ops::transpose_int(t, -2, -1);
}
PyObject* get_T(PyObject* o, void*) {
  return get([&] {
    const Tensor& t = tensor_of(o);
    warn_of_T(t.dim());
    DimVector dims(static_cast<size_t>(t.dim()));
    for (int64_t d = 0; d < t.dim(); ++d) dims[d] = t.dim() - 1 - d;
    return wrap(ops::permute(t, dims));
  });
}
PyObject* get_mT(PyObject* o, void*) {
  return get([&] { return wrap(matrix_transpose(tensor_of(o), "mT")); });
}
PyObject* get_H(PyObject* o, void*) {
  return get([&] {
    const Tensor& t = tensor_of(o);
    TL_CHECK(t.dim() == 2 || t.dim() == 0, Runtime,
             "tensor.H is only supported on matrices (2-D tensors). Got ", t.dim(), "-D tensor.");
    return wrap(ops::conj(matrix_transpose(t, "H")));
  });
}
PyObject* get_mH(PyObject* o, void*) {
  return get([&] { return wrap(ops::conj(matrix_transpose(tensor_of(o), "mH"))); });
}
PyObject* get_real(PyObject* o, void*) {
  return get([&] { return wrap(ops::real(tensor_of(o))); });
}
PyObject* get_imag(PyObject* o, void*) {
  return get([&] { return wrap(ops::imag(tensor_of(o))); });
}
int set_part(getter part_of, PyObject* o, PyObject* to) {
  if (!to) {
    PyErr_SetString(PyExc_RuntimeError, "the parts of a tensor can't be deleted");
    return -1;
  }
  const PyRef part(part_of(o, nullptr));
  return part ? PyObject_SetItem(part.get(), Py_Ellipsis, to) : -1;
}
int set_real(PyObject* o, PyObject* to, void*) { return set_part(get_real, o, to); }
int set_imag(PyObject* o, PyObject* to, void*) { return set_part(get_imag, o, to); }
template <DeviceType type>
PyObject* on_device(PyObject* o, void*) {
  return PyBool_FromLong(tensor_of(o).device().type == type);
}
template <Layout layout>
PyObject* has_layout(PyObject* o, void*) {
  return PyBool_FromLong(tensor_of(o).layout() == layout);
}
PyObject* get_is_quantized(PyObject* o, void*) { return PyBool_FromLong(has_quantizer(tensor_of(o))); }
PyObject* never(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_name(PyObject*, void*) { Py_RETURN_NONE; }

// A tensor with attributes may be part of a cycle, which the collector has to see.
void track(PyObject* self) {
  if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}
PyObject* get_dict(PyObject* self, void* closure) {
  PyObject* dict = PyObject_GenericGetDict(self, closure);
  if (dict) track(self);
  return dict;
}
int set_dict(PyObject* self, PyObject* value, void* closure) {
  const int status = PyObject_GenericSetDict(self, value, closure);
  if (status == 0) track(self);
  return status;
}

PyGetSetDef kGetset[] = {
    {"__dict__", get_dict, set_dict, "The attributes that were set on this tensor.", nullptr},
    {"shape", get_shape, nullptr, "The sizes of the dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the memory lies.", nullptr},
    {"layout", get_layout, nullptr, "How the elements are stored.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"data", get_data, set_data, "The same memory outside the graph; changes are not counted.", nullptr},
    {"T", get_T, nullptr, "The dimensions in reverse order.", nullptr},
    {"mT", get_mT, nullptr, "The last two dimensions exchanged.", nullptr},
    {"H", get_H, nullptr, "The conjugate transpose of a matrix.", nullptr},
    {"mH", get_mH, nullptr, "The conjugate transpose of a batch of matrices.", nullptr},
    {"real", get_real, set_real, "The real parts, as a view.", nullptr},
    {"imag", get_imag, set_imag, "The imaginary parts, as a view.", nullptr},
    {"_version", get_version, nullptr, "How often the memory was changed.", nullptr},
    {"_base", get_base, nullptr, "What this is a view of, or None.", nullptr},
    {"name", get_name, nullptr, "None.", nullptr},
    {"is_cpu", on_device<DeviceType::CPU>, nullptr, "Whether it lives on the CPU.", nullptr},
    {"is_cuda", on_device<DeviceType::CUDA>, nullptr, "Whether it lives on a CUDA device.", nullptr},
    {"is_meta", on_device<DeviceType::Meta>, nullptr, "Whether it has no memory.", nullptr},
    {"is_sparse", has_layout<Layout::SparseCoo>, nullptr, "Whether the layout is torch.sparse_coo.", nullptr},
    {"is_sparse_csr", has_layout<Layout::SparseCsr>, nullptr, "Whether the layout is torch.sparse_csr.",
     nullptr},
    {"is_quantized", get_is_quantized, nullptr, "Whether the elements are quantized.", nullptr},
    {"is_nested", never, nullptr, "Whether it is a list of tensors.", nullptr},
    {"is_mkldnn", never, nullptr, "Whether the layout is that of oneDNN.", nullptr},
    {"is_mps", never, nullptr, "Whether it lives on a Metal device.", nullptr},
    {"is_xpu", never, nullptr, "Whether it lives on an XPU.", nullptr},
    {"is_ipu", never, nullptr, "Whether it lives on an IPU.", nullptr},
    {"is_maia", never, nullptr, "Whether it lives on a MAIA device.", nullptr},
    {"is_mtia", never, nullptr, "Whether it lives on an MTIA device.", nullptr},
    {"is_vulkan", never, nullptr, "Whether it lives on a Vulkan device.", nullptr},
    {"is_xla", never, nullptr, "Whether it lives on an XLA device.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject* get_property(PyObject* o, void* original) {
  const auto& property = *static_cast<PyGetSetDef*>(original);
  if (asks_handler(o) && !wants_override(o)) [[unlikely]] {
    PyObject* answer = handler_metadata(property.name, o, nullptr, nullptr);
    if (answer || PyErr_Occurred()) return answer;
  }
  return wants_override(o) ? override_property(property.name, o) : property.get(o, nullptr);
}
}  // namespace

PyGetSetDef* overridable_properties() {
  static PyGetSetDef table[std::size(kGetset)];
  for (size_t i = 0; kGetset[i].name; ++i) {
    const bool asks = std::strcmp(kGetset[i].name, "__dict__") != 0;
    table[i] = asks ? asking(kGetset[i]) : kGetset[i];
    if (asks) table[i].get = get_property;
  }
  return table;
}

}  // namespace tl::bind
