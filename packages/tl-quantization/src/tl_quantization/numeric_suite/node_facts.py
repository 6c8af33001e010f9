"""Facts of nodes that are compared: their inputs, the numbers that they take and return, their names in results."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from ..fake_quantize import FakeQuantizeBase
from ..functions import quantize_per_tensor
from ..graph.attributes import read_attribute
from ..nn import quantized as nnq
from ..nn.intrinsic import quantized as nniq
from ..observer_base import ObserverBase
from .measures import compute_cosine_similarity, compute_normalized_l2_error, compute_sqnr
from .results import NSNodeTargetType, NSResultsType

__all__ = [
    "NodeInputOrOutputType",
    "compute_cosine_similarity",
    "compute_normalized_l2_error",
    "compute_sqnr",
    "get_arg_indices_of_inputs_to_log",
    "get_node_first_input_and_output_type",
    "get_node_input_qparams",
    "get_normalized_nth_input",
    "get_number_of_non_param_args",
    "get_target_type_str",
    "maybe_add_missing_fqns",
    "op_type_supports_shadowing",
    "qualified_name",
    "rekey_logger_info_on_node_name_of_model",
    "return_first_non_observer_node",
    "scoped_name",
]

Targets = dict[str, set[NSNodeTargetType]]
_SUMS = (tl_core.add, operator.add)
_PRODUCTS = (tl_core.mul, operator.mul)


class NodeInputOrOutputType(enum.Enum):
    """The numbers that an operator takes or returns."""

    FP32 = enum.auto()
    INT8 = enum.auto()
    FP16 = enum.auto()
    UNKNOWN = enum.auto()
    FP32_OR_INT8 = enum.auto()


_UNKNOWN = (NodeInputOrOutputType.UNKNOWN, NodeInputOrOutputType.UNKNOWN)


def module_of(node: Node, gm: GraphModule) -> Any:
    """The module that a node calls.

    Args:
        node: the node.
        gm: the graph module.
    """
    return gm.get_submodule(str(node.target))


def is_observer(module: Any) -> bool:
    """Whether a module is an observer or a fake quantizer.

    Args:
        module: the module.
    """
    return isinstance(module, (ObserverBase, FakeQuantizeBase))


def normalized_arguments(node: Node, gm: GraphModule) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a node by the names of its signature where that is known, or as they are.

    Args:
        node: the node.
        gm: the graph module.
    """
    try:
        normal = node.normalized_arguments(gm, normalize_to_only_use_kwargs=True)
    except RuntimeError:  # the types of the arguments decide which overload is called
        normal = None
    return (node.args, dict(node.kwargs)) if normal is None else (tuple(normal.args), dict(normal.kwargs))


def get_normalized_nth_input(node: Node, gm: GraphModule, idx: int) -> Any:
    """An argument of a node, counted over those by position and then those by keyword.

    Args:
        node: the node.
        gm: the graph module.
        idx: the position.

    Raises:
        AssertionError: the node has fewer arguments.
    """
    args, kwargs = normalized_arguments(node, gm)
    values = [*args, *kwargs.values()]
    if idx >= len(values):
        raise AssertionError(f"the node {node.name} has {len(values)} arguments, no argument {idx}")
    return values[idx]


def get_node_first_input_and_output_type(
    node: Node, gm: GraphModule, logger_cls: Callable[..., Any], node_type_to_io_type_map: Targets
) -> tuple[NodeInputOrOutputType, NodeInputOrOutputType]:
    """The numbers that a node takes as its first argument, and those that it returns.

    Args:
        node: the node.
        gm: the graph module.
        logger_cls: the class of the loggers.
        node_type_to_io_type_map: the operators by their numbers.
    """
    kinds, table = NodeInputOrOutputType, node_type_to_io_type_map

    def of_source() -> NodeInputOrOutputType:
        source = get_normalized_nth_input(node, gm, 0)
        if not isinstance(source, Node):
            raise AssertionError(f"the first argument of {node.name} must be a node, but got {source!r}")
        return get_node_first_input_and_output_type(source, gm, logger_cls, table)[1]

    if node.op == "call_function":
        for name, kind in (("fp32", kinds.FP32), ("fp16", kinds.FP16), ("int8", kinds.INT8)):
            if node.target in table[f"funs_io_type_{name}"]:
                return kind, kind
        return (of_source(),) * 2 if node.target in table["funs_io_type_fp32_or_int8"] else _UNKNOWN
    if node.op == "call_module":
        module = module_of(node, gm)

        def is_one_of(name: str) -> bool:
            classes: Any = tuple(table[f"mods_io_type_{name}"])
            return isinstance(module, classes)

        is_logger = isinstance(module, logger_cls)  # type: ignore[arg-type]  # a class
        if is_logger or is_observer(module) or is_one_of("fp32_or_int8"):
            return (of_source(),) * 2
        if is_one_of("fp32"):
            return kinds.FP32, kinds.FP32
        return (kinds.INT8, kinds.INT8) if is_one_of("int8") else _UNKNOWN
    if node.op != "call_method":
        return _UNKNOWN
    if node.target == "dequantize":
        return of_source(), kinds.FP32
    if node.target == "to":
        dtype = get_normalized_nth_input(node, gm, 1)
        if dtype is not tl_core.float16:
            raise AssertionError(f"a conversion to {dtype} is no part of a quantized model")
        return of_source(), kinds.FP16
    return (of_source(),) * 2 if node.target in table["meths_io_type_fp32_or_int8"] else _UNKNOWN


_WITH_SCALE = (
    nnq.Linear, nnq.Conv1d, nnq.Conv2d, nnq.Conv3d, nnq.BatchNorm2d, nnq.BatchNorm3d, nnq.ConvTranspose1d,
    nnq.ConvTranspose2d, nnq.ELU, nnq.GroupNorm, nnq.InstanceNorm1d, nnq.InstanceNorm2d, nnq.InstanceNorm3d,
    nnq.LayerNorm, nnq.Hardswish, nnq.LeakyReLU, nnq.ReLU6, nniq.BNReLU2d, nniq.BNReLU3d, nniq.ConvReLU1d,
    nniq.ConvReLU2d, nniq.ConvReLU3d, nniq.LinearReLU,
)  # fmt: skip


def get_node_input_qparams(
    node: Node, gm: GraphModule, node_type_to_io_type_map: Targets
) -> tuple[Any, Any] | None:
    """The scale and the zero point of a node's first input, or None where the graph doesn't say them.

    Args:
        node: the node.
        gm: the graph module.
        node_type_to_io_type_map: the operators by their numbers.
    """
    source = get_normalized_nth_input(node, gm, 0)
    if not isinstance(source, Node):
        return None
    if source.op == "call_function":
        ops = packets.quantized
        if source.target is quantize_per_tensor:
            first = 1
        elif source.target in (ops.add, ops.add_relu, ops.mul, ops.mul_relu):
            first = 2
        else:
            return None
        scale, zero_point = (get_normalized_nth_input(source, gm, i) for i in (first, first + 1))
        return read_attribute(gm, scale), read_attribute(gm, zero_point)
    if source.op != "call_module":
        return None
    module: Any = module_of(source, gm)
    if isinstance(module, _WITH_SCALE):
        return module.scale, module.zero_point
    classes: Any = tuple(node_type_to_io_type_map["mods_io_type_fp32_or_int8"])
    if isinstance(module, classes):
        return get_node_input_qparams(source, gm, node_type_to_io_type_map)
    return None


def return_first_non_observer_node(node: Node, gm: GraphModule) -> Node:
    """A node, or the first one before it that calls no observer.

    Args:
        node: the node.
        gm: the graph module.
    """
    while node.op == "call_module" and is_observer(module_of(node, gm)):
        (source,) = node.args
        if not isinstance(source, Node):
            raise AssertionError(f"the argument of {node.name} must be a node, but got {source!r}")
        node = source
    return node


def get_number_of_non_param_args(node: Node, gm: GraphModule) -> int:
    """The number of a node's arguments that are no parameters: 2 for an LSTM, else 1.

    Args:
        node: the node.
        gm: the graph module.
    """
    is_lstm = node.op == "call_module" and isinstance(module_of(node, gm), nn.LSTM)
    return 2 if is_lstm else 1


def get_arg_indices_of_inputs_to_log(node: Node) -> list[int]:
    """The positions of the arguments whose values are stored: both of a sum or product, else the first.

    Args:
        node: the node.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> add = next(n for n in symbolic_trace(lambda x: 1 + x).graph.nodes if n.op == "call_function")
        >>> get_arg_indices_of_inputs_to_log(add)
        [1]
    """
    if not node.args:
        return []
    ops = packets.quantized
    if node.op == "call_function" and node.target in (*_SUMS, *_PRODUCTS, ops.add, ops.mul):
        return [i for i in range(2) if isinstance(node.args[i], Node)]
    return [0]


def qualified_name(target: Any) -> str:
    """The name of a function or of an object's class, with its module as programs name it.

    Args:
        target: the function, the name of a method, or the module.

    Example:
        >>> import operator
        >>> qualified_name(operator.add), qualified_name("relu")
        ('_operator.add', 'str')
    """
    named = target if hasattr(target, "__qualname__") else type(target)
    module = getattr(named, "__module__", None)
    name = getattr(named, "__qualname__", type(target).__name__)
    return name if module in (None, "builtins", "__builtin__", "") else f"{module}.{name}"


def get_target_type_str(node: Node, gm: GraphModule) -> str:
    """The name of what a node calls, or "" for a node that calls nothing.

    Args:
        node: the node.
        gm: the graph module.
    """
    if node.op in ("call_function", "call_method"):
        return qualified_name(node.target)
    return qualified_name(module_of(node, gm)) if node.op == "call_module" else ""


def scoped_name(node: Node, gm: GraphModule) -> str | None:
    """The name of the module in whose call a node was recorded, or None without such records.

    Args:
        node: the node. An observer counts as the node that it observes.
        gm: the graph module, with `_node_name_to_scope`.
    """
    scopes = getattr(gm, "_node_name_to_scope", None)
    if scopes is None:
        return None
    if node.op == "call_module" and is_observer(module_of(node, gm)):
        node = get_normalized_nth_input(node, gm, 0)
    scope = scopes.get(node.name)
    return None if scope is None else scope[0]


def rekey_logger_info_on_node_name_of_model(results: NSResultsType, model_name: str) -> NSResultsType:
    """The results with the names of one model's nodes as keys.

    Args:
        results: the results.
        model_name: the name of the model. Entries without it keep their keys.
    """
    renamed: NSResultsType = {}
    for key, kinds in results.items():
        name = key
        for models in kinds.values():
            if model_name in models:
                name = models[model_name][0]["ref_node_name"]
        renamed[name] = kinds
    return renamed


def maybe_add_missing_fqns(results: NSResultsType) -> None:
    """Copies the names of modules from the model that has them to the others.

    Args:
        results: the results, which are changed.
    """
    first = next((models for kinds in results.values() for models in kinds.values()), {})
    source = next(
        (name for name, entries in first.items() if entries and entries[0]["fqn"] is not None), None
    )
    if source is None:
        return
    for kinds in results.values():
        for models in kinds.values():
            for name, entries in models.items():
                if name != source:
                    for entry, other in zip(entries, models[source], strict=False):
                        entry["fqn"] = other["fqn"]


def op_type_supports_shadowing(node: Node) -> bool:
    """Whether a copy of a node can run beside another model's node: operators of several tensors can't.

    Args:
        node: the node.
    """
    several = (*_SUMS, *_PRODUCTS, tl_core.cat, tl_core.stack)
    return not (node.op == "call_function" and node.target in several)
