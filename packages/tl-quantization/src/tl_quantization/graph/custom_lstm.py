"""LSTMs made of parts in a graph: their nested results are dequantized one by one."""

from __future__ import annotations

import operator
from typing import Any

from tl_compiler.fx import GraphModule, Node

from ..nn import quantizable, quantized
from ..quantize import convert as exchange_layers
from ..quantize import prepare as observe_layers
from ..quantize import propagate_qconfig_
from ..stubs import DeQuantStub

__all__ = ["convert_parts", "insert_dequantize_stubs", "is_lstm_of_parts", "observe_parts"]

# The functions of this package. Those of a program's own subclass observe and convert their parts themselves.
_FROM_FLOAT = (quantizable.LSTM.from_float.__func__, quantizable.MultiheadAttention.from_float.__func__)  # type: ignore[attr-defined]  # class methods
_FROM_OBSERVED = (quantized.LSTM.from_observed.__func__, quantized.MultiheadAttention.from_observed.__func__)  # type: ignore[attr-defined]  # class methods


def is_lstm_of_parts(module: Any) -> bool:
    """Whether a module is an LSTM of linear layers and gates.

    Args:
        module: the module.
    """
    return isinstance(module, quantizable.LSTM)


def observe_parts(kind: Any, module: Any) -> Any:
    """The observed module of a class for a float module with a configuration.

    Args:
        kind: the class.
        module: the float module.
    """
    observed = kind.from_float(module)
    if getattr(kind.from_float, "__func__", None) in _FROM_FLOAT:
        return observe_layers(observed, inplace=True)
    propagate_qconfig_(observed)
    return observed


def convert_parts(kind: Any, module: Any) -> Any:
    """The quantized module of a class for an observed module.

    Args:
        kind: the class.
        module: the observed module.
    """
    if getattr(kind.from_observed, "__func__", None) in _FROM_OBSERVED:
        module = exchange_layers(module)
    return kind.from_observed(module)


def insert_dequantize_stubs(
    model: GraphModule, modules: dict[str, Any], node: Node
) -> tuple[list[Node], list[Node]]:
    """Dequantizes the parts of an LSTM's result `(output, (state, cell))`.

    Users of a part get the dequantized part. Users of a tuple get a tuple of dequantized parts.

    Args:
        model: the graph module, which gets the stubs as parts.
        modules: the modules by name, which get them, too.
        node: the call of the LSTM.

    Returns:
        The dequantized parts, and the tuples.
    """
    users, graph = list(node.users), model.graph
    last = node

    def write(target: Any, *args: Any) -> Node:
        nonlocal last
        with graph.inserting_after(last):
            last = graph.create_node("call_function", target, args, {})
        return last

    def stub(source: Node) -> Node:
        nonlocal last
        number = 0
        while hasattr(model, f"{node.name}_dequant_{number}"):
            number += 1
        name = f"{node.name}_dequant_{number}"
        modules[name] = DeQuantStub()
        setattr(model, name, modules[name])
        with graph.inserting_after(last):
            last = graph.create_node("call_module", name, (source,), {})
        return last

    output = stub(write(operator.getitem, node, 0))
    states = write(operator.getitem, node, 1)
    parts = [stub(write(operator.getitem, states, i)) for i in range(2)]
    state = write(tuple, parts)
    pair = write(tuple, [output, state])
    for user in users:
        if user.target is not operator.getitem:
            user.replace_input_with(node, pair)
        elif user.args[1] == 0:
            _replace(user, output)
        else:
            for inner in list(user.users):
                if inner.target is operator.getitem:
                    _replace(inner, parts[int(inner.args[1])])
            _replace(user, state)
    return [output, *parts], [state, pair]


def _replace(node: Node, other: Node) -> None:
    node.replace_all_uses_with(other)
    node.graph.erase_node(node)
