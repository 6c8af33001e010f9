"""Base classes of pipes, with registered steps as methods: `pipe.map(f).batch(4)`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from tl_data.dataset import Dataset, IterableDataset

from ._hook_iterator import _SnapshotState, hook_iterator

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"]

_Class = TypeVar("_Class", bound=type)
_T = TypeVar("_T", covariant=True)


class _Steps:
    """Lookup of registered steps as methods."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    getstate_hook: ClassVar[Callable[[Any], Any] | None] = None
    reduce_ex_hook: ClassVar[Callable[[Any], Any] | None] = None

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Sets the function from a pipe's attributes to its pickled state; None removes it.

        Raises RuntimeError if a hook is set already.
        """
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Sets the function that reduces a pipe for pickle; None removes it.

        The function raises NotImplementedError to fall back to the default.

        Raises RuntimeError if a hook is set already.
        """
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = hook_fn

    def __getstate__(self) -> Any:
        hook = type(self).getstate_hook
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def register_function(cls, name: str, step: Callable[..., Any]) -> None:
        """Makes a step a method of every pipe of this kind."""
        cls.functions[name] = step

    @classmethod
    def register_datapipe_as_function(cls, name: str, step: type) -> None:
        """Makes a class a method of every pipe of this kind.

        Raises ValueError if the name is taken.
        """
        if name in cls.functions:
            raise ValueError(f"a step {name!r} exists already: {cls.functions[name]}")
        cls.functions[name] = step

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return type(self).__qualname__


class IterDataPipe(_Steps, IterableDataset[_T]):
    """A stream that is a step of others: a subclass has `__iter__`.

    A new iterator invalidates the earlier ones of the same stream, and `reset` runs first, if a subclass has it.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _is_child_datapipe: ClassVar[bool] = False
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded = 0
    _snapshot_state = _SnapshotState.NotStarted
    _fast_forward_iterator: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__iter__" in vars(cls):
            cls.__iter__ = hook_iterator(vars(cls)["__iter__"])  # type: ignore[method-assign]  # the class's own, hooked

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self._snapshot_state = _SnapshotState.NotStarted

    def reset(self) -> None:
        """Runs before each pass; a subclass sets its state back here."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} must have __iter__")


class MapDataPipe(_Steps, Dataset[_T]):
    """A map that is a step of others: a subclass has `__getitem__` and `__len__`."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def lengths(step: Any, *sources: Any) -> list[int]:
    """The lengths of the sources of a step.

    Args:
        step: the step, for the error.
        sources: its sources.

    Raises:
        TypeError: a source has no length.
    """
    try:
        return [len(source) for source in sources]
    except TypeError:
        raise TypeError(f"{type(step).__name__} instance doesn't have valid length") from None


class functional_datapipe:
    """Makes a class of pipes a method of all pipes of its kind: `@functional_datapipe("twice")`.

    Raises TypeError if the decorated class is no pipe, ValueError if the name is taken.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: _Class) -> _Class:
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError(f"functional_datapipe decorates pipes, got {cls!r}")


class DataChunk(list[Any]):
    """A batch of a pipe: a list that `unbatch` takes apart."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.items = list(self)

    def raw_iterator(self) -> Iterator[Any]:
        """The items, one by one."""
        yield from self.items
