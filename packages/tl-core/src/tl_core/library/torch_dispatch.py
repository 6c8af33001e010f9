"""What modes and classes with `__torch_dispatch__` do with one operator, where that was registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tl_core import Tensor
from tl_core.dispatch import registrations
from tl_core.pytree import tree_leaves

__all__ = ["install"]


class _Rules:
    """The function of an operator at the layer of `__torch_dispatch__`: a rule, or what would have been called."""

    def __init__(self, op: Any) -> None:
        self.op = op
        self.rules: dict[type, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        types = tuple(dict.fromkeys(type(x) for x in tree_leaves((args, kwargs)) if _dispatches(x)))
        for handle in self.handlers(types):
            result = handle(self.op, types, args, kwargs)
            if result is not NotImplemented:
                return result
        raise TypeError(
            f"Multiple dispatch failed for '{self.op}'; all __torch_dispatch__ handlers returned NotImplemented: "
            f"{[t.__name__ for t in types]}"
        )

    def handlers(self, types: tuple[Any, ...]) -> Iterator[Callable[..., Any]]:
        from tl_core.subclasses.python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily

        if (mode := _get_current_dispatch_mode()) is not None:

            def by_mode(*call: Any) -> Any:
                with _pop_mode_temporarily(getattr(mode, "_mode_key", None)):
                    rule = self.rules.get(type(mode))
                    return rule(mode, *call) if rule else mode.__torch_dispatch__(*call)

            yield by_mode
        for cls in types:
            rule = self.rules.get(cls)
            yield (lambda *call, c=cls, r=rule: r(c, *call)) if rule else cls.__torch_dispatch__


def _dispatches(x: Any) -> bool:
    own = getattr(type(x), "__torch_dispatch__", None)
    return isinstance(x, Tensor) and own is not getattr(Tensor, "__torch_dispatch__", None)


def install(lib: Any, op: Any, torch_dispatch_class: Any, function: Callable[..., Any]) -> None:
    """Calls a function in the place of a class's `__torch_dispatch__`, for one operator.

    Args:
        lib: the library with which this goes.
        op: the operator.
        torch_dispatch_class: the class of modes or tensors.
        function: the rule.

    Raises:
        RuntimeError: there is one already.
    """
    registration = registrations.of(op._native_name, "Python")
    if registration is None:
        lib._register(op, _Rules(op), "Python")
        registration = registrations.of(op._native_name, "Python")
    rules = registration.function.rules
    if torch_dispatch_class in rules:
        raise RuntimeError(
            f"{torch_dispatch_class} already has a `__torch_dispatch__` impl registered for {op}"
        )
    rules[torch_dispatch_class] = function
