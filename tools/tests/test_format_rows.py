"""The formatter of the operator table."""

from __future__ import annotations

import ast

import pytest

from tools import format_rows

ROW = 'Unary("exp", doc="e to the power.", to="float", ref="numpy.exp", grad={"self": "g * result"}, expr="exp(x)")'
FORMATTED = """ROWS = [
    # ---- one input
    Unary(
        "exp",
        to="float",
        grad={"self": "g * result"},
        expr="exp(x)", ref="numpy.exp",
        doc="e to the power.",
    ),
]  # fmt: skip
"""


def test_a_row_has_a_group_of_fields_a_line():
    assert format_rows.formatted(f"ROWS = [\n    # ---- one input\n    {ROW},\n]\n") == FORMATTED


def test_what_is_formatted_stays():
    assert format_rows.formatted(FORMATTED) == FORMATTED


def test_a_short_row_stays_on_one_line():
    assert (
        format_rows.formatted('ROWS = [\n    Op("a(Tensor self)"),\n]\n').splitlines()[1]
        == '    Op("a(Tensor self)"),'
    )


@pytest.mark.parametrize(
    "text", ["word " * 60, 'a "quoted" word ' * 20, "line one\nline two " * 20, "it's 'so' " * 30]
)
def test_a_long_text_is_cut_and_stays_the_same(text):
    parts = format_rows.pieces(text, 80)
    assert all(len(part) <= 80 for part in parts)
    assert "".join(ast.literal_eval(part) for part in parts) == text


def test_an_f_string_is_cut_outside_of_its_braces():
    parts = format_rows.template_pieces('f"' + "abc {a + b} " * 20 + '"', 60)
    assert all(len(part) <= 60 for part in parts)
    assert eval("".join(parts), {"a": 1, "b": 2}) == "abc 3 " * 20


def test_rows_made_by_a_loop_keep_it():
    text = format_rows.formatted(
        'ROWS = [\n    *(Op(f"{n}(Tensor self)", doc="A.") for n in ("a", "b")),\n]\n'
    )
    assert '        for n in ("a", "b")\n' in text
    ast.parse(text)


def test_a_wide_call_outside_of_rows_is_formatted_where_it_stands():
    source = f'def f():\n    return Op("{"a " * 30}", doc="{"b " * 40}")\n'
    text = format_rows.formatted(source)
    assert max(map(len, text.splitlines())) <= format_rows.WIDTH
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
