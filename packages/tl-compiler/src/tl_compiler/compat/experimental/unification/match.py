"""Functions chosen by patterns of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core import reify, unify
from .unification_tools import first, groupby
from .utils import _toposort
from .variable import isvar

__all__ = ["Dispatcher", "VarDispatcher", "edge", "match", "ordering", "supercedes"]


class Dispatcher:
    """A function with an implementation for each pattern of arguments.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.funcs: dict[Any, Callable[..., Any]] = {}
        self.ordering: list[Any] = []

    def add(self, signature: Any, func: Callable[..., Any]) -> None:
        """Adds an implementation.

        Args:
            signature: the pattern, of values and variables.
            func: the implementation.
        """
        self.funcs[freeze(signature)] = func
        self.ordering = ordering(self.funcs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        func, _ = self.resolve(args)
        return func(*args, **kwargs)

    def resolve(self, args: Any) -> Any:
        """The implementation for arguments.

        Args:
            args: the arguments.

        Returns:
            The implementation and the values of the pattern's variables.

        Raises:
            NotImplementedError: no pattern fits.
        """
        arguments = freeze(args)
        for signature in self.ordering:
            if len(signature) != len(args):
                continue
            values = unify(arguments, signature, {})
            if values is not False:
                return self.funcs[signature], values
        raise NotImplementedError(f"No match found. \nKnown matches: {self.ordering}\nInput: {args}")

    def register(self, *signature: Any) -> Callable[[Callable[..., Any]], Any]:
        """Makes a decorator that adds an implementation.

        Args:
            signature: the pattern.

        Returns:
            The decorator, which gives this dispatcher.
        """

        def add(func: Callable[..., Any]) -> Dispatcher:
            self.add(signature, func)
            return self

        return add


class VarDispatcher(Dispatcher):
    """A dispatcher whose implementations get the values of the pattern's variables, by their names."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        func, values = self.resolve(args)
        return func(**{key.token: value for key, value in values.items()})


global_namespace: dict[str, Any] = {}


def match(*signature: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Any]:
    """Makes a decorator that adds an implementation to the function of the same name.

    Args:
        signature: the pattern.
        kwargs: `namespace` and `Dispatcher`.

    Returns:
        The decorator.

    Example:
        >>> from tl_compiler.compat.experimental.unification import var
        >>> @match(0, namespace=(names := {}))
        ... def factorial(n): return 1
        >>> @match(var(), namespace=names)
        ... def factorial(n): return n * factorial(n - 1)
        >>> factorial(5)
        120
    """
    namespace = kwargs.get("namespace", global_namespace)
    kind = kwargs.get("Dispatcher", Dispatcher)

    def add(func: Callable[..., Any]) -> Any:
        dispatcher = namespace.setdefault(func.__name__, kind(func.__name__))
        dispatcher.add(signature, func)
        return dispatcher

    return add


def supercedes(a: Any, b: Any) -> bool:
    """Whether a pattern is a special case of another one.

    Args:
        a, b: the patterns.

    Returns:
        True if it is.
    """
    if isvar(b) and not isvar(a):
        return True
    values = unify(a, b)
    if values is False:
        return False
    return reify(a, {key: value for key, value in values.items() if not isvar(key) or not isvar(value)}) == a


def edge(a: Any, b: Any, tie_breaker: Callable[[Any], int] = hash) -> bool:
    """Whether a pattern is tried before another one.

    Args:
        a, b: the patterns.
        tie_breaker: decides between those that are special cases of each other.

    Returns:
        True if it is.
    """
    if supercedes(a, b):
        return not supercedes(b, a) or tie_breaker(a) > tie_breaker(b)
    return False


def ordering(signatures: Any) -> list[Any]:
    """The order in which patterns are tried: special cases first.

    Args:
        signatures: the patterns.

    Returns:
        The patterns in order.
    """
    signatures = list(map(tuple, signatures))
    edges = [(a, b) for a in signatures for b in signatures if edge(a, b)]
    grouped = groupby(first, edges)
    for signature in signatures:
        grouped.setdefault(signature, [])
    return _toposort({key: [b for _, b in pairs] for key, pairs in grouped.items()})


def freeze(d: Any) -> Any:
    """A value that has a hash, in the place of containers.

    Args:
        d: the value.

    Returns:
        Tuples and frozen sets for lists, dictionaries and sets.
    """
    if isinstance(d, dict):
        return tuple(map(freeze, sorted(d.items(), key=lambda item: hash(item[0]))))
    if isinstance(d, (list, tuple)):
        return tuple(map(freeze, d))
    if isinstance(d, set):
        return frozenset(map(freeze, d))
    return d
