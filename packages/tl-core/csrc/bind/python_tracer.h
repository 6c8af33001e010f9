// Notes calls of Python functions and of built-in ones while a recording is on, through the interpreter's own
// door for profilers.
#pragma once

namespace tl::bind {

// In all threads that there are; needs the GIL. `stop_tracer` may be called without.
void start_tracer();
void stop_tracer();

}  // namespace tl::bind
