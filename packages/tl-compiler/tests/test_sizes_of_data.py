"""Programs with results whose sizes depend on elements: exported with a dynamic batch, and run on other data."""

from __future__ import annotations

from typing import Any

import pytest
from sizes import Program, same

import tl_core as tl
from tl_compiler.export import Dim, export

PROGRAMS: dict[str, Any] = {
    "nonzero": lambda x, n: tl.nonzero(x > 0.5),
    "nonzero as tuple": lambda x, n: (x > 0.5).nonzero(as_tuple=True),
    "where": lambda x, n: tl.where(x > 0.5),
    "argwhere": lambda x, n: tl.argwhere(x > 0.5),
    "mask": lambda x, n: x[x > 0.5],
    "mask of rows": lambda x, n: x[x[:, 0] > 0.5] * 2,
    "bincount": lambda x, n: tl.bincount(n),
    "unique": lambda x, n: tl.unique(n),
    "unique with positions": lambda x, n: tl.unique(n, return_inverse=True, return_counts=True),
    "unique rows": lambda x, n: tl.unique(x, dim=0),
    "unique columns with counts": lambda x, n: tl.unique(x.t(), dim=1, return_counts=True),
    "unique neighbours": lambda x, n: tl.unique_consecutive(n),
    "unique neighbours with positions": lambda x, n: tl.unique_consecutive(n, True, True),
    "unique neighbours of rows": lambda x, n: tl.unique_consecutive(x, return_inverse=True, dim=0),
    "repeat positions": lambda x, n: tl.repeat_interleave(n),
    "repeat elements": lambda x, n: x.sum(1).repeat_interleave(n),
    "repeat rows": lambda x, n: x.repeat_interleave(n, 0).sum(0),
    "repeat columns": lambda x, n: x.t().repeat_interleave(n, -1),
    "repeat rows to a number": lambda x, n: x.repeat_interleave(n, 0, output_size=n.sum().item()),
    "pieces": lambda x, n: tl.tensor_split(x, n[:2].cumsum(0)),
    "pieces of columns": lambda x, n: [z.sum(1) for z in tl.tensor_split(x.t(), n[:2].cumsum(0), 1)],
}


def inputs(b: int) -> tuple[Any, ...]:
    return tl.arange(3.0 * b).reshape(b, 3) * 0.37 % 1, tl.arange(b) * 5 % 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_at_other_sizes(name: str) -> None:
    dims = {"args": ({0: Dim("b", min=2)},) * 2}
    program = export(Program(PROGRAMS[name]), inputs(8), dynamic_shapes=dims)
    for size in (2, 3, 5, 8, 13):
        same(program.module()(*inputs(size)), PROGRAMS[name](*inputs(size)), f"{name} at {size}")


@pytest.mark.parametrize("name", ("_unique2", "unique_consecutive", "unique_dim"))
def test_results_that_the_call_does_not_return_are_empty(name: str) -> None:
    operator = getattr(tl.ops.aten, name).default
    dim = (0,) if name == "unique_dim" else ()
    program = export(
        Program(lambda x, n: operator(n, *dim)), inputs(8), dynamic_shapes={"args": ({0: Dim.AUTO},) * 2}
    )
    node = next(n for n in program.graph.nodes if n.target is operator)
    assert [list(t.shape) for t in node.meta["val"][1:]] == [[0], [0]]
    assert [list(t.shape) for t in operator(inputs(8)[1], *dim)[1:]] == [[0], [0]]
