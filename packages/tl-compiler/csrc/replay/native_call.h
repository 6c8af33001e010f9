// A call of an operator as Python made it: the same one can be repeated with other tensors, without Python's
// objects.
#pragma once

#include <Python.h>

#include <memory>
#include <utility>
#include <vector>

#include "core.h"
#include "tl/python_calls.hpp"

namespace tl::compiler {

inline const TlPythonCalls* python_calls = nullptr;

class NativeCall {
 public:
  static constexpr int kMostArgs = 24, kMostTensors = 64, kMostResults = 8;

  // Null: the call has arguments of other kinds, or too many.
  static std::unique_ptr<NativeCall> of(const TlOperator* op, const TlValue* args);
  ~NativeCall();
  NativeCall(const NativeCall&) = delete;

  // Borrowed; they are dropped once Python knows where they came from.
  const std::vector<TlTensor*>& tensors() const { return tensors_; }
  void drop_tensors();
  size_t n_tensors() const { return n_tensors_; }
  int n_results() const { return n_results_; }
  const TlOperator* op() const { return op_; }
  // All arguments with these tensors; empty where a tensor is in a list.
  std::vector<TlValue> arguments(TlTensor* const* tensors) const;
  // The results are the caller's. False: an error is pending.
  bool run(TlTensor* const* tensors, TlValue* results) const;

 private:
  NativeCall() = default;
  bool add(const TlValue& value);
  void add_tensor(TlTensor* t);
  bool run_with_lists(TlTensor* const* tensors, TlValue* results) const;

  struct List {
    int arg;
    std::vector<bool> is_there;  // an optional list has gaps
  };
  const TlOperator* op_ = nullptr;
  std::vector<TlValue> args_;  // owned, without tensors
  std::vector<List> lists_;
  std::vector<TlTensor*> tensors_;  // in the order of the arguments
  size_t n_tensors_ = 0;
  int n_results_ = 0;
};

// take_call() -> the calls of Python's functions on this thread since `watch_calls`, or since the last time:
// None if it was not one call, else (capsule, tensors among the arguments, results that are tensors).
PyObject* take_call(PyObject*, PyObject*);
// watch_calls(on): whether calls of this thread are kept.
PyObject* watch_calls(PyObject*, PyObject* on);
// Borrowed from the capsule; throws PythonError.
const NativeCall* native_call_of(PyObject* capsule);

}  // namespace tl::compiler
