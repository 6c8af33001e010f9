// What the core asks of Python while it works: signal handlers, and its lock not to be held during a wait.
#pragma once

namespace tl::bind {

void install_runtime_hooks();

}  // namespace tl::bind
