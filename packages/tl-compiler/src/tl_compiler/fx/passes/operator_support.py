"""Which nodes a backend can run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

import tl_core
import tl_nn

from ..graph_module import GraphModule
from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]

TargetTypeName = str
SupportedArgumentDTypes = tuple[Any, dict[str, Any]] | None
SupportDict = Mapping[TargetTypeName, SupportedArgumentDTypes]


class OperatorSupportBase(abc.ABC):
    """Says of a node whether a backend runs it.

    Example:
        >>> issubclass(OperatorSupport, OperatorSupportBase)
        True
    """

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether the backend runs a node.

        Args:
            submodules: the modules that the graph calls, by path.
            node: the node.

        Returns:
            True if it does.
        """


class OperatorSupport(OperatorSupportBase):
    """Says it by a table of targets, with the dtypes of arguments that each takes.

    Args:
        support_dict: from the name of a target to None for all dtypes, or a pair: a sequence of the dtypes of each
            positional argument, and a dictionary of those of keyword arguments.

    Example:
        >>> OperatorSupport({"call_module.relu": None}).__class__.__name__
        'OperatorSupport'
    """

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether the table has a node's target and its dtypes.

        Args:
            submodules: the modules that the graph calls, by path.
            node: the node.

        Returns:
            True if it has.
        """
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        positional, keywords = dtypes
        for allowed, argument in zip(positional, node.args, strict=False):
            if isinstance(argument, Node) and _get_arg_dtype(argument) not in allowed:
                return False
        for name, allowed in keywords.items():
            argument = node.kwargs.get(name)
            if isinstance(argument, Node) and _get_arg_dtype(argument) not in allowed:
                return False
        return True


IsNodeSupported = Callable[[Mapping[str, Any], Node], bool]


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Makes an object of a function.

    Args:
        is_node_supported: the function.

    Returns:
        The object.

    Example:
        >>> calls = create_op_support(lambda submodules, node: node.op == "call_function")
        >>> type(calls).__name__
        'FunctionalOperatorSupport'
    """

    class FunctionalOperatorSupport(OperatorSupportBase):
        """Asks the function."""

        def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
            """What the function says."""
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supported is what all of several support.

    Args:
        op_support: they.

    Returns:
        One for them.

    Example:
        >>> never = create_op_support(lambda submodules, node: False)
        >>> always = create_op_support(lambda submodules, node: True)
        >>> chain(never, always).is_node_supported({}, None)
        False
    """
    return create_op_support(
        lambda submodules, node: all(one.is_node_supported(submodules, node) for one in op_support)
    )


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supported is what one of several supports.

    Args:
        op_support: they.

    Returns:
        One for them.

    Example:
        >>> never = create_op_support(lambda submodules, node: False)
        >>> always = create_op_support(lambda submodules, node: True)
        >>> any_chain(never, always).is_node_supported({}, None)
        True
    """
    return create_op_support(
        lambda submodules, node: any(one.is_node_supported(submodules, node) for one in op_support)
    )


class OpSupports:
    """Ready-made conditions.

    Example:
        >>> type(OpSupports.decline_if_node_in_names({"add"})).__name__
        'FunctionalOperatorSupport'
    """

    @classmethod
    def decline_if_input_dtype(cls, dtype: tl_core.dtype) -> OperatorSupportBase:
        """Not supported is a node one of whose arguments has a dtype.

        Args:
            dtype: the dtype.

        Returns:
            The condition.
        """
        return create_op_support(
            lambda submodules, node: all(
                _get_arg_dtype(argument) != dtype for argument in node.all_input_nodes
            )
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Not supported are nodes of some names.

        Args:
            disallow_set: the names.

        Returns:
            The condition.
        """
        return create_op_support(lambda submodules, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    """The dtype that shape propagation found."""
    if not isinstance(arg, Node):
        raise AssertionError(f"Expected fx.Node, got {type(arg)}")
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else arg.meta.get("type")


def _modules_of(module: GraphModule) -> dict[str, tl_nn.Module]:
    return dict(module.named_modules())
