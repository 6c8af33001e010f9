"""What calls of functions of C do, of those that a replayed call may make beside operators."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]  # typeshed lacks it
import builtins
import collections
import functools
import math
import operator
import types
from typing import Any

import tl_core

__all__ = [
    "FRESH_TYPES",
    "ITERATORS",
    "MUTATORS",
    "PURE",
    "READERS",
    "VALUE_TYPES",
    "is_pure_method",
    "normal_form",
]

# They read their arguments, and what Python code they call is observed.
PURE = frozenset(
    getattr(builtins, name)
    for name in [
        "abs", "all", "any", "bin", "callable", "chr", "divmod", "format", "hash", "hex", "isinstance", "issubclass",
        "iter", "len", "max", "min", "oct", "ord", "pow", "repr", "round", "sorted", "sum",
    ]
) | frozenset(
    value
    for value in vars(math).values()
    if isinstance(value, types.BuiltinFunctionType) and value.__name__ not in ("dist", "sumprod")
) | frozenset([_abc._abc_instancecheck, _abc._abc_subclasscheck, _abc._abc_subclasscheck])  # fmt: skip

ITERATORS = (enumerate, zip, map, filter, reversed)
FRESH_TYPES: tuple[type, ...] = (
    list, tuple, dict, set, frozenset, collections.OrderedDict, object, slice, range, tl_core.Size,
)  # fmt: skip
VALUE_TYPES: tuple[type, ...] = (int, float, bool, str, complex, bytes)

_READ = {
    dict: "get items keys values copy __contains__ __getitem__ __len__ __iter__",
    list: "index count copy __contains__ __getitem__ __len__ __iter__",
    set: "copy isdisjoint issubset issuperset union intersection difference symmetric_difference __contains__ __len__",
    frozenset: "copy isdisjoint issubset issuperset union intersection difference __contains__ __len__",
    collections.OrderedDict: "items keys values copy",
    collections.defaultdict: "copy",
}
_WRITE = {
    dict: "__init__ update pop setdefault clear popitem __setitem__ __delitem__",
    list: "append extend insert pop clear remove reverse sort __setitem__ __delitem__ __iadd__",
    set: "add remove discard pop clear update",
    collections.OrderedDict: "__init__ update pop setdefault clear popitem move_to_end __setitem__ __delitem__",
    collections.defaultdict: "__missing__",
}


def _methods(table: dict[Any, str]) -> frozenset[Any]:
    return frozenset(
        kind.__dict__[name]
        for kind, names in table.items()
        for name in names.split()
        if name in kind.__dict__
    )


READERS = _methods(_READ)
MUTATORS = _methods(_WRITE)
_PURE_OWNERS = (str, bytes, int, float, bool, complex, tuple, range, slice, type(None), tl_core.dtype)


def is_pure_method(function: Any) -> bool:
    """Whether a method belongs to an immutable type of Python, and only computes.

    Args:
        function: the unbound method.

    Example:
        >>> is_pure_method(str.split), is_pure_method(list.append)
        (True, False)
    """
    return getattr(function, "__objclass__", None) in _PURE_OWNERS and function.__name__ not in ("__init__",)


def normal_form(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A call with bound methods and partial applications taken apart.

    Args:
        function: what is called.
        args, kwargs: its arguments.

    Example:
        >>> normal_form([1].append, (2,), {})
        (<method 'append' of 'list' objects>, ([1], 2), {})
    """
    while True:
        kind = type(function)
        if kind is types.MethodType:
            function, args = function.__func__, (function.__self__, *args)
        elif kind is functools.partial:
            args, kwargs, function = (*function.args, *args), {**function.keywords, **kwargs}, function.func
        elif kind in (types.BuiltinMethodType, types.MethodWrapperType):
            owner = function.__self__
            if owner is None or isinstance(owner, (types.ModuleType, type)):
                return function, args, kwargs
            method = _descriptor(function, type(owner))
            if method is None:
                return function, args, kwargs
            function, args = method, (owner, *args)
        else:
            return function, args, kwargs


def _descriptor(function: Any, cls: type) -> Any:
    """The method of C that a bound method is; `super()` passes over the methods of classes of Python."""
    for base in cls.__mro__:
        member = base.__dict__.get(function.__name__)
        if isinstance(member, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            return member if member.__get__(function.__self__) == function else None
    return None


OPERATORS = {
    "+": (operator.add, operator.iadd), "-": (operator.sub, operator.isub), "*": (operator.mul, operator.imul),
    "/": (operator.truediv, operator.itruediv), "//": (operator.floordiv, operator.ifloordiv),
    "%": (operator.mod, operator.imod), "**": (operator.pow, operator.ipow), "@": (operator.matmul, operator.imatmul),
    "&": (operator.and_, operator.iand), "|": (operator.or_, operator.ior), "^": (operator.xor, operator.ixor),
    "<<": (operator.lshift, operator.ilshift), ">>": (operator.rshift, operator.irshift),
}  # fmt: skip
COMPARISONS = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
