"""The backward pass of a stage, whole or in two parts: gradients of inputs first, gradients of weights later.

The first part runs the nodes of the graph between the outputs and the inputs, and stores the gradient that enters each
node where a way to a weight branches off. The second part starts from these nodes, so no node runs twice for one
purpose. A weight that several such nodes use gets its gradient from the outputs in the second part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tl_autograd import backward, grad
from tl_autograd.graph import GradientEdge, get_gradient_edge
from tl_core import Tensor

__all__ = ["stage_backward", "stage_backward_input", "stage_backward_weight"]


def _roots(outputs: Any, grads: Any) -> tuple[list[Tensor], list[Tensor | None]]:
    """The outputs that require gradients, with flat_grads."""
    flat = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    flat_grads = [None] * len(flat) if grads is None else list(grads)
    pairs = [
        (output, g)
        for output, g in zip(flat, flat_grads, strict=True)
        if isinstance(output, Tensor) and (output.requires_grad or output.grad_fn is not None)
    ]
    return [output for output, _ in pairs], [g for _, g in pairs]


def stage_backward(
    stage_output: Any,
    output_grads: Any,
    input_values: Iterable[Any],
    outputs_with_grads_idxs: list[int] | None = None,
) -> tuple[Tensor | None, ...]:
    """The whole backward pass of a stage: gradients of weights accumulate, gradients of inputs are returned.

    Args:
        stage_output: the outputs, or the loss.
        output_grads: the gradient of each output; None for a loss.
        input_values: the inputs.
        outputs_with_grads_idxs: the outputs that have gradients; all that require some by default.

    Returns:
        The gradient of each input, None for those that get none.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> stage_backward((x * 3).sum(), None, [x])
        (tensor([3., 3.]),)
    """
    if outputs_with_grads_idxs is not None:
        stage_output = [stage_output[i] for i in outputs_with_grads_idxs]
        output_grads = None if output_grads is None else [output_grads[i] for i in outputs_with_grads_idxs]
    outputs, grads = _roots(stage_output, output_grads)
    if outputs:
        backward(outputs, grads)
    return tuple(_take_gradient(value) for value in input_values)


def _take_gradient(value: Any) -> Tensor | None:
    if not isinstance(value, Tensor) or not value.requires_grad:
        return None
    gradient, value.grad = value.grad, None
    return gradient


class _Branches(NamedTuple):
    """The nodes where ways to weights leave the ways to inputs.

    Args:
        on_way: the nodes from which an input can be reached.
        weights: for each node on the way, the weights that it reaches by ways that leave.
        own: for each output that reaches no input, the weights that it reaches.
    """

    on_way: set[Any]
    weights: dict[Any, list[Tensor]]
    own: dict[int, list[Tensor]]


def _find_branches(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], weights: Sequence[Tensor]
) -> _Branches:
    roots = [get_gradient_edge(output).node for output in outputs]
    children, order = _graph(roots)
    targets = {get_gradient_edge(value).node for value in inputs}
    leaves = {get_gradient_edge(weight).node: weight for weight in weights}
    on_way: set[Any] = set()
    reached: dict[Any, dict[Any, Tensor]] = {}  # the weights of nodes off the way
    for node in order:  # from the leaves up
        if node in targets or any(child in on_way for child in children[node]):
            on_way.add(node)
            continue
        own = {node: leaves[node]} if node in leaves else {}
        for child in children[node]:
            own.update(reached[child])
        reached[node] = own
    branches = {}
    for node in on_way:
        weights_below: dict[Any, Tensor] = {}
        for child in children[node]:
            weights_below.update(reached.get(child, {}))
        if weights_below:
            branches[node] = list(weights_below.values())
    own_outputs = {
        number: list(reached[root].values())
        for number, root in enumerate(roots)
        if root not in on_way and reached[root]
    }
    return _Branches(on_way, branches, own_outputs)


def _graph(roots: Sequence[Any]) -> tuple[dict[Any, list[Any]], list[Any]]:
    """The children of each node, and the nodes in an order in which children come first."""
    children: dict[Any, list[Any]] = {}
    order: list[Any] = []
    stack = [(root, False) for root in roots]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in children:
            children[node] = [child for child, _ in node.next_functions if child is not None]
            stack.append((node, True))
            stack.extend((child, False) for child in children[node] if child not in children)
    return children, order


def stage_backward_input(
    stage_outputs_or_loss: Sequence[Tensor],
    output_grads: Sequence[Tensor | None] | None,
    input_values: Sequence[Any],
    weights: Iterable[Tensor],
) -> tuple[tuple[Tensor | None, ...], list[dict[str, Any]]]:
    """The first part of the backward pass: gradients of the inputs.

    Args:
        stage_outputs_or_loss: the outputs, or the loss.
        output_grads: the gradient of each output; None for a loss.
        input_values: the inputs. The gradients are entered in `grad` as well.
        weights: the weights whose gradients the second part computes.

    Returns:
        The gradient of each input, and what the second part needs: for each group of weights, the edges of the graph
        that it starts from and the gradients there.

    Example:
        >>> import tl_core
        >>> x, w = tl_core.ones(2, requires_grad=True), tl_core.ones(2, requires_grad=True)
        >>> gradients, groups = stage_backward_input([(x * w * w).sum()], None, [x], [w])
        >>> gradients, w.grad
        ((tensor([1., 1.]),), None)
        >>> stage_backward_weight([w], groups)
        (tensor([2., 2.]),)
    """
    outputs, grads = _roots(stage_outputs_or_loss, output_grads)
    trained = [weight for weight in weights if weight.requires_grad]
    inputs = [value for value in input_values if isinstance(value, Tensor) and value.requires_grad]
    if not outputs:
        return tuple(None for _ in input_values), []
    branches = _find_branches(outputs, inputs, trained)
    entering: dict[Any, Any] = {}
    handles = [node.register_prehook(_store(entering, node)) for node in branches.weights]
    try:
        reached = [value for value in inputs if get_gradient_edge(value).node in branches.on_way]
        results = grad(outputs, reached, grads, retain_graph=True, allow_unused=True) if reached else ()
    finally:
        for handle in handles:
            handle.remove()
    for value, gradient in zip(reached, results, strict=True):
        if gradient is not None:
            value.grad = gradient if value.grad is None else value.grad + gradient
    by_input = {id(value): gradient for value, gradient in zip(reached, results, strict=True)}
    groups = _groups(branches, outputs, grads, entering)
    return tuple(by_input.get(id(value)) for value in input_values), groups


def _store(entering: dict[Any, Any], node: Any) -> Any:
    def hook(gradients: Any) -> None:
        entering[node] = gradients

    return hook


def _groups(
    branches: _Branches, outputs: Sequence[Tensor], grads: Sequence[Tensor | None], entering: dict[Any, Any]
) -> list[dict[str, Any]]:
    """The starts of the second part."""
    uses: dict[int, int] = {}
    for weights_below in (*branches.weights.values(), *branches.own.values()):
        for weight in weights_below:
            uses[id(weight)] = uses.get(id(weight), 0) + 1
    shared: dict[int, Tensor] = {}
    groups: list[dict[str, Any]] = []
    for start, weights_below in [*branches.weights.items(), *branches.own.items()]:
        shared |= {id(weight): weight for weight in weights_below if uses[id(weight)] > 1}
        own = [weight for weight in weights_below if uses[id(weight)] == 1]
        if own and isinstance(start, int):
            groups.append({"params": own, "edges": [outputs[start]], "grads": [grads[start]]})
        elif own and start in entering:
            pairs = [(GradientEdge(start, i), g) for i, g in enumerate(entering[start]) if g is not None]
            groups.append(
                {"params": own, "edges": [edge for edge, _ in pairs], "grads": [g for _, g in pairs]}
            )
    if shared:  # a way from one use may lead to another, so only the outputs count each once
        groups.append({"params": list(shared.values()), "edges": list(outputs), "grads": list(grads)})
    for group in groups:
        group["outputs"] = outputs  # the node of a `Function` lives no longer than the tensors of its graph
    return groups


def stage_backward_weight(
    weights: Iterable[Tensor], param_groups: list[dict[str, Any]], retain_graph: bool = False
) -> tuple[Tensor | None, ...]:
    """The second part of the backward pass: gradients of weights accumulate in `grad`.

    Args:
        weights: the weights.
        param_groups: what the first part returned.
        retain_graph: whether the graph is kept for another pass.

    Returns:
        The gradient of each weight so far.

    Example:
        >>> stage_backward_weight([], [])
        ()
    """
    for number, group in enumerate(param_groups):
        is_last = number == len(param_groups) - 1
        # Ways from two starts can meet, so only the last pass may free the graph.
        backward(
            group["edges"],
            group["grads"],
            retain_graph=retain_graph or not is_last,
            inputs=group["params"],
        )
    if not retain_graph:
        param_groups.clear()
    return tuple(weight.grad for weight in weights)


def has_way(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> bool:
    """Whether the outputs depend on one of the inputs.

    Args:
        outputs: tensors that require gradients.
        inputs: leaves that require gradients.

    Example:
        >>> import tl_core
        >>> x, y = tl_core.ones(2, requires_grad=True), tl_core.ones(2, requires_grad=True)
        >>> has_way([x * 2], [x]), has_way([x * 2], [y])
        (True, False)
    """
    if not outputs:
        return False
    children, _ = _graph([get_gradient_edge(output).node for output in outputs])
    return any(get_gradient_edge(value).node in children for value in inputs)
