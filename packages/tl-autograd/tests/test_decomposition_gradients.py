"""Derivatives of decompositions, against finite differences."""

import pytest

import tl_autograd
import tl_autograd.forward_ad
import tl_autograd.func
import tl_core as tl
from tl_autograd.gradcheck import gradcheck, gradgradcheck
from tl_core import linalg

FIELDS = [tl.float64, tl.complex128]


def drawn(*shape, dtype=tl.float64):
    generator = tl.Generator().manual_seed(1)
    return tl.randn(*shape, dtype=dtype, generator=generator).requires_grad_()


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_qr(shape, dtype):
    def invariant(a):  # of a complex matrix, Q and R are fixed up to phases only
        q, r = linalg.qr(a)
        return (q, r) if not a.is_complex() else (q @ r, r.abs(), q.abs())

    assert gradcheck(invariant, drawn(*shape, dtype=dtype))
    assert gradgradcheck(invariant, drawn(*shape, dtype=dtype))


@pytest.mark.parametrize("part", [0, 1])
def test_one_factor_alone(part):
    assert gradcheck(lambda a: linalg.qr(a)[part], drawn(4, 3))


@pytest.mark.parametrize(("shape", "mode"), [((4, 2), "complete"), ((3, 3), "r")])
def test_factors_that_are_not_determined_have_no_derivative(shape, mode):
    with pytest.raises(RuntimeError, match=mode):
        linalg.qr(drawn(*shape), mode).R.sum().backward()


@pytest.mark.parametrize("dtype", FIELDS)
def test_householder_product(dtype):
    inputs = (drawn(4, 3, dtype=dtype), drawn(2, dtype=dtype))
    assert gradcheck(linalg.householder_product, inputs)
    assert gradgradcheck(linalg.householder_product, inputs)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize(
    ("left", "right", "from_left"),
    [((3, 3), (3, 2), True), ((3, 3), (3,), True), ((2, 3, 3), (3, 1), True), ((3, 3), (2, 3), False)],
)
def test_solve(left, right, from_left, dtype):
    inputs = (drawn(*left, dtype=dtype), drawn(*right, dtype=dtype))
    assert gradcheck(lambda a, b: linalg.solve(a, b, left=from_left), inputs)
    assert gradgradcheck(lambda a, b: linalg.solve(a, b, left=from_left), inputs)


@pytest.mark.parametrize("dtype", FIELDS)
def test_matrix_exp(dtype):
    assert gradcheck(linalg.matrix_exp, drawn(2, 3, 3, dtype=dtype))
    assert gradgradcheck(linalg.matrix_exp, drawn(2, 2, dtype=dtype))


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_svd(shape, dtype):
    def invariant(a):  # of a complex matrix, the vectors are fixed up to phases only
        u, s, vh = linalg.svd(a, full_matrices=False)
        return (u, s, vh) if not a.is_complex() else (u.abs(), s, vh.abs(), u @ vh)

    assert gradcheck(invariant, drawn(*shape, dtype=dtype))
    assert gradgradcheck(invariant, drawn(*shape, dtype=dtype))


@pytest.mark.parametrize("part", [0, 1, 2])
def test_one_part_of_svd_alone(part):
    assert gradcheck(lambda a: linalg.svd(a)[part][..., :2], drawn(3, 2))


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("order", ["nuc", 2, -2, 1, float("-inf")])
def test_matrix_norms(order, dtype):
    x = drawn(2, 3, 4, dtype=dtype)
    assert gradcheck(lambda a: linalg.matrix_norm(a, order, (0, 2)), x)
    assert gradgradcheck(lambda a: linalg.matrix_norm(a, order, (2, 1), True), x)


def test_the_nuclear_norm_of_a_deficient_matrix_has_a_gradient():
    x = tl.ones(3, 3, requires_grad=True)
    tl.norm(x, "nuc").backward()
    u, _, vh = linalg.svd(x.detach())
    assert tl.allclose(x.grad, u @ vh)


@pytest.mark.parametrize("order", [2, 1])
def test_condition(order):
    assert gradcheck(lambda a: linalg.cond(a, order), drawn(3, 3))


# ---- norms where singular values are equal ---------------------------------------------------------------------------


def orthonormal(rows, columns, dtype, seed=3):
    generator = tl.Generator().manual_seed(seed)
    return linalg.qr(tl.randn(rows, columns, dtype=dtype, generator=generator))[0]


def with_values(rows, columns, values, dtype):
    u, v = orthonormal(rows, len(values), dtype), orthonormal(columns, len(values), dtype, 4)
    return (u * tl.tensor(values, dtype=tl.float64)) @ v.mH


def hessian_by_differences(norm, x, direction, step=1e-5):
    """Of the gradient along a direction."""

    def gradient(a):
        a = a.detach().requires_grad_()
        return tl_autograd.grad(norm(a), a)[0]

    return (gradient(x + step * direction) - gradient(x - step * direction)) / (2 * step)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (4, 2), (2, 4)])
def test_the_hessian_of_the_nuclear_norm_of_equal_values(shape, dtype):
    """The norm is smooth where no value is 0: its gradient is the unitary factor of the polar decomposition."""
    exact = tl.eye(*shape, dtype=dtype) * 2  # equal to the last bit
    near = with_values(*shape, [2.0] * min(shape), dtype)
    direction = tl.randn(*shape, dtype=dtype, generator=tl.Generator().manual_seed(7))
    for x in (exact, near):
        x = x.requires_grad_()
        (g,) = tl_autograd.grad(linalg.matrix_norm(x, "nuc"), x, create_graph=True)
        (result,) = tl_autograd.grad(g, x, direction)
        want = hessian_by_differences(lambda a: linalg.matrix_norm(a, "nuc"), x.detach(), direction)
        assert tl.allclose(result, want, atol=1e-6), (result, want)
        with tl_autograd.forward_ad.dual_level():
            dual = tl_autograd.forward_ad.make_dual(x.detach(), direction)
            leaf = dual.requires_grad_() if not dual.requires_grad else dual
            (g,) = tl_autograd.grad(linalg.matrix_norm(leaf, "nuc"), leaf, create_graph=True)
            assert tl.allclose(tl_autograd.forward_ad.unpack_dual(g).tangent, want, atol=1e-6)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("order", [2, -2])
def test_the_hessian_of_an_extreme_value_beside_equal_others(order, dtype):
    values = [3.0, 1.5, 1.5, 1.5] if order == 2 else [3.0, 3.0, 3.0, 1.5]
    x = tl.diag(tl.tensor(values)).to(dtype).requires_grad_()
    direction = tl.randn(4, 4, dtype=dtype, generator=tl.Generator().manual_seed(7))
    (g,) = tl_autograd.grad(linalg.matrix_norm(x, order), x, create_graph=True)
    (result,) = tl_autograd.grad(g, x, direction)
    want = hessian_by_differences(lambda a: linalg.matrix_norm(a, order), x.detach(), direction)
    assert tl.allclose(result, want, atol=1e-6)


@pytest.mark.parametrize("order", ["nuc", 2])
def test_third_derivatives_of_norms(order):
    def gradient(a):
        return tl_autograd.grad(linalg.matrix_norm(a, order), a, create_graph=True)[0]

    assert gradgradcheck(gradient, drawn(3, 2))


@pytest.mark.parametrize("order", ["nuc", 2, -2])
def test_norms_of_batches(order):
    x = drawn(2, 3, 3)
    each = tl_autograd.func.vmap(lambda a: linalg.matrix_norm(a, order))(x)
    assert tl.allclose(each, linalg.matrix_norm(x, order))
    result = tl_autograd.func.vmap(tl_autograd.func.hessian(lambda a: linalg.matrix_norm(a, order)))(
        x.detach()
    )
    want = [tl_autograd.func.hessian(lambda a: linalg.matrix_norm(a, order))(a) for a in x.detach()]
    assert tl.allclose(result, tl.stack(want))
