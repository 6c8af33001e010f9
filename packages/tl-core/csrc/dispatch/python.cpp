// The layers `python` and `trace`: finds the handler, switches off the layers above it, counts its writes.
#include "dispatch/python.h"

#include <atomic>
#include <bit>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_local.h"
#include "dispatch/tensors.h"
#include "tensor/view_origin.h"

namespace tl {

namespace {
PythonCall g_call = nullptr;
SaysContiguous g_says_contiguous = nullptr;

struct ModeStacks {
  std::vector<Mode> trace, python;
};
// Made by the first mode of a thread, and kept.
thread_local ModeStacks* t_stacks = nullptr;

std::vector<Mode>& stack_of(int layer) {
  TL_CHECK(is_python_layer(layer), Value, "layer ", layer, " has no modes");
  if (!t_stacks) t_stacks = new ModeStacks;
  return layer == TL_LAYER_TRACE ? t_stacks->trace : t_stacks->python;
}

constexpr uint64_t bit_of(int layer) { return uint64_t{1} << layer; }

// Of the innermost handler that is running.
struct Entered {
  uint64_t excluded = 0;
  bool running = false;
};
thread_local Entered t_entered;

void include(int layer, bool on) {
  uint64_t& included = thread_locals().included;
  included = on ? included | bit_of(layer) : included & ~bit_of(layer);
}

// ---- what a handler runs in -------------------------------------------------------------------------------
// The layers above have done their part, and what the handler calls does not meet them again. Those that only
// prepare arguments for a kernel are for each call anew.
class LayersBelow {
 public:
  explicit LayersBelow(int layer) : before_(thread_locals().excluded), outer_(t_entered) {
    t_entered = {before_the_call(before_), true};
    constexpr uint64_t kPreparing = bit_of(TL_LAYER_SPARSE_PARTS) | bit_of(TL_LAYER_LAZYBITS);
    uint64_t excluded = before_ & ~kPreparing;
    excluded |= down_to(layer) & ~(bit_of(layer) | kPreparing | bit_of(TL_LAYER_OBSERVE));
    thread_locals().excluded = excluded;
  }
  ~LayersBelow() {
    thread_locals().excluded = before_;
    t_entered = outer_;
  }
  LayersBelow(const LayersBelow&) = delete;

 private:
  // Layers that pass the rest of a call on switch off themselves and all above them.
  static uint64_t before_the_call(uint64_t excluded) {
    bool may_pass_on = false;
    for (int i = kNumLayers - 1; i >= 0; --i) {
      const int layer = kLayerOrder[i];
      const uint64_t down = down_to(layer);
      may_pass_on |= layer == TL_LAYER_LAZYBITS;
      if (may_pass_on && (excluded & down) == down) return excluded & ~down;
      if (layer == TL_LAYER_TRANSFORMS) break;
    }
    return excluded;
  }

  uint64_t before_;
  Entered outer_;
};

// ---- what follows from the operator, whatever the handler did ---------------------------------------------
// Counts a write that the handler has not made on the very tensor.
class Writes {
 public:
  Writes(const Operator& op, const TlValue* args) : op_(op), args_(args) {
    each([&](TensorImpl& t) { before_.push_back(version(t)); });
  }
  void count() {
    size_t i = 0;
    each([&](TensorImpl& t) {
      if (version(t) == before_[i++]) bump_version(t);
    });
  }

 private:
  template <class F>
  void each(F f) {
    for (uint64_t mask = op_.written_mask; mask; mask &= mask - 1)
      for (TensorImpl* t : tensors_of(args_[std::countr_zero(mask)]))
        if (t) f(*t);
  }
  const Operator& op_;
  const TlValue* args_;
  std::vector<uint32_t> before_;
};

// Both say that they lie in the memory of what they stand for.
void share_storage(TensorImpl& view, const TensorImpl& viewed) {
  if (!(view.bits & viewed.bits & kHollowBit) || view.storage == viewed.storage || !viewed.storage) return;
  const Device device = view.device;
  set_storage(view, StoragePtr::share(viewed.storage));
  view.device = device;
}

// A view of what its argument is a view of. `detach` is none to autograd: its result has no base, as without
// a handler.
void note_base(const Operator& op, const TlValue* args, TlValue* rets, int n_rets) {
  static const Operator* const detach = &operator_named("detach");
  if (!op.info.is_view || args[0].tag != TL_TENSOR) return;
  auto& viewed = *reinterpret_cast<TensorImpl*>(args[0].u.t);
  TensorImpl* base = base_for_views(viewed);
  for (int i = 0; i < n_rets; ++i)
    for (TensorImpl* t : tensors_of(rets[i])) {
      if (!t || t == &viewed || !(t->all_bits() & kPythonBit)) continue;
      share_storage(*t, viewed);
      if (&op == detach || t->base || t == base) continue;
      base->retain();
      t->base = base;
    }
}

bool brings_handler(const TlValue* args, int n_args) {
  return any_tensor(args, n_args, [](const Tensor& t) { return (t->all_bits() & kPythonBit) != 0; });
}

struct LayerCall {
  const Operator* op;
  int layer;
};

thread_local const Operator* t_handled = nullptr;

void run_handler(const LayerCall& c, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const Operator& op = *c.op;
  Writes writes(op, args);
  {
    const LayersBelow below(c.layer);
    g_call(op, c.layer, args, n_args, rets, n_rets);
  }
  writes.count();
  if (c.layer != TL_LAYER_PYTHON) return;
  note_base(op, args, rets, n_rets);
  t_handled = &op;
}

thread_local const Operator* t_passed = nullptr;

int take_over(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const auto& c = *static_cast<const LayerCall*>(ctx);
  if (t_passed == c.op && c.layer == TL_LAYER_TRACE) {
    t_passed = nullptr;
    return call_past(*c.op, c.layer, args, n_args, rets, n_rets);
  }
  // The bit alone says nothing: threads take it over from those that start them.
  const bool wanted =
      !modes_of(c.layer).empty() || (c.layer == TL_LAYER_PYTHON && brings_handler(args, n_args));
  if (!wanted) return call_past(*c.op, c.layer, args, n_args, rets, n_rets);
  return guarded([&] { run_handler(c, args, n_args, rets, n_rets); });
}

int bind_python(void*, const TlOperator* op, TlLayerEntry* out) {
  if (!op->info.is_composite) *out = {take_over, new LayerCall{op, TL_LAYER_PYTHON}};
  return 0;
}

int bind_trace(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {take_over, new LayerCall{op, TL_LAYER_TRACE}};
  return 0;
}

// ---- tensors without memory -------------------------------------------------------------------------------
int view_hollow(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const int status = call_past(*static_cast<const Operator*>(ctx), kHollowLayer, args, n_args, rets, n_rets);
  if (status != 0) return status;
  for (int i = 0; i < n_rets; ++i)
    for (TensorImpl* t : tensors_of(rets[i]))
      if (t) t->bits.fetch_or(kHollowBit, std::memory_order_relaxed);
  return 0;
}

int refuse_hollow(void* ctx, const TlValue*, int, TlValue*, int) noexcept {
  return guarded([&] {
    fail(
        ErrorKind::Runtime, static_cast<const Operator*>(ctx)->info.name,
        "(): a tensor that has no memory of its own, made by _make_wrapper_subclass or a FakeTensorMode, has "
        "reached a kernel: its class must handle this operator in __torch_dispatch__");
  });
}

// Such as `zeros_like`, which read a geometry.
bool reads_no_elements(const Operator& op) {
  const std::string_view name(op.info.name);
  const std::string_view base = name.substr(0, name.find('.'));
  return base.ends_with("_like") || base.starts_with("new_");
}

int bind_hollow(void*, const TlOperator* op, TlLayerEntry* out) {
  if (op->info.is_composite || reads_no_elements(*op)) return 0;
  *out = {op->info.is_view ? view_hollow : refuse_hollow, const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

void set_python_call(PythonCall call) { g_call = call; }
void set_says_contiguous(SaysContiguous says) { g_says_contiguous = says; }

std::optional<bool> contiguous_by_handler(const Tensor& t, MemoryFormat format) {
  if (!(t->bits.load(std::memory_order_relaxed) & kAsksHandlerBit)) [[likely]]
    return std::nullopt;
  if (!t->py || thread_locals().excluded & kPythonBit) return std::nullopt;
  return g_says_contiguous(t, format);
}

void pass_modes_once(const Operator* op) { t_passed = op; }

void run_by_handlers(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  run_handler({&op, TL_LAYER_PYTHON}, args, n_args, rets, n_rets);
}

uint64_t excluded_before_handler() {
  return t_entered.running ? t_entered.excluded : thread_locals().excluded;
}

namespace {
std::atomic<bool> g_installed = false;
}

bool python_layers_installed() { return g_installed.load(std::memory_order_relaxed); }

void install_python_layers() {
  static std::once_flag once;
  std::call_once(once, [] {
    g_installed = true;
    install_layer(TL_LAYER_TRACE, bind_trace, nullptr);
    install_layer(TL_LAYER_PYTHON, bind_python, nullptr);
    install_layer(kHollowLayer, bind_hollow, nullptr);
  });
}

const Operator* last_handled() { return t_handled; }
void forget_last_handled() { t_handled = nullptr; }

bool is_python_layer(int layer) { return layer == TL_LAYER_TRACE || layer == TL_LAYER_PYTHON; }

void push_mode(int layer, Mode mode) {
  auto& stack = stack_of(layer);
  auto at = stack.end();
  while (at != stack.begin() && at[-1].rank > mode.rank) --at;
  stack.insert(at, mode);
  include(layer, true);
}

namespace {
Mode take(int layer, std::vector<Mode>& stack, std::vector<Mode>::iterator at) {
  const Mode mode = *at;
  stack.erase(at);
  if (stack.empty()) include(layer, false);
  return mode;
}
}  // namespace

AllModesOff::AllModesOff() {
  if (!t_stacks) return;
  trace_.swap(t_stacks->trace);
  python_.swap(t_stacks->python);
  include(TL_LAYER_TRACE, false);
  include(TL_LAYER_PYTHON, false);
}

AllModesOff::~AllModesOff() {
  if (!t_stacks) return;
  t_stacks->trace.swap(trace_);
  t_stacks->python.swap(python_);
  include(TL_LAYER_TRACE, !t_stacks->trace.empty());
  include(TL_LAYER_PYTHON, !t_stacks->python.empty());
}

Mode pop_mode(int layer) {
  if (!t_stacks) return {};
  auto& stack = stack_of(layer);
  return stack.empty() ? Mode{} : take(layer, stack, stack.end() - 1);
}

Mode take_mode(int layer, int rank) {
  auto& stack = stack_of(layer);
  for (auto at = stack.end(); at != stack.begin(); --at)
    if (at[-1].rank == rank) return take(layer, stack, at - 1);
  return {};
}

std::span<const Mode> modes_of(int layer) {
  if (!t_stacks) return {};
  return stack_of(layer);
}

}  // namespace tl
