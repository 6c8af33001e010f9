"""Forward-mode differentiation: tangents that go along with tensors.

A dual level is a level of transforms: while it lasts, operators on dual tensors compute tangents from their rows'
rules, at about the cost of the operator itself, whether gradients are recorded or not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tl_autograd import _C
from tl_autograd.func.duals import dual
from tl_autograd.func.levels import JVP
from tl_autograd.function import Function
from tl_core import Tensor
from tl_core.tensors import printing

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, or None where it does not depend on a dual tensor.

    Example:
        >>> import tl_core
        >>> with dual_level():
        ...     dual = make_dual(tl_core.tensor([1.0]), tl_core.tensor([5.0]))
        ...     unpack_dual(dual).tangent
        ...
        tensor([5.])
    """

    primal: Tensor
    tangent: Tensor | None


_levels: list[int] = []  # of this API: one at most
_current_level = -1


def enter_dual_level() -> int:
    """Begins a level, in which dual tensors can be made, and returns its number.

    Raises:
        RuntimeError: there is one already.

    Example:
        >>> import tl_core
        >>> level = enter_dual_level()
        >>> unpack_dual(3 * make_dual(tl_core.tensor([1.0]), tl_core.tensor([5.0]))).tangent
        tensor([15.])
        >>> exit_dual_level(level=level)
    """
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    global _current_level
    _levels.append(_C.begin_level(JVP, 0, 0))
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level; tangents are gone.

    Raises:
        RuntimeError: there is none, or another number is given.

    Example:
        >>> level = enter_dual_level()
        >>> exit_dual_level(level=level)
    """
    if not _levels or (level is not None and level != len(_levels) - 1):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
    global _current_level
    _C.end_level(_levels.pop())
    _current_level = -1


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


class _set_fwd_grad_enabled:
    """Whether operators on dual tensors compute tangents; a function, and a context that brings back what was."""

    def __init__(self, mode: bool):
        self._before = _C.switch_tangents(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _C.switch_tangents(self._before)


def _is_fwd_grad_enabled() -> bool:
    """Whether operators on dual tensors compute tangents."""
    return _C.switch_tangents(None)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent of the same shape and type.

    Args:
        tensor: the primal; the dual tensor is a view of it.
        tangent: its direction.
        level: the number that `enter_dual_level` returned.

    Raises:
        RuntimeError: no level was entered, or shapes or types differ.
        ValueError: the tensor is not floating-point or complex.

    Example:
        >>> import tl_core
        >>> with dual_level():
        ...     x = make_dual(tl_core.tensor([2.0]), tl_core.tensor([1.0]))
        ...     unpack_dual(x * x).tangent
        ...
        tensor([4.])
    """
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "make_dual: Trying to set a forward gradient that has a different size than that of the original Tensor, "
            f"this is not supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of "
            f"size {list(tangent.shape)}."
        )
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(
            f"make_dual: the tangent must have the tensor's type, {tensor.dtype}, got {tangent.dtype}"
        )
    if _C.tangent(tangent, _levels[-1]) is not None:
        raise RuntimeError(
            "make_dual: the tangent has a forward gradient at the same level, which is not supported"
        )
    return dual(tensor, tangent, _levels[-1])


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent.

    Args:
        tensor: any tensor.
        level: the number that `enter_dual_level` returned.

    Example:
        >>> import tl_core
        >>> with dual_level():
        ...     unpack_dual(make_dual(tl_core.tensor([2.0]), tl_core.tensor([1.0])) * 3).tangent
        ...
        tensor([3.])
    """
    tangent: Any = _C.tangent(tensor, _levels[-1]) if _levels else None
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    before = _C.step_below(_levels[-1])
    try:
        primal = _Identity.apply(tensor)
    finally:
        _C.step_back(before)
    return UnpackedDualTensor(primal, tangent)


class _Identity(Function):
    """The same memory without the tangent: a view would have the tangent of its base."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.detach()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


def _tangent_text(tensor: Tensor) -> list[str]:
    tangent = _C.tangent(tensor, _levels[-1]) if _levels else None
    return [] if tangent is None else [f"tangent={tangent}"]


printing.suffix_makers.append(_tangent_text)
