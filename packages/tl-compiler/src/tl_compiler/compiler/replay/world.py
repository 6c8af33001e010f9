"""What a call reads outside of its arguments, and which objects the call itself creates.

Every read of an object that was there before becomes a comparison that a later call passes before it is replayed. A
write to such an object is refused by the rules of `opcodes` and `callables`.
"""

from __future__ import annotations

import collections
import contextvars
import enum
import functools
import gc
import threading
import types
from typing import Any

import tl_core
import tl_nn
from tl_core.dispatch.native_calls import native_function

from ..object_parts import is_python_class
from .refusal import Refusal

__all__ = ["ABSENT", "IMMUTABLE", "OVERRIDABLE", "Read", "World", "is_plain", "is_result"]

OVERRIDABLE: type = native_function("overridable")  # functions that first ask classes and modes
ABSENT = NotImplemented  # as the description of a tape writes it


class Read(enum.IntEnum):
    """The kinds of reads, in the order of `World::Kind` in `csrc/replay/world.h`."""

    KEYS = 0
    ITEMS = 1
    LIST = 2
    SET = 3
    CELL = 4
    FUNCTION = 5
    TYPE = 6
    TYPE_OF = 7
    ATTRIBUTE = 8
    GETTER = 9
    CONTEXT = 10
    LOCAL = 11


_ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range)
_OPAQUE = (tl_core.dtype, type(tl_core.device("cpu")), type(tl_core.strided), type(tl_core.contiguous_format))
_CODE = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.MethodWrapperType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.ClassMethodDescriptorType, types.CodeType, OVERRIDABLE, property, staticmethod, classmethod,
    super, contextvars.ContextVar,
)  # fmt: skip
IMMUTABLE = frozenset((*_ATOMS, *_OPAQUE, *_CODE))
_KEYS = (str, int, bool, float, type(None), bytes, type, types.FunctionType, tl_core.dtype)
# The garbage collector sees objects of these types as long as they exist; plain dictionaries only where they need it.
_TRACKED = (
    list, set, types.CellType, types.GeneratorType, collections.OrderedDict, collections.defaultdict,
    contextvars.Token,
)  # fmt: skip


def is_plain(value: Any) -> bool:
    """Whether a value is immutable through and through: numbers, texts, types, dtypes and tuples and slices of them.

    Args:
        value: the value.

    Example:
        >>> is_plain((1, "a")), is_plain([1])
        (True, False)
    """
    kind = type(value)
    if kind in _ATOMS or kind in _OPAQUE or isinstance(value, type):
        return True
    if kind is tuple or kind is tl_core.Size or kind is frozenset:
        return all(map(is_plain, value))
    return kind is slice and is_plain(value.start) and is_plain(value.stop) and is_plain(value.step)


def is_result(cls: type) -> bool:
    """Whether a class is one of named results of operators, which are tuples.

    Args:
        cls: the class.
    """
    return cls.__base__ is tuple and cls.__module__ == "tl_core.base.return_types"


class World:
    """The objects that were there before a call, and what the call reads of them.

    Args:
        own: containers among the arguments, which a later call replaces by others of equal content.
    """

    def __init__(self, own: list[Any]) -> None:
        if gc.get_freeze_count():
            raise Refusal("gc.freeze() hides which objects were there before the call")
        self._before = gc.get_objects()  # alive, so that no id is used twice
        self._ids = set(map(id, self._before))
        self._own = {id(container): container for container in own}
        self._fresh: dict[int, Any] = {}
        self._keys: dict[int, tuple[dict[Any, Any], dict[Any, Any]]] = {}
        self._reads: dict[tuple[Any, ...], tuple[Read, Any, Any]] = {}
        self._changed: dict[tuple[int, Any], tuple[dict[Any, Any], Any]] = {}  # items that the call writes
        for cls in (tl_core.Tensor, tl_nn.Parameter):
            self.read_type(cls)

    def close(self) -> None:
        """Forgets the objects that were there before."""
        self._before.clear()
        self._ids.clear()
        self._fresh.clear()

    # ---- which objects the call creates
    def mark_fresh(self, x: Any) -> None:
        """Notes an object that the call has created.

        Args:
            x: the object.
        """
        self._fresh[id(x)] = x

    def is_fresh(self, x: Any) -> bool:
        """Whether the call has created an object that can change.

        Args:
            x: the object.
        """
        if id(x) in self._fresh:
            return True
        if type(x) is dict or not (isinstance(x, _TRACKED) or is_python_class(type(x))):
            return False
        return gc.is_tracked(x) and id(x) not in self._ids

    def was_there(self, x: Any) -> bool:
        """Whether an object that the garbage collector sees was there before the call.

        Args:
            x: the object.
        """
        return id(x) in self._ids

    def is_argument(self, x: Any) -> bool:
        """Whether a container is one of the arguments.

        Args:
            x: the container.
        """
        return id(x) in self._own

    # ---- reads
    def _contains(self, x: Any) -> bool:
        return id(x) in self._own or self.is_fresh(x)

    def read_key(self, members: dict[Any, Any], key: Any) -> None:
        """Notes that an item of a dictionary is read, or that it is absent.

        Args:
            members: the dictionary.
            key: the key.
        """
        if self._contains(members):
            return
        if not isinstance(key, (*_KEYS, tl_core.Tensor)) and not (type(key) is tuple and is_plain(key)):
            raise Refusal(f"a dictionary is read by a key of the type {type(key).__name__}")
        _, keys = self._keys.setdefault(id(members), (members, {}))
        if key not in keys:
            keys[key] = dict.get(members, key, ABSENT)

    def change_key(self, members: dict[Any, Any], key: Any) -> bool:
        """Notes that an item of a dictionary gets a value, which the call must replace by the former one again.

        The former value is compared by later calls, so that these replace theirs too.

        Args:
            members: the dictionary.
            key: the key.

        Returns:
            Whether the dictionary has the key. A new key would be another change of it.
        """
        if key not in members or self._contains(members):
            return False
        self.read_key(members, key)
        self._changed[id(members), key] = members, key
        return True

    def has_changes(self) -> bool:
        """Whether a dictionary or a context holds a value of the call in place of the former one."""
        return any(
            dict.get(members, key, ABSENT) is not self._keys[id(members)][1][key]
            for members, key in self._changed.values()
        ) or any(
            x.get(ABSENT) is not expected
            for kind, x, expected in self._reads.values()
            if kind == Read.CONTEXT
        )

    def read_context(self, variable: contextvars.ContextVar[Any]) -> None:
        """Notes that a context variable is read, or set for a time.

        Args:
            variable: the variable.
        """
        value = variable.get(_UNSET)
        if value is ABSENT:
            raise Refusal("the value of a context variable is NotImplemented")
        self._note(Read.CONTEXT, variable, ABSENT if value is _UNSET else value)

    def read_local(self, x: threading.local, name: str) -> None:
        """Notes that an attribute is read that each thread has its own value of.

        Args:
            x: the object.
            name: the attribute.
        """
        self._note(Read.LOCAL, x, (name, getattr(x, name, ABSENT)), name)

    def read_all(self, x: Any) -> None:
        """Notes that the content of a container is read.

        Args:
            x: a dictionary, a list or a set.
        """
        if self._contains(x):
            return
        if isinstance(x, dict):
            if isinstance(x, collections.OrderedDict) and len(x) > 1:
                raise Refusal("an OrderedDict is walked through, whose order has no version")
            pairs = tuple(part for item in dict.items(x) for part in item)
            self._note(Read.ITEMS, x, pairs)
        elif isinstance(x, list):
            self._note(Read.LIST, x, tuple(list.__iter__(x)))
        elif isinstance(x, (set, frozenset)):
            self._note(Read.SET, x, tuple(x))

    def read_cell(self, cell: types.CellType) -> None:
        """Notes that a variable of an enclosing function is read.

        Args:
            cell: its cell.
        """
        if not self.is_fresh(cell):
            try:
                self._note(Read.CELL, cell, cell.cell_contents)
            except ValueError:
                self._note(Read.CELL, cell, ABSENT)

    def read_function(self, function: types.FunctionType) -> None:
        """Notes that a function runs.

        Args:
            function: the function.
        """
        if id(function) in self._ids:
            if function.__kwdefaults__:
                self.read_all(function.__kwdefaults__)
            parts = function.__code__, function.__defaults__, function.__kwdefaults__
            self._note(Read.FUNCTION, function, parts)

    def read_type(self, cls: type) -> None:
        """Notes that attributes of a class are read.

        Args:
            cls: the class.
        """
        if cls.__flags__ & (1 << 9):
            self._note(Read.TYPE, cls, None)

    def read_type_of(self, x: Any) -> None:
        """Notes that the class of an object decides, and which dictionary holds its attributes.

        Args:
            x: the object.
        """
        if not self.is_fresh(x):
            members = getattr(x, "__dict__", None)
            self._note(Read.TYPE_OF, x, (type(x), members if type(members) is dict else None))

    def read_attribute(self, x: Any, member: Any, value: Any) -> None:
        """Notes that an attribute is read that is in no dictionary.

        Args:
            x: the object.
            member: its descriptor.
            value: what it holds.
        """
        self._note(Read.ATTRIBUTE, x, (member, value), member)

    def read_setting(self, function: Any, args: tuple[Any, ...], value: Any) -> None:
        """Notes that a setting of the process or the thread is read.

        Args:
            function: the function that reads it.
            args: its arguments.
            value: the setting.
        """
        self._note(Read.GETTER, function, (args, value), args)

    def _note(self, kind: Read, x: Any, expected: Any, *rest: Any) -> None:
        self._reads.setdefault((kind, id(x), *rest), (kind, x, expected))

    # ---- the end
    def values(self) -> list[Any]:
        """The values that the call has read: of variables, attributes, items and settings."""
        values = [value for _, keys in self._keys.values() for value in keys.values()]
        for kind, _, expected in self._reads.values():
            if kind in (*_CONTENT, Read.GETTER, Read.ATTRIBUTE, Read.LOCAL):
                values += expected
            elif kind in (Read.CELL, Read.CONTEXT, Read.FUNCTION):
                values.append(expected)
        return values

    def _check_arguments(self, tensors: list[Any]) -> None:
        """Raises where an argument is reached in another way too: later calls have other arguments."""
        own = {*self._own, *map(id, tensors)}
        if any(id(value) in own for value in _parts(self.values())):
            raise Refusal("a tensor or a container is an argument, and is reached in another way too")

    def description(self, tensors: list[Any]) -> tuple[Any, ...]:
        """The reads as a tape takes them.

        Args:
            tensors: those among the arguments.

        Raises:
            Refusal: the call has changed what it reads.
        """
        self._check_arguments(tensors)
        whole = {id(x) for kind, x, _ in self._reads.values() if kind == Read.ITEMS}
        entries: list[tuple[Any, ...]] = []
        for members, keys in self._keys.values():
            for key, value in keys.items():
                if dict.get(members, key, ABSENT) is not value:
                    raise Refusal(f"the call changes the variable or attribute {key!r}, which it reads")
            if id(members) not in whole:
                pairs = tuple(part for item in keys.items() for part in item)
                entries.append((int(Read.KEYS), members, pairs))
        for kind, x, expected in self._reads.values():
            if kind in _CONTENT and not _holds(x, expected):
                raise Refusal("the call changes a container that it reads")
            if kind == Read.CONTEXT and x.get(ABSENT) is not expected:
                raise Refusal(f"the call sets the context variable {x.name}, which it reads")
            entries.append((int(kind), x, expected))
        return tuple(entries)


_UNSET = object()
_CONTENT = (Read.ITEMS, Read.LIST, Read.SET)


def _holds(x: Any, expected: tuple[Any, ...]) -> bool:
    now = tuple(p for item in dict.items(x) for p in item) if isinstance(x, dict) else tuple(x)
    return len(now) == len(expected) and all(a is b for a, b in zip(now, expected, strict=True))


def _parts(values: Any) -> list[Any]:
    """Values, and what they hold that can't be replaced: items of tuples, owners of methods, parts of partial calls."""
    result, rest = [], list(values)
    while rest:
        x = rest.pop()
        result.append(x)
        if isinstance(x, tuple):
            rest += x
        elif isinstance(x, functools.partial):
            rest += (x.func, *x.args, *x.keywords.values())
        elif isinstance(x, _METHODS) and not isinstance(x.__self__, types.ModuleType):
            rest.append(x.__self__)
    return result


_METHODS = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)
