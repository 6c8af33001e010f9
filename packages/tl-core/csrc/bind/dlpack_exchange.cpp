// DLPack's table of functions in C: kernels of other libraries take tensors without a capsule or an
// attribute, and return them as tensors.
#include "bind/dlpack_exchange.h"

#include "bind/dlpack.h"
#include "bind/error.h"
#include "bind/tensor_object.h"

namespace tl::bind {

namespace {
const Tensor& tensor_in(void* object) {
  auto* o = static_cast<PyObject*>(object);
  TL_CHECK(is_tensor(o), Type, "expected a Tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

int from_object(void* object, DlVersioned** out) {
  return translated([&] { return *out = export_versioned(tensor_in(object)), 0; }, -1);
}

int to_object(DlVersioned* managed, void** out) {
  return translated([&] { return *out = wrap(import_versioned(managed)), 0; }, -1);
}

int describe_object(void* object, DlTensor* out) {
  return translated([&] { return describe(tensor_in(object), *out), 0; }, -1);
}

// The CPU has no streams.
int stream(int32_t device_type, int32_t, void** out) {
  return translated(
      [&] {
        TL_CHECK(device_type == TL_DEVICE_CPU, Runtime, "tl has no streams of a device of DLPack's type ",
                 device_type);
        *out = nullptr;
        return 0;
      },
      -1);
}

int allocate(DlTensor* prototype, DlVersioned** out, void* error_ctx,
             void (*set_error)(void*, const char*, const char*)) {
  const WithGil lock;  // what is refused is an exception of Python at first
  try {
    *out = export_versioned(empty_like_prototype(*prototype));
    return 0;
  } catch (const Error& e) {
    set_error(error_ctx, e.kind == ErrorKind::OutOfMemory ? "MemoryError" : "RuntimeError", e.what());
  } catch (const PythonError&) {
    pending_from_python();
    set_error(error_ctx, "BufferError", pending_error().message.c_str());
    pending_error() = {};
  } catch (const std::exception& e) {
    set_error(error_ctx, "RuntimeError", e.what());
  }
  return -1;
}

// Its first version with all of these functions.
DlExchange g_table = {1, 3, nullptr, allocate, from_object, to_object, describe_object, stream};
}  // namespace

void add_dlpack_exchange() {
  const PyRef capsule = checked(PyCapsule_New(&g_table, "dlpack_exchange_api", nullptr));
  checked(PyDict_SetItemString(g_tensor_type->tp_dict, "__dlpack_c_exchange_api__", capsule.get()));
  PyType_Modified(g_tensor_type);
}

}  // namespace tl::bind
