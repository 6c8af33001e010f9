"""Products with the same right factor made one product."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import tl_core
from tl_compiler.fx._symbolic_trace import symbolic_trace
from tl_compiler.fx.node import Node

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: Any, inputs: list[Any]) -> Any:
    """The parts of a product of stacked factors.

    Args:
        result: the product.
        inputs: the factors that were stacked.

    Returns:
        A part for each.

    Example:
        >>> import tl_core
        >>> split_result_tensors(tl_core.arange(6.0).view(3, 2), [tl_core.ones(1, 2), tl_core.ones(2, 2)])
        (tensor([[0., 1.]]), tensor([[2., 3.],
                [4., 5.]]))
    """
    return tl_core.split(result, [x.shape[0] for x in inputs])


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a node may use what another one computes.

    Args:
        a: the node.
        b: the other one.
        search_depth: how many steps are followed; what lies behind counts as yes.

    Returns:
        False if it certainly doesn't.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> x, first, second, *_ = symbolic_trace(lambda x: (x + 1, x * 2)).graph.nodes
        >>> may_depend_on(second, x), may_depend_on(second, first)
        (True, False)
    """
    if a == b:
        return True
    if not a.all_input_nodes:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(used, b, search_depth - 1) for used in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether none of several nodes uses another one.

    Args:
        nodes: the nodes.

    Returns:
        True if so.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> x, first, second, *_ = symbolic_trace(lambda x: (x + 1, x * 2)).graph.nodes
        >>> are_nodes_independent([first, second]), are_nodes_independent([x, second])
        (True, False)
    """
    return not any(may_depend_on(i, j) or may_depend_on(j, i) for i, j in itertools.combinations(nodes, 2))


def merge_matmul(in_mod: Any) -> Any:
    """Computes products with the same right factor as one.

    Args:
        in_mod: the module.

    Returns:
        A traced module with fewer calls of matmul.

    Example:
        >>> made = merge_matmul(lambda x, y, w: (tl_core.matmul(x, w), tl_core.matmul(y, w)))
        >>> sum(node.target is tl_core.matmul for node in made.graph.nodes)
        1
    """
    gm = symbolic_trace(in_mod)
    by_right: dict[Any, list[Node]] = {}
    for node in gm.graph.nodes:
        if node.op != "call_function" or node.target is not tl_core.matmul or len(node.args) != 2:
            continue
        right = node.args[1]
        key = (right.op, right.target) if isinstance(right, Node) and right.op == "get_attr" else right
        by_right.setdefault(key, []).append(node)
    for products in by_right.values():
        lefts = [product.args[0] for product in products]
        if len(products) < 2 or not are_nodes_independent(products):
            continue
        _merge(gm, products, lefts)
    gm.graph.lint()
    gm.recompile()
    return gm


def _merge(gm: Any, products: list[Node], lefts: list[Any]) -> None:
    """Puts one product behind all left factors; the users of the old ones come after it."""
    graph = gm.graph
    right = products[0].args[1]
    behind = max(n for n in (*lefts, right) if isinstance(n, Node))
    first_user = min((user for product in products for user in product.users), default=None)
    if first_user is not None and not behind < first_user:
        return  # a factor comes after a use of another product
    with graph.inserting_after(behind):
        stacked = graph.call_function(tl_core.cat, (lefts,))
    with graph.inserting_after(stacked):
        merged = graph.call_function(tl_core.matmul, (stacked, right))
    with graph.inserting_after(merged):
        parts = graph.call_function(split_result_tensors, (merged, lefts))
    after = parts
    for i, product in enumerate(products):
        with graph.inserting_after(after):
            after = graph.call_function(operator.getitem, (parts, i))
        product.replace_all_uses_with(after)
        graph.erase_node(product)
