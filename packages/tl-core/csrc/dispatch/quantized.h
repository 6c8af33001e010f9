// Calls with quantized tensors, which the layer `stored` hands over: kernels of views, rules in C++ for
// frequent calls, and rules in Python for all others.
#pragma once

#include "dispatch/operator.h"

namespace tl {

bool any_quantized(const TlValue* args, int n_args);

// Runs the rule of an operator in Python. The results of a functional call are empty before, those of others
// the written tensors.
using QuantizedRules = void (*)(const Operator& op, const TlValue* args, int n_args, TlValue* rets,
                                int n_rets);
void set_quantized_rules(QuantizedRules rules);

// A rule in C++: whether it took the call.
struct NativeQuantizedRule {
  const char* op;
  bool (*run)(const TlValue* args, TlValue* rets);
};
extern const NativeQuantizedRule kNativeQuantizedRules[];  // ends with a rule without a name

// An operator and its rule in C++.
struct QuantizedCall {
  const Operator* op;
  const NativeQuantizedRule* rule;
};

// `native` may be null.
int run_quantized(const Operator& op, const NativeQuantizedRule* native, const TlValue* args, int n_args,
                  TlValue* rets, int n_rets) noexcept;

}  // namespace tl
