// A program: loops over elements and calls, in the order in which a region called them, and the tensors that
// they read.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "core.h"

namespace tl::compiler {

inline constexpr int kMaxDims = 6;

inline int64_t item_bytes(int64_t dtype) { return (TL_DTYPE_BITS(dtype) + 7) / 8; }

struct Geometry {
  int ndim = 0;
  int64_t sizes[kMaxDims], strides[kMaxDims];  // in elements
  int64_t offset = 0;

  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= sizes[d];
    return n;
  }
  // Whether the elements lie in the order of their indices, without gaps.
  bool is_row_major() const {
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; --d) {
      if (sizes[d] > 1 && strides[d] != step) return false;
      step *= sizes[d];
    }
    return true;
  }
  bool has_sizes_of(const Geometry& o) const {
    return ndim == o.ndim && std::memcmp(sizes, o.sizes, ndim * sizeof *sizes) == 0;
  }
  // Whether both put each element at the same place; strides of one element say nothing.
  bool operator==(const Geometry& o) const {
    if (!has_sizes_of(o) || offset != o.offset) return false;
    for (int d = 0; d < ndim; ++d)
      if (sizes[d] > 1 && strides[d] != o.strides[d]) return false;
    return true;
  }
};

// What a loop reads, or writes.
struct Operand {
  enum Kind : uint8_t { Number, Input, Step };

  Kind kind = Number;
  int index = 0;        // of the input or the step
  int64_t dtype = 0;    // in memory
  int64_t in_loop = 0;  // as the loop has it
  TlElementLoop convert = nullptr;
  Geometry geometry;
  alignas(16) char number[16];

  int64_t bytes() const { return item_bytes(dtype); }
  int64_t loop_bytes() const { return item_bytes(in_loop); }
};

struct Call;

// A loop over elements, or a call of an operator on whole tensors. A call of several results is followed by
// one step for each of the others.
struct Step {
  const char* name = nullptr;
  std::shared_ptr<const Call> call;
  int result_of = -1;  // the step of the call of which this one is a further result
  int result = 0;      // which
  TlElementLoop run = nullptr;
  int n_inputs = 0;
  Operand out, inputs[TL_LOOP_INPUTS];
  alignas(16) char params[TL_LOOP_PARAMS];
};

struct Program {
  std::vector<Step> steps;
  std::vector<Tensor> inputs;
};

}  // namespace tl::compiler
