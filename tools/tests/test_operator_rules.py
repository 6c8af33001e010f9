"""Tables by operator: the entries that they must have, and the page."""

import pytest

pytest.importorskip("tl")

from tools import operator_rules
from tools.operator_rules import TABLES, Table, missing

ROWS = operator_rules.collect.rows()


def test_no_row_is_missing():
    assert list(missing(ROWS)) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_tables_have_entries(table):
    assert table.names()


def test_a_missing_row_is_named():
    lacking = Table(
        "t", "tools.operator_rules", "TABLES", must=operator_rules.has_data_shape, why="the sizes"
    )
    lines = list(missing(ROWS, [lacking]))
    assert any("nonzero is missing in tools.operator_rules.TABLES: the sizes" in line for line in lines)
    assert all(line.startswith("optable/") for line in lines)


def test_the_page_has_every_row():
    page = operator_rules.page()
    assert page.count("\n| `") == len(ROWS)
    assert "| `masked_scatter` | formula | linear | rule |" in page
