// Symbolic numbers: a call gets their hints, and a side table of the call finds the objects again.
#include "bind/symbols.h"

#include <cstring>

#include "bind/error.h"
#include "dispatch/python.h"

namespace tl::bind {

namespace detail {
PyTypeObject *g_sym_int = nullptr, *g_sym_float = nullptr, *g_sym_bool = nullptr;
}  // namespace detail

namespace {
thread_local Symbols* t_symbols = nullptr;

int64_t bits_of(const TlValue& number) {
  if (number.tag != TL_FLOAT) return number.u.i;
  int64_t bits;
  std::memcpy(&bits, &number.u.f, sizeof bits);
  return bits;
}

bool some_mode_is_on() { return !modes_of(TL_LAYER_TRACE).empty() || !modes_of(TL_LAYER_PYTHON).empty(); }

TlValue number_of(PyRef number) {
  if (PyErr_Occurred()) throw PythonError();
  if (PyFloat_Check(number.get())) return value(PyFloat_AS_DOUBLE(number.get()));
  if (PyBool_Check(number.get())) return value(number.get() == Py_True);
  const int64_t i = PyLong_AsLongLong(number.get());
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  return value(i);
}

PyTypeObject* class_argument(PyObject* o) {
  TL_CHECK(PyType_Check(o), Type, "_set_symbolic_types(): expected classes, got ", Py_TYPE(o)->tp_name);
  return reinterpret_cast<PyTypeObject*>(Py_NewRef(o));
}
}  // namespace

void set_symbolic_types(PyObject* ints, PyObject* floats, PyObject* bools) {
  detail::g_sym_int = class_argument(ints);
  detail::g_sym_float = class_argument(floats);
  detail::g_sym_bool = class_argument(bools);
}

Symbols::Symbols() : outer_(t_symbols) { t_symbols = this; }
Symbols::~Symbols() { t_symbols = outer_; }

PyObject* Symbols::find(const TlArgInfo* arg, int position, int64_t hint) const {
  for (const Noted& n : noted_)
    if (n.arg == arg && n.position == position && n.hint == hint) return n.symbol;
  return nullptr;
}

PyObject* Symbols::take(int64_t hint) {
  for (auto g = given_.begin(); g != given_.end(); ++g) {
    if (g->hint != hint) continue;
    PyObject* symbol = g->symbol.release();
    given_.erase(g);
    return symbol;
  }
  return nullptr;
}

SymbolsHidden::SymbolsHidden() : before_(t_symbols) { t_symbols = nullptr; }
SymbolsHidden::~SymbolsHidden() { t_symbols = before_; }

TlValue number_for_symbol(PyObject* symbol) {
  PyRef number(nullptr);
  if (some_mode_is_on())
    number = checked(run_python(PyObject_CallMethod, symbol, "__sym_hint__", nullptr));
  else if (is_symbolic_int(symbol))
    number = checked(PyNumber_Long(symbol));
  else if (is_symbolic_bool(symbol))
    number = checked(PyBool_FromLong(PyObject_IsTrue(symbol)));
  else
    number = checked(PyNumber_Float(symbol));
  return number_of(std::move(number));
}

PyObject* symbol_behind(const TlArgInfo* arg, int position, const TlValue& number) {
  return t_symbols ? t_symbols->find(arg, position, bits_of(number)) : nullptr;
}

TlValue number_for_result(PyObject* symbol) {
  if (!t_symbols) return number_for_symbol(symbol);
  const TlValue hint = number_of(checked(run_python(PyObject_CallMethod, symbol, "__sym_hint__", nullptr)));
  t_symbols->give(symbol, bits_of(hint));
  return hint;
}

PyObject* symbol_of_result(const TlValue& number) {
  return t_symbols ? t_symbols->take(bits_of(number)) : nullptr;
}

}  // namespace tl::bind
