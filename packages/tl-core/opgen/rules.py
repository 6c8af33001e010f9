"""The transforms of rows: `generated/rules.cpp`, the table of `tl/rules.h`.

A row's `jvp` and `batch` are keywords, `none:` or `refuse:` with a reason, or `rule` for a function of `optable/rules/`
(see `opgen/rule_language.py`). `inverse`, of views, is a formula as in `grad`: `g` is the new view, or the list of all
new views, and the value is the new `self`. Functions and formulas are compiled to programs.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass

from opgen.argument_roles import roles
from opgen.formulas.emitter import Emitter
from opgen.formulas.parser import Parser, expression_of
from opgen.formulas.rule_parser import RuleParser
from opgen.formulas.scope import FormulaError, Names, Scope, arguments, extra, results, tangents
from opgen.formulas.tree import Body, Node, Stored
from opgen.overload import Resolver
from opgen.program_text import Program, Saved, Target, definitions
from opgen.row import Row
from opgen.rule_files import RuleFunction, rule_functions

JVP_KINDS = {
    "none": "NONE",
    "composite": "COMPOSITE",
    "linear": "LINEAR",
    "elementwise": "ELEMENTWISE",
    "double-vjp": "DOUBLE_VJP",
    "rule": "FORMULA",
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
    "rule": "FORMULA",
}
REASONS = ("none", "refuse")  # the keywords that a colon and a reason follow


@dataclass
class Rule:
    """The rule of one row."""

    row: Row
    jvp_kind: str
    batch_kind: str
    jvp: Program | None = None
    batch: Program | None = None
    inverse: Program | None = None
    unexpanded: int = 0  # a bit for each argument that the rule of batches reads without a batch


def rules(rows: list[Row]) -> list[Rule]:
    """The rule of each row; raises ValueError for an unknown keyword, and for a function without a row."""
    resolver, functions = Resolver(rows), rule_functions()
    _check_rows(rows, functions)
    return [_rule(row, resolver, functions) for row in rows]


def _check_rows(rows: list[Row], functions: dict[tuple[str, str], RuleFunction]) -> None:
    """Every function has a row of its family that declares it."""
    families = {
        (kind, row.name): row.family
        for row in rows
        for kind in ("jvp", "batch")
        if getattr(row, kind) == "rule"
    }
    for key, function in functions.items():
        if families.get(key) != function.family:
            raise ValueError(
                f"{function.position()}: optable/{function.family}.py has no row {function.row} "
                f'with {function.kind}="rule"'
            )


def _rule(row: Row, resolver: Resolver, functions: dict[tuple[str, str], RuleFunction]) -> Rule:
    if row.random and row.jvp == "linear":
        raise ValueError(
            f"the row {row.name} is random: jvp='linear' would draw other numbers for the tangent"
        )
    rule = Rule(row, _kind(row, "jvp", row.jvp, JVP_KINDS), _kind(row, "batch", row.batch, BATCH_KINDS))
    if row.jvp == "rule":
        rule.jvp = _jvp(row, _function(row, "jvp", functions), resolver)
    if row.batch == "rule":
        rule.batch, rule.unexpanded = _batch(row, _function(row, "batch", functions), resolver)
    if row.inverse:
        rule.inverse = _inverse(row, resolver)
    return rule


def _kind(row: Row, field: str, text: str, kinds: dict[str, str]) -> str:
    word, colon, _ = text.partition(":")
    if word not in kinds or (colon and word not in REASONS):
        raise ValueError(
            f"{row.where}: the row {row.name} has {field}={text!r}; known are {', '.join(kinds)}"
        )
    return kinds[word]


def _function(row: Row, kind: str, functions: dict[tuple[str, str], RuleFunction]) -> RuleFunction:
    if (kind, row.name) not in functions:
        raise ValueError(
            f'{row.where}: optable/rules/{row.family}.py has no function with @{kind}("{row.name}")'
        )
    return functions[kind, row.name]


# ---- programs ------------------------------------------------------------------------------------------------------


def _jvp(row: Row, function: RuleFunction, resolver: Resolver) -> Program:
    names = {**arguments(row), **results(row), **tangents(row)}
    parser = _parser(row, function, names, {}, resolver)
    body = parser.function(function.definition, len(row.rets))
    return _program(row, "jvp", names.values(), body, len(row.rets))


def _batch(row: Row, function: RuleFunction, resolver: Resolver) -> tuple[Program, int]:
    common: Names = {"batch_size": extra(0, "int")}
    parser = _parser(row, function, arguments(row), common, resolver)
    body = parser.function(function.definition, len(row.rets))
    return _program(row, "bat", common.values(), body, len(row.rets)), parser.unexpanded


def _inverse(row: Row, resolver: Resolver) -> Program:
    view = extra(0, "tensors" if row.rets[0].is_tensor_list else "tensor")
    scope = Scope(lambda node: f"the inverse of {row.name}", {**arguments(row), **results(row), "g": view})
    body = Parser(scope, resolver).body(expression_of(row.inverse, scope), 1)
    return _program(row, "inv", [view], body, 1)


def _parser(row: Row, function: RuleFunction, names: Names, common: Names, resolver: Resolver) -> RuleParser:
    """A parser whose scope has the parameters of a function."""

    def subject(node: ast.AST | None) -> str:
        return f"{function.position(node)}: the {function.kind} rule of {row.name}"

    parameters = [a.arg for a in function.definition.args.args]
    read = {node.id for node in ast.walk(function.definition) if isinstance(node, ast.Name)}
    for parameter in parameters:
        if parameter not in names:
            raise FormulaError(f"{subject(None)}: {parameter!r} is no argument of the row")
        if parameter not in read:
            raise FormulaError(f"{subject(None)}: no statement reads {parameter!r}")
    scope = Scope(subject, {**common, **{parameter: names[parameter] for parameter in parameters}})
    return RuleParser(scope, resolver, function.helpers, common)


def _program(row: Row, word: str, inputs: Iterable[Node], body: Body, n_results: int) -> Program:
    """A program of one block. The values that the caller adds to the call come first."""
    program = Program(f"{row.name} {word}", targets=[Target(0, False, 0)] * n_results)
    for value in inputs:
        if isinstance(value, Stored) and value.source == "EXTRA":
            program.save(Saved(value.source, value.index, value.meta), 0)
    emitter = Emitter(program)
    program.add_block(0, n_results, 0, emitter.body(body, n_results))
    program.registers = emitter.registers
    return program


# ---- the table -----------------------------------------------------------------------------------------------------


def rules_cpp(rows: list[Row]) -> str:
    """The table."""
    table = rules(rows)
    programs = [p for rule in table for p in (rule.jvp, rule.batch, rule.inverse) if p]
    text = definitions(programs).split("\n")[1:] if programs else []
    lines = ['#include "tl/rules.h"', "", *text, "namespace tl {", "namespace {"]
    lines += [
        f"const uint8_t r{i}_roles[] = {{{', '.join(f'TL_ROLE_{role}' for role in roles(rule.row))}}};"
        for i, rule in enumerate(table)
        if rule.row.args
    ]
    lines += ["const TlRule kTable[] = {", *(f"    {_entry(rule, i)}," for i, rule in enumerate(table))]
    lines += ["};", "}  // namespace", "extern const TlRules kRules;"]
    lines += [
        f"const TlRules kRules = {{sizeof(TlRules), TL_API_MAJOR, TL_API_MINOR, sizeof(TlRule), {len(table)}, kTable}};"
    ]
    return "\n".join([*lines, "}  // namespace tl", ""])


def _entry(rule: Rule, i: int) -> str:
    def address(program: Program | None) -> str:
        return f"&{program.symbol}" if program else "nullptr"

    parts = [
        *(json.dumps(rule.row.name), f"TL_JVP_{rule.jvp_kind}", f"TL_BATCH_{rule.batch_kind}"),
        *("0", f"{rule.unexpanded}u", json.dumps(rule.row.jvp), json.dumps(rule.row.batch)),
        *(address(rule.jvp), address(rule.batch)),
        *(f"r{i}_roles" if rule.row.args else "nullptr", address(rule.inverse)),
    ]
    return f"{{{', '.join(parts)}}}"
