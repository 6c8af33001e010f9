"""A call of an operator on fakes some of whose sizes are expressions: by the rule of its row, else at three sizes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.dispatch.modes import no_modes
from tl_core.operators.shape_rules import ShapeRule, rule_of
from tl_core.pytree import tree_map
from tl_core.subclasses import FakeTensor
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..symbolic.canonical_forms import call, relation
from ..symbolic.errors import GuardOnDataDependentSymNode
from ..symbolic.expression import Call, Expr, Integer, Symbol, sympify
from ..symbolic.ranges import ValueRanges, int_oo
from .geometry import Geometry, alike, probes_of, sizes_of
from .probes import LANES
from .range_check import RangeCheck

__all__ = ["SymbolicCall", "leaves_of"]

Tensor = tl_core.Tensor
_SYMBOLIC = (SymInt, SymFloat, SymBool)
_ALL_ELEMENTS = frozenset(
    {"view", "reshape", "_unsafe_view", "unflatten.int", "view_copy"}
)  # the result has them
_DO_NOT_FIT = (RuntimeError, ValueError, IndexError, KeyError)


def leaves_of(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """The tensors and symbolic numbers among the arguments of a call."""
    leaves: list[Any] = []
    stack = [args, list(kwargs.values())]
    while stack:
        for a in stack.pop():
            if isinstance(a, (list, tuple)):
                stack.append(a)
            elif isinstance(a, (Tensor, *_SYMBOLIC)):
                leaves.append(a)
    return leaves


class SymbolicCall:
    """One call.

    Args:
        mode: the mode of the fakes.
        func: the operator.
        args, kwargs: fakes of the mode, symbolic numbers, and plain values.
        device: where the results claim to lie.
    """

    def __init__(self, mode: Any, func: Any, args: Any, kwargs: dict[str, Any], device: Any) -> None:
        self.mode, self.func, self.args, self.kwargs, self.device = mode, func, args, kwargs, device
        self.env, self.leaves = mode.shape_env, leaves_of(args, kwargs)
        self.probes = probes_of(self.env)
        tensors = [a for a in self.leaves if isinstance(a, FakeTensor)]
        self._examples = {id(a): a.elem for a in tensors}
        self._exprs = {id(a): sizes_of(a) for a in tensors}  # before the call, which may write

    def run(self) -> Any:
        """Runs the operator in all lanes and puts the results together."""
        rule = rule_of(self.func._native_name)
        with no_modes():
            if rule is not None:
                return self._by_rule(rule)
            outs = self._in_all_lanes()
            sizes = self._fit_sizes(outs, self._input_sizes(), ())
            symbols = {s for e in self._sizes_given() for s in e.free_symbols}
            check = RangeCheck(
                self.probes,
                sorted(symbols, key=str),
                lambda at: self._agree(self._call(0, at), sizes, at),
                _DO_NOT_FIT,
            )
            if not check.run():
                sizes = self._fit_sizes(outs, None, ())
            return self._join(outs, sizes)

    # ---- the rule of the row
    def _by_rule(self, rule: ShapeRule) -> Any:
        """The results, whose sizes the rule of the row states; what it compares becomes guards."""
        stored = self.env.__dict__.get("sizes_by_rule")  # only traces have it, as guards don't matter to them
        key = None if stored is None else self._key()
        try:
            out = self._call(0)
        except NotImplementedError:
            out = self._on_zeros()
        if key is not None and key in stored:
            return self._join([out], stored[key])
        values = rule.bind(self.args, self.kwargs)
        sizes = self._simple(out, rule.sizes(values))
        if not self._agree(out, sizes, self.probes.lane(0)):
            raise AssertionError(
                f"the shape rule of {rule.name}, {rule.text}, gives {sizes} for {_shapes(out)}"
            )
        if key is not None:
            stored[key] = sizes
        return self._join([out], sizes)

    def _key(self) -> Any:
        """What decides the sizes of the results, besides what is known of the symbols; None if it can't be a key."""

        def part(a: Any) -> Any:
            if isinstance(a, FakeTensor):
                return FakeTensor, *self._exprs[id(a)]
            if isinstance(a, _SYMBOLIC):
                return a.node.expr
            return tuple(part(x) for x in a) if isinstance(a, (list, tuple)) else (type(a), a)

        key = (
            self.func,
            self.env.version,
            part(self.args),
            tuple((k, part(v)) for k, v in self.kwargs.items()),
        )
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def _on_zeros(self) -> Any:
        """The results at the example's sizes of an operator that has no kernel on meta."""
        if self.func._schema.is_mutable:
            raise NotImplementedError(f"{self.func} has no kernel on meta")

        def zeros(a: Any) -> Any:
            return tl_core.zeros(a.shape, dtype=a.dtype) if isinstance(a, Tensor) else a

        args, kwargs = tree_map(
            zeros, (self._in_lane(self.args, 0, None), self._in_lane(self.kwargs, 0, None))
        )
        return tree_map(lambda a: a.to("meta") if isinstance(a, Tensor) else a, self.func(*args, **kwargs))

    def _simple(self, out: Any, sizes: Any) -> Any:
        """The sizes of each result as expressions."""
        if isinstance(out, Tensor):
            return [self.env.simplify(sympify(n)) for n in sizes]
        if isinstance(out, (list, tuple)):
            return [self._simple(o, s) for o, s in zip(out, sizes, strict=True)]
        return None

    # ---- lanes
    def _call(self, lane: int, at: dict[Symbol, Any] | None = None) -> Any:
        return self.func(*self._in_lane(self.args, lane, at), **self._in_lane(self.kwargs, lane, at))

    def _in_lane(self, a: Any, lane: int, at: dict[Symbol, Any] | None) -> Any:
        """An argument as it is in a lane, or where the symbols have other values."""
        if isinstance(a, FakeTensor):
            return self._tensor_in_lane(a, lane, at)
        if isinstance(a, _SYMBOLIC):
            values = self.probes.lane(lane) if at is None else at
            return a.node.pytype(a.node.expr.evaluate(values))
        if isinstance(a, (list, tuple)):
            items = [self._in_lane(x, lane, at) for x in a]
            return items if isinstance(a, list) else tuple(items)
        if isinstance(a, dict):
            return {k: self._in_lane(v, lane, at) for k, v in a.items()}
        return a

    def _tensor_in_lane(self, a: Any, lane: int, at: dict[Symbol, Any] | None) -> Any:
        example = self._examples[id(a)]
        if a.symbolic is None or (lane == 0 and at is None):
            return example
        if at is None:
            return a.symbolic.lane(a, lane)
        return alike(example, tuple(int(self.env.replace(e).evaluate(at)) for e in self._exprs[id(a)]))

    def _in_all_lanes(self) -> list[Any]:
        first = self._call(0)
        for _ in range(16):
            error = None
            outs = [first]
            for i in range(1, LANES):
                try:
                    outs.append(self._call(i))
                except NotImplementedError:
                    raise
                except _DO_NOT_FIT as e:
                    error = e
                    break
            if error is None and _same_structure(outs):
                return outs
            self._narrow(error)
        raise RuntimeError(f"{self.func}(): no sizes but those of the example fit its arguments")

    def _input_sizes(self) -> list[Expr]:
        order: list[Expr] = []
        for a in self.leaves:
            if isinstance(a, FakeTensor) and a.symbolic is not None:
                order += [self.env.replace(e) for e in sizes_of(a)]
            elif isinstance(a, SymInt):
                order.append(a.node.expr)
        return [e for e in dict.fromkeys(order) if not isinstance(e, Integer)]

    # ---- what must hold where other sizes raise
    def _narrow(self, error: Exception | None) -> None:
        """Finds the equalities of sizes without which the operator raises at other sizes, and makes them guards."""
        candidates = self._candidates()
        for guard in candidates:
            if self._helps([guard]):
                self.env.evaluate_expr(guard)
                return
        for together in (self._aligned_equalities(), candidates):
            if len(together) > 1 and self._helps(together):
                for guard in self._minimize(together):
                    self.env.evaluate_expr(guard)
                return
        if candidates:
            self.env.evaluate_expr(candidates[-1])
            return
        if error is not None:
            raise error
        raise GuardOnDataDependentSymNode(None, f"{self.func}(): the number of its results depends on data")

    def _candidates(self) -> list[Expr]:
        """Equalities of two sizes that are equal in the example, and of sizes and their numbers."""
        hints: dict[Expr, int] = {}
        fixed: set[int] = set()
        for e in self._sizes_given():
            hint = self.env.size_hint(e, allow_none=True)
            if isinstance(e, Integer):
                fixed.add(e.value)
            elif hint is not None:
                hints[e] = int(hint)
        equalities = [
            relation("==", a, b) for a, b in itertools.combinations(hints, 2) if hints[a] == hints[b]
        ]
        equalities += [relation("==", a, sympify(h)) for a, h in hints.items() if h in fixed]
        return equalities + [relation("==", a, sympify(h)) for a, h in hints.items() if h not in fixed]

    def _sizes_given(self) -> list[Expr]:
        sizes: list[Expr] = []
        for a in self.leaves:
            if isinstance(a, FakeTensor):
                sizes += [self.env.replace(e) for e in sizes_of(a)]
            elif isinstance(a, SymInt) and a.node.hint is not None:
                sizes.append(a.node.expr)
        return sizes

    def _aligned_equalities(self) -> list[Expr]:
        """The equalities of sizes of two tensors that stand at the same place, counted from the end, in the example."""
        shapes = [
            [self.env.replace(e) for e in sizes_of(a)] for a in self.leaves if isinstance(a, FakeTensor)
        ]
        equalities = []
        for one, other in itertools.combinations(shapes, 2):
            for a, b in zip(reversed(one), reversed(other), strict=False):
                hint = self.env.size_hint(a, allow_none=True)
                if a != b and hint is not None and hint == self.env.size_hint(b, allow_none=True):
                    equalities.append(relation("==", a, b))
        return list(dict.fromkeys(equalities))

    def _minimize(self, guards: list[Expr]) -> list[Expr]:
        """Of equalities that help together, those that help without the others; numbers are given up first."""
        subset = list(guards)
        for guard in reversed(guards):
            rest = [g for g in subset if g is not guard]
            if rest and self._helps(rest):
                subset = rest
        return subset

    def _helps(self, guards: list[Expr]) -> bool:
        """Whether the operator runs at other sizes if guards hold."""
        trial = _Trial(self.env, guards)
        if not trial.substitutions:
            return False
        for i in range(1, LANES):
            try:
                self._call(i, trial.values(self.probes.lane(i)))
            except _DO_NOT_FIT:
                return False
        return True

    # ---- results
    def _fit_sizes(self, outs: list[Any], candidates: list[Expr] | None, path: tuple[int, ...]) -> Any:
        """The sizes of each result as expressions; without those that are known, as symbols of their own."""
        first = outs[0]
        if isinstance(first, Tensor):
            return self._sizes(outs, candidates, path)
        if isinstance(first, (list, tuple)):
            return [self._fit_sizes([o[i] for o in outs], candidates, (*path, i)) for i in range(len(first))]
        return None

    def _agree(self, out: Any, sizes: Any, at: dict[Symbol, Any]) -> bool:
        """Whether results have these sizes at values of the symbols."""
        if isinstance(out, Tensor):
            return out.ndim == len(sizes) and all(
                n == e.evaluate(at) for n, e in zip(out.shape, sizes, strict=True)
            )
        if isinstance(out, (list, tuple)):
            return len(out) == len(sizes) and all(
                self._agree(o, s, at) for o, s in zip(out, sizes, strict=True)
            )
        return True

    def _join(self, outs: list[Any], sizes: Any, path: tuple[int, ...] = ()) -> Any:
        first = outs[0]
        if isinstance(first, Tensor):
            return self._tensor(outs, sizes, path)
        if isinstance(first, (list, tuple)):
            items = [self._join([o[i] for o in outs], sizes[i], (*path, i)) for i in range(len(first))]
            return items if isinstance(first, list) else _tuple_like(first, items)
        return first

    def _tensor(self, outs: list[Any], exprs: list[Expr], path: tuple[int, ...]) -> Any:
        fake = self._mutated_fake(outs[0])
        new = fake is None
        if fake is None:
            fake = FakeTensor(self.mode, outs[0], self.device)
        else:
            fake.take_geometry(outs[0])
        exprs = [self.env.replace(e) for e in exprs]
        if all(isinstance(e, Integer) for e in exprs):
            fake.say_sizes(None)
            return fake
        sizes = tuple(
            self.env.create_symintnode(e, hint=self.env.size_hint(e, allow_none=True)) for e in exprs
        )
        origin = self._again_in_lane(path) if new and self.func.is_view else None
        return Geometry(self.env, sizes, list(outs[1:]), origin).attached_to(fake)

    def _again_in_lane(self, path: tuple[int, ...]) -> Callable[[int], Any]:
        """What runs the operator in a lane, for the strides of a view."""

        def run(lane: int) -> Any:
            with no_modes():
                out = self._call(lane)
            for i in path:
                out = out[i]
            return out

        return run

    def _mutated_fake(self, out: Any) -> Any:
        """The fake that an operator has returned, because it wrote to it; None: the result is new."""
        for a in self.leaves:
            if isinstance(a, FakeTensor) and self._examples[id(a)] is out:
                return a
        return None

    def _sizes(self, outs: list[Any], candidates: list[Expr] | None, path: tuple[int, ...]) -> list[Expr]:
        exprs: list[Expr] = []
        for d, values in enumerate(zip(*(tuple(o.shape) for o in outs), strict=True)):
            again = self._again(path, d)
            e = (
                self._fresh(values, again)
                if candidates is None
                else self.probes.fit(values, candidates, again)
            )
            if e is None:
                e = self._fresh(values, again)
            elif isinstance(e, Call) and e.name == "FloorDiv" and self.func._native_name in _ALL_ELEMENTS:
                self._divides(*e.args)
            exprs.append(e)
        return exprs

    def _divides(self, n: Expr, by: Expr) -> None:
        """Nothing may be left of a size that is divided, which the probes do not show: they have its remainders."""
        condition = relation("==", call("Mod", n, by), Integer(0))
        if isinstance(condition, Expr) and not condition.is_number:
            self.env.expect_true(condition)

    def _again(self, path: tuple[int, ...], d: int) -> Callable[[dict[Symbol, Any]], int | None]:
        def run(at: dict[Symbol, Any]) -> int | None:
            try:
                with no_modes():
                    out = self._call(1, at)
                for i in path:
                    out = out[i]
                return int(out.shape[d])
            except _DO_NOT_FIT:
                return None

        return run

    def _fresh(self, values: tuple[int, ...], definition: Callable[[dict[Symbol, Any]], int | None]) -> Expr:
        """A symbol for a size that nothing fits: the graph reads it from the result."""
        symbol = self.env._fresh("s", True, True)
        self.env.add_var_to_val(symbol, values[0])
        self.env.var_to_range[symbol] = ValueRanges(0, int_oo)
        self.env.var_to_sources[symbol] = []
        self.probes.fix(symbol, values)
        self.probes.defined[symbol] = definition
        self.env.of_results.add(symbol)
        self.probes.exprs[values] = symbol
        return symbol


def _shapes(out: Any) -> Any:
    return [_shapes(o) for o in out] if isinstance(out, (list, tuple)) else tuple(getattr(out, "shape", ()))


def _same_structure(outs: list[Any]) -> bool:
    def shape(o: Any) -> Any:
        if isinstance(o, Tensor):
            return (o.ndim, o.dtype)
        return [shape(x) for x in o] if isinstance(o, (list, tuple)) else type(o)

    return all(shape(o) == shape(outs[0]) for o in outs[1:])


def _tuple_like(out: Any, items: list[Any]) -> Any:
    kind = type(out)
    if kind is tuple:
        return tuple(items)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


class _Trial:
    """What would be learned from guards."""

    def __init__(self, env: Any, guards: list[Expr]) -> None:
        trial = copy.copy(env)
        trial.__dict__ = {
            **env.__dict__,
            "replacements": dict(env.replacements),
            "var_to_range": dict(env.var_to_range),
            "_facts": set(env._facts),
            "divisible": set(env.divisible),
            "reasons": dict(env.reasons),
            "_replaced": {},
        }
        for guard in guards:
            trial._use(trial.replace(guard))
            trial._replaced = {}
        self.substitutions = {s: e for s, e in trial.replacements.items() if env.replacements.get(s) != e}
        self._env = trial

    def values(self, lane: dict[Symbol, Any]) -> dict[Symbol, Any]:
        """The values of a lane with what was learned."""
        result = dict(lane)
        self._env._replaced = {}
        for symbol in self._env.replacements:
            result[symbol] = self._env.replace(symbol).evaluate(result)
        return result
