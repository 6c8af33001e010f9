"""Comparison of two graphs of one model: their weights, the values of their layers, and copies side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_nn import Module
from tl_nn import functional as F

from ..backend_config import BackendConfig
from ..fake_quantize import FakeQuantizeBase
from ..functions import quantize_per_channel, quantize_per_tensor
from ..graph.attributes import read_attribute
from ..graph.graph_module import _get_observed_graph_module_attr
from ..graph.match_utils import find_matches
from ..graph.node_qconfigs import node_qconfigs
from ..graph.quantize_fx import convert_fx
from ..graph.tracer import QuantizationTracer
from ..observer_base import ObserverBase
from ..qconfig_mapping import QConfigMapping
from .fx_loggers import OutputComparisonLogger, OutputLogger
from .graph_loggers import add_loggers_to_model, create_a_shadows_b
from .measures import compute_sqnr
from .n_shadows import (
    SHADOW_WRAPPER_NODE_NAME_PREFIX,
    OutputProp,
    create_add_loggers_graph,
    create_n_transformed_and_logged_copies_of_subgraph,
    create_results_comparison,
    group_results_by_subgraph,
    print_n_shadows_summary,
    subgraphs_of,
)
from .node_facts import (
    get_target_type_str,
    maybe_add_missing_fqns,
    rekey_logger_info_on_node_name_of_model,
)
from .qconfig_multi_mapping import QConfigMultiMapping
from .results import NSNodeTargetType, NSResultsType, NSSingleResultValuesType
from .subgraphs import get_matching_subgraph_pairs
from .weights import Extractors, extract_weight_from_node, weight_entry

__all__ = [
    "NSTracer",
    "OutputComparisonLogger",
    "OutputLogger",
    "add_loggers",
    "add_shadow_loggers",
    "convert_n_shadows_model",
    "extend_logger_results_with_comparison",
    "extract_logger_info",
    "extract_results_n_shadows_model",
    "extract_shadow_logger_info",
    "extract_weights",
    "loggers_set_enabled",
    "loggers_set_save_activations",
    "prepare_n_shadows_model",
    "print_comparisons_n_shadows_model",
]

Targets = dict[str, set[NSNodeTargetType]]
_WEIGHT = NSSingleResultValuesType.WEIGHT.value


class NSTracer(QuantizationTracer):
    """The tracer of the graph mode, for which observers are single calls, too.

    Args:
        skipped_module_names: the modules that are one call, by name.
        skipped_module_classes: the classes whose modules are one call.

    Example:
        >>> import tl_quantization as tq
        >>> NSTracer([], []).is_leaf_module(tq.MinMaxObserver(), "x")
        True
    """

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a module is one call.

        Args:
            m: the module.
            module_qualified_name: its name.
        """
        is_watcher = isinstance(m, (ObserverBase, FakeQuantizeBase))
        return is_watcher or super().is_leaf_module(m, module_qualified_name)


def _trace(model: Module) -> GraphModule:
    gm = GraphModule(model, NSTracer([], []).trace(model))
    scopes = _get_observed_graph_module_attr(model, "node_name_to_scope")
    if scopes is not None:
        gm._node_name_to_scope = scopes
    return gm


# ---- weights ---------------------------------------------------------------------------------------------------------


def extract_weights(
    model_name_a: str,
    model_a: Module,
    model_name_b: str,
    model_b: Module,
    base_name_to_sets_of_related_ops: Targets | None = None,
    unmatchable_types_map: Targets | None = None,
    op_to_type_to_weight_extraction_fn: Extractors | None = None,
) -> NSResultsType:
    """The weights of two models in pairs.

    Args:
        model_name_a: the name of model A in the results.
        model_a: model A.
        model_name_b: the name of model B.
        model_b: model B.
        base_name_to_sets_of_related_ops: the sets of related operators.
        unmatchable_types_map: the operators that are no layers.
        op_to_type_to_weight_extraction_fn: the functions that return weights.

    Returns:
        By the name of a node of model B: "weight", then for each model a list of entries with the tensors under
        "values".

    Raises:
        GraphMatchingException: the layers of the models are no pairs.

    Example:
        >>> import tl_nn as nn
        >>> model = nn.Sequential(nn.Linear(2, 1)).eval()
        >>> results = extract_weights("a", model, "b", model)
        >>> [entry["fqn"] for entry in results["_0"]["weight"]["a"]], len(results["_0"]["weight"]["b"])
        ([None], 1)
    """
    return _extract_weights_impl(
        model_name_a, _trace(model_a), model_name_b, _trace(model_b), base_name_to_sets_of_related_ops,
        unmatchable_types_map, op_to_type_to_weight_extraction_fn,
    )  # fmt: skip


def _extract_weights_impl(
    model_name_a: str,
    gm_a: GraphModule,
    model_name_b: str,
    gm_b: GraphModule,
    base_name_to_sets_of_related_ops: Targets | None = None,
    unmatchable_types_map: Targets | None = None,
    op_to_type_to_weight_extraction_fn: Extractors | None = None,
) -> NSResultsType:
    """As `extract_weights`, of graph modules."""
    models = gm_a, gm_b
    results: NSResultsType = {}
    pairs = get_matching_subgraph_pairs(*models, base_name_to_sets_of_related_ops, unmatchable_types_map)
    for layer, pair in pairs.items():
        for name, gm, part in zip((model_name_a, model_name_b), models, pair, strict=True):
            entry = extract_weight_from_node(part.base_op_node, gm, op_to_type_to_weight_extraction_fn)
            if entry is not None:
                results.setdefault(layer, {_WEIGHT: {}})[_WEIGHT][name] = [entry]
    maybe_add_missing_fqns(results)
    return rekey_logger_info_on_node_name_of_model(results, model_name_b)


# ---- activations -----------------------------------------------------------------------------------------------------


def add_loggers(
    name_a: str,
    model_a: Module,
    name_b: str,
    model_b: Module,
    logger_cls: Callable[..., Any],
    should_log_inputs: bool = False,
    base_name_to_sets_of_related_ops: Targets | None = None,
    unmatchable_types_map: Targets | None = None,
) -> tuple[Module, Module]:
    """Two models with a logger behind each pair of layers.

    Args:
        name_a: the name of model A in the results.
        model_a: model A.
        name_b: the name of model B.
        model_b: model B.
        logger_cls: the class of the loggers, such as `OutputLogger`.
        should_log_inputs: whether the inputs of layers are stored, too.
        base_name_to_sets_of_related_ops: the sets of related operators.
        unmatchable_types_map: the operators that are no layers.

    Raises:
        GraphMatchingException: the layers of the models are no pairs.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> model = nn.Sequential(nn.Linear(2, 1)).eval()
        >>> a, b = add_loggers("a", model, "b", model, OutputLogger)
        >>> _ = a(tl_core.ones(1, 2)), b(tl_core.ones(1, 2))
        >>> list(extract_logger_info(a, b, OutputLogger, "b")["_0"]["node_output"])
        ['a', 'b']
    """
    return _add_loggers_impl(
        name_a, _trace(model_a), name_b, _trace(model_b), logger_cls, should_log_inputs,
        base_name_to_sets_of_related_ops, unmatchable_types_map,
    )  # fmt: skip


def _add_loggers_impl(
    name_a: str,
    gm_a: GraphModule,
    name_b: str,
    gm_b: GraphModule,
    logger_cls: Callable[..., Any],
    should_log_inputs: bool,
    base_name_to_sets_of_related_ops: Targets | None = None,
    unmatchable_types_map: Targets | None = None,
) -> tuple[Module, Module]:
    """As `add_loggers`, of graph modules."""
    models = gm_a, gm_b
    pairs = get_matching_subgraph_pairs(*models, base_name_to_sets_of_related_ops, unmatchable_types_map)
    results = []
    for i, (name, gm) in enumerate(zip((name_a, name_b), models, strict=True)):
        inputs: dict[Node, tuple[str, str]] = {}
        outputs: dict[Node, tuple[str, str]] = {}
        for layer, pair in pairs.items():
            about = layer, get_target_type_str(pair[i].base_op_node, gm)
            outputs[pair[i].end_node] = about
            if should_log_inputs:
                inputs[pair[i].start_node] = about
        results.append(add_loggers_to_model(gm, inputs, outputs, logger_cls, name))
    return results[0], results[1]


def _collect(model: Module, results: NSResultsType, logger_cls: Callable[..., Any]) -> None:
    for module in model.modules():
        is_program = getattr(module, "original_name", None) == "OutputLogger"  # of a scripted model
        if not (is_program or isinstance(module, logger_cls)):  # type: ignore[arg-type]  # a class
            continue
        log: Any = module
        if log.model_name in results.setdefault(log.ref_name, {}):
            raise AssertionError(f"{log.model_name} is already present in results")
        entries = results[log.ref_name].setdefault(log.results_type, {}).setdefault(log.model_name, [])
        names = ("ref_node_name", "ref_node_target_type", "prev_node_name", "prev_node_target_type")
        entry = {
            "type": log.results_type,
            "values": log.stats_rnn or log.stats,
            **{name: getattr(log, name) for name in (*names, "index_within_arg", "index_of_arg", "fqn")},
            "qconfig_str": log.qconfig_str,
            "comparisons": getattr(log, "comparisons", []),
            "comparison_fn_name": getattr(log, "comparison_fn_name", ""),
        }
        entries.append(entry)
        entries.sort(key=lambda each: f"{each['index_of_arg']}:{each['index_within_arg']}")


def extract_logger_info(
    model_a: Module, model_b: Module, logger_cls: Callable[..., Any], model_name_to_use_for_layer_names: str
) -> NSResultsType:
    """The values that the loggers of two models have stored.

    Args:
        model_a: model A.
        model_b: model B.
        logger_cls: the class of the loggers.
        model_name_to_use_for_layer_names: the name of the model whose nodes are the keys.
    """
    results: NSResultsType = {}
    for model in (model_a, model_b):
        _collect(model, results, logger_cls)
    maybe_add_missing_fqns(results)
    return rekey_logger_info_on_node_name_of_model(results, model_name_to_use_for_layer_names)


def add_shadow_loggers(
    name_a: str,
    model_a: Module,
    name_b: str,
    model_b: Module,
    logger_cls: Callable[..., Any],
    should_log_inputs: bool = False,
    base_name_to_sets_of_related_ops: Targets | None = None,
    node_type_to_io_type_map: Targets | None = None,
    unmatchable_types_map: Targets | None = None,
) -> Module:
    """Model B with each layer of model A beside its own, on the same input, and loggers behind both.

    Args:
        name_a: the name of model A in the results.
        model_a: model A.
        name_b: the name of model B.
        model_b: model B.
        logger_cls: the class of the loggers.
        should_log_inputs: whether the inputs of layers are stored, too.
        base_name_to_sets_of_related_ops: the sets of related operators.
        node_type_to_io_type_map: the operators by the numbers that they take.
        unmatchable_types_map: the operators that are no layers.

    Raises:
        GraphMatchingException: the layers of the models are no pairs.

    Warns:
        UserWarning: a layer has no copy, with the reason.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> model = nn.Sequential(nn.Linear(2, 1)).eval()
        >>> both = add_shadow_loggers("a", model, "b", model, OutputLogger)
        >>> _ = both(tl_core.ones(1, 2))
        >>> list(extract_shadow_logger_info(both, OutputLogger, "b")["_0"]["node_output"])
        ['a', 'b']
    """
    return _add_shadow_loggers_impl(
        name_a, _trace(model_a), name_b, _trace(model_b), logger_cls, should_log_inputs,
        base_name_to_sets_of_related_ops, node_type_to_io_type_map, unmatchable_types_map,
    )  # fmt: skip


def _add_shadow_loggers_impl(
    name_a: str,
    gm_a: GraphModule,
    name_b: str,
    gm_b: GraphModule,
    logger_cls: Callable[..., Any],
    should_log_inputs: bool,
    base_name_to_sets_of_related_ops: Targets | None = None,
    node_type_to_io_type_map: Targets | None = None,
    unmatchable_types_map: Targets | None = None,
) -> Module:
    """As `add_shadow_loggers`, of graph modules."""
    pairs = get_matching_subgraph_pairs(gm_a, gm_b, base_name_to_sets_of_related_ops, unmatchable_types_map)
    return create_a_shadows_b(
        name_a, gm_a, name_b, gm_b, pairs, logger_cls, should_log_inputs, node_type_to_io_type_map
    )


def extract_shadow_logger_info(
    model_a_shadows_b: Module, logger_cls: Callable[..., Any], model_name_to_use_for_layer_names: str
) -> NSResultsType:
    """The values that the loggers of `add_shadow_loggers` have stored.

    Args:
        model_a_shadows_b: the model.
        logger_cls: the class of the loggers.
        model_name_to_use_for_layer_names: the name of the model whose nodes are the keys.
    """
    results: NSResultsType = defaultdict(dict)
    _collect(model_a_shadows_b, results, logger_cls)
    maybe_add_missing_fqns(results)
    return dict(rekey_logger_info_on_node_name_of_model(results, model_name_to_use_for_layer_names))


def extend_logger_results_with_comparison(
    results: NSResultsType,
    model_name_1: str,
    model_name_2: str,
    comparison_fn: Callable[[Any, Any], Any],
    comparison_name: str,
) -> None:
    """Adds a measure of each value of one model against that of another.

    Args:
        results: the results, which are changed.
        model_name_1: the name of the model of reference.
        model_name_2: the name of the model whose entries get the measures.
        comparison_fn: the measure of two tensors.
        comparison_name: its name in the entries.

    Raises:
        AssertionError: a layer has no results of one of the models.

    Example:
        >>> import tl_nn as nn
        >>> from tl_quantization.numeric_suite.measures import compute_cosine_similarity
        >>> model = nn.Sequential(nn.Linear(2, 1)).eval()
        >>> results = extract_weights("a", model, "b", model)
        >>> extend_logger_results_with_comparison(results, "a", "b", compute_cosine_similarity, "cosine")
        >>> round(float(results["_0"]["weight"]["b"][0]["cosine"][0]), 3)
        1.0
    """
    for kinds in results.values():
        for models in kinds.values():
            for name in (model_name_1, model_name_2):
                if name not in models:
                    raise AssertionError(f"{name} not found in results")
            entries = {(e["index_within_arg"], e["index_of_arg"]): e for e in reversed(models[model_name_1])}
            for entry in models[model_name_2]:
                other = entries.get((entry["index_within_arg"], entry["index_of_arg"]))
                if other is None:
                    raise AssertionError(
                        f"{model_name_1} has no result for an input of {entry['ref_node_name']}"
                    )
                values = zip(other["values"], entry["values"], strict=False)
                entry[comparison_name] = [comparison_fn(a, b) for a, b in values]


# ---- several configurations ------------------------------------------------------------------------------------------


def _layers_of(
    model: Module, example_inputs: Any, backend_config: BackendConfig, tracer: Any
) -> tuple[GraphModule, dict[str, list[Node]], Any]:
    gm = GraphModule(model, tracer.trace(model))
    gm._node_name_to_scope = tracer.node_name_to_scope
    OutputProp(gm).propagate(*example_inputs)
    modules = dict(gm.named_modules(remove_duplicate=False))
    matches = find_matches(gm.graph, modules, backend_config)

    def qconfigs_of(mapping: QConfigMapping) -> dict[str, Any]:
        return node_qconfigs(gm.graph, modules, mapping, tracer.node_name_to_scope)

    return gm, subgraphs_of(matches), qconfigs_of


def prepare_n_shadows_model(
    model: Module,
    example_inputs: Any,
    qconfig_multi_mapping: QConfigMultiMapping,
    backend_config: BackendConfig,
    custom_prepare_fn: Callable[..., Any] | None = None,
    custom_prepare_kwargs: dict[str, Any] | None = None,
    custom_tracer: Any = None,
) -> GraphModule:
    """A model with a copy of each layer for each configuration. The copies run on the inputs of the layer.

    Run the model on data, call `convert_n_shadows_model` and `loggers_set_enabled`, and run it again.

    Args:
        model: the model.
        example_inputs: a tuple with its arguments.
        qconfig_multi_mapping: the configurations.
        backend_config: the backend, whose patterns are the layers.
        custom_prepare_fn: a function in place of `prepare_fx`.
        custom_prepare_kwargs: further arguments of it.
        custom_tracer: a tracer in place of `QuantizationTracer`.

    Warns:
        UserWarning: a layer has no copy, with the reason.

    Example:
        >>> import tl_core, tl_nn as nn, tl_quantization as tq
        >>> from tl_quantization.backend_config import get_native_backend_config
        >>> x, model = tl_core.rand(8, 4), nn.Sequential(nn.Linear(4, 2)).eval()
        >>> several = QConfigMultiMapping().set_global([tq.default_qconfig])
        >>> prepared = prepare_n_shadows_model(model, (x,), several, get_native_backend_config())
        >>> _ = prepared(x)
        >>> converted = convert_n_shadows_model(prepared)
        >>> loggers_set_enabled(converted, True)
        >>> _ = converted(x)
        >>> results = extract_results_n_shadows_model(converted)["model"]["node_output"]
        >>> float(results["subgraph_0_1"][0]["comparisons"][0]) > 20
        True
    """
    tracer = QuantizationTracer([], []) if custom_tracer is None else custom_tracer
    gm, layers, qconfigs_of = _layers_of(model, example_inputs, backend_config, tracer)
    mappings = qconfig_multi_mapping.qconfig_mappings_list
    tables = [qconfigs_of(mapping) for mapping in mappings]
    for index, (name, nodes) in enumerate(layers.items()):
        create_n_transformed_and_logged_copies_of_subgraph(
            gm, index, name, nodes, mappings, tables, custom_prepare_fn, custom_prepare_kwargs
        )
    gm.recompile()
    return gm


def _prepare_n_shadows_add_loggers_model(
    model: Module, example_inputs: Any, qconfig_mapping: QConfigMapping, backend_config: BackendConfig
) -> Module:
    """A model with a second chain of layers in one configuration, whose errors propagate."""
    tracer = QuantizationTracer([], [])
    gm, layers, qconfigs_of = _layers_of(model, example_inputs, backend_config, tracer)
    create_add_loggers_graph(gm, layers, qconfig_mapping, qconfigs_of(qconfig_mapping))
    return gm


def convert_n_shadows_model(
    model: GraphModule,
    custom_convert_fn: Callable[..., Any] | None = None,
    custom_convert_kwargs: dict[str, Any] | None = None,
) -> GraphModule:
    """Converts the copies of a model of `prepare_n_shadows_model`, in place.

    Args:
        model: the model.
        custom_convert_fn: a function in place of `convert_fx`.
        custom_convert_kwargs: further arguments of it.
    """
    for node in model.graph.nodes:
        if node.name.startswith(SHADOW_WRAPPER_NODE_NAME_PREFIX):
            copied = getattr(model, node.name)
            if custom_convert_fn is None:
                converted = convert_fx(copied)
            else:
                converted = custom_convert_fn(copied, **(custom_convert_kwargs or {}))
            setattr(model, node.name, converted)
    return model


def loggers_set_enabled(model: Module, enabled: bool) -> None:
    """Lets the loggers of a model store values, or not.

    Args:
        model: the model.
        enabled: whether they do.
    """
    for module in model.modules():
        if isinstance(module, OutputLogger):
            module.enabled = enabled


def loggers_set_save_activations(model: Module, save_activations: bool) -> None:
    """Lets the loggers of a model keep the tensors, or the measures alone.

    Args:
        model: the model.
        save_activations: whether they keep the tensors.
    """
    for module in model.modules():
        if isinstance(module, OutputLogger):
            module.save_activations = save_activations


def extract_results_n_shadows_model(model: Module) -> NSResultsType:
    """The values and measures of a model of `prepare_n_shadows_model`.

    Args:
        model: the model.
    """
    results: NSResultsType = {}
    _collect(model, results, OutputLogger)
    return results


def print_comparisons_n_shadows_model(results: NSResultsType) -> None:
    """Prints a table with a line for each layer and a column for each configuration.

    Args:
        results: the results of `extract_results_n_shadows_model`.
    """
    print_n_shadows_summary(create_results_comparison(group_results_by_subgraph(results)))


# ---- weights of copies -----------------------------------------------------------------------------------------------


def _n_shadows_compare_weights(
    model: Module, example_inputs: Any, qconfig_mapping: QConfigMapping, backend_config: BackendConfig
) -> NSResultsType:
    """The float weights of linear functions and those of their quantized copies."""
    several = QConfigMultiMapping.from_list_qconfig_mapping([qconfig_mapping])
    prepared = prepare_n_shadows_model(model, example_inputs, several, backend_config)
    prepared(*example_inputs)
    return extract_weight_comparison(convert_n_shadows_model(prepared))


def extract_weight_comparison(m: GraphModule) -> NSResultsType:
    """The weights of the linear functions of a model whose copies are converted.

    Args:
        m: the model.
    """
    results: NSResultsType = {"model": {_WEIGHT: {}}}
    for node in m.graph.nodes:
        if node.op != "call_function" or node.target is not F.linear:
            continue
        wrapper: Any = next(
            (u for u in node.args[0].users if str(u.target).startswith("shadow_wrapper")), None
        )
        quantize = None if wrapper is None else _weight_rounding(m.get_submodule(str(wrapper.target)))
        if quantize is None:
            continue
        weight = read_attribute(m, node.args[1]).detach()
        rounded = quantize(weight)
        measure = compute_sqnr(weight, rounded)
        index = str(wrapper.target).split("_")[2]
        for candidate, value in enumerate((weight, rounded)):
            results["model"][_WEIGHT][f"subgraph_{index}_{candidate}"] = [
                {
                    "res_type": _WEIGHT,
                    **weight_entry(node, m, value),
                    "qconfig_str": "",
                    "comparisons": [measure],
                    "comparison_fn_name": "sqnr",
                }
            ]
    return results


def _weight_rounding(copied: Any) -> Callable[[Any], Any] | None:
    """How a copy of a linear function quantizes its second input, or None."""
    placeholders = [node for node in copied.graph.nodes if node.op == "placeholder"]
    if len(placeholders) < 2:
        return None
    (quantize,) = placeholders[1].users
    if quantize.target not in (quantize_per_tensor, quantize_per_channel):
        raise AssertionError(f"the second input of a copy must be quantized, but {quantize.name} reads it")
    rest = [read_attribute(copied, a) if isinstance(a, Node) else a for a in quantize.args[1:]]
    return lambda weight: quantize.target(weight, *rest)
