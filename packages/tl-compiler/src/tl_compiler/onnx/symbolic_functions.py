"""Symbolic functions by name: `symbolic_opset11.squeeze(g, x, 0)` records what squeeze becomes.

PyTorch's former exporter had a module of such functions for each operator set, which functions of
`register_custom_op_symbolic` call. Here one module serves all of these names. Its functions record nodes of the
function library, and the model is converted to the operator set at the end.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

__all__: list[str] = []


def _prepare_onnx_paddings(dim: int, pad: Sequence[int]) -> list[int]:
    """Paddings in ONNX's order: the begins of all dimensions, then the ends.

    Args:
        dim: number of dimensions.
        pad: pairs of begin and end, the last dimension first, as in `nn.functional.pad`.

    Example:
        >>> _prepare_onnx_paddings(3, [1, 2, 3, 4])
        [0, 3, 1, 0, 4, 2]
    """
    if len(pad) % 2 or len(pad) > 2 * dim:
        raise ValueError(f"expected up to {dim} pairs of paddings, got {list(pad)}")
    padding = [*pad, *[0] * (2 * dim - len(pad))]
    return padding[-2::-2] + padding[-1::-2]


def _record(name: str, g: Any, *args: Any, **kwargs: Any) -> Any:
    return g.call(name, args, kwargs)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tl_core.operators.packets import aten

    try:
        getattr(aten, name)
    except AttributeError:
        raise AttributeError(f"there is no symbolic function {name!r}: aten has no such operator") from None
    return functools.partial(_record, name)
