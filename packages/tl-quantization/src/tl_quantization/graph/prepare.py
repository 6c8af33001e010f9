"""Observers for a graph: which values are observed, and which observers are one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node

from ..backend_config import BackendConfig, ObservationType, get_native_backend_config
from ..qconfig_mapping import QConfigMapping
from ..quant_type import QuantType
from ..quantize import convert as exchange_layers
from .custom_config import PrepareCustomConfig
from .custom_lstm import insert_dequantize_stubs, is_lstm_of_parts, observe_parts
from .equalize_layers import insert_equalization_observers
from .graph_module import OBSERVED, ObservedGraphModule, ObservedStandaloneGraphModule
from .match_utils import Match, find_matches
from .node_qconfigs import extend_mapping, node_qconfigs
from .observers import dtype_of, insert_observer, is_float, observer_at, reuses_input
from .observers import is_observer as is_observer
from .support import argument_role, arguments, supported_types, types_of_qconfig
from .types_of_nodes import has_tensor, is_observable

__all__ = ["ObservedGraphModuleAttrs", "insert_observers_for_model", "prepare"]


@dataclass
class ObservedGraphModuleAttrs:
    """The facts of `prepare_fx` that `convert_fx` needs.

    Args:
        node_name_to_qconfig: the configuration of each node.
        node_name_to_scope: the name and the class of the module that calls.
        prepare_custom_config: exceptions.
        equalization_node_name_to_qconfig: the configurations of equalization.
        qconfig_mapping: the table of configurations.
        is_qat: whether the model is trained with rounding.
        observed_node_names: the nodes that are quantized.
        is_observed_standalone_module: whether the module is a call of its parent.
        standalone_module_input_quantized_idxs: its quantized inputs.
        standalone_module_output_quantized_idxs: its quantized results.
    """

    node_name_to_qconfig: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]
    prepare_custom_config: PrepareCustomConfig
    equalization_node_name_to_qconfig: dict[str, Any]
    qconfig_mapping: QConfigMapping
    is_qat: bool
    observed_node_names: set[str]
    is_observed_standalone_module: bool = False
    standalone_module_input_quantized_idxs: list[int] | None = None
    standalone_module_output_quantized_idxs: list[int] | None = None


@dataclass
class _Work:
    """A graph that observers are inserted into."""

    model: Any
    modules: dict[str, Any]
    matches: dict[str, Match]
    qconfigs: dict[str, Any]
    custom: PrepareCustomConfig
    backend: BackendConfig
    is_qat: bool
    equalization: dict[str, Any]
    observed: set[str] = field(default_factory=set)
    answers: dict[Any, bool] = field(default_factory=dict)
    # The observers that nodes ask for: of their inputs and of their results.
    outputs: dict[Any, Any] = field(default_factory=dict)
    supported: dict[str, bool] = field(default_factory=dict)


def prepare(
    model: GraphModule,
    qconfig_mapping: Any,
    is_qat: bool,
    node_name_to_scope: dict[str, tuple[str, Any]],
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
    is_standalone_module: bool = False,
    prepare_standalone: Any = None,
) -> GraphModule:
    """The model with observers.

    Args:
        model: a graph module with fused layers.
        qconfig_mapping: the table of configurations, or its dictionary.
        is_qat: whether the model will be trained with rounding.
        node_name_to_scope: the name and the class of the module that calls, by node.
        example_inputs: inputs of the model.
        prepare_custom_config: a `PrepareCustomConfig` or its dictionary.
        _equalization_config: a table of `EqualizationQConfig`, or its dictionary.
        backend_config: a `BackendConfig` or its dictionary, by default the native one.
        is_standalone_module: whether the module is a call of its parent.
        prepare_standalone: the function that prepares modules which are quantized apart.
    """
    custom = prepare_custom_config or PrepareCustomConfig()
    custom = PrepareCustomConfig.from_dict(custom) if isinstance(custom, dict) else custom
    mapping = qconfig_mapping
    mapping = QConfigMapping.from_dict(mapping) if isinstance(mapping, dict) else deepcopy(mapping)
    backend = backend_config or get_native_backend_config()
    backend = BackendConfig.from_dict(backend) if isinstance(backend, dict) else backend
    extend_mapping(mapping, model, backend, is_qat)
    modules = dict(model.named_modules(remove_duplicate=False))
    equalization = _equalization(_equalization_config, model, modules, backend, is_qat, node_name_to_scope)
    qconfigs = node_qconfigs(model.graph, modules, mapping, node_name_to_scope)
    if is_qat:
        _exchange_layers(model, backend)
        modules = dict(model.named_modules(remove_duplicate=False))
    standalone = _standalone_test(custom, modules)
    custom_classes = custom.float_to_observed_mapping.get(QuantType.STATIC, {})
    matches = find_matches(
        model.graph, modules, backend, standalone, custom_classes, lambda config: bool(config.dtype_configs)
    )
    work = _Work(model, modules, matches, qconfigs, custom, backend, is_qat, equalization)
    _prepare_standalone(work, prepare_standalone)
    insert_observers_for_model(work)
    kind = ObservedStandaloneGraphModule if is_standalone_module else ObservedGraphModule
    attributes = ObservedGraphModuleAttrs(
        qconfigs, node_name_to_scope, custom, equalization, mapping, is_qat, work.observed,
        is_standalone_module,
        custom.input_quantized_indexes if is_standalone_module else None,
        custom.output_quantized_indexes if is_standalone_module else None,
    )  # fmt: skip
    result = kind(model, model.graph, set(custom.preserved_attributes))
    result.meta[OBSERVED] = attributes
    return result


def _equalization(
    config: Any, model: GraphModule, modules: Any, backend: BackendConfig, is_qat: bool, scopes: Any
) -> dict[str, Any]:
    """The configuration of equalization of each node that has one."""
    if config is None:
        return {}
    mapping = QConfigMapping.from_dict(config) if isinstance(config, dict) else deepcopy(config)
    extend_mapping(mapping, model, backend, is_qat)
    table = node_qconfigs(model.graph, modules, mapping, scopes)
    return {name: entry for name, entry in table.items() if entry is not None}


def _exchange_layers(model: GraphModule, backend: BackendConfig) -> None:
    """Replaces layers by ones that train with rounding, where they have a configuration."""
    table = {c.pattern: c.qat_module for c in backend.configs if c.qat_module is not None}
    exchange_layers(model, mapping=table, inplace=True, remove_qconfig=False)


def _standalone_test(custom: PrepareCustomConfig, modules: dict[str, Any]) -> Any:
    def test(node: Node) -> bool:
        module = modules.get(str(node.target))
        return (
            str(node.target) in custom.standalone_module_names
            or type(module) in custom.standalone_module_classes
        )

    return test


def _prepare_standalone(work: _Work, prepare_module: Any) -> None:
    for match in {id(m): m for m in work.matches.values()}.values():
        if match.kind != "standalone":
            continue
        name = str(match.last.target)
        module = work.modules[name]
        entry = work.custom.standalone_module_names.get(name)
        entry = entry or work.custom.standalone_module_classes[type(module)]
        qconfig = work.qconfigs[match.last.name]
        inner = entry.qconfig_mapping or QConfigMapping().set_global(qconfig)
        observed = prepare_module(
            module, inner, work.is_qat, entry.example_inputs, entry.prepare_custom_config,
            entry.backend_config or work.backend,
        )  # fmt: skip
        _set_module(work, name, observed)


def _set_module(work: _Work, name: str, module: Any) -> None:
    parent, _, last = name.rpartition(".")
    setattr(work.model.get_submodule(parent), last, module)
    work.modules[name] = module


# ---- observers -------------------------------------------------------------------------------------------------------


def insert_observers_for_model(work: Any) -> None:
    """Inserts the observers of all nodes, in the order of the graph.

    Args:
        work: the graph, its matches and configurations.
    """
    inputs = 0
    for node in list(work.model.graph.nodes):
        if node._erased:
            continue
        if node.op == "placeholder":
            if inputs in work.custom.input_quantized_indexes:
                work.outputs[node] = _quantized_input()
            inputs += 1
        elif node.op == "call_module" and work.matches.get(node.name, None) is None:
            continue
        match = work.matches.get(node.name)
        if match is None:
            continue
        if node is match.root or node is match.last:
            _observe_match(work, node, match)
    work.model.graph.lint()


def _quantized_input() -> Any:
    from ..dtypes import quint8
    from ..rangeless_observers import PlaceholderObserver

    return PlaceholderObserver(dtype=quint8)


def _observe_match(work: _Work, node: Node, match: Match) -> None:
    qconfig = work.qconfigs.get(match.root.name if match.kind == "pattern" else node.name)
    if qconfig is None:
        return
    if match.kind == "standalone":
        work.observed.add(node.name)
        _observe_standalone(work, node)
        return
    if match.kind == "pattern" and not _is_supported(work, match, qconfig):
        return
    work.observed.update(member.name for member in match.members)
    kind = _observation(work, match)
    if kind is ObservationType.INPUT_OUTPUT_NOT_OBSERVED or not has_tensor(match.root.args, work.answers):
        return
    if node is match.root:
        has_siblings = _has_quantized_siblings(work, node)
        _observe_inputs(work, node, match, qconfig)
        config = work.equalization.get(node.name)
        if config is not None:
            insert_equalization_observers(work.model, work.modules, node, config, has_siblings)
    if node is match.last:
        _observe_output(work, node, match, qconfig, kind)


def _has_quantized_siblings(work: _Work, node: Node) -> bool:
    """Whether another quantized node, or an observer, has the first input of a node."""
    source = node.args[0] if node.args else None
    for user in source.users if isinstance(source, Node) else ():
        match = work.matches.get(user.name)
        is_quantized = match is not None and work.qconfigs.get(match.root.name) is not None
        if user is not node and (is_quantized or observer_at(user, work.modules) is not None):
            return True
    return False


def _is_supported(work: _Work, match: Match, qconfig: Any) -> bool:
    key = match.last.name
    if key not in work.supported:
        work.supported[key] = supported_types(match, qconfig, work.answers) is not None
    return work.supported[key]


def _observation(work: _Work, match: Match) -> ObservationType:
    table = match.config._num_tensor_args_to_observation_type
    if not table:
        return match.config.observation_type
    tensors = sum(has_tensor(arg, work.answers) for arg in match.root.args)
    return table.get(tensors, match.config.observation_type)


def _observe_inputs(work: _Work, node: Node, match: Match, qconfig: Any) -> None:
    indices = match.indices
    changed: dict[Any, Any] = {}
    is_first = True
    for index, arg in arguments(node):
        role = argument_role(node, index, indices)
        if role == "bias" and types_of_qconfig(qconfig).bias_dtype is tl_core.float32:
            continue
        if isinstance(index, int) and not is_observable(node, index, arg, work.answers):
            continue
        make = qconfig.weight if role == "weight" else qconfig.activation
        changed[index] = _observe_argument(work, arg, make, role, is_first)
        is_first = False
    node.args = tuple(changed.get(i, arg) for i, arg in enumerate(node.args))
    node.kwargs = {key: changed.get(key, arg) for key, arg in node.kwargs.items()}


def _observe_argument(work: _Work, arg: Any, make: Any, role: str, is_first: bool) -> Any:
    if isinstance(arg, (list, tuple)):
        return type(arg)(_observe_argument(work, part, make, role, is_first) for part in arg)
    if not isinstance(arg, Node) or not has_tensor(arg, work.answers):
        return arg
    observer = make()
    target_type, is_dynamic = dtype_of(observer)
    if is_float(observer) or reuses_input(observer):
        return arg
    if is_dynamic and role == "activation":
        if not is_first:
            return arg
    elif _dtype_at(work, arg) is target_type:
        return arg
    for user in arg.users:
        present = observer_at(user, work.modules)
        if present is not None and dtype_of(present) == (target_type, is_dynamic) and role == "activation":
            return user
    return insert_observer(work.model, work.modules, arg, observer)


def _dtype_at(work: _Work, node: Node) -> Any:
    """The type of a node's value: that of its observer, or floating numbers."""
    present = observer_at(node, work.modules)
    observer = work.outputs.get(node) if present is None else present
    dtype, is_dynamic = dtype_of(observer)
    return tl_core.float32 if is_dynamic else dtype


def _observe_output(work: _Work, node: Node, match: Match, qconfig: Any, kind: ObservationType) -> None:
    observer = qconfig.activation()
    if match.kind == "custom":
        _exchange_custom(work, node, qconfig)
        if is_lstm_of_parts(work.modules[str(node.target)]) and not dtype_of(observer)[1]:
            parts, tuples = insert_dequantize_stubs(work.model, work.modules, node)
            work.outputs.update(
                dict.fromkeys(parts, observer)
            )  # the parts are integers before they are dequantized
            work.answers.update(dict.fromkeys(tuples, False))  # a tuple has no observer
            return
    if is_float(observer) or dtype_of(observer)[1]:
        return
    users = list(node.users)
    call = insert_observer(work.model, work.modules, node, observer)
    for user in users:
        user.replace_input_with(node, call)
    is_shared = kind is ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT and not _has_quantized_input(
        work, node
    )
    if is_shared and not _share_observer(work, match.root, call):
        call.replace_all_uses_with(node)
        work.model.graph.erase_node(call)


def _has_quantized_input(work: _Work, node: Node) -> bool:
    first = node.args[0] if node.args else None
    return isinstance(first, Node) and first.op == "placeholder" and first in work.outputs


def _share_observer(work: _Work, node: Node, call: Node) -> bool:
    """Replaces the observers of a call's inputs and result by that of its first input."""
    first = node.args[0] if node.args else None
    if isinstance(first, (list, tuple)):
        first = first[0] if first else None
    origin = first
    while isinstance(origin, Node) and observer_at(origin, work.modules) is None:
        origin = origin.args[0] if origin.args else None
        if isinstance(origin, (list, tuple)):
            origin = origin[0] if origin else None
    if not isinstance(origin, Node):
        return False
    shared = observer_at(origin, work.modules)
    for index, arg in enumerate(node.args):
        parts = arg if isinstance(arg, (list, tuple)) else [arg]
        for part in parts:
            if is_observable(node, index, part, work.answers) and observer_at(part, work.modules) is not None:
                _set_module(work, str(part.target), shared)
    _set_module(work, str(call.target), shared)
    return True


def _observe_standalone(work: _Work, node: Node) -> None:
    """Inserts observers where the module takes quantized inputs from floating ones."""
    inner = work.modules[str(node.target)]
    quantized = inner.meta[OBSERVED].standalone_module_input_quantized_idxs or []
    qconfig = work.qconfigs[node.name]
    node.args = tuple(
        _observe_argument(work, arg, qconfig.activation, "activation", True) if i in quantized else arg
        for i, arg in enumerate(node.args)
    )
    if 0 in (inner.meta[OBSERVED].standalone_module_output_quantized_idxs or []):
        work.outputs[node] = _quantized_input()


def _exchange_custom(work: _Work, node: Node, qconfig: Any) -> None:
    module = work.modules[str(node.target)]
    table: dict[type, Any] = dict(work.custom.float_to_observed_mapping[QuantType.STATIC])
    if type(module) not in table:  # an earlier call of the module has exchanged it
        return
    module.qconfig = qconfig
    observed = observe_parts(table[type(module)], module)
    _set_module(work, str(node.target), observed)
