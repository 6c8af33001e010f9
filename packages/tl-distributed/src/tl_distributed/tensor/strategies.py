"""The placements for which an operator computes right on pieces, read from the text of its row.

For one mesh dimension, a strategy has a placement of each operand and of each result. `dispatch` chooses the one that
moves the least. Operators whose text is `function` have a function in `placement_rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.base.row_facts import facts
from tl_core.base.rule_table import RuleTable

from .operator_call import OperatorCall, Strategy, call_by_name, operator_named
from .placement_types import Partial, Placement, Replicate, Shard
from .shard_language import Key, Pattern, Rule, Subscript, dimension_keys, parse

__all__ = ["PLACEMENTS", "REGISTERED", "has_rule", "is_random", "register", "rule_of", "strategies_of"]

PlacementRule = Callable[[OperatorCall], list[Strategy]]
PLACEMENTS: RuleTable[PlacementRule] = RuleTable("placements")  # by `view`, without an overload
register = PLACEMENTS.rule

# The rules of programs, by operator.
REGISTERED: dict[Any, PlacementRule] = {}

# The terms that operators pass which only move elements, and those that linear operators pass.
_MOVED = ("sum", "avg", "max", "min", "product")
_LINEAR = ("sum", "avg")


def rule_of(func: Any) -> Rule | None:
    """The rule of an operator; None if no row says one.

    Args:
        func: the operator.
    """
    schema = func._schema
    base = schema.name.partition("::")[2]
    texts = facts("shards")
    text = texts.get(f"{base}.{schema.overload_name}" if schema.overload_name else base)
    if text is None:  # the overload of an elementwise row for numbers
        texts = {name: text for name, text in texts.items() if name.partition(".")[0] == base}
        text = next((text for text in texts.values() if text.startswith("elementwise")), None)
    return None if text is None else parse(text)


def has_rule(func: Any) -> bool:
    """True if an operator has a rule, of its row or of the program.

    Args:
        func: the operator.
    """
    return func in REGISTERED or rule_of(func) is not None


def is_random(func: Any) -> bool:
    """True if an operator draws numbers.

    Args:
        func: the operator.
    """
    rule = rule_of(func)
    return rule is not None and rule.base == "random"


def strategies_of(call: OperatorCall) -> list[Strategy]:
    """The strategies that are right for a call on one mesh dimension, replicas first.

    Args:
        call: the call.
    """
    replicas = Strategy((Replicate(),) * len(call.operands), (Replicate(),) * len(call.results))
    if (own := REGISTERED.get(call.func)) is not None:
        return own(call)
    rule = rule_of(call.func)
    if rule is None or not call.operands:
        return [replicas]
    strategies = [replicas]
    if rule.base == "function" or call.overload == call.name:  # the other overloads have patterns alone
        strategies += PLACEMENTS[call.name](call) if call.name in PLACEMENTS else []
    if rule.patterns:
        strategies += _by_patterns(call, rule)
    elif rule.base != "function":
        strategies += _BASES[rule.base](call, rule)
    strategies += _terms(call, rule)
    return [_with_own_result(call, strategy) for strategy in strategies]


def _with_own_result(call: OperatorCall, strategy: Strategy) -> Strategy:
    """Of an operator that writes to its first operand, this one lies as the result does."""
    if not call.is_mutable or not strategy.results or not isinstance(strategy.results[0], Partial):
        return strategy
    return strategy._replace(operands=(strategy.results[0], *strategy.operands[1:]))


# ---- patterns --------------------------------------------------------------------------------------------------------


def _by_patterns(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    for pattern in rule.patterns:
        if pattern.holds(call.arguments):
            yield from _by_pattern(call, pattern, rule.reduce)


def _subscripts(call: OperatorCall, pattern: Pattern) -> list[Subscript]:
    """The subscript of each operand: those of absent ones are left out, those of a list are repeated."""
    types = [(a.name, str(a.type)) for a in call.func._schema.arguments]
    names = [name for name, kind in types if "Tensor" in kind or call.of(name)]
    result_keys = dict(zip(names, pattern.operands))
    return [result_keys.get(operand.name, Subscript((), is_whole=True)) for operand in call.operands]


def _by_pattern(call: OperatorCall, pattern: Pattern, reduce: str) -> Iterator[Strategy]:
    subscripts = _subscripts(call, pattern)
    keys = [dimension_keys(s, m.dim(), call.arguments) for s, m in zip(subscripts, call.metas)]
    outputs = [pattern.results[min(i, len(pattern.results) - 1)] for i in range(len(call.results))]
    result_keys = [dimension_keys(s, m.dim(), call.arguments) for s, m in zip(outputs, call.results)]
    if any(k is None for k in (*keys, *result_keys)):
        return
    sizes: dict[Key, int] = {}
    for own, meta in zip(keys, call.metas):
        for key, size in zip(own or (), meta.shape):
            if key is not None:
                sizes[key] = max(size, sizes.get(key, 0)) if size != 0 else 0
    has_kernel_dims = any({"_", "*"} & {t[0].replace("{", "_") for t in s.tokens} for s in pattern.operands)
    for key, size in sizes.items():
        if has_kernel_dims and _has_empty_piece(call, keys, key, size):
            continue
        if not _agrees(call, keys, key, size):
            continue
        operands = [_cut_at(own or [], meta, key, size) for own, meta in zip(keys, call.metas)]
        results: list[Placement] = []
        for own, meta in zip(result_keys, call.results):
            dim = _cut_at(own or [], meta, key, size)
            results.append(Partial(reduce or "sum") if dim is None else Shard(dim))
        if reduce and not _reduces(reduce, size, _most_cuts(call, operands), call.ranks):
            continue
        is_summed = any(isinstance(result, Partial) for result in results)
        placed = tuple(
            Shard(dim) if dim is not None else Partial("sum") if is_summed and s.is_summand else Replicate()
            for dim, s in zip(operands, subscripts)
        )
        yield Strategy(placed, tuple(results))


def _most_cuts(call: OperatorCall, dims: list[int | None]) -> int:
    return max((call.cuts(i, dim) for i, dim in enumerate(dims) if dim is not None), default=1)


def _reduces(kind: str, size: int, count: int, ranks: int) -> bool:
    """Whether pieces of a dimension give terms: those of an average have one size, those of extremes aren't empty."""
    if kind == "avg":
        return size % ranks == 0
    return kind not in ("max", "min") or 0 not in _piece_sizes(size, count)


def _agrees(call: OperatorCall, keys: list[Any], key: Key, size: int) -> bool:
    """Whether the dimension has one size, or is repeated.

    Heads of attention may be fewer in keys than in queries: both are cut if both can be cut evenly.
    """
    further = {
        meta.shape[d] for own, meta in zip(keys, call.metas) for d, k in enumerate(own or ()) if k == key
    }
    further -= {1, size}
    if not further or not call.name.startswith("_attention"):
        return not further
    return all(number % call.ranks == 0 for number in (size, *further))


def _has_empty_piece(call: OperatorCall, keys: list[Any], key: Key, size: int) -> bool:
    """Whether a rank has nothing of a dimension, which kernels of planes and windows refuse."""
    for i, (own, meta) in enumerate(zip(keys, call.metas)):
        if (dim := _cut_at(own or [], meta, key, size)) is not None:
            return 0 in _piece_sizes(size, call.cuts(i, dim))
    return False


def _piece_sizes(size: int, count: int) -> list[int]:
    return [Shard.local_shard_size_and_offset(size, count, rank)[0] for rank in range(count)]


def _cut_at(keys: list[Key | None], meta: Tensor, key: Key, size: int) -> int | None:
    """The dimension that a key stands for, unless it is repeated there."""
    return next((d for d, k in enumerate(keys) if k == key and (meta.shape[d] != 1 or size == 1)), None)


# ---- words -----------------------------------------------------------------------------------------------------------

_BROADCAST = parse("... -> ...").patterns[0]


def _elementwise(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    pattern = Pattern((_BROADCAST.operands[0],) * len(call.func._schema.arguments), _BROADCAST.results)
    for strategy in _by_pattern(call, pattern, ""):
        if not any(isinstance(result, Partial) for result in strategy.results):
            yield strategy


def _front(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    for dim in range(min(meta.dim() for meta in call.metas) - 2):
        yield from _along(call, dim)


def _fold(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    if all(meta.dim() > 0 for meta in call.metas):
        yield from _along(call, 0)


def _along(call: OperatorCall, dim: int) -> Iterator[Strategy]:
    """Pieces of one dimension of all operands and results, if it has one size."""
    size = call.metas[0].shape[dim]
    if all(meta.dim() > dim and meta.shape[dim] == size for meta in (*call.metas, *call.results)):
        yield Strategy((Shard(dim),) * len(call.operands), (Shard(dim),) * len(call.results))


def _sizes(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    """Only the geometry of the first operand counts: its elements needn't be there."""
    own, result = call.metas[0], call.results[0]
    for dim in range(own.dim()):
        if own.shape == result.shape:
            yield Strategy((Shard(dim),), (Shard(dim),))
    cuts = map(Shard, range(own.dim() if "size" in call.arguments else 0))
    for placement in (*cuts, *map(Partial, _MOVED)):
        yield Strategy((placement,), (Replicate(),))


def _dims(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    ndim = call.metas[0].dim()
    mixed, has_new = _named_dims(call, rule, ndim)
    for dim in range(ndim):
        size = call.metas[0].shape[dim]
        if any(meta.dim() != ndim or meta.shape[dim] != size for meta in call.metas):
            continue
        operands = (Shard(dim),) * len(call.operands)
        if dim not in mixed or has_new:
            if (results := _targets(call, dim, mixed, ndim, has_new)) is not None:
                yield Strategy(operands, results)
        elif rule.reduce and _reduces(rule.reduce, size, call.cuts(0, dim), call.ranks):
            yield Strategy(operands, (Partial(rule.reduce),) * len(call.results))


def _named_dims(call: OperatorCall, rule: Rule, ndim: int) -> tuple[set[int], bool]:
    """The dimensions that the arguments name, and whether the result has them alone."""
    mixed: set[int] = set()
    has_new = False
    for word in rule.words:
        name = word.rstrip("?+")
        value = call.arguments[name]
        has_new |= word.endswith("+")
        if value is None or value == []:
            mixed |= set(range(ndim)) if "?" in word else set()
            continue
        count = max(ndim + has_new, 1)
        mixed |= {dim % count for dim in ([value] if isinstance(value, int) else value)}
    if rule.padded:
        pairs = call.arguments[rule.padded]
        mixed |= {ndim - 1 - i for i in range(len(pairs) // 2) if pairs[2 * i] or pairs[2 * i + 1]}
    return mixed, has_new


def _targets(
    call: OperatorCall, dim: int, mixed: set[int], ndim: int, has_new: bool
) -> tuple[Placement, ...] | None:
    """Where a dimension that no argument names is in each result."""
    placements = []
    for result in call.results:
        if has_new:
            target = dim + sum(1 for m in mixed if m <= dim)
        elif result.dim() == ndim:
            target = dim
        elif result.dim() == ndim - len(mixed):
            target = dim - sum(1 for m in mixed if m < dim)
        else:
            return None
        if target >= result.dim() or result.shape[target] != call.metas[0].shape[dim]:
            return None
        placements.append(Shard(target))
    return tuple(placements)


def _view(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    """A view is taken of a tensor whose strides differ: a dimension of the view with one of them is that dimension."""
    own = call.metas[0]
    strides = _distinct_strides(own.dim())
    traced = tl_core.empty_strided(own.shape, strides, dtype=own.dtype, device="meta")
    func = call.func
    if rule.words:
        func = operator_named(rule.words[0])
    views = call_by_name(func, {**call.arguments, call.operands[0].name: traced})
    several = list(views) if isinstance(views, (list, tuple)) else [views]
    windowed = call.arguments["dimension"] % max(own.dim(), 1) if call.name == "unfold" else None
    for dim, stride in enumerate(strides):
        if dim == windowed:
            continue  # a window may be as long as the dimension
        there = []
        for view in several:
            same = [i for i, s in enumerate(view.stride()) if s == stride and view.shape[i] == own.shape[dim]]
            if call.name.startswith("unsqueeze"):  # a new dimension before one of one element has its stride
                same.reverse()
            there.append(same[0] if same else None)
        if call.name.startswith("squeeze") and 1 in _piece_sizes(own.shape[dim], call.cuts(0, dim)):
            continue  # a piece would lose the dimension
        if all(i is not None for i in there):
            yield Strategy((Shard(dim),), tuple(Shard(i) for i in there if i is not None))
    for kind in _MOVED:
        yield Strategy((Partial(kind),), (Partial(kind),) * len(several))


def _distinct_strides(count: int) -> list[int]:
    """Primes so large that no step of a view makes one of another."""
    primes: list[int] = []
    number = 100_003
    while len(primes) < count:
        if all(number % factor for factor in range(2, int(number**0.5) + 1)):
            primes.append(number)
        number += 2
    return primes


def _replicas(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    return iter(())


_BASES: dict[str, Callable[[OperatorCall, Rule], Iterator[Strategy]]] = {
    "elementwise": _elementwise,
    "random": _elementwise,
    "front": _front,
    "fold": _fold,
    "dims": _dims,
    "sizes": _sizes,
    "view": _view,
    "replicate": _replicas,
}


# ---- terms -----------------------------------------------------------------------------------------------------------


def _terms(call: OperatorCall, rule: Rule) -> Iterator[Strategy]:
    """The strategies with terms in the arguments in which the operator is linear."""
    if not all(result.is_floating_point() or result.is_complex() for result in call.results):
        return
    for names in rule.terms:
        values = [call.arguments.get(name) for name in names]
        if any(isinstance(value, (int, float, complex)) for value in values):
            continue
        if not any(call.of(name) for name in names):
            continue
        for kind in _LINEAR:
            operands = tuple(Partial(kind) if o.name in names else Replicate() for o in call.operands)
            yield Strategy(operands, (Partial(kind),) * len(call.results))
