"""Two tensors that exchange all they are."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges class, attributes, elements and gradient of two tensors: each object becomes the other.

    Whoever holds one of the objects has the other's contents afterwards.

    Args:
        t1: a tensor.
        t2: another.

    Raises:
        TypeError: one isn't a tensor, or their classes have different slots.
        RuntimeError: a weak reference to one exists, or something else than its object holds one, such as a graph that
            has saved it.

    Example:
        >>> import tl_core as tl
        >>> a, b = tl.zeros(2), tl.ones(3)
        >>> swap_tensors(a, b)
        >>> a
        tensor([1., 1., 1.])
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if not isinstance(t, Tensor):
            raise TypeError(f"swap_tensors(): argument '{name}' must be Tensor, not {type(t).__name__}")
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots, other_slots = _slots_of(t1), _slots_of(t2)
    if slots.keys() != other_slots.keys():
        raise TypeError(
            f"Cannot swap t1 and t2: {type(t1).__name__} has the slots {sorted(slots)}, "
            f"{type(t2).__name__} {sorted(other_slots)}"
        )
    _C._swap_tensors(t1, t2)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    for name in slots:
        _put(t1, name, other_slots[name])
        _put(t2, name, slots[name])


_NOTHING = object()


def _slots_of(t: Tensor) -> dict[str, Any]:
    names = copyreg._slotnames(type(t))  # type: ignore[attr-defined]
    return {name: getattr(t, name, _NOTHING) for name in names}


def _put(t: Tensor, name: str, value: Any) -> None:
    if value is not _NOTHING:
        setattr(t, name, value)
    elif hasattr(t, name):
        delattr(t, name)
