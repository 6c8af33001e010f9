"""Facts of rows that Python reads, and the tables of rules."""

import pytest

import tl_core as tl
from tl_core import _C
from tl_core.base import row_facts
from tl_core.base.rule_table import RULE_TABLES, RuleTable
from tl_core.operators.elementwise import elementwise_functions
from tl_core.operators.packets import PACKETS, aten
from tl_core.schemas.tags import Tag
from tl_core.testing.composite_compliance import is_inplace_view_fn


def test_facts_name_operators():
    for kind in ("core", "numbers", "sizes", "inplace_views", "mask_reads", "mask_writes"):
        names = {n for n in row_facts.facts(kind) if f"aten::{n.partition('.')[0]}" not in PACKETS}
        assert names, kind
        assert names <= set(_C._operators()), kind


def test_second_names_of_rows_are_functions():
    for second, first in row_facts.facts("second_names").items():
        assert hasattr(tl.Tensor, second) or hasattr(tl, second), second
        assert hasattr(aten, first), first


# Recorded once from PyTorch 2.13.
@pytest.mark.parametrize(
    "name", ["argwhere", "repeat_interleave.Tensor", "nonzero.out", "_unique2", "bincount"]
)
def test_sizes_by_elements(name):
    base, _, overload = name.partition(".")
    assert Tag.dynamic_output_shape in getattr(getattr(aten, base), overload or "default").tags


@pytest.mark.parametrize("op", ["nonzero_static", "masked_select_backward"])
def test_sizes_by_arguments(op):
    assert Tag.dynamic_output_shape not in getattr(aten, op).default.tags


def test_core_overloads_for_numbers():
    assert Tag.core in aten.div.Scalar_mode.tags
    assert Tag.core not in aten.where.ScalarOther.tags
    assert Tag.core not in aten.add_.Scalar.tags


def test_inplace_views():
    names = {op.partition(".")[0] for op in _C._operators() if "::" not in op}
    names |= {name.removeprefix("aten::") for name in PACKETS if name.startswith("aten::")}
    names |= {f"{name}_" for name in ("swapaxes", "swapdims")}
    packets = [getattr(aten, name) for name in sorted(names) if name.endswith("_")]
    views = {p.__name__ for p in packets if is_inplace_view_fn(getattr(p, p.overloads()[0]))}
    assert views == {
        "as_strided_", "detach_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"
    }  # fmt: skip


def test_elementwise_functions_by_number_of_tensors():
    one, two = elementwise_functions(tensors=1), elementwise_functions(tensors=2)
    assert {"sin", "clamp", "clip", "negative"} <= one
    assert {"add", "subtract", "pow"} <= two
    assert not {"sum", "_conj", "add_", "tanh_backward"} & elementwise_functions()


def test_the_last_rule_of_an_operator_holds():
    table = RuleTable("test")
    try:
        first = table.rule("a", "b")(lambda: 1)
        second = table.rule("b")(lambda: 2)
        assert RULE_TABLES["test"] == {"a": first, "b": second}
    finally:
        del RULE_TABLES["test"]
