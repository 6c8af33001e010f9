// The modes of a thread: gradients, inference, the layers switched on or off, defaults for new tensors.
#pragma once

#include "base/autocast.h"
#include "base/thread_local.h"
#include "tensor/default_dtype.h"

namespace tl {

bool grad_enabled();
void set_grad_enabled(bool on);
bool inference_mode();
void set_inference_mode(bool on);  // also switches gradients off while on

Device default_device();  // of the thread
void set_default_device(Device device);

struct ThreadState {  // a snapshot
  uint64_t included, excluded;
  bool inference;
  Device device;
  AutocastState autocast;
};
ThreadState capture_thread_state();
ThreadState restore_thread_state(const ThreadState& state);  // returns the previous one

class NoGradGuard {
 public:
  NoGradGuard() : before_(grad_enabled()) { set_grad_enabled(false); }
  ~NoGradGuard() { set_grad_enabled(before_); }
  NoGradGuard(const NoGradGuard&) = delete;

 private:
  bool before_;
};

}  // namespace tl
