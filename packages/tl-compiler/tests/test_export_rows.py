"""Every public row as a program with a dynamic size: right at every size of its range, or the range is narrower."""

from __future__ import annotations

from typing import Any

import pytest
from row_programs import programs, rows
from sizes import check

# Programs that export refuses, or that need data that the calls lack.
REFUSED = {
    **dict.fromkeys(
        ("lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data"), "the numbers of a packed batch"
    ),
    **dict.fromkeys(
        ("randint_like.Tensor", "randint_like.Tensor_generator"), "the bound is a number in a tensor"
    ),
}


def is_public(row: Any) -> bool:
    return (
        not row.name.startswith("_")
        and row.family != "sparse"
        and row.elementwise is None
        and any("Tensor" in r.type for r in row.rets)
    )


@pytest.mark.parametrize("row", filter(is_public, rows()), ids=lambda row: row.name)
def test_every_size_of_a_row(row: Any) -> None:
    if row.name in REFUSED:
        pytest.skip(REFUSED[row.name])
    for program in programs(row, most=1):
        check(program.function, program.inputs, program.dims, 8, may_raise=True)
