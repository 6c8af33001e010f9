"""The rule for a call: of a function of Python, a class, an operator, or a function of C whose effect is known."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]  # typeshed lacks it
import abc
import contextvars
import functools
import math
import operator
import types
from typing import Any

import tl_core

from ..._C import in_region
from ..object_parts import is_python_class
from .attributes import (
    load_attribute,
    load_from_object,
    look_up,
    read_instance,
    store_attribute,
    store_in_instance,
)
from .callables import (
    FRESH_TYPES,
    ITERATORS,
    MUTATORS,
    PURE,
    READERS,
    VALUE_TYPES,
    is_pure_method,
    normal_form,
)
from .observer import Observer, Pending
from .operands import makes_iterator, read_deep, read_key, read_operand
from .recorder import Effect
from .refusal import Refusal
from .tensor_rules import (
    BACKWARD,
    GETTERS,
    GRAD_MODE,
    METADATA,
    METADATA_FUNCTIONS,
    SET_GRAD_MODE,
    VALUES,
    is_operator,
    refusal_of,
)
from .world import OVERRIDABLE, is_plain

__all__ = ["call"]

Tensor = tl_core.Tensor
_CONTAINERS = (tuple, list, dict)
_CREATE = type.__dict__["__call__"]
_RESET = contextvars.ContextVar.__dict__["reset"]
_CONTEXT = frozenset([contextvars.ContextVar.__dict__["get"], contextvars.ContextVar.__dict__["set"], _RESET])


def call(
    observer: Observer, activation: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """The rule for `function(*args, **kwargs)`.

    Args:
        observer: the observer of the call.
        activation: the frame.
        function: what is called.
        args, kwargs: its arguments.
    """
    original = function
    if type(function) is functools.partial:
        observer.world.read_all(function.keywords)
        for name in ("func", "args", "keywords"):
            value = getattr(function, name)
            observer.world.read_attribute(function, functools.partial.__dict__[name], value)
    function, args, kwargs = normal_form(function, args, kwargs)
    kind = type(function)
    activation.pending = Pending("pure", None, function)
    if id(function) in BACKWARD:
        observer.operator(activation, function, args, kwargs, effect=Effect.BACKWARD)
        return
    if kind is types.FunctionType:
        return  # its frame is observed
    if kind is OVERRIDABLE:
        activation.pending = Pending("frame", None, function)
        return
    if isinstance(function, type):
        _call_class(observer, activation, function, args, kwargs)
    elif kind in (
        types.BuiltinFunctionType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.ClassMethodDescriptorType,
        types.MethodWrapperType,
    ):
        _call_native(observer, activation, function, args, kwargs, original)
    elif is_python_class(kind) and isinstance(look_up(kind, "__call__"), types.FunctionType):
        read_instance(observer, function)
    else:
        raise Refusal(f"a {kind.__module__}.{kind.__qualname__} is called, whose effect no rule knows")


def _has_tensors(values: Any) -> bool:
    return any(isinstance(v, Tensor) for v in values)


def _call_native(
    observer: Observer,
    activation: Any,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    original: Any,
) -> None:
    values = (*args, *kwargs.values())
    if not _is_hashable(function):
        raise Refusal(f"{_name(function)} is called")
    if function in METADATA_FUNCTIONS and args and isinstance(args[0], Tensor):
        observer.recorder.touch(args[0])
        if not all(map(is_plain, values[1:])):
            raise Refusal(f"{_name(function)} is called with arguments of other types")
        activation.pending = Pending("pure", None, function)
    elif function in VALUES and _has_tensors(values):
        observer.operator(activation, function, args, kwargs)
    elif id(function) in GETTERS:
        if not all(map(is_plain, values)) or kwargs:
            raise Refusal(f"{_name(function)} is called with arguments of other types")
        value = function(*args)
        if type(value) is list and value:
            raise Refusal("modes see the operators")
        observer.world.read_setting(function, args, value)
        activation.pending = Pending("pure", None, function)
    elif id(function) in GRAD_MODE:
        activation.pending = Pending("pure", None, function)
    elif id(function) in SET_GRAD_MODE:
        observer.operator(activation, function, args, kwargs, effect=Effect.MODE, is_known=True)
    elif is_operator(function):
        reason = refusal_of(function, args, kwargs)
        if reason is not None:
            raise Refusal(reason)
        observer.operator(activation, function, args, kwargs)
    else:
        _call_python(observer, activation, function, args, kwargs)


def _is_hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True


def _call_python(
    observer: Observer, activation: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """A function of Python's own."""
    if function in (getattr, hasattr) and not kwargs and len(args) >= 2 and type(args[1]) is str:
        activation.pending = None
        load_attribute(observer, activation, args[0], args[1])
        activation.pending = activation.pending or Pending("pure", None, function)
        return
    if function is setattr and len(args) == 3:
        activation.pending = None
        store_attribute(observer, activation, *args)
        return
    if function in _CONTEXT and args:
        _use_context(observer, function, args)
        activation.pending = Pending("pure", None, function)
        return
    if function is in_region and observer.is_compiled:
        activation.pending = Pending("pure", None, function)
        return
    if function is object.__getattribute__ and len(args) == 2 and is_python_class(type(args[0])):
        load_from_object(observer, *args)
        return
    if function is object.__setattr__ and len(args) == 3:
        if isinstance(args[0], Tensor):
            raise Refusal("an attribute of a tensor is written")
        store_in_instance(observer, *args)
        return
    if function in MUTATORS:
        _check_fresh(observer, function, args)
        for value in (*args[1:], *kwargs.values()):
            _read(observer, value)
    elif function in READERS:
        _read_container(observer, function, args)
    elif function is next and args:
        if not observer.world.is_fresh(args[0]):
            raise Refusal("an iterator that was there before moves on")
    elif (
        function is object.__new__
        or function in (object.__init__, BaseException.__init__, list.__init__)
        or _is_new(function)
    ):
        pass
    elif is_pure_method(function):
        for value in (*args, *kwargs.values()):
            _read(observer, value)
            if not (is_plain(value) or (type(value) in (list, tuple) and all(map(is_plain, value)))):
                raise Refusal(f"{_name(function)} is called with objects of other types")
    elif function in PURE:
        _call_pure(observer, function, args, kwargs)
    else:
        raise Refusal(f"{_name(function)} is called, whose effect no rule knows")
    activation.pending = Pending("fresh" if _is_maker(function, args) else "pure", None, function)


def _use_context(observer: Observer, function: Any, args: tuple[Any, ...]) -> None:
    """A context variable is read, or set for a time: a write is one that `World.description` finds undone."""
    observer.world.read_context(args[0])
    if function is _RESET and not all(map(observer.world.is_fresh, args[1:])):
        raise Refusal("a context variable is reset to what it was before the call")


def _is_maker(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether the result is a dictionary, a view or an iterator that nobody else has."""
    if function is iter:
        return len(args) == 1 and makes_iterator(args[0])
    return function in READERS and function.__name__ in ("items", "keys", "values", "copy")


def _is_new(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    return function.__name__ == "__new__" and owner in (
        object,
        tuple,
        dict,
        list,
        set,
        str,
        int,
        float,
        frozenset,
    )


def _call_pure(observer: Observer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    values = (*args, *kwargs.values())
    if function in (isinstance, issubclass, _abc._abc_instancecheck, _abc._abc_subclasscheck):
        _check_class(observer, *args)
        return
    if function is callable:
        _read(observer, args[0])
        return
    if function is hash and not is_plain(args[0]):
        raise Refusal("the hash of an object is read")
    if function in (repr, format) and not all(map(is_plain, values)):
        raise Refusal("the text of an object is made")
    if _has_tensors(values):
        raise Refusal(f"{_name(function)} is called with a tensor")
    for value in values:
        if value is not None and "key" in kwargs and value is kwargs["key"]:
            if not isinstance(value, types.FunctionType):
                raise Refusal(f"{_name(function)} calls a function of C")
        elif (
            function in (any, all, sum, min, max, sorted, math.prod, math.fsum)
            and type(value) is not types.GeneratorType
        ):
            if id(value) not in observer.plain_iterators:
                read_deep(observer, value)
        else:
            _read(observer, value)


def _check_class(observer: Observer, x: Any, classes: Any) -> None:
    if isinstance(x, type) and not isinstance(x, Tensor):
        observer.world.read_type(x)
    elif not isinstance(x, Tensor) and is_python_class(type(x)):
        read_instance(observer, x)
    elif isinstance(x, Tensor):
        observer.recorder.touch(x)
    for cls in classes if isinstance(classes, tuple) else (classes,):
        if isinstance(cls, abc.ABCMeta):
            observer.world.read_setting(abc.get_cache_token, (), abc.get_cache_token())
        if isinstance(cls, type):
            observer.world.read_type(type(cls))


def _read(observer: Observer, value: Any) -> None:
    if not isinstance(value, Tensor):
        read_operand(observer, value)


def _check_fresh(observer: Observer, function: Any, args: tuple[Any, ...]) -> None:
    if not observer.world.is_fresh(args[0]):
        raise Refusal(f"{_name(function)} changes a {type(args[0]).__name__} that was there before")
    if function.__name__ in ("remove", "sort"):
        read_deep(observer, args[0])


def _read_container(observer: Observer, function: Any, args: tuple[Any, ...]) -> None:
    container = args[0]
    if function.__name__ in ("index", "count", "__contains__") and isinstance(container, list):
        read_deep(observer, container)
        if _has_tensors(args):
            raise Refusal(f"{_name(function)} compares tensors")
    if isinstance(container, dict) and function.__name__ in ("get", "__contains__", "__getitem__"):
        read_key(observer, container, args[1])
        return
    for value in args:
        _read(observer, value)


def _call_class(
    observer: Observer, activation: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    values = (*args, *kwargs.values())
    if cls is type and len(args) == 1:
        if not isinstance(args[0], Tensor) and is_python_class(type(args[0])):
            observer.world.read_type_of(args[0])
        activation.pending = Pending("pure", None, cls)
    elif cls is super:
        activation.pending = Pending("fresh", None, cls)
    elif cls in VALUE_TYPES:
        if _has_tensors(values):
            if len(values) != 1 or cls not in (int, float, bool):
                raise Refusal(f"{cls.__name__} of a tensor")
            observer.ask(activation, cls, args[0])
            return
        if cls in (str, bytes) and not all(map(is_plain, values)):
            raise Refusal("the text of an object is made")
        for value in values:
            _read(observer, value)
    elif cls in ITERATORS:
        if cls is reversed and type(args[0]) not in (list, tuple, dict, range):
            raise Refusal("reversed is called with an object of another type")
        observer.has_plain_items = False
        _call_iterator(observer, cls, args)
        activation.pending = Pending("plain" if observer.has_plain_items else "fresh", None, cls)
    elif cls in FRESH_TYPES:
        if _has_tensors(args) and cls is not slice:
            raise Refusal("a tensor is walked through")
        for value in values:
            _read(observer, value)
        activation.pending = Pending("fresh", None, cls)
    elif is_python_class(cls) and look_up(type(cls), "__call__") is _CREATE:
        observer.world.read_type(cls)
        observer.world.read_type(type(cls))
        activation.pending = Pending("pure", None, cls)
    else:
        raise Refusal(f"an object of the type {cls.__module__}.{cls.__qualname__} is made")


def _call_iterator(observer: Observer, cls: type, args: tuple[Any, ...]) -> None:
    sources = args[1:] if cls in (map, filter) else args
    for source in sources:
        if isinstance(source, Tensor):
            raise Refusal("a tensor is walked through")
        _read(observer, source)
    if cls not in (map, filter):
        return
    function = args[0]
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return
    if isinstance(function, operator.attrgetter):
        names = function.__reduce__()[1]
        for source in sources:
            if type(source) not in (list, tuple) or not all(isinstance(x, Tensor) for x in source):
                raise Refusal("attributes are read by a function of C")
            for x in source:
                observer.recorder.touch(x)
        if not METADATA.issuperset(names):
            raise Refusal("attributes are read by a function of C")
        observer.has_plain_items = True
        return
    if not _is_hashable(function) or not (
        function in PURE or function in VALUE_TYPES or is_pure_method(function)
    ):
        raise Refusal(f"{_name(function)} is called by {cls.__name__}")
    for source in sources:
        if type(source) not in (list, tuple) or not all(map(is_plain, source)):
            raise Refusal(f"{_name(function)} is called by {cls.__name__} with objects of other types")


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__
