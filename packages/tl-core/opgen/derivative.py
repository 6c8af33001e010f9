"""Derivative formulas of the rows, as programs: `generated/programs.h` and `generated/programs.cpp`.

A formula is a Python expression. It may use

- `g`, or `g0`, `g1`, … and `g_<result>` with several results, and `grads`, the list of all;
- the row's arguments, `result` or a result's name (saved for the backward only where a required formula reads them),
  and their `shape`, `dtype`, … (saved without the tensor);
- operators, methods and functions of any row: `g * other.conj()`, `unsum(g, self.shape, dim, keepdim)`;
- on plain values: arithmetic, comparisons, `and`, `or`, `not`, indexing and slicing of lists, `len`, `range`, `min`,
  `max`, `abs`, `prod`, `sum`; `a if c else b`; a comprehension over a list, `zip` or `enumerate`;
- `defined(g)`, `is_tensor(x)`, and under a key of several arguments a tuple and `needs[i]`, or the list `needs`.
"""

from __future__ import annotations

from opgen.formulas.emitter import Emitter
from opgen.formulas.parser import Parser, expression_of
from opgen.formulas.scope import Names, Scope, arguments, gradients, results
from opgen.formulas.tree import Input
from opgen.overload import Resolver
from opgen.program_text import Program, Saved, Target, declarations, definitions
from opgen.row import Row

MAX_BLOCKS = 32  # a saved value has a bit for each block that reads it


def programs(rows: list[Row]) -> dict[str, Program]:
    """Operator name (of every form that records) -> its program."""
    resolver = Resolver(rows)
    compiled: dict[str, Program] = {}
    for row in rows:
        if isinstance(row.grad, dict):
            program = compile_formulas(row, resolver)
            compiled.update((schema.name, program) for variant, schema in row.forms() if variant != "out")
    return compiled


def symbols(compiled: dict[str, Program]) -> dict[str, str]:
    """Operator name -> the C++ expression of its program's address."""
    return {name: f"&{program.symbol}" for name, program in compiled.items()}


def programs_h(compiled: dict[str, Program]) -> str:
    """Declares every program."""
    return declarations(_distinct(compiled))


def programs_cpp(compiled: dict[str, Program]) -> str:
    """Defines every program as constant tables."""
    return definitions(_distinct(compiled))


def _distinct(compiled: dict[str, Program]) -> list[Program]:
    return list({p.symbol: p for p in compiled.values()}.values())


def compile_formulas(row: Row, resolver: Resolver) -> Program:
    """The program of a row whose `grad` is a dict: a block for each formula; raises FormulaError."""
    program = Program(row.name)
    scope = Scope(lambda node: f"the derivative of {row.name}", {})
    assert isinstance(row.grad, dict)
    for key, formula in row.grad.items():
        names = [name.strip() for name in key.split(",")]
        if len(program.blocks) >= MAX_BLOCKS:
            scope.fail(formula, f"at most {MAX_BLOCKS} formulas a row")
        _add_block(program, row, scope, names, formula, resolver)
    return program


def _add_block(
    program: Program, row: Row, scope: Scope, names: list[str], formula: str, resolver: Resolver
) -> None:
    """Adds the steps that compute the gradients of the arguments `names`."""
    first_target, first_step = len(program.targets), len(program.steps)
    emitter = Emitter(program, len(program.blocks))
    program.targets += [_target(program, row, scope, name) for name in names]
    known = {**arguments(row), **results(row), **gradients(row), **_needs(first_target, len(names))}
    tree = expression_of(formula, scope)
    body = Parser(Scope(scope.subject, known), resolver).body(tree, len(names))
    program.add_block(first_target, len(names), first_step, emitter.body(body, len(names)))
    program.registers = max(program.registers, emitter.registers)


def _needs(first_target: int, n_targets: int) -> Names:
    """Which gradients of a key the backward pass needs."""
    names: Names = {"needs": Input("list", ("NEEDS_ALL", 0))}
    names |= {f"needs[{i}]": Input("bool", ("NEEDS", first_target + i)) for i in range(n_targets)}
    return names


def _target(program: Program, row: Row, scope: Scope, name: str) -> Target:
    for index, arg in enumerate(row.args):
        if arg.name == name and arg.is_tensor:
            return Target(index, False, 0)
        if arg.name == name and arg.is_tensor_list:
            return Target(index, True, program.save(Saved("ARG", index, "COUNT"), len(program.blocks)))
    scope.fail(name, "is no tensor argument of the row")
