// Versions of dictionaries first. Where one differs, its keys are compared: programs write to dictionaries
// that a call reads other keys of, such as global variables.
#include "replay/world.h"

#include <algorithm>

#include "replay/bridge.h"

namespace tl::compiler {

namespace {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
uint64_t version_of(const PyDictObject* dict) {
#if PY_VERSION_HEX < 0x030c0000
  return dict->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}
#pragma GCC diagnostic pop

PyObject* const kAbsent = Py_NotImplemented;

bool has(PyObject* value, PyObject* expected) {
  return expected == kAbsent ? value == nullptr : is_same(value, expected);
}

// Whether the dictionary has these items alone, in this order.
bool has_items(PyObject* dict, PyObject* pairs) {
  if (2 * PyDict_Size(dict) != PyTuple_GET_SIZE(pairs)) return false;
  Py_ssize_t at = 0, i = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &at, &key, &value)) {
    if (!is_same(key, PyTuple_GET_ITEM(pairs, i)) || !is_same(value, PyTuple_GET_ITEM(pairs, i + 1)))
      return false;
    i += 2;
  }
  return true;
}

bool list_fits(PyObject* list, PyObject* items) {
  const Py_ssize_t n = PyTuple_GET_SIZE(items);
  if (PyList_GET_SIZE(list) != n) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject *const now = PyList_GET_ITEM(list, i), *const before = PyTuple_GET_ITEM(items, i);
    if (now != before && !is_same(now, before)) return false;
  }
  return true;
}

bool set_fits(PyObject* set, PyObject* items) {
  Py_ssize_t at = 0, i = 0;
  PyObject* key;
  Py_hash_t hash;
  if (PySet_GET_SIZE(set) != PyTuple_GET_SIZE(items)) return false;
  while (_PySet_NextEntry(set, &at, &key, &hash))
    if (!is_same(key, PyTuple_GET_ITEM(items, i++))) return false;
  return true;
}

bool function_fits(PyObject* function, PyObject* parts) {
  const auto* f = reinterpret_cast<PyFunctionObject*>(function);
  const auto same = [&](PyObject* part, Py_ssize_t i) {
    return (part ? part : Py_None) == PyTuple_GET_ITEM(parts, i);
  };
  return same(f->func_code, 0) && same(f->func_defaults, 1) && same(f->func_kwdefaults, 2);
}

bool attribute_fits(PyObject* object, PyObject* pair) {
  PyObject* const member = PyTuple_GET_ITEM(pair, 0);
  const descrgetfunc get = Py_TYPE(member)->tp_descr_get;
  const PyRef value(get ? get(member, object, reinterpret_cast<PyObject*>(Py_TYPE(object))) : nullptr);
  if (!value) PyErr_Clear();  // an empty slot
  return has(value.get(), PyTuple_GET_ITEM(pair, 1));
}

// (the class, the dictionary of attributes or None)
bool type_fits(PyObject* object, PyObject* pair) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != PyTuple_GET_ITEM(pair, 0)) return false;
  PyObject* const members = PyTuple_GET_ITEM(pair, 1);
  PyObject** const members_slot = _PyObject_GetDictPtr(object);
  return members == Py_None || (members_slot && *members_slot == members);
}

bool getter_fits(PyObject* function, PyObject* pair) {
  const PyRef value(PyObject_CallObject(function, PyTuple_GET_ITEM(pair, 0)));
  if (!value) throw PythonError();
  PyObject* const expected = PyTuple_GET_ITEM(pair, 1);
  if (is_same(value.get(), expected)) return true;
  if (Py_TYPE(value.get()) != Py_TYPE(expected)) return false;
  const int equal = PyObject_RichCompareBool(value.get(), expected, Py_EQ);  // of devices and dtypes
  checked(equal);
  return equal == 1;
}

// The value in the context of the thread, not the default of the variable.
bool context_fits(PyObject* variable, PyObject* expected) {
  static PyObject* const unset = PyList_New(0);
  PyObject* found = nullptr;
  checked(PyContextVar_Get(variable, unset, &found));
  const PyRef value(found);
  return value.get() == unset ? expected == kAbsent : expected != kAbsent && is_same(found, expected);
}

// An attribute of an object of `threading.local`: a pair of its name and the value in this thread.
bool local_fits(PyObject* local, PyObject* pair) {
  const PyRef value(PyObject_GetAttr(local, PyTuple_GET_ITEM(pair, 0)));
  if (!value) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
    PyErr_Clear();
  }
  return has(value.get(), PyTuple_GET_ITEM(pair, 1));
}

bool has_version(PyObject* type) {
  return PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type), Py_TPFLAGS_VALID_VERSION_TAG);
}

// An attribute of tensors that is a flag, by its getter alone where nobody has replaced that.
class Flag {
 public:
  explicit Flag(const char* text) : name_(PyUnicode_InternFromString(text)) {}
  int of(PyObject* tensor) const {
    PyObject* const member = _PyType_Lookup(Py_TYPE(tensor), name_);
    if (member && Py_TYPE(member) == &PyGetSetDescr_Type) {
      const PyGetSetDef* const get = reinterpret_cast<PyGetSetDescrObject*>(member)->d_getset;
      return is_true(PyRef(checked(get->get(tensor, get->closure))));
    }
    return is_true(PyRef(checked(PyObject_GetAttr(tensor, name_))));
  }

 private:
  static int is_true(const PyRef& value) {
    const int on = PyObject_IsTrue(value.get());
    checked(on);
    return on;
  }
  PyObject* name_;
};
const Flag& needs_gradient() {
  static const Flag flag("requires_grad");
  return flag;
}
const Flag& leaf() {
  static const Flag flag("is_leaf");
  return flag;
}

// Whether a program has given the tensor attributes of its own, which hide methods of the same name.
bool has_members(PyObject* tensor) {
  PyObject** const members_slot = _PyObject_GetDictPtr(tensor);
  return members_slot && *members_slot && PyDict_GET_SIZE(*members_slot) > 0;
}

PyObject* name(const char* text) { return PyUnicode_InternFromString(text); }
}  // namespace

// ---- tensors -----------------------------------------------------------------------------------------------

Metadata Metadata::of(PyObject* tensor, TlTensor* t) {
  Metadata m;
  const int ndim = api->tensor_ndim(t);
  const int64_t *sizes = api->tensor_sizes(t), *strides = api->tensor_strides(t);
  m.type = Py_TYPE(tensor);
  m.geometry.assign(sizes, sizes + ndim);
  if (api->tensor_layout(t) == TL_STRIDED) m.geometry.insert(m.geometry.end(), strides, strides + ndim);
  m.dtype = api->tensor_dtype(t);
  m.device = api->tensor_device(t);
  m.layout = api->tensor_layout(t);
  m.flags = api->tensor_marks(t);
  m.inference = api->tensor_is_inference(t);
  m.bits = api->bits_get(t) & ~kDeferBit;
  m.storage_bits = api->storage_bits_get(t) & ~kDeferBit;
  m.has_members = tl::compiler::has_members(tensor);
  const bool has_graph = api->slot_get(t, TL_LAYER_AUTOGRAD) != nullptr;
  m.requires_grad = has_graph ? needs_gradient().of(tensor) : 0;
  m.is_leaf = has_graph ? leaf().of(tensor) : 1;
  return m;
}

bool Metadata::facts_fit(PyObject* tensor, TlTensor* t) const {
  if (Py_TYPE(tensor) != type || api->tensor_dtype(t) != dtype || api->tensor_device(t) != device)
    return false;
  const size_t ndim = api->tensor_ndim(t);
  const bool strided = layout == TL_STRIDED;
  if (geometry.size() != (strided ? 2 : 1) * ndim) return false;
  const auto strides = geometry.begin() + static_cast<ptrdiff_t>(ndim);
  if (!std::equal(geometry.begin(), strides, api->tensor_sizes(t))) return false;
  if (strided && !std::equal(strides, geometry.end(), api->tensor_strides(t))) return false;
  if (tl::compiler::has_members(tensor) != has_members) return false;
  if (api->tensor_layout(t) != layout || api->tensor_marks(t) != flags ||
      api->tensor_is_inference(t) != inference)
    return false;
  return (api->bits_get(t) & ~kDeferBit) == bits && (api->storage_bits_get(t) & ~kDeferBit) == storage_bits;
}

bool Metadata::gradient_fits(PyObject* tensor, const void* slot) const {
  if (!slot) return requires_grad == 0 && is_leaf == 1;
  return needs_gradient().of(tensor) == requires_grad && leaf().of(tensor) == is_leaf;
}

bool Metadata::fits(PyObject* tensor, TlTensor* t) const {
  return facts_fit(tensor, t) && gradient_fits(tensor, api->slot_get(t, TL_LAYER_AUTOGRAD));
}

// Whether a leaf needs a gradient is among its bits. A write that gives it a history changes those of its
// storage.
bool Metadata::fits_held(PyObject* tensor, TlTensor* t) {
  if (!facts_fit(tensor, t)) return false;
  const void* const slot = api->slot_get(t, TL_LAYER_AUTOGRAD);
  if (slot && slot == leaf_slot_) return true;
  if (!gradient_fits(tensor, slot)) return false;
  leaf_slot_ = is_leaf ? slot : nullptr;
  return true;
}

// ---- the world ---------------------------------------------------------------------------------------------

World::World(PyObject* description) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(description); ++i) add(PyTuple_GET_ITEM(description, i));
  if (PyErr_Occurred()) throw PythonError();
}

void World::add(PyObject* entry) {
  PyObject *object, *expected;
  int kind;
  if (!PyArg_ParseTuple(entry, "iOO", &kind, &object, &expected)) throw PythonError();
  const bool fits_type = kind == Keys || kind == Items ? PyDict_Check(object)
                         : kind == ListItems           ? PyList_Check(object)
                         : kind == SetItems            ? PyAnySet_Check(object)
                         : kind == CellValue           ? PyCell_Check(object)
                         : kind == FunctionParts       ? PyFunction_Check(object)
                         : kind == TypeVersion
                             ? PyType_Check(object)
                             : kind == TypeOf || kind == Attribute || kind == Getter || kind == Local ||
                                   kind == Context && PyContextVar_CheckExact(object);
  if (!fits_type) {
    PyErr_Format(PyExc_TypeError, "what a call has read: kind %d of a %s", kind, Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  if (kind == Keys || kind == Items) {
    auto* const dict = reinterpret_cast<PyDictObject*>(object);
    versions_.push_back({dict, 0});
    dicts_.push_back({dict, expected, kind == Items});
    return;
  }
  if (kind == TypeOf && add_instance(object, expected)) return;
  unsigned version = 0;
  if (kind == TypeVersion) {
    _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), name("__class__"));  // gives the type a version
    if (!has_version(object)) {
      PyErr_Format(PyExc_RuntimeError, "the class %R has no version", object);
      throw PythonError();
    }
    version = reinterpret_cast<PyTypeObject*>(object)->tp_version_tag;
  }
  reads_.push_back({static_cast<Kind>(kind), object, expected, version});
}

// (the class, the dictionary of attributes or None); false: there is none.
bool World::add_instance(PyObject* object, PyObject* pair) {
  PyObject* const members = PyTuple_GET_ITEM(pair, 1);
  PyObject** const members_slot = members == Py_None ? nullptr : _PyObject_GetDictPtr(object);
  if (!members_slot || *members_slot != members ||
      reinterpret_cast<PyObject*>(Py_TYPE(object)) != PyTuple_GET_ITEM(pair, 0))
    return false;
  instances_.push_back({object, Py_TYPE(object), members_slot, members});
  return true;
}

bool World::Dict::fits() const {
  auto* const object = reinterpret_cast<PyObject*>(const_cast<PyDictObject*>(dict));
  if (whole) return has_items(object, pairs);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); i += 2) {
    PyObject* const value = PyDict_GetItemWithError(object, PyTuple_GET_ITEM(pairs, i));
    if (!value && PyErr_Occurred()) throw PythonError();
    if (!has(value, PyTuple_GET_ITEM(pairs, i + 1))) return false;
  }
  return true;
}

PyObject* World::Dict::changed_key() const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); i += 2) {
    PyObject* const key = PyTuple_GET_ITEM(pairs, i);
    PyObject* const value =
        PyDict_GetItemWithError(reinterpret_cast<PyObject*>(const_cast<PyDictObject*>(dict)), key);
    if (!value && PyErr_Occurred()) throw PythonError();
    if (!has(value, PyTuple_GET_ITEM(pairs, i + 1))) return key;
  }
  return nullptr;
}

// By the name of the variable or attribute.
const char* World::name_changed(const Dict& dict) {
  PyObject* const key = dict.changed_key();
  const char* const text = key && PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : nullptr;
  PyErr_Clear();  // of a key that is no text in UTF-8
  difference_ =
      text ? std::string("the variable or attribute '") + text + "', which the call reads, has changed"
           : "a variable or an attribute that the call reads has changed";
  return difference_.c_str();
}

bool World::fits(const Read& read) {
  // Dictionaries and instances have lists of their own.
  switch (read.kind) {
    case ListItems:
      return list_fits(read.object, read.expected);
    case SetItems:
      return set_fits(read.object, read.expected);
    case CellValue:
      return has(PyCell_GET(read.object), read.expected);
    case FunctionParts:
      return function_fits(read.object, read.expected);
    case TypeVersion:
      return has_version(read.object) &&
             reinterpret_cast<PyTypeObject*>(read.object)->tp_version_tag == read.version;
    case TypeOf:
      return type_fits(read.object, read.expected);
    case Attribute:
      return attribute_fits(read.object, read.expected);
    case Local:
      return local_fits(read.object, read.expected);
    case Context:
      return context_fits(read.object, read.expected);
    default:
      return getter_fits(read.object, read.expected);
  }
}

const char* World::difference() {
  for (size_t i = 0; i < versions_.size(); ++i) {
    Version& version = versions_[i];
    const uint64_t now = version_of(version.dict);
    if (now == version.tag) [[likely]]
      continue;
    if (!dicts_[i].fits()) return name_changed(dicts_[i]);
    version.tag = now;
  }
  for (const Instance& instance : instances_)
    if (!instance.fits()) return "the class of an object, or the dictionary of its attributes, has changed";
  for (const Read& read : reads_)
    if (!fits(read)) {
      difference_ = read.kind == TypeVersion
                        ? std::string("the class ") + reinterpret_cast<PyTypeObject*>(read.object)->tp_name +
                              " has changed"
                    : read.kind == FunctionParts ? "the code or the defaults of a function have changed"
                    : read.kind == CellValue     ? "a variable of an enclosing function has changed"
                    : read.kind == Getter ? "a setting has changed"
                                          : "a list, a set or an attribute that the call reads has changed";
      return difference_.c_str();
    }
  return nullptr;
}

}  // namespace tl::compiler
