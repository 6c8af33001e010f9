"""Rules for operators on pieces: for one mesh dimension, placements of the operands and of the results.

A function here lists what is right for an operator; `dispatch` takes the one that moves the least. Replicas are right
for every operator, and are what remains for those without an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tl_core import Tensor
from tl_core.base.rule_table import RuleTable
from tl_core.schemas.tags import Tag

from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Strategy", "register", "strategies_of"]


class Strategy(NamedTuple):
    """Placements on one mesh dimension.

    `results` is one placement for all results.
    """

    operands: tuple[Placement, ...]
    results: Placement


# Takes the operator's operands (as tensors without elements) and its arguments, and lists what is right.
Rule = Callable[[Sequence[Tensor], tuple[Any, ...], dict[str, Any]], list[Strategy]]
PLACEMENTS: RuleTable[Rule] = RuleTable("placements")  # by `aten::mm`, without an overload
register = PLACEMENTS.rule

# Of pointwise operators, the strategy on the terms of a sum.
SUMS: RuleTable[Callable[[Sequence[Tensor]], Strategy]] = RuleTable("placements of sums")


def strategies_of(func: Any, operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    """The strategies that are right for a call, replicas first.

    Args:
        func: the operator.
        operands: its tensors, without elements.
        args: its arguments.
        kwargs: its arguments by name.
    """
    strategies = [Strategy((Replicate(),) * len(operands), Replicate())]
    if (rule := PLACEMENTS.get(func._schema.name)) is not None:
        return strategies + rule(operands, args, kwargs)
    if Tag.pointwise in func.tags and operands:
        return strategies + _pointwise(func._schema.name, operands)
    return strategies


def _pointwise(name: str, operands: Sequence[Tensor]) -> list[Strategy]:
    ndim = max(operand.dim() for operand in operands)
    if name.endswith("_"):
        ndim = operands[0].dim()
    strategies = [Strategy(*_along(dim - ndim, operands, dim)) for dim in range(ndim)]
    if (rule := SUMS.get(name)) is not None:
        strategies.append(rule(operands))
    return strategies


@SUMS.rule(
    *("aten::neg", "aten::clone", "aten::add", "aten::sub", "aten::add_", "aten::sub_"),
    *("aten::zeros_like", "aten::zero_"),
)
def _of_terms(operands: Sequence[Tensor]) -> Strategy:
    """f(a) + f(b) is f(a + b), of one operand or of two that are both terms."""
    return Strategy((Partial("sum"),) * len(operands), Partial("sum"))


@SUMS.rule("aten::mul", "aten::div", "aten::mul_", "aten::div_")
def _of_scaled_terms(operands: Sequence[Tensor]) -> Strategy:
    """The first operand is a term; the others are numbers or replicas."""
    return Strategy((Partial("sum"), *[Replicate()] * (len(operands) - 1)), Partial("sum"))


def _along(from_end: int, operands: Sequence[Tensor], dim: int) -> tuple[tuple[Placement, ...], Placement]:
    """Pieces along a dimension of the result: an operand that is repeated along it is there as a whole."""

    def placement(operand: Tensor) -> Placement:
        own = operand.dim() + from_end
        return Replicate() if own < 0 or operand.shape[own] == 1 else Shard(own)

    return tuple(map(placement, operands)), Shard(dim)


@register("aten::detach", "aten::alias")
def _same(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    return [Strategy((p,), p) for p in (*map(Shard, range(operands[0].dim())), Partial("sum"))]


@register("aten::mm")
def _mm(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    return [
        Strategy((Shard(0), Replicate()), Shard(0)),
        Strategy((Replicate(), Shard(1)), Shard(1)),
        Strategy((Shard(1), Shard(0)), Partial("sum")),
    ]


@register("aten::bmm")
def _bmm(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    return [
        Strategy((Shard(0), Shard(0)), Shard(0)),
        Strategy((Shard(1), Replicate()), Shard(1)),
        Strategy((Replicate(), Shard(2)), Shard(2)),
        Strategy((Shard(2), Shard(1)), Partial("sum")),
    ]


@register("aten::addmm")
def _addmm(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    _, rows = _along(-2, operands[:1], 0), Shard(0)
    by_rows, by_columns = _along(-2, operands[:1], 0)[0][0], _along(-1, operands[:1], 1)[0][0]
    return [
        Strategy((by_rows, Shard(0), Replicate()), rows),
        Strategy((by_columns, Replicate(), Shard(1)), Shard(1)),
    ]


@register("aten::linear")
def _linear(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    last, bias = operands[0].dim() - 1, len(operands) > 2
    strategies = [
        Strategy((Shard(dim), Replicate(), *[Replicate()] * bias), Shard(dim)) for dim in range(last)
    ]
    strategies.append(Strategy((Replicate(), Shard(0), *[Shard(0)] * bias), Shard(last)))
    # The bias counts once: as terms it is there on one rank only.
    strategies.append(Strategy((Shard(last), Shard(1), *[Partial("sum")] * bias), Partial("sum")))
    return strategies


@register("aten::t", "aten::numpy_T")
def _t(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    last = operands[0].dim() - 1
    return _move_dims(operands, [last - dim for dim in range(last + 1)])


@register("aten::transpose")
def _transpose(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    ndim = operands[0].dim()
    a, b = (dim % max(ndim, 1) for dim in args[1:3])
    return _move_dims(operands, [b if dim == a else a if dim == b else dim for dim in range(ndim)])


@register("aten::permute")
def _permute(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    dims = [dim % operands[0].dim() for dim in args[1]]
    return _move_dims(operands, [dims.index(dim) for dim in range(len(dims))])


@register("aten::unsqueeze")
def _unsqueeze(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
    ndim = operands[0].dim()
    new = args[1] % (ndim + 1)
    return _move_dims(operands, [dim + (dim >= new) for dim in range(ndim)])


def _move_dims(operands: Sequence[Tensor], target: Sequence[int]) -> list[Strategy]:
    """Dimension `i` of the operand is dimension `target[i]` of the result."""
    strategies = [Strategy((Shard(dim),), Shard(there)) for dim, there in enumerate(target)]
    return [*strategies, Strategy((Partial("sum"),), Partial("sum"))]


def _reduction(kind: str) -> Rule:
    def rule(operands: Sequence[Tensor], args: Any, kwargs: Any) -> list[Strategy]:
        ndim = operands[0].dim()
        dim_arg = args[1] if len(args) > 1 else kwargs.get("dim")
        keeps = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
        dims = [dim_arg] if isinstance(dim_arg, int) else list(dim_arg or range(ndim))
        reduced = {dim % max(ndim, 1) for dim in dims}
        strategies = []
        for dim in range(ndim):
            before = dim if keeps else dim - sum(r < dim for r in reduced)
            result = Partial(kind) if dim in reduced else Shard(before)
            if kind != "avg" or dim not in reduced:
                strategies.append(Strategy((Shard(dim),), result))
        return (
            [*strategies, Strategy((Partial("sum"),), Partial("sum"))]
            if kind != "max" and kind != "min"
            else strategies
        )

    return rule


register("aten::sum")(_reduction("sum"))
register("aten::mean")(_reduction("avg"))  # pieces may be of several sizes, so what is averaged is replicated
register("aten::amax")(_reduction("max"))
register("aten::amin")(_reduction("min"))
