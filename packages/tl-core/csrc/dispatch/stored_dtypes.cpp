// Storage-only dtypes: refuses calls with dtypes that the row's bit set doesn't have. Quantized tensors have
// rules.
#include "dispatch/stored_dtypes.h"

#include "dispatch/operator.h"
#include "dispatch/quantized.h"
#include "dispatch/tensors.h"
#include "iter/dtypes.h"

namespace tl {

namespace {
template <class F>
void each_dtype(const TlValue* args, int n_args, F f) {
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_DTYPE) f(dtype_from_abi(args[i].u.i));
    for (const TensorImpl* t : tensors_of(args[i]))
      if (t) f(t->dtype);
  }
}

// Of operands of two types, the pair is at fault.
[[noreturn]] void refuse(const Operator& op, DType dtype, const TlValue* args) {
  for (int i = 0; i + 1 < op.info.n_args && i < 2; ++i)
    if (args[i].tag == TL_TENSOR && args[i + 1].tag == TL_TENSOR && !op.written_mask)
      promote(reinterpret_cast<const TensorImpl*>(args[i].u.t)->dtype,
              reinterpret_cast<const TensorImpl*>(args[i + 1].u.t)->dtype);
  fail(ErrorKind::NotImplemented, "\"", op.reported, "\" not implemented for '", scalar_type_name(dtype),
       "'");
}

int check(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const auto check_dtype = [&](DType d) {
    if (is_stored_only(d) && !(op.stored & stored_kind(d))) refuse(op, d, args);
  };
  if (guarded([&] { each_dtype(args, n_args, check_dtype); }) != 0) return -1;
  return call_past(op, TL_LAYER_STORED, args, n_args, rets, n_rets);
}

int run(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Operator& op = *static_cast<const Operator*>(ctx);
  if (any_quantized(args, n_args)) return run_quantized(op, nullptr, args, n_args, rets, n_rets);
  return check(op, args, n_args, rets, n_rets);
}

int run_native(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const auto& [op, rule] = *static_cast<const QuantizedCall*>(ctx);
  if (any_quantized(args, n_args)) return run_quantized(*op, rule, args, n_args, rets, n_rets);
  return check(*op, args, n_args, rets, n_rets);
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {run, const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

void install_stored_dtypes() {
  install_layer(TL_LAYER_STORED, bind, nullptr);
  for (const NativeQuantizedRule* rule = kNativeQuantizedRules; rule->op; ++rule) {
    const Operator& op = operator_named(rule->op);
    set_own_entry(op, TL_LAYER_STORED, {run_native, new QuantizedCall{&op, rule}});  // lives with the process
  }
}

}  // namespace tl
