// Thread modes: one struct of bits and defaults for each thread, captured and restored as a whole.
#include "dispatch/thread_state.h"

#include "tl/c_api.h"

namespace tl {

namespace {
constexpr uint64_t kAutograd = uint64_t{1} << TL_LAYER_AUTOGRAD;
}  // namespace

bool grad_enabled() { return !(thread_locals().excluded & kAutograd); }

void set_grad_enabled(bool on) {
  ThreadLocals& t = thread_locals();
  t.excluded = on ? t.excluded & ~kAutograd : t.excluded | kAutograd;
}

bool inference_mode() { return thread_locals().inference; }

void set_inference_mode(bool on) {
  thread_locals().inference = on;
  set_grad_enabled(!on);
}

Device default_device() { return thread_locals().device; }
void set_default_device(Device device) { thread_locals().device = device; }

ThreadState capture_thread_state() {
  const ThreadLocals& t = thread_locals();
  return {t.included, t.excluded, t.inference, t.device, t.autocast};
}

ThreadState restore_thread_state(const ThreadState& state) {
  const ThreadState before = capture_thread_state();
  ThreadLocals& t = thread_locals();
  t.included = state.included;
  t.excluded = state.excluded;
  t.inference = state.inference;
  t.device = state.device;
  t.autocast = state.autocast;
  return before;
}

}  // namespace tl
