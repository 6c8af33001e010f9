// Aliased out= tensors: where one is also an input, the kernel writes a tensor of its own, copied afterwards.
#include "dispatch/out_overlap.h"

#include <algorithm>

#include "dispatch/tensors.h"

namespace tl {

namespace {
thread_local const AliasedOuts* t_innermost = nullptr;

bool holds(const TlValue& v, const TlTensor* t) {
  const auto tensors = tensors_of(v);
  return std::ranges::find(tensors, reinterpret_cast<const TensorImpl*>(t)) != tensors.end();
}
}  // namespace

AliasedOuts::AliasedOuts(const TlValue* args, int n_inputs, int n_outs) : around_(t_innermost) {
  for (int i = n_inputs; i < n_inputs + n_outs && count_ < kMost; ++i)
    if (args[i].tag == TL_TENSOR &&
        std::any_of(args, args + n_inputs, [&](const TlValue& v) { return holds(v, args[i].u.t); }))
      outs_[count_++] = reinterpret_cast<const TensorImpl*>(args[i].u.t);
  if (count_) t_innermost = this;
}
AliasedOuts::~AliasedOuts() {
  if (count_) t_innermost = around_;
}

bool AliasedOuts::has(const Tensor& out) {
  for (const AliasedOuts* call = t_innermost; call; call = call->around_)
    if (std::find(call->outs_, call->outs_ + call->count_, out.impl()) != call->outs_ + call->count_)
      return true;
  return false;
}

}  // namespace tl
