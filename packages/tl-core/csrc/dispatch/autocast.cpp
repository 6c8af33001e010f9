// Autocast: tensors are converted by the operator's policy; conversions of parameters are cached in a region.
#include "dispatch/autocast.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "base/thread_local.h"
#include "dispatch/substituted_call.h"
#include "dispatch/tensors.h"
#include "dispatch/thread_state.h"

namespace tl {

// Parameters and their conversions, those that are recorded and those that aren't.
struct AutocastCache {
  struct Entry {
    Tensor parameter, converted;
    uint32_t version = 0;
  };
  std::unordered_map<const TensorImpl*, Entry> entries[2];
  int regions = 0;
};

namespace {
constexpr uint64_t kLayer = uint64_t{1} << TL_LAYER_AUTOCAST;

// For all that is called inside.
class LayerOff {
 public:
  LayerOff() : before_(thread_locals().excluded) { thread_locals().excluded |= kLayer; }
  ~LayerOff() { thread_locals().excluded = before_; }
  LayerOff(const LayerOff&) = delete;
  LayerOff& operator=(const LayerOff&) = delete;

 private:
  uint64_t before_;
};

bool is_eligible(const AutocastState& state, const Tensor& t) {
  return state.is_on(t.device().type) && is_floating(t.dtype()) && t.dtype() != DType::Float64;
}

Tensor convert(const Tensor& t, DType type) {
  static const Operator& op = operator_named("to.dtype");
  return call_typed<Tensor>(op, t, type, false, false, std::optional<MemoryFormat>());
}

Tensor converted(const AutocastState& state, const Tensor& t, DType type) {
  AutocastCache* cache = thread_locals().autocast_cache;
  // Inside a transform a conversion belongs to its level.
  const bool inside = thread_locals().included >> TL_LAYER_TRANSFORMS & 1;
  const bool keeps =
      cache && state.caches && t->has(TensorImpl::Parameter) && type != DType::Float32 && !inside;
  if (!keeps) return convert(t, type);
  auto& entries = cache->entries[grad_enabled()];
  const auto found = entries.find(t.impl());
  if (found != entries.end() && found->second.version == version(*t.impl()) &&
      found->second.converted.dtype() == type)
    return found->second.converted;
  const Tensor fresh = convert(t, type);
  // What was there before goes when the table is whole again: it may run other code.
  const auto before = std::exchange(entries[t.impl()], {t, fresh, version(*t.impl())});
  return fresh;
}

// The call with its tensors converted. What it is made of takes them as they are.
class ConvertedCall final : public SubstitutedCall {
 public:
  ConvertedCall(const Operator& op, const TlValue* args, int n_args, const AutocastState& state)
      : SubstitutedCall(op, args, n_args), state_(state) {
    if (op.autocast == Autocast::Widest) find_widest();
  }

 private:
  void find_widest() {
    bool single = false;
    for (const TlValue& v : originals_) {
      for (const TensorImpl* t : tensors_of(v)) {
        if (!t || !state_.is_on(t->device.type)) continue;
        if (t->dtype == DType::Float64) return;
        single |= t->dtype == DType::Float32;
      }
    }
    if (single) widest_ = DType::Float32;
  }

  std::optional<DType> wanted(const Tensor& t) const {
    switch (op_.autocast) {
      case Autocast::Lower:
        return state_.types[static_cast<size_t>(t.device().type)];
      case Autocast::Float32:
        return DType::Float32;
      default:
        return widest_;
    }
  }
  Tensor stand_in(const Tensor& t, int) override {
    if (!is_eligible(state_, t)) return {};
    const std::optional<DType> type = wanted(t);
    return type && *type != t.dtype() ? converted(state_, t, *type) : Tensor();
  }
  int call(const TlValue* args, int n_args, TlValue* rets, int n_rets) override {
    const LayerOff off;
    return call_past(op_, TL_LAYER_AUTOCAST, args, n_args, rets, n_rets);
  }
  void write_back(const Tensor&, const Tensor&) override {}  // only calls that write nothing come here

  const AutocastState& state_;
  std::optional<DType> widest_;
};

int call_converted(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] {
    ConvertedCall(*static_cast<const Operator*>(ctx), args, n_args, autocast_state()).run(rets, n_rets);
  });
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  const bool chooses = op->autocast != Autocast::None && op->info.variant == TL_FUNCTIONAL;
  *out = {chooses ? call_converted : nullptr, const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

void install_autocast() { install_layer(TL_LAYER_AUTOCAST, bind, nullptr); }

const AutocastState& autocast_state() { return thread_locals().autocast; }
void set_autocast_state(const AutocastState& state) {
  ThreadLocals& t = thread_locals();
  t.autocast = state;
  t.included = state.on ? t.included | kLayer : t.included & ~kLayer;
}

int nest_autocast(int step) {
  AutocastCache*& c = thread_locals().autocast_cache;
  if (!c) c = new AutocastCache;
  const int regions = c->regions += step;
  if (regions <= 0) delete std::exchange(c, nullptr);
  return regions;
}

void clear_autocast_cache() {
  if (AutocastCache* c = thread_locals().autocast_cache)
    for (auto& entries : c->entries) const auto dropped = std::exchange(entries, {});
}

}  // namespace tl
