"""Regions in which calls pass some of the dispatcher's layers by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tl_core import _C

__all__ = ["all_same_mode", "no_dispatch", "no_transforms"]


class _Without:
    _layer: ClassVar[int]

    def __enter__(self) -> None:
        self._before = _C._exclude_layer(self._layer, True)

    def __exit__(self, *raised: Any) -> None:
        _C._exclude_layer(self._layer, self._before)


class no_dispatch(_Without):
    """A region in which no `__torch_dispatch__` is asked.

    >>> with no_dispatch():
    ...     pass
    """

    _layer = _C._LAYER_PYTHON


class no_transforms(_Without):
    """A region in which the transforms of `func` around it do not see what is called."""

    _layer = _C._LAYER_TRANSFORMS


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether all modes are the same one.

    Args:
        modes: the modes.

    Example:
        >>> all_same_mode([1, 1]), all_same_mode([1, 2])
        (True, False)
    """
    return all(mode is modes[0] or mode == modes[0] for mode in modes)
