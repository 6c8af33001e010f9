"""From observers to quantize and dequantize, and from float layers to reference layers."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_nn.utils.parametrize import type_before_parametrizations

from ..backend_config import BackendConfig, get_native_backend_config
from ..dtypes import is_quantized_dtype, qint8, qint32, quint8
from ..functions import quantize_per_channel, quantize_per_tensor, quantize_per_tensor_dynamic
from ..qconfig import qconfig_equals
from ..qconfig_mapping import QConfigMapping
from ..quant_type import QuantType
from ..stubs import DeQuantStub
from .attributes import evaluate, is_constant, new_attribute
from .custom_config import ConvertCustomConfig
from .custom_lstm import convert_parts
from .equalize_layers import convert_equalization
from .graph_module import OBSERVED, QuantizedGraphModule, _is_observed_standalone_module
from .lower import lower
from .match_utils import canonical
from .node_qconfigs import extend_mapping, node_qconfigs
from .observers import observer_at
from .prepare import ObservedGraphModuleAttrs
from .weights import reference_layer, weighted_classes

__all__ = ["convert", "convert_custom_module", "convert_standalone_module", "convert_weighted_module"]

# Types that observers of decomposed graphs have.
_PLAIN = (tl_core.uint8, tl_core.int8, tl_core.int16, tl_core.int32)


@dataclass
class _Work:
    """A graph that is converted."""

    model: Any
    modules: dict[str, Any]
    facts: ObservedGraphModuleAttrs
    custom: ConvertCustomConfig
    backend: BackendConfig
    is_reference: bool
    is_decomposed: bool

    @property
    def graph(self) -> Any:
        """The graph."""
        return self.model.graph


def convert(
    model: GraphModule,
    is_reference: bool = False,
    convert_custom_config: Any = None,
    is_standalone_module: bool = False,
    _remove_qconfig_flag: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    is_decomposed: bool = False,
    keep_original_weights: bool = False,
) -> GraphModule:
    """The reference model of a model with observers, lowered to integer layers unless `is_reference`.

    Args:
        model: a graph module with observers. It stays as it is.
        is_reference: whether the model keeps its float layers.
        convert_custom_config: a `ConvertCustomConfig` or its dictionary.
        is_standalone_module: whether the module is a call of its parent.
        _remove_qconfig_flag: whether configurations are removed.
        qconfig_mapping: a table whose entries of None leave parts in floating numbers.
        backend_config: a `BackendConfig` or its dictionary, by default the native one.
        is_decomposed: whether the graph gets the operators of `quantized_decomposed`.
        keep_original_weights: whether dynamic linear layers keep their float weights.

    Raises:
        ValueError: If the model has not been prepared, or the table has other configurations than `prepare` got.
    """
    if OBSERVED not in model.meta:
        raise ValueError("incoming model must be produced by prepare_fx")
    facts: ObservedGraphModuleAttrs = model.meta[OBSERVED]
    custom = convert_custom_config or ConvertCustomConfig()
    custom = ConvertCustomConfig.from_dict(custom) if isinstance(custom, dict) else custom
    backend = backend_config or get_native_backend_config()
    backend = BackendConfig.from_dict(backend) if isinstance(backend, dict) else backend
    model = deepcopy(model)
    modules = dict(model.named_modules(remove_duplicate=False))
    if qconfig_mapping is not None:
        facts = _with_mapping(facts, model, modules, qconfig_mapping, backend)
    if facts.equalization_node_name_to_qconfig:
        convert_equalization(model, modules, facts.equalization_node_name_to_qconfig)
    work = _Work(model, modules, facts, custom, backend, is_reference, is_decomposed)
    _watch_weights(work)
    _convert_nodes(work, is_standalone_module)
    if _remove_qconfig_flag:
        for module in model.modules():
            vars(module).pop("qconfig", None)
    model.delete_all_unused_submodules()
    result: GraphModule = QuantizedGraphModule(
        model, model.graph, set(facts.prepare_custom_config.preserved_attributes)
    )
    result.meta.pop(OBSERVED, None)
    if not is_reference:
        result = lower(result, facts.node_name_to_scope, facts.node_name_to_qconfig, keep_original_weights)
    return result


def _with_mapping(
    facts: ObservedGraphModuleAttrs, model: Any, modules: Any, mapping: Any, backend: BackendConfig
) -> ObservedGraphModuleAttrs:
    mapping = QConfigMapping.from_dict(mapping) if isinstance(mapping, dict) else deepcopy(mapping)
    extend_mapping(mapping, model, backend, facts.is_qat)
    changed = node_qconfigs(model.graph, modules, mapping, facts.node_name_to_scope)
    for name, qconfig in changed.items():
        before = facts.node_name_to_qconfig.get(name)
        if qconfig is not None and name in facts.node_name_to_qconfig and not qconfig_equals(qconfig, before):
            raise ValueError(
                f"Expected a qconfig of None or the one of prepare_fx for node {name}, but got {qconfig}"
            )
    table = {name: changed.get(name, before) for name, before in facts.node_name_to_qconfig.items()}
    facts = deepcopy(facts)
    facts.node_name_to_qconfig = table
    return facts


def _watch_weights(work: _Work) -> None:
    """Shows the weights of functions to their observers: a dynamic model needs no run on data."""
    for node in work.graph.nodes:
        observer = observer_at(node, work.modules)
        users = [user for user in node.users if user.op == "call_function"]
        if observer is not None and users and is_constant(node.args[0]) and isinstance(node.args[0], Node):
            table = work.backend._pattern_complex_format_to_config
            config = table.get(canonical(users[0].target))
            index = config._input_type_to_index.get("weight") if config is not None else None
            if index is not None and index < len(users[0].args) and users[0].args[index] is node:
                observer(evaluate(work.model, node.args[0]))


def _convert_nodes(work: _Work, is_standalone: bool) -> None:
    facts, graph = work.facts, work.graph
    quantized_inputs = facts.prepare_custom_config.input_quantized_indexes
    quantized_outputs = facts.prepare_custom_config.output_quantized_indexes
    static_custom: set[Any] = set()
    kinds = weighted_classes(work.backend)
    inputs = 0
    for node in list(graph.nodes):
        if node.op == "placeholder":
            if inputs in quantized_inputs:
                _dequantize_behind(graph, node)
            inputs += 1
        elif node.op == "output":
            _keep_quantized(graph, node, quantized_outputs)
        elif node.op == "call_module" and str(node.target) in work.modules:
            _convert_module(work, node, static_custom, kinds)
    graph.eliminate_dead_code()


def _convert_module(work: _Work, node: Node, static_custom: set[Any], kinds: tuple[type, ...]) -> None:
    module = work.modules[str(node.target)]
    observer = observer_at(node, work.modules)
    if observer is not None:
        if node.args[0] in static_custom:
            _replace_by_dequantize(work.graph, node)
        else:
            _replace_observer(work, node, observer)
    elif isinstance(module, DeQuantStub):
        _replace_by_dequantize(work.graph, node)
    elif _is_observed_standalone_module(module):
        convert_standalone_module(node, work.modules, work.model, work.is_reference, work.backend)
    elif any(call.target == node.target for call in static_custom):  # which has replaced the module
        static_custom.add(node)
        node.args = tuple(_without_dequantize(arg) for arg in node.args)
    elif type(module) in _custom_classes(work):
        convert_custom_module(
            node, work.graph, work.modules, work.custom.observed_to_quantized_mapping, static_custom
        )
    elif type_before_parametrizations(module) in kinds:
        convert_weighted_module(
            node, work.modules, work.facts.observed_node_names, work.facts.node_name_to_qconfig, work.backend,
            work.is_decomposed, work.is_reference,
        )  # fmt: skip


def _custom_classes(work: _Work) -> set[type]:
    return {kind for table in work.custom.observed_to_quantized_mapping.values() for kind in table}


# ---- the ends of the graph -------------------------------------------------------------------------------------------


def _dequantize_behind(graph: Any, node: Node) -> None:
    users = list(node.users)
    with graph.inserting_after(node):
        call = graph.create_node("call_method", "dequantize", (node,))
    for user in users:
        user.replace_input_with(node, call)


def _keep_quantized(graph: Any, node: Node, indices: list[int]) -> None:
    result = node.args[0]
    if not isinstance(result, (list, tuple)):
        if 0 in indices:
            node.args = (_without_dequantize(result),)
        return
    node.args = (
        type(result)(_without_dequantize(part) if i in indices else part for i, part in enumerate(result)),
    )


def _without_dequantize(arg: Any) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(_without_dequantize(part) for part in arg)
    return arg.args[0] if is_dequantize(arg) else arg


def is_dequantize(node: Any) -> bool:
    """Whether a node calls `dequantize`.

    Args:
        node: the node.
    """
    return isinstance(node, Node) and node.op == "call_method" and node.target == "dequantize"


def _replace_by_dequantize(graph: Any, node: Node) -> None:
    with graph.inserting_before(node):
        call = graph.create_node("call_method", "dequantize", (node.args[0],))
    node.replace_all_uses_with(call)
    graph.erase_node(node)


# ---- observers -------------------------------------------------------------------------------------------------------


def _replace_observer(work: _Work, node: Node, observer: Any) -> None:
    """Replaces an observer by quantize and dequantize, or by nothing."""
    around = [*node.args, *node.users]
    is_unwanted = all(_has_no_qconfig(work, other) for other in around)
    dtype, is_dynamic = observer.dtype, bool(getattr(observer, "is_dynamic", False))
    answers = is_quantized_dtype(dtype) or dtype in (*_PLAIN, tl_core.float16)
    if is_unwanted or not answers or (dtype is tl_core.int32 and not work.is_decomposed):
        source = node.args[0]
        node.replace_all_uses_with(source)
        work.graph.erase_node(node)
        return
    with work.graph.inserting_before(node):
        if work.is_decomposed:
            from .decompose import insert_decomposed

            result = insert_decomposed(work.model, node, observer, _prefix(work, node))
        else:
            quantized = _quantize(work, node, observer, dtype, is_dynamic)
            result = work.graph.create_node("call_method", "dequantize", (quantized,))
    node.replace_all_uses_with(result)
    work.graph.erase_node(node)


def _has_no_qconfig(work: _Work, node: Any) -> bool:
    table = work.facts.node_name_to_qconfig
    return isinstance(node, Node) and node.name in table and table[node.name] is None


def _quantize(work: _Work, node: Node, observer: Any, dtype: Any, is_dynamic: bool) -> Node:
    graph, source = work.graph, node.args[0]
    if is_dynamic:
        args: tuple[Any, ...] = (source, dtype, _reduces_range())
        return graph.create_node("call_function", quantize_per_tensor_dynamic, args)
    if dtype is tl_core.float16:
        return graph.create_node("call_method", "to", (source, dtype))
    scale, zero_point = observer.calculate_qparams()
    prefix = _prefix(work, node)
    if observer.qscheme.name.startswith("per_channel"):
        scales = new_attribute(work.model, f"{prefix}_scale_", scale)
        zeros = new_attribute(work.model, f"{prefix}_zero_point_", zero_point)
        args = (source, scales, zeros, int(observer.ch_axis), _quantized_type(dtype))
        return graph.create_node("call_function", quantize_per_channel, args)
    one = new_attribute(work.model, f"{prefix}_scale_", float(scale))
    zero = new_attribute(work.model, f"{prefix}_zero_point_", int(zero_point))
    return graph.create_node(
        "call_function", quantize_per_tensor, (source, one, zero, _quantized_type(dtype))
    )


def _quantized_type(dtype: Any) -> Any:
    return {tl_core.int8: qint8, tl_core.uint8: quint8, tl_core.int32: qint32}.get(dtype, dtype)


def _reduces_range() -> bool:
    """Whether the selected engine leaves one bit of activations unused."""
    from ..engine import engine

    return engine() in ("fbgemm", "x86")


def _prefix(work: _Work, node: Node) -> str:
    """The beginning of the names of a scale: of the module with the value, or of the module that takes an input."""
    source, scopes = node.args[0], work.facts.node_name_to_scope
    table = work.facts.node_name_to_qconfig
    if isinstance(source, Node) and source.name in table and table[source.name] is None:
        users = list(node.users)
        scope = scopes.get(users[0].name, ("", None))[0] if users else ""
        return f"{scope}_input"
    name = source.name if isinstance(source, Node) else ""
    return scopes.get(name, ("", None))[0]


# ---- modules ---------------------------------------------------------------------------------------------------------


def _set_module(modules: dict[str, Any], name: str, module: Any) -> None:
    parent, _, last = name.rpartition(".")
    setattr(modules[parent], last, module)
    modules[name] = module


def convert_weighted_module(
    node: Node,
    modules: dict[str, Any],
    observed_node_names: set[str],
    node_name_to_qconfig: dict[str, Any],
    backend_config: BackendConfig,
    is_decomposed: bool = False,
    is_reference: bool = False,
    model_device: Any = None,
) -> None:
    """Replaces a layer with a weight by its reference layer.

    Args:
        node: the call of the layer.
        modules: the modules by name.
        observed_node_names: the nodes that are quantized.
        node_name_to_qconfig: the configuration of each node.
        backend_config: the backend.
        is_decomposed: whether the graph has the operators of `quantized_decomposed`.
        is_reference: whether the model keeps its reference layers.
        model_device: of no effect: buffers are on the device of the weight.
    """
    name = str(node.target)
    module, qconfig = modules[name], getattr(modules[name], "qconfig", None)
    target_type = node_name_to_qconfig.get(node.name, qconfig)
    is_trained = hasattr(module, "weight_fake_quant")
    if target_type is None or node.name not in observed_node_names:
        if is_trained:
            _set_module(modules, name, module.to_float())
        return
    _set_module(modules, name, reference_layer(module, target_type, backend_config, is_decomposed))


def convert_standalone_module(
    node: Node, modules: dict[str, Any], model: Any, is_reference: bool, backend_config: Any
) -> None:
    """Converts a module that is a call of its parent, with quantized inputs and results where it has them.

    Args:
        node: the call.
        modules: the modules by name.
        model: the parent.
        is_reference: whether the module keeps its reference layers.
        backend_config: the backend.
    """
    name = str(node.target)
    observed = modules[name]
    facts = observed.meta[OBSERVED]
    inputs = facts.standalone_module_input_quantized_idxs or []
    node.args = tuple(_without_dequantize(arg) if i in inputs else arg for i, arg in enumerate(node.args))
    if facts.standalone_module_output_quantized_idxs:
        _dequantize_behind(model.graph, node)
    _set_module(modules, name, convert(observed, is_reference, None, True, backend_config=backend_config))


def convert_custom_module(
    node: Node,
    graph: Any,
    modules: dict[str, Any],
    custom_module_class_mapping: dict[QuantType, dict[type, type]],
    statically_quantized_custom_module_nodes: set[Any],
) -> None:
    """Replaces an observed module of a class of the user's, with `from_observed`.

    Args:
        node: the call.
        graph: the graph.
        modules: the modules by name.
        custom_module_class_mapping: the classes by kind of quantization and observed class.
        statically_quantized_custom_module_nodes: the calls of replaced modules, which is added to.
    """
    name = str(node.target)
    module = modules[name]
    for kind, table in custom_module_class_mapping.items():
        if type(module) not in table:
            continue
        if kind != QuantType.DYNAMIC and kind != QuantType.WEIGHT_ONLY:
            statically_quantized_custom_module_nodes.add(node)
            node.args = tuple(_without_dequantize(arg) for arg in node.args)
            observer = next(filter(None, (observer_at(user, modules) for user in node.users)), None)
            if observer is not None:
                module.activation_post_process = observer  # from_observed reads the scale of the result
        _set_module(modules, name, convert_parts(table[type(module)], module))
        return
