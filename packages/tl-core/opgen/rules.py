"""How rows are transformed: `generated/rules.cpp`, the table of `tl/rules.h`.

The formulas of `jvp`, `batch` and `inverse` are written as those of `grad`, and compiled to the same programs.

- `jvp`: `t_<argument>` is the tangent of an argument, undefined where it has none, and for a list the list of them;
  `result` is what the call gave. The value is the tangent of the result, or a tuple with one for each.
- `inverse`, of views: `g` is what the view is to be, or the list of all views; the value is what `self` is then.
- `batch`: the row's tensors have the batch as dimension 0, those without one are expanded to it; `batch_size` is its
  size. Where the formula asks `batched(x)`, `x` comes without a dimension if it has no batch.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field

from opgen.derivative import Stored, Value, _Compiler
from opgen.overload import Resolver, _bind
from opgen.program_text import Program, Step, Target, definitions
from opgen.row import Row

JVP_KINDS = {
    "none": "NONE",
    "composite": "COMPOSITE",
    "linear": "LINEAR",
    "elementwise": "ELEMENTWISE",
    "double-vjp": "DOUBLE_VJP",
}
BATCH_KINDS = {
    "composite": "COMPOSITE",
    "elementwise": "ELEMENTWISE",
    "dims": "DIMS",
    "front": "FRONT",
    "fold": "FOLD",
    "random": "RANDOM",
    "refuse": "REFUSE",
    "loop": "LOOP",
    "index": "INDEX",
}
DIM_NAMES = ("dim", "dim0", "dim1", "dim2", "dimension", "axis")
DIMS_NAMES = ("dim", "dims", "axes")
SIZE_NAMES = ("size", "sizes", "shape", "input_sizes")


def role(arg, row_name: str = "") -> str:
    """What an argument means where dimensions are counted."""
    if arg.type == "int" and arg.name in DIM_NAMES:
        return "DIM"
    if arg.type == "int[]" and arg.name in DIMS_NAMES:
        none_are_all = arg.optional or arg.default is not None or row_name == "logsumexp"
        return "DIMS" if arg.name == "dim" and none_are_all else "SOME"
    if arg.type == "int[]" and (arg.name in SIZE_NAMES or (arg.name == "input_size" and arg.count >= 3)):
        return "SIZES"
    return "PLAIN"


def _word(text: str) -> str:
    """`"refuse"` of `"refuse: its size depends on the values"`."""
    return text.split(":")[0].strip() if text.split(":")[0].strip().replace("-", "").isalpha() else text


@dataclass
class Rule:
    """The rule of one row."""

    row: Row
    jvp: Program | None = None
    batch: Program | None = None
    inverse: Program | None = None
    as_they_are: int = 0

    @property
    def jvp_kind(self) -> str:
        return "FORMULA" if self.jvp else JVP_KINDS[_word(self.row.jvp)]

    @property
    def batch_kind(self) -> str:
        return "FORMULA" if self.batch else BATCH_KINDS[_word(self.row.batch)]


def rules(rows: list[Row]) -> list[Rule]:
    """Raises ValueError for a field that is neither a known word nor a formula."""
    resolver = Resolver(rows)
    return [_rule(row, resolver) for row in rows]


def _rule(row: Row, resolver: Resolver) -> Rule:
    rule = Rule(row)
    if row.random and row.jvp == "linear":
        raise ValueError(
            f"the row {row.name} is random: jvp='linear' would draw other numbers for the tangent"
        )
    if _word(row.jvp) not in JVP_KINDS:
        _known(row, "jvp", row.jvp, JVP_KINDS)
        rule.jvp = _JvpCompiler(row, resolver).formula(row.jvp)
    if _word(row.batch) not in BATCH_KINDS:
        _known(row, "batch", row.batch, BATCH_KINDS)
        compiler = _BatchCompiler(row, resolver)
        rule.batch = compiler.formula(row.batch)
        rule.as_they_are = compiler.as_they_are
    if row.inverse:
        rule.inverse = _InverseCompiler(row, resolver).formula(row.inverse)
    return rule


def _known(row: Row, what: str, text: str, words: dict) -> None:
    if text.replace("-", "_").isidentifier() and text not in {a.name for a in row.args}:
        raise ValueError(
            f"the row {row.name} says {what}={text!r}; known are {', '.join(words)} and formulas"
        )


@dataclass
class _RuleCompiler(_Compiler):
    """One block whose results are those of the operator."""

    def formula(self, text: str) -> Program:
        self.program.name = f"{self.row.name} {type(self).__name__[1:4].lower()}"
        n = self._n_results()
        self.program.targets = [Target(0, False, 0)] * n
        tree = self._parse(text)
        self.scope = self._names(0, 0)
        results = self._results(tree, [f"result {i}" for i in range(n)])
        self.program.add_block(0, n, 0, results)
        self.program.registers = self.registers
        return self.program

    def _n_results(self) -> int:
        return len(self.row.rets)

    def _results(self, tree: ast.expr, names: list[str]) -> list[tuple[str, int]]:
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "after":
            steps, tree = tree.args
            for step in steps.elts:  # type: ignore[attr-defined]
                self._value(step)
            return self._results(tree, names)
        return super()._results(tree, names)

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        """`(name := value)`; a step may not change what it named, as branches of one choice share registers."""
        value = self._value(node.value)
        self.scope[node.target.id] = value
        return value

    def _value_function(self, node: ast.Call) -> Value | None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "after":
            steps, result = node.args
            for step in steps.elts:  # type: ignore[attr-defined]
                self._value(step)
            return self._value(result)
        if name == "all" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
            return self._all(node.args[0])
        return super()._value_function(node)

    def _all(self, node: ast.Call) -> Value:
        """The list of all results of a call."""
        first = self._value(node)
        step = self.program.steps[-1]
        row = next(
            r for rows in self.resolver.by_name.values() for r in rows if r.name == self.program.ops[step.op]
        )
        step.n_results = len(row.rets)
        self.registers += len(row.rets) - 1
        words = [("REGISTER", first.word[1] + i) for i in range(len(row.rets))]
        return self._emit(Step("LIST", inputs=words), "tensors")

    def _resolve(
        self, node: ast.expr, name: str, args: list[Value], named: dict, code: str
    ) -> tuple[Row, dict]:
        """Formulas of rows that write may call such rows."""
        for row in self.resolver.by_name.get(name, ()) if name.endswith("_") else ():
            if row.writes_self and (bound := _bind(row, args, named)) is not None:
                return row, bound
        return super()._resolve(node, name, args, named, code)

    def _extra(self, index: int, kind: str) -> Value:
        return Value(self._save("EXTRA", index, "VALUE"), kind)


@dataclass
class _JvpCompiler(_RuleCompiler):
    def _names(self, first_target: int, n_targets: int) -> dict[str, Value | Stored]:
        names = super()._names(first_target, n_targets)
        for i, arg in enumerate(self.row.args):
            if arg.is_tensor:
                names[f"t_{arg.name}"] = Value(("GRAD", i), "tensor")
            elif arg.is_tensor_list:
                names[f"t_{arg.name}"] = self._extra(1 + i, "tensors")
        return names


@dataclass
class _InverseCompiler(_RuleCompiler):
    """The value of `self`, the only result."""

    def _n_results(self) -> int:
        return 1

    def _names(self, first_target: int, n_targets: int) -> dict[str, Value | Stored]:
        kind = "tensors" if self.row.rets[0].is_tensor_list else "tensor"
        return {**super()._names(first_target, n_targets), "g": self._extra(0, kind)}


@dataclass
class _BatchCompiler(_RuleCompiler):
    as_they_are: int = field(default=0, init=False)

    def _names(self, first_target: int, n_targets: int) -> dict[str, Value | Stored]:
        names = {n: v for n, v in super()._names(first_target, n_targets).items() if isinstance(v, Stored)}
        return {**names, "batch_size": self._extra(0, "int")}

    def _value_function(self, node: ast.Call) -> Value | None:
        if isinstance(node.func, ast.Name) and node.func.id in ("batched", "given"):
            item = self._lookup(node.args[0])
            if not isinstance(item, Stored) or item.source != "ARG":
                self._fail(node, "asks for what is no argument of the row")
            self.as_they_are |= 1 << item.index
            return self._read(item) if node.func.id == "given" else self._extra(1 + item.index, "bool")
        return super()._value_function(node)


def rules_cpp(rows: list[Row]) -> str:
    """The table."""
    found = rules(rows)
    made = [p for r in found for p in (r.jvp, r.batch, r.inverse) if p]
    text = definitions(made).split("\n")[1:] if made else []
    lines = ['#include "tl/rules.h"', "", *text, "namespace tl {", "namespace {"]
    lines += [
        f"const uint8_t r{i}_roles[] = {{{', '.join(f'TL_ROLE_{role(a, r.row.name)}' for a in r.row.args)}}};"
        for i, r in enumerate(found)
        if r.row.args
    ]
    lines += ["const TlRule kTable[] = {"]
    lines += [f"    {_entry(r, i)}," for i, r in enumerate(found)]
    lines += ["};", "}  // namespace"]
    lines += ["extern const TlRules kRules;"]
    lines += [f"const TlRules kRules = {{sizeof(TlRules), {len(found)}, kTable}};"]
    return "\n".join([*lines, "}  // namespace tl", ""])


def _entry(r: Rule, i: int) -> str:
    def address(p: Program | None) -> str:
        return f"&{p.symbol}" if p else "nullptr"

    parts = [
        json.dumps(r.row.name),
        f"TL_JVP_{r.jvp_kind}",
        f"TL_BATCH_{r.batch_kind}",
        "0",
        f"{r.as_they_are}u",
    ]
    parts += [
        json.dumps(r.row.jvp.strip()),
        json.dumps(r.row.batch.strip()),
        address(r.jvp),
        address(r.batch),
    ]
    parts += [f"r{i}_roles" if r.row.args else "nullptr", address(r.inverse)]
    return f"{{{', '.join(parts)}}}"
