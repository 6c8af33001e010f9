"""Tables by operator: the entries that they must have, and the page."""

import pytest

pytest.importorskip("tl")

from tools import operator_rules
from tools.operator_rules import Must, missing

ROWS = operator_rules.collect.rows()
TABLES = operator_rules.rule_tables()


def test_no_row_is_missing():
    assert list(missing(ROWS, TABLES)) == []


@pytest.mark.parametrize("kind", TABLES)
def test_tables_have_entries(kind):
    assert TABLES[kind]


def test_a_missing_row_is_named():
    must = {"t": Must(operator_rules.has_data_shape, "the sizes")}
    lines = list(missing(ROWS, {"t": set()}, must))
    assert any("nonzero is missing in the rule table 't': the sizes" in line for line in lines)
    assert all(line.startswith("optable/") for line in lines)


def test_the_page_has_every_row():
    page = operator_rules.page()
    assert page.count("\n| `") == len(ROWS)
    assert "| `masked_scatter` | formula | linear | rule |" in page
