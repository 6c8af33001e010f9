"""`torch._subclasses.functional_tensor`, and the switches of functionalization in `torch`.

A region without writes is a level of transforms, as in `func.functionalize`. Programs wrap tensors before they enter
the region, so the level of the next region begins with the first wrapped tensor and waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_autograd.func.functionalize import outside
from tl_autograd.func.levels import FUNCTIONALIZE
from tl_core import Tensor
from tl_core.pytree import tree_map_only

__all__ = ["FunctionalTensor", "FunctionalTensorMode", "dispatch_functionalize"]


class _Regions(threading.local):
    """The level of a thread's next region, and the levels of its regions."""

    def __init__(self) -> None:
        self.waiting: tuple[int, Any] | None = None  # the serial number, and the state for `step_back`
        self.entered: list[int] = []

    def next(self) -> tuple[int, Any]:
        """The level of the next region."""
        if self.waiting is None:
            serial = _C.begin_level(FUNCTIONALIZE, 0, 0)
            self.waiting = serial, _C.step_below(serial)
        return self.waiting

    def enter(self, reapply_views: bool) -> None:
        """Begins a region."""
        serial, state = self.next()
        self.waiting = None
        _C.set_removes_views(serial, not reapply_views)
        _C.step_back(state)
        self.entered.append(serial)

    def leave(self) -> None:
        """Ends the innermost region."""
        _C.end_level(self.entered.pop())


_regions = _Regions()


def _to_functional_tensor(t: Tensor) -> Tensor:
    """A tensor whose writes the region records: the region that is entered, or the next one."""
    return _C.wrap_functional(t, _regions.entered[-1] if _regions.entered else _regions.next()[0])


def _is_functional_tensor(t: Tensor) -> bool:
    """Whether it is a tensor of a region without writes."""
    return _C.functional_value(t) is not None


def _wrapper(t: Tensor) -> Tensor:
    if not _is_functional_tensor(t):
        raise RuntimeError(f"expected a functional tensor, got a tensor of the sizes {list(t.shape)}")
    return t


def _from_functional_tensor(t: Tensor) -> Tensor:
    """The present value of a tensor of a region.

    Raises:
        RuntimeError: it is of no region.
    """
    return outside(_wrapper(t))


def _sync(t: Tensor) -> None:
    """Brings the value of a tensor of a region up to date. The values of tl always are.

    Raises:
        RuntimeError: it is of no region.
    """
    _wrapper(t)


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """Begins a region without writes.

    Raises:
        RuntimeError: the thread is in such a region.
    """
    if _regions.entered:
        raise RuntimeError(
            "multiple layers of mode-style functionalization nesting is not currently supported, outside of the "
            "functionalize() transform"
        )
    _regions.enter(reapply_views)


def _disable_functionalization() -> None:
    """Ends the region; nothing happens outside of one."""
    if _regions.entered:
        _regions.leave()


class _FunctionalType(type(Tensor)):  # type: ignore[misc]  # the class of a class
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and _is_functional_tensor(instance)


class FunctionalTensor(Tensor, metaclass=_FunctionalType):
    """The class of the tensors of regions without writes, for `isinstance`. Each of them is a plain tensor.

    Example:
        >>> import tl_core
        >>> with FunctionalTensorMode():
        ...     isinstance(FunctionalTensor.to_functional(tl_core.zeros(2)), FunctionalTensor)
        True
    """

    @staticmethod
    def to_functional(x: Any) -> Any:
        """The tensors of a nested container at the region that is entered, or at the next one."""
        return tree_map_only(Tensor, _to_functional_tensor, x)


class FunctionalTensorMode:
    """A context manager of a region without writes.

    Args:
        pre_dispatch, export, _allow_token_discovery: accepted, without effect.

    Example:
        >>> import tl_core
        >>> x = FunctionalTensor.to_functional(tl_core.zeros(2))
        >>> with FunctionalTensorMode():
        ...     _ = x.add_(1)
        >>> _from_functional_tensor(x)
        tensor([1., 1.])
    """

    def __init__(
        self, pre_dispatch: bool = False, export: bool = False, _allow_token_discovery: bool = False
    ) -> None:
        self.pre_dispatch, self.export = pre_dispatch, export

    def __enter__(self) -> FunctionalTensorMode:
        _regions.enter(reapply_views=True)
        return self

    def __exit__(self, *raised: Any) -> None:
        _regions.leave()


def dispatch_functionalize(
    func: Callable[..., Any], mode: FunctionalTensorMode | None = None
) -> Callable[..., Any]:
    """A function with the results of `func` that is called in a region without writes.

    Args:
        func: a function of nested containers of tensors.
        mode: the context manager of the region.

    Returns:
        The function. What `func` writes to its arguments stays in the region.

    Example:
        >>> import tl_core
        >>> x = tl_core.zeros(2)
        >>> dispatch_functionalize(lambda t: t.add_(1))(x), x
        (tensor([1., 1.]), tensor([0., 0.]))
    """
    region = mode or FunctionalTensorMode()

    def inner(*args: Any, **kwargs: Any) -> Any:
        own_args, own_kwargs = FunctionalTensor.to_functional((args, kwargs))
        with region:
            results = func(*own_args, **own_kwargs)
        return tree_map_only(Tensor, outside, results)

    return inner
