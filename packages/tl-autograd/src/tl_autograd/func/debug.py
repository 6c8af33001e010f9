"""The values and the text of tensors inside of transforms."""

from __future__ import annotations

import textwrap

from tl_autograd import _C
from tl_autograd.func.levels import BATCH
from tl_core import Tensor
from tl_core.tensors import printing

__all__ = ["debug_unwrap"]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that a transform wrapped, for printing in a debugger.

    Args:
        tensor: a tensor inside of a transform, or any other.
        recurse: whether all transforms are undone, or the innermost only.

    Returns:
        The tensor with all its dimensions. Transforms don't see computations with it.

    Example::

        >>> from tl_autograd.func import debug_unwrap, vmap
        >>> shapes = []
        >>> _ = vmap(lambda x: (shapes.append(debug_unwrap(x).shape), x)[1])(tl_core.zeros(3, 2))
        >>> shapes
        [torch.Size([3, 2])]
    """
    wrapper = _C.wrapping(tensor)
    if wrapper is None:
        return tensor
    value = wrapper[3]
    return debug_unwrap(value) if recurse else value


_NAMES = ("GradTrackingTensor", "GradTrackingTensor", "BatchedTensor", "FunctionalTensor")


def _text(tensor: Tensor) -> str | None:
    """The text of a tensor inside of a transform: its level, and its value below the level."""
    wrapper = _C.wrapping(tensor)
    if wrapper is None:
        return None
    _, kind, number, value, dim, ended = wrapper
    fields = [f"lvl={number}"] + ([f"bdim={dim}"] if kind == BATCH else []) + (["ended"] if ended else [])
    inner = textwrap.indent(repr(value), "    ")
    return f"{_NAMES[kind]}({', '.join(fields)}, value=\n{inner}\n)"


printing.wrapper_text.append(_text)
