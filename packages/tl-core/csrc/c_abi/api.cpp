// The functions behind the table of `tl/c_api.h`: handles become typed tensors, exceptions the pending error.
#include "c_abi/api.h"

#include <cstring>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "c_abi/call_checks.h"
#include "dispatch/cpu_fallback.h"
#include "dispatch/operator.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "ops/shared/loop_recorder.h"
#include "tensor/device_registry.h"
#include "tensor/pending.h"
#include "tensor/slots.h"
#include "tensor/view_origin.h"
#include "tensor/weak.h"
#include "tl/view_flags.h"

namespace tl::c_abi {

namespace {
TensorImpl* impl(TlTensor* t) { return reinterpret_cast<TensorImpl*>(t); }
const TensorImpl* impl(const TlTensor* t) { return reinterpret_cast<const TensorImpl*>(t); }
const Tensor& tensor(TlTensor* const& t) { return reinterpret_cast<const Tensor&>(t); }
TlTensor* handle(Tensor t) { return reinterpret_cast<TlTensor*>(t.detach_handle()); }

template <class F>
TlTensor* made(F&& body) {
  TlTensor* out = nullptr;
  guarded([&] { out = handle(body()); });
  return out;
}

// ---- errors -----------------------------------------------------------------------------------------------
void error_set(int kind, const char* message) {
  guarded([&] { set_pending(static_cast<ErrorKind>(kind), message ? message : ""); });
}
int error_kind() { return static_cast<int>(pending_error().kind); }
const char* error_message() { return pending_error().message.c_str(); }
void error_clear() { pending_error() = {}; }
void* error_take() {
  void* out = nullptr;
  guarded([&] { out = new PendingError(std::move(pending_error())); });
  pending_error() = {};
  return out;
}
void error_drop(void* error) { delete static_cast<PendingError*>(error); }
void error_restore(void* error) {
  if (!error) return;
  pending_error() = std::move(*static_cast<PendingError*>(error));
  error_drop(error);
}

// ---- tensors ----------------------------------------------------------------------------------------------
void tensor_retain(TlTensor* t) { impl(t)->retain(); }
void tensor_release(TlTensor* t) {
  if (t) impl(t)->release();
}
int64_t tensor_refcount(TlTensor* t) { return impl(t)->refs.load(std::memory_order_acquire); }
int tensor_ndim(const TlTensor* t) { return impl(t)->ndim; }
const int64_t* tensor_sizes(const TlTensor* t) { return impl(t)->dims; }
const int64_t* tensor_strides(const TlTensor* t) { return impl(t)->dims + impl(t)->ndim; }
int64_t tensor_offset(const TlTensor* t) { return impl(t)->offset; }
int64_t tensor_numel(const TlTensor* t) { return impl(t)->numel; }
int64_t tensor_dtype(const TlTensor* t) { return dtype_to_abi(impl(t)->dtype); }
int64_t tensor_device(const TlTensor* t) { return device_to_abi(impl(t)->device); }
int tensor_layout(const TlTensor* t) { return static_cast<int>(impl(t)->layout); }
void* tensor_data(const TlTensor* t) { return opened_data(*impl(t)); }
int tensor_is_contiguous(const TlTensor* t) { return impl(t)->has(TensorImpl::Contiguous); }

TlTensor* tensor_empty(int ndim, const int64_t* sizes, int64_t dtype, int64_t device) {
  return made([&] {
    return empty(IntSpan(sizes, static_cast<size_t>(ndim)),
                 {dtype_from_abi(dtype), settled(device_from_abi(device))});
  });
}

struct Foreign {
  void (*free)(void*);
  void* ctx;
};
void free_foreign(void* ctx, void*, size_t) {
  auto* foreign = static_cast<Foreign*>(ctx);
  if (foreign->free) foreign->free(foreign->ctx);
  delete foreign;
}

TlTensor* tensor_from_memory(void* data, int ndim, const int64_t* sizes, const int64_t* strides,
                             int64_t dtype, int64_t device, void (*free)(void*), void* ctx) {
  return made([&] {
    const DType d = dtype_from_abi(dtype);
    const IntSpan n(sizes, static_cast<size_t>(ndim)), by(strides, static_cast<size_t>(ndim));
    int64_t last = checked_numel(n) ? 1 : 0;
    for (int i = 0; i < ndim && last; ++i) last += (n[i] - 1) * by[i];
    auto* foreign = new Foreign{free, ctx};
    StoragePtr s = adopt_storage(data, static_cast<size_t>(last * item_size(d)),
                                 settled(device_from_abi(device)), free_foreign, foreign);
    return on_storage(std::move(s), d, n, by, 0);
  });
}

TlTensor* tensor_alias(TlTensor* t) {
  return made([&] { return alias(tensor(t)); });
}
TlTensor* tensor_alias_as(TlTensor* t, int ndim, const int64_t* sizes, const int64_t* strides,
                          int64_t offset) {
  return made([&] {
    const auto n = static_cast<size_t>(ndim);
    Tensor again = alias(tensor(t));
    set_geometry(*again.impl(), IntSpan(sizes, n), IntSpan(strides, n), offset);
    return again;
  });
}
int tensor_assume(TlTensor* t, TlTensor* source, int ndim, const int64_t* sizes, const int64_t* strides,
                  int64_t offset) {
  return guarded([&] {
    TensorImpl &to = *impl(t), &from = *impl(source);
    if (to.storage != from.storage) {
      from.storage->refs.fetch_add(1, std::memory_order_relaxed);
      set_storage(to, StoragePtr::adopt(from.storage));
    }
    set_geometry(to, IntSpan(sizes, static_cast<size_t>(ndim)), IntSpan(strides, static_cast<size_t>(ndim)),
                 offset);
    toggle_conj_neg_bits(to, static_cast<uint16_t>(to.flags ^ from.flags) & TensorImpl::kConjNegBits);
  });
}
TlTensor* tensor_view_base(TlTensor* t) { return reinterpret_cast<TlTensor*>(impl(t)->base); }
int tensor_set_view_base(TlTensor* t, TlTensor* base) {
  if (!base) {
    drop_base(*impl(t));
    return 0;
  }
  impl(base)->retain();
  TensorImpl* old = std::exchange(impl(t)->base, impl(base));
  if (old) old->release();
  return 0;
}
const void* tensor_storage_id(const TlTensor* t) { return impl(t)->storage; }
int64_t tensor_storage_bytes(const TlTensor* t) {
  return impl(t)->storage ? static_cast<int64_t>(impl(t)->storage->bytes) : 0;
}
uint32_t tensor_version(const TlTensor* t) { return version(*impl(t)); }
void tensor_bump_version(TlTensor* t) { bump_version(*impl(t)); }
int tensor_is_inference(const TlTensor* t) { return impl(t)->has(TensorImpl::Inference); }
int64_t tensor_storage_refcount(const TlTensor* t) {
  return impl(t)->storage ? impl(t)->storage->refs.load(std::memory_order_acquire) : 0;
}
int tensor_view_flags(const TlTensor* t) {
  return (impl(t)->has(TensorImpl::MultiOutputView) ? TL_VIEW_MULTI_OUTPUT : 0) |
         (impl(t)->has(TensorImpl::NoGradView) ? TL_VIEW_NO_GRAD : 0) |
         (impl(t)->flags & kInferenceView ? TL_VIEW_INFERENCE : 0) |
         (written_since_taken(*impl(t)) ? TL_VIEW_WRITTEN : 0);
}
int tensor_marks(const TlTensor* t) {
  return (impl(t)->has(TensorImpl::Conjugated) ? TL_MARK_CONJUGATED : 0) |
         (impl(t)->has(TensorImpl::Negated) ? TL_MARK_NEGATED : 0);
}
int tensor_matches(const TlTensor* a, const TlTensor* b) {
  const TensorImpl &x = *impl(a), &y = *impl(b);
  return x.dtype == y.dtype && x.device == y.device && x.ndim == y.ndim &&
         std::equal(x.dims, x.dims + x.ndim, y.dims);
}

int64_t common_dtype(const TlValue* values, int n_values) {
  int64_t dtype = -1;
  guarded([&] {
    Promotion promotion;
    for (int i = 0; i < n_values; ++i) promotion.add(values[i]);
    dtype = dtype_to_abi(promotion.result());
  });
  return dtype;
}

TlWeakTensor* weak_from(TlTensor* t) {
  TlWeakTensor* out = nullptr;
  guarded([&] { out = reinterpret_cast<TlWeakTensor*>(weak_handle(*impl(t))); });
  return out;
}
TlTensor* weak_lock(TlWeakTensor* w) { return handle(lock(*reinterpret_cast<WeakCell*>(w))); }
void weak_release(TlWeakTensor* w) {
  if (w) reinterpret_cast<WeakCell*>(w)->release();
}

// ---- slots and bits ---------------------------------------------------------------------------------------
void* slot_get(const TlTensor* t, int layer) { return get_slot(*impl(t), layer); }
int slot_set(TlTensor* t, int layer, void* data, const TlSlotType* type) {
  return guarded([&] { set_slot(*impl(t), layer, data, type); });
}
void* slot_take(TlTensor* t, int layer) { return take_slot(*impl(t), layer); }

void put_bits(std::atomic<uint64_t>& where, uint64_t bits, int on) {
  if (on)
    where.fetch_or(bits, std::memory_order_relaxed);
  else
    where.fetch_and(~bits, std::memory_order_relaxed);
}
uint64_t bits_get(const TlTensor* t) { return impl(t)->bits.load(std::memory_order_relaxed); }
// One thread changes a tensor at a time: no read-modify-write, this stands on the path of every recorded
// call.
void bits_set(TlTensor* t, uint64_t bits, int on) {
  auto& own = impl(t)->bits;
  const uint64_t before = own.load(std::memory_order_relaxed);
  own.store(on ? before | bits : before & ~bits, std::memory_order_relaxed);
}
uint64_t storage_bits_get(const TlTensor* t) {
  return impl(t)->storage ? impl(t)->storage->bits.load(std::memory_order_relaxed) : 0;
}
void storage_bits_set(TlTensor* t, uint64_t bits, int on) {
  if (impl(t)->storage) put_bits(impl(t)->storage->bits, bits, on);
}

// ---- thread state -----------------------------------------------------------------------------------------
uint64_t thread_included() { return included_layers(thread_locals()); }
uint64_t thread_excluded() { return thread_locals().excluded; }
void put_thread(uint64_t& where, uint64_t bits, int on) { where = on ? where | bits : where & ~bits; }
void thread_include(uint64_t bits, int on) { put_thread(thread_locals().included, bits, on); }
void thread_exclude(uint64_t bits, int on) { put_thread(thread_locals().excluded, bits, on); }
int api_grad_enabled() { return grad_enabled(); }
void api_set_grad_enabled(int on) { set_grad_enabled(on != 0); }
int api_inference_mode() { return inference_mode(); }

TlThreadState* thread_capture() {
  TlThreadState* out = nullptr;
  guarded([&] { out = reinterpret_cast<TlThreadState*>(new ThreadState(capture_thread_state())); });
  return out;
}
TlThreadState* thread_restore(TlThreadState* state) {
  auto* s = reinterpret_cast<ThreadState*>(state);
  *s = restore_thread_state(*s);  // the snapshot's own memory carries the previous state back
  return state;
}
void thread_state_drop(TlThreadState* state) { delete reinterpret_cast<ThreadState*>(state); }
int interrupted() { return guarded(check_interrupt) != 0; }

// ---- operators --------------------------------------------------------------------------------------------
const TlOperator* op_find(const char* name) {
  const TlOperator* op = nullptr;
  guarded([&] { op = &operator_named(name); });
  return op;
}
const TlOperatorInfo* op_info(const TlOperator* op) { return &op->info; }
size_t op_count() { return num_operators(); }
const TlOperator* op_at(size_t index) { return operator_at(index); }
int op_call(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (!call_fits(op, args, n_args, rets, n_rets)) [[unlikely]]
    return refuse_call(op, args, n_args, rets, n_rets);
  return call(*op, args, n_args, rets, n_rets);
}
bool is_layer(int layer) {
  return guarded([&] { check_layer(layer); }) == 0;
}
int op_call_below(const TlOperator* op, int layer, const TlValue* args, int n_args, TlValue* rets,
                  int n_rets) {
  if (!is_layer(layer)) return -1;
  if (!call_fits(op, args, n_args, rets, n_rets)) [[unlikely]]
    return refuse_call(op, args, n_args, rets, n_rets);
  return call_below(*op, layer, args, n_args, rets, n_rets);
}
int op_call_past(const TlOperator* op, int layer, const TlValue* args, int n_args, TlValue* rets,
                 int n_rets) {
  if (!is_layer(layer)) return -1;
  if (!call_fits(op, args, n_args, rets, n_rets)) [[unlikely]]
    return refuse_call(op, args, n_args, rets, n_rets);
  return call_past(*op, layer, args, n_args, rets, n_rets);
}
void value_release(TlValue* v) { release(*v); }
int value_own(const TlValue* v, TlValue* out) {
  return guarded([&] { *out = owned_copy(*v); });
}
int op_call_on_host(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (!call_fits(op, args, n_args, rets, n_rets)) [[unlikely]]
    return refuse_call(op, args, n_args, rets, n_rets);
  return call_on_host(*op, args, n_args, rets, n_rets);
}

int op_register(const TlOperatorDef* def, const TlOperator** out) {
  return guarded([&] {
    TL_CHECK(def->struct_size >= offsetof(TlOperatorDef, program), Value, "TlOperatorDef.struct_size is ",
             def->struct_size, ", too small");
    TlOperatorDef whole{};
    std::memcpy(&whole, def, std::min(def->struct_size, sizeof whole));
    const TlOperator* op = register_operator(whole);
    if (out) *out = op;
  });
}
int kernel_register(const char* op, int device_type, TlCall call, void* ctx) {
  return guarded(
      [&] { register_kernel(op, device_from_abi(TL_DEVICE_OF(device_type, -1)).type, call, ctx); });
}
int layer_install(int layer, TlLayerBind bind, void* user) {
  return guarded([&] { install_layer(layer, bind, user); });
}
int device_register(const TlDeviceDef* def, int* device_type) {
  return guarded([&] { *device_type = TL_DEVICE_TYPE(device_to_abi({register_device(*def), -1})); });
}

// ---- the machine ------------------------------------------------------------------------------------------
int api_parallel_for(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t),
                     void* ctx) {
  return guarded([&] {
    error_clear();
    parallel_for(begin, end, grain, [&](int64_t first, int64_t last) {
      body(ctx, first, last);
      if (pending_error().kind != ErrorKind::None) throw_pending();
    });
  });
}

// ---- work that waits --------------------------------------------------------------------------------------
int deferral_install(const TlDeferral* deferral) {
  return guarded([&] {
    TL_CHECK(deferral->struct_size >= sizeof(TlDeferral), Value, "TlDeferral.struct_size is ",
             deferral->struct_size, ", too small");
    set_deferral(*deferral);
  });
}
TlTensor* tensor_pending(int ndim, const int64_t* sizes, const int64_t* strides, int64_t dtype, void* ctx) {
  const auto n = static_cast<size_t>(ndim);
  return made(
      [&] { return pending_tensor(IntSpan(sizes, n), IntSpan(strides, n), dtype_from_abi(dtype), ctx); });
}
void* tensor_pending_ctx(const TlTensor* t) {
  return impl(t)->storage ? pending_ctx(*impl(t)->storage) : nullptr;
}
TlTensor* storage_lock(const void* storage) {
  StoragePtr s = lock_storage(*static_cast<Storage*>(const_cast<void*>(storage)));
  if (!s) return nullptr;
  return made([&] { return on_storage(std::move(s), DType::UInt8, {}, {}, 0); });
}
int tensor_provide(TlTensor* t, TlTensor* source) {
  return guarded([&] { provide(*impl(t)->storage, *impl(source)->storage); });
}
int tensor_is_exposed(const TlTensor* t) {
  const Storage* s = impl(t)->storage;
  return s && s->exposed.load(std::memory_order_relaxed);
}
int op_loops(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets,
             TlLoopVisit visit, void* user) {
  int found = -1;
  guarded([&] { found = record_loops(*op, args, n_args, rets, n_rets, visit, user); });
  return found;
}

constexpr TlApi kApi = {
    sizeof(TlApi),
    TL_API_MAJOR,
    TL_API_MINOR,
    error_set,
    error_kind,
    error_message,
    error_clear,
    error_take,
    error_restore,
    error_drop,
    tensor_retain,
    tensor_release,
    tensor_refcount,
    tensor_ndim,
    tensor_sizes,
    tensor_strides,
    tensor_offset,
    tensor_numel,
    tensor_dtype,
    tensor_device,
    tensor_layout,
    tensor_data,
    tensor_is_contiguous,
    tensor_empty,
    tensor_from_memory,
    tensor_alias,
    tensor_view_base,
    tensor_set_view_base,
    tensor_storage_id,
    tensor_storage_bytes,
    tensor_version,
    tensor_bump_version,
    tensor_is_inference,
    weak_from,
    weak_lock,
    weak_release,
    slot_get,
    slot_set,
    slot_take,
    bits_get,
    bits_set,
    storage_bits_get,
    storage_bits_set,
    thread_included,
    thread_excluded,
    thread_include,
    thread_exclude,
    api_grad_enabled,
    api_set_grad_enabled,
    api_inference_mode,
    thread_capture,
    thread_restore,
    thread_state_drop,
    interrupted,
    op_find,
    op_info,
    op_count,
    op_at,
    op_call,
    op_call_below,
    value_release,
    op_register,
    kernel_register,
    layer_install,
    device_register,
    api_parallel_for,
    num_threads,
    tensor_storage_refcount,
    tensor_view_flags,
    tensor_matches,
    value_own,
    op_call_on_host,
    tensor_marks,
    tensor_alias_as,
    tensor_assume,
    common_dtype,
    deferral_install,
    tensor_pending,
    tensor_pending_ctx,
    storage_lock,
    tensor_provide,
    tensor_is_exposed,
    op_loops,
    op_call_past,
};
}  // namespace

void* settled_data(const TensorImpl& t) noexcept {
  void* data = nullptr;
  guarded([&] {
    open_to_writes(*t.storage);
    data = t.data();
  });
  return data;
}

const TlApi* get_api(uint32_t major, uint32_t min_minor) noexcept {
  if (major == TL_API_MAJOR && min_minor <= TL_API_MINOR) return &kApi;
  guarded([&] {
    fail(ErrorKind::Import, "this extension needs the C interface ", major, ".", min_minor,
         " of tl-core, the installed one is ", TL_API_MAJOR, ".", TL_API_MINOR,
         ": upgrade tl-core, or build the extension for an older interface");
  });
  return nullptr;
}

}  // namespace tl::c_abi
