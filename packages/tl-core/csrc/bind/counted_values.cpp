// Storages and streams cross by functions of `tl_core.extensions.values`, capsules as PyCapsule objects.
#include "bind/counted_values.h"

#include "base/capsule.h"
#include "bind/error.h"
#include "bind/tensor_object.h"
#include "bind/types.h"

namespace tl::bind {

namespace {
// A function of the module, called with arguments as `PyObject_CallFunction` takes them.
template <class... A>
PyRef call_function(const char* name, const char* format, A... arguments) {
  const PyRef module = checked(import_module("tl_core.extensions.values"));
  const PyRef function = checked(PyObject_GetAttrString(module.get(), name));
  return checked(run_python(PyObject_CallFunction, function.get(), format, arguments...));
}

void retain_object(void* object) {
  const WithGil lock;
  Py_INCREF(static_cast<PyObject*>(object));
}
void release_object(void* object) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and its objects with it
  const WithGil lock;
  Py_DECREF(static_cast<PyObject*>(object));
}
constexpr ObjectCounts kCounts = {retain_object, release_object};

// ---- capsules ---------------------------------------------------------------------------------------------
void drop_capsule(PyObject* o) { static_cast<Capsule*>(PyCapsule_GetContext(o))->release(); }

Capsule* capsule_of(PyObject* o) {
  if (!PyCapsule_CheckExact(o) || PyCapsule_GetDestructor(o) != drop_capsule) return nullptr;
  return static_cast<Capsule*>(PyCapsule_GetContext(o));
}
}  // namespace

bool storage_argument(PyObject* o, TlValue& out) {
  const PyRef tensor = call_function("storage_tensor", "O", o);
  if (!is_tensor(tensor.get()) || !impl_of(tensor.get())->storage) return false;
  out = {TL_STORAGE, 0, {.p = impl_of(tensor.get())->storage}};
  return true;
}

PyObject* storage_object(const TlValue& v) {
  auto* storage = static_cast<Storage*>(const_cast<void*>(v.u.p));
  const PyRef bytes = checked(wrap(on_storage(StoragePtr::share(storage), DType::UInt8, {}, {}, 0)));
  return call_function("storage_object", "O", bytes.get()).release();
}

bool stream_argument(PyObject* o, TlValue& out) {
  const PyRef numbers = call_function("stream_numbers", "O", o);
  if (numbers.get() == Py_None) return false;
  PyObject* device;
  long long number;
  if (!PyArg_ParseTuple(numbers.get(), "OL", &device, &number)) throw PythonError();
  Device d;
  if (!to_device(device, d)) return false;
  const int64_t code = device_to_abi(d);
  out = {TL_STREAM, TL_STREAM_DEVICE(TL_DEVICE_TYPE(code), TL_DEVICE_INDEX(code)), {.i = number}};
  return true;
}

PyObject* stream_object(const TlValue& v) {
  const int64_t code = TL_DEVICE_OF(TL_STREAM_DEVICE_TYPE(v.len), TL_STREAM_DEVICE_INDEX(v.len));
  const PyRef device = checked(device_object(device_from_abi(code)));
  return call_function("stream_object", "OL", device.get(), static_cast<long long>(v.u.i)).release();
}

bool capsule_argument(PyObject* o, TlValue& out) {
  Capsule* const capsule = capsule_of(o);
  if (!capsule) return false;
  out = {TL_CAPSULE, 0, {.p = capsule}};
  return true;
}

PyObject* capsule_object(const TlValue& v) {
  auto* const capsule = static_cast<Capsule*>(const_cast<void*>(v.u.p));
  PyRef o = checked(PyCapsule_New(capsule->data(), capsule->type().name, nullptr));
  if (PyCapsule_SetContext(o.get(), capsule) != 0) throw PythonError();
  capsule->retain();
  PyCapsule_SetDestructor(o.get(), drop_capsule);
  return o.release();
}

void install_object_counts() { set_object_counts(&kCounts); }

}  // namespace tl::bind
