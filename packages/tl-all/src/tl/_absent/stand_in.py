"""Stand-ins: objects that may be imported, named and passed on, and that raise at their use.

A stand-in may be an annotation, a default, a base class or a decorator. It can be pickled and copied, and `isinstance`
returns False for it. It raises NotImplementedError when it is called, compared, awaited, entered, iterated over or
computed with. A decorator raises when the decorated function is called: the definition does none of the program's work,
and the function without its decorator would do other work. A subclass raises when it is instantiated.
"""

import copyreg
import sys
import warnings
from functools import wraps
from types import FrameType, ModuleType

from tl import _names
from tl._absent import frames, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


class AbsentNameWarning(UserWarning):
    """A program imports a name of PyTorch that tl lacks. Each name warns once."""


imports: "dict[str, dict[str, int]]" = {}  # by name, the line of the import in each file
plain_imports: "dict[str, set[str]]" = {}  # by file, the modules that it imports by `import torch.x.y`
quiet: "list[bool]" = []  # not empty if `--absent` lists the names instead of warnings
_stand_ins: "dict[str, Any]" = {}


def record_import(dotted: str, file: str, line: int) -> "Any":
    """Records an import of a name, warns at the first one and returns the stand-in."""
    first = dotted not in imports
    imports.setdefault(dotted, {}).setdefault(file, line)
    if first and not quiet:
        text = f"{dotted} is not in tl: it can be imported, and raises NotImplementedError where it is used"
        warnings.warn_explicit(text, AbsentNameWarning, file, line)
    return of(dotted)


def of(dotted: str) -> "Any":
    """The only stand-in for a name."""
    stand_in = _stand_ins.get(dotted)
    if stand_in is None:
        kind = names.kind(dotted)
        if kind == "module":
            stand_in = AbsentModule(dotted)
        elif kind == "exception":
            module, _, name = dotted.rpartition(".")
            stand_in = AbsentExceptionType(name, (Exception,), {"__module__": module, "_absent": dotted})
        else:
            stand_in = StandIn(dotted)
        stand_in = _stand_ins.setdefault(dotted, stand_in)
    return stand_in


def refuse(dotted: str, frame: "FrameType | None" = None) -> "NoReturn":
    """Raises for the use of an absent name, with the line of its import, if possible in the file that uses it."""
    lines_of: dict[str, int] = {}
    name = dotted
    while name and not lines_of:
        lines_of, name = imports.get(name, {}), name.rpartition(".")[0]
    while frame is not None and frame.f_code.co_filename not in lines_of:
        frame = frame.f_back
    file = frame.f_code.co_filename if frame is not None else next(iter(lines_of), "")
    where = f", which {file}:{lines_of[file]} imports" if file else ""
    reason = _names.unbuilt(dotted.partition(".")[2]) or "PyTorch has it, so programs can name but not use it"
    raise NotImplementedError(f"{dotted}{where}, is not in tl: {reason}")


def _child(dotted: str, name: str, frame: FrameType) -> "Any":
    """The stand-in for an attribute that a program names. A test for the attribute raises AttributeError."""
    is_query = frames.instruction(frame)[0] not in (*frames.ATTRIBUTE, frames.IMPORT_FROM)
    exists = names.kind(dotted) != "module" or names.has(f"{dotted}.{name}")
    if name.startswith("__") or is_query or not exists or frames.in_try(frame.f_code, frame.f_lasti):
        raise AttributeError(f"{dotted}, which is not in tl, has no attribute {name!r}", name=name)
    if frames.instruction(frame)[0] == frames.IMPORT_FROM:
        return record_import(f"{dotted}.{name}", frame.f_code.co_filename, frame.f_lineno)
    return of(f"{dotted}.{name}")


class StandIn:
    """The stand-in for an absent class, function or object."""

    def __init__(self, dotted: str):
        module, _, name = dotted.rpartition(".")
        for attribute, value in (("__module__", module), ("__name__", name), ("__qualname__", name)):
            object.__setattr__(self, attribute, value)

    def __getattr__(self, name: str) -> "Any":
        return _child(_dotted_name(self), name, sys._getframe(1))

    def __repr__(self) -> str:
        return f"<stand-in for {_dotted_name(self)}, which is not in tl>"

    def __call__(self, *args: "Any", **kwargs: "Any") -> "Any":
        dotted, frame = _dotted_name(self), sys._getframe(1)
        if len(args) == 1 and not kwargs and callable(args[0]) and frames.decorates(frame):
            return decorate(dotted, args[0])
        if frames.makes_decorator(frame):
            return lambda target: decorate(dotted, target)
        refuse(dotted, frame)

    def __mro_entries__(self, bases: "tuple[Any, ...]") -> "tuple[type, ...]":
        base = _bases.setdefault(_dotted_name(self), _base_for(_dotted_name(self)))
        return () if any(base in getattr(other, "__mro__", ()) for other in bases) else (base,)

    def __instancecheck__(self, instance: object) -> bool:
        return self.__subclasscheck__(type(instance))

    def __subclasscheck__(self, cls: type) -> bool:
        return _bases.get(_dotted_name(self)) in cls.__mro__

    def __or__(self, other: "Any") -> "Any":
        from typing import Union

        return Union[self, other]  # noqa: UP007

    def __ror__(self, other: "Any") -> "Any":
        from typing import Union

        return Union[other, self]  # noqa: UP007

    def __getitem__(self, item: "Any") -> "StandIn":
        if names.kind(_dotted_name(self)) == "function":
            refuse(_dotted_name(self), sys._getframe(1))
        return self

    def __reduce__(self) -> "tuple[Any, ...]":
        return of, (_dotted_name(self),)

    def __copy__(self) -> "StandIn":
        return self

    def __deepcopy__(self, memo: "Any") -> "StandIn":
        return self

    def __hash__(self) -> int:
        return object.__hash__(self)


def _dotted_name(stand_in: StandIn) -> str:
    return f"{stand_in.__module__}.{stand_in.__name__}"


def _use(name: str) -> "Callable[..., Any]":
    def method(self: StandIn, *args: "Any") -> "Any":
        refuse(_dotted_name(self), sys._getframe(1))

    method.__name__ = name
    return method


def _comparison(name: str) -> "Callable[..., Any]":
    def method(self: StandIn, other: object) -> "Any":
        frame = sys._getframe(1)
        # Python's own modules compare arguments with their own objects: `typing`, `functools`, `dataclasses`
        of_python = frame.f_globals.get("__name__", "").partition(".")[0] in sys.stdlib_module_names
        if self is other or of_python:
            return NotImplemented
        refuse(_dotted_name(self), frame)

    method.__name__ = name
    return method


_USES = (
    "bool len iter next reversed contains await aiter anext enter exit aenter aexit index int float complex add radd "
    "sub rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow lshift rlshift rshift "
    "rrshift and rand xor rxor neg pos abs invert lt le gt ge setattr delattr setitem delitem"
)
for _name in _USES.split():
    setattr(StandIn, f"__{_name}__", _use(f"__{_name}__"))
for _name in ("__eq__", "__ne__"):
    setattr(StandIn, _name, _comparison(_name))

_bases: "dict[str, type]" = {}


def _base_for(dotted: str) -> type:
    """The base class of a program's subclasses of an absent class."""

    def __new__(cls: type, *args: "Any", **kwargs: "Any") -> "Any":
        refuse(dotted, sys._getframe(1))

    def __init_subclass__(cls: "Any", /, **kwargs: "Any") -> None:
        super(base, cls).__init_subclass__()  # type: ignore[arg-type]
        cls.__new__ = staticmethod(__new__)

    module, _, name = dotted.rpartition(".")
    body = {"__module__": module, "__new__": __new__, "__init_subclass__": classmethod(__init_subclass__)}
    base = type(name, (), body)
    return base


class AbsentExceptionType(type):
    """The type of absent exceptions, for `except` clauses. No code raises them."""

    def __call__(cls, *args: "Any", **kwargs: "Any") -> "Any":
        refuse(cls._absent, sys._getframe(1))  # type: ignore[attr-defined]


def _pickle_exception(cls: AbsentExceptionType) -> "Any":
    by_name = _stand_ins.get(cls._absent) is cls  # type: ignore[attr-defined]
    return (of, (cls._absent,)) if by_name else cls.__name__  # type: ignore[attr-defined]


copyreg.pickle(AbsentExceptionType, _pickle_exception)


class AbsentModule(ModuleType):
    """The stand-in for an absent module."""

    def __init__(self, dotted: str):
        super().__init__(dotted, "A module of PyTorch that is not in tl.")

    def __getattr__(self, name: str) -> "Any":
        if name == "__path__" and frames.loads_below(sys._getframe(1)):
            return []
        return _child(self.__name__, name, sys._getframe(1))

    def __repr__(self) -> str:
        return f"<stand-in for the module {self.__name__}, which is not in tl>"

    def __reduce__(self) -> "tuple[Any, ...]":
        return of, (self.__name__,)


def decorate(dotted: str, target: "Any") -> "Any":
    """The function or class under an absent decorator, which raises when it is called."""

    def function(*args: "Any", **kwargs: "Any") -> "Any":
        refuse(dotted, sys._getframe(1))

    if isinstance(target, type):
        target.__new__ = staticmethod(function)  # type: ignore[method-assign]
        return target
    return wraps(target)(function)
