"""What is known of the origin of nodes, and how it survives transformations of a graph."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .graph import Graph
    from .node import Node

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "format_stack",
    "get_current_meta",
    "get_graph_provenance_json",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

# What new nodes take over from the node that is being transformed.
_COPY_META_FIELDS = [
    "nn_module_stack",
    "torch_fn",
    "source_fn_stack",
    "original_aten",
    "recompute",
    "ac_graph_id",
    "has_backward_hook",
    "from_node",
    "quantization_tag",
    "_numeric_debug_handle",
    "custom",
    "partitioner_tag",
    "arg_kwarg_vals",
]

current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


class NodeSourceAction(Enum):
    """How a node came from another one.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> NodeSourceAction.REPLACE.name
        'REPLACE'
    """

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """From which node of which graph a node was made, by which pass; and that one's own origins.

    Args:
        node: the node; None where there is none.
        pass_name: the pass.
        action: how it came, one or several.
    """

    def __init__(
        self,
        node: Node | None,
        pass_name: str = "",
        action: NodeSourceAction | list[NodeSourceAction] | None = None,
    ) -> None:
        self.pass_name = pass_name
        self.action: list[NodeSourceAction] = (
            [] if action is None else [action] if isinstance(action, NodeSourceAction) else list(action)
        )
        self.name = node.name if node is not None else ""
        self.target = (node.target if isinstance(node.target, str) else str(node.target)) if node else ""
        self.graph_id = id(node.graph) if node is not None else -1
        self.node_info = (
            {"name": self.name, "target": self.target, "graph_id": self.graph_id} if node else None
        )
        self.from_node: list[NodeSource] = copy.deepcopy(node.meta.get("from_node", [])) if node else []

    def _get_action_string(self) -> str:
        return "+".join(action.name.lower() for action in self.action)

    def __repr__(self) -> str:
        return self.print_readable()

    def print_readable(self, indent: int = 0) -> str:
        """The origins as text, each level further to the right.

        Args:
            indent: how deep the first line stands.

        Returns:
            The text.
        """
        if indent > 9:
            return ""
        line = (
            " "
            * 4
            * indent
            + f"(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, "
            f"graph_id={self.graph_id})\n"
        )
        return line + "".join(source.print_readable(indent + 1) for source in self.from_node)

    def to_dict(self) -> dict[str, Any]:
        """The origins as plain data.

        Returns:
            A dictionary of names, texts and further dictionaries.
        """
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._get_action_string(),
            "from_node": [source.to_dict() for source in self.from_node],
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Inside, nodes that are made take the origin that `set_current_meta` names.

    Args:
        enable: whether they do.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> with traceback.preserve_node_meta():
        ...     traceback.has_preserved_node_meta()
        ...
        True
    """
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta.copy()
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


def set_stack_trace(stack: list[str]) -> None:
    """Sets the lines of the program that new nodes come from.

    Args:
        stack: the lines.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> traceback.set_stack_trace([])
    """
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Inside, nodes that are made under `preserve_node_meta` get entries in their `meta["custom"]`.

    Args:
        annotation_dict: the entries.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> with traceback.preserve_node_meta(), traceback.annotate({"stage": 1}):
        ...     traceback.has_preserved_node_meta()
        ...
        True
    """
    had = "custom" in current_meta
    before = copy.copy(current_meta.get("custom", {}))
    try:
        current_meta["custom"] = {**before, **annotation_dict}
        yield
    finally:
        if had:
            current_meta["custom"] = before
        else:
            current_meta.pop("custom", None)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Sets the number of the backward node that new nodes belong to.

    Args:
        seq_nr: the number.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> traceback.set_grad_fn_seq_nr(3)
        >>> traceback.reset_grad_fn_seq_nr()
    """
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", []), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Takes the last `set_grad_fn_seq_nr` back.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> traceback.set_grad_fn_seq_nr(3)
        >>> traceback.reset_grad_fn_seq_nr()
    """
    if not should_preserve_node_meta:
        return
    depth = current_meta.get("in_grad_fn", 0)
    if depth < 1:
        raise AssertionError("reset_grad_fn_seq_nr: no number was set")
    if depth == 1:
        del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]
    else:
        current_meta["in_grad_fn"] = depth - 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]


def format_stack() -> list[str]:
    """The lines of the program that is being traced, the innermost last.

    Returns:
        The lines.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> isinstance(traceback.format_stack(), list)
        True
    """
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    import traceback

    return traceback.format_list(traceback.extract_stack()[:-1])


def has_preserved_node_meta() -> bool:
    """Whether new nodes take over an origin.

    Returns:
        True inside `preserve_node_meta`.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> traceback.has_preserved_node_meta()
        False
    """
    return should_preserve_node_meta


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Inside, new nodes come from this one, under `preserve_node_meta`.

    Args:
        node: the node.
        pass_name: the pass that makes new ones of it.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> from tl_compiler.fx import symbolic_trace
        >>> node = next(iter(symbolic_trace(lambda x: x + 1).graph.nodes))
        >>> with traceback.preserve_node_meta(), traceback.set_current_meta(node):
        ...     traceback.has_preserved_node_meta()
        ...
        True
    """
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before = current_meta
    current_meta = node.meta.copy()
    current_meta["from_node"] = [NodeSource(node, pass_name, NodeSourceAction.CREATE)]
    try:
        yield
    finally:
        current_meta = before


def get_current_meta() -> dict[str, Any]:
    """The origin that new nodes take over.

    Returns:
        Its entries.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> traceback.get_current_meta()
        {}
    """
    return current_meta


def get_graph_provenance_json(graph: Graph) -> dict[str, Any]:
    """The origins of all nodes that compute something.

    Args:
        graph: the graph.

    Returns:
        By name of the node: a list of origins as plain data.

    Example:
        >>> from tl_compiler.fx import traceback
        >>> from tl_compiler.fx import symbolic_trace
        >>> type(traceback.get_graph_provenance_json(symbolic_trace(lambda x: x + 1).graph)).__name__
        'dict'
    """
    return {
        node.name: [source.to_dict() for source in node.meta.get("from_node", [])]
        for node in graph.nodes
        if node.op != "placeholder" and node.op != "output"
    }
