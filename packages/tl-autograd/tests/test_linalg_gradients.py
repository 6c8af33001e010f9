"""First and second derivatives of functions of matrices, against finite differences."""

import pytest

import tl_core as tl
from tl_autograd import grad, gradcheck, gradgradcheck
from tl_core import linalg
from tl_core.functions import lapack

pytestmark = pytest.mark.skipif(lapack.library() is None, reason="LAPACK is not installed")


def drawn(*shape, dtype, seed):
    x = tl.randn(*shape, dtype=dtype, generator=tl.Generator().manual_seed(seed))
    return x.requires_grad_()


def definite(a):
    return a @ a.mH + 2 * tl.eye(a.size(-1), dtype=a.dtype)


def hermitian(a):
    return (a + a.mH) / 2


def up_to_phase(pair):
    values, vectors = pair
    return values, vectors.abs()


SQUARE = {
    "cholesky": lambda a: linalg.cholesky(definite(a)),
    "cholesky upper": lambda a: linalg.cholesky(definite(a), upper=True),
    "cholesky_inverse": lambda a: tl.cholesky_inverse(linalg.cholesky(definite(a))),
    "cholesky_inverse upper": lambda a: tl.cholesky_inverse(linalg.cholesky(definite(a), upper=True), True),
    "inv": linalg.inv,
    "det": linalg.det,
    "sign": lambda a: linalg.slogdet(a).sign,
    "logabsdet": lambda a: linalg.slogdet(a).logabsdet,
    "logdet": lambda a: tl.logdet(definite(a)).real,
    "lu": lambda a: linalg.lu(a)[1:],
    "lu_factor": lambda a: linalg.lu_factor(a).LU,
    "eigh": lambda a: up_to_phase(linalg.eigh(hermitian(a))),
    "eigvalsh": lambda a: linalg.eigvalsh(hermitian(a)),
    "eig": lambda a: up_to_phase(linalg.eig(a)),
    "eigvals": linalg.eigvals,
}
SYSTEM = {
    "cholesky_solve": lambda a, b: tl.cholesky_solve(b, linalg.cholesky(definite(a))),
    "cholesky_solve upper": lambda a, b: tl.cholesky_solve(b, linalg.cholesky(definite(a), upper=True), True),
    "lu_solve": lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b),
    "lu_solve adjoint": lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=True),
    "lu_solve right": lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b.mT, left=False),
    "solve_triangular": lambda a, b: linalg.solve_triangular(a, b, upper=True),
    "solve_triangular right": lambda a, b: linalg.solve_triangular(
        a, b.mT, upper=False, left=False, unitriangular=True
    ),
    "triangular_solve": lambda a, b: tl.triangular_solve(b, a, transpose=True).solution,
}
RECTANGLE = {
    "lu": lambda a: linalg.lu(a)[1:],
    "pinv": linalg.pinv,
    "lstsq": lambda a: linalg.lstsq(a, tl.ones(a.size(-2), 2, dtype=a.dtype)).solution,
}
FIELDS = pytest.mark.parametrize("dtype", [tl.float64, tl.complex128], ids=str)


def check(function, *inputs):
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@FIELDS
@pytest.mark.parametrize("name", SQUARE)
def test_functions_of_square_matrices(name, dtype):
    check(SQUARE[name], drawn(2, 3, 3, dtype=dtype, seed=1))


@FIELDS
@pytest.mark.parametrize("name", SYSTEM)
def test_solutions(name, dtype):
    check(SYSTEM[name], drawn(2, 3, 3, dtype=dtype, seed=2), drawn(2, 3, 2, dtype=dtype, seed=3))


@FIELDS
@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
@pytest.mark.parametrize("name", RECTANGLE)
def test_functions_of_rectangles(name, shape, dtype):
    check(RECTANGLE[name], drawn(*shape, dtype=dtype, seed=4))


@FIELDS
def test_residuals_of_least_squares(dtype):
    inputs = drawn(5, 3, dtype=dtype, seed=7), drawn(5, 2, dtype=dtype, seed=8)
    check(lambda a, b: linalg.lstsq(a, b, driver="gelsd").residuals, *inputs)


@FIELDS
def test_solutions_from_symmetric_factors(dtype):
    factors = linalg.ldl_factor(definite(drawn(3, 3, dtype=dtype, seed=5)).detach(), hermitian=True)
    check(lambda b: linalg.ldl_solve(*factors, b, hermitian=True), drawn(3, 2, dtype=dtype, seed=6))


def test_a_singular_matrix_has_a_determinant_with_zero_derivative():
    a = tl.zeros(2, 2, dtype=tl.float64, requires_grad=True)
    linalg.det(a).backward()
    assert not a.grad.any()


SOLVERS = {
    "solve": linalg.solve,
    "solve_ex": lambda a, b: linalg.solve_ex(a, b).result,
    "solve_triangular": lambda a, b: linalg.solve_triangular(a, b, upper=True),
    "triangular_solve": lambda a, b: tl.triangular_solve(b, a).solution,
    "cholesky_solve": lambda a, b: tl.cholesky_solve(b, a.tril()),
    "lu_solve": lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b),
    "lstsq": lambda a, b: linalg.lstsq(a, b).solution,
    "lstsq residuals": lambda a, b: (
        linalg.lstsq(tl.cat([a, a.sin()], -2), tl.cat([b, b.cos()], -2)).residuals
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 2), (3, 2, 1)), ((3, 2, 2), (2, 1)), ((2, 1, 2, 2), (3, 2, 1)), ((1, 2, 2), (3, 2, 1))],
)
def test_gradients_of_solvers_have_the_shapes_of_what_is_broadcast(name, left, right):
    solve = SOLVERS[name]
    a, b = drawn(*left, dtype=tl.float64, seed=3), drawn(*right, dtype=tl.float64, seed=4)

    def solved(a, b):
        return solve(a + 3 * tl.eye(2, dtype=a.dtype), b)

    grads = grad(solved(a, b).sum(), (a, b))
    assert [g.shape for g in grads] == [a.shape, b.shape]
    assert gradcheck(solved, (a, b)) and gradgradcheck(solved, (a, b))


def test_the_zeroth_power_has_a_gradient_of_zeros():
    a = tl.eye(3, dtype=tl.float64).mul(2).expand(2, 3, 3).clone().requires_grad_()
    result = tl.linalg.matrix_power(a, 0)
    assert result.requires_grad and tl.equal(result, tl.eye(3, dtype=tl.float64).expand(2, 3, 3))
    assert tl.equal(grad(result.sum(), a)[0], tl.zeros_like(a))
