"""What an instruction, or a function of C, reads of a value that is no tensor."""

from __future__ import annotations

import collections
from typing import Any

import tl_core

from ..object_parts import is_python_class
from .attributes import read_instance
from .observer import NULL, Observer
from .refusal import Refusal
from .world import IMMUTABLE, is_plain, is_result

__all__ = ["makes_iterator", "read_deep", "read_key", "read_operand"]

Tensor = tl_core.Tensor
_ORDERED: collections.OrderedDict[Any, Any] = collections.OrderedDict()
_VIEWS: tuple[type, ...] = (
    type({}.keys()), type({}.values()), type({}.items()),
    type(_ORDERED.keys()), type(_ORDERED.values()), type(_ORDERED.items()),
)  # fmt: skip


def read_key(observer: Observer, x: Any, key: Any) -> None:
    """Notes that an item of a dictionary is read.

    Args:
        observer: the observer of the call.
        x: the dictionary.
        key: the key.
    """
    if isinstance(key, Tensor) and not observer.recorder.touch(key) and not observer.world.is_fresh(x):
        raise Refusal(
            "a dictionary that was there before is read by a tensor that is an argument or a result"
        )
    observer.world.read_key(x, key)


def read_operand(observer: Observer, x: Any) -> None:
    """Notes that an instruction, or a function of C, reads a value that is no tensor.

    Args:
        observer: the observer of the call.
        x: the value.
    """
    if is_plain(x) or type(x) in IMMUTABLE or x is NULL:
        return
    if isinstance(x, (dict, list, set, frozenset)):
        if type(x) not in (dict, list, set, frozenset, collections.OrderedDict, collections.defaultdict):
            read_instance(observer, x)
        observer.world.read_all(x)
    elif type(x) is tuple or type(x) is slice or is_result(type(x)):
        return
    elif is_python_class(type(x)):
        read_instance(observer, x)
    elif not observer.world.is_fresh(x):
        raise Refusal(f"an object of the type {type(x).__module__}.{type(x).__qualname__} is read")


def read_deep(observer: Observer, x: Any) -> None:
    """Notes that values are compared, or asked whether they are true, by a function of C.

    Args:
        observer: the observer of the call.
        x: a value, or a container.

    Raises:
        Refusal: there may be tensors in it, whose values would decide.
    """
    if isinstance(x, Tensor):
        raise Refusal("tensors in a container are compared")
    read_operand(observer, x)
    if isinstance(x, (*_VIEWS, set, frozenset)):
        items: Any = x
        for item in items:
            read_deep(observer, item)
    if isinstance(x, (tuple, list)):
        for item in x:
            read_deep(observer, item)
    elif isinstance(x, dict):
        for item in x.values():
            read_deep(observer, item)
    elif not (
        is_plain(x)
        or type(x) in IMMUTABLE
        or is_python_class(type(x))
        or isinstance(x, (*_VIEWS, set, frozenset))
    ):
        raise Refusal(f"items of a {type(x).__qualname__} are compared")


def makes_iterator(x: Any) -> bool:
    """Whether `iter(x)` is an iterator that nobody else has.

    Args:
        x: a container.
    """
    kinds = (
        list,
        tuple,
        dict,
        set,
        frozenset,
        str,
        bytes,
        range,
        tl_core.Size,
        collections.OrderedDict,
        *_VIEWS,
    )
    return type(x) in kinds or type(x) is collections.defaultdict
