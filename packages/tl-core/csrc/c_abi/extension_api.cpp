// The functions behind the table of `tl/extension.h`.
#include "c_abi/extension_api.h"

#include <iterator>
#include <mutex>
#include <string>

#include "base/generator.h"
#include "c_abi/api.h"
#include "dispatch/operator.h"
#include "dispatch/thread_state.h"
#include "ops/shared/warn.h"
#include "tensor/device_registry.h"

namespace tl::c_abi {

namespace {
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
int api_warn(const char* message) {
  return guarded([&] { warn(message ? message : ""); });
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
void check_layer(int layer) {
  TL_CHECK(layer >= 0 && layer < TL_LAYER_COUNT, Value, "layer ", layer, " is out of range [0, ",
           int{TL_LAYER_COUNT}, ")");
}

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
// The numbers of layers that tl has no use for.
constexpr int kFirstKey = TL_LAYER_DEFER + 1;

int slot_key(const char* name) {
  static std::mutex mutex;
  static std::string* const names = new std::string[TL_LAYER_COUNT - kFirstKey];
  static int n = 0;
  int key = -1;
  guarded([&] {
    TL_CHECK(name && *name, Value, "slot_key: a name is needed");
    const std::lock_guard lock(mutex);
    for (int i = 0; i < n; ++i) TL_CHECK(names[i] != name, Value, "slot_key: '", name, "' has a key already");
    TL_CHECK(kFirstKey + n < TL_LAYER_COUNT, Runtime, "slot_key: all ", TL_LAYER_COUNT - kFirstKey,
             " keys are in use, there is none for '", name, "'");
    names[n] = name;
    key = kFirstKey + n++;
  });
  return key;
}

constexpr TlExtension kExtension = {
    sizeof(TlExtension),
    TL_API_MAJOR,
    TL_API_MINOR,
    sizeof(TlArgInfo),
    sizeof(TlOperatorInfo),
    tensor_view,
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
};
}  // namespace

const TlExtension* get_extension() noexcept { return &kExtension; }

}  // namespace tl::c_abi
