"""Whether a program holds for all sizes that were promised; if not, what to say instead."""

from __future__ import annotations

from typing import Any

from ..symbolic.canonical_forms import expand
from ..symbolic.errors import UserError, UserErrorType
from ..symbolic.expression import Call, Expr, Integer, Sum, Symbol
from ..symbolic.guards import guard_text
from ..symbolic.ranges import ValueRanges, bounds, int_oo
from .dynamic_shapes import Dim, _DerivedDim, _DimHint, _DimHintType
from .inputs import DimOfInput, Inputs

__all__ = ["check_constraints"]


def check_constraints(inputs: Inputs) -> None:
    """Raises if the trace rests on less than what was promised.

    Args:
        inputs: the inputs and what was said of them.

    Raises:
        UserError: with what is violated, and the fixes that are suggested.
    """
    check = _Check(inputs)
    check.run()
    if check.problems:
        names = ", ".join(dict.fromkeys(n for n, _ in check.problems))
        text = "\n".join(f"  - {p}" for _, p in check.problems)
        fixes = "".join(f"\n  {f}" for f in dict.fromkeys(check.fixes))
        raise UserError(
            UserErrorType.CONSTRAINT_VIOLATION,
            f'Constraints violated ({names})! For more information, run with TORCH_LOGS="+dynamic".\n{text}'
            + (f"\n\nSuggested fixes:{fixes}\n" if fixes else ""),
        )


class _Check:
    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.env = inputs, inputs.env
        self.problems, self.fixes = list(inputs.problems), list(inputs.fixes)
        self.multiples: dict[Symbol, tuple[int, int]] = {}  # modulus, and what is added
        self.names: dict[Symbol, str] = {}
        self.sources: dict[Symbol, str] = {}
        for d in inputs.dims:
            if isinstance(d.expr, Symbol):
                self.sources.setdefault(d.expr, d.source)
        for name, symbol in inputs.roots.items():
            if isinstance(symbol, Symbol):
                self.names[symbol] = name

    def run(self) -> None:
        """Looks at every dimension that was said to be dynamic, then at the guards."""
        self._find_multiples()
        for d in self.inputs.dims:
            if isinstance(d.spec, _DimHint):
                self._check_hint(d)
        for name, symbol in self.inputs.roots.items():
            if isinstance(symbol, Symbol):
                self._root(name, symbol)
        self._guards()

    def _where(self, symbol: Symbol) -> str:
        line = self.env.reasons.get(symbol)
        return f", at {line}" if line else ""

    def _check_hint(self, d: DimOfInput) -> None:
        if d.spec.type is not _DimHintType.DYNAMIC:
            return
        e = self.env.replace(d.expr)
        if isinstance(e, Integer):
            symbol = d.expr if isinstance(d.expr, Symbol) else None
            self.problems.append(
                (
                    d.source,
                    (
                        f"You marked {d.source} as dynamic but your code specialized it to be a constant "
                        f"({e.value}). If "
                        f"you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO"
                        f"{self._where(symbol) if symbol is not None else ''}."
                    ),
                )
            )

    def _first(self, symbol: Symbol) -> DimOfInput | None:
        dims = [d for d in self.inputs.dims if symbol in d.expr.free_symbols]
        return next((d for d in dims if d.expr == symbol), dims[0] if dims else None)

    # ---- sizes that must be multiples
    def _find_multiples(self) -> None:
        """Which sizes, with something added, must be multiples of a number: they are said by a new size."""
        for guard in self.env.guards:
            congruence = _congruence(self.env.replace(guard.expr))
            if congruence is not None and congruence[0] in self.names:
                self.multiples.setdefault(congruence[0], congruence[1:])

    def _by_root(self, symbol: Symbol, e: Expr) -> tuple[Expr, str]:
        """An expression of a size as one of the new size that is suggested for it, and that one's name."""
        name = self.names[symbol]
        if symbol not in self.multiples:
            return e, name
        modulus, added = self.multiples[symbol]
        return expand(e.xreplace({symbol: symbol * modulus - added})), f"_{name}"

    def _suggest(self, name: str, symbol: Symbol, low: int, high: Any, narrower: bool) -> None:
        """The fix for a size with a range, and perhaps a divisor."""
        if symbol not in self.multiples:
            self.fixes.append(f"{name} = {Dim._readable(name, max(low, 2), high)}")
            return
        modulus, added = self.multiples[symbol]
        if narrower:
            least = max(-(-(low + added) // modulus), 2)
            most = high if high == int_oo else (int(high) + added) // modulus
            self.fixes.append(f"_{name} = {Dim._readable(f'_{name}', least, most)}")
        self.fixes.append(f"{name} = {_derived_text(*self._by_root(symbol, symbol))}")

    def _root(self, name: str, symbol: Symbol) -> None:
        e = self.env.replace(symbol)
        if isinstance(e, Integer):
            self._check_constant(name, symbol, e.value)
        elif e != symbol:
            self._check_relation(name, symbol, e)
        else:
            self._check_range(name, symbol)

    def _check_constant(self, name: str, symbol: Symbol, value: int) -> None:
        first = self._first(symbol)
        source = first.source if first else name
        dim = self.inputs.named[name]
        if first is not None and isinstance(first.spec, _DerivedDim) and first.spec.root is dim:
            pass
        self.problems.append(
            (
                name,
                (
                    f"You marked {name} as dynamic but your code specialized it to be a constant ({value}): {name} was "
                    f"inferred to be a constant ({value}), from {source} == {value}{self._where(symbol)}. "
                    "Please either "
                    f"remove it from your dynamic_shapes, use Dim.AUTO, or change the code."
                ),
            )
        )
        self.fixes.append(f"{name} = {value}")

    def _check_relation(self, name: str, symbol: Symbol, e: Expr) -> None:
        symbols = sorted(e.free_symbols, key=str)
        if len(symbols) != 1 or symbols[0] not in self.names:
            self.problems.append(
                (name, f"{name} must always be {e}, which was not said{self._where(symbol)}")
            )
            return
        other = self.names[symbols[0]]
        first, second = self._first(symbol), self._first(symbols[0])
        a, b = (first.source if first else name), (second.source if second else other)
        text = _derived_text(*self._by_root(symbols[0], e))
        if isinstance(e, Symbol):
            problem = (
                f"The values of {name} = {a} and {other} = {b} must always be equal{self._where(symbol)}."
            )
        else:
            rule = guard_text(e, {symbols[0]: other})
            problem = (
                f"The values of {name} = {a} must always be related to the values of {other} = {b} by {name} = {rule}"
                f"{self._where(symbol)}."
            )
        self.problems.append((name, problem))
        if text is not None:
            self.fixes.append(f"{name} = {text}")

    def _check_range(self, name: str, symbol: Symbol) -> None:
        dim = self.inputs.named[name]
        interval = self.env.var_to_range[symbol]
        low = dim.min if dim.min > 2 else 0
        first = self._first(symbol)
        source = first.source if first else name
        texts = []
        if interval.upper < dim.max:
            texts.append(f"{source} <= {interval.upper}")
        if interval.lower > max(low, 2):
            texts.append(f"{interval.lower} <= {source}")
        if not texts:
            if symbol in self.multiples:
                self._suggest(name, symbol, 0, int_oo, False)
            return
        shown = f"{dim.min} <= {name} <= {dim.max}" if dim.max != int_oo or dim.min else "of all sizes"
        for text in texts:
            self.problems.append(
                (
                    name,
                    (
                        f"Not all values of {name} = {source} in the specified range {shown} satisfy the "
                        "generated guard "
                        f"{text}{self._where(symbol)}."
                    ),
                )
            )
        self._suggest(name, symbol, int(interval.lower), interval.upper, True)

    # ---- what is left of the guards
    def _guards(self) -> None:
        promised = {
            s: ValueRanges(max(int(self.inputs.named[n].min), self._least(s)), self.inputs.named[n].max)
            for s, n in self.names.items()
        }
        for guard in self.env.guards:
            e = self.env.replace(guard.expr)
            symbols = sorted(e.free_symbols, key=str)
            if len(symbols) != 1 or symbols[0] not in self.names:
                continue  # the program checks what relates several sizes
            symbol = symbols[0]
            name = self.names[symbol]
            low, _ = bounds(e, promised)
            if low:
                continue
            if _congruence(e) is not None:
                self._check_multiple(e, symbol)
                continue
            if name in {n for n, _ in self.problems}:
                continue
            source, dim = self.sources.get(symbol, name), self.inputs.named[name]
            text = guard_text(e, {symbol: source})
            self.problems.append(
                (
                    name,
                    (
                        f"Not all values of {name} = {source} in the specified range "
                        f"{dim.min} <= {name} <= {dim.max} satisfy the generated guard {text}, at {guard.sloc}."
                    ),
                )
            )
            if not any(f.startswith(f"{name} = ") for f in self.fixes):
                self.fixes.append(f"{name} = {self.env.var_to_val[symbol]}")

    def _least(self, symbol: Symbol) -> int:
        return 2 if self.env.var_to_val[symbol] > 1 else 0

    def _check_multiple(self, e: Any, symbol: Symbol) -> None:
        name = self.names[symbol]
        source, dim = self.sources.get(symbol, name), self.inputs.named[name]
        text = guard_text(e.lhs, {symbol: source})
        self.problems.append(
            (
                name,
                (
                    f"Not all values of {name} = {source} in the specified range {dim.min} <= {name} <= "
                    f"{dim.max} satisfy the generated guard {text} == 0."
                ),
            )
        )


def _congruence(e: Any) -> tuple[Symbol, int, int] | None:
    """Of a condition `(s + c) % m == 0` the three; None for another."""
    left = getattr(e, "lhs", None)
    if getattr(e, "rel_op", None) != "==" or e.rhs != 0:
        return None
    if not isinstance(left, Call) or left.name not in ("Mod", "PythonMod"):
        return None
    of, modulus = left.args
    if not isinstance(modulus, Integer) or modulus.value < 2:
        return None
    terms, added = (of.terms, of.constant) if isinstance(of, Sum) else (((of, 1),), 0)
    if len(terms) != 1 or terms[0][1] != 1 or not isinstance(terms[0][0], Symbol):
        return None
    return terms[0][0], int(modulus.value), int(added)


def _derived_text(e: Expr, name: str) -> str | None:
    """A size as a function of another as `Dim`s say it."""
    if isinstance(e, Symbol):
        return name
    if not isinstance(e, Sum) or len(e.terms) != 1:
        return None
    factor, constant = e.terms[0][1], e.constant
    text = name if factor == 1 else f"{factor}*{name}"
    if constant:
        text += f" {'+' if constant > 0 else '-'} {abs(constant)}"
    return text
