// Sparse dispatch: a row's own kernel on the layer `sparse`, else its Python rule on `sparse_parts`.
#include "dispatch/sparse.h"

#include "base/thread_local.h"
#include "dispatch/python.h"
#include "dispatch/shrunk_storages.h"
#include "dispatch/tensors.h"
#include "dispatch/thread_state.h"
#include "tensor/sparse.h"

namespace tl {

namespace {
SparseRules g_rules = nullptr;

// Kernels read the parts, whose storages have bits of their own.
bool reach_beyond(const TlValue* args, int n_args) {
  return g_any_shrunk_storage.load(std::memory_order_relaxed) &&
         guarded([&] { check_inside_storages(args, n_args); }) != 0;
}

int run_kernel(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  if (reach_beyond(args, n_args)) return -1;
  const Operator& op = *static_cast<const Operator*>(ctx);
  return call_kernel(op, op.sparse, args, n_args, rets, n_rets);
}

bool any_sparse(const TlValue* args, int n_args, bool (*holds)(const Tensor&)) {
  return any_tensor(args, n_args, [&](const Tensor& t) { return t.is_sparse() && holds(t); });
}

// A rule reads parts, which a fake does not have: its class computes what the whole operator returns.
// Operators that the layers below take as they are reach the class there, and are recorded on the way.
int run_on_hollow(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  if (!op.info.is_composite && !op.info.is_view)
    return call_past(op, TL_LAYER_SPARSE_PARTS, args, n_args, rets, n_rets);
  return guarded([&] { run_by_handlers(op, args, n_args, rets, n_rets); });
}

int run_rule(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  if (any_sparse(args, n_args, is_hollow))
    return run_on_hollow(*static_cast<const Operator*>(ctx), args, n_args, rets, n_rets);
  return call_kernel(*static_cast<const Operator*>(ctx), {kernel_sparse_rule, ctx}, args, n_args, rets,
                     n_rets);
}

struct NativeCall {
  const Operator* op;
  const NativeSparseRule* rule;
};

int run_native(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  if (reach_beyond(args, n_args)) return -1;
  const NativeCall& native = *static_cast<const NativeCall*>(ctx);
  bool taken = false;
  if (guarded([&] {
        taken = !any_sparse(args, n_args, is_hollow) &&
                !(records_gradients() && reads_dense_gradient(args, n_args)) && native.rule->run(args, rets);
      }) != 0)
    return -1;
  if (taken) return 0;
  return run_rule(const_cast<Operator*>(native.op), args, n_args, rets, n_rets);
}

// NULL where the rule is in Python only. What it returns lives as long as the process.
NativeCall* native_call(const Operator& op) {
  for (const NativeSparseRule* rule = kNativeSparseRules; rule->op; ++rule)
    if (std::string_view(op.info.name) == rule->op) return new NativeCall{&op, rule};
  return nullptr;
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {op->sparse.call ? run_kernel : run_rule, const_cast<TlOperator*>(op)};
  return 0;
}

int bind_parts(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {op->sparse.call ? nullptr : run_rule, const_cast<TlOperator*>(op)};
  if (op->sparse.call) return 0;
  if (NativeCall* native = native_call(*op)) *out = {run_native, native};
  return 0;
}
}  // namespace

void set_sparse_rules(SparseRules rules) { g_rules = rules; }

bool records_gradients() { return grad_enabled() && !(thread_locals().excluded >> TL_LAYER_AUTOGRAD & 1); }

bool reads_dense_gradient(const TlValue* args, int n_args) {
  return any_sparse(args, n_args, has_dense_gradient);
}

int kernel_sparse_rule(void* op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] {
    TL_CHECK(g_rules, NotImplemented, "sparse tensors need the Python package tl_core");
    g_rules(*static_cast<const Operator*>(op), args, n_args, rets, n_rets);
  });
}

void install_sparse() {
  install_layer(TL_LAYER_SPARSE, bind, nullptr);
  install_layer(TL_LAYER_SPARSE_PARTS, bind_parts, nullptr);
}

}  // namespace tl
