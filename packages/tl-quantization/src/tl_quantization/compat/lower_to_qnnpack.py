"""The lowering of a model of reference layers, under PyTorch's name."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import GraphModule

from ..graph.lower import lower

__all__ = ["lower_to_qnnpack"]


def lower_to_qnnpack(
    model: GraphModule,
    qconfig_map: dict[str, Any],
    node_name_to_scope: dict[str, tuple[str, Any]],
    keep_original_weights: bool = False,
) -> GraphModule:
    """Replaces reference layers and their neighbors by integer layers. All engines have the same ones.

    Args:
        model: the model of reference layers.
        qconfig_map: the configurations by the names of nodes.
        node_name_to_scope: the name and the class of the module that calls, by node.
        keep_original_weights: whether dynamic layers keep their float weights.
    """
    return lower(model, node_name_to_scope, qconfig_map, keep_original_weights)
