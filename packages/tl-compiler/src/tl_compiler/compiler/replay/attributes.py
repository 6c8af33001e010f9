"""The reading and writing of attributes: what `x.name` reads, and whether a write is one that a replay may repeat."""

from __future__ import annotations

import abc
import collections
import contextvars
import enum
import threading
import types
from typing import Any

import tl_core

from ..object_parts import is_python_class
from .observer import Observer
from .recorder import Effect
from .refusal import Refusal
from .tensor_rules import METADATA, TENSORS, VIEW_ATTRIBUTES
from .world import ABSENT, OVERRIDABLE, is_result

__all__ = ["load_attribute", "load_from_object", "look_up", "read_instance", "store_attribute"]

Tensor = tl_core.Tensor
_FUNCTION_NAMES = frozenset(
    ["__name__", "__qualname__", "__module__", "__doc__", "__wrapped__", "__self__", "__func__"]
)
_CLASS_NAMES = frozenset(["__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__doc__"])
_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)
_PLAIN_OWNERS = (
    bool, int, float, complex, str, bytes, type(None), tuple, range, slice, list, dict, set, frozenset,
    tl_core.Size, tl_core.dtype, type(tl_core.device("cpu")), type(tl_core.strided), types.CodeType,
    contextvars.ContextVar,
)  # fmt: skip
_SAFE_DESCRIPTORS = (
    types.FunctionType, property, staticmethod, classmethod, OVERRIDABLE, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.BuiltinFunctionType, OVERRIDABLE,
)  # fmt: skip
_C_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)

# The built-in classes that classes of Python are made of.
_GENERIC = frozenset(
    wrapper
    for cls in (
        object, dict, list, tuple, set, frozenset, str, int, float, BaseException, collections.OrderedDict,
        collections.defaultdict,
    )
    if (wrapper := cls.__dict__.get("__getattribute__")) is not None
)  # fmt: skip


def look_up(cls: type, name: str) -> Any:
    """An attribute of a class or its bases, as it is stored.

    Args:
        cls: the class.
        name: the name.
    """
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return ABSENT


def read_instance(observer: Observer, x: Any) -> None:
    """Notes that the class of an object decides what happens to it.

    Args:
        observer: the observer of the call.
        x: the object.
    """
    observer.world.read_type(type(x))
    observer.world.read_type_of(x)


def load_attribute(observer: Observer, activation: Any, x: Any, name: str) -> None:
    """The rule for `x.name`.

    Args:
        observer: the observer of the call.
        activation: the frame.
        x: the object.
        name: the attribute.
    """
    kind = type(x)
    if isinstance(x, Tensor):
        _load_from_tensor(observer, activation, x, name)
    elif isinstance(x, types.ModuleType):
        if kind is not types.ModuleType:
            read_instance(observer, x)
        observer.world.read_key(x.__dict__, name)
        if name not in x.__dict__:
            observer.world.read_key(x.__dict__, "__getattr__")
    elif isinstance(x, type):
        _load_from_class(observer, x, name)
    elif kind in _PLAIN_OWNERS or is_result(kind):
        return
    elif kind is types.FunctionType or kind is OVERRIDABLE or kind is types.MethodType:
        _load_from_function(observer, x, name)
    elif kind is super:
        observer.world.read_type(super.__self_class__.__get__(x))  # type: ignore[attr-defined]
    elif kind is threading.local and not name.startswith("__"):
        observer.world.read_local(x, name)
    elif is_python_class(kind):
        _load_from_instance(observer, x, name)
    elif kind in (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType):
        if name not in _FUNCTION_NAMES:
            raise Refusal(f"the attribute {name} of a function of C is read")
    else:
        raise Refusal(
            f"the attribute {name} of an object of the type {kind.__module__}.{kind.__qualname__} is read"
        )


def _load_from_tensor(observer: Observer, activation: Any, x: Any, name: str) -> None:
    recorder = observer.recorder
    recorder.touch(x)
    if type(x) not in TENSORS:
        raise Refusal(f"a tensor of the class {type(x).__name__} is read")
    value = look_up(type(x), name)
    observer.world.read_type(type(x))
    if isinstance(value, types.GetSetDescriptorType):
        if name in METADATA:
            return
        if name in VIEW_ATTRIBUTES:
            observer.operator(activation, getattr, (x, name), {})
            return
        if name == "grad":
            if not recorder.tracks_grad(x):
                raise Refusal("the gradient of a tensor is read that is a result, or after a backward")
            observer.operator(activation, getattr, (x, name), {}, effect=Effect.GRAD_READ, is_known=True)
            return
        raise Refusal(f"the attribute {name} of a tensor is read")
    is_absent = value is ABSENT and look_up(type(x), "__getattr__") is ABSENT
    if is_absent or isinstance(value, _SAFE_DESCRIPTORS):
        if x.__dict__:
            if not recorder.touch(x):
                raise Refusal("a tensor has attributes of its own, which may hide methods")
            observer.world.read_key(x.__dict__, name)
        return
    raise Refusal(f"the attribute {name} of a tensor is read")


def _load_from_class(observer: Observer, x: type, name: str) -> None:
    observer.world.read_type(x)
    if type(x) not in _METACLASSES:
        if "__getattribute__" in vars(type(x)) or not issubclass(type(x), _METACLASSES):
            raise Refusal(f"an attribute of the class {x.__name__} is read, which has a metaclass")
        observer.world.read_type(type(x))
    value = look_up(x, name)
    if value is ABSENT:
        meta = look_up(type(x), name)
        if name in _CLASS_NAMES or meta is ABSENT or isinstance(meta, _SAFE_DESCRIPTORS):
            return
        raise Refusal(f"the attribute {name} of the class {x.__name__} is read")
    if name in ("__dict__", "__subclasses__", "__weakref__"):
        raise Refusal(f"the attribute {name} of the class {x.__name__} is read")
    if hasattr(type(value), "__get__") and not isinstance(value, (*_SAFE_DESCRIPTORS, *_C_DESCRIPTORS)):
        if not is_python_class(type(value)):
            raise Refusal(f"the attribute {name} of the class {x.__name__} is a {type(value).__name__}")
        observer.world.read_type(type(value))


def _load_from_function(observer: Observer, x: Any, name: str) -> None:
    members = getattr(x, "__dict__", None)
    if type(x) is types.FunctionType and name in ("__code__", "__defaults__", "__kwdefaults__"):
        observer.world.read_function(x)
    elif type(x) is types.FunctionType and isinstance(look_up(types.FunctionType, name), _C_DESCRIPTORS):
        if name not in _FUNCTION_NAMES and name not in ("__globals__", "__closure__", "__builtins__"):
            raise Refusal(f"the attribute {name} of a function is read")
    elif type(x) is types.FunctionType and name not in _FUNCTION_NAMES:
        observer.world.read_key(x.__dict__, name)
    elif name in _FUNCTION_NAMES or (type(x) is types.MethodType and name.startswith("__")):
        return
    elif members is None or name not in members:
        raise Refusal(f"the attribute {name} of a function is read")
    else:
        observer.world.read_key(members, name)


def _load_from_instance(observer: Observer, x: Any, name: str) -> None:
    kind = type(x)
    if look_up(kind, "__getattribute__") not in _GENERIC and not _is_frame(kind, "__getattribute__"):
        raise Refusal(f"{kind.__name__} reads attributes by a function of C")
    load_from_object(observer, x, name)


def load_from_object(observer: Observer, x: Any, name: str) -> None:
    """The rule for `object.__getattribute__(x, name)`.

    Args:
        observer: the observer of the call.
        x: an instance of a class of Python.
        name: the attribute.
    """
    kind = type(x)
    read_instance(observer, x)
    value = look_up(kind, name)
    world = observer.world
    if value is object.__dict__["__class__"]:
        return
    if isinstance(value, property):
        for part in (value.fget,):
            if not isinstance(part, types.FunctionType):
                raise Refusal(f"the property {name} of {kind.__name__} is a function of C")
        return
    if isinstance(value, types.MemberDescriptorType):
        if not world.is_fresh(x):
            try:
                world.read_attribute(x, value, value.__get__(x, kind))
            except AttributeError:
                world.read_attribute(x, value, ABSENT)
        return
    if name == "__dict__" and type(getattr(x, "__dict__", None)) is dict:
        if world.is_fresh(x):
            world.mark_fresh(x.__dict__)
        return  # `read_instance` has noted which dictionary it is
    if isinstance(value, types.GetSetDescriptorType):
        raise Refusal(f"the attribute {name} of {kind.__name__} is read")
    if value is not ABSENT and hasattr(type(value), "__get__") and not isinstance(value, _SAFE_DESCRIPTORS):
        if not is_python_class(type(value)) and type(value).__name__ != "_tuplegetter":
            raise Refusal(f"the attribute {name} of {kind.__name__} is a {type(value).__name__}")
        observer.world.read_type(type(value))
    members = getattr(x, "__dict__", None)
    if isinstance(members, dict) and not world.is_fresh(x):
        world.read_key(members, name)


def _is_frame(kind: type, name: str) -> bool:
    return isinstance(look_up(kind, name), types.FunctionType)


def store_attribute(observer: Observer, activation: Any, x: Any, name: str, value: Any) -> None:
    """The rule for `x.name = value`; ABSENT deletes the attribute.

    Args:
        observer: the observer of the call.
        activation: the frame.
        x: the object.
        name: the attribute.
        value: the value.
    """
    kind = type(x)
    if isinstance(x, Tensor):
        if name != "grad" or value is ABSENT or not observer.recorder.tracks_grad(x):
            raise Refusal(f"the attribute {name} of a tensor is written")
        observer.operator(
            activation, setattr, (x, name, value), {}, effect=Effect.GRAD, is_known=True, what="store"
        )
        return
    if isinstance(x, type) or not is_python_class(kind):
        raise Refusal(f"the attribute {name} of a {kind.__name__} is written")
    read_instance(observer, x)
    if _is_frame(kind, "__setattr__" if value is not ABSENT else "__delattr__"):
        return  # of Python: its instructions are observed
    store_in_instance(observer, x, name, value)


def store_in_instance(observer: Observer, x: Any, name: str, value: Any) -> None:
    """The rule for `object.__setattr__`.

    Args:
        observer: the observer of the call.
        x: the object.
        name: the attribute.
        value: the value, or ABSENT.
    """
    kind, world = type(x), observer.world
    descriptor = look_up(kind, name)
    if isinstance(descriptor, property):
        if not isinstance(descriptor.fset, types.FunctionType):
            raise Refusal(f"the property {name} of {kind.__name__} is a function of C")
        return
    if world.is_fresh(x):
        return
    members = getattr(x, "__dict__", None)
    is_data = value is not ABSENT and descriptor is ABSENT
    if isinstance(members, dict) and is_data and world.change_key(members, name):
        return  # the former value must be there again when the call ends
    raise Refusal(
        f"the attribute {name} of an object is written that was there before: {kind.__name__}.{name}"
    )
