// Substituted calls: copies the argument array, replaces tensors in it, writes back those that were changed.
#include "dispatch/substituted_call.h"

#include "dispatch/tensors.h"
#include "tensor/geometry.h"

namespace tl {

void SubstitutedCall::run(TlValue* rets, int n_rets) {
  const int n_args = static_cast<int>(args_.size());
  for (int i = 0; i < n_args; ++i) replace(i);
  check();
  if (call(args_.data(), n_args, rets, n_rets) != 0) throw_pending();
  for (int i = 0; i < n_args; ++i)
    if (op_.written_mask >> i & 1) put_back(i);
  deliver(rets, n_rets);
}

TensorImpl* SubstitutedCall::replaced(TensorImpl* t, int arg) {
  Tensor other = t ? stand_in(Tensor::share(t), arg) : Tensor();
  if (!other) return t;
  keep_.push_back(std::move(other));
  return keep_.back().impl();
}

void SubstitutedCall::replace(int arg) {
  TlValue& v = args_[arg];
  if (v.tag == TL_TENSOR) {
    v.u.t = reinterpret_cast<TlTensor*>(replaced(reinterpret_cast<TensorImpl*>(v.u.t), arg));
  } else if (v.tag == TL_TENSOR_LIST) {
    const auto list = tensors_of(v);
    auto& copy = lists_.emplace_back(list.begin(), list.end());
    for (auto& t : copy) t = replaced(t, arg);
    v.u.p = copy.data();
  } else {
    replace_other(v);
  }
}

void SubstitutedCall::put_back(int arg) {
  const auto given = tensors_of(originals_[arg]), written = tensors_of(args_[arg]);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == written[i]) continue;
    const Tensor dst = Tensor::share(given[i]), src = Tensor::share(written[i]);
    if (!std::ranges::equal(dst.sizes(), src.sizes())) resize(dst, src.sizes());
    write_back(dst, src);
  }
}

// A result that is a written argument is the one that was given.
void SubstitutedCall::deliver(TlValue* rets, int n_rets) const {
  const int first_out = static_cast<int>(args_.size()) - n_rets;
  for (int i = 0; i < n_rets; ++i) {
    if (op_.info.variant == TL_FUNCTIONAL) {
      lift(rets[i]);
      continue;
    }
    const TlValue& given = originals_[op_.info.variant == TL_INPLACE ? 0 : first_out + i];
    release(rets[i]);
    rets[i] = owned(Tensor::share(reinterpret_cast<TensorImpl*>(given.u.t)));
  }
}

}  // namespace tl
