"""Programs of two sizes that have nothing to do with each other: what one accepts doesn't depend on whether they are
equal in the example, and what it computes is right wherever it runs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from sizes import Program, same, used

import tl_core as tl
import tl_core.symbolic.arithmetic
from tl_compiler.export import Dim, export
from tl_compiler.symbolic.errors import UserError
from tl_nn import functional as F

EXAMPLES = ((6, 6), (6, 3), (4, 8))
PAIRS = tuple(itertools.product((2, 3, 6, 8), repeat=2))


def pair(a: int, b: int) -> tuple[Any, Any]:
    return tl.linspace(-1, 1, a * 4).reshape(a, 4), tl.linspace(-2, 3, b)


# Each runs at some pairs of sizes whatever the example is: it asks nothing of them, or that one divides another.
PROGRAMS = {
    "view of all": lambda x, y: x.reshape(-1).view(y.shape[0], -1),
    "view by the last": lambda x, y: x.reshape(-1).view(-1, y.shape[0]),
    "reshape": lambda x, y: x.reshape(y.shape[0], -1),
    "unflatten": lambda x, y: x.flatten().unflatten(0, (y.shape[0], -1)),
    "view of a product": lambda x, y: (x[:, :1] * y).view(-1),
    "view back": lambda x, y: (x[:, :1] * y).reshape(-1).view(y.shape[0], x.shape[0]),
    "outer": lambda x, y: tl.outer(x[:, 0], y),
    "broadcast": lambda x, y: x[:, :1] + y,
    "expand": lambda x, y: x[:, None].expand(-1, y.shape[0], -1),
    "repeat": lambda x, y: x.repeat(y.shape[0], 1),
    "tile": lambda x, y: tl.tile(x, (1, y.shape[0])),
    "cat": lambda x, y: tl.cat([x[:, 0], y]),
    "cat of lists": lambda x, y: tl.cat([x[:, 0], y, x[:, 1]]).reshape(-1),
    "first": lambda x, y: x[: y.shape[0]],
    "last": lambda x, y: x[-y.shape[0] :],
    "column": lambda x, y: x[:, 0, None] * tl.ones(y.shape[0]),
    "zeros": lambda x, y: tl.zeros(y.shape[0], x.shape[0]),
    "arange": lambda x, y: tl.arange(x.shape[0] * y.shape[0]).view(x.shape[0], y.shape[0]),
    "eye": lambda x, y: tl.eye(x.shape[0], y.shape[0]),
    "full": lambda x, y: x.new_full((y.shape[0], 2), 3.0),
    "einsum": lambda x, y: tl.einsum("ik,j->jik", x, y),
    "tensordot": lambda x, y: tl.tensordot(x, y, dims=0),
    "kron": lambda x, y: tl.kron(x, y[:, None]),
    "matmul": lambda x, y: x[:, :1] @ y[None],
    "addmm": lambda x, y: tl.addmm(y, x[:, :1], y[None]),
    "baddbmm": lambda x, y: tl.baddbmm(y, x[:, :1][None], y[None, None]),
    "cdist": lambda x, y: tl.cdist(x[:, :1], y[:, None]),
    "cartesian_prod": lambda x, y: tl.cartesian_prod(x[:, 0], y),
    "meshgrid": lambda x, y: tl.meshgrid(x[:, 0], y, indexing="ij")[1],
    "stack": lambda x, y: tl.stack([x[:, :1] * y, x[:, 1:2] + y]),
    "index": lambda x, y: x[tl.zeros(y.shape[0], dtype=tl.int64)],
    "gather": lambda x, y: x.gather(1, tl.zeros(x.shape[0], y.shape[0], dtype=tl.int64)),
    "index_select": lambda x, y: x.index_select(0, tl.ones(y.shape[0], dtype=tl.int64)),
    "interpolate": lambda x, y: F.interpolate(x.T[None], size=y.shape[0]),
    "adaptive pool": lambda x, y: F.adaptive_avg_pool1d(x.T[None], y.shape[0]),
    "pad": lambda x, y: F.pad(x, (0, 0, 0, y.shape[0])),
    "roll": lambda x, y: x.roll(y.shape[0], 0),
    "sum of sizes": lambda x, y: tl.zeros(x.shape[0] + y.shape[0]) + tl.cat([y, x[:, 0]]),
    "mean of both": lambda x, y: (x.sum() + y.sum()) / (x.shape[0] + y.shape[0]),
    "linspace": lambda x, y: tl.linspace(0, 1, y.shape[0])[:, None] * x[:, 0],
    "tril": lambda x, y: tl.ones(x.shape[0], y.shape[0]).tril(),
    "softmax": lambda x, y: (x[:, :1] * y).softmax(0),
    "transpose": lambda x, y: (x[:, :1] * y).T.contiguous().view(-1),
    "layer_norm": lambda x, y: F.layer_norm(x[:, :1] * y, (y.shape[0],)),
    "linear": lambda x, y: F.linear(x, tl.ones(y.shape[0], 4), y),
    "attention": lambda x, y: F.scaled_dot_product_attention(
        x[None], (y[:, None] * tl.ones(4))[None], y[None, :, None]
    ),
    "where": lambda x, y: tl.where(x[:, :1] > 0, y, 0.0),
    "diag_embed": lambda x, y: tl.diag_embed(x[:, :1] * y),
    "unfold": lambda x, y: tl.cat([x[:, 0], y]).unfold(0, 2, 1),
    "bucketize": lambda x, y: tl.bucketize(x, y),
    "searchsorted": lambda x, y: tl.searchsorted(y, x),
    "bilinear": lambda x, y: F.bilinear(x, x, tl.ones(y.shape[0], 4, 4)),
    "conv1d": lambda x, y: F.conv1d(x.T[None], tl.ones(y.shape[0], 4, 2)),
    "conv_transpose1d": lambda x, y: F.conv_transpose1d(x.T[None], tl.ones(4, y.shape[0], 2)),
    "remainder": lambda x, y: x[: x.shape[0] % y.shape[0]],
    "quotient": lambda x, y: tl.zeros(x.shape[0] // y.shape[0] + 1),
    "least": lambda x, y: x[: tl.symbolic.arithmetic.sym_min(x.shape[0], y.shape[0])],
    "greatest": lambda x, y: tl.zeros(tl.symbolic.arithmetic.sym_max(x.shape[0], y.shape[0])),
    "block_diag": lambda x, y: tl.block_diag(x, y[None]),
    "embedding": lambda x, y: F.embedding(tl.zeros(y.shape[0], dtype=tl.int64), x),
    "one_hot": lambda x, y: F.one_hot(tl.zeros(y.shape[0], dtype=tl.int64), 3),
    "scatter": lambda x, y: tl.zeros(y.shape[0], 4).index_add(0, tl.ones(x.shape[0], dtype=tl.int64), x),
    "hstack": lambda x, y: tl.hstack([x[:, 0], y]),
    "lu_solve": lambda x, y: tl.linalg.solve(tl.eye(4), x.T) @ x[:, :1] * y,
}  # fmt: skip


def outcomes(name: str, example: tuple[int, int]) -> str | dict[tuple[int, int], bool]:
    """At which pairs a program that was exported at an example runs; "refused" where it isn't exported."""

    def program(x: Any, y: Any) -> Any:
        return used(PROGRAMS[name](x, y))

    try:
        program(*pair(*example))
    except RuntimeError:
        return "raises"
    dims = Dim("a", min=2, max=64), Dim("b", min=2, max=64)
    try:
        exported = export(
            Program(program), pair(*example), dynamic_shapes={"args": ({0: dims[0]}, {0: dims[1]})}
        )
    except UserError as error:
        return f"refused: {error}"
    run, result = exported.module(), {}
    for sizes in PAIRS:
        argument = pair(*sizes)
        try:
            want = program(*argument)
        except RuntimeError:
            want = None
        try:
            actual = run(*argument)
        except RuntimeError:
            actual = None
        assert actual is None or want is not None, f"{sizes}: runs, where the program itself raises"
        if actual is not None:
            same(actual, want, f"at {sizes}, exported at {example}")
        result[sizes] = actual is not None
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_that_are_equal_by_accident(name: str) -> None:
    result = [outcomes(name, example) for example in EXAMPLES]
    assert not isinstance(result[0], str), result[0]
    assert all(f == "raises" or f == result[0] for f in result[1:]), result
