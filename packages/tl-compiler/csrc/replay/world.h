// What a replayed call has read outside of its arguments, and whether it is still the same.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core.h"
#include "replay/node.h"

namespace tl::compiler {

// All of a tensor but its elements.
struct Metadata {
  PyTypeObject* type;
  std::vector<int64_t> geometry;  // sizes, then strides
  int64_t dtype, device;
  int layout, flags, inference, requires_grad, is_leaf;
  uint64_t bits, storage_bits;
  bool has_members;

  // Throws PythonError.
  static Metadata of(PyObject* tensor, TlTensor* t);
  bool fits(PyObject* tensor, TlTensor* t) const;
  // The same for a tensor that the tape holds: always one object, so a leaf is known by its place in the
  // graph.
  bool fits_held(PyObject* tensor, TlTensor* t);

 private:
  bool facts_fit(PyObject* tensor, TlTensor* t) const;
  bool gradient_fits(PyObject* tensor, const void* slot) const;
  const void* leaf_slot_ = nullptr;
};

// The objects are borrowed from the description.
class World {
 public:
  // A description: tuples (kind, object, …) as `tl_compiler.replay.world` writes them. Throws PythonError.
  explicit World(PyObject* description);
  // Null, or what differs. The text is good until the next call.
  const char* difference();
  size_t dictionaries() const { return dicts_.size(); }

 private:
  enum Kind {
    Keys,
    Items,
    ListItems,
    SetItems,
    CellValue,
    FunctionParts,
    TypeVersion,
    TypeOf,
    Attribute,
    Getter,
    Context,
    Local
  };

  struct Dict {
    PyDictObject* dict;
    PyObject* pairs;  // (key, value, …); an absent value is Py_NotImplemented
    bool whole;
    bool fits() const;
    // An entry that differs, as text: borrowed key, or null.
    PyObject* changed_key() const;
  };
  struct Read {
    Kind kind;
    PyObject* object;
    PyObject* expected;
    unsigned version;
  };

  // An object whose class decides its behavior, and whose attributes are in a dictionary that is read.
  struct Instance {
    PyObject* object;
    PyTypeObject* type;
    PyObject** members_slot;  // as long as the class is this one
    PyObject* members;
    bool fits() const { return Py_TYPE(object) == type && *members_slot == members; }
  };

  void add(PyObject* entry);
  bool add_instance(PyObject* object, PyObject* pair);
  const char* name_changed(const Dict& dict);
  static bool fits(const Read& read);

  // Beside each other: one loop passes over all versions.
  struct Version {
    const PyDictObject* dict;
    uint64_t tag;
  };
  std::vector<Version> versions_;
  std::vector<Dict> dicts_;
  std::vector<Instance> instances_;
  std::vector<Read> reads_;
  std::string difference_;
};

}  // namespace tl::compiler
