"""The names of equalized graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule

from ..graph.equalize import EqualizationQConfig as EqualizationQConfig
from ..graph.equalize import _InputEqualizationObserver as _InputEqualizationObserver
from ..graph.equalize import _WeightEqualizationObserver as _WeightEqualizationObserver
from ..graph.equalize import calculate_equalization_scale as calculate_equalization_scale
from ..graph.equalize import default_equalization_qconfig as default_equalization_qconfig
from ..graph.equalize import input_equalization_observer as input_equalization_observer
from ..graph.equalize import is_equalization_observer as is_equalization_observer
from ..graph.equalize import reshape_scale as reshape_scale
from ..graph.equalize import weight_equalization_observer as weight_equalization_observer
from ..graph.equalize_layers import CUSTOM_MODULE_SUPP_LIST as CUSTOM_MODULE_SUPP_LIST
from ..graph.equalize_layers import convert_equalization
from ..graph.equalize_layers import node_supports_equalization as node_supports_equalization
from ..graph.graph_module import _get_observed_graph_module_attr
from ..numeric_suite import graphs
from ..numeric_suite.measures import compute_sqnr
from ..numeric_suite.related_operators import get_unmatchable_types_map

__all__: list[str] = []


def _convert_equalization_ref(model: GraphModule) -> GraphModule:
    """The model with scaled inputs and weights, before it is quantized. The model itself changes."""
    configs = _get_observed_graph_module_attr(model, "equalization_node_name_to_qconfig")
    convert_equalization(model, dict(model.named_modules(remove_duplicate=False)), configs)
    return GraphModule(model, model.graph)


def update_obs_for_equalization(model: GraphModule, modules: dict[str, Any]) -> dict[str, Any]:
    """The configurations of equalization by the name of the node, for `convert_eq_obs`.

    Args:
        model: the observed model.
        modules: its modules by name.
    """
    configs: dict[str, Any] = _get_observed_graph_module_attr(model, "equalization_node_name_to_qconfig")
    return configs


def convert_eq_obs(model: GraphModule, modules: dict[str, Any], weight_eq_obs_dict: dict[str, Any]) -> None:
    """Scales inputs and weights of equalized layers, and removes the observers.

    Args:
        model: the observed model, which is changed.
        modules: its modules by name.
        weight_eq_obs_dict: the result of `update_obs_for_equalization`.
    """
    convert_equalization(model, modules, weight_eq_obs_dict)


def get_layer_sqnr_dict(model_a: Any, model_b: Any, x: Any) -> dict[str, float]:
    """The ratio of signal to noise of each layer of a quantized model.

    Args:
        model_a: the float model.
        model_b: the quantized model.
        x: an input of both.
    """
    types = get_unmatchable_types_map()
    types["funs_unmatchable"].add(tl_core.mul)
    first, second = graphs.add_loggers(
        "fp32", model_a, "int8", model_b, graphs.OutputLogger, unmatchable_types_map=types
    )
    first(x)
    second(x)
    results = graphs.extract_logger_info(first, second, graphs.OutputLogger, "int8")
    graphs.extend_logger_results_with_comparison(results, "fp32", "int8", compute_sqnr, "sqnr")
    entries = [layer["node_output"]["int8"][0] for layer in results.values()]
    return {entry["fqn"]: entry["sqnr"][0] for entry in entries}


def get_equalization_qconfig_dict(
    layer_sqnr_dict: Mapping[str, float], num_layers_to_equalize: int
) -> dict[str, Any]:
    """The configuration that equalizes the layers of the smallest ratios of signal to noise.

    Args:
        layer_sqnr_dict: from `get_layer_sqnr_dict`.
        num_layers_to_equalize: the number of these layers.
    """
    names = sorted(layer_sqnr_dict, key=lambda name: float(layer_sqnr_dict[name]))[:num_layers_to_equalize]
    return {"module_name": [(name, default_equalization_qconfig) for name in names]}
