"""Objects of classes written in Python: their parts, and equal objects of other parts without code of the class."""

from __future__ import annotations

import collections
import enum
import itertools
import types
from typing import Any, NamedTuple

import tl_core

__all__ = ["ObjectParts", "assemble", "dissect", "is_python_class"]

_C_ITEMS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.BuiltinFunctionType,
)  # fmt: skip
_BASES = (
    object, dict, list, tuple, set, frozenset, str, int, float, collections.OrderedDict, collections.defaultdict,
    BaseException, Exception,
)  # fmt: skip
_CONTAINERS: tuple[type, ...] = (object, tuple, list, set, frozenset, dict, collections.OrderedDict)
_classes: dict[type, bool] = {}


class ObjectParts(NamedTuple):
    """The parts of an object.

    Args:
        cls: its class.
        base: the built-in class that its class is derived from.
        items: of a container: its items; of a dictionary: keys and values in turn.
        names: the names of its attributes, and the descriptors of its slots.
        values: their values.
    """

    cls: type
    base: type
    items: list[Any]
    names: tuple[Any, ...]
    values: list[Any]


def _has_python_code(cls: type) -> bool:
    slots = cls.__dict__.get("__slots__", ())
    named = (slots,) if isinstance(slots, str) else tuple(slots)
    for name, value in cls.__dict__.items():
        kind = type(value)
        if (
            kind in _C_ITEMS
            and getattr(value, "__objclass__", cls) is cls
            and name not in ("__class_getitem__",)
        ):
            owner = getattr(value, "__self__", None)
            if kind is not types.BuiltinFunctionType or owner is cls:
                return False
        if kind is types.GetSetDescriptorType and name not in ("__dict__", "__weakref__"):
            return False
        if kind is types.MemberDescriptorType and name not in named and not name.startswith("_"):
            return False
    return bool(cls.__flags__ & (1 << 9))  # of the heap: classes of C are there too


def is_python_class(cls: type) -> bool:
    """Whether instances of a class behave as code in Python says, and as the built-in containers do.

    Args:
        cls: the class.

    Example:
        >>> is_python_class(types.SimpleNamespace), is_python_class(ObjectParts)
        (False, True)
    """
    answer = _classes.get(cls)
    if answer is None:
        if len(_classes) > 10_000:
            _classes.clear()
        answer = _classes[cls] = all(
            base in _BASES or issubclass(base, BaseException) or base is enum.Enum or _has_python_code(base)
            for base in cls.__mro__
        ) and not issubclass(cls, tl_core.Tensor)
    return answer


def dissect(x: Any) -> ObjectParts | None:
    """The parts of an object; None if its class isn't one of Python, or has a state that can't be listed.

    Args:
        x: the object.

    Example:
        >>> class Point:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        >>> parts = dissect(Point(1, 2))
        >>> parts.names, parts.values
        (('x', 'y'), [1, 2])
    """
    cls = type(x)
    base = next((base for base in cls.__mro__ if base in _BASES), None)
    if base not in _CONTAINERS or not (cls is base or is_python_class(cls)):
        return None
    items: list[Any] = []
    if isinstance(x, dict):
        items = list(itertools.chain.from_iterable(_items(x, base)))
    elif base is not object:
        items = list(base.__iter__(x))  # type: ignore[attr-defined]  # a base of sequences
    members = getattr(x, "__dict__", None)
    if members is None:
        members = {}
    elif type(members) is not dict or "__dict__" in members:
        return None
    slots = [
        (member, value)
        for each in cls.__mro__
        for name, member in each.__dict__.items()
        if type(member) is types.MemberDescriptorType and each not in _BASES
        if (value := _slot(member, x)) is not _EMPTY
    ]
    if not all(type(name) is str for name in members):
        return None
    names = (*members, *(member for member, _ in slots))
    return ObjectParts(cls, base, items, names, [*members.values(), *(value for _, value in slots)])


_EMPTY = object()


def _items(x: dict[Any, Any], base: Any) -> Any:
    return base.items(x)


def _slot(member: types.MemberDescriptorType, x: Any) -> Any:
    try:
        return member.__get__(x, type(x))
    except AttributeError:
        return _EMPTY


def assemble(parts: ObjectParts) -> Any:
    """An object that consists of the given parts, without a call of its class.

    Args:
        parts: the result of `dissect` for another one, with other items or values.

    Example:
        >>> class Pair(dict):
        ...     def __setitem__(self, key, value):
        ...         raise TypeError("a pair is not written")
        >>> assemble(dissect(Pair(a=1)))
        {'a': 1}
    """
    base: Any = parts.base
    if base in (tuple, frozenset):
        result = base.__new__(parts.cls, parts.items)
    else:
        result = base.__new__(parts.cls)
    if isinstance(result, dict):
        for key, value in zip(parts.items[::2], parts.items[1::2], strict=True):
            base.__setitem__(result, key, value)
    elif base is list:
        list.extend(result, parts.items)
    elif base is set:
        set.update(result, parts.items)
    for name, value in zip(parts.names, parts.values, strict=True):
        if type(name) is str:
            result.__dict__[name] = value
        else:
            name.__set__(result, value)
    return result
