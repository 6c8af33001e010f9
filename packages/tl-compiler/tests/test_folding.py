"""Batch normalization that becomes part of the convolution before it when a module is frozen."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit

SIZES = {1: (2, 4, 7), 2: (2, 4, 7, 6), 3: (2, 4, 5, 5, 6)}


def pair(
    n: int, transposed: bool = False, bias: bool = True, groups: int = 1, affine: bool = True
) -> nn.Module:
    """A convolution and a normalization with statistics that aren't 0 and 1."""
    tl.manual_seed(n)
    kind = getattr(nn, f"Conv{'Transpose' if transposed else ''}{n}d")
    norm = getattr(nn, f"BatchNorm{n}d")(6, affine=affine)
    norm.running_mean.copy_(tl.randn(6))
    norm.running_var.copy_(tl.rand(6) + 0.5)
    if affine:
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    return nn.Sequential(kind(4, 6, 3, groups=groups, bias=bias), norm, nn.ReLU()).eval()


def trace(model: nn.Module, x: tl.Tensor) -> Any:
    return jit.trace(model, (x,))


def script(model: nn.Module, x: tl.Tensor) -> Any:
    return jit.script(model)


@pytest.mark.parametrize("compile_model", [script, trace])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("options", [
    {}, {"bias": False}, {"transposed": True}, {"transposed": True, "bias": False}, {"groups": 2}, {"affine": False},
])  # fmt: skip
def test_a_normalization_becomes_part_of_the_convolution(
    compile_model: Callable[..., Any], n: int, options: dict[str, Any]
) -> None:
    model, x = pair(n, **options), tl.randn(SIZES[n])
    frozen = jit.freeze(compile_model(model, x))
    assert "aten::batch_norm" not in jit.export_opnames(frozen)
    tl.testing.assert_close(frozen(x), model(x))
    data = io.BytesIO()
    frozen.save(data)
    data.seek(0)
    assert tl.equal(jit.load(data)(x), frozen(x))


def test_results_stay_without_optimization() -> None:
    model, x = pair(2), tl.randn(SIZES[2])
    frozen = jit.freeze(jit.script(model), optimize_numerics=False)
    assert "aten::batch_norm" in jit.export_opnames(frozen)
    assert tl.equal(frozen(x), model(x))


class Other(nn.Module):
    """A convolution whose result is used twice, or that runs twice, or after which another function runs."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.conv, self.norm, _ = pair(2)
        self.form = form

    def forward(self, x: tl.Tensor):  # type: ignore[no-untyped-def]  # the compiler infers it
        y = self.conv(x)
        if self.form == "two readers":
            return self.norm(y) + y
        if self.form == "two calls":
            return self.norm(y) + self.conv(-x)
        if self.form == "between":
            return self.norm(y.relu())
        if self.form == "two norms":
            return self.norm(self.norm(y))
        for _ in range(2):
            y = self.norm(y)
        return y


@pytest.mark.parametrize("form", ["two readers", "two calls", "between", "two norms", "a loop"])
def test_other_programs_compute_what_they_did(form: str) -> None:
    model, x = Other(form).eval(), tl.randn(SIZES[2])
    frozen = jit.freeze(jit.script(model))
    assert "aten::batch_norm" in jit.export_opnames(frozen)
    tl.testing.assert_close(frozen(x), model(x))


def test_a_transposed_convolution_of_groups_stays() -> None:
    model, x = pair(2, transposed=True, groups=2), tl.randn(SIZES[2])
    frozen = jit.freeze(jit.script(model))
    assert tl.equal(frozen(x), model(x))


def test_types_that_differ_stay() -> None:
    model = pair(1)
    model[1].double()
    frozen = jit.freeze(jit.script(model))
    assert "aten::batch_norm" in jit.export_opnames(frozen)


def test_inference_folds_as_well() -> None:
    model, x = pair(2), tl.randn(SIZES[2])
    program = jit.optimize_for_inference(jit.script(model))
    assert "aten::batch_norm" not in jit.export_opnames(program)
    tl.testing.assert_close(program(x), model(x))
