"""Levels of transforms, as context managers that tensors enter and leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_core import Tensor, set_grad_enabled
from tl_core.pytree import tree_map

__all__ = [
    "BATCH",
    "FUNCTIONALIZE",
    "GRAD",
    "JVP",
    "RANDOMNESS",
    "Level",
    "below",
    "plain_value",
    "tensors_mapped",
]

GRAD, JVP, BATCH, FUNCTIONALIZE = 0, 1, 2, 3
RANDOMNESS = ("error", "same", "different")


class Level:
    """A context manager of a new level, which is the innermost inside.

    Args:
        kind: `GRAD`, `JVP`, `BATCH` or `FUNCTIONALIZE`.
        batch_size: the size of the batch dimension; 0 for levels without a batch.
        randomness: "error", "different" or "same".
    """

    def __init__(self, kind: int, batch_size: int = 0, randomness: str = "error"):
        self._arguments = (kind, batch_size, RANDOMNESS.index(randomness))

    def __enter__(self) -> Level:
        self.serial: int = _C.begin_level(*self._arguments)
        self._mode = set_grad_enabled(True) if self._arguments[0] == GRAD else None
        return self

    def __exit__(self, *raised: Any) -> None:
        _C.end_level(self.serial)
        if self._mode is not None:
            self._mode.__exit__(*raised)

    def unwrap(self, t: Tensor) -> Tensor:
        """The tensor below this level in a wrapper; any other tensor itself."""
        contents = _C.unwrap(t, self.serial)
        return t if contents is None else contents[0]


class below:
    """A context manager in which only the levels below the level with this serial number are active."""

    def __init__(self, serial: int):
        self._serial = serial

    def __enter__(self) -> None:
        self._before = _C.step_below(self._serial)

    def __exit__(self, *raised: Any) -> None:
        _C.step_back(self._before)


def tensors_mapped(f: Callable[[Tensor], Any], tree: Any) -> Any:
    """The tree with f(t) for each tensor t."""
    return tree_map(lambda x: f(x) if isinstance(x, Tensor) else x, tree)


def plain_value(tensor: Tensor) -> Tensor:
    """The tensor below all levels that wrap a tensor, with the batches of `vmap` as dimensions.

    Args:
        tensor: any tensor.

    Example:
        >>> import tl_core
        >>> from tl_autograd.func import vmap
        >>> shapes = []
        >>> _ = vmap(lambda x: shapes.append(plain_value(x).shape) or x)(tl_core.ones(3, 2))
        >>> shapes
        [torch.Size([3, 2])]
    """
    while (wrapper := _C.wrapping(tensor)) is not None:
        tensor = wrapper[3]
    return tensor
