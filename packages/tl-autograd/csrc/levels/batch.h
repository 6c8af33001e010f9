// A call at the level of a batch: its arguments with and without the batch.
#pragma once

#include <functional>
#include <vector>

#include "levels/entry.h"
#include "levels/rule.h"

namespace tl::autograd {

class BatchCall {
 public:
  BatchCall(const Rule& r, Level& level, const TlValue* args, int n_args);

  bool any() const { return any_; }
  bool batched(int arg) const;
  // Each runs `op`, which has the arguments of the call, on tensors with the batch in front, at the levels
  // below.
  void elementwise(const TlOperator* op, Results& out);
  void dims(const TlOperator* op, Results& out);
  void front(const TlOperator* op, Results& out);
  void fold(const TlOperator* op, Results& out);
  void loop(const TlOperator* op, Results& out);
  void random(const TlOperator* op, Results& out);
  void formula(Results& out);
  void index(Results& out);
  void loop_writing(TlValue* rets, int n_rets);  // in place, without a functional form
  [[noreturn]] void refuse_random();
  Tensor moved(TlTensor* t) const;     // the value with the batch as dimension 0; empty: it has none
  Tensor expanded(TlTensor* t) const;  // the same, also of a tensor without a batch

  void loop_random(const TlOperator* op, Results& out);
  void same_for_all(const TlOperator* op, Results& out);

  const Rule& rule;
  Level& level;
  const TlValue* args;
  int n_args;
  int64_t size;

 private:
  bool any_ = false;
};

// Views and other geometry, by the operators.
Tensor with_ones(Tensor t, int64_t at, int64_t count);  // dimensions of size one
Tensor reshaped(const Tensor& t, const std::vector<int64_t>& sizes);
std::vector<int64_t> sizes_of(const TlTensor* t);

// Tells Python that an operator loops; may be NULL.
extern void (*warn_of_loop)(const char* op);

}  // namespace tl::autograd
