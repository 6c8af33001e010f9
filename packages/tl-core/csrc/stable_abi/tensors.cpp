// What extensions ask of tensors, and how they create them.
#include <bit>
#include <cstring>
#include <memory>

#include "stable_abi/operators.h"

namespace tl::stable {

namespace {
int64_t at_dimension(TlTensor* t, const int64_t* values, int64_t dim) {
  const int64_t n = api().tensor_ndim(t);
  if (dim < -n || dim >= n)
    fail("Dimension out of range (expected to be in range of [" + std::to_string(-n) + ", " +
         std::to_string(n - 1) + "], but got " + std::to_string(dim) + ")");
  return values[dim < 0 ? dim + n : dim];
}

// ---- memory of others -------------------------------------------------------------------------------------
struct Deleter {
  void (*function)(void* data, void* ctx);
  void *data, *ctx;
};
void run_deleter(void* p) {
  const std::unique_ptr<Deleter> d(static_cast<Deleter*>(p));
  if (d->function) d->function(d->data, d->ctx);
}

struct Blob {
  void* data;
  int64_t ndim;
  const int64_t *sizes, *strides;
  int64_t offset;
  int32_t dtype, device_type, device_index;
};

// The offset counts elements of the memory; the tensor itself begins there.
void from_blob(const Blob& b, int32_t layout, Deleter deleter, Handle* ret) {
  if (layout_from_stable(layout) != TL_STRIDED)
    fail("from_blob: only the strided layout has memory of others");
  const int64_t dtype = dtype_from_stable(b.dtype);
  const int64_t bytes = (TL_DTYPE_BITS(dtype) + 7) / 8;
  char* first = b.data ? static_cast<char*>(b.data) + b.offset * bytes : nullptr;
  auto owned = std::make_unique<Deleter>(deleter);
  *ret = handle_of(check(api().tensor_from_memory(first, static_cast<int>(b.ndim), b.sizes, b.strides, dtype,
                                                  device_from_stable(b.device_type, b.device_index),
                                                  run_deleter, owned.get())));
  owned.release();
}

void release_tensor(void*, void* t) { api().tensor_release(static_cast<TlTensor*>(t)); }

void alloc_from_pool(TlTensor* self, int64_t offset, const Blob& b, Handle* ret) {
  api().tensor_retain(self);
  Blob inside = b;
  inside.data = static_cast<char*>(api().tensor_data(self)) + offset;
  inside.device_type = device_type_to_stable(api().tensor_device(self));
  inside.device_index = TL_DEVICE_INDEX(api().tensor_device(self));
  try {
    from_blob(inside, 0, {release_tensor, nullptr, self}, ret);
  } catch (...) {
    api().tensor_release(self);
    throw;
  }
}

// ---- one element ------------------------------------------------------------------------------------------
struct Number {
  TlValue value = tagged(TL_NONE);
  double real = 0, imaginary = 0;
};

Number number_in(Handle h) {
  const TlValue self = tensor_value(h);
  tensor_of(h);
  const TlOperator* op = check(api().op_find("_local_scalar_dense"));
  Number n;
  check(api().op_call(op, &self, 1, &n.value, 1));
  if (n.value.tag == TL_COMPLEX) {
    n.real = static_cast<const double*>(n.value.u.p)[0];
    n.imaginary = static_cast<const double*>(n.value.u.p)[1];
    api().value_release(&n.value);
  } else if (n.value.tag == TL_FLOAT) {
    n.real = n.value.u.f;
  } else {
    n.real = static_cast<double>(n.value.u.i);
  }
  return n;
}

template <class T>
Status item(Handle h, T* ret) {
  return attempt([&] {
    const Number n = number_in(h);
    const bool whole = n.value.tag == TL_INT || n.value.tag == TL_BOOL;
    *ret = whole ? static_cast<T>(n.value.u.i) : static_cast<T>(n.real);
  });
}

// ---- narrow floating-point numbers ------------------------------------------------------------------------
void copy_element(Handle h, int64_t dtype, void* ret, size_t bytes) {
  if (api().tensor_dtype(tensor_of(h)) != dtype || api().tensor_numel(tensor_of(h)) != 1)
    fail("a tensor with one element of this type is needed");
  if (TL_DEVICE_TYPE(api().tensor_device(tensor_of(h))) != TL_DEVICE_CPU)
    fail("the element is in memory that the CPU cannot read");
  std::memcpy(ret, api().tensor_data(tensor_of(h)), bytes);
}

template <class T>
Status zero_dim(int64_t code, int64_t bits, const T& value, Handle* ret) {
  return attempt([&] {
    TlTensor* t =
        check(api().tensor_empty(0, nullptr, TL_DTYPE_OF(code, bits), TL_DEVICE_OF(TL_DEVICE_CPU, -1)));
    std::memcpy(api().tensor_data(t), &value, sizeof value);
    *ret = handle_of(t);
  });
}
}  // namespace

}  // namespace tl::stable

using namespace tl::stable;

// ---- facts ------------------------------------------------------------------------------------------------

TL_STABLE Status aoti_torch_get_data_ptr(Handle h, void** ret) {
  return attempt([&] { *ret = api().tensor_data(tensor_of(h)); });
}
TL_STABLE Status torch_get_mutable_data_ptr(Handle h, void** ret) { return aoti_torch_get_data_ptr(h, ret); }
TL_STABLE Status torch_get_const_data_ptr(Handle h, const void** ret) {
  return attempt([&] { *ret = api().tensor_data(tensor_of(h)); });
}
TL_STABLE Status aoti_torch_get_storage_size(Handle h, int64_t* ret) {
  return attempt([&] { *ret = api().tensor_storage_bytes(tensor_of(h)); });
}
TL_STABLE Status aoti_torch_get_storage_numel(Handle h, int64_t* ret) {
  return attempt([&] {
    const int64_t bits = TL_DTYPE_BITS(api().tensor_dtype(tensor_of(h)));
    *ret = api().tensor_storage_bytes(tensor_of(h)) / ((bits + 7) / 8);
  });
}
TL_STABLE Status aoti_torch_get_dim(Handle h, int64_t* ret) {
  return attempt([&] { *ret = api().tensor_ndim(tensor_of(h)); });
}
TL_STABLE Status aoti_torch_get_numel(Handle h, int64_t* ret) {
  return attempt([&] { *ret = api().tensor_numel(tensor_of(h)); });
}
TL_STABLE Status aoti_torch_get_sizes(Handle h, int64_t** ret) {
  return attempt([&] { *ret = const_cast<int64_t*>(api().tensor_sizes(tensor_of(h))); });
}
TL_STABLE Status aoti_torch_get_strides(Handle h, int64_t** ret) {
  return attempt([&] { *ret = const_cast<int64_t*>(api().tensor_strides(tensor_of(h))); });
}
TL_STABLE Status aoti_torch_get_size(Handle h, int64_t d, int64_t* ret) {
  return attempt([&] { *ret = at_dimension(tensor_of(h), api().tensor_sizes(tensor_of(h)), d); });
}
TL_STABLE Status aoti_torch_get_stride(Handle h, int64_t d, int64_t* ret) {
  return attempt([&] { *ret = at_dimension(tensor_of(h), api().tensor_strides(tensor_of(h)), d); });
}
TL_STABLE Status aoti_torch_get_dtype(Handle h, int32_t* ret) {
  return attempt([&] { *ret = dtype_to_stable(api().tensor_dtype(tensor_of(h))); });
}
TL_STABLE Status aoti_torch_get_device_type(Handle h, int32_t* ret) {
  return attempt([&] { *ret = device_type_to_stable(api().tensor_device(tensor_of(h))); });
}
TL_STABLE Status aoti_torch_get_device_index(Handle h, int32_t* ret) {
  return attempt([&] { *ret = TL_DEVICE_INDEX(api().tensor_device(tensor_of(h))); });
}
TL_STABLE Status aoti_torch_get_layout(Handle h, int32_t* ret) {
  return attempt([&] { *ret = layout_to_stable(api().tensor_layout(tensor_of(h))); });
}
TL_STABLE Status aoti_torch_get_storage_offset(Handle h, int64_t* ret) {
  return attempt([&] { *ret = api().tensor_offset(tensor_of(h)); });
}
TL_STABLE Status aoti_torch_is_contiguous(Handle h, bool* ret) {
  return attempt([&] { *ret = api().tensor_is_contiguous(tensor_of(h)) != 0; });
}
TL_STABLE Status aoti_torch_is_defined(Handle h, bool* ret) {
  *ret = tensor_or_null(h) != nullptr;
  return 0;
}

// ---- handles ----------------------------------------------------------------------------------------------

TL_STABLE Status aoti_torch_new_tensor_handle(Handle original, Handle* ret) {
  return attempt([&] { *ret = shared_handle(tensor_or_null(original)); });
}
TL_STABLE Status aoti_torch_new_uninitialized_tensor(Handle* ret) {
  return attempt([&] { *ret = undefined_handle(); });
}
TL_STABLE Status aoti_torch_delete_tensor_object(Handle h) {
  return attempt([&] { release_handle(h); });
}
TL_STABLE Status aoti_torch_assign_tensors_out(Handle source, Handle* ret) {
  return attempt([&] { *ret = handle_of(check(api().tensor_alias(tensor_of(source)))); });
}
TL_STABLE Status aoti_torch_assign_tensors(Handle source, Handle to) {
  return attempt([&] {
    TlTensor* from = tensor_of(source);
    if (Box* box = box_of(to)) {
      api().tensor_retain(from);
      api().tensor_release(std::exchange(box->tensor, from));
      return;
    }
    TlTensor* t = tensor_of(to);
    if (api().tensor_dtype(t) != api().tensor_dtype(from) ||
        api().tensor_device(t) != api().tensor_device(from))
      fail("aoti_torch_assign_tensors: the tensors differ in element type or device");
    check(api().tensor_assume(t, from, api().tensor_ndim(from), api().tensor_sizes(from),
                              api().tensor_strides(from), api().tensor_offset(from)));
  });
}

// ---- creation ---------------------------------------------------------------------------------------------

TL_STABLE Status torch_from_blob(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides,
                                 int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index,
                                 Handle* ret, int32_t layout, const uint8_t*, int64_t,
                                 void (*deleter)(void*, void*), void* ctx) {
  return attempt([&] {
    from_blob({data, ndim, sizes, strides, offset, dtype, device_type, device_index}, layout,
              {deleter, data, ctx}, ret);
  });
}
TL_STABLE Status aoti_torch_create_tensor_from_blob_v2(void* data, int64_t ndim, const int64_t* sizes,
                                                       const int64_t* strides, int64_t offset, int32_t dtype,
                                                       int32_t device_type, int32_t device_index, Handle* ret,
                                                       int32_t layout, const uint8_t* metadata,
                                                       int64_t metadata_size) {
  return torch_from_blob(data, ndim, sizes, strides, offset, dtype, device_type, device_index, ret, layout,
                         metadata, metadata_size, nullptr, nullptr);
}
TL_STABLE Status aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes,
                                                    const int64_t* strides, int64_t offset, int32_t dtype,
                                                    int32_t device_type, int32_t device_index, Handle* ret) {
  return torch_from_blob(data, ndim, sizes, strides, offset, dtype, device_type, device_index, ret, 0,
                         nullptr, 0, nullptr, nullptr);
}
TL_STABLE Status aoti_torch__alloc_from_pool(Handle self, int64_t offset_bytes, int32_t dtype, int64_t ndim,
                                             const int64_t* sizes, const int64_t* strides, Handle* ret) {
  return attempt([&] {
    alloc_from_pool(tensor_of(self), offset_bytes, {nullptr, ndim, sizes, strides, 0, dtype, 0, 0}, ret);
  });
}
TL_STABLE Status aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes, const int64_t* strides,
                                          int32_t dtype, int32_t device_type, int32_t device_index,
                                          Handle* ret) {
  return attempt([&] {
    call_core(
        "empty_strided",
        {int_list(sizes, ndim), int_list(strides, ndim), tagged(TL_DTYPE, dtype_from_stable(dtype)),
         tagged(TL_NONE), tagged(TL_DEVICE, device_from_stable(device_type, device_index)), tagged(TL_NONE)},
        {ret});
  });
}
TL_STABLE Status aoti_torch_as_strided(Handle self, const int64_t* sizes, const int64_t* strides,
                                       Handle* ret) {
  return attempt([&] {
    const int64_t n = api().tensor_ndim(tensor_of(self));
    call_core("as_strided", {tensor_value(self), int_list(sizes, n), int_list(strides, n), tagged(TL_NONE)},
              {ret});
  });
}
TL_STABLE Status aoti_torch__reinterpret_tensor(Handle self, int64_t ndim, const int64_t* sizes,
                                                const int64_t* strides, int64_t offset, Handle* ret) {
  return attempt([&] {
    const int64_t first = api().tensor_offset(tensor_of(self)) + offset;
    *ret = nullptr;
    call_core("as_strided",
              {tensor_value(self), int_list(sizes, ndim), int_list(strides, ndim), tagged(TL_INT, first)},
              {ret});
  });
}

// ---- single elements --------------------------------------------------------------------------------------

#define ITEM(name, type) \
  TL_STABLE Status aoti_torch_item_##name(Handle h, type* ret) { return item<type>(h, ret); }
ITEM(float32, float)
ITEM(float64, double)
ITEM(uint8, uint8_t)
ITEM(uint16, uint16_t)
ITEM(uint32, uint32_t)
ITEM(uint64, uint64_t)
ITEM(int8, int8_t)
ITEM(int16, int16_t)
ITEM(int32, int32_t)
ITEM(int64, int64_t)
ITEM(bool, bool)

TL_STABLE Status aoti_torch_item_float16(Handle h, uint16_t* ret) {
  return attempt([&] { copy_element(h, TL_DTYPE_OF(TL_CODE_FLOAT, 16), ret, sizeof *ret); });
}
TL_STABLE Status aoti_torch_item_bfloat16(Handle h, uint16_t* ret) {
  return attempt([&] { copy_element(h, TL_DTYPE_OF(TL_CODE_BFLOAT, 16), ret, sizeof *ret); });
}
TL_STABLE Status aoti_torch_item_complex64(Handle h, float* ret) {
  return attempt([&] {
    const Number n = number_in(h);
    ret[0] = static_cast<float>(n.real);
    ret[1] = static_cast<float>(n.imaginary);
  });
}

#define TO_TENSOR(name, type, code, bits)                                        \
  TL_STABLE Status aoti_torch_scalar_to_tensor_##name(type value, Handle* ret) { \
    return zero_dim(code, bits, value, ret);                                     \
  }
TO_TENSOR(float32, float, TL_CODE_FLOAT, 32)
TO_TENSOR(float64, double, TL_CODE_FLOAT, 64)
TO_TENSOR(uint8, uint8_t, TL_CODE_UINT, 8)
TO_TENSOR(uint16, uint16_t, TL_CODE_UINT, 16)
TO_TENSOR(uint32, uint32_t, TL_CODE_UINT, 32)
TO_TENSOR(uint64, uint64_t, TL_CODE_UINT, 64)
TO_TENSOR(int8, int8_t, TL_CODE_INT, 8)
TO_TENSOR(int16, int16_t, TL_CODE_INT, 16)
TO_TENSOR(int32, int32_t, TL_CODE_INT, 32)
TO_TENSOR(int64, int64_t, TL_CODE_INT, 64)
TO_TENSOR(bool, bool, TL_CODE_BOOL, 8)

// Two numbers, passed in registers as C passes a complex number.
struct alignas(8) Complex64 {
  float real, imaginary;
};
struct alignas(16) Complex128 {
  double real, imaginary;
};
TO_TENSOR(complex64, Complex64, TL_CODE_COMPLEX, 64)
TO_TENSOR(complex128, Complex128, TL_CODE_COMPLEX, 128)
