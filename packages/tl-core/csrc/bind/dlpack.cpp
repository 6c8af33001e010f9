// DLPack capsules, versioned and unversioned, both ways; the producer's deleter runs with the last tensor.
#include "bind/dlpack.h"

#include <cstring>
#include <memory>

#include "bind/dlpack_structs.h"
#include "bind/error.h"
#include "dispatch/value.h"
#include "ops/shared/known_values.h"
#include "tensor/geometry.h"
#include "tensor/pending.h"
#include "tensor/shrunk.h"

namespace tl::bind {

namespace {
using Unversioned = DlUnversioned;
using Versioned = DlVersioned;
enum : uint64_t { kReadOnly = 1, kCopied = 2 };
enum : int32_t { kCpu = 1, kPinnedHost = 3 };
constexpr uint32_t kMajor = 1, kMinor = 1;

template <class Managed>
constexpr const char* kName = "dltensor";
template <>
constexpr const char* kName<Versioned> = "dltensor_versioned";
template <class Managed>
constexpr const char* kUsedName = "used_dltensor";
template <>
constexpr const char* kUsedName<Versioned> = "used_dltensor_versioned";

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  PyErr_SetString(PyExc_BufferError, cat(parts...).c_str());
  throw PythonError();
}

// ---- giving -----------------------------------------------------------------------------------------------
// What a capsule points at: the structure, and all that it refers to.
template <class Managed>
struct Given {
  Managed managed{};
  Tensor tensor;
  DimVector dims;  // sizes, then strides; without an allocation for few dimensions
};

template <class Managed>
void delete_given(Managed* self) {
  delete static_cast<Given<Managed>*>(self->ctx);
}

template <class Managed>
void drop_unused(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName<Managed>))
    return;  // the reader renamed it and looks after the memory
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName<Managed>));
  if (managed->deleter) managed->deleter(managed);
}

DlDataType described(DType d) {
  if (d == stored::Float4_e2m1fn_x2) return {TL_CODE_FLOAT4_E2M1FN, 4, 2};
  const int64_t code = dtype_to_abi(d);
  return {static_cast<uint8_t>(TL_DTYPE_CODE(code)), static_cast<uint8_t>(TL_DTYPE_BITS(code)), 1};
}

DlTensor described(const Tensor& t, DimVector& dims) {
  for (int64_t d = 0; d < t.dim(); ++d) dims.push_back(t.size(d));
  // Readers may rely on the strides of a dimension of one element.
  for (int64_t d = 0; d < t.dim(); ++d) dims.push_back(t.size(d) == 1 ? 1 : t.stride(d));
  return {t.data(),
          {kCpu, 0},
          static_cast<int32_t>(t.dim()),
          described(t.dtype()),
          dims.data(),
          dims.data() + t.dim(),
          0};
}

template <class Managed>
std::unique_ptr<Given<Managed>> given_for(const Tensor& t, uint64_t flags) {
  check_is_no_batch(t, "the memory");
  check_inside_storage(*t.impl());
  expose(t);
  auto given = std::make_unique<Given<Managed>>();
  given->tensor = t;
  given->managed.tensor = described(t, given->dims);
  given->managed.ctx = given.get();
  given->managed.deleter = delete_given<Managed>;
  if constexpr (std::is_same_v<Managed, Versioned>) {
    given->managed.major = kMajor;
    given->managed.minor = kMinor;
    given->managed.flags = flags;
  }
  return given;
}

template <class Managed>
PyObject* give(const Tensor& t, uint64_t flags) {
  auto given = given_for<Managed>(t, flags);
  PyRef capsule = checked(PyCapsule_New(&given->managed, kName<Managed>, drop_unused<Managed>));
  given.release();
  return capsule.release();
}

// ---- taking -----------------------------------------------------------------------------------------------
template <class Managed>
void delete_taken(void* ctx, void*, size_t) {
  auto* managed = static_cast<Managed*>(ctx);
  if (!managed->deleter || !Py_IsInitialized()) return;
  const WithGil lock;  // some givers' deleters touch Python objects
  managed->deleter(managed);
}

DType dtype_of(const DlDataType& type) {
  if (type.code == TL_CODE_FLOAT4_E2M1FN && type.bits == 4 && type.lanes == 2)
    return stored::Float4_e2m1fn_x2;
  if (type.lanes != 1) refuse("from_dlpack: vector types are not supported, got ", type.lanes, " lanes");
  // Numbers of less than a byte lie side by side there, and a byte each here.
  if (type.code >= 0x80 || type.bits < 8)
    refuse("from_dlpack: unknown type code ", type.code, " with ", type.bits, " bits");
  try {
    return dtype_from_abi(TL_DTYPE_OF(type.code, type.bits));
  } catch (const Error& e) {
    refuse("from_dlpack: ", e.message);
  }
}

DimVector strides_of(const DlTensor& d, IntSpan sizes) {
  if (!d.strides) return contiguous_strides(sizes);
  DimVector strides;
  for (int32_t i = 0; i < d.ndim; ++i) {
    if (d.strides[i] < 0 && sizes[i] > 1)
      refuse("from_dlpack: negative strides are not supported, got ", d.strides[i], " in dimension ", i,
             ": copy the array first");
    strides.push_back(d.strides[i] < 0 ? 1 : d.strides[i]);
  }
  return strides;
}

template <class Managed>
Tensor adopt(Managed* managed, bool read_only) {
  const DlTensor& d = managed->tensor;
  if (d.device.type != kCpu && d.device.type != kPinnedHost)
    refuse("from_dlpack: the array is on a device of type ", d.device.type,
           ", which no installed package provides");
  const DType dtype = dtype_of(d.dtype);
  const IntSpan sizes(d.shape, static_cast<size_t>(d.ndim));
  const DimVector strides = strides_of(d, sizes);
  checked_numel(sizes);
  char* data = d.data ? static_cast<char*>(d.data) + d.byte_offset : nullptr;
  StoragePtr storage = adopt_storage(data, static_cast<size_t>(span_bytes(sizes, strides, item_size(dtype))),
                                     {}, delete_taken<Managed>, managed);
  storage->read_only = read_only;
  return on_storage(std::move(storage), dtype, sizes, strides, 0);
}

Tensor adopt_known(Versioned* managed) {
  if (managed->major > kMajor)
    refuse("from_dlpack: the array speaks DLPack ", managed->major, ".", managed->minor,
           ", this version knows ", kMajor, ".x");
  return adopt(managed, managed->flags & kReadOnly);
}

Tensor take_versioned(PyObject* capsule) {
  Tensor t = adopt_known(static_cast<Versioned*>(PyCapsule_GetPointer(capsule, kName<Versioned>)));
  checked(PyCapsule_SetName(capsule, kUsedName<Versioned>));
  return t;
}

Tensor take_unversioned(PyObject* capsule) {
  Tensor t = adopt(static_cast<Unversioned*>(PyCapsule_GetPointer(capsule, kName<Unversioned>)), false);
  checked(PyCapsule_SetName(capsule, kUsedName<Unversioned>));
  return t;
}
}  // namespace

void check_exportable(const Tensor& t) {
  const DType d = t.dtype();
  if (is_stored_only(d) && !is_floating(d)) refuse("the type ", dtype_name(d), " is not supported by DLPack");
  if (t.is_sparse()) refuse("Can't export tensors with layout other than torch.strided");
  if (t->has(TensorImpl::Conjugated)) refuse("Can't export tensors with the conjugate bit set");
  if (t->has(TensorImpl::Negated)) refuse("Can't export tensors with the negative bit set");
  if (!t.device().is_cpu())
    refuse("a tensor on the device '", device_name(t.device()),
           "' cannot be exported through DLPack: use .cpu() first");
}

DlVersioned* export_versioned(const Tensor& t) {
  check_exportable(t);
  return &given_for<Versioned>(t, t.storage()->read_only ? kReadOnly : uint64_t{0}).release()->managed;
}

void describe(const Tensor& t, DlTensor& out) {
  check_exportable(t);
  check_is_no_batch(t, "the memory");
  check_inside_storage(*t.impl());
  expose(t);
  int64_t* sizes = t.impl()->dims;
  out = {t.data(), {kCpu, 0}, static_cast<int32_t>(t.dim()), described(t.dtype()), sizes, sizes + t.dim(), 0};
}

Tensor import_versioned(DlVersioned* managed) { return adopt_known(managed); }

Tensor empty_like_prototype(const DlTensor& prototype) {
  if (prototype.device.type != kCpu)
    refuse("a tensor on a device of type ", prototype.device.type, " cannot be allocated");
  return empty(IntSpan(prototype.shape, static_cast<size_t>(prototype.ndim)),
               {dtype_of(prototype.dtype), {}});
}

PyObject* to_dlpack(const Tensor& t, bool versioned, bool copied) {
  check_exportable(t);
  const bool read_only = t.storage()->read_only;
  if (read_only && !versioned)
    refuse(
        "read-only memory cannot be exported to a reader that does not know DLPack 1.0 (max_version=(1, 0)): "
        "clone() it first");
  if (!versioned) return give<Unversioned>(t, 0);
  return give<Versioned>(t, (read_only ? kReadOnly : uint64_t{0}) | (copied ? kCopied : uint64_t{0}));
}

Tensor from_dlpack(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName<Versioned>)) return take_versioned(capsule);
  if (PyCapsule_IsValid(capsule, kName<Unversioned>)) return take_unversioned(capsule);
  fail(ErrorKind::Runtime,
       "from_dlpack received an invalid capsule: expected one named 'dltensor' or 'dltensor_versioned' that "
       "nobody has read yet. Note that DLTensor capsules can be consumed only once, so you might have "
       "already constructed a "
       "tensor from it once.");
}

}  // namespace tl::bind
