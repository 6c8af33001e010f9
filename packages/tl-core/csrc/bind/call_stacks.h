// Python stacks as numbers: each stack that was ever asked for is kept once.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "bind/python_frames.h"

namespace tl::bind {

// The number of the stack that this thread runs; 0 if it has none. Needs no GIL.
uint32_t stack_number() noexcept;

// Its frames, innermost first; the code objects live as long as the process.
const std::vector<TlFrame>& stack_frames(uint32_t number);

// "file", line and "function" of a frame.
struct SourceLine {
  PyObject* file;      // borrowed
  PyObject* function;  // borrowed
  int line;
};
SourceLine source_line(const TlFrame& frame);

void install_stack_source();

}  // namespace tl::bind
