"""Handles that take a registered hook out again.

A hook is a callable kept in an ordered dictionary under a number. Whoever registers one is given a
:class:`RemovableHandle`, the only thing that knows the number.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable
from itertools import count
from types import TracebackType
from typing import Any

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Removes one hook from the dictionaries it was registered in; also a context manager.

    Parameters
    ----------
    hooks_dict : OrderedDict
        Where the hook itself stands, under :attr:`id`.
    extra_dict : OrderedDict or list of them, optional
        Further dictionaries that mark the same hook, such as "wants keyword arguments".

    Examples
    --------
    >>> import tl_nn
    >>> layer = tl_nn.Tanh()
    >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
    >>> handle.remove()
    >>> len(layer._forward_hooks)
    0
    """

    id: int
    _numbers = count()

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        # An unpickled dictionary holds numbers of another process: those are taken.
        self.id = next(number for number in self._numbers if number not in hooks_dict)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in _as_dicts(extra_dict))

    def remove(self) -> None:
        """Take the hook out; doing so twice, or after its owner has gone, is harmless."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            registered = reference()
            if registered is not None:
                registered.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        extras = tuple(reference() for reference in self.extra_dict_ref)
        return (self.hooks_dict_ref(), self.id, extras)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks_dict, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks_dict is None else hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras if extra is not None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _as_dicts(extra: Any) -> Iterable[Any]:
    """The extra dictionaries as an iterable, however they were handed over."""
    if extra is None:
        return ()
    return extra if isinstance(extra, (list, tuple)) else (extra,)
