"""Steps of observed graphs, which torchao's passes over exported models call."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import Graph, Node
from tl_nn import Module

from ..graph.equalize import is_equalization_observer
from ..graph.graph_module import OBSERVED
from ..graph.prepare import ObservedGraphModuleAttrs
from .graph_functions import assert_and_get_unique_device, get_new_attr_name_with_prefix

__all__: list[str] = []


def _insert_obs_or_fq(
    node: Node,
    obs_or_fq: Module,
    model: Module,
    named_modules: dict[str, Module],
    graph: Graph,
    model_device: Any = None,
) -> Node:
    """A call of an observer behind a node, and the observer as an attribute of the model.

    Args:
        node: the node whose values the observer sees.
        obs_or_fq: the observer.
        model: the model.
        named_modules: the modules by name, which is added to.
        graph: the graph of the node.
        model_device: the device of the observer, by default that of the model.
    """
    device = assert_and_get_unique_device(model) if model_device is None else model_device
    if device is not None:
        obs_or_fq.to(device)
    is_equalizing = is_equalization_observer(obs_or_fq)
    prefix = f"{node.name}_equalization_process_" if is_equalizing else "activation_post_process_"
    name = get_new_attr_name_with_prefix(prefix)(model)
    setattr(model, name, obs_or_fq)
    named_modules[name] = obs_or_fq
    with graph.inserting_after(node):
        return graph.create_node("call_module", name, (node,), {})


def _save_state(
    observed: Any,
    node_name_to_qconfig: dict[str, Any],
    node_name_to_scope: dict[str, tuple[str, type]],
    prepare_custom_config: Any,
    equalization_node_name_to_qconfig: dict[str, Any],
    qconfig_mapping: Any,
    is_qat: bool,
    observed_node_names: set[str],
) -> None:
    """Stores the facts that the conversion reads in the metadata of an observed model."""
    observed.meta[OBSERVED] = ObservedGraphModuleAttrs(
        node_name_to_qconfig=node_name_to_qconfig,
        node_name_to_scope=node_name_to_scope,
        prepare_custom_config=prepare_custom_config,
        equalization_node_name_to_qconfig=equalization_node_name_to_qconfig,
        qconfig_mapping=qconfig_mapping,
        is_qat=is_qat,
        observed_node_names=observed_node_names,
    )


def _parent_name(target: str) -> tuple[str, str]:
    """The name of a module's parent, and the last part of its own.

    >>> _parent_name("layers.0.conv"), _parent_name("conv")
    (('layers.0', 'conv'), ('', 'conv'))
    """
    parent, _, name = target.rpartition(".")
    return parent, name
