"""Linear algebra in a region of autocast: PyTorch computes decompositions and inverses in float32, products lower."""

from __future__ import annotations

import pytest

import tl_core as tl
from tl_core.dispatch.autocast import AutocastSnapshot, set_autocast_dtype, set_autocast_enabled
from tl_core.functions import lapack

MATRIX = [[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]]
linalg = tl.linalg

# From PyTorch 2.13: the same results in float32 for a matrix in float32, bfloat16 and float16.
WIDE = {
    "cholesky": lambda m: tl.cholesky(m),
    "cholesky_inverse": lambda m: tl.cholesky_inverse(m),
    "cholesky_solve": lambda m: tl.cholesky_solve(m, m),
    "householder_product": lambda m: linalg.householder_product(m, m[0]),
    "inverse": lambda m: tl.inverse(m),
    "linalg.cholesky": lambda m: linalg.cholesky(m),
    "linalg.cholesky_ex": lambda m: linalg.cholesky_ex(m).L,
    "linalg.eigh": lambda m: linalg.eigh(m).eigenvalues,
    "linalg.eigvalsh": lambda m: linalg.eigvalsh(m),
    "linalg.inv": lambda m: linalg.inv(m),
    "linalg.inv_ex": lambda m: linalg.inv_ex(m).inverse,
    "linalg.lstsq": lambda m: linalg.lstsq(m, m).solution,
    "linalg.qr": lambda m: linalg.qr(m).R,
    "linalg.solve": lambda m: linalg.solve(m, m),
    "linalg.svdvals": lambda m: linalg.svdvals(m),
    "linalg.tensorinv": lambda m: linalg.tensorinv(m, ind=1),
    "lu": lambda m: tl.lu(m)[0],
    "ormqr": lambda m: tl.ormqr(m, m[0], m),
    "pinverse": lambda m: tl.pinverse(m),
    "triangular_solve": lambda m: tl.triangular_solve(m, m).solution,
}
COMPLEX = {"linalg.eig": lambda m: linalg.eig(m).eigenvalues, "linalg.eigvals": lambda m: linalg.eigvals(m)}
# The lower type for a matrix in any of the three types.
LOW = {
    "linalg.vecdot": lambda m: linalg.vecdot(m, m),
    "linalg.multi_dot": lambda m: linalg.multi_dot([m, m, m]),
    "linalg.matrix_power": lambda m: linalg.matrix_power(m, 2),
}
# The type of the argument.
OWN = {"linalg.cross": lambda m: linalg.cross(m, m), "linalg.vector_norm": lambda m: linalg.vector_norm(m)}


@pytest.fixture(params=[tl.bfloat16, tl.float16])
def lower(request):
    before = AutocastSnapshot()
    set_autocast_dtype("cpu", request.param)
    set_autocast_enabled("cpu", True)
    yield request.param
    before.restore()


def call(function, dtype):
    try:
        return function(tl.tensor(MATRIX, dtype=dtype))
    except RuntimeError as error:
        if lapack.library() is None and "needs LAPACK" in str(error):
            pytest.skip("no LAPACK")
        raise


def results(function):
    return [call(function, dtype) for dtype in (tl.float32, tl.bfloat16, tl.float16)]


@pytest.mark.parametrize("name", WIDE)
def test_decompositions_are_computed_in_float32(name, lower):
    first, *rest = results(WIDE[name])
    assert first.dtype == tl.float32
    assert all(tl.equal(first, other) for other in rest)  # the matrix is exact in each type


@pytest.mark.parametrize("name", COMPLEX)
def test_eigenvalues_are_complex64(name, lower):
    assert {result.dtype for result in results(COMPLEX[name])} == {tl.complex64}


@pytest.mark.parametrize("name", LOW)
def test_products_are_computed_in_the_lower_type(name, lower):
    assert {result.dtype for result in results(LOW[name])} == {lower}


@pytest.mark.parametrize("name", OWN)
def test_other_functions_keep_the_type(name, lower):
    assert [result.dtype for result in results(OWN[name])] == [tl.float32, tl.bfloat16, tl.float16]


@pytest.mark.parametrize("name", [*WIDE, *LOW, *OWN])
def test_float64_stays(name, lower):
    assert call({**WIDE, **LOW, **OWN}[name], tl.float64).dtype == tl.float64
