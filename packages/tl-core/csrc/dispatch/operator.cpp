#include "dispatch/operator.h"

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/fork.h"
#include "base/interrupt.h"
#include "dispatch/schema.h"

namespace tl {

namespace {
struct Layer {
  TlLayerBind bind = nullptr;
  void* user = nullptr;
};

// Everything here changes only under the lock; calls read operators without it, after they were published. A
// layer that is asked about an operator may look up others.
struct Registry {
  LongLock mutex;
  std::unordered_map<std::string_view, Operator*> by_name;
  std::deque<Operator*> all;
  Layer layers[TL_LAYER_COUNT];
};
Registry& registry() {
  static Registry* const registry = [] {
    static auto* made = new Registry;
    register_fork_lock(ForkOrder::Registry, [] { made->mutex.lock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *registry;
}

void bind_layer(Operator& op, int index, const Layer& layer) {
  TlLayerEntry entry{};
  if (layer.bind(layer.user, &op, &entry) != 0) throw_pending();
  op.layers[index] = entry;
  const uint64_t bit = uint64_t{1} << index;
  op.layer_mask = entry.call ? op.layer_mask | bit : op.layer_mask & ~bit;
}

void bind_layers(Registry& r, Operator& op) {
  for (int i = 0; i < TL_LAYER_COUNT; ++i)
    if (r.layers[i].bind) bind_layer(op, i, r.layers[i]);
}

uint64_t written_mask(const TlOperatorInfo& info) {
  uint64_t mask = 0;
  for (int i = 0; i < info.n_args; ++i)
    if (info.args[i].written) mask |= uint64_t{1} << i;
  return mask;
}

void add_kernels(Operator& op, Devices devices, KernelEntry k) {
  for (int d = 0; d < kNumDeviceTypes; ++d) {
    const auto type = static_cast<DeviceType>(d);
    const bool covers = devices == Devices::Any || type == DeviceType::CPU ||
                        (type == DeviceType::Meta && devices != Devices::CpuOnly);
    if (covers) op.kernels[d] = k;
  }
}

const Operator* form(int16_t index) { return index < 0 ? nullptr : &g_operators[index]; }
}  // namespace

void register_builtin_operators() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (!r.all.empty()) return;
  r.by_name.reserve(kNumOperatorDefs * 2);
  for (int i = 0; i < kNumOperatorDefs; ++i) {
    const OperatorDef& def = kOperatorDefs[i];
    Operator& op = g_operators[i];
    op.info = def.info;
    op.info.functional = form(def.functional);
    op.defaults = def.defaults;
    op.inplace = form(def.inplace);
    op.out = form(def.out);
    op.written_mask = written_mask(op.info);
    op.conj_neg_bits = def.conj_neg_bits;
    op.autocast = def.autocast;
    // The row's own knows its context; any other learns which operator is called.
    op.sparse = {def.sparse, def.sparse == def.kernel ? def.ctx : &op};
    op.stored = def.stored;
    op.reported = def.reported;
    op.needs_values = def.devices == Devices::CpuOnly;
    op.one_device = def.devices == Devices::CpuMeta;
    add_kernels(op, def.devices, {def.kernel, def.ctx});
    r.by_name.emplace(op.info.name, &op);
    r.all.push_back(&op);
  }
}

const Operator* find_operator(std::string_view name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.by_name.find(name);
  return it == r.by_name.end() ? nullptr : it->second;
}

const Operator& operator_named(std::string_view name) {
  const Operator* op = find_operator(name);
  TL_CHECK(op, Attribute, "there is no operator named '", name, "'");
  return *op;
}

size_t num_operators() {
  std::lock_guard lock(registry().mutex);
  return registry().all.size();
}

const Operator* operator_at(size_t index) {
  std::lock_guard lock(registry().mutex);
  return index < registry().all.size() ? registry().all[index] : nullptr;
}

const Operator* register_operator(const TlOperatorDef& def) {
  auto parsed = std::make_unique<ParsedSchema>(def.schema);
  auto op = std::make_unique<Operator>();
  op->info = parsed->info();
  op->info.program = def.program;
  op->info.functional = op.get();
  op->defaults = parsed->defaults();
  op->written_mask = written_mask(op->info);
  if (def.call) {
    const KernelEntry k{def.call, def.ctx};
    if (def.device_type)
      op->kernels[static_cast<int>(device_from_abi(TL_DEVICE_OF(def.device_type, -1)).type)] = k;
    else
      add_kernels(*op, Devices::Any, k);
  }
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  TL_CHECK(!r.by_name.count(op->info.name), Value, "an operator named '", op->info.name, "' already exists");
  bind_layers(r, *op);
  r.by_name.emplace(op->info.name, op.get());
  r.all.push_back(op.get());
  parsed.release();  // operators live as long as the process
  return op.release();
}

void register_kernel(std::string_view name, DeviceType device, TlCall call, void* ctx) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.by_name.find(name);
  TL_CHECK(it != r.by_name.end(), Attribute, "there is no operator named '", name, "' to add a kernel to");
  it->second->kernels[static_cast<int>(device)] = {call, ctx};
}

void install_layer(int layer, TlLayerBind bind, void* user) {
  TL_CHECK(layer >= 0 && layer < TL_LAYER_COUNT, Value, "layer ", layer, " is out of range [0, ",
           int{TL_LAYER_COUNT}, ")");
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  TL_CHECK(!r.layers[layer].bind, Runtime, "layer ", layer, " is already installed");
  r.layers[layer] = {bind, user};
  for (Operator* op : r.all) bind_layer(*op, layer, r.layers[layer]);
}

}  // namespace tl
