// Steps of a tape that follow each other, as a program over elements: what only they read is never in memory.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "plan.h"
#include "replay/tape_step.h"

namespace tl::compiler {

class Fusion {
 public:
  static constexpr int64_t kMostElements = 16384;  // of a tensor; larger work gives up the interpreter's lock

  // The steps [begin, end) of the tape.
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  // The steps between that run as they are, after the program: views that others read.
  const std::vector<size_t>& views() const { return views_; }
  const std::vector<int>& dead() const { return dead_; }
  // Puts the results into their slots. False: the tensors are others than the program is for.
  bool run(Slots& slots);

 private:
  friend class FusionWriter;

  // A tensor that the program reads: of a slot, or one that the tape holds.
  struct Source {
    Node node;
    Geometry geometry;
    int64_t dtype;
  };
  size_t begin_ = 0, end_ = 0;
  std::vector<Source> sources_;
  std::vector<int> results_;  // the slots of the results
  std::vector<size_t> views_;
  std::vector<int> dead_;
  std::unique_ptr<Plan> plan_;
  std::vector<const char*> addresses_;  // of one run
  std::vector<Tensor> tensors_;         // the results of one run
};

// Watches one run of a tape, and finds what can be fused.
class FusionWriter {
 public:
  FusionWriter(const std::vector<TapeStep>& steps, const Node& output, int n_slots)
      : steps_(steps), output_(output), n_slots_(static_cast<size_t>(n_slots)) {}
  // A step is about to run, and has run.
  void before(size_t step, const Slots& slots);
  void after(size_t step, const Slots& slots);
  std::vector<std::unique_ptr<Fusion>> finish();

 private:
  enum class Kind { Loop, View, Same };
  struct Item {
    size_t step;
    Kind kind;
    int last = -1;  // Loop: the step of the program that computes the result
  };
  struct Result {
    int step;  // of the program
    int64_t dtype;
  };

  bool describe(size_t step, const Slots& slots);
  bool is_cast(const TlOperatorInfo& info, const TapeStep& step) const;
  const TlOperator* write_cast(int64_t dtype);
  bool add(const TapeStep& step, TlTensor* result);
  bool add_loops(const TapeStep& step, TlTensor* result);
  bool add_view(const TapeStep& step, TlTensor* result);
  bool connect(Operand& operand, const TapeStep& step, int first);
  int source_of(const Node& node, TlTensor* t);
  void close(size_t end);
  std::vector<char> slots_read_after(size_t end) const;
  void begin_again();

  const std::vector<TapeStep>& steps_;
  const Node& output_;
  size_t n_slots_;
  std::vector<std::unique_ptr<Fusion>> fusions_;
  // the run of steps
  std::vector<Item> items_;
  std::vector<Step> program_;
  std::vector<Fusion::Source> sources_;
  std::unordered_map<const void*, Result> results_;  // by storage
  std::unordered_map<int, Fusion::Source> roots_;    // of views: what they are views of, by slot
  std::vector<Tensor> alive_;                        // so that no storage is used twice
  // the step
  std::vector<TlTensor*> tensors_;
  std::vector<Tensor> owners_;  // of the same tensors: the step may release its arguments
  std::vector<TlValue> args_;
  std::vector<Step> loops_;
  int64_t result_ = -1;  // the loop that computes the result
  bool is_candidate_ = false;
};

}  // namespace tl::compiler
