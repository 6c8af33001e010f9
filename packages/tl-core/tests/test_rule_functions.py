"""Rules as functions: the programs that statements become, and the errors of opgen."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from opgen import collect, rule_files, rules
from opgen.formulas.scope import FormulaError
from opgen.overload import Resolver
from opgen.row import Binary, Op, Unary

ROWS = [
    Binary("add", scalars="Scalar alpha=1", grad={"self": "g"}, doc="a", jvp="none:", batch="loop"),
    Binary("mul", grad={"self": "g"}, doc="a", jvp="none:", batch="loop"),
    Unary("neg", grad={"self": "-g"}, doc="a", jvp="none:", batch="loop"),
    Op("two(Tensor self) -> (Tensor, Tensor)", grad="none:", doc="a", jvp="none:", batch="loop"),
    Op(
        "f(Tensor self, Tensor other, int n) -> Tensor", grad="none:", doc="a", jvp="rule", batch="rule",
        family="family",
    ),
]  # fmt: skip


TANGENT = '@jvp("f")\ndef _(t_self):\n    return t_self\n'


def rule_of(tmp_path, text, helpers=""):
    """The rule of the row `f`, whose batches have the function `text`."""
    (tmp_path / "family.py").write_text(f'{helpers}\n@batch("f")\n{text}\n\n\n{TANGENT}')
    return rules._rule(ROWS[-1], Resolver(ROWS), rule_files.rule_functions(tmp_path))


def batch_of(tmp_path, text, helpers=""):
    return rule_of(tmp_path, text, helpers).batch


def codes(program):
    return [step.code if step.op == 0xFFFF else program.ops[step.op] for step in program.steps]


def test_a_variable_runs_once(tmp_path):
    program = batch_of(tmp_path, "def _(self, other):\n    x = self * other\n    return x + x\n")
    assert codes(program) == ["mul.Tensor", "add.Tensor"]


def test_branches_return_or_assign_one_variable(tmp_path):
    early = batch_of(tmp_path, "def _(self, n):\n    if n > 0:\n        return -self\n    return self\n")
    choice = batch_of(
        tmp_path,
        "def _(self, n):\n    if n > 0:\n        x = -self\n    else:\n        x = self\n    return x\n",
    )
    full = batch_of(tmp_path, "def _(self, n):\n    return -self if n > 0 else self\n")
    assert codes(early) == codes(choice) == codes(full) == [
        "ARITH", "JUMP_UNLESS", "neg", "MOVE", "JUMP", "MOVE"
    ]  # fmt: skip


def test_a_helper_is_a_macro(tmp_path):
    helpers = "def _pair(x, n):\n    y = x * n\n    return y, x\n\n\ndef _sum(x, y):\n    return x + y\n"
    program = batch_of(
        tmp_path,
        "def _(self, other):\n    a, b = _pair(self, 2)\n    return _sum(a, b * other)\n",
        helpers=helpers,
    )
    assert codes(program) == ["mul.Tensor", "mul.Tensor", "add.Tensor"]


def test_arguments_without_a_batch(tmp_path):
    rule = rule_of(tmp_path, "def _(self, other):\n    return self if batched(self) else unexpanded(other)\n")
    assert rule.unexpanded == 0b11
    assert [s.source for s in rule.batch.saved] == ["EXTRA", "EXTRA", "ARG", "ARG"]


def test_all_results_of_a_call(tmp_path):
    program = batch_of(tmp_path, "def _(self):\n    return results(two(self))[1]\n")
    assert codes(program) == ["two", "LIST", "INDEX"] and program.steps[0].n_results == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "def _(self):\n    return self + nothing",
            r"family.py:5: the batch rule of f: 'nothing' is no argument",
        ),
        ("def _(self, more):\n    return self + more", "family.py:4: .*'more' is no argument of the row"),
        ("def _(self, n):\n    return self", "no statement reads 'n'"),
        ("def _(self):\n    x = self", "has no result"),
        (
            "def _(self):\n    for x in self:\n        pass\n    return x",
            "family.py:5: .*is not part of the language",
        ),
        (
            "def _(self, n):\n    if n:\n        x = self\n    else:\n        y = self\n    return self",
            "branches that end with different variables",
        ),
        ("def _(self):\n    x, y = two(self)\n    return x", "is no call of a helper of this file"),
        ("def _(self):\n    return _loop(self)", "family.py:1: .*calls itself"),
        ("def _(self):\n    return _loop(self, 1)", "must have the arguments x"),
        ("def _(self):\n    return results(self)", "is not about a call of an operator"),
        ("def _(self):\n    y = -self\n    return batched(y)", "is not about an argument of the row"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path, text, why):
    with pytest.raises(FormulaError, match=why):
        batch_of(tmp_path, text, helpers="def _loop(x): return _loop(x)\n")


def test_rows_and_functions_need_each_other(tmp_path):
    (tmp_path / "family.py").write_text(TANGENT)
    functions = rule_files.rule_functions(tmp_path)
    with pytest.raises(ValueError, match=r"family.py has no function with @batch\(\"f\"\)"):
        rules._rule(ROWS[-1], Resolver(ROWS), functions)
    row = Op("f(Tensor self) -> Tensor", grad="none:", doc="a", jvp="linear", batch="dims", family="family")
    with pytest.raises(ValueError, match=r'family.py:2: optable/family.py has no row f with jvp="rule"'):
        rules._check_rows([row], functions)


def test_a_row_has_one_rule(tmp_path):
    (tmp_path / "family.py").write_text(TANGENT + TANGENT)
    with pytest.raises(ValueError, match=r"family\.py:5: f has a rule at optable/rules/family.py:2"):
        rule_files.rule_functions(tmp_path)


def test_unknown_keywords_stop_the_build():
    row = Op("f(Tensor self) -> Tensor", grad="none:", doc="a", jvp="linear", batch="dimms")
    with pytest.raises(ValueError, match="known are composite, elementwise"):
        rules._rule(row, Resolver([row]), {})


def test_every_rule_has_a_row():
    assert len(rules.rules(collect.rows())) > 1000


def test_helpers_of_another_file(tmp_path):
    (tmp_path / "shared.py").write_text("def twice(x):\n    return x + x\n")
    program = batch_of(tmp_path, "def _(self):\n    return twice(-self)\n", "from .shared import twice\n")
    assert codes(program) == ["neg", "add.Tensor"]


def test_an_error_in_a_helper_names_its_file(tmp_path):
    (tmp_path / "shared.py").write_text("def twice(x):\n    return unknown(x)\n")
    with pytest.raises(FormulaError, match=r"optable/rules/shared\.py:2"):
        batch_of(tmp_path, "def _(self):\n    return twice(-self)\n", "from .shared import twice\n")
