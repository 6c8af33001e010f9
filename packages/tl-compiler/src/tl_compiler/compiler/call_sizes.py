"""The sizes and numbers of a call: which of them are symbols of its graph, and for which calls the graph holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import tl_core
import tl_nn

from ..symbolic.dims import DimDynamic
from ..symbolic.errors import ConstraintViolationError
from ..symbolic.expression import Expr, Integer, Symbol
from ..symbolic.ranges import ValueRanges, int_oo
from . import dynamo_config as config

__all__ = ["NO_SYMBOLS", "CallSymbols", "History", "SizeGuards", "Wish", "wishes"]

Tensor = tl_core.Tensor
NUMBER = -1  # the dimension by which a number is named


class Wish(NamedTuple):
    """A size, or a number, that is to be a symbol.

    Args:
        how: whether equal sizes share one.
        range: which sizes it stands for.
        is_promise: whether a program that needs one size is refused.
    """

    how: DimDynamic
    range: ValueRanges | None = None
    is_promise: bool = False


Wishes = dict[tuple[str, int], Wish]  # by the name of a tensor and its dimension
NO_SYMBOLS: Wishes = {}


class History:
    """The sizes and numbers of earlier graphs of a function, which tell those that change from call to call."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, ...]] = {}
        self.changed: set[tuple[str, int]] = set()

    def note(self, state: Any) -> None:
        """Compares the sizes of a call with those of earlier ones.

        Args:
            state: that of the call.
        """
        for name, shape in zip(state.names, state.sizes, strict=True):
            self._compare(name, shape[0], range(len(shape[0])))
        for name, value in state.numbers:
            self._compare(name, (value,), (NUMBER,))

    def _compare(self, name: str, values: tuple[int, ...], dims: Any) -> None:
        last = self._last.get(name, values)
        if len(last) == len(values):
            self.changed |= {(name, d) for d, a, b in zip(dims, last, values, strict=True) if a != b}
        self._last[name] = values

    def clear(self) -> None:
        """Forgets the calls."""
        self._last.clear()
        self.changed.clear()


def wishes(state: Any, leaves: list[Any], dynamic: bool | None, history: History) -> Wishes:
    """The sizes and numbers of a call that are to be symbols: those that the program marks, that change, or all.

    Args:
        state: that of the call.
        leaves: the leaves of its arguments; sizes of tensors that are reached otherwise are numbers.
        dynamic: True: all; False: none but the marked ones; None: also those that have changed.
        history: the sizes of earlier calls.
    """
    every = dynamic is True or (dynamic is None and not config.assume_static_by_default)
    changed = history.changed if dynamic is None and config.automatic_dynamic_shapes else set()
    ids = {id(x) for x in leaves if isinstance(x, Tensor) and not isinstance(x, tl_nn.Parameter)}
    result: Wishes = {}
    for name, t in zip(state.names, state.tensors, strict=True):
        if id(t) in ids and name.startswith(state.argument_names):
            for d in range(t.ndim):
                wish = _wish(t, d, every, (name, d) in changed)
                if wish is not None:
                    result[name, d] = wish
    for name, _ in state.numbers:
        if every or (name, NUMBER) in changed:
            result[name, NUMBER] = Wish(DimDynamic.DYNAMIC)
    return result


def _wish(t: Any, d: int, every: bool, changes: bool) -> Wish | None:
    attributes = t.__dict__
    if d in attributes.get("_dynamo_dynamic_indices", ()):
        interval = next((r for r in attributes.get("_dynamo_dynamic_range", ()) if r.dim == d), None)
        low, high = (None, None) if interval is None else (interval.min, interval.max)
        allowed = ValueRanges(2 if low is None else max(low, 2), int_oo if high is None else high)
        return Wish(DimDynamic.DYNAMIC, allowed, True)
    if d in attributes.get("_dynamo_weak_dynamic_indices", ()):
        return Wish(DimDynamic.DYNAMIC)
    if d in attributes.get("_dynamo_static_indices", ()):
        return None
    return Wish(DimDynamic.DYNAMIC) if changes else Wish(DimDynamic.DUCK) if every else None


class CallSymbols:
    """The symbols of one trace.

    Args:
        env: their environment.
        wishes: the sizes and numbers that become symbols.
    """

    def __init__(self, env: Any, wishes: Wishes) -> None:
        self.env, self.wishes = env, wishes
        self.sizes: dict[int, list[Expr]] = {}  # of a tensor, by its index
        self.strides: dict[int, list[Expr]] = {}
        self.numbers: dict[int, Expr] = {}

    def of_tensor(self, index: int, name: str, t: Any) -> list[Expr] | None:
        """The sizes of a tensor, one of which is a symbol; None: all are numbers.

        Args:
            index: that among the tensors of the state.
            name: what it is called.
            t: the tensor.
        """
        exprs = [self._size(n, name, d, f"L['{name}'].size()[{d}]") for d, n in enumerate(t.shape)]
        if all(isinstance(e, Integer) for e in exprs):
            return None
        self.sizes[index] = exprs
        self.strides[index] = self.env._strides_of(list(t.shape), list(t.stride()), exprs)
        return exprs

    def of_number(self, index: int, name: str, value: int) -> Any:
        """A number of the arguments: symbolic where it is to be a symbol.

        Args:
            index: that among the numbers of the state.
            name: what it is called.
            value: its value.
        """
        if (name, NUMBER) not in self.wishes or value in (0, 1):
            return value
        e = self.env.create_symbol(value, f"L['{name}']", DimDynamic.DYNAMIC, None, None, True)
        self.numbers[index] = e
        return self.env.create_symintnode(e, hint=value)

    def _size(self, n: int, name: str, d: int, source: str) -> Expr:
        wish = self.wishes.get((name, d))
        if wish is None:
            return Integer(n)
        if wish.range is not None and n not in wish.range and n > 1:
            raise ConstraintViolationError(f"{source} is {n}, outside of the range that mark_dynamic states")
        e = self.env.create_symbol(n, source, wish.how)
        if isinstance(e, Symbol) and wish.range is not None:
            self.env.var_to_range[e] = self.env.var_to_range[e] & wish.range
        return e

    def check_promises(self, names: list[str]) -> None:
        """Raises where the trace rests on one size that the program marks as dynamic.

        Args:
            names: those of the tensors of the state.

        Raises:
            ConstraintViolationError: with the size, and the line that needs it.
        """
        for index, exprs in self.sizes.items():
            for d, e in enumerate(exprs):
                wish = self.wishes.get((names[index], d))
                if wish is not None and wish.is_promise:
                    self._check(f"L['{names[index]}'].size()[{d}]", e, wish)

    def _check(self, source: str, e: Expr, wish: Wish) -> None:
        value, allowed = self.env.replace(e), wish.range
        line = self.env.reasons.get(e)
        message = f"Constraints violated ({source})!\n  - You marked {source} as dynamic but "
        where = f", at {line}" if line else ""
        if isinstance(value, Integer):
            raise ConstraintViolationError(
                f"{message}your code specialized it to be a constant ({value.value}){where}. If you want it to be "
                "a number where the program needs one, use maybe_mark_dynamic"
            )
        interval = self.env.var_to_range.get(value)
        if (
            interval is not None
            and allowed is not None
            and (interval.lower > allowed.lower or interval.upper < allowed.upper)
        ):
            raise ConstraintViolationError(
                f"{message}your code needs {interval.lower} <= {source} <= {interval.upper}{where}: "
                "say so by min= and max="
            )


class SizeGuards:
    """For which sizes and numbers a graph holds.

    Args:
        state: that of the call that was traced.
        symbols: the symbols of the trace; None: there are none.
    """

    def __init__(self, state: Any, symbols: CallSymbols | None = None) -> None:
        self.sizes, self.numbers = list(state.sizes), [n for _, n in state.numbers]
        self._dynamic_dims = [_dynamic_dims(t) for t in state.tensors]
        self.symbols = symbols
        self.text: list[str] = []
        if symbols is not None:
            env = symbols.env
            self._ranges = {s: r for s, r in env.var_to_range.items() if s not in env.replacements}
            self._replaced = {s: env.replace(s) for s in env.replacements}
            self._guards = [g.expr for g in env.guards if g.expr.free_symbols]
            self.text = [str(g) for g in self._guards]

    def values(self, state: Any) -> dict[Symbol, int] | None:
        """The values of the symbols in a call; None: the graph doesn't hold for it.

        Args:
            state: that of the call.
        """
        numbers = [n for _, n in state.numbers]
        if not all(
            _dynamic_dims(t) <= example for t, example in zip(state.tensors, self._dynamic_dims, strict=True)
        ):
            return None
        if self.symbols is None:
            return {} if state.sizes == self.sizes and numbers == self.numbers else None
        result: dict[Symbol, int] = {}
        for i, ((shape, strides), example) in enumerate(zip(state.sizes, self.sizes, strict=True)):
            exprs = self.symbols.sizes.get(i)
            if (shape, strides) != example if exprs is None else not _bind(exprs, shape, result):
                return None
        for j, (n, example) in enumerate(zip(numbers, self.numbers, strict=True)):
            e = self.symbols.numbers.get(j)
            if n != example if e is None else not _bind([e], (n,), result):
                return None
        return result if self._hold(result) and self._fit(state, result) else None

    def _hold(self, at: dict[Symbol, int]) -> bool:
        return (
            all(
                self._ranges[s].lower <= n <= self._ranges[s].upper
                for s, n in at.items()
                if s in self._ranges
            )
            and all(at[s] == e.evaluate(at) for s, e in self._replaced.items() if s in at)
            and all(bool(g.evaluate(at)) for g in self._guards)
        )

    def _fit(self, state: Any, at: dict[Symbol, int]) -> bool:
        """Whether the strides of tensors with symbols for sizes are what they were, as their sizes are now."""
        assert self.symbols is not None
        return all(
            n <= 1 or step == e.evaluate(at)
            for i, exprs in self.symbols.strides.items()
            for n, step, e in zip(*state.sizes[i], exprs, strict=True)
        )


def _dynamic_dims(t: Any) -> set[int]:
    """The sizes of a tensor that the program marks as dynamic."""
    return t.__dict__.get("_dynamo_dynamic_indices") or _NO_DIMS


_NO_DIMS: set[int] = set()


def _bind(exprs: list[Expr], values: tuple[int, ...], bindings: dict[Symbol, int]) -> bool:
    """Notes the values of symbols; whether each expression has the value that stands for it."""
    if len(exprs) != len(values):
        return False
    for e, n in zip(exprs, values, strict=True):
        value = bindings.setdefault(e, n) if isinstance(e, Symbol) else e.evaluate(bindings)
        if value != n:
            return False
    return True
