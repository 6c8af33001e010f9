"""Forward-mode differentiation: tangents that go along with tensors.

The tangents are computed when `unpack_dual` asks for them, by differentiating the backward: for a linear map g of a
gradient v, the derivative of g by v applied to the tangents of the inputs is the tangent of the result. Every operator
with a derivative therefore has tangents, at the cost of about two backwards; what runs under `no_grad` has none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tl_core
from tl_autograd.backward import grad
from tl_core import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, or None where it does not depend on a dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class _Level:
    def __init__(self) -> None:
        self.duals: list[tuple[Tensor, Tensor]] = []
        self.recorded = False  # a primal or a tangent takes part in recording


_levels: list[_Level] = []


def enter_dual_level() -> int:
    """Begins a level, in which dual tensors can be made, and returns its number.

    Raises:
        RuntimeError: there is one already.
    """
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append(_Level())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level; tangents are gone.

    Raises:
        RuntimeError: there is none, or another number is given.
    """
    if not _levels or (level is not None and level != len(_levels) - 1):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
    _levels.pop()


class dual_level:
    """A context manager: a level inside.

    Example::

        >>> import tl_autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(tl_core.tensor([2.0]), tl_core.tensor([1.0]))
        ...     fwAD.unpack_dual(x * x * x).tangent
        tensor([12.])
    """

    def __enter__(self) -> int:
        self._number = enter_dual_level()
        return self._number

    def __exit__(self, *exc: object) -> None:
        exit_dual_level(level=self._number)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent of the same shape and type.

    Raises:
        RuntimeError: no level was entered, or shapes or types differ.
        ValueError: the tensor is not floating-point or complex.
        NotImplementedError: gradients are switched off.
    """
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if tensor.shape != tangent.shape or tensor.dtype != tangent.dtype:
        raise RuntimeError(
            f"make_dual: the tangent must have the tensor's shape and type, {tuple(tensor.shape)} {tensor.dtype}, got "
            f"{tuple(tangent.shape)} {tangent.dtype}"
        )
    if not tl_core.is_grad_enabled():
        raise NotImplementedError(
            "make_dual under no_grad is not there yet: tangents are found through the graph"
        )
    recorded = tensor.requires_grad
    dual = tensor.view_as(tensor) if recorded else tensor.detach().requires_grad_()
    _levels[-1].recorded |= recorded or tangent.requires_grad
    _levels[-1].duals.append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor and its tangent."""
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    here = _levels[-1]
    tangent = _tangent(tensor, here) if tensor.requires_grad else None
    if here.recorded:
        return UnpackedDualTensor(tensor, tangent)
    return UnpackedDualTensor(tensor.detach(), None if tangent is None else tangent.detach())


def _tangent(y: Tensor, here: _Level) -> Tensor | None:
    with tl_core.enable_grad():
        v = tl_core.zeros_like(y).requires_grad_()
        found: Any = grad([y], [x for x, _ in here.duals], [v], create_graph=True, allow_unused=True)
        pairs = [
            (g, t) for g, (_, t) in zip(found, here.duals, strict=True) if g is not None and g.requires_grad
        ]
        if not pairs:
            return None
        pulled, tangents = zip(*pairs, strict=True)
        return grad(pulled, [v], tangents, create_graph=here.recorded, allow_unused=True)[0]
