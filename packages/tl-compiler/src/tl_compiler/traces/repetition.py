"""A second run of a traced function on its tensors, compared with the trace call by call.

A run that calls the same operators on the same tensors and numbers gives the same program, so the check of a trace need
not write a second program. Tensors are compared by a number that each gets when it first occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor
from tl_core.dispatch.keys import DispatchKey
from tl_core.operators.public import public_call
from tl_core.pytree import tree_leaves
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..tracer.proxy_mode import is_whole

__all__ = ["CallList", "repeat"]

_READ = "aten._local_scalar_dense.default"  # a value that Python reads is no call of the program


class CallList:
    """The operators of a run, with the numbers of their tensors and their other arguments.

    Attributes:
        is_comparable (bool): whether the list has all that the program has.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Any, list[Any]]] = []
        self.is_comparable = True
        self._numbers: dict[int, int] = {}
        self._tensors: list[Tensor] = []  # which live as long as their numbers

    def add(self, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Adds a call.

        Args:
            func: the operator.
            args, kwargs: its arguments.
        """
        keys: list[Any] = [self._key(leaf) for leaf in tree_leaves(args)]
        for name, value in kwargs.items():
            keys += [name, *(self._key(leaf) for leaf in tree_leaves(value))]
        self.calls.append((func, keys))

    def add_results(self, out: Any) -> None:
        """Gives the results of the last call their numbers."""
        for leaf in tree_leaves(out):
            self._key(leaf)

    def _key(self, leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        if id(leaf) not in self._numbers:
            self._numbers[id(leaf)] = len(self._numbers)
            self._tensors.append(leaf)
        return Tensor, self._numbers[id(leaf)]

    def equals(self, other: CallList, value: Callable[[Any], Any]) -> bool:
        """Whether another run has the same calls.

        Args:
            other: the calls of the other run.
            value: returns the number that a symbolic number of this run stands for.
        """
        if len(self.calls) != len(other.calls) or not (self.is_comparable and other.is_comparable):
            return False
        for (func, keys), (other_func, other_keys) in zip(self.calls, other.calls, strict=True):
            if func is not other_func or len(keys) != len(other_keys):
                return False
            if not all(_same(key, other_key, value) for key, other_key in zip(keys, other_keys, strict=True)):
                return False
        return True


def _same(key: Any, other: Any, value: Callable[[Any], Any]) -> bool:
    if isinstance(key, (SymInt, SymFloat, SymBool)):
        key = value(key)
    return type(key) is type(other) and (
        key is other or bool(key == other) or (key != key and other != other)
    )


class _Listing(TorchDispatchMode):
    """The mode that lists the operators of a run, which compute as ever."""

    def __init__(self) -> None:
        super().__init__(DispatchKey.PreDispatch)  # type: ignore[attr-defined]
        self.list = CallList()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        public, arguments = public_call(func, args)
        if types or is_whole(public):
            self.list.is_comparable = False
        if str(public) == _READ:
            return func(*args, **kwargs)
        self.list.add(public, arguments, kwargs)
        out = func(*args, **kwargs)
        self.list.add_results(out)
        return out


def repeat(
    calls: CallList, value: Callable[[Any], Any], function: Callable[..., Any], inputs: Any
) -> tuple[bool, Any]:
    """Runs a function again.

    Args:
        calls: the calls of the trace.
        value: returns the number that a symbolic number of the trace stands for.
        function: the function.
        inputs: its arguments by position and by name.

    Returns:
        Whether the run has the calls of the trace, and its result.
    """
    listing = _Listing()
    with listing:
        result = function(*inputs[0], **inputs[1])
    return calls.equals(listing.list, value), result
