// Elementwise operators: type promotion, broadcasting, checks and allocation around a row's loop.
#pragma once

#include "dispatch/operator.h"
#include "iter/dtypes.h"
#include "kernels/cpu/loops/loop_table.h"
#include "ops/shared/out.h"

namespace tl {

// Which inputs halves take as numbers, and not rounded to their own type: PyTorch's kernels read one number
// in float, and convert all that is left of it as any tensor.
enum class ExactNumber : uint8_t {
  None,
  Last,
  Either,  // of two that may change places
};

struct ElementwiseDef;
using ElementwiseCheck = void (*)(const ElementwiseDef& def, const TlValue* args, Out out);

// What a row says of itself, with its loops once they were looked up.
struct ElementwiseDef {
  const char* name;
  int n_inputs, n_params;
  Promote promote;
  bool condition;  // the first input is bool and takes no part in promotion
  bool alpha;      // the one parameter obeys PyTorch's rules for alpha
  uint8_t typed;   // a bit for each parameter that is of the tensors' type
  bool divides;    // the last input is a divisor: integers refuse zeros
  ExactNumber exact_number;
  bool in_range;           // numbers must be in the range of the tensors' type
  const char* not_bool;    // why bool is refused; NULL: as any dtype without a loop
  ElementwiseCheck check;  // refuses inputs that the loops could compute with; NULL: none
  uint64_t dtypes;         // a bit for each common type it takes
  cpu::ElementwiseLoops loops;
  cpu::ElementwiseLoops number_loops{};  // of halves, whose last input is a float

  DType output(DType common) const { return result_type(promote, common); }
  // The dtype whose loop computes this one: itself, or a wider one where rare types have no loop of their
  // own. Raises NotImplementedError if the operator does not take the type.
  DType computes_in(DType common) const;
};

// Writes into `out` or returns a fresh tensor. `args`: the inputs (tensors or numbers), then the parameters.
Tensor run_elementwise(const ElementwiseDef& def, const TlValue* args, Out out);

// The same with typed arguments: elementwise(kElementwise_mul_mul, out, self, Scalar(2)).
template <class... A>
Tensor elementwise(const ElementwiseDef& def, Out out, const A&... a) {
  const TlValue args[] = {value(a)...};
  return run_elementwise(def, args, out);
}

}  // namespace tl
