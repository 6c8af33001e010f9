"""Random numbers in models of ONNX: their means and ranges, for other sizes than that of the example."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import onnx

pytest.importorskip("onnxscript")

SEEDED = {"RandomUniformLike", "RandomNormalLike", "RandomUniform", "RandomNormal"}
# The draw, its mean and its range for inputs of 0.
SAMPLES: list[tuple[Callable[[tl.Tensor], tl.Tensor], float, float, float]] = [
    (lambda x: tl.empty_like(x).uniform_(2, 4), 3.0, 2.0, 4.0),
    (lambda x: x + x.clone().uniform_(), 0.5, 0.0, 1.0),
    (lambda x: tl.empty_like(x).normal_(1.0, 0.5), 1.0, -3.0, 5.0),
    (lambda x: tl.empty_like(x).bernoulli_(0.3), 0.3, 0.0, 1.0),
    (lambda x: tl.bernoulli(x + 0.3), 0.3, 0.0, 1.0),
    (lambda x: tl.bernoulli(tl.full_like(x, 0.3)), 0.3, 0.0, 1.0),
    (lambda x: tl.empty_like(x).exponential_(2.0), 0.5, 0.0, 20.0),
    (lambda x: tl.empty_like(x).random_(1, 5), 2.5, 1.0, 4.0),
    (lambda x: tl.empty_like(x).random_(3), 1.0, 0.0, 2.0),
    (lambda x: nn.functional.gumbel_softmax(x), 0.25, 0.0, 1.0),
]  # fmt: skip


class Draw(nn.Module):
    def __init__(self, draw: Callable[[tl.Tensor], tl.Tensor]) -> None:
        super().__init__()
        self.draw = draw

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        return self.draw(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("draw", "mean", "least", "most"), SAMPLES)
def test_random_numbers(
    draw: Callable[[tl.Tensor], tl.Tensor], mean: float, least: float, most: float
) -> None:
    program = onnx.export(Draw(draw), (tl.zeros(5, 4),), dynamic_shapes=({0: "rows"},), dynamo=True)
    assert {node.op_type for node in program.model.graph} & SEEDED
    (result,) = program.call_reference(tl.zeros(2000, 4))
    assert result.shape == (2000, 4)
    assert abs(result.mean().item() - mean) < 0.06
    assert least <= result.min().item() and result.max().item() <= most
