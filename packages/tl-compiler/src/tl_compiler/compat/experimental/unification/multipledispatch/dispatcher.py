"""The table of implementations of a function."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any
from warnings import warn

from .conflict import AmbiguityWarning, ambiguities, ordering, super_signature
from .utils import str_signature
from .variadic import Variadic, isvariadic

__all__ = [
    "Dispatcher",
    "MDNotImplementedError",
    "MethodDispatcher",
    "ambiguity_warn",
    "halt_ordering",
    "restart_ordering",
    "source",
    "str_signature",
    "variadic_signature_matches",
    "variadic_signature_matches_iter",
    "warning_text",
]


class MDNotImplementedError(NotImplementedError):
    """Raised by an implementation to let the next one that fits be called."""


def ambiguity_warn(dispatcher: Dispatcher, ambiguities: set[Any]) -> None:
    """Warns of signatures that fit some arguments equally well.

    Args:
        dispatcher: the function.
        ambiguities: pairs of signatures.
    """
    warn(warning_text(dispatcher.name, ambiguities), AmbiguityWarning, stacklevel=2)


def halt_ordering() -> None:
    """Does nothing: signatures are ordered when the function is called first."""


def restart_ordering(on_ambiguity: Any = ambiguity_warn) -> None:
    """Does nothing, as `halt_ordering`.

    Args:
        on_ambiguity: not used.
    """


def variadic_signature_matches_iter(types: Any, full_signature: Any) -> Iterator[bool]:
    """For each class, whether it fits its part of a signature with a variadic end.

    Args:
        types: the classes.
        full_signature: the signature.

    Yields:
        True where it fits; False once more if parts of it are left over.
    """
    parts = iter(full_signature)
    part = next(parts)
    for kind in types:
        yield issubclass(kind, part)
        if not isvariadic(part):
            following = next(parts, None)
            if following is None:
                return
            part = following
    if not isvariadic(part) or next(parts, None) is not None:
        yield False


def variadic_signature_matches(types: Any, full_signature: Any) -> bool:
    """Whether classes fit a signature with a variadic end.

    Args:
        types: the classes.
        full_signature: the signature, which is not empty.

    Returns:
        True if all fit.
    """
    if not full_signature:
        raise AssertionError("variadic_signature_matches: the signature is empty")
    fixed = len(full_signature) - 1
    if len(types) < fixed:
        return False
    return all(map(issubclass, types, full_signature[:fixed])) and all(
        issubclass(kind, full_signature[-1]) for kind in types[fixed:]
    )


class Dispatcher:
    """A function whose implementation is chosen by the classes of its arguments.

    Args:
        name: its name.
        doc: its text.

    Example:
        >>> f = Dispatcher("f")
        >>> f.add((int,), lambda x: "int")
        >>> f.add((object,), lambda x: "other")
        >>> f(1), f("1")
        ('int', 'other')
    """

    def __init__(self, name: str, doc: str | None = None) -> None:
        self.name = self.__name__ = name
        self.funcs: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self.doc = doc
        self._cache: dict[tuple[type, ...], Callable[..., Any] | None] = {}
        self._ordering: list[tuple[Any, ...]] | None = None

    def register(self, *types: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Any]:
        """Makes a decorator that adds an implementation.

        Args:
            types: the classes of its arguments.
            kwargs: as for `add`.

        Returns:
            The decorator, which gives the implementation back.
        """

        def add(func: Callable[..., Any]) -> Any:
            self.add(types, func, **kwargs)
            return func

        return add

    def add(self, signature: Any, func: Callable[..., Any]) -> None:
        """Adds an implementation.

        Args:
            signature: the classes of its arguments; a tuple among them for any of several, a list of one class at the
                end for any number.
            func: the implementation.

        Raises:
            TypeError: what stands in the signature is no class, or a list is not at its end.
        """
        if any(isinstance(kind, tuple) for kind in signature):
            for plain in itertools.product(*(k if isinstance(k, tuple) else (k,) for k in signature)):
                self.add(plain, func)
            return
        checked: list[Any] = []
        for part, kind in enumerate(signature, start=1):
            if isinstance(kind, list):
                if part != len(signature):
                    raise TypeError("Variadic signature must be the last element")
                if len(kind) != 1:
                    raise TypeError(
                        "Variadic signature must contain exactly one element. To use a variadic union type part the "
                        "desired types inside of a tuple, e.g., [(int, str)]"
                    )
                kind = Variadic[kind[0]]
            elif not isinstance(kind, type):
                raise TypeError(
                    f"Tried to dispatch on non-type: {kind!r}\nIn signature: <{str_signature(signature)}>"
                )
            checked.append(kind)
        self.funcs[tuple(checked)] = func
        self._cache.clear()
        self._ordering = None

    @property
    def ordering(self) -> list[tuple[Any, ...]]:
        """The signatures in the order in which they are tried."""
        return self.reorder() if self._ordering is None else self._ordering

    def reorder(self, on_ambiguity: Callable[[Dispatcher, set[Any]], None] = ambiguity_warn) -> list[Any]:
        """Orders the signatures again.

        Args:
            on_ambiguity: called with those that fit some arguments equally well.

        Returns:
            The signatures in order.
        """
        self._ordering = order = ordering(self.funcs)
        unclear = ambiguities(self.funcs)
        if unclear:
            on_ambiguity(self, unclear)
        return order

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kinds = tuple(type(arg) for arg in args)
        func = self._cache.get(kinds)
        if func is None:
            func = self.dispatch(*kinds)
            if func is None:
                raise NotImplementedError(
                    f"Could not find signature for {self.name}: <{str_signature(kinds)}>"
                )
            self._cache[kinds] = func
        try:
            return func(*args, **kwargs)
        except MDNotImplementedError as passed:
            for other in itertools.islice(self.dispatch_iter(*kinds), 1, None):
                try:
                    return other(*args, **kwargs)
                except MDNotImplementedError:
                    continue
            raise NotImplementedError(
                f"Matching functions for {self.name}: <{str_signature(kinds)}> found, but none completed successfully"
            ) from passed

    def __str__(self) -> str:
        return f"<dispatched {self.name}>"

    __repr__ = __str__

    def dispatch(self, *types: type) -> Callable[..., Any] | None:
        """The implementation for classes of arguments.

        Args:
            types: the classes.

        Returns:
            The implementation, or None.
        """
        if types in self.funcs:
            return self.funcs[types]
        return next(self.dispatch_iter(*types), None)

    def dispatch_iter(self, *types: type) -> Iterator[Callable[..., Any]]:
        """All implementations that fit, the one that says most first.

        Args:
            types: the classes of arguments.

        Yields:
            The implementations.
        """
        for signature in self.ordering:
            fits = len(signature) == len(types) and all(map(issubclass, types, signature))
            variadic = bool(signature) and isvariadic(signature[-1])
            if fits or (variadic and variadic_signature_matches(types, signature)):
                yield self.funcs[signature]

    def resolve(self, types: Any) -> Callable[..., Any] | None:
        """As `dispatch`, with the classes in one argument.

        Args:
            types: the classes.

        Returns:
            The implementation, or None.
        """
        return self.dispatch(*types)

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "funcs": self.funcs}

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__init__(d["name"])  # type: ignore[misc]
        self.funcs = d["funcs"]

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The texts of the implementations."""
        texts = [f"Multiply dispatched method: {self.name}"]
        texts += [self.doc] if self.doc else []
        for signature in reversed(self.ordering):
            text = f"Inputs: <{str_signature(signature)}>"
            doc = self.funcs[signature].__doc__
            texts.append(f"{text}\n{'-' * len(text)}\n{doc.strip()}" if doc else text)
        return "\n\n".join(texts)

    def _help(self, *args: Any) -> str:
        function = self.dispatch(*map(type, args))
        return (function.__doc__ if function else None) or ""

    def help(self, *args: Any, **kwargs: Any) -> None:
        """Prints the text of the implementation for arguments.

        Args:
            args: the arguments.
            kwargs: not used.
        """
        print(self._help(*args))

    def source(self, *args: Any, **kwargs: Any) -> None:
        """Prints the code of the implementation for arguments.

        Args:
            args: the arguments.
            kwargs: not used.

        Raises:
            TypeError: none fits.
        """
        function = self.dispatch(*map(type, args))
        if function is None:
            raise TypeError("No function found")
        print(source(function))


def source(func: Callable[..., Any]) -> str:
    """The code of a function, and where it stands.

    Args:
        func: the function.

    Returns:
        The text.
    """
    return f"File: {inspect.getsourcefile(func)}\n\n{inspect.getsource(func)}"


class MethodDispatcher(Dispatcher):
    """A method whose implementation is chosen by the classes of its arguments but self."""

    @classmethod
    def get_func_params(cls, func: Callable[..., Any]) -> Any:
        """The parameters of a function.

        Args:
            func: the function.

        Returns:
            The parameters.
        """
        return inspect.signature(func).parameters.values()

    def __get__(self, instance: Any, owner: type) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            kinds = tuple(type(arg) for arg in args)
            func = self.dispatch(*kinds)
            if func is None:
                raise NotImplementedError(
                    f"Could not find signature for {self.name}: <{str_signature(kinds)}>"
                )
            return func(instance, *args, **kwargs)

        return call


def warning_text(name: str, amb: set[Any]) -> str:
    """What is said of signatures that fit some arguments equally well.

    Args:
        name: the function.
        amb: the pairs of signatures.

    Returns:
        The text.
    """
    text = f"\nAmbiguities exist in dispatched function {name}\n\n"
    text += "The following signatures may result in ambiguous behavior:\n"
    for pair in amb:
        text += "\t" + ", ".join(f"[{str_signature(s)}]" for s in pair) + "\n"
    text += "\n\nConsider making the following additions:\n\n"
    return text + "\n\n".join(
        f"@dispatch({str_signature(super_signature(s))})\ndef {name}(...)"
        for s in amb
        if len(s[0]) == len(s[1])
    )
