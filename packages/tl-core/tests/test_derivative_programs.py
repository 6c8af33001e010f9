"""Formulas become programs: what they keep, what they call, what they refuse."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from opgen import derivative
from opgen.derivative import compile_formulas
from opgen.formulas.scope import FormulaError
from opgen.overload import Resolver
from opgen.program_text import Saved
from opgen.row import Binary, Op, Unary

COMMON = {"jvp": "linear", "batch": "dims", "doc": "A row of the tests."}


def row(signature, grad):
    return Op(signature, grad=grad, **COMMON)


ROWS = [
    Binary("add", scalars="Scalar alpha=1", grad={"self": "g", "other": "g * alpha"}, doc="a"),
    Binary("mul", grad={"self": "g * other.conj()", "other": "g * self.conj()"}, doc="a"),
    Unary("neg", grad={"self": "-g"}, doc="a"),
    Unary("conj", grad={"self": "g.conj()"}, doc="a"),
    row("take(Tensor self, int[2] size, *, int start=0) -> Tensor", {"self": "g"}),
    row("split(Tensor(a) self, int[] sizes, int dim=0) -> Tensor(a)[]", {"self": "cat(grads, dim)"}),
    row(
        "cat(Tensor[] tensors, int dim=0) -> Tensor",
        {"tensors": "split(g, [t.shape[dim] for t in tensors], dim)"},
    ),
]


def compiled(signature, grad):
    r = row(signature, grad)
    return compile_formulas(r, Resolver([*ROWS, r]))


def one(formula, signature="f(Tensor self, Tensor other, int n) -> Tensor"):
    return compiled(signature, {"self": formula})


def kept(program):
    return {(s.source, s.index, s.meta) for s in program.saved}


def test_only_what_is_read_is_kept():
    assert kept(one("g * other")) == {("ARG", 1, "VALUE")}
    assert kept(one("g * result")) == {("RESULT", 0, "VALUE")}
    assert kept(one("g")) == set()
    assert kept(one("g * n")) == {("ARG", 2, "VALUE")}


def test_metadata_does_not_keep_the_tensor():
    assert kept(one("take(g, self.shape)")) == {("ARG", 0, "SHAPE")}
    assert kept(one("take(g, [other.size(0), self.numel()])")) == {("ARG", 1, "SHAPE"), ("ARG", 0, "NUMEL")}
    optional = compiled("f(Tensor self, Tensor? w) -> Tensor", {"self": "g if w is None else -g"})
    assert kept(optional) == {("ARG", 1, "IS_TENSOR")}
    lists = compile_formulas(ROWS[6], Resolver(ROWS))
    assert kept(lists) == {("ARG", 0, "COUNT"), ("ARG", 0, "SHAPE"), ("ARG", 1, "VALUE")}


def test_values_are_kept_for_the_formulas_that_read_them():
    program = compiled("f(Tensor self, Tensor other) -> Tensor", {"self": "g * other", "other": "g * self"})
    assert program.saved == {Saved("ARG", 1, "VALUE"): 1, Saved("ARG", 0, "VALUE"): 2}


def test_overloads_defaults_and_keywords():
    program = one("take(g, n, start=3)")
    (pair, call) = program.steps
    assert program.ops == ["take"] and pair.code == "LIST" and len(pair.inputs) == 2
    assert [program.consts[i] for kind, i in call.inputs if kind == "CONST"] == [3]
    plain = one("g + other")
    assert [plain.consts[i] for kind, i in plain.steps[0].inputs if kind == "CONST"] == [1]


def test_numbers_may_come_first():
    assert one("2 * g").ops == ["mul.Tensor"]


def test_several_arguments_and_results():
    program = compiled(
        "f(Tensor a, Tensor b) -> (Tensor x, Tensor y)",
        {"a, b": "(g_x * b if defined(g_x) and needs[0] else None, g1 * a)"},
    )
    assert [t.arg for t in program.targets] == [0, 1] and len(program.blocks) == 1


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("g * nothing", "'nothing' is no argument, result or gradient of the row"),
        ("g.frobnicate()", "there is no such row"),
        ("g +", "is no Python expression"),
        ("g if self else -g", "chooses by a tensor"),
        ("g[0]", "indexes a tensor"),
        ("lambda: g", "is not part of the formula language"),
        ("needs[1]", "counts the arguments of its own key"),
        ("take(g)", "no overload of 'take' takes"),
        ("g * 1 < n < 2", "chains comparisons"),
    ],
)
def test_wrong_formulas_name_the_row_and_the_part(formula, why):
    with pytest.raises(FormulaError, match=r"the derivative of f") as caught:
        one(formula)
    assert why in str(caught.value)


def test_keys_must_be_tensor_arguments():
    with pytest.raises(FormulaError, match="is no tensor argument"):
        compiled("f(Tensor self, int n) -> Tensor", {"n": "g"})
    with pytest.raises(FormulaError, match="gives 1 gradients for 2 arguments"):
        compiled("f(Tensor a, Tensor b) -> Tensor", {"a, b": "(g,)"})


def test_every_form_of_a_row_shares_one_program():
    programs = derivative.programs(ROWS)
    assert programs["add.Tensor"] is programs["add_.Tensor"] and "add.out" not in programs
    text = derivative.programs_cpp(programs)
    assert text.count("const TlProgram kProgram_add_Tensor") == 1
    assert derivative.symbols(programs)["add_.Tensor"] == "&kProgram_add_Tensor"
    assert "extern const TlProgram kProgram_cat;" in derivative.programs_h(programs)


def test_every_row_of_the_core_compiles():
    from opgen import collect

    assert len(derivative.programs(collect.rows())) > 100
