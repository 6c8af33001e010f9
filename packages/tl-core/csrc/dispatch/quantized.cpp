// Quantized dispatch: views keep the quantizer by themselves, other operators have a rule.
#include "dispatch/quantized.h"

#include <string_view>

#include "dispatch/tensors.h"
#include "tensor/hollow.h"
#include "tensor/quantizer.h"

namespace tl {

namespace {
QuantizedRules g_rules = nullptr;

bool is_per_channel(const Tensor& t) { return has_quantizer(t) && quantizer_of(*t.impl())->is_per_channel(); }

int run_rule(void* op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] {
    TL_CHECK(g_rules, NotImplemented, "quantized tensors need the Python package tl_quantization");
    g_rules(*static_cast<const Operator*>(op), args, n_args, rets, n_rets);
  });
}

int run_native(void* call, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const auto& [op, native] = *static_cast<const QuantizedCall*>(call);
  bool taken = false;
  if (guarded([&] { taken = native->run(args, rets); }) != 0) return -1;
  return taken ? 0 : run_rule(const_cast<Operator*>(op), args, n_args, rets, n_rets);
}
}  // namespace

void set_quantized_rules(QuantizedRules rules) { g_rules = rules; }

bool any_quantized(const TlValue* args, int n_args) { return any_tensor(args, n_args, has_quantizer); }

int run_quantized(const Operator& op, const NativeQuantizedRule* native, const TlValue* args, int n_args,
                  TlValue* rets, int n_rets) noexcept {
  // An operator that a program or a package has defined takes the tensors as they are.
  const bool takes_all = op.added || any_tensor(args, n_args, is_hollow);
  if (takes_all || (op.info.is_view && !any_tensor(args, n_args, is_per_channel)))
    return call_past(op, TL_LAYER_STORED, args, n_args, rets, n_rets);
  if (!native) return call_kernel(op, {run_rule, const_cast<Operator*>(&op)}, args, n_args, rets, n_rets);
  QuantizedCall rule{&op, native};
  return call_kernel(op, {run_native, &rule}, args, n_args, rets, n_rets);
}

}  // namespace tl
