// What the core knows of one operator: its schema, its kernel for each device, what each layer does with it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/layer_order.h"
#include "dispatch/value.h"

namespace tl {

class ParsedSchema;

enum class Devices : uint8_t {
  Any,      // works on geometry or through other operators: the same function everywhere
  CpuMeta,  // plans, then computes on the CPU; stops before memory is touched on meta
  Numbers,  // the same, and tensors without dimensions on the CPU are numbers to the plan
  CpuOnly,  // needs values
};

// What the layer `lazybits` does with tensors that are conjugated or negated only when they are read.
enum class ConjNegBits : uint8_t {
  Resolved,   // the operator gets their elements written out
  Visible,    // it gets them as they are: it knows them, reads no elements, or calls other operators only
  Inherited,  // and its results, views, are marked as the first argument is
};

// In which type an operator runs in a region of `autocast`.
enum class Autocast : uint8_t {
  None,     // that of its inputs
  Lower,    // the region's
  Float32,  // the wide one
  Widest,   // float32 if any input is of it
};

// One form of a row as opgen writes it.
struct OperatorDef {
  TlOperatorInfo info;
  const TlValue* defaults;  // n_args; TL_NONE where there is none
  TlCall kernel;
  void* ctx;
  Devices devices;
  ConjNegBits conj_neg_bits;
  Autocast autocast;
  TlCall sparse;                     // the kernel for sparse tensors; NULL: none
  int16_t functional, inplace, out;  // indices of the row's other forms; -1: none
  uint8_t stored;                    // of the types that are only stored, the kinds it takes
  const char* reported;              // the kernel's name in the message that refuses the others
};

struct KernelEntry {
  TlCall call = nullptr;
  void* ctx = nullptr;
};

}  // namespace tl

struct TlOperator {
  TlOperatorInfo info;
  const TlValue* defaults = nullptr;
  const TlOperator* inplace = nullptr;
  const TlOperator* out = nullptr;
  uint64_t layer_mask = 0;    // layers that care
  uint64_t own_entries = 0;   // layers whose entry is this operator's own: they are not asked
  uint64_t written_mask = 0;  // arguments that are written
  bool needs_values = false;  // no result on meta
  tl::ConjNegBits conj_neg_bits = tl::ConjNegBits::Resolved;
  tl::Autocast autocast = tl::Autocast::None;
  bool one_device = false;         // the kernels trust that all tensors lie on one device
  bool added = false;              // it came after the rows: lists are Python lists, no result has a name
  bool in_python = false;          // one of its functions is Python's, which needs the lock
  uint8_t stored = 0xff;           // the kinds of types that are only stored that it takes
  const char* reported = nullptr;  // the kernel's name in the message that refuses a type
  tl::KernelEntry kernels[tl::kNumDeviceTypes];
  tl::KernelEntry sparse;  // for sparse tensors
  TlLayerEntry layers[tl::kNumLayers] = {};
};

namespace tl {

using Operator = TlOperator;

extern const OperatorDef kOperatorDefs[];  // generated
extern const int kNumOperatorDefs;
extern Operator g_operators[];

void register_builtin_operators();  // once, when the module is loaded
const Operator* find_operator(std::string_view name);
const Operator& operator_named(std::string_view name);  // raises AttributeError
std::vector<std::string> tags_of(const Operator& op);   // that came with its registration
size_t num_operators();
const Operator* operator_at(size_t index);
const Operator* register_operator(const TlOperatorDef& def);
const Operator* register_operator(std::unique_ptr<ParsedSchema> schema, const TlOperatorDef& def);
// The name is free again; who still holds the operator gets an error when it is called.
void remove_operator(const Operator& op);
void register_kernel(std::string_view op, DeviceType device, TlCall call, void* ctx);
void check_layer(int layer);  // raises ValueError unless there is one with the number
void install_layer(int layer, TlLayerBind bind, void* user);
// What a device and a layer do with an operator from now on. A layer without an own entry is asked again.
KernelEntry exchange_kernel(const Operator& op, DeviceType device, KernelEntry kernel);
void set_own_entry(const Operator& op, int layer, TlLayerEntry entry);
void drop_own_entry(const Operator& op, int layer);
void set_composite(const Operator& op, bool on);

// The whole call, from the first layer on.
int call(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept;
// The kernel alone: what an in-place or out= call needs around it is done.
int call_kernel(const Operator& op, const KernelEntry& k, const TlValue* args, int n_args, TlValue* rets,
                int n_rets) noexcept;
// What stands below a layer, with that layer and those above it switched off for all that is called inside.
int call_below(const Operator& op, int layer, const TlValue* args, int n_args, TlValue* rets,
               int n_rets) noexcept;
// The same, but what is called inside meets every layer: a layer that only looks on changes nothing.
int call_past(const Operator& op, int layer, const TlValue* args, int n_args, TlValue* rets,
              int n_rets) noexcept;

// ---- typed calls: R call<R>(op, a, b, …) raises tl::Error -------------------------------------------------
namespace detail {
template <class R>
R take_results(TlValue* rets) {
  if constexpr (requires { std::tuple_size<R>::value; }) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return R(TakeResult<std::tuple_element_t<I, R>>::take(rets[I])...);
    }(std::make_index_sequence<std::tuple_size_v<R>>{});
  } else {
    return TakeResult<R>::take(rets[0]);
  }
}
template <class R>
constexpr int result_count() {
  if constexpr (std::is_void_v<R>)
    return 0;
  else if constexpr (requires { std::tuple_size<R>::value; })
    return std::tuple_size_v<R>;
  else
    return 1;
}
}  // namespace detail

template <class R, class... A>
R call_typed(const Operator& op, const A&... a) {
  constexpr int n_rets = detail::result_count<R>();
  const TlValue args[sizeof...(A) + 1] = {value(a)...};
  TlValue rets[n_rets + 1] = {};
  if (call(op, args, sizeof...(A), rets, n_rets) != 0) throw_pending();
  if constexpr (!std::is_void_v<R>) return detail::take_results<R>(rets);
}

}  // namespace tl
