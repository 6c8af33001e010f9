// One call over many tensors: an operator called for every element of the lists.
#include <array>

#include "ops.h"

namespace tl {

namespace {
constexpr int kMostArguments = 8;

// The length all lists share; raises unless there is one.
size_t common_length(const TlValue* args, int n_args) {
  const size_t length = args[0].tag == TL_TENSOR_LIST ? args[0].len : args[1].len;
  TL_CHECK(length > 0, Runtime, "Tensor list must have at least one tensor.");
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_TENSOR_LIST)
      TL_CHECK(args[i].len == length, Runtime, "Tensor lists must have the same number of tensors, got ",
               length, " and ", args[i].len);
    if (args[i].tag == TL_SCALAR_LIST)
      TL_CHECK(args[i].len == length, Runtime,
               "Tensor list must have same number of elements as scalar list, got ", length, " and ",
               args[i].len);
  }
  return length;
}

// What the element's operator gets in the place of a list.
TlValue element(const TlValue& v, size_t i) {
  if (v.tag == TL_TENSOR_LIST) return value(static_cast<const Tensor*>(v.u.p)[i]);
  return v.tag == TL_SCALAR_LIST ? static_cast<const TlValue*>(v.u.p)[i] : v;
}

void call_each(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const size_t length = common_length(args, n_args);
  std::array<TlValue, kMostArguments> call_args;
  std::copy_n(op.defaults, op.info.n_args, call_args.begin());
  std::vector<Tensor> results;
  results.reserve(n_rets ? length : 0);
  for (size_t i = 0; i < length; ++i) {
    for (int k = 0; k < n_args; ++k) call_args[k] = element(args[k], i);
    TlValue result[2] = {};
    if (call(op, call_args.data(), op.info.n_args, result, op.info.n_rets) != 0) throw_pending();
    Tensor made = TakeResult<Tensor>::take(result[0]);
    if (n_rets) results.push_back(std::move(made));
  }
  if (n_rets) rets[0] = owned(std::move(results));
}
}  // namespace

// Of every row `_foreach_…`; the context is the operator of one element.
int kernel_foreach(void* context, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  try {
    call_each(*static_cast<const Operator*>(context), args, n_args, rets, n_rets);
    return 0;
  } catch (...) {
    set_pending_from_current_exception();
    return -1;
  }
}

}  // namespace tl
