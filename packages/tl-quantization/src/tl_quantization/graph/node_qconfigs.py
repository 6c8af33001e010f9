"""The configuration of each node: the most exact entry of a table decides."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tl_compiler.fx import Graph
from tl_nn import Module
from tl_nn.utils.parametrize import type_before_parametrizations

from ..backend_config import BackendConfig
from ..nn.intrinsic.modules.fused import _FusedModule
from ..qconfig import qconfig_equals
from ..qconfig_mapping import QConfigMapping
from .match_utils import canonical

__all__ = ["configuration_of", "extend_mapping", "node_qconfigs"]

_MISSING = object()


def configuration_of(mapping: QConfigMapping, kind: Any, name: str, above: Any = _MISSING) -> Any:
    """The configuration of a module, or of a call in a module.

    Args:
        mapping: the table.
        kind: the module's class, the function, or the method's name.
        name: the name of the module, or of the module that calls.
        above: the configuration in place of the one for all.
    """
    by_name = _by_module_name(mapping, name)
    if by_name is not _MISSING:
        return by_name
    for pattern, qconfig in mapping.module_name_regex_qconfigs.items():
        if re.match(pattern, name):
            return qconfig
    by_kind = mapping.object_type_qconfigs.get(kind, _MISSING)
    if by_kind is not _MISSING:
        return by_kind
    return mapping.global_qconfig if above is _MISSING else above


def _by_module_name(mapping: QConfigMapping, name: str) -> Any:
    table = mapping.module_name_qconfigs
    while name:
        if name in table:
            return table[name]
        name = name.rpartition(".")[0]
    return table.get("", _MISSING)


def extend_mapping(mapping: QConfigMapping, model: Module, backend: BackendConfig, is_qat: bool) -> None:
    """Adds entries for fused layers, and for layers that train with rounding.

    A fused layer has the configuration of its parts.

    Args:
        mapping: the table, which is changed.
        model: the model with fused layers.
        backend: the backend.
        is_qat: whether the model will be trained with rounding.

    Raises:
        LookupError: If the parts of a fused layer have different configurations.
    """
    table = mapping.object_type_qconfigs
    if not table:
        return
    for module in model.modules():
        if isinstance(module, _FusedModule) and type(module) not in table:
            _add_fused(table, type(module), list(module.children()))
    if is_qat:
        for config in backend.configs:
            if config.qat_module is not None and config.pattern in table:
                table.setdefault(config.qat_module, table[config.pattern])


def _add_fused(table: Any, kind: type, parts: list[Any]) -> None:
    entries = [table.get(type(part)) for part in parts]
    for part, entry in zip(parts, entries, strict=True):
        if not qconfig_equals(entry, entries[0]):
            raise LookupError(
                f"the parts of {kind.__name__} need one configuration, but {type(parts[0]).__name__} and "
                f"{type(part).__name__} have different ones"
            )
    if entries[0] is None and type(parts[0]) not in table:
        return
    table[kind] = entries[0]


def node_qconfigs(
    graph: Graph, modules: dict[str, Any], mapping: QConfigMapping, scopes: dict[str, tuple[str, Any]]
) -> dict[str, Any]:
    """The configuration of each node by its name. Modules get theirs as the attribute `qconfig`.

    Args:
        graph: the graph.
        modules: the modules by name.
        mapping: the table.
        scopes: the name and the class of the module that calls, by node.
    """
    counts: dict[tuple[str, Any], int] = defaultdict(int)
    result: dict[str, Any] = {}
    for node in graph.nodes:
        find = _FINDERS.get(node.op)
        if find is None:
            result[node.name] = None
            continue
        kind, name, scope = find(node, modules, scopes)
        qconfig = configuration_of(mapping, kind, name)
        key = scope, kind
        qconfig = mapping.module_name_object_type_order_qconfigs.get((scope, kind, counts[key]), qconfig)
        counts[key] += 1
        result[node.name] = qconfig
        if node.op == "call_module":
            modules[str(node.target)].qconfig = qconfig
    return result


def _of_function(node: Any, modules: Any, scopes: Any) -> tuple[Any, str, str]:
    scope = scopes.get(node.name, ("", None))[0]
    return canonical(node.target), scope, scope


def _of_method(node: Any, modules: Any, scopes: Any) -> tuple[Any, str, str]:
    scope = scopes.get(node.name, ("", None))[0]
    return node.target, scope, scope


def _of_module(node: Any, modules: Any, scopes: Any) -> tuple[Any, str, str]:
    name = str(node.target)
    return type_before_parametrizations(modules[name]), name, name.rpartition(".")[0]


def _of_attribute(node: Any, modules: Any, scopes: Any) -> tuple[Any, str, str]:
    parent = str(node.target).rpartition(".")[0]
    return type(modules[parent]) if parent in modules else None, parent, parent


_FINDERS: dict[str, Callable[..., tuple[Any, str, str]]] = {
    "call_function": _of_function,
    "call_method": _of_method,
    "call_module": _of_module,
    "get_attr": _of_attribute,
}
