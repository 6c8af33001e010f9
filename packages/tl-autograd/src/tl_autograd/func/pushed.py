"""Checks that a `jvp` treats tangents as its `forward` treats their primals: writes, views, constants."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

__all__ = ["check_pushed"]


def check_pushed(
    args: tuple, tangents: tuple, versions: list, output: Any, pushed: Any, context: Any
) -> None:
    """Compares the results of `jvp` with the views, writes and constants of `forward`.

    Args:
        args: the arguments of the function.
        tangents: the tangents of the arguments; None for an argument without a tangent.
        versions: the version of each tangent before `jvp`.
        output: the result of `forward`.
        pushed: the result of `jvp`.
        context: the context, with the arguments that `forward` wrote and the outputs that are constants.

    Raises:
        RuntimeError: a constant has a tangent, `jvp` didn't write the tangent of an argument that `forward` wrote, or
            the tangent of a view is no view of the input's tangent.
    """
    outputs = output if isinstance(output, tuple) else (output,)
    output_tangents = pushed if isinstance(pushed, tuple) else (pushed,)
    constants = {id(t) for t in context.non_differentiable}
    dirty = {id(t) for t in context.dirty_tensors}
    tangent_of = {
        id(a): t for a, t in zip(args, tangents, strict=True) if isinstance(a, Tensor) and t is not None
    }
    version_of = {id(a): v for a, v in zip(args, versions, strict=True) if v is not None}
    for i, (y, t) in enumerate(zip(outputs, output_tangents, strict=True)):
        if not isinstance(y, Tensor):
            continue
        if id(y) in constants or not (y.is_floating_point() or y.is_complex()):
            _check_constant(i, t)
        elif id(y) in dirty:
            _check_written(t, tangent_of.get(id(y)), version_of.get(id(y)))
        elif t is not None:
            _check_view(y, t, args, tangent_of)


def _check_constant(i: int, tangent: Any) -> None:
    if tangent is not None:
        raise RuntimeError(
            f"A custom Function's jvp returned a tangent for output {i}, which is not differentiable. You should "
            "return None at that position instead."
        )


def _check_written(tangent: Any, input_tangent: Any, version: int | None) -> None:
    if tangent is not input_tangent or (input_tangent is not None and input_tangent._version == version):
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )


def _check_view(y: Tensor, tangent: Tensor, args: tuple, tangent_of: dict[int, Tensor]) -> None:
    """The tangent of a view of an input is a view of the input's tangent, or of the same base as it."""
    viewed = next(
        (a for a in args if isinstance(a, Tensor) and (y is a or (y._is_view() and _base(y) is _base(a)))),
        None,
    )
    if viewed is None or id(viewed) not in tangent_of:
        return
    start = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view"
    input_tangent = tangent_of[id(viewed)]
    if not tangent._is_view() or tangent is input_tangent:
        raise RuntimeError(f"{start}.")
    if _base(tangent) is not _base(input_tangent):
        what = "of the same base as the given tangent" if input_tangent._is_view() else "of the given tangent"
        raise RuntimeError(f"{start} {what}.")


def _base(t: Tensor) -> Tensor:
    return t if t._base is None else t._base
