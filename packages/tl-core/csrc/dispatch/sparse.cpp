#include "dispatch/sparse.h"

#include "dispatch/operator.h"

namespace tl {

namespace {
int run(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Operator& op = *static_cast<const Operator*>(ctx);
  return call_kernel(op, op.sparse, args, n_args, rets, n_rets);
}

int refuse(void* ctx, const TlValue*, int, TlValue*, int) noexcept {
  return guarded([&] {
    fail(ErrorKind::NotImplemented, {"'", static_cast<const Operator*>(ctx)->info.name,
                                     "' is not implemented for tensors of the layout torch.sparse_coo; "
                                     "to_dense() makes a tensor that all operators take"});
  });
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {op->sparse.call ? run : refuse, const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

void install_sparse() { install_layer(TL_LAYER_SPARSE, bind, nullptr); }

}  // namespace tl
