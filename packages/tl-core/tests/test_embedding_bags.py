"""Rows of a table, reduced in bags, against the same by NumPy."""

import itertools

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.operators import packets as ops  # noqa: E402

DTYPES = [tl.float32, tl.float64, tl.float16, tl.bfloat16]
SUM, MEAN, MAX = 0, 1, 2


def drawn_bags(seed, rows, width, dtype):
    """A table, the ends of bags, some of them empty, and their indices."""
    rng = np.random.default_rng(seed)
    table = tl.from_numpy(rng.standard_normal((rows, width))).to(dtype)
    ends = np.cumsum(rng.integers(0, 12, 20) * (rng.random(20) < 0.7))
    return table, np.concatenate([[0], ends]), rng.integers(0, rows, ends[-1])


def reduced(table, ends, indices, mode, skipped=-1, factors=None):
    """(the bags' rows, their sizes, the winners)"""
    out = np.zeros((len(ends) - 1, table.shape[1]))
    sizes, winners = np.zeros(len(out), np.int64), np.full(out.shape, -1)
    for b, (first, last) in enumerate(itertools.pairwise(ends)):
        members = [i for i in range(first, last) if indices[i] != skipped]
        sizes[b] = len(members)
        if not members:
            continue
        rows = table[indices[members]]
        if mode == MAX:
            out[b], winners[b] = rows.max(0), indices[members][rows.argmax(0)]
        else:
            scale = 1 / len(members) if mode == MEAN else 1
            out[b] = (rows * (1 if factors is None else factors[members][:, None])).sum(0) * scale
    return out, sizes, winners


def bags(table, indices, ends, mode, skipped=-1, factors=None):
    indices, ends = tl.from_numpy(indices), tl.from_numpy(ends)
    return ops.aten._embedding_bag(table, indices, ends, False, mode, False, factors, True, skipped)


def assert_rounded(got, want):
    """Equal within what rounding to the dtype, and sums of a dozen floats, may lose."""
    eps = tl.finfo(got.dtype).eps
    slack = 0 if got.dtype == tl.float64 else tl.finfo(tl.float32).eps
    np.testing.assert_allclose(got.double().numpy(), want, rtol=eps, atol=32 * slack + 32 * 2.0**-52)


@pytest.mark.parametrize("mode", [SUM, MEAN, MAX])
@pytest.mark.parametrize("width", [0, 1, 7, 16, 64, 83, 256, 300])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("skipped", [-1, 3])
def test_bags(dtype, width, mode, skipped):
    table, ends, indices = drawn_bags(width, 9, width, dtype)
    result = bags(table, indices, ends, mode, skipped=skipped)
    out, sizes, winners = reduced(table.double().numpy(), ends, indices, mode, skipped)
    assert result[0].dtype == dtype
    assert_rounded(result[0], out)
    if mode == MAX:
        np.testing.assert_array_equal(result[3].numpy(), winners)
    else:
        np.testing.assert_array_equal(result[2].numpy(), sizes)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_weighed_rows(dtype):
    table, ends, indices = drawn_bags(5, 30, 70, dtype)
    factors = tl.from_numpy(np.random.default_rng(1).random(len(indices))).to(dtype)
    out = bags(table, indices, ends, SUM, factors=factors)[0]
    want = reduced(table.double().numpy(), ends, indices, SUM, factors=factors.double().numpy())[0]
    assert_rounded(out, want)


def test_the_first_of_equal_rows_wins_and_a_nan_stays_first():
    table = tl.tensor([[1.0, float("nan"), -0.0], [1.0, 2.0, 0.0]])
    out, _, _, winners = bags(table, np.array([1, 0, 0, 1]), np.array([0, 2, 4]), MAX)
    assert winners.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert out[0].tolist() == [1.0, 2.0, 0.0]
    assert out[1].isnan().tolist() == [False, True, False]


def test_a_table_on_meta_takes_indices_on_the_cpu():
    table, indices = tl.empty(10, 3, device="meta"), tl.tensor([1, 2])
    offsets = tl.tensor([0, 1])
    for result in (
        ops.aten._embedding_bag(table, indices, offsets)[0],
        tl.embedding(table, indices),
        tl.index_select(table, 0, indices),
    ):
        assert result.is_meta and result.shape == (2, 3)
    with pytest.raises(RuntimeError, match="two devices, cpu and meta"):
        tl.embedding(tl.ones(10, 3), indices.to("meta"))
    with pytest.raises(RuntimeError, match="two devices"):
        tl.embedding(table, indices) + tl.ones(2, 3)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_sizes_on_meta_are_those_on_the_cpu(mode, last):
    arguments = (tl.ones(5, 3), tl.tensor([0, 4, 2, 1]), tl.tensor([0, 1, 4]))
    options = (False, mode, False, None, last)
    on_meta = ops.aten.embedding_bag(*(a.to("meta") for a in arguments), *options)
    assert [t.shape for t in on_meta] == [t.shape for t in ops.aten.embedding_bag(*arguments, *options)]
