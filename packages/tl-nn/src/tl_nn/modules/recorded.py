"""Modules in recordings: while one wants them, each forward is an event, named by its class and a number."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import tl_core
from tl_core.base import recording

from .module import register_module_forward_hook, register_module_forward_pre_hook

__all__: list[str] = []


class _Names:
    """`Linear_0`: the class, and which of its instances, in the order in which they ran first."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[str, Any]] = {}  # with the module, so that its address stays its own
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def of(self, module: Any) -> str:
        with self._lock:
            entry = self._names.get(id(module))
            if entry is None:
                kind = type(module).__name__
                entry = self._names[id(module)] = (f"{kind}_{self._counts[kind]}", module)
                self._counts[kind] += 1
                recording.describe_at_end(
                    module, lambda: describe_parameters(module.parameters(recurse=False))
                )
            return entry[0]


def describe_parameters(parameters: Iterable[Any]) -> Iterator[tuple[int, str]]:
    """The addresses of parameters and of their gradients, for memory profiles."""
    for parameter in parameters:
        if parameter.layout is not tl_core.strided or parameter.device.type != "cpu":
            continue
        yield parameter.untyped_storage().data_ptr(), "PARAMETER"
        if parameter.grad is not None and parameter.grad.layout is tl_core.strided:
            yield parameter.grad.untyped_storage().data_ptr(), "GRADIENT"


class _Open(threading.local):
    """The forwards that this thread is in."""

    def __init__(self) -> None:
        self.ranges: list[tuple[Any, Any]] = []


_open = _Open()
_handles: list[Any] = []


def _listen(on: bool) -> None:
    while _handles:
        _handles.pop().remove()
    if not on:
        return
    names = _Names()

    def enter(module: Any, args: Any) -> None:
        block = recording.EventRange(names.of(module), None, recording.MODULE)
        block.__enter__()
        _open.ranges.append((module, block))

    def leave(module: Any, args: Any, output: Any) -> None:
        while _open.ranges:
            owner, block = _open.ranges.pop()
            block.__exit__()
            if owner is module:
                return

    _handles.append(register_module_forward_pre_hook(enter))
    _handles.append(register_module_forward_hook(leave, always_call=True))


recording.listeners.append(_listen)
