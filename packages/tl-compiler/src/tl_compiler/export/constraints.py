"""Whether a program holds for all sizes that were promised; if not, what to say instead."""

from __future__ import annotations

from typing import Any

from ..symbolic.errors import UserError, UserErrorType
from ..symbolic.expression import Call, Expr, Integer, Sum, Symbol, expand
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
    found = _Check(inputs)
    found.run()
    if found.problems:
        names = ", ".join(dict.fromkeys(n for n, _ in found.problems))
        text = "\n".join(f"  - {p}" for _, p in found.problems)
        fixes = "".join(f"\n  {f}" for f in dict.fromkeys(found.fixes))
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
            if isinstance(d.said, _DimHint):
                self._hinted(d)
        for name, symbol in self.inputs.roots.items():
            if isinstance(symbol, Symbol):
                self._root(name, symbol)
        self._guards()

    def _where(self, symbol: Symbol) -> str:
        line = self.env.reasons.get(symbol)
        return f", at {line}" if line else ""

    def _hinted(self, d: DimOfInput) -> None:
        if d.said.type is not _DimHintType.DYNAMIC:
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
        found = [d for d in self.inputs.dims if symbol in d.expr.free_symbols]
        return next((d for d in found if d.expr == symbol), found[0] if found else None)

    # ---- sizes that must be multiples
    def _find_multiples(self) -> None:
        """Which sizes, with something added, must be multiples of a number: they are said by a new size."""
        for guard in self.env.guards:
            found = _congruence(self.env.replace(guard.expr))
            if found is not None and found[0] in self.names:
                self.multiples.setdefault(found[0], found[1:])

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
            self._specialized(name, symbol, e.value)
        elif e != symbol:
            self._related(name, symbol, e)
        else:
            self._ranged(name, symbol)

    def _specialized(self, name: str, symbol: Symbol, value: int) -> None:
        first = self._first(symbol)
        source = first.source if first else name
        said = self.inputs.named[name]
        if first is not None and isinstance(first.said, _DerivedDim) and first.said.root is said:
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

    def _related(self, name: str, symbol: Symbol, e: Expr) -> None:
        others = sorted(e.free_symbols, key=str)
        if len(others) != 1 or others[0] not in self.names:
            self.problems.append(
                (name, f"{name} must always be {e}, which was not said{self._where(symbol)}")
            )
            return
        other = self.names[others[0]]
        mine, theirs = self._first(symbol), self._first(others[0])
        a, b = (mine.source if mine else name), (theirs.source if theirs else other)
        text = _derived_text(*self._by_root(others[0], e))
        if isinstance(e, Symbol):
            said = f"The values of {name} = {a} and {other} = {b} must always be equal{self._where(symbol)}."
        else:
            rule = guard_text(e, {others[0]: other})
            said = (
                f"The values of {name} = {a} must always be related to the values of {other} = {b} by {name} = {rule}"
                f"{self._where(symbol)}."
            )
        self.problems.append((name, said))
        if text is not None:
            self.fixes.append(f"{name} = {text}")

    def _ranged(self, name: str, symbol: Symbol) -> None:
        said = self.inputs.named[name]
        held = self.env.var_to_range[symbol]
        low = said.min if said.min > 2 else 0
        first = self._first(symbol)
        source = first.source if first else name
        texts = []
        if held.upper < said.max:
            texts.append(f"{source} <= {held.upper}")
        if held.lower > max(low, 2):
            texts.append(f"{held.lower} <= {source}")
        if not texts:
            if symbol in self.multiples:
                self._suggest(name, symbol, 0, int_oo, False)
            return
        shown = f"{said.min} <= {name} <= {said.max}" if said.max != int_oo or said.min else "of all sizes"
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
        self._suggest(name, symbol, int(held.lower), held.upper, True)

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
                self._divided(e, symbol)
                continue
            if name in {n for n, _ in self.problems}:
                continue
            source, said = self.sources.get(symbol, name), self.inputs.named[name]
            text = guard_text(e, {symbol: source})
            self.problems.append(
                (
                    name,
                    (
                        f"Not all values of {name} = {source} in the specified range "
                        f"{said.min} <= {name} <= {said.max} satisfy the generated guard {text}, at {guard.sloc}."
                    ),
                )
            )
            if not any(f.startswith(f"{name} = ") for f in self.fixes):
                self.fixes.append(f"{name} = {self.env.var_to_val[symbol]}")

    def _least(self, symbol: Symbol) -> int:
        return 2 if self.env.var_to_val[symbol] > 1 else 0

    def _divided(self, e: Any, symbol: Symbol) -> None:
        name = self.names[symbol]
        source, said = self.sources.get(symbol, name), self.inputs.named[name]
        text = guard_text(e.lhs, {symbol: source})
        self.problems.append(
            (
                name,
                (
                    f"Not all values of {name} = {source} in the specified range {said.min} <= {name} <= "
                    f"{said.max} satisfy the generated guard {text} == 0."
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
