"""The steps of the graph mode, under PyTorch's private names."""

from __future__ import annotations

import re
from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_nn import Module

from ..graph.custom_config import FuseCustomConfig
from ..graph.fuse import fuse
from ..graph.quantize_fx import _check_graph_module as _check_is_graph_module
from ..graph.quantize_fx import _convert, _prepare
from ..graph.quantize_fx import _exchange_functionals as _swap_ff_with_fxff
from ..graph.quantize_fx import prepare_standalone_module as _prepare_standalone_module_fx

__all__ = ["_check_is_graph_module", "_prepare_standalone_module_fx", "_swap_ff_with_fxff"]


def _fuse_fx(
    model: GraphModule, is_qat: bool, fuse_custom_config: Any = None, backend_config: Any = None
) -> GraphModule:
    """Fuses the layers of a traced model.

    Args:
        model: the graph module.
        is_qat: whether the layers are to be trained with rounding.
        fuse_custom_config: exceptions.
        backend_config: the backend, by default the native one.
    """
    _check_is_graph_module(model)
    custom = fuse_custom_config or FuseCustomConfig()
    custom = FuseCustomConfig.from_dict(custom) if isinstance(custom, dict) else custom
    return fuse(model, is_qat, custom, backend_config)


def _prepare_fx(
    model: Module,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
    is_standalone_module: bool = False,
) -> GraphModule:
    """Traces a model and inserts observers.

    Args:
        model: the model.
        qconfig_mapping: the configurations.
        is_qat: whether the model is to be trained with rounding.
        example_inputs: arguments of the model.
        prepare_custom_config: exceptions.
        _equalization_config: the configurations of equalization.
        backend_config: the backend, by default the native one.
        is_standalone_module: whether the model is a part that is quantized apart.
    """
    return _prepare(
        model, qconfig_mapping, is_qat, example_inputs, prepare_custom_config, _equalization_config,
        backend_config, is_standalone_module,
    )  # fmt: skip


def _convert_fx(
    graph_module: GraphModule,
    is_reference: bool,
    convert_custom_config: Any = None,
    is_standalone_module: bool = False,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    is_decomposed: bool = False,
    keep_original_weights: bool = False,
) -> GraphModule:
    """The quantized model, or the reference model, of a model with observers.

    Args:
        graph_module: the model with observers.
        is_reference: whether layers keep float weights.
        convert_custom_config: exceptions.
        is_standalone_module: whether the model is a part that is quantized apart.
        _remove_qconfig: whether configurations are removed.
        qconfig_mapping: configurations by which parts stay in floating numbers.
        backend_config: the backend, by default the native one.
        is_decomposed: whether the graph gets operators of `quantized_decomposed`.
        keep_original_weights: whether dynamic linear layers keep their float weights.
    """
    return _convert(
        graph_module, is_reference, convert_custom_config, qconfig_mapping, backend_config,
        is_decomposed=is_decomposed, remove_qconfig=_remove_qconfig, keep_original_weights=keep_original_weights,
        is_standalone=is_standalone_module,
    )  # fmt: skip


def _convert_standalone_module_fx(
    graph_module: GraphModule, is_reference: bool = False, convert_custom_config: Any = None
) -> GraphModule:
    """The quantized model of a part that is quantized apart.

    Args:
        graph_module: the part with observers.
        is_reference: whether layers keep float weights.
        convert_custom_config: exceptions.
    """
    return _convert_fx(graph_module, is_reference, convert_custom_config, is_standalone_module=True)


def _default_root_node_getter(node_pattern: Any) -> Any:
    """The node that takes the input of nested nodes.

    Args:
        node_pattern: a node, or a tuple of a node and of patterns.
    """
    while node_pattern is not None and not isinstance(node_pattern, Node):
        node_pattern = node_pattern[-1]
    return node_pattern


def _get_module_name_regex_qconfig(qconfig_mapping: Any, module_name: str, fallback_qconfig: Any) -> Any:
    """The configuration of the first expression that a name begins with.

    Args:
        qconfig_mapping: the configurations.
        module_name: the name.
        fallback_qconfig: the configuration without such an expression.
    """
    for expression, qconfig in qconfig_mapping.module_name_regex_qconfigs.items():
        if re.match(expression, module_name):
            return qconfig
    return fallback_qconfig
