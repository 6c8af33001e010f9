"""Functions over nodes of graphs and attributes of modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_compiler.fx import Graph, GraphModule, Node
from tl_core.operators import packets
from tl_nn import functional as F

from ..dtypes import qint8
from ..graph.prepare import ObservedGraphModuleAttrs as ObservedGraphModuleAttrs
from ..graph.types_of_nodes import has_tensor
from ..quant_type import QuantType

__all__ = [
    "NodeInfo",
    "all_node_args_except_first",
    "all_node_args_have_no_tensors",
    "assert_and_get_unique_device",
    "collect_producer_nodes",
    "create_getattr_from_value",
    "create_node_from_old_node_preserve_meta",
    "get_custom_module_class_keys",
    "get_linear_prepack_op_for_dtype",
    "get_new_attr_name_with_prefix",
    "get_qconv_prepack_op",
    "get_skipped_module_name_and_classes",
    "graph_module_from_producer_nodes",
    "maybe_get_next_module",
    "node_arg_is_weight",
    "return_arg_list",
]


@dataclass(frozen=True)
class NodeInfo:
    """The kind of a node and its target.

    Args:
        op: the kind.
        target: the function, or the name of the method or module.

    Example:
        >>> NodeInfo("call_method", "view").op
        'call_method'
    """

    op: str
    target: Any


def get_custom_module_class_keys(custom_module_mapping: dict[QuantType, dict[type, type]]) -> list[Any]:
    """The classes that a table replaces, of all kinds of quantization.

    Args:
        custom_module_mapping: the tables by kind.

    Example:
        >>> get_custom_module_class_keys({QuantType.STATIC: {int: float}})
        [<class 'int'>]
    """
    return list(dict.fromkeys(kind for table in custom_module_mapping.values() for kind in table))


def get_linear_prepack_op_for_dtype(dtype: Any) -> Any:
    """The operator that packs the weight of a linear layer.

    Args:
        dtype: `qint8` or float16.

    Raises:
        Exception: another type.

    Example:
        >>> from tl_quantization import qint8
        >>> get_linear_prepack_op_for_dtype(qint8)
        <OpOverloadPacket(op='quantized.linear_prepack')>
    """
    if dtype is qint8:
        return packets.quantized.linear_prepack
    if dtype is tl_core.float16:
        return packets.quantized.linear_prepack_fp16
    raise Exception(f"can't get linear prepack op for dtype: {dtype}")  # PyTorch's type


def get_qconv_prepack_op(conv_op: Callable[..., Any]) -> Any:
    """The operator that packs the weight of a convolution.

    Args:
        conv_op: the function.

    Raises:
        AssertionError: it is no convolution.

    Example:
        >>> from tl_nn import functional as F
        >>> get_qconv_prepack_op(F.conv2d)
        <OpOverloadPacket(op='quantized.conv2d_prepack')>
    """
    names = {getattr(F, name): name for name in _CONVS.split()}
    if conv_op not in names:
        raise AssertionError(f"Didn't find prepack op for {conv_op}")
    return getattr(packets.quantized, f"{names[conv_op]}_prepack")


_CONVS = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"


def get_new_attr_name_with_prefix(prefix: str) -> Callable[[Any], str]:
    """A function that returns a name with a prefix that a module doesn't have yet.

    Args:
        prefix: the prefix. Dots become underscores.

    Example:
        >>> import tl_nn
        >>> get_new_attr_name_with_prefix("scale.")(tl_nn.Module())
        'scale_0'
    """
    prefix = prefix.replace(".", "_")

    def new_name(module: Any) -> str:
        number = 0
        while hasattr(module, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    return new_name


def collect_producer_nodes(node: Node) -> list[Node] | None:
    """The nodes that a value is computed from, the last one first, or None if an input of the graph is one of them.

    Args:
        node: the node with the value.
    """
    nodes, frontier = [node], [node]
    while frontier:
        for arg in frontier.pop().all_input_nodes:
            if arg.op == "placeholder":
                return None
            nodes.append(arg)
            if not (arg.op == "call_function" and arg.target is getattr):
                frontier.append(arg)
    return nodes


def graph_module_from_producer_nodes(root: GraphModule, producer_nodes: list[Node]) -> GraphModule:
    """A graph module without inputs that computes a value.

    Args:
        root: the graph module of the nodes.
        producer_nodes: the nodes of `collect_producer_nodes`.

    Raises:
        AssertionError: there are no nodes.
    """
    if not producer_nodes:
        raise AssertionError("list of producer nodes can not be empty")
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in reversed(producer_nodes):
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(copies[producer_nodes[0]])
    return GraphModule(root, graph)


def assert_and_get_unique_device(module: Any) -> Any:
    """The device of a module's tensors, or None without tensors.

    Args:
        module: the module.

    Raises:
        AssertionError: the tensors are on several devices.
    """
    devices = {tensor.device for tensor in (*module.parameters(), *module.buffers())}
    if len(devices) > 1:
        raise AssertionError(
            f"the module's tensors must be on one device, but are on {sorted(map(str, devices))}"
        )
    return next(iter(devices), None)


def create_getattr_from_value(module: Any, graph: Graph, prefix: str, value: Any, device: Any = None) -> Node:
    """Stores a value as a buffer and adds a node that reads it.

    Args:
        module: the module.
        graph: the graph.
        prefix: the beginning of the name.
        value: the number or tensor.
        device: the device of the buffer, by default that of the module.
    """
    name = get_new_attr_name_with_prefix(prefix)(module)
    device = assert_and_get_unique_device(module) if device is None else device
    tensor = value.detach().clone() if isinstance(value, tl_core.Tensor) else tl_core.tensor(value)
    module.register_buffer(name, tensor if device is None else tensor.to(device))
    return graph.create_node("get_attr", name)


def all_node_args_have_no_tensors(node: Node, modules: dict[str, Any], cache: dict[Any, bool]) -> bool:
    """Whether no argument of a node is a tensor.

    Args:
        node: the node.
        modules: the modules by name.
        cache: answers about other nodes.
    """
    return not has_tensor(node, {key: not value for key, value in cache.items()})


def all_node_args_except_first(node: Node) -> list[int]:
    """The positions of all arguments but the first.

    Args:
        node: the node.
    """
    return list(range(1, len(node.args)))


def return_arg_list(arg_indices: list[int]) -> Callable[[Node], list[int]]:
    """A function that returns those of some positions that a node has.

    Args:
        arg_indices: the positions.
    """
    return lambda node: [index for index in arg_indices if index < len(node.args)]


def maybe_get_next_module(
    node: Node,
    modules: dict[str, Any],
    target_module_type: type | None = None,
    target_functional_type: Any = None,
) -> Node | None:
    """The first user of a node that calls a module of a class, or a function.

    Args:
        node: the node.
        modules: the modules by name.
        target_module_type: the class.
        target_functional_type: the function.
    """
    for user in node.users:
        if user.op == "call_module" and target_module_type is not None:
            if isinstance(modules[str(user.target)], target_module_type):
                return user
        elif (
            user.op == "call_function"
            and target_functional_type is not None
            and user.target == target_functional_type
        ):
            return user
    return None


def create_node_from_old_node_preserve_meta(
    quantized_graph: Graph, create_node_args: tuple[Any, ...], old_node: Node
) -> Node:
    """Adds a node with the metadata of another one.

    Args:
        quantized_graph: the graph.
        create_node_args: the arguments of `Graph.create_node`.
        old_node: the other node.
    """
    node = quantized_graph.create_node(*create_node_args)
    node.meta = dict(old_node.meta)
    return node


def get_skipped_module_name_and_classes(
    prepare_custom_config: Any, is_standalone_module: bool
) -> tuple[list[str], list[Any]]:
    """The modules that are one call of the graph, by name and by class.

    Args:
        prepare_custom_config: the exceptions.
        is_standalone_module: whether the graph is that of a module that is quantized apart.
    """
    config = prepare_custom_config
    names, classes = list(config.non_traceable_module_names), list(config.non_traceable_module_classes)
    if not is_standalone_module:  # such a module has none within
        names += list(config.standalone_module_names)
        classes += list(config.standalone_module_classes)
        classes += get_custom_module_class_keys(config.float_to_observed_mapping)
    return names, classes


def _get_module(node: Node, named_modules: dict[str, Any]) -> Any:
    """The module that a node calls, or None."""
    return named_modules.get(str(node.target)) if node.op == "call_module" else None


def node_arg_is_weight(node: Node, arg: Any) -> bool:
    """True if an argument of a call is its weight, by the metadata or by its name.

    Args:
        node: the call.
        arg: the argument.
    """
    index = node.meta.get("target_dtype_info", {}).get("weight_index")
    if index is not None and index < len(node.args) and node.args[index] is arg:
        return True
    return node.kwargs.get("weight") is arg
