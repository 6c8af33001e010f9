"""Gradients of functions of sparse tensors, against finite differences."""

import functools

import pytest

import tl_autograd
import tl_core as tl
from tl_core.testing import assert_close

numpy = pytest.importorskip("numpy")

LAYOUTS = (tl.sparse_coo, tl.sparse_csr, tl.sparse_csc, tl.sparse_bsr, tl.sparse_bsc)
check = functools.partial(tl_autograd.gradcheck, masked=True)


def sparse_values(*shape, seed=0, density=0.5, dtype=tl.float64):
    rng = numpy.random.default_rng(seed)
    values = rng.uniform(0.2, 0.8, shape) * (rng.random(shape) < density)
    return tl.tensor(values).to(dtype)


def to(x, layout):
    blocksize = (2, 2) if layout in (tl.sparse_bsr, tl.sparse_bsc) else None
    return x.to_sparse(layout=layout, blocksize=blocksize).detach().requires_grad_()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("dtype", [tl.float64, tl.complex128])
@pytest.mark.parametrize("masked", [False, True])
def test_products(layout, dtype, masked):
    a, b = (
        to(sparse_values(4, 4, dtype=dtype), layout),
        sparse_values(4, 3, seed=1, density=1, dtype=dtype).requires_grad_(),
    )
    assert tl_autograd.gradcheck(tl.mm, (a, b), masked=masked)
    assert check(tl.addmm, (sparse_values(4, 3, dtype=dtype).requires_grad_(), a, b))
    assert check(tl.mv, (a, b.detach()[:, 0].clone().requires_grad_()))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_gradient_of_a_sparse_factor(layout):
    a, b = to(sparse_values(4, 4), layout), sparse_values(4, 3, seed=1, density=1)
    (a @ b).sum().backward()
    assert a.grad.layout is tl.strided
    assert_close(a.grad, b.sum(1).expand(4, 4).contiguous())
    a.grad = None
    tl.sparse.mm(a, b).sum().backward()
    assert a.grad.layout is layout or a.grad.is_sparse
    stored = tl.ones(4, 4, dtype=tl.float64).sparse_mask(a.detach()).to_dense()
    assert_close(a.grad.to_dense(), b.sum(1).expand(4, 4) * stored)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", ["sin", "asin", "tanh", "log1p", "neg", "erf", "abs", "square"])
def test_functions_that_keep_zeros(layout, name):
    assert check(getattr(tl, name), to(sparse_values(4, 4), layout))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_conversions(layout):
    x = to(sparse_values(4, 4), layout)
    for masked in (False, True):
        assert tl_autograd.gradcheck(lambda x: x.to_dense(masked_grad=masked), x, masked=masked)  # noqa: B023
    assert check(lambda x: x.to_sparse_coo(), x)
    assert check(lambda x: x.sum(), x) and check(lambda x: (x.coalesce() if x.is_sparse else x).values(), x)
    dense = sparse_values(4, 4, density=1).requires_grad_()
    assert check(lambda x: x.sparse_mask(to(sparse_values(4, 4), layout).detach()), dense)
    assert check(lambda d: d.to_sparse(layout=layout, blocksize=x.values().shape[1:] or None), dense)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_sums_and_products(layout):
    a, b, d = (
        to(sparse_values(4, 4), layout),
        to(sparse_values(4, 4, seed=1), layout),
        sparse_values(4, 4, density=1).requires_grad_(),
    )
    assert check(tl.add, (a, b)) and check(tl.sub, (a, b)) and check(tl.add, (d, a))
    assert check(lambda a: a * 3 / 2, a)
    assert check(tl.mul, (a, a.detach().clone().requires_grad_()))


def test_products_of_sparse_matrices():
    for layout in LAYOUTS[:3]:
        assert check(tl.mm, (to(sparse_values(4, 4), layout), to(sparse_values(4, 4, seed=1), layout)))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reduced_products(reduce):
    a, b = to(sparse_values(4, 4), tl.sparse_csr), sparse_values(4, 3, seed=1, density=1).requires_grad_()
    assert check(lambda a, b: tl.sparse.mm(a, b, reduce), (a, b))


def test_sampled_products():
    s = to(sparse_values(4, 5), tl.sparse_csr)
    x, y = (sparse_values(*shape, seed=2, density=1).requires_grad_() for shape in ((4, 3), (3, 5)))
    assert check(lambda s, x, y: tl.sparse.sampled_addmm(s, x, y, beta=2.0, alpha=0.5), (s, x, y))


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_structure_and_reductions(sparse_dim):
    s = sparse_values(2, 3, 4).to_sparse(sparse_dim).detach().requires_grad_()
    for f in (
        lambda x: x.select(0, 1), lambda x: x.index_select(2, tl.tensor([1, 1, 0])), lambda x: x.unsqueeze(1),
        lambda x: tl.cat([x, x], 1), lambda x: tl.sparse.sum(x, 0), lambda x: tl.sparse.sum(x, (0, 2)),
        lambda x: tl.sparse.softmax(x, 1), lambda x: tl.sparse.log_softmax(x, 0), lambda x: x.sum(),
        lambda x: tl.narrow_copy(x, 1, 1, 2), lambda x: x.norm(),
    ):  # fmt: skip
        assert check(f, s)
    if sparse_dim != 1:
        assert check(lambda x: x.transpose(0, 1), s)


def test_a_coalesced_leaf_stays_a_leaf():
    x = sparse_values(3, 3).to_sparse().requires_grad_()
    assert x.coalesce() is x and x.is_leaf
    (x @ tl.ones(3, 1, dtype=tl.float64)).sum().backward()
    assert x.grad is not None


def test_second_derivatives():
    a, b = to(sparse_values(4, 4), tl.sparse_csr), sparse_values(4, 3, seed=1, density=1).requires_grad_()
    offsets, plain = a.crow_indices(), a.col_indices()
    values = a.detach().values().clone().requires_grad_()
    assert tl_autograd.gradgradcheck(
        lambda v, b: tl.sparse_csr_tensor(offsets, plain, v, (4, 4)) @ b, (values, b)
    )


def test_construction():
    values = sparse_values(3, density=1).requires_grad_()
    for build in (
        lambda v: tl.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], v, (2, 2)),
        lambda v: tl.sparse_csr_tensor([0, 1, 3], [1, 0, 1], v, (2, 2)),
        lambda v: tl.sparse_csc_tensor([0, 1, 3], [1, 0, 1], v, (2, 2)),
    ):
        for masked in (False, True):
            dense = functools.partial(
                lambda build, masked, v: build(v).to_dense(masked_grad=masked), build, masked
            )
            assert tl_autograd.gradcheck(dense, values, masked=masked)


def test_nothing_is_hidden_from_gradcheck():
    """A wrong derivative is found also through sparse tensors."""

    class Wrong(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = to(sparse_values(3, 3), tl.sparse_csr)
    with pytest.raises(tl_autograd.GradcheckError):
        check(lambda x: Wrong.apply(x.values()), x)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_leaf_that_stops_requiring_a_gradient(layout):
    values = sparse_values(4, 4)
    a, b = to(values, layout), sparse_values(4, 3, seed=1, density=1)
    (a @ b).sum().backward()
    a.requires_grad_(False)
    for result, expected in [
        (a.to_dense(), values),
        (a.sin().to_dense(), values.sin()),
        (a @ b, values @ b),
        (a + a, values + values),
    ]:
        assert not result.requires_grad
        assert_close(result.to_dense() if result.layout is not tl.strided else result, expected)
    total, tangent = tl_autograd.func.jvp(lambda x: x.to_dense().sum(), (a,), (tl.ones_like(a),))
    assert_close(total, values.sum())
    assert_close(tangent, tl.ones_like(a).to_dense().sum())
    assert a.mul_(2) is a and not a.requires_grad
    assert_close(a.to_dense(), values * 2)
