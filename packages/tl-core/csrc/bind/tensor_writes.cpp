// Write tracking: a ring of (address, version, instructions) that an error about a changed tensor searches.
#include "bind/tensor_writes.h"

#include <algorithm>
#include <bit>

#include "bind/error.h"
#include "bind/python_frames.h"
#include "bind/tensor_object.h"

namespace tl::bind {

namespace {
constexpr int kFrames = 4, kDeepFrames = 12;  // an optimizer stands between a program and its parameters

struct Write {
  const Storage* storage = nullptr;
  uint32_t version = 0;  // after it
  const void* at[kDeepFrames] = {};
};
constexpr size_t kWrites = 512;
Write g_writes[kWrites];  // a ring; the GIL guards it
size_t g_next = 0;

// The first write after that version. The versions of a storage fall on the way back; where they do not, the
// address belonged to another storage before.
const Write* first_after(const TensorImpl& t, uint32_t version) {
  const Write* found = nullptr;
  for (size_t i = 0; i < kWrites; ++i) {
    const Write& w = g_writes[(g_next + kWrites - 1 - i) % kWrites];
    if (w.storage != t.storage) continue;
    if (w.version <= version || w.version > (found ? found->version - 1 : tl::version(t))) break;
    found = &w;
  }
  return found;
}

// _write_after(tensor, version) -> addresses of instructions, innermost first, or None
PyObject* write_after(PyObject*, PyObject* args) {
  PyObject* o;
  unsigned int version;
  if (!PyArg_ParseTuple(args, "OI", &o, &version)) return nullptr;
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(o)->tp_name);
  const Write* w = first_after(*impl_of(o), version);
  if (!w) Py_RETURN_NONE;
  PyObject* out = PyTuple_New(kDeepFrames);
  for (int i = 0; out && i < kDeepFrames; ++i)
    PyTuple_SET_ITEM(out, i, PyLong_FromVoidPtr(const_cast<void*>(w->at[i])));
  return out;
}

// _line_of(code, address) -> the line of the instruction, or None if it is not the code's
PyObject* line_of(PyObject*, PyObject* args) {
  PyObject *code, *number;
  if (!PyArg_ParseTuple(args, "O!O", &PyCode_Type, &code, &number)) return nullptr;
  const char* address = static_cast<const char*>(PyLong_AsVoidPtr(number));
  if (PyErr_Occurred()) return nullptr;
  auto* c = reinterpret_cast<PyCodeObject*>(code);
  const char* first = reinterpret_cast<const char*>(c->co_code_adaptive);
  const auto length = static_cast<Py_ssize_t>(Py_SIZE(c) * sizeof(_Py_CODEUNIT));
  if (address < first || address >= first + length) Py_RETURN_NONE;
  const int line = PyCode_Addr2Line(c, static_cast<int>(address - first));
  return PyLong_FromLong(line);
}

PyMethodDef kFunctions[] = {
    {"_write_after", write_after, METH_VARARGS, nullptr},
    {"_line_of", line_of, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

namespace {
Write& next_write(const TensorImpl& t) {
  Write& w = g_writes[g_next];
  g_next = (g_next + 1) % kWrites;
  w.storage = t.storage;
  w.version = tl::version(t);
  return w;
}

void note_list(TensorImpl* const* list, uint32_t n) {
  const void* at[kDeepFrames] = {};
  tl_python_frames(at, kDeepFrames);
  for (uint32_t i = 0; i < n; ++i)
    if (list[i]) std::copy(at, at + kDeepFrames, next_write(*list[i]).at);
}
}  // namespace

void note_write(const TensorImpl& t) {
  Write& w = next_write(t);
  std::fill(w.at + tl_python_frames(w.at, kFrames), w.at + kDeepFrames, nullptr);
}

void note_writes(const Operator& op, const TlValue* values) {
  for (uint64_t mask = op.written_mask; mask; mask &= mask - 1) {
    const TlValue& v = values[std::countr_zero(mask)];
    if (v.tag == TL_TENSOR)
      note_write(*reinterpret_cast<const TensorImpl*>(v.u.t));
    else if (v.tag == TL_TENSOR_LIST)
      note_list(static_cast<TensorImpl* const*>(v.u.p), v.len);
  }
}

void add_writes(PyObject* module) {
  if (PyModule_AddFunctions(module, kFunctions) != 0) throw PythonError();
}

}  // namespace tl::bind
