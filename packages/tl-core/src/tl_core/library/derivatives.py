"""How gradients, tangents and batches go through operators of Python: tl-autograd makes it of a formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.base import operator_hooks
from tl_core.dispatch import registrations

__all__ = ["Formula", "install", "install_transforms", "invalidate"]


class Formula:
    """What is known of an operator's derivative and of its batches.

    Args:
        backward: the function of gradients.
        setup_context: what keeps for it what it needs.
        vmap: the function of batches.
    """

    def __init__(self, backward: Any = None, setup_context: Any = None, vmap: Any = None) -> None:
        self._backward_fn, self._setup_context_fn, self._vmap_fn = backward, setup_context, vmap


class _Recorded:
    """The function of the layer that records: made when the first tensor with a gradient comes."""

    def __init__(self, op: Any, formula: Any, kind: str) -> None:
        self.op, self.formula, self.kind = op, formula, kind
        self.function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None:
            self.function = operator_hooks.maker(self.kind)(self.op, self.formula)
        return self.function(*args, **kwargs)


_recorded: dict[int, list[_Recorded]] = {}


def _put(lib: Any, op: Any, formula: Any, key: str, kind: str) -> None:
    recorded = _Recorded(op, formula, kind)
    lib._register(op, recorded, key)
    _recorded.setdefault(id(formula), []).append(recorded)


def install(lib: Any, op: Any, formula: Any) -> None:
    """Records calls of an operator by a formula.

    Args:
        lib: the library with which this goes.
        op: the operator.
        formula: has `_backward_fn`, `_setup_context_fn` and `_vmap_fn`, each of which may still be None.
    """
    _put(lib, op, formula, "Autograd", "derivative")


def install_transforms(lib: Any, op: Any, formula: Any) -> None:
    """Takes an operator through gradients, tangents and batches of `tl.func` by a formula.

    Args:
        lib: the library with which this goes.
        op: the operator.
        formula: as for `install`.
    """
    if registrations.of(op._native_name, registrations.TRANSFORMS) is None:
        _put(lib, op, formula, registrations.TRANSFORMS, "transform")


def invalidate(formula: Any) -> None:
    """After a formula got another part, what was made of it is made again.

    Args:
        formula: the formula.
    """
    for recorded in _recorded.get(id(formula), ()):
        recorded.function = None
