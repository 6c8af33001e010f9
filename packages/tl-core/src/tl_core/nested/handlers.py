"""Which function answers for an operator when an argument is a nested tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import made_of_others

__all__ = ["Handlers", "as_it_is", "plain"]


class Handlers:
    """A table of functions by the operators' names.

    Some are called with overrides off, so that a nested tensor stands for the tensor that holds its elements.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.table: dict[str, Callable[..., Any]] = {}  # takes the operator's arguments
        self.raw: dict[str, Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = {}

    def of(self, *names: str) -> Callable[[Any], Any]:
        """A decorator: the function answers for these operators and takes their arguments."""

        def register(function: Any) -> Any:
            for name in names:
                self.table[name] = function
                self.raw.pop(name, None)
            return function

        return register

    def of_all(self, names: Any, function: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]) -> None:
        """`function(operator, args, kwargs)` answers for these operators, with overrides off."""
        self.raw.update(dict.fromkeys(names, function))

    def call(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator's result; NotImplementedError if there is none for nested tensors."""
        name = getattr(operator, "__name__", "").partition(".")[0]  # of `add.Tensor` as of `add`
        if (code := made_of_others(operator)) is not None:
            return code(*args, **kwargs)
        raw = self.raw.get(name)
        if raw is None:
            function = self.table.get(name)
            if function is None:
                raise NotImplementedError(
                    f"{name or operator}(): not implemented for {self.title}; unbind() gives the components, "
                    "torch.nested.to_padded_tensor() one dense tensor, which all operators take"
                )
            return function(*args, **kwargs)
        before = _C._set_overrides_disabled(True)
        try:
            return raw(operator, args, kwargs)
        finally:
            _C._set_overrides_disabled(before)


def as_it_is(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator on the tensors that hold the elements.

    Args:
        operator: the operator.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    return operator(*args, **kwargs)


def plain(t: Tensor) -> Tensor:
    """The tensor that holds the elements of a nested tensor, in the graph."""
    return _C._as_subclass(Tensor, t)
