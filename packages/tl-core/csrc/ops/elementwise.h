// The one kernel of every elementwise row: promotes, broadcasts, checks, allocates, runs the row's loop.
#pragma once

#include "dispatch/operator.h"
#include "kernels/cpu/loops/loop_table.h"

namespace tl {

enum class Promote : uint8_t {
  Same,       // the result has the common type
  Float,      // integers compute in the default float
  Int,        // bool computes in int64
  Bool,       // computes in the common type, the result is bool
  Real,       // complex gives real
  RealFloat,  // as well, and integers compute in the default float
  Complex,    // real gives complex
};

// What a row says of itself, with its loops once they were looked up.
struct ElementwiseDef {
  const char* name;
  int n_inputs, n_params;
  Promote promote;
  bool condition;        // the first input is bool and takes no part in promotion
  bool alpha;            // the parameter obeys PyTorch's rules for alpha
  bool divides;          // the last input is a divisor: integers refuse zeros
  const char* not_bool;  // why bool is refused; NULL: as any dtype without a loop
  uint32_t dtypes;       // a bit for each common type it takes
  cpu::ElementwiseLoops loops;

  DType output(DType common) const;
  // The type whose loop computes this one: itself, or a wider one where rare types have no loop of their own.
  // Raises NotImplementedError if the operator does not take the type.
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

// The output of an operator whose result has this shape and dtype: checked and resized if given, else fresh.
Tensor prepare_out(Out out, IntSpan sizes, TensorOptions options);
// The value, or where out= is given that tensor with the value in it: for operators made of others.
Tensor copied_out(const Tensor& value, Out out);
void check_no_internal_overlap(const Tensor& t);
void check_no_partial_overlap(const Tensor& out, const Tensor& in);
// out= must be able to hold the type: "result type Float can't be cast to the desired output type Long".
void check_castable(DType from, const Tensor& out);
// Where out= must have exactly the result's type; `where` stands before the message.
void check_out_dtype(Out out, DType dtype, const char* where = "");

}  // namespace tl
