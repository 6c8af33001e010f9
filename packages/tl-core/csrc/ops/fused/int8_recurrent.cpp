// A direction of an LSTM or GRU with weights of int8: the state is rounded to bytes at each step.
#include <cstring>

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/fused/recurrent_cell.h"
#include "ops.h"
#include "ops/gemm/int8_weight.h"
#include "ops/shared/copy.h"
#include "ops/shared/expect.h"

namespace tl {

namespace {

using cpu::Cell;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Floats = cpu::base::Workspace<float>;

constexpr const char* kName = "int8_recurrent_layer";
constexpr int kTop = 127;  // of the bytes of a state

void check_layer(const Int8RecurrentLayerArgs& a, const Int8Weight& weight) {
  TL_CHECK(a.mode == 0 || a.mode == 1, Runtime, kName, "(): argument 'mode' must be 0 or 1, got ", a.mode);
  TL_CHECK(a.gates.dim() == 3 && a.h0.dim() == 2, Runtime, kName,
           "(): gates must have three dimensions and states two, got ", a.gates.sizes(), " and ",
           a.h0.sizes());
  const int64_t n = a.h0.size(1), width = (a.mode == 0 ? 4 : 3) * n;
  expect(kName, "h0", a.h0, DType::Float32, a.h0.sizes());
  expect(kName, "gates", a.gates, DType::Float32, DimVector{a.gates.size(0), a.h0.size(0), width});
  TL_CHECK((a.c0 != nullptr) == (a.mode == 0), Runtime, kName,
           "(): an LSTM, and nothing else, has a cell state");
  if (a.c0) expect(kName, "c0", *a.c0, DType::Float32, a.h0.sizes());
  TL_CHECK(a.scales.dim() == 1 && a.scales.size(0) == width, Runtime, kName,
           "(): scales must be a vector of ", width, " elements, got the shape ", a.scales.sizes());
  check_int8_weight(weight, a.gates, whole_panels(width));
  const DimVector shape{cpu::int8_panels(width), cpu::int8_quads(n), cpu::kPanelColumns * cpu::kQuad};
  TL_CHECK(a.packed.is_contiguous() && std::ranges::equal(a.packed.sizes(), shape), Runtime, kName,
           "(): packed must be contiguous with the shape ", IntSpan(shape), ", got ", a.packed.sizes());
}

// The product of the state with the weight, as floats.
class StateProduct {
 public:
  StateProduct(const Int8Weight& weight, int64_t rows, int64_t n)
      : weight_(weight),
        factors_(weight),
        rows_(rows),
        n_(n),
        row_(cpu::int8_row_bytes(n)),
        bytes_(cpu::int8_readable_rows(rows) * row_) {}

  void operator()(const float* state, float* to) {
    cpu::FloatRange range{0.0f, 0.0f, false};
    if (rows_ > 0 && n_ > 0) range = cpu::float_range(state, rows_ * n_);
    check_range(range);
    const ByteParams params = choose_byte_params(range, kTop);
    cpu::quantize_rows({state, rows_, n_, 1.0f / params.scale, static_cast<float>(params.zero_point), 255.0f,
                        bytes_.data(), row_});
    factors_.of_floats(params.scale);
    const int64_t width = weight_.columns();
    cpu::gemm_packed_int8(
        {rows_, width, n_, bytes_.data(), row_, params.zero_point, weight_.packed.ptr<int8_t>(),
         weight_.sums.ptr<int32_t>(), factors_.zero_points(), true, cpu::int8_readable_rows(rows_)},
        {cpu::Int8Output::Float, reinterpret_cast<char*>(to), width * 4, factors_.scale(), factors_.added()});
  }

 private:
  const Int8Weight& weight_;
  Int8Factors factors_;
  int64_t rows_, n_, row_;
  cpu::base::Workspace<uint8_t> bytes_;
};

// `hidden` and `state` are those before the first step, and those after the last in the end.
struct Layer {
  const Int8RecurrentLayerArgs& a;
  Tensor gates, hidden, state, output;

  void run(const Int8Weight& weight) const {
    const int64_t rows = hidden.size(0), n = hidden.size(1), width = weight.columns(), steps = gates.size(0);
    StateProduct product(weight, rows, n);
    const Floats sums(rows * width), inputs(rows * width), saved(4 * rows * n), cells(rows * n);
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t at = a.reverse ? steps - 1 - i : i;
      const float* in = gates.ptr<float>() + at * rows * width;
      product(hidden.ptr<float>(), sums.data());
      if (a.mode == 0)
        for (int64_t e = 0; e < rows * width; ++e) sums.data()[e] += in[e];
      else
        std::memcpy(inputs.data(), in, static_cast<size_t>(rows * width) * sizeof(float));
      const auto bytes = [](float* p) { return reinterpret_cast<char*>(p); };
      float* first = a.mode == 0 ? sums.data() : inputs.data();
      cpu::recurrent_step(
          DType::Float32, static_cast<Cell>(a.mode),
          {rows, n, bytes(first), bytes(sums.data()), bytes(saved.data()), state.ptr<char>(),
           bytes(cells.data()), hidden.ptr<char>(), bytes(output.ptr<float>() + at * rows * n)});
    }
  }
};

Three layer(const Int8RecurrentLayerArgs& a) {
  const Int8Weight weight{a.packed, a.column_sums, a.scales, a.zero_points, a.bias};
  check_layer(a, weight);
  const Tensor output =
      empty(DimVector{a.gates.size(0), a.h0.size(0), a.h0.size(1)}, {DType::Float32, a.gates.device()});
  const Tensor hidden = ops::clone(to_contiguous(a.h0));
  const Tensor state =
      a.c0 ? ops::clone(to_contiguous(*a.c0)) : empty(a.h0.sizes(), {DType::Float32, a.h0.device()});
  if (!output.is_meta() && output.numel())
    Layer{a, to_contiguous(a.gates), hidden, state, output}.run(weight);
  return {output, hidden, state};
}

}  // namespace

TL_KERNEL(_int8_recurrent_layer, layer)

}  // namespace tl
