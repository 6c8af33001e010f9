// A derivative program bound to operators, and the machine that runs it.
#pragma once

#include <atomic>
#include <vector>

#include "values.h"

namespace tl::autograd {

struct TensorMeta {
  std::vector<int64_t> sizes;
  int64_t dtype, device;
};
TensorMeta meta_of(const TlTensor* t);
Tensor zeros(const TensorMeta& meta);

class Derivative {
 public:
  // `instead` maps the operators of the program to those that run; NULL: they run themselves.
  using Instead = const TlOperator* (*)(const TlOperator*);
  explicit Derivative(const TlProgram& program, Instead instead = nullptr)
      : program(program), instead_(instead) {}

  const TlProgram& program;
  // The block that makes a target's gradient.
  int block_of(int target) const;
  const std::vector<const TlOperator*>& ops() const;  // resolved at first use

 private:
  Instead instead_;
  mutable std::vector<const TlOperator*> ops_;
  mutable std::atomic<bool> resolved_{false};
};

// What one run of a program reads. `first_edge` has a target's first edge and one entry more.
struct Inputs {
  const TlValue* saved;
  TlTensor* const* grads;
  uint32_t n_grads;
  const uint8_t* needs;  // one an edge
  const uint32_t* first_edge;
  const TensorMeta* results;  // of the results, for gradients that are undefined in a list; may be NULL
};

// Writes an owned gradient, or leaves NULL, for each needed edge.
void run_program(const Derivative& derivative, const Inputs& in, TlTensor** out);
// The same for a program whose results are those of an operator: owned values, lists of tensors among them.
void run_program_values(const Derivative& derivative, const Inputs& in, TlValue* values);

bool target_needed(const Inputs& in, int target);
bool block_needed(const Derivative& derivative, const Inputs& in, int block);

}  // namespace tl::autograd
