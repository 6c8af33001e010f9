// The loops of an operator, without running them. Its kernel is called with shadows of the arguments: tensors
// on meta, where a plan ends before memory is touched and, on a thread that records, is noted.
#pragma once

#include <vector>

#include "dispatch/operator.h"
#include "ops/shared/elementwise.h"

namespace tl {

class LoopRecorder {
 public:
  LoopRecorder(TlLoopVisit visit, void* user) : visit_(visit), user_(user) {}

  // Stands for the argument of that index while the kernel runs.
  Tensor shadow(const Tensor& argument, int index);
  // Completes a loop whose operands have their types: `inputs` are shadows, outputs or NULL for numbers.
  void note(TlLoop& loop, const Tensor& out, const Tensor* const* inputs);
  // The call is not made of loops alone.
  void refuse() { whole_ = false; }
  bool is_whole() const { return whole_; }
  // The index of a loop, or -1 - i for an argument; false if the tensor is neither.
  bool refer(const Tensor& t, int64_t& reference) const;

 private:
  struct Source {
    Tensor tensor;  // keeps the storage, so that no other has its address
    int kind, index;
  };
  const Source* source_of(const Tensor& t) const;
  bool locate(TlLoopOperand& operand, const Tensor& t) const;

  TlLoopVisit visit_;
  void* user_;
  std::vector<Source> sources_;
  int n_loops_ = 0;
  bool whole_ = true;
};

// Of the thread, while `record_loops` runs; NULL otherwise. Asked on meta only.
LoopRecorder* loop_recorder();

// See `op_loops` of tl/c_api.h.
int record_loops(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets,
                 TlLoopVisit visit, void* user);

}  // namespace tl
