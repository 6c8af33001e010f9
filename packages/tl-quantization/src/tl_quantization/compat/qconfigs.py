"""The configuration of each node, under the names of PyTorch's functions."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_nn import Module

from ..backend_config import get_native_backend_config
from ..graph.node_qconfigs import configuration_of, extend_mapping, node_qconfigs
from ..qconfig import qconfig_equals
from ..qconfig_mapping import QConfigMapping
from ..utils import get_qconfig_dtypes

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


def _update_qconfig_for_qat(qconfig_mapping: QConfigMapping, backend_config: Any) -> None:
    """Gives layers of training the configuration of the float layers."""
    extend_mapping(qconfig_mapping, Module(), backend_config, True)


def _is_qconfig_supported_by_dtype_configs(qconfig: Any, dtype_configs: list[Any]) -> bool:
    """True if the types of a configuration are those of one of a backend's."""
    activation, weight, is_dynamic = get_qconfig_dtypes(qconfig)
    half = activation is weight is tl_core.float16 and not is_dynamic
    bias = tl_core.float16 if half else tl_core.float32
    for config in dtype_configs:
        types = [config.input_dtype, config.output_dtype, config.weight_dtype, config.bias_dtype]
        own_types = [tl_core.float32 if each is None else each for each in types]
        if bool(config.is_dynamic) and is_dynamic and own_types[:3] == [activation, tl_core.float32, weight]:
            return True
        if not config.is_dynamic and own_types == [activation, activation, weight, bias]:
            return True
    return False


def _compare_prepare_convert_qconfig_mappings(
    prepare_qconfig_mapping: QConfigMapping, convert_qconfig_mapping: QConfigMapping
) -> None:
    """Raises AssertionError unless the table of `convert` has each entry of that of `prepare`, or None for it."""
    pairs = [("", prepare_qconfig_mapping.global_qconfig, convert_qconfig_mapping.global_qconfig)]
    for style in ("object_type_qconfigs", "module_name_qconfigs", "module_name_regex_qconfigs"):
        before, after = getattr(prepare_qconfig_mapping, style), getattr(convert_qconfig_mapping, style)
        for name, qconfig in before.items():
            if name not in after:
                raise AssertionError(f"{style} of convert lacks {name}, which that of prepare has")
            pairs.append((name, qconfig, after[name]))
    for name, before, after in pairs:
        if after is not None and not qconfig_equals(before, after):
            raise AssertionError(
                f"the configuration of {name or 'all layers'} is {before} in prepare, but {after} in convert"
            )
