// out= tensors that are inputs of the same call: a kernel that gave them another shape would read what is not
// there.
#pragma once

#include "dispatch/operator.h"

namespace tl {

// Notes those of one call while it runs, and of the calls around it.
class AliasedOuts {
 public:
  AliasedOuts(const TlValue* args, int n_inputs, int n_outs);
  ~AliasedOuts();
  AliasedOuts(const AliasedOuts&) = delete;

  // Whether a call of this thread that has not ended reads `out`.
  static bool has(const Tensor& out);

 private:
  static constexpr int kMost = 4;
  const AliasedOuts* around_;
  const TensorImpl* outs_[kMost];
  int count_ = 0;
};

}  // namespace tl
