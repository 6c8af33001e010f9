// The functions behind the table of `tl/extension.h`.
#include "c_abi/extension_api.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/capsule.h"
#include "base/generator.h"
#include "c_abi/api.h"
#include "dispatch/operator.h"
#include "dispatch/thread_state.h"
#include "ops/shared/warn.h"
#include "tensor/device_registry.h"
#include "tensor/geometry.h"
#include "tensor/pending.h"

namespace tl::c_abi {

namespace {
// ---- errors -----------------------------------------------------------------------------------------------
ErrorOrigin& origin_of_pending() {
  auto& origin = pending_error().origin;
  if (!origin) origin = std::make_shared<ErrorOrigin>();
  return *origin;
}
void error_where_set(const char* where) {
  if (pending_error().kind == ErrorKind::None) return;
  guarded([&] { origin_of_pending().where = where ? where : ""; });
}
const char* error_where() {
  const auto& origin = pending_error().origin;
  return origin ? origin->where.c_str() : "";
}
void error_cause_set(void* error) {
  std::unique_ptr<PendingError> cause(static_cast<PendingError*>(error));
  if (!cause || pending_error().kind == ErrorKind::None) return;
  guarded([&] { origin_of_pending().cause = std::move(cause); });
}

// ---- tensors ----------------------------------------------------------------------------------------------
void tensor_view(const TlTensor* t, TlView* out) {
  const auto& impl = *reinterpret_cast<const TensorImpl*>(t);
  *out = {opened_data(impl),
          impl.dims,
          impl.dims + impl.ndim,
          impl.numel,
          dtype_to_abi(impl.dtype),
          device_to_abi(impl.device),
          impl.ndim,
          impl.has(TensorImpl::Contiguous)};
}

void* tensor_data_of(const TlTensor* t, int64_t dtype) {
  const auto& impl = *reinterpret_cast<const TensorImpl*>(t);
  return dtype_to_abi(impl.dtype) == dtype ? opened_data(impl) : nullptr;
}

// ---- storages ---------------------------------------------------------------------------------------------
Storage& storage(TlStorage* s) { return *reinterpret_cast<Storage*>(s); }
const Storage& storage(const TlStorage* s) { return *reinterpret_cast<const Storage*>(s); }

template <class F>
TlStorage* new_handle(F&& body) {
  TlStorage* out = nullptr;
  guarded([&] { out = reinterpret_cast<TlStorage*>(body().detach()); });
  return out;
}

TlStorage* storage_of(TlTensor* t) {
  return new_handle([&] {
    auto& impl = *reinterpret_cast<TensorImpl*>(t);
    TL_CHECK(impl.storage && impl.layout == Layout::Strided, Runtime,
             "storage_of: the tensor has no storage, its layout is ", static_cast<int>(impl.layout));
    return StoragePtr::share(impl.storage);
  });
}
TlStorage* storage_create(int64_t bytes, int64_t device) {
  return new_handle([&] {
    TL_CHECK(bytes >= 0, Value, "storage_create: the number of bytes is negative: ", bytes);
    return new_storage(static_cast<size_t>(bytes), settled(device_from_abi(device)));
  });
}

struct Memory {
  void (*free)(void*);
  void* ctx;
};
void free_memory(void* ctx, void*, size_t) {
  const std::unique_ptr<Memory> memory(static_cast<Memory*>(ctx));
  if (memory->free) memory->free(memory->ctx);
}
TlStorage* storage_from_memory(void* data, int64_t bytes, int64_t device, void (*free)(void*), void* ctx) {
  return new_handle([&] {
    TL_CHECK(bytes >= 0, Value, "storage_from_memory: the number of bytes is negative: ", bytes);
    TL_CHECK(data || !bytes, Value, "storage_from_memory: the pointer to ", bytes, " bytes is NULL");
    auto memory = std::make_unique<Memory>(Memory{free, ctx});
    StoragePtr s = adopt_storage(data, static_cast<size_t>(bytes), settled(device_from_abi(device)),
                                 free_memory, memory.get());
    memory.release();
    return s;
  });
}
void storage_retain(TlStorage* s) { StoragePtr::share(&storage(s)).detach(); }
void storage_release(TlStorage* s) { StoragePtr::adopt(reinterpret_cast<Storage*>(s)); }
int64_t storage_refcount(const TlStorage* s) { return storage(s).refs.load(std::memory_order_acquire); }
void* storage_data(const TlStorage* s) {
  auto& whole = const_cast<Storage&>(storage(s));
  return guarded([&] { expose(whole); }) == 0 ? whole.data : nullptr;
}
int64_t storage_bytes(const TlStorage* s) { return static_cast<int64_t>(storage(s).bytes); }
int64_t storage_device(const TlStorage* s) { return device_to_abi(storage(s).device); }
int storage_resize(TlStorage* s, int64_t bytes) {
  return guarded([&] {
    TL_CHECK(bytes >= 0, Value, "storage_resize: the number of bytes is negative: ", bytes);
    resize_storage(storage(s), static_cast<size_t>(bytes));
  });
}
TlTensor* tensor_on_storage(TlStorage* s, int ndim, const int64_t* sizes, const int64_t* strides,
                            int64_t offset, int64_t dtype) {
  TlTensor* out = nullptr;
  guarded([&] {
    const auto n = static_cast<size_t>(ndim);
    const DType type = dtype_from_abi(dtype);
    const IntSpan shape(sizes, n), by(strides, n);
    check_reach(storage(s).bytes, item_size(type), shape, by, offset);
    out = reinterpret_cast<TlTensor*>(
        on_storage(StoragePtr::share(&storage(s)), type, shape, by, offset).detach_handle());
  });
  return out;
}

// ---- random generators ------------------------------------------------------------------------------------
Generator& generator(TlGenerator* g) { return *reinterpret_cast<Generator*>(g); }
const Generator& generator(const TlGenerator* g) { return *reinterpret_cast<const Generator*>(g); }

TlGenerator* generator_default() { return reinterpret_cast<TlGenerator*>(&default_generator()); }
TlGenerator* generator_create(uint64_t seed) {
  TlGenerator* out = nullptr;
  guarded([&] { out = reinterpret_cast<TlGenerator*>(new Generator(seed)); });
  return out;
}
void generator_retain(TlGenerator* g) { generator(g).retain(); }
void generator_release(TlGenerator* g) {
  if (g) generator(g).release();
}
int64_t generator_device(const TlGenerator*) { return TL_DEVICE_OF(TL_DEVICE_CPU, -1); }
void generator_seed(TlGenerator* g, uint64_t seed) {
  const std::lock_guard lock(generator(g).mutex);
  generator(g).seed(seed);
}
uint64_t generator_initial_seed(const TlGenerator* g) { return generator(g).initial_seed(); }
void generator_draw(TlGenerator* g, uint64_t* out, size_t n) {
  const std::lock_guard lock(generator(g).mutex);
  for (size_t i = 0; i < n; ++i) out[i] = generator(g).random64();
}
size_t generator_state_bytes() { return Generator::kStateBytes; }
void generator_get_state(const TlGenerator* g, void* bytes) {
  auto& whole = const_cast<Generator&>(generator(g));
  const std::lock_guard lock(whole.mutex);
  whole.get_state(bytes);
}
int generator_set_state(TlGenerator* g, const void* bytes, size_t size) {
  return guarded([&] {
    const std::lock_guard lock(generator(g).mutex);
    generator(g).set_state(bytes, size);
  });
}

// ---- the thread -------------------------------------------------------------------------------------------
int api_warn(int category, const char* message) {
  return guarded([&] {
    TL_CHECK(category >= TL_WARNING_USER && category <= TL_WARNING_RUNTIME, Value,
             "warn: there is no category of warnings with the number ", category);
    warn(message ? message : "", static_cast<WarnCategory>(category));
  });
}
void api_set_inference_mode(int on) { set_inference_mode(on != 0); }

DeviceType device_type(int number) { return device_from_abi(TL_DEVICE_OF(number, -1)).type; }

int autocast_enabled(int number) {
  int on = -1;
  guarded([&] { on = thread_locals().autocast.is_on(device_type(number)); });
  return on;
}
int64_t autocast_dtype(int number) {
  int64_t dtype = -1;
  guarded([&] {
    dtype = dtype_to_abi(thread_locals().autocast.types[static_cast<size_t>(device_type(number))]);
  });
  return dtype;
}

// ---- operators --------------------------------------------------------------------------------------------
int kernel_exchange(const TlOperator* op, int number, TlLayerEntry entry, TlLayerEntry* previous) {
  return guarded([&] {
    const KernelEntry before = exchange_kernel(*op, device_type(number), {entry.call, entry.ctx});
    if (previous) *previous = {before.call, before.ctx};
  });
}
int layer_entry_set(const TlOperator* op, int layer, TlLayerEntry entry, TlLayerEntry* previous) {
  return guarded([&] {
    check_layer(layer);
    if (previous) *previous = op->layers[layer];
    set_own_entry(*op, layer, entry);
  });
}
int layer_entry_drop(const TlOperator* op, int layer) {
  return guarded([&] {
    check_layer(layer);
    drop_own_entry(*op, layer);
  });
}
int layer_entry_get(const TlOperator* op, int layer, TlLayerEntry* out) {
  return guarded([&] {
    check_layer(layer);
    *out = op->layers[layer];
  });
}
int op_set_composite(const TlOperator* op, int on) {
  return guarded([&] { set_composite(*op, on != 0); });
}
int op_remove(const TlOperator* op) {
  return guarded([&] { remove_operator(*op); });
}

// ---- slots ------------------------------------------------------------------------------------------------
// Above the bits of a word, which the numbers of layers are.
constexpr int kFirstKey = 64;

int slot_key(const char* name) {
  static std::mutex mutex;
  static auto* const keys = new std::unordered_map<std::string, int>;
  int key = -1;
  guarded([&] {
    TL_CHECK(name && *name, Value, "slot_key: a name is needed");
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = keys->emplace(name, kFirstKey + static_cast<int>(keys->size()));
    TL_CHECK(is_new, Value, "slot_key: '", name, "' has a key already");
    key = at->second;
  });
  return key;
}

// ---- layers -----------------------------------------------------------------------------------------------
size_t layer_order(int* out, size_t n) {
  if (out) std::copy_n(kLayerOrder, std::min<size_t>(n, kNumLayers), out);
  return kNumLayers;
}

// ---- objects of extensions --------------------------------------------------------------------------------
TlCapsule* capsule_create(void* data, const TlCapsuleType* type) {
  TlCapsule* out = nullptr;
  guarded([&] {
    TL_CHECK(type && type->struct_size >= sizeof(TlCapsuleType), Value,
             "capsule_create: ", type ? "TlCapsuleType.struct_size is too small" : "the type is NULL");
    TL_CHECK(type->name && *type->name, Value, "capsule_create: the type has no name");
    TL_CHECK(data, Value, "capsule_create: the data of '", type->name, "' is NULL");
    out = reinterpret_cast<TlCapsule*>(new Capsule(data, type));
  });
  return out;
}
void capsule_retain(TlCapsule* c) { reinterpret_cast<Capsule*>(c)->retain(); }
void capsule_release(TlCapsule* c) {
  if (c) reinterpret_cast<Capsule*>(c)->release();
}
void* capsule_data(const TlCapsule* c, const TlCapsuleType* type) {
  void* data = nullptr;
  guarded([&] {
    TL_CHECK(c && type, Type, "capsule_data: the ", c ? "type" : "object", " is NULL");
    const auto& capsule = *reinterpret_cast<const Capsule*>(c);
    TL_CHECK(&capsule.type() == type, Type, "capsule_data: expected an object of the type '", type->name,
             "', got one of '", capsule.type().name, "'");
    data = capsule.data();
  });
  return data;
}

constexpr TlExtension kExtension = {
    sizeof(TlExtension),
    TL_API_MAJOR,
    TL_API_MINOR,
    sizeof(TlArgInfo),
    sizeof(TlOperatorInfo),
    offsetof(TensorImpl, numel),
    offsetof(TensorImpl, ndim),
    offsetof(TensorImpl, dims),
    error_where_set,
    error_where,
    error_cause_set,
    tensor_view,
    storage_of,
    storage_create,
    storage_from_memory,
    storage_retain,
    storage_release,
    storage_refcount,
    storage_data,
    storage_bytes,
    storage_device,
    storage_resize,
    tensor_on_storage,
    generator_default,
    generator_create,
    generator_retain,
    generator_release,
    generator_device,
    generator_seed,
    generator_initial_seed,
    generator_draw,
    generator_state_bytes,
    generator_get_state,
    generator_set_state,
    api_warn,
    api_set_inference_mode,
    autocast_enabled,
    autocast_dtype,
    kernel_exchange,
    layer_entry_set,
    layer_entry_drop,
    layer_entry_get,
    op_set_composite,
    op_remove,
    slot_key,
    layer_order,
    tensor_data_of,
    capsule_create,
    capsule_retain,
    capsule_release,
    capsule_data,
};
}  // namespace

const TlExtension* get_extension() noexcept { return &kExtension; }

}  // namespace tl::c_abi
