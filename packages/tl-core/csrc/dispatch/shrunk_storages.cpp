// The layer of storages that were made smaller. It is installed with the first of them; until then no
// operator knows it.
#include "dispatch/shrunk_storages.h"

#include <mutex>

#include "dispatch/operator.h"
#include "dispatch/tensors.h"
#include "tensor/shrunk.h"
#include "tensor/sparse.h"

namespace tl {

namespace {
void check(const TensorImpl& t) {
  if (t.layout == Layout::Strided) return check_inside_storage(t);
  const SparseParts& parts = parts_of(t);
  for (const Tensor* part : {&parts.indices, &parts.values, &parts.compressed})
    if (*part) check_inside_storage(*part->impl());
}

int run(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Operator& op = *static_cast<const Operator*>(ctx);
  if (guarded([&] { check_inside_storages(args, n_args); }) != 0) return -1;
  return call_past(op, kShrunkLayer, args, n_args, rets, n_rets);
}

// Of operators that came later, those made of others and those in Python read by operators that are asked.
int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  const bool reads = op->added ? !op->info.is_composite && !op->in_python : kReadsElements[op - g_operators];
  *out = {reads ? run : nullptr, const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

std::atomic<bool> g_any_shrunk_storage{false};

void check_inside_storages(const TlValue* args, int n_args) {
  for (int i = 0; i < n_args; ++i)
    for (const TensorImpl* t : tensors_of(args[i]))
      if (t) check(*t);
}

void resize_used_storage(Storage& storage, size_t bytes) {
  static std::once_flag once;
  if (bytes < storage.bytes) {
    std::call_once(once, [] { install_layer(kShrunkLayer, bind, nullptr); });
    g_any_shrunk_storage.store(true, std::memory_order_relaxed);
    storage.bits.fetch_or(kShrunkBit, std::memory_order_relaxed);
  }
  resize_storage(storage, bytes);
}

}  // namespace tl
