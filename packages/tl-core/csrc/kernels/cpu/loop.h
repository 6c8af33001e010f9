// What a kernel that works element by element looks like from outside, and the tables that hold them.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace tl::cpu {

inline constexpr int kMaxInputs = 3;

// Runs over n1 rows of n0 elements. data[0] is the output, the inputs follow; strides are in bytes: first that of each operand
// within a row, then that of each operand between rows. Operands may be the same memory, but not partly overlap. `params` are
// the operator's numbers in the type it computes in.
using ElementwiseLoop = void (*)(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params);

// One compiled loop. `loop` is null where this level leaves a rare dtype to the portable one.
struct LoopEntry {
  DType out;
  uint8_t n_inputs;
  DType inputs[kMaxInputs];
  ElementwiseLoop loop;
};

struct LoopTable {
  const LoopEntry* entries = nullptr;
  int count = 0;
};

// The loop for these dtypes, or null.
ElementwiseLoop find_loop(const LoopTable& chosen, const LoopTable& portable, DType out, const DType* inputs, int n_inputs);

// An operator's loops: the chosen level first, the portable one for what it leaves out.
struct LoopSet {
  const char* name;
  LoopTable chosen, portable;

  ElementwiseLoop find(DType out, const DType* inputs, int n_inputs) const {
    return find_loop(chosen, portable, out, inputs, n_inputs);
  }
};

// Kernels raise through these: they are compiled once, for the portable level.
[[noreturn]] void raise_zero_division();
[[noreturn]] void raise_index(int64_t index, int64_t size);

}  // namespace tl::cpu
