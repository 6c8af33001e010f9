"""The attributes of a module as its class in the program declares them."""

from __future__ import annotations

import sys
import typing
from dataclasses import dataclass, field
from typing import Any

import tl_core
import tl_nn

from ..jit.decorations import Attribute
from ..script.types import Type
from .annotations import UnknownType, type_of_annotation, type_of_value

__all__ = ["ModuleFacts", "annotations_of", "class_attribute", "facts_of", "key_of"]

_OWN = frozenset(dir(tl_nn.Module())) | {"training", "_method_texts"}
_CONSTANT_KINDS = (int, float, bool, str, type(None), tl_core.dtype, tl_core.device, tl_core.layout)


@dataclass
class ModuleFacts:
    """What a module's class declares.

    Args:
        parameters, buffers: the names of the tensors that a state dict names, with whether they are there.
        modules: the names of the parts.
        attributes: the types of other attributes.
        constants: the values of constants.
        functions: attributes that are called.
        failed: for an attribute without a type, the reason.
    """

    parameters: dict[str, bool] = field(default_factory=dict)
    buffers: dict[str, bool] = field(default_factory=dict)
    modules: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Type] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def annotations_of(kind: type) -> dict[str, Any]:
    """The annotations of a class and its bases, as objects where they can be evaluated."""
    result: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        scope = {**vars(typing), **vars(sys.modules.get(base.__module__, typing))}
        for name, annotation in vars(base).get("__annotations__", {}).items():
            if isinstance(annotation, str):
                try:
                    annotation = eval(annotation, scope, {"Tensor": tl_core.Tensor})
                except (NameError, TypeError, AttributeError, SyntaxError):
                    continue
            result[name] = annotation
    return result


def _is_final(annotation: Any) -> bool:
    return annotation is typing.Final or typing.get_origin(annotation) is typing.Final


def class_attribute(kind: type, name: str) -> Any:
    """Returns an attribute as a class or one of its bases holds it, or None. No descriptor is called.

    Example:
        >>> isinstance(class_attribute(tl_nn.Linear, "forward"), staticmethod)
        False
    """
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _class_names(kind: type) -> list[str]:
    """The names that a class of a module and its bases define beside those of every module."""
    names = {n: None for base in kind.__mro__ if base is not object for n in vars(base)}
    return [n for n in names if n not in _OWN and not n.startswith("__")]


def facts_of(module: tl_nn.Module, resolver: Any) -> ModuleFacts:
    """Returns what the class of a module declares.

    Args:
        module: the module.
        resolver: declares classes of attributes.
    """
    facts = ModuleFacts()
    for name, value in module._parameters.items():
        facts.parameters[name] = value is not None
    for name, buffer in module._buffers.items():
        facts.buffers[name] = buffer is not None
    facts.modules = dict(module._modules)
    annotations = {
        n: a for n, a in resolver.annotations_of(type(module)).items() if not hasattr(tl_nn.Module, n)
    }
    constants = {*getattr(module, "__constants__", ()), *(n for n, a in annotations.items() if _is_final(a))}
    ignored = getattr(module, "__jit_ignored_attributes__", ())
    tables = {*facts.parameters, *facts.buffers, *facts.modules}
    own = [n for n in vars(module) if n not in _OWN]
    for name in (*own, *(n for n in _class_names(type(module)) if n not in own)):
        is_property = name not in own and isinstance(class_attribute(type(module), name), property)
        is_property = is_property and name not in getattr(module, "_SCRIPT_ATTRIBUTES", ())
        if name not in tables and not is_property and name not in ignored:
            _add(facts, module, name, annotations, constants, resolver)
    return facts


def _add(
    facts: ModuleFacts,
    module: Any,
    name: str,
    annotations: dict[str, Any],
    constants: set[str],
    resolver: Any,
) -> None:
    value = getattr(module, name, None)
    annotation = annotations.get(name)
    if isinstance(value, Attribute):
        facts.attributes[name] = type_of_annotation(value.type, resolver)
        return
    if name in constants and _is_constant(value):
        facts.constants[name] = value
        return
    if callable(value) and not isinstance(value, (tl_nn.Module, type)) and not hasattr(value, "_declaration"):
        static = class_attribute(type(module), name)
        if name in vars(module) or isinstance(static, staticmethod):
            facts.functions[name] = value
        return
    if isinstance(value, type):
        return
    try:
        if annotation is not None and annotation is not typing.Any and not _is_final(annotation):
            facts.attributes[name] = type_of_annotation(annotation, resolver)
        else:
            facts.attributes[name] = type_of_value(value, resolver)
    except UnknownType as error:
        facts.failed[name] = str(error)


def _is_constant(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_constant(v) for v in value)
    return isinstance(value, _CONSTANT_KINDS)


def key_of(module: tl_nn.Module, facts: ModuleFacts, children: dict[str, str]) -> Any:
    """Returns what tells the class of a module from others.

    Args:
        module: the module.
        facts: its attributes.
        children: the names of the classes of its parts.
    """
    previous = tuple((n, repr(v)) for n, v in facts.constants.items())
    functions = tuple((n, id(v)) for n, v in facts.functions.items())
    types = tuple((n, str(t)) for n, t in facts.attributes.items())
    tables = tuple(facts.parameters.items()), tuple(facts.buffers.items())
    hooks = *map(id, module._forward_pre_hooks.values()), *map(id, module._forward_hooks.values())
    return (
        type(module),
        hooks,
        tables,
        tuple(children.items()),
        types,
        previous,
        functions,
        tuple(facts.failed),
    )
