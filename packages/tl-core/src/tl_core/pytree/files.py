"""Structures of nested containers as JSON. Reading one makes nothing but structures of registered classes."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

from tl_core.pytree.trees import SERIALIZED_NODES, LeafSpec, TreeSpec

__all__ = ["treespec_dumps", "treespec_loads"]

_VERSION = 1
_DEEPEST = 100
_BUILTIN: dict[str, Any] = {
    "builtins.list": list,
    "builtins.tuple": tuple,
    "builtins.dict": dict,
    "collections.OrderedDict": OrderedDict,
    "collections.defaultdict": defaultdict,
    "collections.deque": deque,
    "collections.namedtuple": namedtuple,
}
_FACTORIES: dict[str, Any] = {f.__name__: f for f in (list, dict, set, tuple, int, float, str, bool)}


def _name_of(kind: Any) -> str:
    for name, node in SERIALIZED_NODES.items():
        if node.type is kind:
            return name
    for name, builtin in _BUILTIN.items():
        if builtin is kind:
            return name
    raise NotImplementedError(
        f"No registered serialization name for {kind} found. Please update your _register_pytree_node call with a "
        "`serialized_type_name` kwarg."
    )


def _dumped_context(kind: Any, name: str, context: Any) -> str:
    node = SERIALIZED_NODES.get(name)
    if node is not None and node.to_dumpable is not None:
        return json.dumps(node.to_dumpable(context))
    if kind is namedtuple:
        if not any(node.type is context for node in SERIALIZED_NODES.values()):
            raise NotImplementedError(
                f"Can't serialize the structure of {context}, a named tuple that isn't registered. "
                "Please register using `_register_namedtuple`."
            )
        return json.dumps(_name_of(context))
    if kind is defaultdict:
        factory, keys = context
        if factory is not None and _FACTORIES.get(factory.__name__) is not factory:
            raise NotImplementedError(f"a defaultdict of {factory} can't be written")
        return json.dumps(
            {
                "default_factory_module": "builtins",
                "default_factory_name": factory.__name__ if factory else None,
                "dict_context": keys,
            }
        )
    try:
        return json.dumps(context)
    except TypeError as error:
        raise TypeError(
            "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
            "using _register_pytree_node."
        ) from error


def _dump(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name = _name_of(spec.type)
    context = _dumped_context(spec.type, name, spec.context)
    return {"type": name, "context": context, "children_spec": [_dump(c) for c in spec.children_specs]}


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON.

    Args:
        treespec: the structure.
        protocol: the version of the format: 1 or None.

    Raises:
        TypeError: it is no structure.
        NotImplementedError: a class has no name for files.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    if protocol not in (None, _VERSION):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_VERSION}]")
    return json.dumps([_VERSION, _dump(treespec)])


def _loaded_context(kind: Any, name: str, context: Any) -> Any:
    node = SERIALIZED_NODES.get(name)
    if node is not None and node.from_dumpable is not None:
        return node.from_dumpable(json.loads(context))
    value = json.loads(context) if context is not None else None
    if kind is namedtuple:
        class_node = SERIALIZED_NODES.get(value)  # type: ignore[arg-type]
        if class_node is None:
            raise NotImplementedError(
                f"Can't decode the namedtuple {value!r}: its class isn't registered with a serialized_type_name"
            )
        return class_node.type
    if kind is defaultdict:
        factory = value["default_factory_name"]  # type: ignore[index]
        if value["default_factory_module"] != "builtins" or (  # type: ignore[index]
            factory is not None and factory not in _FACTORIES
        ):
            raise ValueError(f"a defaultdict of {value['default_factory_module']}.{factory} is refused")  # type: ignore[index]
        return [_FACTORIES[factory] if factory else None, value["dict_context"]]  # type: ignore[index]
    return value


def _load(data: Any, depth: int) -> TreeSpec:
    if depth > _DEEPEST:
        raise ValueError(f"a structure of more than {_DEEPEST} levels")
    if data["type"] is None and data["context"] is None and not data["children_spec"]:
        return LeafSpec()
    name = data["type"]
    node = SERIALIZED_NODES.get(name)
    kind = node.type if node is not None else _BUILTIN.get(name)
    if kind is None:
        raise NotImplementedError(f"Can't find {name} in registered pytree nodes")
    children = [_load(child, depth + 1) for child in data["children_spec"]]
    context = _loaded_context(kind, name, data["context"])
    if kind in (dict, OrderedDict) and len(context) != len(children):
        raise ValueError(f"a dictionary of {len(context)} keys and {len(children)} values")
    return TreeSpec(kind, context, children)


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that JSON holds.

    Args:
        serialized: what `treespec_dumps` made.

    Raises:
        ValueError: it is none, or of another version.
        NotImplementedError: it names a class that isn't registered.
    """
    try:
        version, data = json.loads(serialized)
        if version != _VERSION:
            raise ValueError(f"Unknown protocol {version}. Available protocols: [{_VERSION}]")
        return _load(data, 0)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"no structure: {serialized[:80]!r}") from error
