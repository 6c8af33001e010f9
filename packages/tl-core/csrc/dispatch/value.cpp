// Owned values: lists and complex numbers in memory of their own, tensors by their counts.
#include "dispatch/value.h"

#include <cstring>

#include "base/allocator.h"
#include "base/capsule.h"
#include "base/generator.h"

namespace tl {

// By the number of an element type.
const int64_t kDTypeCodes[kNumStorableDTypes] = {
    TL_DTYPE_OF(TL_CODE_BOOL, 8),
    TL_DTYPE_OF(TL_CODE_UINT, 8),
    TL_DTYPE_OF(TL_CODE_INT, 8),
    TL_DTYPE_OF(TL_CODE_INT, 16),
    TL_DTYPE_OF(TL_CODE_INT, 32),
    TL_DTYPE_OF(TL_CODE_INT, 64),
    TL_DTYPE_OF(TL_CODE_UINT, 16),
    TL_DTYPE_OF(TL_CODE_UINT, 32),
    TL_DTYPE_OF(TL_CODE_UINT, 64),
    TL_DTYPE_OF(TL_CODE_FLOAT, 16),
    TL_DTYPE_OF(TL_CODE_BFLOAT, 16),
    TL_DTYPE_OF(TL_CODE_FLOAT, 32),
    TL_DTYPE_OF(TL_CODE_FLOAT, 64),
    TL_DTYPE_OF(TL_CODE_COMPLEX, 32),
    TL_DTYPE_OF(TL_CODE_COMPLEX, 64),
    TL_DTYPE_OF(TL_CODE_COMPLEX, 128),
    TL_DTYPE_OF(TL_CODE_FLOAT8_E4M3FN, 8),
    TL_DTYPE_OF(TL_CODE_FLOAT8_E5M2, 8),
    TL_DTYPE_OF(TL_CODE_FLOAT8_E4M3FNUZ, 8),
    TL_DTYPE_OF(TL_CODE_FLOAT8_E5M2FNUZ, 8),
    TL_DTYPE_OF(TL_CODE_FLOAT8_E8M0FNU, 8),
    TL_DTYPE_OF(TL_CODE_FLOAT4_E2M1FN, 8),
    TL_DTYPE_OF(TL_CODE_BITS1X8, 8),
    TL_DTYPE_OF(TL_CODE_BITS2X4, 8),
    TL_DTYPE_OF(TL_CODE_BITS4X2, 8),
    TL_DTYPE_OF(TL_CODE_BITS, 8),
    TL_DTYPE_OF(TL_CODE_BITS, 16),
    TL_DTYPE_OF(TL_CODE_QUINT, 8),
    TL_DTYPE_OF(TL_CODE_QINT, 8),
    TL_DTYPE_OF(TL_CODE_QINT, 32),
    TL_DTYPE_OF(TL_CODE_QUINT4X2, 8),
    TL_DTYPE_OF(TL_CODE_QUINT2X4, 8),
    TL_DTYPE_OF(TL_CODE_UINT, 1),
    TL_DTYPE_OF(TL_CODE_UINT, 2),
    TL_DTYPE_OF(TL_CODE_UINT, 3),
    TL_DTYPE_OF(TL_CODE_UINT, 4),
    TL_DTYPE_OF(TL_CODE_UINT, 5),
    TL_DTYPE_OF(TL_CODE_UINT, 6),
    TL_DTYPE_OF(TL_CODE_UINT, 7),
    TL_DTYPE_OF(TL_CODE_INT, 1),
    TL_DTYPE_OF(TL_CODE_INT, 2),
    TL_DTYPE_OF(TL_CODE_INT, 3),
    TL_DTYPE_OF(TL_CODE_INT, 4),
    TL_DTYPE_OF(TL_CODE_INT, 5),
    TL_DTYPE_OF(TL_CODE_INT, 6),
    TL_DTYPE_OF(TL_CODE_INT, 7),
};

namespace {
template <class T>
TlValue copied(uint32_t tag, const T* data, size_t n) {
  void* memory = n ? allocate(n * sizeof(T)) : nullptr;
  if (n) std::memcpy(memory, data, n * sizeof(T));
  return {tag, static_cast<uint32_t>(n), {.p = memory}};
}

bool has_memory(const TlValue& v) {
  return v.tag == TL_COMPLEX || v.tag == TL_STRING || v.tag >= TL_BOOL_LIST;
}

bool is_list_of_values(const TlValue& v) { return v.tag == TL_SCALAR_LIST || v.tag == TL_STRING_LIST; }

size_t list_bytes(const TlValue& v) {
  switch (v.tag) {
    case TL_COMPLEX:
      return 2 * sizeof(double);
    case TL_STRING:
    case TL_BOOL_LIST:
      return v.len;
    case TL_SCALAR_LIST:
    case TL_STRING_LIST:
      return v.len * sizeof(TlValue);
    default:
      return v.len * 8;
  }
}
}  // namespace

DType dtype_from_abi(int64_t code) {
  for (int i = 0; i < kNumStorableDTypes; ++i)
    if (dtype_to_abi(static_cast<DType>(i)) == code) return static_cast<DType>(i);
  fail(ErrorKind::Type, "no element type has the code ", TL_DTYPE_CODE(code), " with ", TL_DTYPE_BITS(code),
       " bits");
}

TlValue owned(const Scalar& s) {
  if (!s.is_complex()) return s.value();
  const Complex128 c = s.to_complex();
  const double parts[2] = {c.re, c.im};
  return {TL_COMPLEX, 0, {.p = copied(TL_COMPLEX, parts, 2).u.p}};
}

TlValue owned(const DimVector& list) { return copied(TL_INT_LIST, list.data(), list.size()); }

TlValue owned(std::vector<Tensor> tensors) {
  TlValue v = copied(TL_TENSOR_LIST, reinterpret_cast<void* const*>(tensors.data()), tensors.size());
  for (auto& t : tensors) t.detach_handle();
  return v;
}

namespace {
const ObjectCounts* g_object_counts = nullptr;

// What a value shares with others by a count, beside tensors.
void retain_counted(const TlValue& v) {
  void* const p = const_cast<void*>(v.u.p);
  switch (v.tag) {
    case TL_GENERATOR:
      return static_cast<Generator*>(p)->retain();
    case TL_STORAGE:
      static_cast<void>(StoragePtr::share(static_cast<Storage*>(p)).detach());
      return;
    case TL_CAPSULE:
      return static_cast<Capsule*>(p)->retain();
    case TL_OBJECT:
      return g_object_counts->retain(p);
    default:
      return;
  }
}
void release_counted(const TlValue& v) {
  void* const p = const_cast<void*>(v.u.p);
  switch (v.tag) {
    case TL_GENERATOR:
      return static_cast<Generator*>(p)->release();
    case TL_STORAGE:
      StoragePtr::adopt(static_cast<Storage*>(p));
      return;
    case TL_CAPSULE:
      return static_cast<Capsule*>(p)->release();
    case TL_OBJECT:
      return g_object_counts->release(p);
    default:
      return;
  }
}

void retain(const TlValue& v) {
  if (v.tag == TL_TENSOR) {
    reinterpret_cast<TensorImpl*>(v.u.t)->retain();
  } else if (v.tag == TL_TENSOR_LIST) {
    auto* list = static_cast<TensorImpl* const*>(v.u.p);
    for (uint32_t i = 0; i < v.len; ++i)
      if (list[i]) list[i]->retain();
  } else if (v.u.p) {
    retain_counted(v);
  }
}
}  // namespace

void set_object_counts(const ObjectCounts* counts) { g_object_counts = counts; }

TlValue owned_copy(const TlValue& v) {
  TL_CHECK(v.tag != TL_OBJECT || g_object_counts, Type, "an object cannot be copied without Python");
  TlValue out = v;
  if (has_memory(v)) {
    const size_t bytes = list_bytes(v);
    void* memory = bytes ? allocate(bytes) : nullptr;
    if (bytes) std::memcpy(memory, v.u.p, bytes);
    out.u.p = memory;
  }
  if (is_list_of_values(v)) {
    auto* items = static_cast<TlValue*>(const_cast<void*>(out.u.p));
    for (uint32_t i = 0; i < v.len; ++i) items[i] = owned_copy(items[i]);
  }
  retain(v);
  return out;
}

void release(TlValue& v) {
  if (v.tag == TL_TENSOR) {
    if (v.u.t) reinterpret_cast<TensorImpl*>(v.u.t)->release();
  } else if (v.tag == TL_TENSOR_LIST) {
    auto* list = static_cast<TensorImpl* const*>(v.u.p);
    for (uint32_t i = 0; i < v.len; ++i)
      if (list[i]) list[i]->release();
  } else if (v.tag < TL_BOOL_LIST) {
    if (v.u.p) release_counted(v);
  } else if (is_list_of_values(v)) {
    auto* items = static_cast<TlValue*>(const_cast<void*>(v.u.p));
    for (uint32_t i = 0; i < v.len; ++i) release(items[i]);
  }
  if (has_memory(v) && v.u.p) deallocate(const_cast<void*>(v.u.p), list_bytes(v));
  v = none();
}

std::vector<Tensor> TakeResult<std::vector<Tensor>>::take(TlValue& v) {
  std::vector<Tensor> out;
  auto* list = static_cast<TensorImpl* const*>(v.u.p);
  out.reserve(v.len);
  for (uint32_t i = 0; i < v.len; ++i) out.push_back(Tensor::adopt(list[i]));
  if (v.u.p) deallocate(const_cast<void*>(v.u.p), list_bytes(v));
  v = none();
  return out;
}

}  // namespace tl
