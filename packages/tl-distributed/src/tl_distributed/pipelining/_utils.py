"""The error of tensors that have another shape than a stage's, and the facts of a cut model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core import Tensor

__all__ = ["PipeInfo", "PipeliningShapeError", "TensorDescription", "check_tensors", "describe"]


class PipeliningShapeError(RuntimeError):
    """A tensor has another shape or dtype than the microbatches before it.

    Example:
        >>> issubclass(PipeliningShapeError, RuntimeError)
        True
    """


@dataclass
class PipeInfo:
    """The facts of a cut model.

    Args:
        graph: the graph of the stages.
        num_stages: the number of stages.
        has_loss_and_backward: whether the graph computes a loss; a schedule's `loss_fn` does so here.
    """

    graph: Any
    num_stages: int
    has_loss_and_backward: bool


@dataclass(frozen=True)
class TensorDescription:
    """Shape, dtype, and whether gradients come back.

    Args:
        shape: the shape.
        dtype: the dtype.
        requires_grad: whether a gradient comes back.
    """

    shape: tuple[int, ...]
    dtype: tl_core.dtype
    requires_grad: bool


def describe(values: Any, has_backward: bool = False) -> tuple[TensorDescription, ...]:
    """The descriptions of tensors.

    Args:
        values: the tensors.
        has_backward: whether gradients come back.

    Example:
        >>> describe([tl_core.ones(2)])
        (TensorDescription(shape=(2,), dtype=torch.float32, requires_grad=False),)
    """
    return tuple(TensorDescription(tuple(t.shape), t.dtype, has_backward and t.requires_grad) for t in values)


def check_tensors(name: str, expected: tuple[TensorDescription, ...], values: Any) -> None:
    """Checks the shapes and dtypes of tensors.

    Args:
        name: the name of the tensors in an error's message.
        expected: their descriptions.
        values: the tensors.

    Raises:
        PipeliningShapeError: they differ.

    Example:
        >>> check_tensors("stage 0: input", describe([tl_core.ones(2)]), [tl_core.ones(3)])
        Traceback (most recent call last):
        tl_distributed.pipelining._utils.PipeliningShapeError: stage 0: input 0: shape mismatch, expected (2,), got (3,)
    """
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) != len(expected):
        raise PipeliningShapeError(f"{name}: expected {len(expected)} tensors, got {len(tensors)}")
    for number, (description, value) in enumerate(zip(expected, tensors, strict=True)):
        shape = tuple(value.shape)
        if shape != description.shape:
            raise PipeliningShapeError(
                f"{name} {number}: shape mismatch, expected {description.shape}, got {shape}"
            )
        if value.dtype != description.dtype:
            raise PipeliningShapeError(
                f"{name} {number}: dtype mismatch, expected {description.dtype}, got {value.dtype}"
            )
