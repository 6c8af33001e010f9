// The operator registry: an array of the rows' operators, a hash table of all names, binding of layers.
#include "dispatch/operator.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/fork.h"
#include "base/interrupt.h"
#include "dispatch/schema.h"
#include "tensor/device_registry.h"

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
  std::unordered_map<const Operator*, std::vector<std::string>> tags;
  Layer layers[kNumLayers];
};
Registry& registry() {
  static Registry* const registry = [] {
    static auto* made = new Registry;
    register_fork_lock(ForkOrder::Registry, [] { made->mutex.lock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *registry;
}

void put_entry(Operator& op, int layer, TlLayerEntry entry) {
  const uint64_t bit = uint64_t{1} << layer;
  op.layers[layer] = entry;
  op.layer_mask = entry.call ? op.layer_mask | bit : op.layer_mask & ~bit;
}

void bind_layer(Operator& op, int index, const Layer& layer) {
  TlLayerEntry entry{};
  if (layer.bind(layer.user, &op, &entry) != 0) throw_pending();
  put_entry(op, index, entry);
}

bool has_own_entry(const Operator& op, int layer) { return op.own_entries >> layer & 1; }

void bind_layers(Registry& r, Operator& op) {
  for (int i = 0; i < kNumLayers; ++i)
    if (r.layers[i].bind && !has_own_entry(op, i)) bind_layer(op, i, r.layers[i]);
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

int row_of(DeviceType device) {
  TL_CHECK(has_row(device), Runtime, "no plug-in has registered the device '", device_name(device),
           "', so that it has no kernels");
  return static_cast<int>(device);
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

std::vector<std::string> tags_of(const Operator& op) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto it = r.tags.find(&op);
  return it == r.tags.end() ? std::vector<std::string>() : it->second;
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
  return register_operator(std::make_unique<ParsedSchema>(def.schema), def);
}

namespace {
// Those who ask hold the operator as it may be called, not as it may be changed.
Operator& changeable(const Operator& op) { return const_cast<Operator&>(op); }

// Whether the last arguments are keywords that are written, one a result.
bool has_outs(const TlOperatorInfo& info) {
  if (!info.n_rets || info.n_rets > info.n_args) return false;
  const TlArgInfo* outs = info.args + info.n_args - info.n_rets;
  return std::all_of(outs, outs + info.n_rets,
                     [](const TlArgInfo& a) { return a.keyword_only && a.written; });
}

// The in-place form, or the form with `out`, of another operator.
void make_form(Operator& op, const Operator& functional) {
  if (op.info.variant != TL_INPLACE) {
    TL_CHECK(has_outs(op.info), Value, "the operator '", op.info.name, "' cannot be a form of '",
             functional.info.name,
             "': it writes its first argument or, as its last arguments, a keyword for each result");
    op.info.variant = TL_OUT;
  }
  const Operator*& form =
      op.info.variant == TL_INPLACE ? changeable(functional).inplace : changeable(functional).out;
  TL_CHECK(!form, Value, "the operator '", functional.info.name, "' has this form already: '",
           form->info.name, "'");
  op.info.functional = &functional;
  form = &op;
}
}  // namespace

// The operator is complete before somebody else can find it.
const Operator* register_operator(std::unique_ptr<ParsedSchema> schema, const TlOperatorDef& def) {
  auto op = std::make_unique<Operator>();
  op->info = schema->info();
  op->info.program = def.program;
  op->info.functional = op.get();
  op->info.is_composite = (def.flags & TL_DEFINE_COMPOSITE) != 0;
  op->info.is_random = (def.flags & TL_DEFINE_RANDOM) != 0;
  op->defaults = schema->defaults();
  op->written_mask = written_mask(op->info);
  op->added = true;
  if (def.call) {
    const KernelEntry k{def.call, def.ctx};
    if (def.device_type)
      op->kernels[row_of(device_from_abi(TL_DEVICE_OF(def.device_type, -1)).type)] = k;
    else
      add_kernels(*op, Devices::Any, k);
  }
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  TL_CHECK(!r.by_name.count(op->info.name), Value, "an operator named '", op->info.name, "' already exists");
  if (def.functional) make_form(*op, *def.functional);
  bind_layers(r, *op);
  if (def.n_tags) r.tags.emplace(op.get(), std::vector<std::string>(def.tags, def.tags + def.n_tags));
  r.by_name.emplace(op->info.name, op.get());
  r.all.push_back(op.get());
  schema.release();  // operators live as long as the process
  return op.release();
}

void remove_operator(const Operator& op) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto it = std::find(r.all.begin(), r.all.end(), &op);
  TL_CHECK(it != r.all.end() && op.added, Value, "the operator '", op.info.name, "' cannot be removed");
  Operator& gone = **it;
  r.by_name.erase(gone.info.name);
  r.all.erase(it);
  r.tags.erase(&gone);
  gone.layer_mask = 0;
  Operator& functional = changeable(*gone.info.functional);
  if (functional.inplace == &gone) functional.inplace = nullptr;
  if (functional.out == &gone) functional.out = nullptr;
  for (KernelEntry& k : gone.kernels) k = {};
}

KernelEntry exchange_kernel(const Operator& op, DeviceType device, KernelEntry kernel) {
  std::lock_guard lock(registry().mutex);
  return std::exchange(changeable(op).kernels[static_cast<int>(device)], kernel);
}

void set_own_entry(const Operator& op, int layer, TlLayerEntry entry) {
  std::lock_guard lock(registry().mutex);
  changeable(op).own_entries |= uint64_t{1} << layer;
  put_entry(changeable(op), layer, entry);
}

void drop_own_entry(const Operator& op, int layer) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  changeable(op).own_entries &= ~(uint64_t{1} << layer);
  put_entry(changeable(op), layer, {});
  if (r.layers[layer].bind) bind_layer(changeable(op), layer, r.layers[layer]);
}

void set_composite(const Operator& op, bool on) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (static_cast<bool>(op.info.is_composite) == on) return;
  changeable(op).info.is_composite = on;
  bind_layers(r, changeable(op));
}

void register_kernel(std::string_view name, DeviceType device, TlCall call, void* ctx) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.by_name.find(name);
  TL_CHECK(it != r.by_name.end(), Attribute, "there is no operator named '", name, "' to add a kernel to");
  it->second->kernels[row_of(device)] = {call, ctx};
}

void check_layer(int layer) {
  TL_CHECK(layer >= 0 && layer < kNumLayers, Value, "layer ", layer, " is out of range [0, ", kNumLayers,
           ")");
}

void install_layer(int layer, TlLayerBind bind, void* user) {
  check_layer(layer);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  TL_CHECK(!r.layers[layer].bind, Runtime, "layer ", layer, " is already installed");
  r.layers[layer] = {bind, user};
  for (Operator* op : r.all)
    if (!has_own_entry(*op, layer)) bind_layer(*op, layer, r.layers[layer]);
}

}  // namespace tl
