// LSTM, GRU and Elman layers over sequences by backpropagation through time, and their cells.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "base/parallel.h"
#include "dispatch/program_handlers.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/fused/recurrent_cell.h"
#include "kernels/cpu/gemm/gemm.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/differentiated.h"
#include "ops/shared/elements.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using cpu::Cell;
using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

int64_t gate_count(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }
int64_t saved_count(Cell cell) { return cell == Cell::Lstm || cell == Cell::Gru ? 4 : 0; }

// ---- one layer in one direction, over steps whose rows stand one after another ----------------------------

// The rows of each step in the order in which they are run.
class Steps {
 public:
  // `rows` of it from `first` on, which belong to the states from `state` on.
  struct Step {
    int64_t first, rows, state;
    size_t number;
  };
  Steps(IntSpan batch_sizes, bool reverse)
      : n_(static_cast<int64_t>(batch_sizes.size())), sizes_(batch_sizes), reverse_(reverse) {
    for (int64_t rows : batch_sizes) total_ += rows;
  }
  int64_t total() const { return total_; }
  // body(step) from the first to the last, or the other way round.
  template <class F>
  void run(bool backwards, F body) const {
    run_some(backwards, 0, std::numeric_limits<int64_t>::max(), body);
  }
  // No state depends on another's: each thread takes some of them through all the steps.
  template <class F>
  void run_divided(bool backwards, int64_t states, F body) const {
    constexpr int64_t kLeast = 4;  // rows of a product that are worth reading the weight for
    const int64_t share = n_ < 2 ? states : (states - 1) / num_threads() + 1;
    parallel_for(0, states, (share + kLeast - 1) / kLeast * kLeast,
                 [&](int64_t begin, int64_t end) { run_some(backwards, begin, end, body); });
  }

 private:
  template <class F>
  void run_some(bool backwards, int64_t begin, int64_t end, F body) const {
    const bool descending = reverse_ != backwards;
    int64_t first = descending ? total_ : 0;
    for (int64_t i = 0; i < n_; ++i) {
      const auto number = static_cast<size_t>(descending ? n_ - 1 - i : i);
      const int64_t rows = sizes_[number];
      if (descending) first -= rows;
      if (begin < rows || begin == 0) body(Step{first + begin, std::min(rows, end) - begin, begin, number});
      if (!descending) first += rows;
    }
  }

  int64_t n_, total_ = 0;
  IntSpan sizes_;
  bool reverse_;
};

char* row_at(const Tensor& t, int64_t row, int64_t width) {
  return t ? t.ptr<char>() + row * width * t.itemsize() : nullptr;
}
cpu::MatrixView rows_at(const Tensor& t, int64_t row) { return {row_at(t, row, t.size(1)), t.size(1), 1}; }
cpu::MatrixView transposed(const Tensor& t) { return {t.ptr<char>(), 1, t.size(1)}; }

// The weight that each step multiplies by. It is packed once if there are several steps.
class StepWeight {
 public:
  StepWeight(const cpu::MatrixView& w, int64_t k, int64_t n, DType type, size_t steps)
      : type_(type), weight_(w) {
    if (steps < 2) return;
    packed_ = empty(DimVector{cpu::packed_size(type, k, n)}, {type, {}});
    cpu::pack(type, w, k, n, packed_.ptr<char>());
  }
  void multiply(cpu::GemmArgs p) const {
    p.b = packed_ ? cpu::MatrixView{packed_.ptr<char>(), 0, 0} : weight_;
    packed_ ? cpu::gemm_packed(type_, p) : cpu::gemm(type_, p);
  }

 private:
  DType type_;
  cpu::MatrixView weight_;
  Tensor packed_;
};

Tensor typed(const Tensor& t, DType type) { return to_contiguous(to_dtype(t, type)); }

// The numbers one and zero of a product.
struct One {
  float f = 1;
  double d = 1;
  const void* of(DType t) const { return t == DType::Float64 ? static_cast<const void*>(&d) : &f; }
};

constexpr const char* kLayer = "recurrent_layer";

void check_layer(const Tensor& rows, const Tensor& h0, OptTensor c0, const Tensor& w_hh, OptTensor b_hh,
                 int64_t mode, IntSpan batch_sizes) {
  TL_CHECK(mode >= 0 && mode <= 3, Runtime, kLayer, "(): argument 'mode' must be from 0 to 3, got ", mode);
  const auto cell = static_cast<Cell>(mode);
  expect_floating(kLayer, rows);
  TL_CHECK(rows.dim() == 2 && h0.dim() == 2, Runtime, kLayer, "(): gates and states must be matrices, got ",
           rows.sizes(), " and ", h0.sizes());
  const int64_t n = h0.size(1), width = checked_mul(gate_count(cell), n);
  expect(kLayer, "h0", h0, rows.dtype(), h0.sizes());
  expect(kLayer, "w_hh", w_hh, rows.dtype(), DimVector{width, n});
  if (b_hh) expect(kLayer, "b_hh", *b_hh, rows.dtype(), DimVector{width});
  TL_CHECK(!b_hh || cell == Cell::Gru, Runtime, kLayer, "(): only a GRU has a second bias");
  TL_CHECK((c0 != nullptr) == (cell == Cell::Lstm), Runtime, kLayer,
           "(): an LSTM, and nothing else, has a cell state");
  if (c0) expect(kLayer, "c0", *c0, rows.dtype(), h0.sizes());
  int64_t total = 0;
  for (int64_t size : batch_sizes) {
    TL_CHECK(size >= 0 && size <= h0.size(0), Runtime, kLayer, "(): a step of ", size, " rows with ",
             h0.size(0), " states");
    total += size;
  }
  TL_CHECK(total == rows.size(0), Runtime, kLayer, "(): steps of ", total, " rows in all, but there are ",
           rows.size(0));
}

// What the backward pass has besides the arguments of the layer. `Args` are those of
// _recurrent_layer_backward or of _recurrent_layer_gradients.
template <class Args>
void check_layer_backward(const Args& a) {
  check_layer(a.output, a.h0, a.c0, a.w_hh, a.b_hh, a.mode, a.batch_sizes);
  const auto cell = static_cast<Cell>(a.mode);
  const int64_t n = a.h0.size(1), total = a.output.size(0);
  const DType type = opmath_type(a.output.dtype());
  expect(kLayer, "output", a.output, a.output.dtype(), DimVector{total, n});
  expect(kLayer, "saved", a.saved, type, DimVector{total, saved_count(cell) * n});
  expect(kLayer, "cells", a.cells, type, DimVector{cell == Cell::Lstm ? total : 0, n});
  if (a.grad_output) expect(kLayer, "grad_output", *a.grad_output, a.grad_output->dtype(), a.output.sizes());
  for (OptTensor t : {a.grad_hidden, a.grad_state})
    if (t) expect(kLayer, "grad_hidden", *t, t->dtype(), a.h0.sizes());
}

// What the steps of a forward pass read and write, dense and in the opmath type.
struct LayerForward {
  Cell cell;
  DType type;
  Tensor gates, weight, bias;   // the input's products, updated in place by a GRU; w_hh and b_hh
  Tensor hidden, state;         // of the previous step, replaced by each
  Tensor hidden_gates;          // a GRU's products with the hidden state
  Tensor output, saved, cells;  // results for every row
  int64_t n() const { return hidden.size(1); }
};

// All steps: a product with the hidden state, accumulated onto the input's, and the cell.
void run_forward(const LayerForward& f, const Steps& steps, size_t n_steps) {
  const One one;
  const int64_t n = f.n(), width = gate_count(f.cell) * n;
  const bool gru = f.cell == Cell::Gru;
  const StepWeight factor(transposed(f.weight), n, width, f.type, n_steps);
  // The sums are written where the step's results go, except a GRU's.
  const Tensor& sums = gru ? f.gates : f.cell == Cell::Lstm ? f.saved : f.output;
  const bool adds = !gru || f.bias;
  steps.run_divided(false, f.hidden.size(0), [&](Steps::Step s) {
    const cpu::MatrixView to = gru ? rows_at(f.hidden_gates, s.state) : rows_at(sums, s.first);
    const cpu::MatrixView added =
        gru ? cpu::MatrixView{f.bias ? f.bias.ptr<char>() : nullptr, 0, 1} : rows_at(f.gates, s.first);
    factor.multiply({s.rows,
                     width,
                     n,
                     rows_at(f.hidden, s.state),
                     {},
                     to,
                     added,
                     one.of(f.type),
                     adds ? one.of(f.type) : nullptr});
    cpu::recurrent_step(
        f.type, f.cell,
        {s.rows, n, row_at(sums, s.first, width), row_at(f.hidden_gates, s.state, width),
         row_at(f.saved, s.first, 4 * n), row_at(f.state, s.state, n), row_at(f.cells, s.first, n),
         row_at(f.hidden, s.state, n), row_at(f.output, s.first, n)});
  });
}

// Input products of all steps are one GEMM beforehand (`gates`); here, step by step, the hidden product and
// the cell. Saved: the activations that the derivative reads.
Five layer(const RecurrentLayerArgs& a) {
  check_layer(a.gates, a.h0, a.c0, a.w_hh, a.b_hh, a.mode, a.batch_sizes);
  expect(kLayer, "gates", a.gates, a.gates.dtype(),
         DimVector{a.gates.size(0), gate_count(static_cast<Cell>(a.mode)) * a.h0.size(1)});
  const auto cell = static_cast<Cell>(a.mode);
  const int64_t n = a.h0.size(1), total = a.gates.size(0);
  const DType own = a.gates.dtype(), type = opmath_type(own);
  const TensorOptions options{type, a.gates.device()};
  const Tensor output = empty(DimVector{total, n}, options),
               saved = empty(DimVector{total, saved_count(cell) * n}, options);
  const Tensor cells = empty(DimVector{cell == Cell::Lstm ? total : 0, n}, options);
  if (a.gates.is_meta())
    return {to_dtype(output, own), empty(a.h0.sizes(), {own, a.h0.device()}),
            empty(a.c0 ? a.c0->sizes() : IntSpan(DimVector{0}), {own, a.h0.device()}), saved, cells};
  const LayerForward f{cell,
                       type,
                       typed(a.gates, type),
                       typed(a.w_hh, type),
                       a.b_hh ? typed(*a.b_hh, type) : Tensor(),
                       ops::clone(typed(a.h0, type)),
                       a.c0 ? ops::clone(typed(*a.c0, type)) : empty(DimVector{0}, options),
                       cell == Cell::Gru ? empty(DimVector{a.h0.size(0), 3 * n}, options) : Tensor(),
                       output,
                       saved,
                       cells};
  run_forward(f, Steps(a.batch_sizes, a.reverse), a.batch_sizes.size());
  return {to_dtype(output, own), to_dtype(f.hidden, own), to_dtype(f.state, own), saved, cells};
}

// The state before each row's step.
Tensor previous_states(const Steps& steps, const Tensor& output, const Tensor& h0) {
  const int64_t n = h0.size(1);
  const Tensor all = empty(output.sizes(), {output.dtype(), output.device()}), state = ops::clone(h0);
  const auto bytes = [&](int64_t rows) { return static_cast<size_t>(rows * n * output.itemsize()); };
  steps.run(false, [&](Steps::Step s) {
    if (s.rows == 0) return;
    std::memcpy(row_at(all, s.first, n), state.ptr<char>(), bytes(s.rows));
    std::memcpy(state.ptr<char>(), row_at(output, s.first, n), bytes(s.rows));
  });
  return all;
}

// What the steps of a backward pass read and write, dense and in the opmath type.
struct LayerBackward {
  Cell cell;
  DType type;
  Tensor saved, cells, previous, output,
      weight;                            // of the forward pass; `previous` is each row's hidden state
  Tensor grad_output;                    // or none
  Tensor grad_hidden, grad_state;        // of the step's results, replaced by those of the previous step
  Tensor grad_gates, grad_hidden_gates;  // results for every row; one tensor except for a GRU
};

// All steps from the last on: the cell, and the product of its gates' gradients with the weight.
void run_backward(const LayerBackward& b, const Steps& steps, size_t n_steps) {
  const One one;
  const int64_t n = b.grad_hidden.size(1), width = b.grad_gates.size(1);
  const bool adds = b.cell == Cell::Gru;
  const StepWeight factor(rows_at(b.weight, 0), width, n, b.type, n_steps);
  steps.run_divided(true, b.grad_hidden.size(0), [&](Steps::Step s) {
    cpu::recurrent_step_backward(
        b.type, b.cell,
        {s.rows, n, row_at(b.saved, s.first, 4 * n), row_at(b.cells, s.first, n),
         row_at(b.previous, s.first, n), row_at(b.output, s.first, n), row_at(b.grad_output, s.first, n),
         row_at(b.grad_hidden, s.state, n), row_at(b.grad_state, s.state, n),
         row_at(b.grad_gates, s.first, width), row_at(b.grad_hidden_gates, s.first, width)});
    const cpu::MatrixView to = rows_at(b.grad_hidden, s.state);
    factor.multiply({s.rows,
                     n,
                     width,
                     rows_at(b.grad_hidden_gates, s.first),
                     {},
                     to,
                     adds ? to : cpu::MatrixView{},
                     one.of(b.type),
                     adds ? one.of(b.type) : nullptr});
  });
}

// A gradient to accumulate into: a copy of what is given, or zeros.
Tensor started(OptTensor grad, const Tensor& like, const TensorOptions& options) {
  const Tensor t = empty(like.sizes(), options);
  if (t.is_meta()) return t;
  if (grad)
    copy_elements(t, *grad);
  else
    fill_elements(t, Scalar(0.0));
  return t;
}

// Backward through time: steps in reverse order give the gradients of all gates; the weight's is then one
// product with the previous hidden states, the bias's one sum.
Five layer_backward(const RecurrentLayerBackwardArgs& a) {
  check_layer_backward(a);
  const auto cell = static_cast<Cell>(a.mode);
  const DType own = a.output.dtype(), type = opmath_type(own);
  const TensorOptions options{type, a.h0.device()};
  const Tensor hidden = started(a.grad_hidden, a.h0, options),
               state = a.c0 ? started(a.grad_state, *a.c0, options) : Tensor();
  const Tensor gates = empty(DimVector{a.output.size(0), gate_count(cell) * a.h0.size(1)}, options);
  const auto in_own_type = [own](const Tensor& t) { return t ? to_dtype(t, own) : t; };
  const auto results = [&](const Tensor& grad_weight, const Tensor& grad_bias) -> Five {
    return {in_own_type(gates), in_own_type(hidden), in_own_type(state), in_own_type(grad_weight),
            in_own_type(grad_bias)};
  };
  if (a.h0.is_meta())
    return results(empty(a.w_hh.sizes(), options), a.b_hh ? empty(a.b_hh->sizes(), options) : Tensor());
  const Steps steps(a.batch_sizes, a.reverse);
  const Tensor output = typed(a.output, type);
  const LayerBackward b{cell,
                        type,
                        to_contiguous(a.saved),
                        to_contiguous(a.cells),
                        previous_states(steps, output, typed(a.h0, type)),
                        output,
                        typed(a.w_hh, type),
                        a.grad_output ? typed(*a.grad_output, type) : Tensor(),
                        hidden,
                        state,
                        gates,
                        cell == Cell::Gru ? empty(gates.sizes(), options) : gates};
  run_backward(b, steps, a.batch_sizes.size());
  const Tensor grad_weight = ops::mm(ops::t(b.grad_hidden_gates), b.previous);
  const Tensor grad_bias = a.b_hh ? ops::sum_dim_IntList(b.grad_hidden_gates, DimVector{0}, false) : Tensor();
  return results(grad_weight, grad_bias);
}

// ---- the gradients in operators ---------------------------------------------------------------------------

Tensor first_rows(const Tensor& t, int64_t rows) {
  return rows == t.size(0) ? t : ops::slice(t, 0, 0, rows, 1);
}
Tensor with_first_rows(const Tensor& t, const Tensor& rows) {
  if (rows.size(0) == t.size(0)) return rows;
  return ops::cat(std::vector<Tensor>{rows, ops::slice(t, 0, rows.size(0), std::nullopt, 1)}, 0);
}

// Of one step: of the sums of the gates' products with the input and with the state, of the previous state
// beside its product, and of the previous cell.
struct StepGradients {
  Tensor gates, hidden_gates, hidden, cell;
};

StepGradients lstm_gradients(const Tensor& g, const Tensor& grad_cell, const Tensor& saved,
                             const Tensor& before, const Tensor& grad_saved, const Tensor& grad_before) {
  const std::vector<Tensor> parts = ops::chunk(saved, 4, 1), more = ops::chunk(grad_saved, 4, 1);
  const Tensor &in = parts[0], &forget = parts[1], &fresh = parts[2], &out = parts[3];
  const Tensor c = ops::tanh(ops::addcmul(ops::mul(forget, before), in, fresh));
  const Tensor gc = ops::add(grad_cell, ops::tanh_backward(ops::mul(g, out), c));
  const Tensor gates =
      ops::cat(std::vector<Tensor>{ops::sigmoid_backward(ops::addcmul(more[0], gc, fresh), in),
                                   ops::sigmoid_backward(ops::addcmul(more[1], gc, before), forget),
                                   ops::tanh_backward(ops::addcmul(more[2], gc, in), fresh),
                                   ops::sigmoid_backward(ops::addcmul(more[3], g, c), out)},
               1);
  return {gates, gates, {}, ops::addcmul(grad_before, gc, forget)};
}

StepGradients gru_gradients(const Tensor& g, const Tensor& saved, const Tensor& before,
                            const Tensor& grad_saved) {
  const std::vector<Tensor> parts = ops::chunk(saved, 4, 1), more = ops::chunk(grad_saved, 4, 1);
  const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &part = parts[3];
  const Tensor direct = ops::mul(g, update);
  const Tensor sum = ops::tanh_backward(ops::add(more[2], ops::sub(g, direct)), fresh);
  const Tensor grad_reset = ops::sigmoid_backward(ops::addcmul(more[0], sum, part), reset);
  const Tensor grad_update = ops::sigmoid_backward(ops::addcmul(more[1], g, ops::sub(before, fresh)), update);
  return {ops::cat(std::vector<Tensor>{grad_reset, grad_update, sum}, 1),
          ops::cat(std::vector<Tensor>{grad_reset, grad_update, ops::addcmul(more[3], sum, reset)}, 1),
          direct,
          {}};
}

StepGradients simple_gradients(const Tensor& g, const Tensor& output, bool relu) {
  const Tensor gates = relu ? ops::threshold_backward(g, output, Scalar(0)) : ops::tanh_backward(g, output);
  return {gates, gates, {}, {}};
}

std::vector<Tensor> states_before(const Steps& steps, const std::vector<Tensor>& outputs, Tensor state) {
  std::vector<Tensor> before(outputs.size());
  steps.run(false, [&](Steps::Step s) {
    before[s.number] = first_rows(state, s.rows);
    state = with_first_rows(state, outputs[s.number]);
  });
  return before;
}

// Differentiable in turn: what the layer saved are results of it, which have gradients as the others do.
Five recorded_backward(const RecurrentLayerGradientsArgs& a) {
  check_layer_backward(a);
  const auto cell = static_cast<Cell>(a.mode);
  const DType own = a.output.dtype(), type = opmath_type(own);
  const auto typed = [type](const Tensor& t) { return ops::to_dtype(t, type); };
  const auto started = [&](OptTensor g, const Tensor& like) { return typed(g ? *g : ops::zeros_like(like)); };
  const auto each = [&](const Tensor& t) { return ops::split_with_sizes(typed(t), a.batch_sizes, 0); };
  const bool saves = saved_count(cell) > 0, lstm = cell == Cell::Lstm;
  const std::vector<Tensor> none,
      outputs = each(a.output), grads = each(started(a.grad_output, a.output)),
      saved = saves ? each(a.saved) : none, grad_saved = saves ? each(started(a.grad_saved, a.saved)) : none,
      cells = lstm ? each(a.cells) : none, grad_cells = lstm ? each(started(a.grad_cells, a.cells)) : none;
  const Steps steps(a.batch_sizes, a.reverse);
  const std::vector<Tensor> before = states_before(steps, outputs, typed(a.h0));
  std::vector<Tensor> gates(outputs.size()), hidden_gates(outputs.size());
  Tensor hidden = started(a.grad_hidden, a.h0), state = lstm ? started(a.grad_state, *a.c0) : Tensor();
  const Tensor weight = typed(a.w_hh);
  steps.run(true, [&](Steps::Step s) {
    const size_t i = s.number;
    const Tensor g = ops::add(first_rows(hidden, s.rows), grads[i]);
    const StepGradients r =
        lstm ? lstm_gradients(g, first_rows(state, s.rows), saved[i], cells[i], grad_saved[i], grad_cells[i])
        : cell == Cell::Gru ? gru_gradients(g, saved[i], before[i], grad_saved[i])
                            : simple_gradients(g, outputs[i], cell == Cell::Relu);
    const Tensor product = ops::mm(r.hidden_gates, weight);
    hidden = with_first_rows(hidden, r.hidden ? ops::add(product, r.hidden) : product);
    if (lstm) state = with_first_rows(state, r.cell);
    gates[i] = r.gates;
    hidden_gates[i] = r.hidden_gates;
  });
  const Tensor sums = ops::cat(hidden_gates, 0);
  const auto in_own_type = [own](const Tensor& t) { return t ? ops::to_dtype(t, own) : t; };
  return {in_own_type(cell == Cell::Gru ? ops::cat(gates, 0) : sums), in_own_type(hidden), in_own_type(state),
          in_own_type(ops::mm(ops::t(sums), ops::cat(before, 0))),
          in_own_type(a.b_hh ? ops::sum_dim_IntList(sums, DimVector{0}, false) : Tensor())};
}

Five layer_gradients(const RecurrentLayerGradientsArgs& a) {
  if (is_differentiated(a.output, a.h0, a.w_hh) || a.grad_saved || a.grad_cells) return recorded_backward(a);
  return ops::_recurrent_layer_backward(a.grad_output, a.grad_hidden, a.grad_state, a.h0, a.c0, a.w_hh,
                                        a.b_hh, a.output, a.saved, a.cells, a.mode, a.reverse, a.batch_sizes);
}

// ---- stacked layers ---------------------------------------------------------------------------------------

struct Options {
  Cell cell;
  bool biases, train, bidirectional;
  int64_t layers;
  double dropout;
};

struct Sequence {
  Tensor data;  // rows of all steps
  DimVector batch_sizes;
  Tensor shaped(const Tensor& t, bool packed) const {
    if (packed) return t;
    return ops::view(t, DimVector{static_cast<int64_t>(batch_sizes.size()),
                                  batch_sizes.empty() ? 0 : batch_sizes[0], t.size(1)});
  }
};

struct Parameters {
  const Tensor *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
};

Parameters parameters_of(TensorList params, const Options& o, int64_t number, bool projects) {
  const size_t each = 2 + (o.biases ? 2 : 0) + (projects ? 1 : 0), at = static_cast<size_t>(number) * each;
  return {&params[at], &params[at + 1], o.biases ? &params[at + 2] : nullptr,
          o.biases ? &params[at + 3] : nullptr, projects ? &params[at + each - 1] : nullptr};
}

struct LayerResult {
  Tensor output, hidden, state;
};

struct State {
  Tensor hidden, cell;
};

State lstm_step(const Tensor& gates, const State& s, const Parameters& p) {
  const std::vector<Tensor> parts = ops::chunk(ops::add(gates, ops::linear(s.hidden, *p.w_hh, p.b_hh)), 4, 1);
  const Tensor next = ops::add(ops::mul(ops::sigmoid(parts[1]), s.cell),
                               ops::mul(ops::sigmoid(parts[0]), ops::tanh(parts[2])));
  const Tensor out = ops::mul(ops::sigmoid(parts[3]), ops::tanh(next));
  return {p.w_hr ? ops::linear(out, *p.w_hr) : out, next};
}

State gru_step(const Tensor& gates, const State& s, const Parameters& p) {
  const std::vector<Tensor> in = ops::chunk(gates, 3, 1),
                            own = ops::chunk(ops::linear(s.hidden, *p.w_hh, p.b_hh), 3, 1);
  const Tensor reset = ops::sigmoid(ops::add(in[0], own[0])), update = ops::sigmoid(ops::add(in[1], own[1]));
  const Tensor fresh = ops::tanh(ops::add(in[2], ops::mul(reset, own[2])));
  return {ops::add(fresh, ops::mul(update, ops::sub(s.hidden, fresh))), {}};
}

State simple_step(const Tensor& gates, const State& s, const Parameters& p, Cell cell) {
  const Tensor sums = ops::add(gates, ops::linear(s.hidden, *p.w_hh, p.b_hh));
  return {cell == Cell::Relu ? ops::relu(sums) : ops::tanh(sums), {}};
}

// Step by step in operators: an LSTM whose state is projected, and where a program handles operators.
LayerResult run_in_operators(const Sequence& x, const Tensor& h0, OptTensor c0, const Parameters& p,
                             Cell cell, bool reverse) {
  const Tensor gates = ops::linear(x.data, *p.w_ih, p.b_ih);
  Tensor hidden = h0, state = c0 ? *c0 : Tensor();
  std::vector<Tensor> outputs(x.batch_sizes.size());
  const Steps steps(x.batch_sizes, reverse);
  steps.run(false, [&](Steps::Step s) {
    const Tensor sums = ops::slice(gates, 0, s.first, s.first + s.rows, 1);
    const State before{first_rows(hidden, s.rows), c0 ? first_rows(state, s.rows) : Tensor()};
    const State after = cell == Cell::Lstm  ? lstm_step(sums, before, p)
                        : cell == Cell::Gru ? gru_step(sums, before, p)
                                            : simple_step(sums, before, p, cell);
    hidden = with_first_rows(hidden, after.hidden);
    if (c0) state = with_first_rows(state, after.cell);
    outputs[s.number] = after.hidden;
  });
  return {ops::cat(outputs, 0), hidden, state};
}

LayerResult run_layer(const Sequence& x, const Tensor& h0, OptTensor c0, const Parameters& p, Cell cell,
                      bool reverse) {
  if (p.w_hr || handled_by_program({&x.data, &h0, c0, p.w_ih, p.w_hh}))
    return run_in_operators(x, h0, c0, p, cell, reverse);
  const bool apart = cell == Cell::Gru;
  const Tensor both = !apart && p.b_ih && p.b_hh ? ops::add(*p.b_ih, *p.b_hh) : Tensor();
  const OptTensor bias = both ? &both : apart || p.b_ih ? p.b_ih : p.b_hh;
  const auto [output, hidden, state, saved, cells] =
      ops::_recurrent_layer(ops::linear(x.data, *p.w_ih, bias), h0, c0, *p.w_hh, apart ? p.b_hh : nullptr,
                            static_cast<int64_t>(cell), reverse, x.batch_sizes);
  return {output, hidden, state};
}

struct StackResult {
  Tensor output, hidden, state;
};

// The derivative of a layer reads its output. A program may write to what it gets of a GRU or a plain layer,
// as it may with PyTorch; an LSTM over padded sequences refuses such writes in both.
Tensor writable_output(const Tensor& output, bool packed, const Options& o) {
  const bool refuses = o.cell == Cell::Lstm && !packed;
  return is_recorded(output) && !refuses && !o.bidirectional ? ops::clone(output) : output;
}

// Layer on layer, each direction on its own; the outputs of both are joined and, between layers, dropped out.
StackResult run_stack(Sequence x, bool packed, const Tensor& hidden, OptTensor state, TensorList params,
                      const Options& o) {
  const int64_t directions = o.bidirectional ? 2 : 1;
  const bool projects = state && hidden.size(2) != state->size(2);
  const size_t each = 2 + (o.biases ? 2 : 0) + (projects ? 1 : 0);
  TL_CHECK(o.layers > 0, Runtime, "num_layers must be greater than zero, got ", o.layers);
  const int64_t wanted = checked_mul(static_cast<int64_t>(each) * directions, o.layers);
  TL_CHECK(static_cast<int64_t>(params.size()) == wanted, Runtime, "expected ", wanted, " parameters, got ",
           static_cast<int64_t>(params.size()));
  TL_CHECK(hidden.size(0) == o.layers * directions && (!state || state->size(0) == o.layers * directions),
           Runtime, "Expected hidden state of ", o.layers * directions, " layers, got ", hidden.sizes());
  std::vector<Tensor> last_hidden, last_state;
  for (int64_t layer = 0; layer < o.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t number = layer * directions + direction;
      const Parameters p = parameters_of(params, o, number, projects);
      const Tensor h0 = ops::select_int(hidden, 0, number),
                   c0 = state ? ops::select_int(*state, 0, number) : Tensor();
      const LayerResult r = run_layer(x, h0, c0 ? &c0 : nullptr, p, o.cell, direction == 1);
      outputs.push_back(r.output);
      last_hidden.push_back(r.hidden);
      if (c0) last_state.push_back(r.state);
    }
    x.data = directions == 1 ? outputs[0] : ops::cat(outputs, 1);
    if (o.dropout > 0 && o.train && layer + 1 < o.layers)
      x.data = ops::reshape(ops::dropout(x.shaped(x.data, packed), o.dropout, true), x.data.sizes());
  }
  const Tensor output = writable_output(x.data, packed, o);
  return {x.shaped(output, packed), ops::stack(last_hidden, 0), state ? ops::stack(last_state, 0) : Tensor()};
}

void check_rnn_input(const Tensor& input, const Tensor& hidden, int64_t input_dims, bool batch_first) {
  TL_CHECK(input.dim() == input_dims && hidden.dim() == 3, Runtime, "input must have ", input_dims,
           " dimensions and the hidden state 3, got ", input.dim(), " and ", hidden.dim());
  TL_CHECK(is_floating(input.dtype()), NotImplemented, "\"rnn\" not implemented for '",
           scalar_type_name(input.dtype()), "'");
  TL_CHECK(input.dtype() == hidden.dtype(), Runtime,
           "Input and hidden tensors are not the same dtype, found input tensor with ",
           scalar_type_name(input.dtype()), " and hidden tensor with ", scalar_type_name(hidden.dtype()));
  if (input_dims != 3) return;
  const int64_t batch = input.size(batch_first ? 0 : 1);
  TL_CHECK(hidden.size(1) == batch, Runtime, "Expected hidden size of ", batch, " samples, got ",
           hidden.sizes());
  TL_CHECK(input.size(batch_first ? 1 : 0) > 0, Runtime,
           "Expected sequence length to be larger than 0 in RNN");
}

StackResult run_padded(const Tensor& input, const Tensor& hidden, OptTensor state, TensorList params,
                       const Options& o, bool batch_first) {
  check_rnn_input(input, hidden, 3, batch_first);
  const Tensor x = batch_first ? ops::transpose_int(input, 0, 1) : input;
  const Sequence sequence{ops::reshape(x, DimVector{x.size(0) * x.size(1), x.size(2)}),
                          DimVector(static_cast<size_t>(x.size(0)), x.size(1))};
  StackResult r = run_stack(sequence, false, hidden, state, params, o);
  if (batch_first) r.output = ops::transpose_int(r.output, 0, 1);
  return r;
}

StackResult run_packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hidden, OptTensor state,
                       TensorList params, const Options& o) {
  check_rnn_input(data, hidden, 2, false);
  TL_CHECK(batch_sizes.dim() == 1 && batch_sizes.dtype() == DType::Int64 && batch_sizes.device().is_cpu(),
           Runtime, "batch_sizes must be a vector of int64 on the CPU, got ",
           scalar_type_name(batch_sizes.dtype()), " of shape ", batch_sizes.sizes());
  const Tensor dense = to_contiguous(batch_sizes);
  const DimVector sizes(IntSpan(elements_of<int64_t>("batch_sizes", dense, batch_sizes.numel()),
                                static_cast<size_t>(dense.numel())));
  int64_t total = 0, before = hidden.size(1);
  for (int64_t rows : sizes) {
    TL_CHECK(rows > 0 && rows <= before, Runtime,
             "batch_sizes must be positive and may not grow beyond the hidden state's ", hidden.size(1),
             " samples, got ", IntSpan(sizes));
    total += rows;
    before = rows;
  }
  TL_CHECK(total == data.size(0), Runtime, "batch_sizes add up to ", total, ", but there are ", data.size(0),
           " rows");
  return run_stack({data, sizes}, true, hidden, state, params, o);
}

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

void check_lstm_state(TensorList hx) {
  TL_CHECK(hx.size() == 2, Runtime, "lstm expects two hidden states");
  TL_CHECK(hx[0].dtype() == hx[1].dtype(), Runtime, "Hidden states of an LSTM must have one dtype, got ",
           scalar_type_name(hx[0].dtype()), " and ", scalar_type_name(hx[1].dtype()));
  TL_CHECK(hx[0].dim() == 3 && hx[1].dim() == 3, Runtime,
           "Hidden states of an LSTM must have 3 dimensions, got ", hx[0].dim(), " and ", hx[1].dim());
}

template <class Args>
Options options_of(const Args& a, Cell cell) {
  return {cell, a.has_biases, a.train, a.bidirectional, a.num_layers, a.dropout};
}

Three lstm_input(const LstmInputArgs& a) {
  check_lstm_state(a.hx);
  const StackResult r =
      run_padded(a.input, a.hx[0], &a.hx[1], a.params, options_of(a, Cell::Lstm), a.batch_first);
  return {r.output, r.hidden, r.state};
}
Three lstm_data(const LstmDataArgs& a) {
  check_lstm_state(a.hx);
  const StackResult r =
      run_packed(a.data, a.batch_sizes, a.hx[0], &a.hx[1], a.params, options_of(a, Cell::Lstm));
  return {r.output, r.hidden, r.state};
}
template <Cell cell, class Args>
Two rnn_input(const Args& a) {
  const StackResult r = run_padded(a.input, a.hx, nullptr, a.params, options_of(a, cell), a.batch_first);
  return {r.output, r.hidden};
}
template <Cell cell, class Args>
Two rnn_data(const Args& a) {
  const StackResult r = run_packed(a.data, a.batch_sizes, a.hx, nullptr, a.params, options_of(a, cell));
  return {r.output, r.hidden};
}

// ---- cells ------------------------------------------------------------------------------------------------

void check_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh) {
  TL_CHECK(input.dim() == hx.dim() && (input.dim() == 1 || input.dim() == 2), Runtime,
           "a cell's input and state must have 1 or 2 dimensions each, got ", input.dim(), " and ", hx.dim());
  TL_CHECK(w_ih.dim() == 2 && w_hh.dim() == 2, Runtime, "a cell's weights must be matrices, got ",
           w_ih.sizes(), " and ", w_hh.sizes());
  TL_CHECK(input.size(input.dim() - 1) == w_ih.size(1), Runtime, "input has inconsistent input_size: got ",
           input.size(input.dim() - 1), " expected ", w_ih.size(1));
  TL_CHECK(hx.size(hx.dim() - 1) == w_hh.size(1), Runtime, "hidden0 has inconsistent hidden_size: got ",
           hx.size(hx.dim() - 1), ", expected ", w_hh.size(1));
  TL_CHECK(input.dim() == 1 || input.size(0) == hx.size(0), Runtime, "Input batch size ", input.size(0),
           " doesn't match hidden0 batch size ", hx.size(0));
}

// A cell is a layer of one step.
LayerResult run_cell(const Tensor& input, const Tensor& hx, OptTensor cx, const Parameters& p, Cell cell) {
  check_cell(input, hx, *p.w_ih, *p.w_hh);
  const bool one = input.dim() == 1;
  const auto rows = [one](const Tensor& t) { return one ? ops::unsqueeze(t, 0) : t; };
  const Tensor h = rows(hx), c = cx ? rows(*cx) : Tensor();
  LayerResult r = run_layer({rows(input), DimVector{h.size(0)}}, h, cx ? &c : nullptr, p, cell, false);
  if (!one) return r;
  return {ops::squeeze_dim(r.output, 0), ops::squeeze_dim(r.hidden, 0),
          cx ? ops::squeeze_dim(r.state, 0) : Tensor()};
}

Two lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh, OptTensor b_ih,
              OptTensor b_hh) {
  TL_CHECK(hx.size() == 2, Runtime, "lstm_cell expects two hidden states");
  const LayerResult r = run_cell(input, hx[0], &hx[1], {&w_ih, &w_hh, b_ih, b_hh, nullptr}, Cell::Lstm);
  return {r.hidden, r.state};
}
template <Cell cell>
Tensor simple_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                   OptTensor b_ih, OptTensor b_hh) {
  return run_cell(input, hx, nullptr, {&w_ih, &w_hh, b_ih, b_hh, nullptr}, cell).hidden;
}
}  // namespace

TL_KERNEL(_recurrent_layer, layer)
TL_KERNEL(_recurrent_layer_backward, layer_backward)
TL_KERNEL(_recurrent_layer_gradients, layer_gradients)
TL_KERNEL(lstm_input, lstm_input)
TL_KERNEL(lstm_data, lstm_data)
TL_KERNEL(gru_input, (rnn_input<Cell::Gru, GruInputArgs>))
TL_KERNEL(gru_data, (rnn_data<Cell::Gru, GruDataArgs>))
TL_KERNEL(rnn_tanh_input, (rnn_input<Cell::Tanh, RnnTanhInputArgs>))
TL_KERNEL(rnn_tanh_data, (rnn_data<Cell::Tanh, RnnTanhDataArgs>))
TL_KERNEL(rnn_relu_input, (rnn_input<Cell::Relu, RnnReluInputArgs>))
TL_KERNEL(rnn_relu_data, (rnn_data<Cell::Relu, RnnReluDataArgs>))
TL_KERNEL(lstm_cell, lstm_cell)
TL_KERNEL(gru_cell, simple_cell<Cell::Gru>)
TL_KERNEL(rnn_tanh_cell, simple_cell<Cell::Tanh>)
TL_KERNEL(rnn_relu_cell, simple_cell<Cell::Relu>)

}  // namespace tl
