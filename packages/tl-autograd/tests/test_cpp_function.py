"""Derivatives in C++: a recurrent cell with its backward, and `torch::autograd::Function` of an extension."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd.gradcheck import gradcheck, gradgradcheck
from tl_core.extensions import cpp_extension
from tl_core.operators import packets as ops

pytestmark = pytest.mark.skipif(
    shutil.which(cpp_extension.get_cxx_compiler()) is None
    or not (Path(sysconfig.get_path("include")) / "Python.h").exists(),
    reason="no compiler, or no headers of Python",
)

SOURCE = r"""
#include <torch/all.h>
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A cell with three gates: (h, c) from the input, the weights and the state before.
struct Cell : torch::autograd::Function<Cell> {
  static variable_list forward(AutogradContext* ctx, Tensor input, Tensor weights, Tensor bias, Tensor h, Tensor c) {
    auto x = torch::cat({h, input}, /*dim=*/1);
    auto gates = torch::addmm(bias, x, weights.transpose(0, 1)).chunk(3, /*dim=*/1);
    auto in = torch::sigmoid(gates[0]), out = torch::sigmoid(gates[1]), candidate = torch::elu(gates[2], 1.0);
    auto new_c = c + candidate * in;
    auto new_h = torch::tanh(new_c) * out;
    ctx->save_for_backward({new_c, in, out, candidate, x, gates[2], weights});
    return {new_h, new_c};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    auto new_c = saved[0], in = saved[1], out = saved[2], candidate = saved[3], x = saved[4], gate = saved[5];
    auto t = torch::tanh(new_c);
    auto d_out = t * grads[0] * (1 - out) * out;
    auto d_c = (1 - t.pow(2)) * out * grads[0] + grads[1];
    auto d_in = candidate * d_c * (1 - in) * in;
    auto d_candidate = in * d_c * ((gate > 0).type_as(gate) + (gate <= 0).type_as(gate) * gate.exp());
    auto d_gates = torch::cat({d_in, d_out, d_candidate}, 1);
    auto d_x = d_gates.mm(saved[6]);
    const int64_t n = grads[0].size(1);
    return {d_x.slice(1, n), d_gates.t().mm(x), d_gates.sum(0, true), d_x.slice(1, 0, n), d_c};
  }
};
std::tuple<Tensor, Tensor> cell(Tensor input, Tensor weights, Tensor bias, Tensor h, Tensor c) {
  auto out = Cell::apply(input, weights, bias, h, c);
  return {out[0], out[1]};
}

struct Square : torch::autograd::Function<Square> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double k, const std::optional<Tensor>& bias) {
    ctx->save_for_backward({x});
    ctx->saved_data["k"] = k;
    ctx->saved_data["bias"] = bias.has_value();
    return bias ? x * x * k + *bias : x * x * k;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    auto x = ctx->get_saved_variables()[0];
    auto grad = g[0] * x * (2 * ctx->saved_data["k"].toDouble());
    return {ctx->needs_input_grad(0) ? grad : Tensor(), Tensor(), ctx->saved_data["bias"].toBool() ? g[0] : Tensor()};
  }
};
Tensor square(const Tensor& x, double k, const std::optional<Tensor>& bias) { return Square::apply(x, k, bias); }

struct InPlace : torch::autograd::Function<InPlace> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(3);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list g) {
    TORCH_CHECK_VALUE(g[0].numel() < 5, "backward of ", g[0].numel(), " elements");
    return {g[0] * 3};
  }
};
Tensor in_place(Tensor x) { return InPlace::apply(x); }

struct Ordered : torch::autograd::Function<Ordered> {
  static variable_list forward(AutogradContext* ctx, Tensor x) {
    auto [values, indices] = x.sort();
    ctx->save_for_backward({indices});
    ctx->mark_non_differentiable({indices});
    return {values, indices};
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    return {torch::zeros_like(g[0]).scatter(0, ctx->get_saved_variables()[0], g[0])};
  }
};
std::tuple<Tensor, Tensor> ordered(Tensor x) {
  auto out = Ordered::apply(x);
  return {out[0], out[1]};
}

struct Short : torch::autograd::Function<Short> {
  static Tensor forward(AutogradContext*, Tensor x, Tensor y) { return x + y; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0]}; }
};
Tensor short_of_one(Tensor x, Tensor y) { return Short::apply(x, y); }

Tensor slope(Tensor x) {
  auto leaf = x.detach().requires_grad_();
  Tensor y = (leaf * leaf).sum();
  y.backward();
  torch::NoGradGuard off;
  TORCH_CHECK(!(leaf * 2).requires_grad(), "gradients are off");
  return leaf.grad();
}
Tensor hooked(Tensor x) {
  const Tensor leaf = x.detach().requires_grad_();
  const Tensor y = leaf * 2;
  double seen = 0;
  y.register_hook([&seen](Tensor g) { seen += g.sum().item<double>(); });
  const unsigned removed = y.register_hook([](const Tensor& g) { return g * 100; });
  y.register_hook([](Tensor g) { return g * 3; });
  y.remove_hook(removed);
  y.sum().backward();
  TORCH_CHECK(seen == double(x.numel()), "the hook saw ", seen);
  return leaf.grad();
}
void no_hook(Tensor x) { x.remove_hook(1000000); }
std::string nodes(Tensor x) {
  const Tensor y = (x * 2).exp();
  const auto node = y.grad_fn();
  const auto edge = node->next_edges()[0];
  std::string text = node->name() + " " + edge.function->name() + " " + std::to_string(edge.input_nr);
  if (node != y.grad_fn() || x.grad_fn() != nullptr) text += " two nodes";
  const Tensor part = y.unbind()[1];
  text += " " + std::to_string(part.output_nr());
  Tensor cut = y * 1;
  cut.detach_();
  return text + (cut.requires_grad() ? " recorded" : "");
}
Tensor slope_of(Tensor y, Tensor x) { return torch::autograd::grad({y}, {x}, {}, {}, /*create_graph=*/true)[0]; }

TORCH_LIBRARY(tl_test_function, m) {
  m.def("cell", &cell);
  m.def("square", &square);
  m.def("in_place(Tensor(a!) x) -> Tensor(a!)", &in_place);
  m.def("ordered", &ordered);
  m.def("short_of_one", &short_of_one);
  m.def("slope", &slope);
  m.def("slope_of", &slope_of);
  m.def("hooked", &hooked);
  m.def("no_hook", &no_hook);
  m.def("nodes", &nodes);
}
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("functions")
    source = folder / "functions.cpp"
    source.write_text(SOURCE)
    cpp_extension.load("tl_test_functions", str(source), is_python_module=False, build_directory=str(folder))
    return ops.tl_test_function


def cell(x: Any, w: Any, b: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """The cell in Python."""
    gates = tl.addmm(b, tl.cat([h, x], 1), w.t()).chunk(3, 1)
    new_c = c + tl.where(gates[2] > 0, gates[2], gates[2].exp() - 1) * tl.sigmoid(gates[0])
    return tl.tanh(new_c) * tl.sigmoid(gates[1]), new_c


def test_a_recurrent_cell(functions: Any) -> None:
    tl.manual_seed(0)
    shapes = (3, 4), (15, 9), (1, 15), (3, 5), (3, 5)
    inputs = [tl.randn(*shape, dtype=tl.float64).requires_grad_() for shape in shapes]
    for result, expected in zip(functions.cell(*inputs), cell(*inputs), strict=True):
        assert tl.allclose(result, expected, rtol=1e-12)
    grads, reference = (
        tl_autograd.grad(sum((o * o).sum() for o in f(*inputs)), inputs) for f in (functions.cell, cell)
    )
    for a, b in zip(grads, reference, strict=True):
        assert tl.allclose(a, b, rtol=1e-10)
    assert gradcheck(functions.cell, inputs)


def test_second_derivatives(functions: Any) -> None:
    x, bias = (tl.randn(4, dtype=tl.float64).requires_grad_() for _ in range(2))
    for inputs in ((x, 2.0, None), (x, 3.0, bias), (x.detach(), 3.0, bias)):
        assert gradcheck(functions.square, inputs) and gradgradcheck(functions.square, inputs)
    y = functions.square(x, 1.0, None)
    assert type(y.grad_fn).__name__ == "SquareBackward"
    assert functions.slope_of(functions.slope_of(y.sum(), x).sum(), x).tolist() == [2, 2, 2, 2]


def test_dirty_inputs_and_outputs_without_a_gradient(functions: Any) -> None:
    x = tl.tensor([3.0, 1.0, 2.0], requires_grad=True)
    y = x * 1
    out = functions.in_place(y)
    out.sum().backward()
    assert out.tolist() == [9, 3, 6] and y.tolist() == [9, 3, 6] and x.grad.tolist() == [3, 3, 3]
    values, indices = functions.ordered(x)
    assert values.requires_grad and not indices.requires_grad
    assert tl_autograd.grad((values * tl.tensor([1.0, 2.0, 3.0])).sum(), x)[0].tolist() == [3, 1, 2]
    assert functions.slope(x).tolist() == [6, 2, 4]


def test_hooks_and_nodes(functions: Any) -> None:
    assert functions.hooked(tl.ones(2)).tolist() == [6, 6]
    with pytest.raises(RuntimeError, match="no hook at position 1000000"):
        functions.no_hook(tl.ones(2))
    assert functions.nodes(tl.ones(2, requires_grad=True)) == "ExpBackward0 MulBackward0 0 1"


def test_errors_of_backward(functions: Any) -> None:
    x = tl.ones(6, requires_grad=True)
    with pytest.raises(ValueError, match="backward of 6 elements"):
        functions.in_place(x * 1).sum().backward()
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        functions.short_of_one(x, x).sum().backward()
    y = functions.square(x, 1.0, None)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
