"""Regions in which calls pass some of the dispatcher's layers by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tl_core import _C

__all__ = ["all_same_mode", "modes_in_force", "no_dispatch", "no_modes", "no_transforms"]


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


class no_modes:
    """A region in which operators run as they are: no mode, no class and no transform sees them, nothing is recorded.

    Example:
        >>> with no_modes():
        ...     pass
    """

    _LAYERS = (_C._LAYER_TRACE, _C._LAYER_PYTHON, _C._LAYER_TRANSFORMS)
    __slots__ = ("_before", "_grad")

    def __enter__(self) -> None:
        self._before = [_C._exclude_layer(layer, True) for layer in self._LAYERS]
        self._grad = _C._set_grad_enabled(False)

    def __exit__(self, *error: object) -> None:
        _C._set_grad_enabled(self._grad)
        for layer, before in zip(self._LAYERS, self._before, strict=True):
            _C._exclude_layer(layer, before)


def modes_in_force() -> list[Any]:
    """The modes of this thread that handle operators: those above autograd first, the outermost first.

    Example:
        >>> modes_in_force()
        []
    """
    return [*_C._mode_stack(_C._LAYER_TRACE), *_C._mode_stack(_C._LAYER_PYTHON)]
