"""The stack of levels of transforms, with the names that `torch._C._functorch` has for levels."""

from __future__ import annotations

from tl_autograd import _C
from tl_autograd.func.levels import BATCH, FUNCTIONALIZE, GRAD, JVP
from tl_core.base.native_enum import NativeEnum

__all__ = [
    "CInterpreter",
    "RandomnessType",
    "TransformType",
    "are_transforms_active",
    "current_level",
    "get_dynamic_layer_stack_depth",
    "get_interpreter_stack",
    "maybe_current_level",
    "peek_interpreter_stack",
]


class TransformType(NativeEnum):
    """What a level does."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(NativeEnum):
    """What random operators do inside of a batch."""

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
    """A level that is on."""

    def __init__(self, entry: tuple):
        self._serial, self._kind, self._number, self._size, self._randomness = entry

    def key(self) -> TransformType:
        """What it does."""
        return _TYPES[self._kind]

    def level(self) -> int:
        """Its number."""
        return self._number

    def batchSize(self) -> int:
        """How many examples a level of a batch has."""
        return self._size

    def randomness(self) -> RandomnessType:
        """What random operators do there."""
        return RandomnessType(self._randomness)


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost level, or None."""
    top = _C.top_level()
    return None if top is None else CInterpreter(top)


def get_interpreter_stack() -> list[CInterpreter] | None:
    """All levels, the outermost first, or None."""
    top = _C.top_level()
    if top is None:
        return None
    return [CInterpreter(_C.level_numbered(n)) for n in range(1, top[2] + 1)]


def get_dynamic_layer_stack_depth() -> int:
    """How many levels are on."""
    top = _C.top_level()
    return 0 if top is None else top[2]


def maybe_current_level() -> int | None:
    """The number of the innermost level, or None."""
    top = _C.top_level()
    return None if top is None else top[2]


def current_level() -> int:
    """The number of the innermost level."""
    number = maybe_current_level()
    if number is None:
        raise RuntimeError("no transform is on")
    return number


def are_transforms_active() -> bool:
    """Whether any level is on."""
    return _C.transforms_active()
