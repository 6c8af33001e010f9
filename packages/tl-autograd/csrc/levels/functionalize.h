// A level without writes: a write to a wrapper gives it another value, and with it every wrapper that shares
// memory.
#pragma once

#include <memory>
#include <vector>

#include "levels/entry.h"
#include "levels/rule.h"

namespace tl::autograd {

// A call that took a view: its operator, its arguments without the tensor, and which of its results it was.
struct ViewStep {
  ViewStep(const Rule& rule, const TlValue* args, int n_args, int source, int output, bool copies);
  ~ViewStep();
  ViewStep(const ViewStep&) = delete;

  Tensor applied(TlTensor* t) const;
  // The same view of memory, in no level.
  Tensor of_memory(TlTensor* t) const;
  // What `t` is once this view of it is `v`.
  Tensor undone(TlTensor* t, TlTensor* v) const;

  const Rule& rule;
  int source, output;  // output: of a list of views; -1: the only one
  bool copies;         // of values: the level removes views

 private:
  std::vector<TlValue> with(TlTensor* t) const;
  std::vector<TlValue> args_;
};

// All wrappers that share memory: what it holds, and how often it was written.
struct AliasGroup {
  Tensor base;
  uint64_t writes = 0;
};

// Where a wrapper stands in its group: the views from the base on, and after which write it has its value.
struct FunctionalPosition {
  std::shared_ptr<AliasGroup> group;
  std::vector<std::shared_ptr<const ViewStep>> steps;
  uint64_t seen = 0;
};

Tensor wrap_alone(TlTensor* value, const Level& level);  // in a group of its own
// The value as it is now; `wrapper` is one of a level without writes.
Tensor current_value(TlTensor* wrapper);
bool was_written(const TlTensor* wrapper);  // it or one that shares its memory

}  // namespace tl::autograd
