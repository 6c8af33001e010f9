"""`allow_mutation_on_saved_tensors`: a write to a tensor that was saved for the backward copies the tensor first."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from tl_autograd import _C
from tl_core import Tensor
from tl_core.subclasses.python_dispatch import TorchDispatchMode

__all__ = ["SavedCopies", "allow_mutation_on_saved_tensors"]


class _Handle:
    """The handle of a saved tensor. The graph holds the handle, the context the tensor."""

    __slots__ = ("__weakref__",)


def _memory(t: Tensor) -> tuple[int, int]:
    return t.untyped_storage().data_ptr(), t._version


class SavedCopies:
    """The tensors that were saved in a block of `allow_mutation_on_saved_tensors`, and their copies.

    Attributes:
        original: the tensor of each handle that a graph holds.
        cloned: the copy of a tensor that was written since.
        tid_to_weakhandle: the handles by id, memory and version of the saved tensor.
    """

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple, _Handle] = WeakValueDictionary()
        self._in_memory: defaultdict[tuple, set[tuple]] = defaultdict(set)

    def clear(self) -> None:
        """Removes all tensors. A backward through graphs of the block fails afterwards."""
        for table in (self.original, self.cloned, self.tid_to_weakhandle, self._in_memory):
            table.clear()

    def pack(self, t: Tensor) -> _Handle:
        """The handle of a tensor, for the graph."""
        key = (id(t), *_memory(t))
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle()
            self.original[handle] = t
            self._in_memory[_memory(t)].add(key)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """The tensor with the values of the time of saving."""
        assert handle in self.original, (
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
            "recorded: call backward() inside of it."
        )
        copy = self.cloned.get(handle)
        return self.original[handle] if copy is None else copy

    def copy_before_writing(self, t: Tensor) -> None:
        """Copies the saved tensors in the memory that `t` is about to change."""
        for key in self._in_memory.pop(_memory(t), ()):
            handle = self.tid_to_weakhandle.get(key)
            if handle is not None and handle not in self.cloned:
                self.cloned[handle] = self.original[handle].detach().clone()


class _CopyBeforeWriting(TorchDispatchMode):
    def __init__(self, copies: SavedCopies) -> None:
        super().__init__()
        self.copies = copies

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            for t in _written_tensors(func._schema, args, kwargs):
                self.copies.copy_before_writing(t)
        return func(*args, **kwargs)


def _written_tensors(schema: Any, args: tuple, kwargs: dict) -> Iterable[Tensor]:
    for i, argument in enumerate(schema.arguments):
        if argument.is_write:
            value = args[i] if i < len(args) else kwargs.get(argument.name)
            yield from (
                t for t in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(t, Tensor)
            )


_open: list[SavedCopies] = []


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[SavedCopies]:
    """Inside, tensors that were saved for the backward may be changed in place: the graph uses copies.

    A write copies a tensor first, if a graph still needs it for a backward. The backward must run inside of the block,
    too.

    Raises:
        RuntimeError: inside of another such block.

    Example::

        >>> import tl_autograd.graph
        >>> with tl_autograd.graph.allow_mutation_on_saved_tensors():
        ...     a = tl_core.ones(2, requires_grad=True)
        ...     b = a.clone()
        ...     c = (b**2).sum()
        ...     _ = b.sin_()
        ...     c.backward()
        >>> a.grad
        tensor([2., 2.])
    """
    if _open:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    copies = SavedCopies()
    _C.push_saved_hooks(copies.pack, copies.unpack)
    _open.append(copies)
    try:
        with _CopyBeforeWriting(copies):
            yield copies
    finally:
        _open.pop()
        _C.pop_saved_hooks()
        copies.clear()
