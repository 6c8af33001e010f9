// Tensors of the sparse layouts. An operator whose row names a kernel for them is recorded like any other,
// and the layer `sparse` calls that kernel. For any other a rule in Python, made of other operators, stands
// above `autograd`, on the layer `sparse_parts`: it is differentiated through its parts.
#pragma once

#include <string_view>

#include "dispatch/operator.h"

namespace tl {

void install_sparse();  // once, after the operators

// Runs the rule of an operator; what in-place and out= calls need around it is done. NULL rets of a
// functional call, the written tensors of any other.
using SparseRules = void (*)(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets);
void set_sparse_rules(SparseRules rules);

// A rule in C++ for calls that are frequent and short, made of operators like the others: whether it took the
// call.
struct NativeSparseRule {
  const char* op;
  bool (*run)(const TlValue* args, TlValue* rets);
};
extern const NativeSparseRule kNativeSparseRules[];  // ends with a rule without a name

bool records_gradients();  // calls of this thread, by autograd

// Whether the gradient of a sparse argument is read beyond the elements that it stores: then its parts are
// not enough for a call that is recorded.
bool reads_dense_gradient(const TlValue* args, int n_args);

// The rule in place of a kernel.
int kernel_sparse_rule(void* op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept;

// The rule of an operator by name: raises tl::Error.
template <class R, class... A>
R call_sparse_rule(std::string_view name, const A&... a) {
  const Operator& op = operator_named(name);
  constexpr int n_rets = detail::result_count<R>();
  const TlValue args[sizeof...(A) + 1] = {value(a)...};
  TlValue rets[n_rets + 1] = {};
  if (kernel_sparse_rule(const_cast<Operator*>(&op), args, sizeof...(A), rets, n_rets) != 0) throw_pending();
  return detail::take_results<R>(rets);
}

}  // namespace tl
