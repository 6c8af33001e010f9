// Python arguments against an operator's table, into values of the calling convention. Nothing is allocated
// for short calls.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "bind/error.h"
#include "bind/symbols.h"
#include "bind/tensor_object.h"
#include "dispatch/operator.h"

namespace tl::bind {

inline constexpr int kMaxArgs = 24;

// Room for the lists of one call: on the stack for short ones.
class Scratch {
 public:
  template <class T>
  T* take(size_t n) {
    static_assert(sizeof(T) <= 16 && std::is_trivially_destructible_v<T>);
    const size_t bytes = (n * sizeof(T) + 15) & ~size_t{15};
    if (used_ + bytes <= sizeof buffer_) {
      void* p = buffer_ + used_;
      used_ += bytes;
      return static_cast<T*>(p);
    }
    return reinterpret_cast<T*>(overflow().lists.emplace_back(bytes).data());
  }
  void keep(PyObject* owned) { overflow().owned_objects.emplace_back(owned); }  // what a value points into

  // Whether a tensor may stand for a number. Apart: not yet, another overload may take the tensor itself;
  // Met: one was refused.
  enum class Tensors : uint8_t { Taken, Apart, Met };
  Tensors tensors = Tensors::Taken;

  // The argument that is being read, and where in its list; for symbolic numbers.
  const TlArgInfo* argument = nullptr;
  int position = -1;
  TlValue symbol_value(PyObject* symbol) {
    if (!overflow().symbols) overflow().symbols = std::make_unique<Symbols>();
    const TlValue v = number_for_symbol(symbol);
    overflow().symbols->note(argument, position, symbol, v.u.i);
    return v;
  }
  // What was read as `from` is the argument `to`.
  void move_symbols(const TlArgInfo* from, const TlArgInfo* to) {
    if (overflow_ && overflow_->symbols) [[unlikely]]
      overflow_->symbols->move(from, to);
  }

 private:
  struct Overflow {
    std::vector<std::vector<char>> lists;
    std::vector<PyRef> owned_objects;
    std::unique_ptr<Symbols> symbols;
  };
  Overflow& overflow() {
    if (!overflow_) overflow_ = std::make_unique<Overflow>();
    return *overflow_;
  }

  alignas(16) char buffer_[1024];
  size_t used_ = 0;
  std::unique_ptr<Overflow> overflow_;  // few calls have one
};

// One call's arguments as Python handed them over.
struct PyArgs {
  PyObject* self;  // the method's tensor, or NULL
  PyObject* const* args;
  Py_ssize_t nargs;
  PyObject* kwnames;

  Py_ssize_t n_keywords() const { return kwnames ? PyTuple_GET_SIZE(kwnames) : 0; }
  PyObject* keyword(Py_ssize_t i) const { return PyTuple_GET_ITEM(kwnames, i); }
  PyObject* keyword_value(Py_ssize_t i) const { return args[nargs + i]; }
};

struct ParsedCall {
  TlValue values[kMaxArgs];
  PyObject* out = nullptr;            // the `out=` argument, not None
  PyObject* requires_grad = nullptr;  // of factories
  PyObject* names = nullptr;          // likewise, not None
  bool overloaded = false;            // an argument brings its own __torch_function__
};

// A parameter's name in the manual, and in the schema.
struct Spelling {
  const char *shown, *schema;
};

// How Python calls an operator.
struct Callee {
  const char* name;
  const Spelling* spellings = nullptr;  // ended by a null; or NULL
  bool by_position = false;             // keyword arguments are taken by position, too
};

// Whether the arguments fit the operator. On a mismatch `why` (if given) says which argument, what it got,
// what it needs.
bool parse_call(const Operator& op, const Callee& callee, const PyArgs& in, ParsedCall& out, Scratch& scratch,
                std::string* why);

namespace detail {
bool parse_any_value(PyObject* o, const TlArgInfo& arg, TlValue& out, Scratch& scratch, bool& overloaded);
bool class_has_torch_function(PyTypeObject* type);
}  // namespace detail

// One value. False without an exception if the object is of another kind.
inline bool parse_value(PyObject* o, const TlArgInfo& arg, TlValue& out, Scratch& scratch, bool& overloaded) {
  const bool takes_tensor = arg.kind == TL_ARG_TENSOR || arg.kind == TL_ARG_OPERAND;
  if (!takes_tensor || Py_TYPE(o) != g_tensor_type)
    return detail::parse_any_value(o, arg, out, scratch, overloaded);
  out = value(tensor_of(o));
  return true;
}

// For messages: the public name of what the kind accepts, and that of an object's class.
std::string kind_name(const TlArgInfo& arg);
std::string type_name(PyObject* o);

// How many arguments an overload takes: at least, by position, with keywords. The tensor of a method is none.
struct ArgumentCounts {
  int least, positional, most;
};
ArgumentCounts argument_counts(const TlOperatorInfo& info, bool is_method);
std::string too_many_positional(const char* name, const ArgumentCounts& counts, Py_ssize_t n);

extern PyObject* g_disabled_torch_function;  // what Parameter's __torch_function__ is
// An override that is not disabled.
inline bool has_torch_function(PyObject* o) {
  return Py_TYPE(o) != g_tensor_type && detail::class_has_torch_function(Py_TYPE(o));
}

}  // namespace tl::bind
