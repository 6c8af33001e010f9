// Functions of tl_core's Python half by name, and the answers of handlers about a tensor's metadata.
#include "bind/python_helpers.h"

#include <string>
#include <unordered_map>

#include "bind/error.h"
#include "bind/tensor_object.h"
#include "tensor/hollow.h"

namespace tl::bind {

namespace {
std::unordered_map<std::string, PyObject*>& helpers() {
  static auto* map = new std::unordered_map<std::string, PyObject*>;
  return *map;
}
}  // namespace

void set_python_helper(const char* name, PyObject* function) {
  Py_XSETREF(helpers()[name], Py_NewRef(function));
}

PyObject* python_helper(const char* name) {
  PyObject* f = helpers()[name];
  TL_CHECK(f, NotImplemented, "the Python half of tl_core has not provided '", name, "'");
  return f;
}

bool asks_handler(PyObject* o) {
  return Py_TYPE(o) != g_tensor_type && (impl_of(o)->bits.load(std::memory_order_relaxed) & kAsksHandlerBit);
}

PyObject* handler_metadata(const char* name, PyObject* o, PyObject* args, PyObject* kwargs) {
  return translated(
      [&]() -> PyObject* {
        PyRef none = checked(PyTuple_New(0));
        PyRef answer = checked(run_python(PyObject_CallFunction, python_helper("metadata"), "sOOO", name, o,
                                          args ? args : none.get(), kwargs ? kwargs : Py_None));
        return answer.get() == Py_NotImplemented ? nullptr : answer.release();
      },
      static_cast<PyObject*>(nullptr));
}

}  // namespace tl::bind
