// Symbolic numbers as arguments: operators get their hints, the handlers of the layers `trace` and `python`
// the objects themselves.
#pragma once

#include <Python.h>

#include <vector>

#include "bind/error.h"
#include "dispatch/value.h"

namespace tl::bind {

// The classes of symbolic ints, floats and bools. They have `__sym_hint__`, a plain number, and the
// conversions to one, which may guard.
void set_symbolic_types(PyObject* ints, PyObject* floats, PyObject* bools);

namespace detail {
extern PyTypeObject *g_sym_int, *g_sym_float, *g_sym_bool;
inline bool is_a(PyObject* o, PyTypeObject* type) { return type && PyObject_TypeCheck(o, type); }
}  // namespace detail
inline bool is_symbolic_int(PyObject* o) { return detail::is_a(o, detail::g_sym_int); }
inline bool is_symbolic_bool(PyObject* o) { return detail::is_a(o, detail::g_sym_bool); }
inline bool is_symbolic(PyObject* o) {
  return is_symbolic_int(o) || is_symbolic_bool(o) || detail::is_a(o, detail::g_sym_float);
}

// The symbolic arguments of one call, as long as its scratch is there.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;

  // `position` is that in a list; -1 for an argument by itself. The caller keeps the object.
  void note(const TlArgInfo* arg, int position, PyObject* symbol, int64_t hint) {
    noted_.push_back({arg, position, symbol, hint});
  }
  void move(const TlArgInfo* from, const TlArgInfo* to) {
    for (Noted& n : noted_)
      if (n.arg == from) n.arg = to;
  }
  PyObject* find(const TlArgInfo* arg, int position, int64_t hint) const;
  // A result, which the call's own conversion to Python takes.
  void give(PyObject* symbol, int64_t hint) { given_.push_back({PyRef(Py_NewRef(symbol)), hint}); }
  PyObject* take(int64_t hint);

 private:
  struct Noted {
    const TlArgInfo* arg;
    int position;
    PyObject* symbol;
    int64_t hint;
  };
  struct Given {
    PyRef symbol;
    int64_t hint;
  };
  std::vector<Noted> noted_;
  std::vector<Given> given_;
  Symbols* outer_;
};

// Inside, those of the call that is being handled are out of sight.
class SymbolsHidden {
 public:
  SymbolsHidden();
  ~SymbolsHidden();
  SymbolsHidden(const SymbolsHidden&) = delete;

 private:
  Symbols* before_;
};

// A number in place of the symbol: its hint while a mode is on that will be given the symbol, else what the
// symbol's own conversion says.
TlValue number_for_symbol(PyObject* symbol);
// Of the running call: what was given where the operator has this number; borrowed, or NULL.
PyObject* symbol_behind(const TlArgInfo* arg, int position, const TlValue& number);
// The number of a symbol that a Python function returned. If the running call was given symbols, its result
// will be this one.
TlValue number_for_result(PyObject* symbol);
// What stands behind a number that is being returned; a new reference, or NULL.
PyObject* symbol_of_result(const TlValue& number);

}  // namespace tl::bind
