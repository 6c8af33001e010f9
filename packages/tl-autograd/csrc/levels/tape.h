// The calls of a level of tangents, kept so that other tangents can go through them.
#pragma once

#include <vector>

#include "levels/rule.h"

namespace tl::autograd {

class TapeCall {
 public:
  TapeCall(const Rule& rule, const TlValue* args, int n_args, const TlValue* rets, int n_rets);
  TapeCall(TapeCall&& o) noexcept = default;
  ~TapeCall();

  const Rule& rule;
  std::vector<TlValue> args, rets;
};

struct Tape {
  std::vector<TapeCall> calls;
  bool whole = true;  // no function of a user went its own way
};

// Gives the results of every call the tangents that those of its arguments at `level` make.
void replay(const Tape& tape, Level& level);
// Drops the tangents of levels that have ended.
void clean(const Tape& tape);

}  // namespace tl::autograd
