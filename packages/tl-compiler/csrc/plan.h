// A program's plan: its groups, and a pass for each. The plans of programs that were met are kept.
#pragma once

#include <memory>
#include <vector>

#include "pass.h"
#include "placement.h"
#include "row_pass.h"

namespace tl::compiler {

// Inputs that nobody else holds, whose memory a result may take over.
struct SpareInputs {
  std::vector<char> flags;      // one an input
  bool is_interrupted = false;  // an error is pending that came while an input was overwritten: the run ended
};

class Plan {
 public:
  Plan(std::vector<Step> steps, std::vector<int> wanted);
  Plan(const Plan&) = delete;

  // The memory of the wanted results; throws where there is none.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, SpareInputs& spare);
  // The same for inputs at these addresses, which the offsets of operands count from. Only for a plan that
  // computes without calls on whole tensors, and whose wanted results lie in the order of their indices.
  void run_here(const std::vector<const char*>& inputs, std::vector<Tensor>& results);
  bool has_calls() const;

 private:
  // How a group is computed: by one of the passes, or by its call.
  struct Work {
    std::unique_ptr<Pass> pass;
    std::unique_ptr<RowPass> rows;
  };
  struct Memory {
    std::vector<const char*> inputs;
    std::vector<Tensor> tensors;  // one a step; none in the arena
    std::vector<char*> results;
    Tensor arena;
  };

  void call(const Group& group, const std::vector<Tensor>& inputs, Memory& memory) const;
  void allocate(const Group& group, Memory& memory) const;
  bool take_inputs(const std::vector<Tensor>& inputs, SpareInputs& spare, Memory& memory) const;
  template <class P>
  void run(P& pass, const Group& group, Memory& memory) const;
  void run_last(const std::vector<Tensor>& inputs, SpareInputs& spare, Memory& memory) const;

  std::vector<Step> steps_;
  std::vector<int> wanted_;
  Division division_;
  Placement placement_;
  std::vector<Work> work_;  // one a group
  Memory memory_;           // of `run_here`, whose arena stays for the next time
};

// The plan for a program, of this thread. `key` says all that the program consists of; where it is empty, the
// plan is not kept. The plan is good until the next call.
Plan& plan_for(const Program& program, const std::vector<int>& wanted, std::vector<uint64_t> key);

}  // namespace tl::compiler
