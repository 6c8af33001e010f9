// Room 2: which layers want a call, and which backend runs it.
#include <algorithm>
#include <bit>
#include <string_view>

#include "base/thread_local.h"
#include "dispatch/cpu_fallback.h"
#include "dispatch/layer_order.h"
#include "dispatch/operator.h"
#include "dispatch/out_overlap.h"
#include "dispatch/tensors.h"
#include "dispatch/thread_state.h"

namespace tl {

namespace {
struct Key {
  uint64_t bits = 0;
  uint32_t types = 0;  // a bit for each type of device

  void meet(const TensorImpl& t) {
    bits |= t.all_bits();
    meet(static_cast<int>(t.device.type));
  }
  void meet(int type) { types |= uint32_t{1} << type; }
  void meet_option(const TlValue& v) {
    if (v.tag == TL_DTYPE)
      bits |= uint64_t{is_stored_code(v.u.i)} << TL_LAYER_STORED;
    else if (const int row = device_row(v.u.i); row >= 0)
      meet(row);
  }
  int device() const { return std::bit_width(types) - 1; }  // negative: none
  bool mixed() const { return (types & (types - 1)) != 0; }
};
static_assert(kNumDeviceTypes <= 32);

inline Key scan(const TlValue* args, int n_args) {
  Key key;
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_TENSOR) {
      key.meet(*reinterpret_cast<const TensorImpl*>(args[i].u.t));
    } else if (args[i].tag == TL_TENSOR_LIST) {
      auto* list = static_cast<const TensorImpl* const*>(args[i].u.p);
      for (uint32_t k = 0; k < args[i].len; ++k)
        if (list[k]) key.meet(*list[k]);
    } else if (args[i].tag == TL_DEVICE || args[i].tag == TL_DTYPE) {
      key.meet_option(args[i]);
    }
  }
  return key;
}

// Two accelerators, or memory and none, have no common kernel; the plan says so with the argument's name.
const KernelEntry& kernel_for(const Operator& op, int device) {
  static constexpr KernelEntry nothing{};
  if (device < 0) device = static_cast<int>(default_device().type);
  return device < kNumDeviceTypes ? op.kernels[device] : nothing;
}

template <class F>
void each_written(const Operator& op, const TlValue* args, F f) {
  for (uint64_t mask = op.written_mask; mask; mask &= mask - 1) {
    for (TensorImpl* t : tensors_of(args[std::countr_zero(mask)]))
      if (t) f(*t);
  }
}

// Lookups in a table: on meta they read no index.
bool looks_up(const Operator& op) {
  static constexpr std::string_view kLookups[] = {"embedding", "embedding_dense_backward", "_embedding_bag",
                                                  "index_select", "gather"};
  return std::ranges::find(kLookups, std::string_view(op.info.name)) != std::end(kLookups);
}
bool is_index(const TlArgInfo& info) {
  const std::string_view name(info.name);
  return name == "index" || name == "indices" || name == "offsets";
}

// Indices may lie on the CPU: of tensors with elements only those of `index`, which brings them over.
[[gnu::cold, gnu::noinline]] void check_one_device(const Operator& op, const TlValue* args, int n_args) {
  const TensorImpl* first = nullptr;
  const auto meet = [&](const TensorImpl* t, int arg) {
    if (!first) first = t;
    if (first->device.is_meta() && t->device.is_cpu() && is_index(op.info.args[arg]) && looks_up(op)) return;
    TL_CHECK(t->device == first->device, Runtime, op.info.name,
             "(): Expected all tensors to be on the same device, but found at least two devices, ",
             device_name(first->device), " and ", device_name(t->device), "! (argument '",
             op.info.args[arg].name, "')");
  };
  for (int i = 0; i < n_args; ++i)
    for (const TensorImpl* t : tensors_of(args[i]))
      if (t && !(t->device.is_cpu() && op.info.args[i].kind == TL_ARG_OPTIONAL_TENSOR_LIST)) meet(t, i);
}

void check_writable(const TensorImpl& t) {
  TL_CHECK(!(t.storage && t.storage->read_only), Runtime,
           "this tensor's memory is read-only: clone() it to change it");
  TL_CHECK(!t.has(TensorImpl::Inference) || inference_mode(), Runtime,
           "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to "
           "get a normal "
           "tensor before doing inplace update.");
}

int run_writing(const Operator& op, const KernelEntry& k, const TlValue* args, int n_args, TlValue* rets,
                int n_rets) {
  int n_in = n_args;
  if (op.info.variant == TL_INPLACE) {
    if (n_rets) rets[0] = args[0];
  } else {
    n_in -= n_rets;
    for (int i = 0; i < n_rets; ++i) rets[i] = args[n_in + i];
  }
  const AliasedOuts aliased(args, n_in, n_args - n_in);
  const int status = k.call(k.ctx, args, n_in, rets, n_rets);
  if (status != 0) {
    for (int i = 0; i < n_rets; ++i) rets[i] = none();
    return status;
  }
  each_written(op, args, [](TensorImpl& t) { bump_version(t); });
  return 0;
}

[[gnu::noinline]] int run_checked(const Operator& op, const Key& key, const KernelEntry& k,
                                  const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (key.mixed() && op.one_device)
    if (guarded([&] { check_one_device(op, args, n_args); }) != 0) return -1;
  if (k.call) return call_kernel(op, k, args, n_args, rets, n_rets);
  if (guarded([&] { each_written(op, args, check_writable); }) != 0) return -1;
  const DeviceType device = key.device() < 0 ? default_device().type : static_cast<DeviceType>(key.device());
  return run_without_kernel(op, device, args, n_args, rets, n_rets);
}

inline int run_backend(const Operator& op, const Key& key, const TlValue* args, int n_args, TlValue* rets,
                       int n_rets) {
  const KernelEntry& k = kernel_for(op, key.device());
  if (op.info.variant == TL_FUNCTIONAL && k.call && !key.mixed()) [[likely]]
    return k.call(k.ctx, args, n_args, rets, n_rets);
  return run_checked(op, key, k, args, n_args, rets, n_rets);
}

// Part of every call: inlined into the three forms of it.
[[gnu::always_inline]] inline int call_without(const Operator& op, const ThreadLocals& tls, uint64_t excluded,
                                               const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const Key key = scan(args, n_args);
  const uint64_t mask = (key.bits | included_layers(tls)) & ~excluded & op.layer_mask;
  if (mask == 0) [[likely]]
    return run_backend(op, key, args, n_args, rets, n_rets);
  const TlLayerEntry& layer = op.layers[first_layer(mask)];
  return layer.call(layer.ctx, args, n_args, rets, n_rets);
}
}  // namespace

int call_kernel(const Operator& op, const KernelEntry& k, const TlValue* args, int n_args, TlValue* rets,
                int n_rets) noexcept {
  if (op.info.variant == TL_FUNCTIONAL) return k.call(k.ctx, args, n_args, rets, n_rets);
  if (guarded([&] { each_written(op, args, check_writable); }) != 0) return -1;
  return run_writing(op, k, args, n_args, rets, n_rets);
}

int call(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const ThreadLocals& tls = thread_locals();
  return call_without(op, tls, tls.excluded, args, n_args, rets, n_rets);
}

int call_below(const Operator& op, int layer, const TlValue* args, int n_args, TlValue* rets,
               int n_rets) noexcept {
  ThreadLocals& tls = thread_locals();
  const uint64_t saved = tls.excluded;
  tls.excluded |= down_to(layer);
  const int status = call_without(op, tls, tls.excluded, args, n_args, rets, n_rets);
  tls.excluded = saved;
  return status;
}

int call_past(const Operator& op, int layer, const TlValue* args, int n_args, TlValue* rets,
              int n_rets) noexcept {
  const ThreadLocals& tls = thread_locals();
  return call_without(op, tls, tls.excluded | down_to(layer), args, n_args, rets, n_rets);
}

}  // namespace tl
