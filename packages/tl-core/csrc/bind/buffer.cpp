// The buffer protocol: numpy arrays and other buffers as tensors on the same memory, and tensors as buffers.
#include "bind/buffer.h"

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "bind/error.h"
#include "bind/from_python.h"
#include "bind/tensor_object.h"
#include "dispatch/thread_state.h"
#include "dispatch/value.h"
#include "iter/dtypes.h"
#include "ops/shared/copy.h"
#include "ops/shared/known_values.h"
#include "ops/shared/warn.h"
#include "tensor/pending.h"
#include "tensor/shrunk.h"

namespace tl::bind {

bool is_array(PyObject* o) {
  if (is_tensor(o)) return false;  // without a look-up of attributes, for lists of thousands of tensors
  const PyMappingMethods* mapping = Py_TYPE(o)->tp_as_mapping;
  return mapping && mapping->mp_ass_subscript && PyObject_CheckBuffer(o) && !PyBytes_Check(o) &&
         !PyByteArray_Check(o) && PyObject_HasAttrString(o, "__array_interface__");
}

namespace {
// Native format characters of the struct module, complex as numpy writes it; of two for a type the first is
// numpy's own name.
struct Format {
  const char* text;
  DType dtype;
};
constexpr Format kFormats[] = {
    {"?", DType::Bool},    {"B", DType::UInt8},   {"b", DType::Int8},       {"h", DType::Int16},
    {"i", DType::Int32},   {"l", DType::Int64},   {"q", DType::Int64},      {"H", DType::UInt16},
    {"I", DType::UInt32},  {"L", DType::UInt64},  {"Q", DType::UInt64},     {"e", DType::Float16},
    {"f", DType::Float32}, {"d", DType::Float64}, {"Zf", DType::Complex64}, {"Zd", DType::Complex128},
};

const char* format_of(DType d) {
  for (const auto& f : kFormats)
    if (f.dtype == d) return f.text;
  return nullptr;
}

struct LazyBit {
  TensorImpl::Flag bit;
  const char *name, *method;
};
constexpr LazyBit kLazyBits[] = {{TensorImpl::Conjugated, "conjugate", "resolve_conj"},
                                 {TensorImpl::Negated, "negative", "resolve_neg"}};

void release_view(void* ctx, void*, size_t) {
  auto* view = static_cast<Py_buffer*>(ctx);
  if (!Py_IsInitialized()) return;
  const WithGil lock;
  PyBuffer_Release(view);
  delete view;
}

// A tensor on the memory of a buffer, which is released with the storage. Strides of dimensions of one
// element are arbitrary there and may be negative.
Tensor share(Py_buffer* view, DType dtype) {
  DimVector sizes(static_cast<size_t>(view->ndim)), strides(static_cast<size_t>(view->ndim));
  bool negative = false;
  for (int d = 0; d < view->ndim; ++d) {
    sizes[d] = view->shape[d];
    strides[d] = view->strides[d] / view->itemsize;
    negative |= view->strides[d] < 0 && view->shape[d] > 1;
    if (view->strides[d] % view->itemsize != 0 && view->shape[d] > 1) {
      release_view(view, nullptr, 0);
      fail(ErrorKind::Value,
           "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
           "reallocate the memory.");
    }
    if (sizes[d] <= 1 && strides[d] < 0) strides[d] = 1;
  }
  if (negative) {
    release_view(view, nullptr, 0);
    fail(ErrorKind::Value,
         "At least one stride in the given numpy array is negative, and tensors with negative strides are "
         "not currently supported. "
         "(You can probably work around this by making a copy of your array  with array.copy().) ");
  }
  int64_t last = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    last = sizes[d] == 0 ? 0 : last == 0 ? 0 : last + (sizes[d] - 1) * strides[d];
  StoragePtr storage =
      adopt_storage(view->buf, static_cast<size_t>(last * view->itemsize), {}, release_view, view);
  storage->read_only = view->readonly;
  return on_storage(std::move(storage), dtype, sizes, strides, 0);
}

// Raises for an array whose elements no tensor holds.
[[noreturn]] void refuse_elements(PyObject* array) {
  const PyRef dtype(PyObject_GetAttrString(array, "dtype"));
  const PyRef type(dtype ? PyObject_GetAttrString(dtype.get(), "type") : nullptr);
  PyErr_Clear();
  const bool named = type && PyType_Check(type.get());
  fail(ErrorKind::Type, "can't convert np.ndarray of type ",
       named ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name : Py_TYPE(array)->tp_name,
       ". The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
       "int16, int8, uint64, uint32, uint16, uint8, and bool.");
}

bool has_other_byte_order(const char* format) {
  constexpr bool little = std::endian::native == std::endian::little;
  return little ? *format == '>' || *format == '!' : *format == '<';
}

std::optional<Tensor> shared(PyObject* o, bool explain) {
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(o, view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    delete view;
    PyErr_Clear();
    if (explain) refuse_elements(o);
    return std::nullopt;  // not every array exports its memory: the caller reads its elements instead
  }
  if (const auto dtype = dtype_of_format(view->format)) return share(view, *dtype);
  const bool other_order = has_other_byte_order(view->format) && dtype_of_format(view->format + 1);
  release_view(view, nullptr, 0);
  TL_CHECK(!other_order, Value,
           "given numpy array has byte order different from the native byte order. Conversion between byte "
           "orders is currently not supported.");
  refuse_elements(o);
}

// A tensor is no more writable than the array that it shares.
void warn_of_read_only(const Tensor& t) {
  static WarnOnce read_only;
  if (!t.storage()->read_only) return;
  read_only(
      "The given NumPy array is not writable, and neither is the tensor: to write into it raises. Copy the "
      "array, or make it writable, before converting it to a tensor. This type of warning will be "
      "suppressed for the rest of this program.");
}
}  // namespace

std::optional<DType> dtype_of_format(const char* format) {
  if (!format) return DType::UInt8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  for (const auto& f : kFormats)
    if (std::strcmp(f.text, format) == 0) return f.dtype;
  return std::nullopt;
}

std::optional<Tensor> tensor_from_array(PyObject* o) { return is_array(o) ? shared(o, false) : std::nullopt; }

std::optional<Tensor> tensor_like_array(PyObject* o) {
  if (!is_array(o)) return std::nullopt;
  PyRef plain = checked(run_python(PyObject_CallMethod, o, "copy", nullptr));
  return shared(plain.get(), false);
}

Tensor tensor_from_buffer(PyObject* o) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(o, view.get(), PyBUF_SIMPLE) != 0) throw PythonError();
  const Py_ssize_t n = view->len;
  StoragePtr storage = adopt_storage(view->buf, static_cast<size_t>(n), {}, release_view, view.get());
  storage->read_only = view.release()->readonly;
  return on_storage(std::move(storage), DType::UInt8, DimVector{n}, DimVector{1}, 0);
}

PyObject* buffer_owner(const Storage& storage) {
  return storage.free == release_view ? static_cast<Py_buffer*>(storage.free_ctx)->obj : Py_None;
}

void move_to_buffer(Storage& storage, PyObject* o) {
  StoragePtr fresh = StoragePtr::share(tensor_from_buffer(o).storage());
  TL_CHECK(storage.device.is_cpu(), NotImplemented, "a storage on ", device_name(storage.device),
           " can't lie on memory of the CPU");
  TL_CHECK(fresh->bytes == storage.bytes && !fresh->read_only, Value, "a storage of ", storage.bytes,
           " bytes needs a writable buffer of that size, got one of ", fresh->bytes);
  expose(storage);
  if (storage.bytes) std::memcpy(fresh->data, storage.data, storage.bytes);
  take_memory(storage, *fresh);
}

std::optional<DType> dtype_of_numpy_scalar(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name, package = "numpy.";
  if (!name.starts_with(package)) return std::nullopt;
  for (int i = 0; i < kNumDTypes; ++i)
    if (name.substr(package.size()) == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  return std::nullopt;
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return translated(
      [&]() -> PyObject* {
        TL_CHECK(is_array(array), Type, "expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
        const Tensor t = *shared(array, true);
        warn_of_read_only(t);
        return wrap(lifted(t));
      },
      static_cast<PyObject*>(nullptr));
}

// The protocol's bf_getbuffer: sizes and byte strides in an array that release_buffer() frees. Only what
// numpy could read by itself is handed out.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return translated(
      [&] {
        const Tensor& t = tensor_of(self);
        const char* format = format_of(t.dtype());
        view->obj = nullptr;
        check_is_no_batch(t, "an array");
        check_inside_storage(*t.impl());
        TL_CHECK(!t.is_sparse(), Type,
                 "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.");
        TL_CHECK(!(grad_enabled() && t->bits.load(std::memory_order_relaxed) >> TL_LAYER_AUTOGRAD & 1),
                 Runtime,
                 "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
        for (const auto& [bit, name, method] : kLazyBits)
          TL_CHECK(!t->has(bit), Runtime, "Can't call numpy() on Tensor that has ", name,
                   " bit set. Use tensor.", method, "().numpy() instead.");
        TL_CHECK(t.device().is_cpu(), Type, "can't convert ", device_name(t.device()),
                 " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
        TL_CHECK(format, Type, "Got unsupported ScalarType ", scalar_type_name(t.dtype()));
        TL_CHECK((flags & PyBUF_STRIDES) == PyBUF_STRIDES || t.is_contiguous(), Value,
                 "the tensor is not contiguous, and the reader asked for no strides");
        expose(t);
        auto* dims = new Py_ssize_t[2 * t.dim() + 1];
        for (int64_t d = 0; d < t.dim(); ++d) {
          dims[d] = t.size(d);
          dims[t.dim() + d] = t.byte_stride(d);
        }
        view->obj = Py_NewRef(self);
        view->buf = t.data();
        view->itemsize = t.itemsize();
        view->len = t.numel() * t.itemsize();
        view->readonly = t.storage()->read_only;
        view->ndim = static_cast<int>(t.dim());
        view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
        view->shape = (flags & PyBUF_ND) ? dims : nullptr;
        view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims + t.dim() : nullptr;
        view->suboffsets = nullptr;
        view->internal = dims;
        return 0;
      },
      -1);
}

void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

}  // namespace tl::bind
