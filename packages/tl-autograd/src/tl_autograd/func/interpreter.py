"""The stack of levels, and contexts without some of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tl_autograd import _C
from tl_autograd.func.level_stack import (
    CInterpreter,
    TransformType,
    get_interpreter_stack,
    peek_interpreter_stack,
)
from tl_autograd.func.levels import below

__all__ = [
    "FuncTorchInterpreter",
    "retrieve_all_functorch_interpreters",
    "retrieve_current_functorch_interpreter",
    "temporarily_clear_interpreter_stack",
    "temporarily_pop_interpreter_stack",
]


class FuncTorchInterpreter(CInterpreter):
    """An active level, with the context manager of the levels below."""

    def lower(self) -> Any:
        """A context manager in which only the levels below this one are active."""
        return below(self._serial)


def _interpreter_of(level: CInterpreter) -> FuncTorchInterpreter:
    return FuncTorchInterpreter((level._serial, level._kind, level._number, level._size, level._randomness))


def retrieve_current_functorch_interpreter() -> FuncTorchInterpreter:
    """The innermost level.

    Raises:
        AssertionError: no level is active.
    """
    interpreter = peek_interpreter_stack()
    assert interpreter is not None, "no transform is on"
    return _interpreter_of(interpreter)


def retrieve_all_functorch_interpreters() -> list[FuncTorchInterpreter]:
    """All levels, the outermost first."""
    return [_interpreter_of(interpreter) for interpreter in get_interpreter_stack() or []]


@contextlib.contextmanager
def temporarily_pop_interpreter_stack() -> Iterator[CInterpreter]:
    """Inside, the innermost level is inactive."""
    interpreter = retrieve_current_functorch_interpreter()
    with interpreter.lower():
        yield interpreter


@contextlib.contextmanager
def temporarily_clear_interpreter_stack() -> Iterator[list[CInterpreter]]:
    """Inside, no level is active."""
    all_levels: list[CInterpreter] = [*retrieve_all_functorch_interpreters()]
    if not all_levels:
        yield all_levels
        return
    before = _C.step_below(all_levels[0]._serial)
    try:
        yield all_levels
    finally:
        _C.step_back(before)


def compare_functorch_state(states: list[tuple[Any, ...]]) -> bool:
    """Whether the active levels have these kinds, the outermost first."""
    kinds: list[TransformType] = [interpreter.key() for interpreter in retrieve_all_functorch_interpreters()]
    return kinds == [state[0] for state in states]
