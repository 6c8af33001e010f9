"""The insertion of observers into a model with annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_compiler.fx import GraphModule, Node

from ..graph.observers import insert_observer
from ..quantizer.quantizer import EdgeOrNode
from .graph_facts import observer_of
from .numeric_debugger import copy_handle
from .observer_groups import group_numbers, observers_of_values, specifications

__all__ = ["OBSERVED", "prepare"]

#: The entry of `meta` of a model with observers.
OBSERVED = "_exported_model_with_observers"


class _Insertion:
    """Observers that are inserted into a graph.

    Args:
        model: the model.
        observers: the observer of each value.
    """

    def __init__(self, model: GraphModule, observers: dict[EdgeOrNode, Any]) -> None:
        self.model, self.observers = model, observers
        self.modules: dict[str, Any] = dict(model.named_modules(remove_duplicate=False))

    def call(self, node: Node, observer: Any) -> Node:
        """The call of an observer behind a node, an earlier one of the same observer first."""
        for user in node.users:
            if observer_of(user, self.model) is observer:
                return user
        result = self._new_call(node, observer)
        copy_handle(node, result)
        return result

    def _new_call(self, node: Node, observer: Any) -> Node:
        if all(module is not observer for module in self.modules.values()):
            return insert_observer(self.model, self.modules, node, observer)
        number = 0
        while hasattr(self.model, f"activation_post_process_{number}"):
            number += 1
        name = f"activation_post_process_{number}"
        setattr(self.model, name, observer)
        self.modules[name] = observer
        with self.model.graph.inserting_after(node):
            return self.model.graph.create_node("call_module", name, (node,), {})

    def source(self, node: Node) -> Node:
        """The node that an observer's call observes."""
        while observer_of(node, self.model) is not None:
            node = node.args[0]
        return node

    def argument(self, arg: Any, user: Node) -> Any:
        """An argument of a node, with the observer of its edge."""
        if isinstance(arg, (list, tuple)):
            return type(arg)([self.argument(part, user) for part in arg])
        if not isinstance(arg, Node):
            return arg
        source = self.source(arg)
        observer = self.observers.get((source, user))
        if observer is None or self.observers.get(source) is observer:
            return arg
        return self.call(arg, observer)

    def visit(self, node: Node) -> None:
        """Inserts the observers of the arguments and of the result of a node."""
        if any(isinstance(value, tuple) and value[1] is node for value in self._edges.get(node, ())):
            node.args = tuple(self.argument(arg, node) for arg in node.args)
            node.kwargs = {key: self.argument(arg, node) for key, arg in node.kwargs.items()}
        observer = self.observers.get(node)
        if observer is None:
            return
        users = list(node.users)
        call = self.call(node, observer)
        for user in users:
            if user is not call:
                user.replace_input_with(node, call)

    def run(self) -> None:
        """Inserts all observers."""
        self._edges: dict[Node, list[Any]] = {}
        for value in self.observers:
            if isinstance(value, tuple):
                self._edges.setdefault(value[1], []).append(value)
        for node in list(self.model.graph.nodes):
            self.visit(node)


def prepare(
    model: GraphModule,
    node_name_to_scope: dict[str, tuple[str, type]] | None = None,
    is_qat: bool = False,
    obs_or_fq_callback: Callable[[GraphModule, dict[EdgeOrNode, Any]], None] | None = None,
) -> GraphModule:
    """A model with observers at the values that a quantizer has annotated.

    Args:
        model: a model with annotations.
        node_name_to_scope: the module of each node, which is stored in the model.
        is_qat: whether observers round, so that training adapts to it.
        obs_or_fq_callback: a function that changes the table of observers ahead of their insertion.
    """
    specs = specifications(model)
    observers = observers_of_values(group_numbers(specs), specs, is_qat)
    if obs_or_fq_callback is not None:
        obs_or_fq_callback(model, observers)
    _Insertion(model, observers).run()
    result = GraphModule(model, model.graph)
    result.meta[OBSERVED] = {"is_qat": is_qat, "node_name_to_scope": node_name_to_scope or {}}
    return result
