// The layer under recording, where wrappers of a level of gradients become their values.
#pragma once

#include "levels/level.h"

namespace tl::autograd {

// A call on wrappers of the level, which is the top, without recording.
int call_unwrapped(const TlOperator* op, Level& level, const TlValue* args, int n_args, TlValue* rets,
                   int n_rets);
int install_unwrap();

}  // namespace tl::autograd
