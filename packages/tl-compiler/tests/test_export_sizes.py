"""Every size of a promised range: indices, pieces, shapes, windows, numbers made of sizes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from sizes import check, used

import tl_core as tl
import tl_core.fft
import tl_core.symbolic.arithmetic
from tl_nn import functional as F

EXAMPLES = (5, 8)


def matrix(n: int) -> tuple[Any, ...]:
    return (tl.arange(n * 4, dtype=tl.float32).reshape(n, 4),)


def first(dim: Any) -> Any:
    return ({0: dim},)


ENDS = (None, 0, 1, 3, 7, 20, -1, -3, -20)
SLICES = [slice(a, b, step) for a, b in itertools.product(ENDS, ENDS) for step in (None, 2, 3)]
FORMS: list[Any] = [
    ...,
    None,
    0,
    1,
    4,
    -1,
    -2,
    -4,
    True,
    (),
    (..., 1),
    (slice(None), 1),
    (slice(None), slice(None)),
    (slice(1, None), None, slice(None, 3)),
    (None, ..., None),
    (..., slice(None, -1)),
    (slice(None, 5), slice(1, 3)),
    (slice(3, 7), None),
    (0, slice(None, 2)),
    (-1, ...),
    [0, 1],
    [0, -1],
    (slice(None), [0, 2, 3]),
    (slice(None, 5), [0, 2]),
    ([1, 0], slice(None, 2)),
    (None, [0, 1], slice(None)),
    (slice(None, 8), ..., None),
]


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("index", SLICES, ids=str)
def test_slices(index: slice, example: int) -> None:
    assert check(lambda x: used(x[index]), matrix, first, example) == "right"


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("index", FORMS, ids=str)
def test_indices(index: Any, example: int) -> None:
    check(lambda x: used(x[index]), matrix, first, example)


def rows(n: int) -> tuple[Any, ...]:
    return (tl.linspace(-1, 1, n),)


def image(n: int) -> tuple[Any, ...]:
    return (tl.linspace(-1, 1, 2 * n * 9).reshape(1, 2, n, 9),)


def batch(n: int) -> tuple[Any, ...]:
    return (tl.linspace(-1, 1, n * 2 * 6 * 6).reshape(n, 2, 6, 6),)


def series(n: int) -> tuple[Any, ...]:
    return (tl.linspace(-1, 1, 3 * n).reshape(1, 3, n),)


def third(dim: Any) -> Any:
    return ({2: dim},)


def two(n: int) -> tuple[Any, ...]:
    return tl.arange(n * 4, dtype=tl.float32).reshape(n, 4), tl.ones(n, 3)


def both(dim: Any) -> Any:
    return {0: dim}, {0: dim}


PIECES = {
    "chunk": lambda x: x.chunk(3),
    "chunk of two": lambda x: x.chunk(2)[0] * 2,
    "chunk of columns": lambda x: x.chunk(3, 1),
    "split": lambda x: x.split(3),
    "split of columns": lambda x: x.split(3, 1),
    "split at sizes": lambda x: x.split([2, x.shape[0] - 2]),
    "tensor_split": lambda x: tl.tensor_split(x, 3),
    "tensor_split at": lambda x: tl.tensor_split(x, (1, 4)),
    "unbind of columns": lambda x: x.unbind(1),
    "hsplit": lambda x: tl.hsplit(x, 2),
    "unsafe_chunk": lambda x: tl.unsafe_chunk(x, 2),
    "unbind": lambda x: x.unbind(0)[1],
}


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", PIECES)
def test_pieces(name: str, example: int) -> None:
    def program(x: Any) -> Any:
        out = PIECES[name](x)
        parts = out if isinstance(out, (list, tuple)) else [out]
        return [v for z in parts for v in used(z)]

    check(program, matrix, first, example)


VIEWS = {
    "reshape": lambda x: x.reshape(-1),
    "reshape in two": lambda x: x.reshape(2, -1),
    "reshape of six": lambda x: x[:6].reshape(2, -1),
    "reshape by size": lambda x: x.reshape(x.shape[0], 2, 2),
    "view": lambda x: x.view(-1, 2),
    "view transposed": lambda x: x.t().reshape(-1),
    "flatten": lambda x: x[None].flatten(0, 1),
    "unflatten": lambda x: x.unflatten(1, (2, -1)),
    "unflatten rows": lambda x: x.unflatten(0, (-1, 2)),
    "expand": lambda x: x[:, :1].expand(-1, 5),
    "expand by size": lambda x: x[:1].expand(x.shape[0], 4),
    "expand_as": lambda x: x[:1].expand_as(x),
    "repeat": lambda x: x.repeat(2, 3),
    "repeat by size": lambda x: x.repeat(1, x.shape[0]),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 0),
    "tile": lambda x: x.tile((2,)),
    "narrow": lambda x: x.narrow(0, 1, 3),
    "narrow to the end": lambda x: x.narrow(0, 1, x.shape[0] - 1),
    "narrow from the end": lambda x: x.narrow(0, -2, 2),
    "select": lambda x: x.select(0, 4),
    "select from the end": lambda x: x.select(0, -3),
    "unfold": lambda x: x.unfold(0, 3, 2),
    "unfold columns": lambda x: x.unfold(1, 3, 1),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x[None].permute(2, 0, 1),
    "movedim": lambda x: x[None].movedim(0, -1),
    "squeeze": lambda x: x[:, None].squeeze(1),
    "squeeze all": lambda x: x[None, :, None].squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "diagonal": lambda x: x.diagonal(),
    "diagonal above": lambda x: x.diagonal(1),
    "diagonal below": lambda x: x.diagonal(-3),
    "diag_embed": lambda x: x.diag_embed(1),
    "as_strided by size": lambda x: x.as_strided((x.shape[0], 2), (4, 1)),
    "strides": lambda x: x.t().as_strided(x.shape, x.stride()),
    "rot90": lambda x: x.rot90(),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(2, 0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "adjoint": lambda x: x.adjoint(),
    "ravel": lambda x: x.ravel(),
    "view_as_real": lambda x: tl.view_as_real(tl.complex(x, x)),
    "view_as_complex": lambda x: tl.view_as_real(tl.view_as_complex(x.reshape(-1, 2, 2))),
    "contiguous": lambda x: x.t().contiguous(),
    "real": lambda x: tl.complex(x, x).real,
    "broadcast_to": lambda x: x.broadcast_to(3, *x.shape),
    "atleast_3d": lambda x: tl.atleast_3d(x),
    "slice in place": lambda x: x.clone().index_fill_(0, tl.tensor([0, 1]), 2.0)[1:-1],
}


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str, example: int) -> None:
    check(lambda x: used(VIEWS[name](x)), matrix, first, example)


JOINS = {
    "cat": lambda x: tl.cat([x, x]),
    "cat of rows": lambda x: tl.cat([x, x[:3]]),
    "cat of columns": lambda x: tl.cat([x, x[:, :2]], 1),
    "cat with zeros": lambda x: tl.cat([tl.zeros(2, 4), x]),
    "stack": lambda x: tl.stack([x, x], 1),
    "hstack": lambda x: tl.hstack([x, x]),
    "vstack": lambda x: tl.vstack([x, x[0]]),
    "dstack": lambda x: tl.dstack([x, x]),
    "column_stack": lambda x: tl.column_stack([x, x[:, 0]]),
    "block_diag": lambda x: tl.block_diag(x, x),
    "meshgrid": lambda x: tl.meshgrid(x[:, 0], x[0], indexing="xy")[0],
    "cartesian_prod": lambda x: tl.cartesian_prod(x[:, 0], x[0]),
    "kron": lambda x: tl.kron(x, x[:2]),
    "outer": lambda x: tl.outer(x[:, 0], x[0]),
    "matmul": lambda x: x @ x.t(),
    "bmm": lambda x: tl.bmm(x[:, None], x[:, :, None]),
    "einsum": lambda x: tl.einsum("ij,kj->ik", x, x),
    "einsum of three": lambda x: tl.einsum("i...,i...->...", x, x),
    "tensordot": lambda x: tl.tensordot(x, x, dims=([1], [1])),
    "inner": lambda x: tl.inner(x, x),
    "linear": lambda x: F.linear(x, tl.ones(3, 4), tl.ones(3)),
    "sum to": lambda x: (x[None] + tl.zeros(2, 1, 4)).sum(0),
    "broadcast": lambda x: x[:, None] * x[None],
    "broadcast of pieces": lambda x: x[1:] - x[:-1],
    "broadcast of five": lambda x: x[:5] + tl.ones(5, 4),
    "where": lambda x: tl.where(x > 2, x, x[:1]),
    "embedding": lambda x: F.embedding(x.long() % 3, tl.eye(3)),
    "gather": lambda x: x.gather(0, tl.zeros(2, 4, dtype=tl.int64)),
    "gather along": lambda x: x.gather(0, x.argsort(0)),
    "index_select": lambda x: x.index_select(1, tl.tensor([0, 2])),
    "take_along_dim": lambda x: tl.take_along_dim(x, x.argsort(0), 0),
    "scatter": lambda x: tl.zeros(x.shape[0], 6).scatter(1, x.long() % 6, x),
    "index_add": lambda x: tl.zeros(3, 4).index_add(0, x[:, 0].long() % 3, x),
    "masked_fill": lambda x: x.masked_fill(x > 3, 0.0),
    "one_hot": lambda x: F.one_hot(x[:, 0].long() % 3, 3),
    "bucketize": lambda x: tl.bucketize(x, tl.tensor([1.0, 5.0])),
    "isin": lambda x: tl.isin(x, tl.tensor([1.0, 5.0])),
    "cdist": lambda x: tl.cdist(x, x),
    "combinations": lambda x: tl.combinations(x[:, 0]),
    "tril": lambda x: (x @ x.t()).tril(),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "causal attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
}


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", JOINS)
def test_joins(name: str, example: int) -> None:
    check(lambda x: used(JOINS[name](x)), matrix, first, example)


REDUCTIONS = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0, keepdim=True),
    "amax": lambda x: x.amax(1),
    "var": lambda x: x.var(0),
    "std": lambda x: x.std(1),
    "median": lambda x: x.median(0).values,
    "max": lambda x: x.max(0).values,
    "argmax": lambda x: x.argmax(0),
    "norm": lambda x: x.norm(dim=0),
    "logsumexp": lambda x: x.logsumexp(0),
    "softmax": lambda x: x.softmax(0),
    "cumsum": lambda x: x.cumsum(0),
    "diff": lambda x: x.diff(dim=0),
    "sort": lambda x: x.sort(0).values,
    "topk": lambda x: x.topk(3, 0).values,
    "topk by size": lambda x: x.topk(x.shape[0] // 2, 0).values,
    "kthvalue": lambda x: x.kthvalue(2, 0).values,
    "quantile": lambda x: x.quantile(0.5, 0),
    "trapezoid": lambda x: tl.trapezoid(x, dim=0),
    "cumulative_trapezoid": lambda x: tl.cumulative_trapezoid(x, dim=0),
    "count_nonzero": lambda x: x.count_nonzero(0),
    "unique columns": lambda x: x.sum(),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "normalize": lambda x: F.normalize(x, dim=0),
    "rfft": lambda x: tl.fft.rfft(x, dim=0).abs(),
    "irfft": lambda x: tl.fft.irfft(tl.fft.rfft(x, dim=0), n=x.shape[0], dim=0),
    "fft2": lambda x: tl.fft.fft2(x).abs(),
    "rfft of n": lambda x: tl.fft.rfft(x, n=6, dim=0).abs(),
    "histc": lambda x: tl.histc(x, 5),
}


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, example: int) -> None:
    check(lambda x: used(REDUCTIONS[name](x)), matrix, first, example)


WINDOWS = {
    "conv2d": lambda x: F.conv2d(x, tl.ones(3, 2, 3, 3)),
    "conv2d with stride": lambda x: F.conv2d(x, tl.ones(3, 2, 3, 3), stride=2, padding=1),
    "conv2d dilated": lambda x: F.conv2d(x, tl.ones(3, 2, 3, 3), dilation=2),
    "conv2d same": lambda x: F.conv2d(x, tl.ones(3, 2, 3, 3), padding="same"),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, tl.ones(2, 3, 3, 3), stride=2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d ceil": lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
    "max_pool2d padded": lambda x: F.max_pool2d(x, 3, 2, padding=1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 1),
    "avg_pool2d ceil": lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, None)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2, 2),
    "pad": lambda x: F.pad(x, (1, 2, 3, 0)),
    "pad cuts": lambda x: F.pad(x, (0, 0, -2, -1)),
    "pad reflect": lambda x: F.pad(x, (2, 1, 3, 0), mode="reflect"),
    "pad replicate": lambda x: F.pad(x, (2, 1, 3, 0), mode="replicate"),
    "pad circular": lambda x: F.pad(x, (2, 1, 3, 0), mode="circular"),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "interpolate to": lambda x: F.interpolate(x, size=(4, 4), mode="bilinear"),
    "interpolate half": lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear"),
    "interpolate by size": lambda x: F.interpolate(x[:, :, ::2], size=x.shape[2:]),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x[..., :8], 2),
    "unfold": lambda x: F.unfold(x, 3, stride=2),
    "fold": lambda x: F.fold(F.unfold(x, 2), x.shape[2:], 2),
    "grid_sample": lambda x: F.grid_sample(x, x.permute(0, 2, 3, 1), align_corners=False),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, tl.zeros(2), tl.ones(2)),
    "instance_norm": lambda x: F.instance_norm(x),
    "group_norm": lambda x: F.group_norm(x, 2),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "glu": lambda x: F.glu(x[..., :8], 3),
    "upsample bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
}


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, example: int) -> None:
    program = WINDOWS[name]
    check(lambda x: used(program(x)), image, third, example)
    check(lambda x: used(program(x)), batch, first, example)


LINES = {
    "conv1d": lambda x: F.conv1d(x, tl.ones(2, 3, 4), stride=3, padding=1),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x, tl.ones(3, 2, 4), stride=2, output_padding=1),
    "max_pool1d": lambda x: F.max_pool1d(x, 3),
    "avg_pool1d": lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True),
    "stft": lambda x: tl.stft(x[0], 4, window=tl.ones(4), return_complex=True).abs(),
    "interpolate": lambda x: F.interpolate(x, scale_factor=1.5, mode="linear"),
    "lstm": lambda x: tl.lstm(
        x.transpose(1, 2),
        [tl.zeros(1, 1, 2)] * 2,
        [tl.ones(8, 3), tl.ones(8, 2), tl.ones(8), tl.ones(8)],
        True, 1, 0.0, False, False, True,
    )[0],
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", LINES)
def test_series(name: str, example: int) -> None:
    check(lambda x: used(LINES[name](x)), series, third, example)


NUMBERS = {
    "arange": lambda x: tl.arange(x.shape[0]),
    "arange from": lambda x: tl.arange(2, x.shape[0]),
    "arange by two": lambda x: tl.arange(0, x.shape[0], 2),
    "arange down": lambda x: tl.arange(x.shape[0], 0, -1),
    "linspace": lambda x: tl.linspace(0, 1, x.shape[0]),
    "zeros": lambda x: tl.zeros(x.shape[0] // 2, 3),
    "eye": lambda x: tl.eye(x.shape[0]),
    "full": lambda x: x.new_full((x.shape[0] + 1,), 2.0),
    "tril_indices": lambda x: tl.tril_indices(x.shape[0], x.shape[0]),
    "triu_indices": lambda x: tl.triu_indices(x.shape[0], 3, 1),
    "half": lambda x: x[: x.shape[0] // 2],
    "last half": lambda x: x[x.shape[0] // 2 :],
    "quarter": lambda x: x[(x.shape[0] + 3) // 4 :],
    "remainder": lambda x: x[: x.shape[0] % 3],
    "least": lambda x: x[: tl.symbolic.arithmetic.sym_min(x.shape[0], 6)],
    "greatest": lambda x: tl.zeros(tl.symbolic.arithmetic.sym_max(x.shape[0], 6)),
    "python min": lambda x: x[: min(x.shape[0], 6)],
    "python max": lambda x: tl.zeros(max(x.shape[0], 6)),
    "branch": lambda x: x * 2 if x.shape[0] > 6 else x * 3,
    "branch on a multiple": lambda x: x * 2 if x.shape[0] % 2 == 0 else x * 3,
    "branch on a piece": lambda x: x * 2 if x[:6].shape[0] == 6 else x * 3,
    "one or more": lambda x: x * 2 if x.shape[0] > 1 else x * 3,
    "mean by size": lambda x: x.sum() / x.shape[0],
    "mean of five": lambda x: x[:5].sum() / x[:5].shape[0],
    "mean of columns": lambda x: x[:5].sum(0) / x[:5].size(0),
    "mean of the last": lambda x: x[-3:].sum() / x[-3:].shape[0],
    "mean of the middle": lambda x: x[3:7].sum() / (x[3:7].shape[0] + 1),
    "length": lambda x: x * len(x),
    "root": lambda x: x / x.shape[0] ** 0.5,
    "square": lambda x: tl.zeros(x.shape[0] * x.shape[0]),
    "product": lambda x: tl.zeros(x.numel()),
    "positions": lambda x: x + tl.arange(16.0)[: x.shape[0], None],
    "context": lambda x: x[-6:] + tl.arange(16.0)[: x[-6:].shape[0], None],
    "mask": lambda x: tl.ones(x.shape[0], x.shape[0]).tril() @ x,
    "cut to a multiple": lambda x: x[: x.shape[0] // 2 * 2].reshape(-1, 2, 4),
    "pad to a multiple": lambda x: F.pad(x, (0, 0, 0, -x.shape[0] % 4)).reshape(-1, 4, 4),
    "index_put": lambda x: x.clone().index_put((tl.tensor([0, 1]),), tl.zeros(4)),
}


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str, example: int) -> None:
    check(lambda x: used(NUMBERS[name](x)), matrix, first, example)


def test_writes() -> None:
    def program(x: Any) -> Any:
        y = x.clone()
        y[1:3] = 0
        y[:5] *= 2
        y[:, 1] = y[:, 0]
        y[-1] += 1
        y[y > 7] = 3
        y[:] = y + 1
        return used(y)

    for example in EXAMPLES:
        check(program, matrix, first, example)


def test_rows_of_a_table_that_are_shortened() -> None:
    """`max_norm` writes to the table."""
    table = tl.arange(15.0).reshape(5, 3)

    def program(indices: Any) -> Any:
        own = table.clone()
        return F.embedding(indices, own, max_norm=1.0), own

    assert check(program, lambda n: (tl.arange(n) * 3 % 5,), first, 8) == "right"
