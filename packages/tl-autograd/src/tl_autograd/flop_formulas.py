"""Profiling: how many floating point operations an operator's inputs mean; a product and its sum count as two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tl_core.base.rule_table import RuleTable

__all__ = ["FLOP_FORMULAS", "flops_of"]

Shapes = Sequence[Any]
Formula = Callable[[Shapes, Sequence[Any]], int]
FLOP_FORMULAS: RuleTable[Formula] = RuleTable("flops of profiles")
# Operators that others of the table are made of would count twice.
_ONLY_IF_WHOLE: RuleTable[Formula] = RuleTable("flops of profiles, whole")


@FLOP_FORMULAS.rule("aten::mm")
def _mm(shapes: Shapes, values: Sequence[Any]) -> int:
    (m, k), (_, n) = shapes[0], shapes[1]
    return int(2 * m * k * n)


@FLOP_FORMULAS.rule("aten::addmm", "aten::addmm_")
def _addmm(shapes: Shapes, values: Sequence[Any]) -> int:
    return _mm(shapes[1:], values[1:])


@FLOP_FORMULAS.rule("aten::bmm")
def _bmm(shapes: Shapes, values: Sequence[Any]) -> int:
    (b, m, k), (_, _, n) = shapes[0], shapes[1]
    return int(2 * b * m * k * n)


@FLOP_FORMULAS.rule("aten::baddbmm", "aten::baddbmm_")
def _baddbmm(shapes: Shapes, values: Sequence[Any]) -> int:
    return _bmm(shapes[1:], values[1:])


@FLOP_FORMULAS.rule("aten::mv")
def _mv(shapes: Shapes, values: Sequence[Any]) -> int:
    return int(2 * shapes[0][0] * shapes[0][1])


@FLOP_FORMULAS.rule("aten::addmv", "aten::addmv_")
def _addmv(shapes: Shapes, values: Sequence[Any]) -> int:
    return _mv(shapes[1:], values[1:])


@FLOP_FORMULAS.rule("aten::dot", "aten::vdot")
def _dot(shapes: Shapes, values: Sequence[Any]) -> int:
    return int(2 * shapes[0][0])


@_ONLY_IF_WHOLE.rule("aten::linear")
def _linear(shapes: Shapes, values: Sequence[Any]) -> int:
    return int(2 * prod(shapes[0]) * (shapes[1][0] if len(shapes[1]) == 2 else 1))


@FLOP_FORMULAS.rule("aten::add", "aten::add_", "aten::mul", "aten::mul_")
def _elementwise(shapes: Shapes, values: Sequence[Any]) -> int:
    return max((prod(s) for s in shapes if _is_shape(s)), default=0)


def _tuple(value: Any, n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else list(value) * (n if len(value) == 1 else 1)


@FLOP_FORMULAS.rule("aten::convolution", "aten::conv1d", "aten::conv2d", "aten::conv3d")
def _convolution(shapes: Shapes, values: Sequence[Any]) -> int:
    """(input, weight, bias, stride, padding, dilation, …): each output element is a dot product."""
    inputs, weight = shapes[0], shapes[1]
    n = len(weight) - 2
    stride, dilation = _tuple(values[3], n), _tuple(values[5], n)
    transposed = len(values) > 6 and values[6] is True
    sides = inputs[-n:]
    if transposed:
        return int(2 * prod(weight) * prod(sides) * _batch(inputs, n))
    if isinstance(values[4], str):
        out = [-(-s // t) for s, t in zip(sides, stride, strict=True)]
        if values[4] == "valid":
            out = [(s - d * (k - 1) - 1) // t + 1
                   for s, k, t, d in zip(sides, weight[2:], stride, dilation, strict=True)]  # fmt: skip
    else:
        padding = _tuple(values[4], n)
        out = [(s + 2 * p - d * (k - 1) - 1) // t + 1
               for s, p, k, t, d in zip(sides, padding, weight[2:], stride, dilation, strict=True)]  # fmt: skip
    return int(2 * prod(weight) * prod(out) * _batch(inputs, n))


def _batch(shape: Sequence[int], n: int) -> int:
    return shape[0] if len(shape) == n + 2 else 1


@FLOP_FORMULAS.rule("aten::scaled_dot_product_attention")
def _attention(shapes: Shapes, values: Sequence[Any]) -> int:
    q, k, v = shapes[0], shapes[1], shapes[2]
    return int(2 * prod(q[:-1]) * k[-2] * (q[-1] + v[-1]))


def _is_shape(shape: Any) -> bool:
    return all(isinstance(n, int) for n in shape)


def flops_of(name: str, shapes: Shapes, values: Sequence[Any], is_whole: bool) -> int:
    """The operations of a call; 0 for operators without a formula.

    Args:
        name: as a profile lists it: "aten::mm".
        shapes: of the arguments, [] for those that are not tensors.
        values: the other arguments.
        is_whole: no other operator ran inside it.
    """
    formula = FLOP_FORMULAS.get(name) or (_ONLY_IF_WHOLE.get(name) if is_whole else None)
    if formula is None:
        return 0
    try:
        return formula(shapes, values)
    except (ValueError, IndexError, TypeError):  # another overload: sparse products, tensors of sequences
        return 0
