// Calls of wrapper subclasses by plans. An object of such a class stands for one inner tensor in a layout.
// Its handler says once what a call of an operator does, and later calls with the same key run without
// Python.
#pragma once

#include <Python.h>

#include "dispatch/operator.h"

namespace tl::bind {

struct WrapperClass;
struct Table;

// One call at the layer `python`, with the lock. While it lives, the handler may keep a plan for it.
class WrapperCall {
 public:
  WrapperCall(const Operator& op, const TlValue* args, int n_args);
  ~WrapperCall();
  WrapperCall(const WrapperCall&) = delete;

  // Runs the call by its plan; false if there is none. Throws PythonError and tl::Error.
  bool run(TlValue* rets, int n_rets);
  // The thread's innermost call keeps a plan: `results` is a tuple of layouts with their sizes and strides,
  // or None of an operator that writes its first argument. `sizes` has the arguments that differ for the
  // inner tensors, by name. False if the call can't have a plan.
  static bool keep(const char* op, PyObject* results, PyObject* sizes);

 private:
  static constexpr int kMostWords = 96, kMostTensors = 24, kMostArguments = 24;

  bool read();
  bool read(const TlValue& v);
  bool read_bytes(const void* data, size_t n);
  bool read_tensor(TensorImpl* t);
  bool read_tensors(const TlValue& list);
  bool read_values(const TlValue& list);
  bool add(uint64_t word);
  bool can_keep(PyObject* results) const;
  std::span<const uint64_t> key() const { return {words_, static_cast<size_t>(n_words_)}; }

  const Operator& op_;
  const TlValue* args_;
  const int n_args_;
  WrapperCall* const outer_;
  bool readable_ = false;
  const WrapperClass* class_ = nullptr;
  PyObject* plans_ = nullptr;  // borrowed from a layout that `inner_`'s wrapper holds
  int n_words_ = 0, n_tensors_ = 0;
  uint64_t words_[kMostWords];
  Tensor inner_[kMostTensors];  // in the order of the arguments, with lists one by one
};

void add_wrapper_plans(PyObject* module);

}  // namespace tl::bind
