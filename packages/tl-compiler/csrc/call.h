// Operators that are called on whole tensors or on some of their rows, such as sums and softmax. Each result
// of a row depends on the elements of this row only.
#pragma once

#include <vector>

#include "program.h"

namespace tl::compiler {

struct Call {
  enum class Form : uint8_t {
    Reduces,  // dimensions to one element
    Maps,     // rows along `dim` to rows
    Whole     // whatever it reads
  };

  Call(const TlOperator* op, Form form, const TlValue* args, int n_args);
  ~Call();
  Call(const Call&) = delete;

  // Its results for these tensors, one an input.
  std::vector<Tensor> run(const Tensor* inputs) const;
  // The same call over rows as a matrix, whose second dimension they are.
  std::shared_ptr<const Call> over_matrix() const;
  // How many elements are a row, if the call works on rows of a tensor of this geometry; 0 if it does not.
  int64_t row_of(const Geometry& input) const;

  const TlOperator* op;
  Form form;
  std::vector<TlValue> args;  // copies; none in the places of tensors
  std::vector<int> tensors;   // the arguments that are tensors

 private:
  const TlValue* arg(const char* name) const;
  void put(const char* name, const TlValue& v);
};

// Sizes and strides of a tensor of at most `kMaxDims` dimensions.
Geometry geometry_of(TlTensor* t);
// Whether calls of an operator may wait.
bool is_callable(const TlOperator* op);
// Calls the operator with arguments without elements. The steps of the call; none where it has to be made as
// always, as it would fail or return an argument.
std::vector<Step> call_steps(const TlOperator* op, const TlValue* args, int n_args, int n_rets);

}  // namespace tl::compiler
