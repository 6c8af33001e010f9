"""The stack of levels of transforms, under the names of `torch._C._functorch`."""

from __future__ import annotations

from tl_autograd import _C
from tl_autograd.func.levels import BATCH, FUNCTIONALIZE, GRAD, JVP
from tl_core.base.native_enum import NativeEnum

__all__ = [
    "CInterpreter",
    "RandomnessType",
    "TransformType",
    "current_level",
    "get_dynamic_layer_stack_depth",
    "get_interpreter_stack",
    "maybe_current_level",
    "peek_interpreter_stack",
]


class TransformType(NativeEnum):
    """The kinds of levels."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(NativeEnum):
    """The behaviours of random operators inside of a batch."""

    Error = 0
    Same = 1
    Different = 2


_TYPES = {
    GRAD: TransformType.Grad,
    JVP: TransformType.Jvp,
    BATCH: TransformType.Vmap,
    FUNCTIONALIZE: TransformType.Functionalize,
}


class CInterpreter:
    """An active level."""

    def __init__(self, entry: tuple):
        self._serial, self._kind, self._number, self._size, self._randomness = entry

    def key(self) -> TransformType:
        """The kind of the level."""
        return _TYPES[self._kind]

    def level(self) -> int:
        """The number of the level; the outermost has 1."""
        return self._number

    def batchSize(self) -> int:
        """The number of examples of a level of a batch."""
        return self._size

    def randomness(self) -> RandomnessType:
        """The behaviour of random operators in the level."""
        return RandomnessType(self._randomness)


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost level; None without one."""
    top = _C.top_level()
    return None if top is None else CInterpreter(top)


def get_interpreter_stack() -> list[CInterpreter] | None:
    """All levels, the outermost first; None without one."""
    top = _C.top_level()
    if top is None:
        return None
    return [CInterpreter(_C.level_numbered(n)) for n in range(1, top[2] + 1)]


def get_dynamic_layer_stack_depth() -> int:
    """The number of active levels."""
    top = _C.top_level()
    return 0 if top is None else top[2]


def maybe_current_level() -> int | None:
    """The number of the innermost level; None without one."""
    top = _C.top_level()
    return None if top is None else top[2]


def current_level() -> int:
    """The number of the innermost level."""
    number = maybe_current_level()
    if number is None:
        raise RuntimeError("no transform is on")
    return number
