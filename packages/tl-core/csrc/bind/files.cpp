#include "bind/files.h"

#include "base/crc32.h"
#include "base/file_transfer.h"
#include "bind/error.h"
#include "bind/unlocked.h"

namespace tl::bind {

namespace {
constexpr size_t kLong = 1 << 15;  // below it, letting the lock go costs more than it gives

class Memory {
 public:
  Memory(PyObject* o, int flags) {
    if (PyObject_GetBuffer(o, &view_, flags) != 0) throw PythonError();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { PyBuffer_Release(&view_); }
  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

PyObject* py_crc32(PyObject*, PyObject* args) {
  return translated(
      [&]() -> PyObject* {
        PyObject* data;
        unsigned int before = 0;
        if (!PyArg_ParseTuple(args, "O|I", &data, &before)) throw PythonError();
        const Memory memory(data, PyBUF_SIMPLE);
        return PyLong_FromUnsignedLong(unlocked(
            memory.size() >= kLong, [&] { return crc32_parallel(before, memory.data(), memory.size()); }));
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* answer(const Transfer& t) {
  if (t.error) return raise_os_error(t.error);
  if (t.ended)
    return PyErr_Format(PyExc_EOFError, "the file ends %llu bytes on",
                        static_cast<unsigned long long>(t.done_to));
  return PyLong_FromUnsignedLong(t.crc);
}

template <class F>
PyObject* transfer(PyObject* args, int flags, F&& move) {
  return translated(
      [&]() -> PyObject* {
        int descriptor;
        long long offset;
        PyObject* data;
        if (!PyArg_ParseTuple(args, "iLO", &descriptor, &offset, &data)) throw PythonError();
        TL_CHECK(offset >= 0, Value, "the offset in a file must be 0 or more, got ", offset);
        const Memory memory(data, flags);
        return answer(unlocked(memory.size() >= kLong, [&] {
          return move(descriptor, static_cast<int64_t>(offset), memory.data(), memory.size());
        }));
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* py_read_file(PyObject*, PyObject* args) { return transfer(args, PyBUF_WRITABLE, read_file); }
PyObject* py_write_file(PyObject*, PyObject* args) { return transfer(args, PyBUF_SIMPLE, write_file); }

PyMethodDef kFunctions[] = {
    {"_crc32", py_crc32, METH_VARARGS, nullptr},
    {"_read_file", py_read_file, METH_VARARGS, nullptr},
    {"_write_file", py_write_file, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_files(PyObject* module) { checked(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace tl::bind
