"""The configuration of each node, under the names of PyTorch's functions."""

from __future__ import annotations

from typing import Any

from ..backend_config import get_native_backend_config
from ..graph.node_qconfigs import configuration_of, extend_mapping, node_qconfigs
from ..qconfig_mapping import QConfigMapping

__all__: list[str] = []


def _generate_node_name_to_qconfig(
    root: Any,
    modules: dict[str, Any],
    input_graph: Any,
    qconfig_mapping: QConfigMapping,
    node_name_to_scope: Any,
) -> dict[str, Any]:
    """The configuration of each node by its name."""
    return node_qconfigs(input_graph, modules, qconfig_mapping, node_name_to_scope)


def _maybe_adjust_qconfig_for_module_name_object_type_order(
    qconfig_mapping: QConfigMapping,
    cur_module_path: str,
    cur_object_type: Any,
    cur_object_type_idx: int,
    fallback_qconfig: Any,
) -> Any:
    """The configuration of one call in a module, or another one."""
    key = cur_module_path, cur_object_type, cur_object_type_idx
    return qconfig_mapping.module_name_object_type_order_qconfigs.get(key, fallback_qconfig)


def _get_object_type_qconfig(qconfig_mapping: QConfigMapping, object_type: Any, fallback_qconfig: Any) -> Any:
    return qconfig_mapping.object_type_qconfigs.get(object_type, fallback_qconfig)


def _get_module_name_qconfig(qconfig_mapping: QConfigMapping, module_name: str, fallback_qconfig: Any) -> Any:
    name = module_name
    while name:
        if name in qconfig_mapping.module_name_qconfigs:
            return qconfig_mapping.module_name_qconfigs[name]
        name = name.rpartition(".")[0]
    return fallback_qconfig


def _maybe_adjust_qconfig_for_module_type_or_name(
    qconfig_mapping: QConfigMapping, module_type: Any, module_name: str, global_qconfig: Any
) -> Any:
    """The configuration of a module by its class and name."""
    return configuration_of(qconfig_mapping, module_type, module_name, global_qconfig)


def _update_qconfig_for_fusion(model: Any, qconfig_mapping: QConfigMapping) -> None:
    """Gives fused layers the configuration of their parts."""
    extend_mapping(qconfig_mapping, model, get_native_backend_config(), False)
