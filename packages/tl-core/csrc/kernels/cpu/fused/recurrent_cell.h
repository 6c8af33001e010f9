// Recurrent cells (LSTM, GRU, tanh, ReLU): one time step, after its matrix products. float32 and float64;
// rows are dense.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loops/loop_table.h"

namespace tl::cpu {

enum class Cell : int64_t { Lstm, Gru, Tanh, Relu };

// Gates are consecutive in a row: input, forget, cell, output of an LSTM; reset, update, new of a
// GRU. LSTM: `gates` holds the sums of both products, `saved` takes the activations and may be `gates`;
// `cell` holds the state, which is replaced after it went to `saved_cell`. GRU: `gates` holds the input's
// products, `hidden_gates` the state's; `saved` takes the three gates and the state's part of the new one.
// Others: `gates` holds the sums and may be `output`.
struct CellStep {
  int64_t rows, size;
  char *gates, *hidden_gates, *saved, *cell, *saved_cell;
  char *hidden, *output;  // the state, replaced; and a copy of the new one
};
void recurrent_step(DType dtype, Cell cell, const CellStep& step);

// From the gradient of the new state (`grad_hidden` + `grad_output`, which may be null) to those of the
// gates. LSTM: `grad_cell` is that of the new cell and becomes that of the previous one. GRU: `grad_hidden`
// becomes what reaches the previous state beside the product.
struct CellStepBackward {
  int64_t rows, size;
  const char *saved, *saved_cell, *previous, *output, *grad_output;
  char *grad_hidden, *grad_cell, *grad_gates, *grad_hidden_gates;
};
void recurrent_step_backward(DType dtype, Cell cell, const CellStepBackward& step);

}  // namespace tl::cpu
