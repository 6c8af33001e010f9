// The layer `observe`: an event for each operator call on threads that are recorded.
#include "dispatch/operator_recorder.h"

#include "base/thread_local.h"
#include "dispatch/recorded_values.h"
#include "dispatch/tensors.h"
#include "dispatch/thread_state.h"

namespace tl {

namespace {
constexpr uint64_t kBit = uint64_t{1} << TL_LAYER_OBSERVE;
constexpr uint64_t kAutograd = uint64_t{1} << TL_LAYER_AUTOGRAD;

bool has_gradient(const TlValue* args, int n) {
  if (!grad_enabled() || (thread_locals().excluded & kAutograd)) return false;
  return any_tensor(args, n, [](const Tensor& t) { return (t->all_bits() & kAutograd) != 0; });
}

OpenEvent begin_with_values(EventKind kind, std::string_view text, const TlValue* args, int n) {
  if (!recording_options().values) return begin_event(kind, text);
  const OpenEvent open = begin_event(kind, text, recorded_bytes(args, n));
  if (!open) return open;
  record_values(args, n, open.event->values());
  open.event->n_values = static_cast<uint8_t>(n);
  return open;
}

OpenEvent begin_operator(const Operator& op, const TlValue* args, int n_args) {
  const OpenEvent open = begin_with_values(EventKind::Operator, {}, args, n_args);
  if (!open) return open;
  open.event->what = &op;
  if (has_gradient(args, n_args)) open.event->number = next_sequence_number();
  if (recording_options().stacks) open.event->stack = running_stack();
  return open;
}

void note_results(const Operator& op, const TlValue* rets, int n_rets) {
  const OpenEvent open = begin_event(EventKind::Results, {}, recorded_bytes(rets, n_rets));
  if (!open) return;
  record_values(rets, n_rets, open.event->values());
  open.event->n_values = static_cast<uint8_t>(n_rets);
  open.event->what = &op;
  end_event(open);
}

int recorded(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Operator& op = *static_cast<const Operator*>(ctx);
  if (!is_recording()) return call_past(op, TL_LAYER_OBSERVE, args, n_args, rets, n_rets);
  const OpenEvent open = begin_operator(op, args, n_args);
  const int status = call_past(op, TL_LAYER_OBSERVE, args, n_args, rets, n_rets);
  end_event(open);
  if (open && recording_options().results && status == 0) note_results(op, rets, n_rets);
  return status;
}

int bind_recorder(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {recorded, const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

bool is_recorded_thread() { return (included_layers(thread_locals()) & kBit) || has_own_log(); }

void record_own_operators(bool on) {
  if (recording_options().all_threads) return include_everywhere(kBit, on);
  uint64_t& included = thread_locals().included;
  included = on ? included | kBit : included & ~kBit;
}

void record_operators(const RecordingOptions& options) {
  static const bool installed = (install_layer(TL_LAYER_OBSERVE, bind_recorder, nullptr), true);
  (void)installed;
  start_recording(options);
  record_own_operators(options.operators);
}

EventLogs stop_recording_operators() {
  record_own_operators(false);
  return stop_recording();
}

std::string recorded_name(const Operator& op) {
  const std::string_view full = op.info.name, name = full.substr(0, full.find('.'));
  return name.find("::") != name.npos ? std::string(name) : cat("aten::", std::string(name));
}

std::string overload_name(const Operator& op) {
  const std::string_view full = op.info.name;
  const size_t dot = full.find('.');
  return dot == full.npos ? std::string() : std::string(full.substr(dot + 1));
}

OpenEvent begin_node(EventKind kind, std::string_view name, int64_t sequence, const TlValue* args, int n) {
  if (!(included_layers(thread_locals()) & kBit)) return {};
  const OpenEvent open = begin_with_values(kind, name, args, n);
  if (!open) return open;
  open.event->number = sequence;
  if (recording_options().stacks) open.event->stack = running_stack();
  return open;
}

}  // namespace tl
