"""Rules of operators that a program declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch import forget_plans
from ..operator_call import OperatorCall, Strategy
from ..placement_types import Placement, Replicate
from ..strategies import REGISTERED

__all__ = ["register_sharding"]

Shardings = Sequence[tuple[Sequence[Placement | None], Sequence[Placement | None]]]


def register_sharding(op: Any) -> Callable[[Callable[..., Shardings]], Callable[..., Shardings]]:
    """A decorator: the function says for which placements operators compute right on pieces.

    The function takes the operator's arguments, with tensors that have sizes and no elements. It returns pairs: the
    placements of the results, and those of the arguments, with None for each that is no tensor. Each placement is one
    on a dimension of the mesh. Without a pair of replicas, replicas are taken to be right, too.

    Args:
        op: the operator, or several.

    Example:
        >>> import tl_core
        >>> from tl_distributed.tensor import Shard
        >>> library = tl_core.library.custom_op("examples::twice", mutates_args=())
        >>> @library
        ... def twice(x: tl_core.Tensor) -> tl_core.Tensor:
        ...     return x * 2
        >>> @register_sharding(tl_core.ops.examples.twice.default)
        ... def twice_sharding(x):
        ...     return [([Shard(dim)], [Shard(dim)]) for dim in range(x.dim())]
        >>> from tl_distributed.tensor.strategies import REGISTERED
        >>> REGISTERED.pop(tl_core.ops.examples.twice.default) is not None
        True
    """
    several = list(op) if isinstance(op, (list, tuple)) else [op]

    def register(function: Callable[..., Shardings]) -> Callable[..., Shardings]:
        for each in several:
            REGISTERED[each] = _rule(function)
        forget_plans()
        return function

    return register


def _rule(function: Callable[..., Shardings]) -> Callable[[OperatorCall], list[Strategy]]:
    def rule(call: OperatorCall) -> list[Strategy]:
        arguments = call.func._schema.arguments
        positional = [call.arguments[a.name] for a in arguments if not a.kwarg_only]
        named = {
            a.name: call.arguments[a.name]
            for a in arguments
            if a.kwarg_only and call.arguments[a.name] != a.default_value
        }
        strategies = []
        for results, operands in function(*positional, **named):
            placed = tuple(p for p in operands if p is not None)
            if len(placed) != len(call.operands):
                raise ValueError(
                    f"register_sharding of {call.func}: {len(placed)} placements for {len(call.operands)} tensors"
                )
            strategies.append(Strategy(placed, tuple(p for p in results if p is not None)))
        replicas = Strategy((Replicate(),) * len(call.operands), (Replicate(),) * len(call.results))
        return strategies if replicas in strategies else [replicas, *strategies]

    return rule
