// isa: all
// LSTM, GRU and Elman cells, forward and backward: the elementwise part, fused into one pass over the gates.
#include "kernels/cpu/fused/recurrent_cell.h"

#include "base/parallel.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/simd/vec_math.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Element j of a row, as a vector of `count` lanes.
template <class A>
struct Row {
  char* data;
  TL_INLINE Vec<A> get(int64_t j, int count) const {
    const char* p = data + j * static_cast<int64_t>(sizeof(A));
    return count == kLanes<A> ? load<A>(p) : load_partial<A>(p, count);
  }
  TL_INLINE void set(int64_t j, int count, Vec<A> v) const {
    char* p = data + j * static_cast<int64_t>(sizeof(A));
    if (count == kLanes<A>)
      store<A>(p, v);
    else
      store_partial<A>(p, count, v);
  }
};

// body(row, j, count) over rows of n elements.
template <class A, class F>
void for_elements(int64_t rows, int64_t n, F body) {
  constexpr int W = kLanes<A>;
  parallel_for(0, rows, (1 << 12) / (n + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t j = 0; j < n; j += W) body(row, j, n - j < W ? static_cast<int>(n - j) : W);
    }
  });
}

template <class A>
Row<A> row_of(const char* data, int64_t row, int64_t width) {
  return {const_cast<char*>(data) + row * width * static_cast<int64_t>(sizeof(A))};
}

// LSTM cell (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000):
//   c' = f * c + i * g,  h' = o * tanh(c');  i, f, o = sigmoid and g = tanh of the gates' sums.
template <class A>
void lstm(const CellStep& s) {
  const int64_t n = s.size;
  for_elements<A>(s.rows, n, [&](int64_t row, int64_t j, int count) {
    const Row<A> gates = row_of<A>(s.gates, row, 4 * n), cell = row_of<A>(s.cell, row, n);
    const auto in = sigmoid(gates.get(j, count)), forget = sigmoid(gates.get(n + j, count));
    const auto candidate = tanh(gates.get(2 * n + j, count)), out = sigmoid(gates.get(3 * n + j, count));
    const auto before = cell.get(j, count), c = forget * before + in * candidate;
    const auto h = out * tanh(c);
    const Row<A> saved = row_of<A>(s.saved, row, 4 * n);
    saved.set(j, count, in);
    saved.set(n + j, count, forget);
    saved.set(2 * n + j, count, candidate);
    saved.set(3 * n + j, count, out);
    row_of<A>(s.saved_cell, row, n).set(j, count, before);
    cell.set(j, count, c);
    row_of<A>(s.hidden, row, n).set(j, count, h);
    row_of<A>(s.output, row, n).set(j, count, h);
  });
}

// GRU cell (Cho et al. 2014; the reset gate acts after the product), x = W_x input + b, y = W_h h + b:
//   r = sigmoid(x_r + y_r),  z = sigmoid(x_z + y_z),  n = tanh(x_n + r * y_n),  h' = (h - n) * z + n.
template <class A>
void gru(const CellStep& s) {
  const int64_t n = s.size;
  for_elements<A>(s.rows, n, [&](int64_t row, int64_t j, int count) {
    const Row<A> x = row_of<A>(s.gates, row, 3 * n), y = row_of<A>(s.hidden_gates, row, 3 * n);
    const Row<A> hidden = row_of<A>(s.hidden, row, n), saved = row_of<A>(s.saved, row, 4 * n);
    const auto reset = sigmoid(x.get(j, count) + y.get(j, count));
    const auto update = sigmoid(x.get(n + j, count) + y.get(n + j, count));
    const auto hidden_candidate = y.get(2 * n + j, count),
               candidate = tanh(x.get(2 * n + j, count) + reset * hidden_candidate);
    const auto h = (hidden.get(j, count) - candidate) * update + candidate;
    saved.set(j, count, reset);
    saved.set(n + j, count, update);
    saved.set(2 * n + j, count, candidate);
    saved.set(3 * n + j, count, hidden_candidate);
    hidden.set(j, count, h);
    row_of<A>(s.output, row, n).set(j, count, h);
  });
}

template <class A, bool relu>
void simple(const CellStep& s) {
  const int64_t n = s.size;
  for_elements<A>(s.rows, n, [&](int64_t row, int64_t j, int count) {
    const auto sum = row_of<A>(s.gates, row, n).get(j, count);
    const auto h = relu ? select<Vec<A>>(sum < 0, Vec<A>{}, sum) : tanh(sum);
    row_of<A>(s.hidden, row, n).set(j, count, h);
    row_of<A>(s.output, row, n).set(j, count, h);
  });
}

template <class A>
TL_INLINE Vec<A> grad_of_output(const CellStepBackward& s, int64_t row, int64_t j, int count) {
  const auto g = row_of<A>(s.grad_hidden, row, s.size).get(j, count);
  return s.grad_output ? g + row_of<A>(s.grad_output, row, s.size).get(j, count) : g;
}

// With dh the gradient of h' and dc that of c' from the next step:
//   dC = dc + dh * o * (1 - tanh(c')^2);  the gates before their activations:
//   di = dC * g * i (1 - i),  df = dC * c * f (1 - f),  dg = dC * i * (1 - g^2),  do = dh * tanh(c') * o (1 -
//   o); and of the previous cell state: dC * f.  c' is computed again rather than saved.
template <class A>
void lstm_backward(const CellStepBackward& s) {
  const int64_t n = s.size;
  for_elements<A>(s.rows, n, [&](int64_t row, int64_t j, int count) {
    const Row<A> saved = row_of<A>(s.saved, row, 4 * n), grad_cell = row_of<A>(s.grad_cell, row, n);
    const auto in = saved.get(j, count), forget = saved.get(n + j, count),
               candidate = saved.get(2 * n + j, count);
    const auto out = saved.get(3 * n + j, count), before = row_of<A>(s.saved_cell, row, n).get(j, count);
    const auto c = tanh(forget * before + in * candidate), g = grad_of_output<A>(s, row, j, count);
    const auto gc = grad_cell.get(j, count) + g * out * (A(1) - c * c);
    const Row<A> to = row_of<A>(s.grad_gates, row, 4 * n);
    to.set(j, count, gc * candidate * in * (A(1) - in));
    to.set(n + j, count, gc * before * forget * (A(1) - forget));
    to.set(2 * n + j, count, gc * in * (A(1) - candidate * candidate));
    to.set(3 * n + j, count, g * c * out * (A(1) - out));
    grad_cell.set(j, count, gc * forget);
  });
}

// With dh the gradient of h', and a = x_n + r * y_n:
//   da = dh * (1 - z) * (1 - n^2),  dx_r = dy_r = da * y_n * r (1 - r),  dx_z = dy_z = dh * (h - n) * z (1 -
//   z), dx_n = da,  dy_n = da * r;  beside the product, dh * z reaches the previous state.
template <class A>
void gru_backward(const CellStepBackward& s) {
  const int64_t n = s.size;
  for_elements<A>(s.rows, n, [&](int64_t row, int64_t j, int count) {
    const Row<A> saved = row_of<A>(s.saved, row, 4 * n), x = row_of<A>(s.grad_gates, row, 3 * n);
    const Row<A> y = row_of<A>(s.grad_hidden_gates, row, 3 * n);
    const auto reset = saved.get(j, count), update = saved.get(n + j, count),
               candidate = saved.get(2 * n + j, count);
    const auto hidden_candidate = saved.get(3 * n + j, count),
               before = row_of<A>(s.previous, row, n).get(j, count);
    const auto g = grad_of_output<A>(s, row, j, count);
    const auto sum = g * (A(1) - update) * (A(1) - candidate * candidate);
    const auto grad_reset = sum * hidden_candidate * reset * (A(1) - reset),
               grad_update = g * (before - candidate) * update * (A(1) - update);
    x.set(j, count, grad_reset);
    x.set(n + j, count, grad_update);
    x.set(2 * n + j, count, sum);
    y.set(j, count, grad_reset);
    y.set(n + j, count, grad_update);
    y.set(2 * n + j, count, sum * reset);
    row_of<A>(s.grad_hidden, row, n).set(j, count, g * update);
  });
}

template <class A, bool relu>
void simple_backward(const CellStepBackward& s) {
  const int64_t n = s.size;
  for_elements<A>(s.rows, n, [&](int64_t row, int64_t j, int count) {
    const auto h = row_of<A>(s.output, row, n).get(j, count), g = grad_of_output<A>(s, row, j, count);
    const auto sum = relu ? select<Vec<A>>(h > 0, g, Vec<A>{}) : g * (A(1) - h * h);
    row_of<A>(s.grad_gates, row, n).set(j, count, sum);
  });
}

}  // namespace

using CellKernel = void (*)(const CellStep&);
using CellBackwardKernel = void (*)(const CellStepBackward&);

// By Cell; float and double.
extern const CellKernel cells[4][2] = {{&lstm<float>, &lstm<double>},
                                       {&gru<float>, &gru<double>},
                                       {&simple<float, false>, &simple<double, false>},
                                       {&simple<float, true>, &simple<double, true>}};
extern const CellBackwardKernel cell_backwards[4][2] = {
    {&lstm_backward<float>, &lstm_backward<double>},
    {&gru_backward<float>, &gru_backward<double>},
    {&simple_backward<float, false>, &simple_backward<double, false>},
    {&simple_backward<float, true>, &simple_backward<double, true>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using CellKernel = void (*)(const CellStep&);
          using CellBackwardKernel = void (*)(const CellStepBackward&); extern const CellKernel cells[4][2];
          extern const CellBackwardKernel cell_backwards[4][2])

namespace tl::cpu {

void recurrent_step(DType dtype, Cell cell, const CellStep& step) {
  TL_SELECT(cells)[static_cast<int>(cell)][dtype == DType::Float64](step);
}

void recurrent_step_backward(DType dtype, Cell cell, const CellStepBackward& step) {
  TL_SELECT(cell_backwards)[static_cast<int>(cell)][dtype == DType::Float64](step);
}

}  // namespace tl::cpu
#endif
