// A recorded call: its arguments, what it has read, the functions of C that it called, its result.
#pragma once

#include <Python.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "replay/fusion.h"
#include "replay/tape_step.h"
#include "replay/world.h"

namespace tl::compiler {

struct TapeTensor {
  PyObject* object;
  Metadata metadata;
  int grad;  // -1: not read; 0: there is none; else 1 + the index in `grads`
};

class Tape {
 public:
  // Borrows from the description, which outlives it. Throws PythonError.
  explicit Tape(PyObject* description);
  // The result, or null with an exception, or null without one: the call is another, `difference` says why.
  PyObject* run(PyObject* args, PyObject* kwargs);
  const std::string& difference() const { return difference_; }
  // Whether a call is the recorded one, as far as this shows before its operators run; else `difference` says
  // why.
  bool fits(PyObject* args, PyObject* kwargs);
  size_t steps() const { return steps_.size(); }
  // How many of the steps programs over elements compute, once the tape has run.
  size_t fused_steps() const;
  size_t dictionaries() const { return world_.dictionaries(); }
  // Whether what the call has read is still the same, arguments aside.
  bool world_fits() { return world_.difference() == nullptr; }

 private:
  enum class Outcome { Done, Differs, Error };

  void add_step(PyObject* description);
  void add_tensors(PyObject* descriptions);
  void add_arguments(PyObject* examples);
  bool fits(PyObject* args, PyObject* kwargs, Slots& slots);
  bool thread_fits();
  bool match(const Node& node, PyObject* value, Slots& slots);
  bool match_tensor(int slot, PyObject* value, Slots& slots);
  bool tensors_fit();
  bool grad_fits(const TapeTensor& tensor);
  Outcome run_steps(Slots& slots);
  Outcome run_and_fuse(Slots& slots);
  Outcome run_fusion(Fusion& fusion, Slots& slots, size_t& at);
  Outcome run_step(const TapeStep& step, Slots& slots);
  Outcome run_native(const TapeStep& step, Slots& slots);
  Outcome take(const TapeStep& step, PyRef result, Slots& slots);
  Outcome take_native(const TapeStep& step, TlValue* results, Slots& slots);
  Outcome differ(std::string text);
  Outcome fail(const TapeStep& step);

  int n_slots_, n_arguments_ = 0;
  World world_;
  Node args_, kwargs_, output_;
  std::vector<Metadata> arguments_, grads_;
  std::vector<TapeTensor> tensors_;
  std::unordered_set<PyObject*> objects_;  // of `tensors_`
  std::vector<TapeStep> steps_;
  std::vector<std::unique_ptr<Fusion>> fusions_;  // in the order of their steps
  bool is_fused_ = false;                         // whether it is known what can be
  uint64_t included_, excluded_;
  int grad_mode_, inference_mode_;
  std::string difference_;
};

// Whether somebody traces or profiles this thread, who would miss the frames of a replayed call.
bool is_traced();

}  // namespace tl::compiler
