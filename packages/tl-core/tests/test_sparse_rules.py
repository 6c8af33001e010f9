"""What operators make of sparse tensors, compared with what they make of all elements."""

import pytest

import tl_core as tl
from tl_core.testing import assert_close

numpy = pytest.importorskip("numpy")

LAYOUTS = (tl.sparse_coo, tl.sparse_csr, tl.sparse_csc, tl.sparse_bsr, tl.sparse_bsc)
ZERO_PRESERVING = (
    "abs angle asin asinh atan atanh ceil conj_physical deg2rad erf erfinv expm1 floor isinf isnan isneginf isposinf "
    "log1p neg rad2deg relu round sgn sign signbit sin sinh sqrt square tan tanh trunc"
)


def holed(*shape, seed=0, density=0.4):
    rng = numpy.random.default_rng(seed)
    return tl.tensor(rng.uniform(0.1, 0.9, shape) * (rng.random(shape) < density))


def to(x, layout):
    return x.to_sparse(layout=layout, blocksize=(2, 3) if layout in (tl.sparse_bsr, tl.sparse_bsc) else None)


def dense(x):
    return x if x.layout is tl.strided else x.to_dense()


def same(made, wanted):
    assert_close(dense(made), wanted, rtol=1e-12, atol=1e-12, equal_nan=True)


def uncoalesced():
    indices = [[0, 1, 1, 0, 2], [2, 0, 0, 2, 1]]
    return tl.sparse_coo_tensor(indices, tl.tensor([0.1, 0.2, 0.3, 0.4, 0.5], dtype=tl.float64), (4, 6))


@pytest.mark.parametrize("name", ZERO_PRESERVING.split())
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_functions_that_keep_zeros(name, layout):
    x = holed(4, 6)
    result = getattr(tl, name)(to(x, layout))
    assert result.layout is layout
    same(result, getattr(tl, name)(x))


@pytest.mark.parametrize("name", ["sin", "sqrt", "sign", "neg", "abs"])
def test_elements_at_one_index_are_added_before(name):
    x = uncoalesced()
    same(getattr(tl, name)(x), getattr(tl, name)(x.to_dense()))
    y = x.clone().coalesce()
    assert getattr(y, name + "_")() is y
    same(y, getattr(tl, name)(x.to_dense()))
    if name != "neg":
        with pytest.raises(RuntimeError, match=f"{name}_ requires coalesced input"):
            getattr(x.clone(), name + "_")()
    out = tl.sparse_coo_tensor(size=(4, 6), dtype=tl.float64)
    assert getattr(tl, name)(x, out=out) is out
    same(out, getattr(tl, name)(x.to_dense()))


def test_powers():
    x = holed(4, 6)
    same(x.to_sparse() ** 2, x**2)
    for exponent in (0, -1):
        with pytest.raises(RuntimeError, match="positive exponent"):
            x.to_sparse() ** exponent


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_sums_and_products(layout):
    x, y = holed(4, 6), holed(4, 6, seed=1)
    a, b = to(x, layout), to(y, layout)
    for result, expected in (
        (a + b, x + y), (a - b, x - y), (tl.add(a, b, alpha=3), x + 3 * y), (a + a, x + x), (a * b, x * y),
        (a * y, x * y), (y * a, x * y), (a * 2, x * 2), (a / 2, x / 2), (a * tl.tensor(3.0), x * 3), (-a, -x),
    ):  # fmt: skip
        assert result.layout is layout
        same(result, expected)
    result = y + a
    assert result.layout is tl.strided
    same(result, y + x)
    same(y - a, y - x)


def test_sums_and_products_that_are_refused():
    s = holed(4, 6).to_sparse()
    for call, message in (
        (lambda: s + tl.ones(4, 6), r"add\(sparse, dense\) is not supported"),
        (lambda: s + 1, r"add\(sparse, dense\) is not supported"),
        (lambda: s + holed(4, 5).to_sparse(), "expected sizes of 'self' and 'other' to match"),
        (lambda: s + holed(4, 6).to_sparse(1), "same number of sparse dimensions"),
        (lambda: s + holed(4, 6).to_sparse_csr(), "one layout"),
        (lambda: s * holed(4, 6).to_sparse_csr(), "one layout"),
        (lambda: s / s, "Sparse division requires"),
        (lambda: 1 / s, "Sparse division requires"),
        (lambda: tl.ones(3, 6) + s, "broadcasting"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_products_broadcast():
    x, row, column = holed(4, 6), holed(6, seed=1, density=1), holed(4, 1, seed=2, density=1)
    for layout in LAYOUTS[:3]:
        same(to(x, layout) * row, x * row)
        same(to(x, layout) * column, x * column)
    same(row.to_sparse() * x, x * row)
    same(uncoalesced() * x, uncoalesced().to_dense() * x)


def test_types_are_promoted():
    s = tl.eye(2, dtype=tl.int64).to_sparse()
    assert (s * 1.5).dtype is tl.float32 and (s * tl.ones(2, 2, dtype=tl.float64)).dtype is tl.float64
    assert (s + s.double()).dtype is tl.float64 and tl.sin(s).dtype is tl.float32
    for x in (s, tl.sparse_coo_tensor(size=(2, 2), dtype=tl.int64)):
        with pytest.raises(RuntimeError, match="can't be cast"):
            x.sin_()


# ---- structure ----------------------------------------------------------------------------------------------
def test_transposes():
    x = holed(4, 6)
    for layout in LAYOUTS:
        same(to(x, layout).t(), x.t())
        same(to(x, layout).transpose(0, 1), x.t())
        same(to(x, layout).mT, x.mT)
    assert x.to_sparse_csr().t().layout is tl.sparse_csc
    y = holed(2, 3, 4, 5)
    same(y.to_sparse(2).transpose(0, 1), y.transpose(0, 1))
    same(y.to_sparse(2).transpose(2, 3), y.transpose(2, 3))
    same(y.to_sparse(3).permute(2, 0, 1, 3), y.permute(2, 0, 1, 3))
    for call in (lambda: y.to_sparse(2).transpose(1, 2), lambda: y.to_sparse(2).permute(2, 1, 0, 3)):
        with pytest.raises(RuntimeError, match="transpos"):
            call()


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_indexing(sparse_dim):
    x = holed(3, 4, 5)
    s = x.to_sparse(sparse_dim)
    index = tl.tensor([2, 0, 2, -1])
    for d in range(3):
        for i in (0, 1, -1):
            same(s.select(d, i), x.select(d, i))
        same(s.index_select(d, index), x.index_select(d, index % x.shape[d]))
        same(
            s.narrow_copy(d, 1, 2) if hasattr(s, "narrow_copy") else tl.narrow_copy(s, d, 1, 2),
            x.narrow(d, 1, 2),
        )
        same(s.unsqueeze(d), x.unsqueeze(d))
    same(s[1], x[1])
    same(s[0, 2], x[0, 2])
    with pytest.raises(IndexError, match="out of"):
        s[3]
    with pytest.raises(IndexError, match="out of range"):
        s.index_select(0, tl.tensor([3]))


def test_selecting_of_compressed_layouts():
    x = holed(4, 6)
    for layout in LAYOUTS[1:]:
        for d in (0, 1):
            same(to(x, layout).select(d, 2), x.select(d, 2))


def test_joining():
    x, y = holed(2, 3, 4), holed(2, 5, 4, seed=1)
    for n in (1, 2, 3):
        same(tl.cat([x.to_sparse(n), y.to_sparse(n)], 1), tl.cat([x, y], 1))
        same(tl.stack([x.to_sparse(n), x.to_sparse(n)], 1), tl.stack([x, x], 1))
    same(tl.hstack([x.to_sparse(), y.to_sparse()]), tl.hstack([x, y]))
    with pytest.raises(RuntimeError, match="a dense tensor was found at position 1"):
        tl.cat([x.to_sparse(), x])
    with pytest.raises(RuntimeError, match="same number of sparse and dense dimensions"):
        tl.cat([x.to_sparse(1), x.to_sparse(2)])


def test_dimensions_of_one_and_larger_shapes():
    x = holed(3, 1, 4)
    for n in (1, 2, 3):
        same(x.to_sparse(n).squeeze(1), x.squeeze(1))
        same(x.to_sparse(n).expand(2, 3, 5, 4), x.expand(2, 3, 5, 4))


def test_sizes_change_inplace():
    s = tl.sparse_coo_tensor([[0, 1]], tl.ones(2, 2), (2, 2))
    assert s.sparse_resize_((4, 3), 1, 1) is s and s.shape == (4, 3)
    # As of a dense tensor, the elements keep their order in memory.
    assert s.to_dense().tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    for size, dims, message in (
        ((2, 3), (1, 1), "shrinking"),
        ((4, 3), (2, 0), "number of sparse dimensions"),
    ):
        with pytest.raises(RuntimeError, match=message):
            s.sparse_resize_(size, *dims)
    assert (
        s.sparse_resize_and_clear_((2, 2, 2), 2, 1)._nnz() == 0
        and s.shape == (2, 2, 2)
        and s.sparse_dim() == 2
    )
    with pytest.raises(RuntimeError, match="number of dimensions must be"):
        s.sparse_resize_((2, 2), 2, 1)
    with pytest.raises(RuntimeError, match="sparse"):
        tl.ones(2).sparse_resize_((2,), 1, 0)


# ---- reductions ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_reductions(sparse_dim):
    x = holed(3, 4, 5)
    s = x.to_sparse(sparse_dim)
    same(s.sum(), x.sum())
    same(s.mean(), x.mean())
    for dims in (0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        same(tl.sparse.sum(s, dims), x.sum(dims))
        same(s.sum(dims), x.sum(dims))
        same(s.sum(dims, keepdim=True), x.sum(dims, keepdim=True))
    same(s.norm(), x.norm())
    assert bool(s.any()) and not bool(s.all())
    with pytest.raises(IndexError, match="out of range"):
        s.sum(3)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_reductions_of_every_layout(layout):
    x = holed(4, 6)
    s = to(x, layout)
    same(s.sum(), x.sum())
    for dims in (0, 1, (0, 1)):
        same(s.sum(dims, keepdim=True), x.sum(dims, keepdim=True))
    same(s.amax(0), x.amax(0))
    same(s.norm(), x.norm())


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_softmax(log, sparse_dim):
    """Elements that are not stored count as minus infinity."""
    s = holed(3, 4, 5).to_sparse(sparse_dim)
    stored = s.clone()
    stored._values().fill_(1)
    hidden = tl.where(stored.to_dense() != 0, s.to_dense(), -float("inf"))
    function = tl.sparse.log_softmax if log else tl.sparse.softmax
    for dim in range(3):
        expected = (tl.log_softmax if log else tl.softmax)(hidden, dim)
        same(function(s, dim), tl.where(stored.to_dense() != 0, expected, 0.0))
    assert function(s.float(), 0, dtype=tl.float64).dtype is tl.float64


def test_masks():
    x, mask = holed(4, 6, density=1), holed(4, 6)
    for layout in LAYOUTS:
        m = to(mask, layout)
        result = x.sparse_mask(m)
        assert result.layout is layout
        same(result * 1, result.to_dense())
        stored = tl.ones(4, 6, dtype=tl.float64).sparse_mask(m).to_dense()
        same(result, x * stored)
    other = to(holed(4, 6, seed=5), tl.sparse_coo)
    same(other.sparse_mask(mask.to_sparse()), other.to_dense() * (mask != 0))
    with pytest.raises(RuntimeError, match="incompatible sizes"):
        x.sparse_mask(holed(4, 5).to_sparse())


def test_out_keeps_its_layout():
    s = holed(4, 6).to_sparse()
    dense_out = tl.zeros(1, dtype=tl.float64)
    same(tl.sin(s, out=dense_out), s.to_dense().sin())
    with pytest.raises(RuntimeError, match="expected an output of the layout"):
        tl.sin(s, out=holed(4, 6).to_sparse_csr())
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        s.mul_(tl.ones(2, 4, 6, dtype=tl.float64))


def test_subclasses_take_conversions_over():
    calls = []

    class Logged(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = holed(2, 2).as_subclass(Logged)
    x.to_sparse_csr()
    assert "to_sparse_csr" in calls
