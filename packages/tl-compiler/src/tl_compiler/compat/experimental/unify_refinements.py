"""Sizes that constraints make the same get the same name."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx.graph import Graph
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.node import map_aggregate
from tl_compiler.fx.tensor_type import TensorType

from .graph_gradual_typechecker import Refine
from .unification import Var, unify

__all__ = [
    "check_for_type_equality",
    "convert_eq",
    "infer_symbolic_types",
    "infer_symbolic_types_single_pass",
    "substitute_all_types",
    "substitute_solution_one_type",
    "unify_eq",
]


def infer_symbolic_types_single_pass(traced: GraphModule) -> None:
    """Names the unknown sizes once, and makes those the same that have to be.

    Args:
        traced: the module; the types of its nodes are changed.
    """
    refine = Refine(traced)
    refine.refine()
    substitute_all_types(traced.graph, unify_eq(refine.constraints))


def infer_symbolic_types(traced: GraphModule) -> None:
    """Names the unknown sizes and expresses each by as few names as possible. Needs the package sympy.

    Args:
        traced: the module, with types checked; the types of its nodes are changed.
    """
    refine = Refine(traced)
    refine.refine()
    substitute_all_types(traced.graph, unify_eq(refine.constraints))
    refine = Refine(traced)
    refine.refine()
    substitute_all_types(traced.graph, unify_eq(refine.constraints))
    refine.symbolic_relations()


def convert_eq(list_of_eq: list[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The two sides of constraints.

    Args:
        list_of_eq: the constraints.

    Returns:
        A tuple of each.

    Example:
        >>> convert_eq([])
        ((), ())
    """
    return tuple(eq.lhs for eq in list_of_eq), tuple(eq.rhs for eq in list_of_eq)


def unify_eq(list_of_eq: list[Any]) -> dict[Any, Any]:
    """The values that variables have to have.

    Args:
        list_of_eq: the constraints.

    Returns:
        The values by variable; none if the constraints contradict each other.

    Example:
        >>> unify_eq([])
        {}
    """
    left, right = convert_eq(list_of_eq)
    bindings = unify(left, right, {})
    return bindings if isinstance(bindings, dict) else {}


def substitute_solution_one_type(mapping: dict[Any, Any], t: Any) -> Any:
    """A type with the values of its variables.

    Args:
        mapping: the values.
        t: the type.

    Returns:
        The type.
    """
    if isinstance(t, Var):
        return mapping.get(t, t)
    if isinstance(t, TensorType):
        return TensorType(tuple(substitute_solution_one_type(mapping, part) for part in t.__args__))
    if isinstance(t, (list, tuple)):
        return type(t)(substitute_solution_one_type(mapping, part) for part in t)
    return t


def substitute_all_types(graph: Graph, mapping: dict[Any, Any]) -> None:
    """Gives the types of all nodes the values of their variables.

    Args:
        graph: the graph, changed in place.
        mapping: the values.
    """
    ends = {}
    for key in mapping:
        value, visited = mapping[key], {key}
        while isinstance(value, Var) and value in mapping and value not in visited:
            visited.add(value)
            value = mapping[value]
        ends[key] = value
    for node in graph.nodes:
        node.type = map_aggregate(node.type, lambda t: substitute_solution_one_type(ends, t))


def check_for_type_equality(g1: Graph, g2: Graph) -> bool:
    """Whether the nodes of two graphs have the same types.

    Args:
        g1, g2: the graphs.

    Returns:
        True if they have.
    """
    return all(n.type == m.type for n, m in zip(g1.nodes, g2.nodes, strict=True))
