// Values of the calling convention as the Python objects a caller would have passed.
#include "bind/argument_to_python.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "bind/counted_values.h"
#include "bind/error.h"
#include "bind/generator_object.h"
#include "bind/result.h"
#include "bind/symbols.h"
#include "bind/tensor_object.h"
#include "bind/types.h"

namespace tl::bind {

namespace {
PyObject* tensor_object(TensorImpl* t) { return t ? wrap(Tensor::share(t)) : Py_NewRef(Py_None); }

template <class F>
PyObject* list_of(uint32_t n, F item) {
  PyRef list = checked(PyList_New(n));
  for (uint32_t i = 0; i < n; ++i) PyList_SET_ITEM(list.get(), i, checked(item(i)).release());
  return list.release();
}

PyObject* number_object(const TlArgInfo* arg, int position, const TlValue& v) {
  if (PyObject* symbol = symbol_behind(arg, position, v)) return Py_NewRef(symbol);
  return scalar_to_python(Scalar::from(v));
}

PyObject* list_object(const TlArgInfo* arg, const TlValue& v) {
  switch (v.tag) {
    case TL_TENSOR_LIST:
      return list_of(v.len,
                     [&](uint32_t i) { return tensor_object(static_cast<TensorImpl* const*>(v.u.p)[i]); });
    case TL_INT_LIST:
      return list_of(v.len, [&](uint32_t i) {
        const TlValue item = value(static_cast<const int64_t*>(v.u.p)[i]);
        return number_object(arg, static_cast<int>(i), item);
      });
    case TL_FLOAT_LIST:
      return list_of(v.len,
                     [&](uint32_t i) { return PyFloat_FromDouble(static_cast<const double*>(v.u.p)[i]); });
    case TL_BOOL_LIST:
      return list_of(v.len,
                     [&](uint32_t i) { return PyBool_FromLong(static_cast<const uint8_t*>(v.u.p)[i]); });
    case TL_SCALAR_LIST:
      return list_of(v.len, [&](uint32_t i) {
        return scalar_to_python(Scalar::from(static_cast<const TlValue*>(v.u.p)[i]));
      });
    case TL_STRING_LIST:
      return list_of(v.len, [&](uint32_t i) {
        const TlValue& text = static_cast<const TlValue*>(v.u.p)[i];
        return PyUnicode_FromStringAndSize(static_cast<const char*>(text.u.p), text.len);
      });
    default:
      fail(ErrorKind::Type, "an argument with the tag ", static_cast<int>(v.tag), " has no Python form");
  }
}

// How many numbers one number stands for: 2 for `int[2] stride`, 1 where the schema states none.
Py_ssize_t stated_length(const Operator& op, const TlArgInfo& arg) {
  const std::string_view schema(op.info.schema);
  const std::string name = cat("] ", arg.name), optional = cat("]? ", arg.name);
  for (const std::string& text : {name, optional}) {
    size_t at = schema.find(text);
    while (at != schema.npos && std::string_view("=,)").find(schema[at + text.size()]) == schema.npos)
      at = schema.find(text, at + 1);
    if (at == schema.npos) continue;
    const char digit = schema[at - 1];
    return digit >= '1' && digit <= '9' ? digit - '0' : 1;
  }
  return 1;
}

// `[1]` and `[1, 1]` are one argument of `int[2]`.
bool same_numbers(const Operator& op, const TlArgInfo& arg, const TlValue& a, const TlValue& b) {
  if (a.tag != TL_INT_LIST || a.len == b.len || std::min(a.len, b.len) != 1) return false;
  const auto *one = static_cast<const int64_t*>((a.len == 1 ? a : b).u.p),
             *several = static_cast<const int64_t*>((a.len == 1 ? b : a).u.p);
  const uint32_t count = std::max(a.len, b.len);
  return count == stated_length(op, arg) &&
         std::all_of(several, several + count, [&](int64_t n) { return n == *one; });
}

bool same_list(const TlValue& a, const TlValue& b) {
  if (a.len != b.len) return false;
  if (a.tag == TL_SCALAR_LIST || a.tag == TL_TENSOR_LIST || a.tag == TL_STRING_LIST) return a.len == 0;
  const size_t item = a.tag == TL_BOOL_LIST ? 1 : 8;
  return a.len == 0 || std::memcmp(a.u.p, b.u.p, a.len * item) == 0;
}
}  // namespace

PyObject* argument_to_python(const TlArgInfo* arg, const TlValue& v) {
  switch (v.tag) {
    case TL_TENSOR:
      return tensor_object(reinterpret_cast<TensorImpl*>(v.u.t));
    case TL_BOOL:
    case TL_INT:
    case TL_FLOAT:
      return number_object(arg, -1, v);
    case TL_MEMORY_FORMAT:
      return Py_NewRef(memory_format_object(static_cast<MemoryFormat>(v.u.i)));
    case TL_GENERATOR: {
      const TlValue shared = owned_copy(v);
      return wrap_generator(static_cast<Generator*>(const_cast<void*>(shared.u.p)));
    }
    case TL_STORAGE:
      return storage_object(v);
    case TL_STREAM:
      return stream_object(v);
    case TL_CAPSULE:
      return capsule_object(v);
    case TL_OBJECT:
      return Py_NewRef(static_cast<PyObject*>(const_cast<void*>(v.u.p)));
    default:
      if (v.tag >= TL_BOOL_LIST) return list_object(arg, v);
      TlValue copy = owned_copy(v);
      return to_python(copy);
  }
}

PyObject* argument_to_python(const Operator& op, int i, const TlValue& v) {
  const TlArgInfo& arg = op.info.args[i];
  PyRef o = checked(argument_to_python(&arg, v));
  const bool one = (v.tag == TL_INT_LIST || v.tag == TL_FLOAT_LIST) && v.len == 1;
  const Py_ssize_t count = one ? stated_length(op, arg) : 1;
  return count > 1 ? PySequence_Repeat(o.get(), count) : o.release();
}

bool is_default(const Operator& op, int i, const TlValue& v) {
  const TlValue& d = op.defaults[i];
  if (!op.info.args[i].has_default)
    return v.tag == TL_NONE && op.info.args[i].optional && op.info.args[i].keyword_only;
  if (v.tag != d.tag) return false;
  if (v.tag >= TL_BOOL_LIST) return same_list(v, d) || same_numbers(op, op.info.args[i], v, d);
  if (v.tag == TL_STRING) return v.len == d.len && std::memcmp(v.u.p, d.u.p, v.len) == 0;
  if (v.tag == TL_COMPLEX) return std::memcmp(v.u.p, d.u.p, 2 * sizeof(double)) == 0;
  return v.tag == TL_NONE || v.u.i == d.u.i;
}

}  // namespace tl::bind
