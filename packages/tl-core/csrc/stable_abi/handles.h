// The types of PyTorch's stable C functions, over the C interface of tl: handles of tensors, and failures.
#pragma once

#include <tl/python.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#define TL_STABLE extern "C" __attribute__((visibility("default")))

namespace tl::stable {

using Status = int32_t;  // 0: success; 1: failure, with the text in `torch_exception_get_what`
using Word = uint64_t;   // a value of any type in 64 bits; longer ones are behind a pointer

const TlApi& api();
const TlPython& python();
const TlExtension& extension();
inline const TlArgInfo& argument_info(const TlOperatorInfo& info, int i) {
  return *tl_argument(&extension(), info.args, i);
}
inline const TlArgInfo& result_info(const TlOperatorInfo& info, int i) {
  return *tl_argument(&extension(), info.rets, i);
}

// ---- tensors ----------------------------------------------------------------------------------------------

// A handle is a share in a tensor: the pointer of the C interface itself. A handle that was created without a
// tensor has the lowest bit set and points to a box for one.
struct Opaque;
using Handle = Opaque*;

struct Box {
  TlTensor* tensor = nullptr;
};

inline Box* box_of(Handle h) {
  const auto bits = reinterpret_cast<uintptr_t>(h);
  return bits & 1 ? reinterpret_cast<Box*>(bits & ~uintptr_t{1}) : nullptr;
}
// NULL: undefined.
inline TlTensor* tensor_or_null(Handle h) {
  const Box* box = box_of(h);
  return box ? box->tensor : reinterpret_cast<TlTensor*>(h);
}
TlTensor* tensor_of(Handle h);  // throws where undefined
inline Handle handle_of(TlTensor* owned) { return reinterpret_cast<Handle>(owned); }
Handle undefined_handle();
Handle shared_handle(TlTensor* borrowed);  // of NULL: undefined
void release_handle(Handle h);

// ---- failures ---------------------------------------------------------------------------------------------

// The last failure of this thread. `error` is the error of the core where it is more than a text: an
// exception of Python or an interrupt, which the kernel's caller gets as it was.
struct Failure {
  std::string what;
  void* error = nullptr;
};
Failure& last_failure();
void forget_failure();
Status keep_failure(const char* what) noexcept;
[[noreturn]] void throw_pending();  // after an entry of the table has failed
[[noreturn]] void fail(const std::string& text);

inline void check(int status) {
  if (status != 0) throw_pending();
}
template <class T>
T* check(T* result) {
  if (!result) throw_pending();
  return result;
}

// Runs body where no exception may pass.
template <class F>
Status attempt(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    return keep_failure(e.what());
  } catch (...) {
    return keep_failure("an exception of unknown type was thrown");
  }
}

// ---- numbers of PyTorch's enumerations --------------------------------------------------------------------

int64_t dtype_from_stable(int32_t number);
int32_t dtype_to_stable(int64_t dtype);
int64_t device_from_stable(int32_t type, int32_t index);
int32_t device_type_to_stable(int64_t device);
int64_t layout_from_stable(int32_t number);
int32_t layout_to_stable(int64_t layout);

}  // namespace tl::stable
