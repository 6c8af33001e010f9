"""The tensors that a function reads from around it, as further arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tl_core import Tensor, pytree
from tl_core.overrides import TorchFunctionMode, function_modes
from tl_core.subclasses.python_dispatch import disable_current_modes

__all__ = ["Captured", "is_reading"]

Function = Callable[..., Any]


class Captured:
    """The tensors that functions read from around them.

    A level of a transform has its own wrappers of tensors. A function that runs at another level must therefore receive
    these tensors as arguments.

    Args:
        calls: functions, each with example arguments. Each function runs once, and no trace records it.

    Example:
        >>> import tl_core
        >>> w = tl_core.ones(2)
        >>> captured = Captured([(lambda x: x * w, (tl_core.ones(2),))])
        >>> captured.close(lambda x: x * w)(tl_core.ones(2), tl_core.full((2,), 3.0))
        tensor([3., 3.])
    """

    def __init__(self, calls: Iterable[tuple[Function, Iterable[Any]]]) -> None:
        reader = _Reader()
        for function, arguments in calls:
            with disable_current_modes():
                own = pytree.tree_map(_copy, tuple(arguments))
                reader.note(own)
                with reader:
                    function(*own)
        self._tensors = tuple(reader.captured.values())
        self.values: tuple[Tensor, ...] = tuple(map(_current, self._tensors))  # which the functions read here

    def close(self, function: Function) -> Function:
        """The function with the captured tensors as further arguments.

        Args:
            function: one of the functions.

        Returns:
            A function of its arguments and then of as many tensors as were captured.
        """
        count, ids = len(self._tensors), {id(t) for t in self._tensors}

        def alias(value: Any) -> Any:  # an argument that is also captured: a substitution goes by identity
            return value[...] if id(value) in ids else value

        def call(*arguments: Any) -> Any:
            own, values = arguments[: len(arguments) - count], arguments[len(arguments) - count :]
            own = pytree.tree_map(alias, own)
            with _Substitution(self._tensors, values):
                return function(*own)

        return call if count else function


def is_reading() -> bool:
    """Whether a function runs only to find the tensors that it reads from around it.

    Then operators that choose between functions run all of them.
    """
    return any(isinstance(mode, _Reader) for mode in function_modes())


class _Reader(TorchFunctionMode):
    """Notes the tensors that are neither arguments of the function nor results of its calls."""

    def __init__(self) -> None:
        self.captured: dict[int, Tensor] = {}
        self._own: dict[int, Tensor] = {}  # by id, and alive as long as the id is in use

    def note(self, tree: Any) -> None:
        for leaf in pytree.tree_leaves(tree):
            if isinstance(leaf, Tensor):
                self._own[id(leaf)] = leaf

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for leaf in pytree.tree_leaves((args, kwargs or {})):
            if isinstance(leaf, Tensor) and id(leaf) not in self._own:
                self.captured[id(leaf)] = leaf
        result = func(*args, **(kwargs or {}))
        self.note(result)
        return result


class _Substitution(TorchFunctionMode):
    """Calls functions with other tensors in the place of the captured ones. The innermost substitution alone is on."""

    def __init__(self, tensors: tuple[Tensor, ...], values: tuple[Tensor, ...]) -> None:
        self._values = {id(t): v for t, v in zip(tensors, values, strict=True)}
        self.is_on = True
        self._outer: list[_Substitution] = []

    def __enter__(self) -> _Substitution:
        self._outer = [m for m in function_modes() if isinstance(m, _Substitution) and m.is_on]
        for mode in self._outer:
            mode.is_on = False
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        for mode in self._outer:
            mode.is_on = True

    def value_of(self, t: Tensor) -> Tensor:
        return self._values.get(id(t), t) if self.is_on else t

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = pytree.tree_map(self.value_of, (tuple(args), kwargs or {}))
        return func(*args, **kwargs)


def _copy(value: Any) -> Any:
    """Another object of the same tensor: a function may read an argument from around it, too."""
    return value.detach() if isinstance(value, Tensor) else value


def _current(t: Tensor) -> Tensor:
    """The tensor that stands for a captured one in the function that is running."""
    mode = next((m for m in function_modes() if isinstance(m, _Substitution) and m.is_on), None)
    return t if mode is None else mode.value_of(t)
