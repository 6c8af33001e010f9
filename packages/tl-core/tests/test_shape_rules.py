"""The rule of each row against what the operator does, over many sizes: calls are drawn from the schema, or spelled out
where an operator takes no such arguments."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("numpy", reason="the samples of rows are numpy's")

from row_cases import ROWS
from shape_calls import CALLS, drawn

import tl_core as tl
import tl_core.operators.packets
from tl_core.operators.shape_rules import rule_of

shape_rules = importlib.import_module("opgen.shape_rules")  # row_cases has put it on the path
SIZES = (2, 3, 4, 5, 6, 7, 9, 12)
RULED = [row for row in ROWS if rule_of(row.name) is not None]


def operator(row: Any) -> Any:
    packet = getattr(tl.ops.aten, row.base)
    return getattr(packet, row.schema.overload or "default")


def shapes(out: Any) -> Any:
    if isinstance(out, tl.Tensor):
        return list(out.shape)
    return [shapes(o) for o in out] if isinstance(out, (list, tuple)) else None


def holds(row: Any, call: Any, size: int) -> bool:
    """Compares the rule with the operator at a size; False: it takes no such arguments."""
    rule = rule_of(row.name)
    try:
        args = call(size)
        kwargs = args[-1] if args and isinstance(args[-1], dict) else {}
        args = args[:-1] if kwargs else args
        values = rule.bind(args, kwargs)
        out = operator(row)(*args, **kwargs)
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
        return False
    result = rule.sizes(values)
    assert result == shapes(out), (
        f"{row.name}{tuple(shapes(a) or a for a in args)}: the rule says {result}, not {shapes(out)}"
    )
    return True


@pytest.mark.parametrize("row", RULED, ids=lambda row: row.name)
def test_rules_agree_with_the_operators(row: Any) -> None:
    calls = CALLS.get(row.name)
    if calls is not None:
        choice = sum(holds(row, call, size) for call in calls for size in SIZES)
        assert choice >= len(SIZES) // 2, "the operator takes none of these arguments"
        return
    choice = 0
    for group in drawn(row):
        call = next((call for call in group if holds(row, call, 5) or holds(row, call, 6)), None)
        if call is not None:
            choice += sum(holds(row, call, size) for size in SIZES)
            if choice > 200:
                break
    assert choice, "no call that the schema suggests is taken: it needs one in CALLS"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("self.shape +", "is no Python expression"),
        ("self.sizes", "reads .sizes"),
        ("unknown(self.shape)", "is no function of tl_core/operators/shape_functions.py"),
        ("other.shape", "is no argument of the row"),
        ("(lambda: 1)()", "Lambda"),
        ("self.__class__", "reads .__class__"),
    ],
)
def test_a_rule_that_does_not_compile_names_its_row(text: str, why: str) -> None:
    rows = [replace(row, shape=text) if row.name == "mm" else row for row in ROWS if row.name == "mm"]
    with pytest.raises(shape_rules.ShapeError, match=r"^optable/linalg.py:\d+: the shape of mm: .*") as error:
        shape_rules.shapes_json(rows)
    assert why in str(error.value)


def test_most_rows_have_a_rule() -> None:
    """Rows of sparse tensors aside, whose storage their sizes do not describe."""
    without = [
        row.name
        for row in ROWS
        if rule_of(row.name) is None
        and row.shape != "data"
        and row.family != "sparse"
        and any("Tensor" in r.type for r in row.rets)
    ]
    assert len(without) <= 35, without  # histogramdd returns a tensor and a list
