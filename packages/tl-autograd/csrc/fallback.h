// Operators without a derivative, and what a backward pass through those of a program does.
#pragma once

#include <atomic>

#include "recorder.h"

namespace tl::autograd {

// A backward pass through an operator of a program's own, of which only the kernel is known, passes what the
// kernel's own calls recorded, without or with a warning; or it raises.
enum class Fallback { Nothing, Warn, Error };
extern std::atomic<Fallback> fallback;

// Both come from the bindings. A warning that is an error is pending.
extern void (*warn_of_fallback)(const char* op);
extern void (*hook_fallback)(TlTensor* t, const char* op);  // warns when the gradient of `t` comes

bool is_missing(const TlOperatorInfo& info);  // nobody has written its derivative
bool is_own(const TlOperatorInfo& info);      // a program has defined it

Node* missing_node(const Recorder& r, uint32_t n_outputs);  // raises
// Warns; the gradients of the inputs, of which each that requires one has an edge, are undefined.
Node* fallback_node(const Recorder& r, const std::vector<Edge>& inputs);

}  // namespace tl::autograd
