"""Eigenvalues and singular values of large matrices: residuals, orthogonality, and numpy's values.

A quick run takes matrices of order 128, the profile of the sanitizers those of order 1024.
"""

import os

import pytest

import tl_core as tl

np = pytest.importorskip("numpy")

ORDER = 128 if os.environ.get("TL_HYPOTHESIS_PROFILE", "quick") == "quick" else 1024
DTYPES = ["float32", "float64", "complex64", "complex128"]
KINDS = ["even", "graded", "repeated", "of low rank"]
of_dtype = pytest.mark.parametrize("dtype", DTYPES)
of_kind = pytest.mark.parametrize("kind", KINDS)


def unitary(rng, n, dtype):
    a = rng.normal(size=(n, n))
    return np.linalg.qr(a + 1j * rng.normal(size=(n, n)) if "complex" in dtype else a)[0]


def spectrum(rng, kind, n):
    if kind == "graded":
        return 10 ** np.linspace(3, -6, n)
    if kind == "repeated":
        return np.repeat(rng.normal(size=(n + 7) // 8), 8)[:n]
    values = rng.normal(size=n)
    return np.where(np.arange(n) < n // 4, values, 0) if kind == "of low rank" else values


def hermitian(kind, dtype, n=ORDER):
    rng = np.random.default_rng(3)
    q = unitary(rng, n, dtype)
    a = (q * spectrum(rng, kind, n)) @ q.conj().T
    return ((a + a.conj().T) / 2).astype(dtype)


def rectangular(kind, dtype, n=ORDER):
    rng = np.random.default_rng(4)
    rows, columns = unitary(rng, n + n // 4, dtype)[:, :n], unitary(rng, n, dtype)
    return ((rows * np.abs(spectrum(rng, kind, n))) @ columns.conj().T).astype(dtype)


def size(a):
    """The Frobenius norm, in double precision."""
    return np.linalg.norm(np.asarray(a).astype(np.complex128))


def bound(a, factor=1.0):
    """What rounding may do to a matrix of this size: the units of its largest value, times the root of the order."""
    return factor * np.finfo(a.dtype).eps * np.sqrt(max(a.shape)) * np.linalg.norm(a.astype(np.complex128), 2)


def check_unitary(q):
    inner = q.conj().T.astype(np.complex128) @ q.astype(np.complex128)
    assert size(inner - np.eye(len(inner))) <= 20 * np.finfo(q.dtype).eps * np.sqrt(len(inner))


@of_dtype
@of_kind
def test_eigh(kind, dtype):
    a = hermitian(kind, dtype)
    values, vectors = (t.numpy() for t in tl.linalg.eigh(tl.from_numpy(a)))
    assert np.all(np.diff(values) >= 0)
    check_unitary(vectors)
    wide = a.astype(np.complex128)
    assert size(wide @ vectors - vectors * values) <= bound(a, 10)
    want = np.linalg.eigvalsh(wide)
    for result in (values, tl.linalg.eigvalsh(tl.from_numpy(a)).numpy()):
        assert np.abs(result - want).max() <= bound(a, 4)


@of_dtype
@of_kind
def test_svd(kind, dtype):
    a = rectangular(kind, dtype)
    want = np.linalg.svd(a.astype(np.complex128), compute_uv=False)
    for turned in (a, a.T.copy()):
        u, s, vh = (t.numpy() for t in tl.linalg.svd(tl.from_numpy(turned), full_matrices=False))
        assert np.all(np.diff(s) <= 0) and s[-1] >= 0
        check_unitary(u)
        check_unitary(vh.conj().T)
        assert size((u.astype(np.complex128) * s) @ vh - turned) <= bound(a, 10)
        assert np.abs(s - want).max() <= bound(a, 4)
    assert np.abs(tl.linalg.svdvals(tl.from_numpy(a)).numpy() - want).max() <= bound(a, 4)


@of_dtype
def test_eig(dtype):
    """Of a matrix without symmetry, whose vectors have length one and whose values add up to the trace."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=(ORDER, ORDER))
    a = (a + 1j * rng.normal(size=a.shape) if "complex" in dtype else a).astype(dtype)
    values, vectors = (t.numpy() for t in tl.linalg.eig(tl.from_numpy(a)))
    wide = a.astype(np.complex128)
    assert size(wide @ vectors - vectors * values) <= bound(a, 30)
    assert (
        np.abs(np.linalg.norm(vectors.astype(np.complex128), axis=0) - 1).max() <= 100 * np.finfo(dtype).eps
    )
    assert abs(values.astype(np.complex128).sum() - np.trace(wide)) <= bound(a, 10 * np.sqrt(ORDER))
    alone = tl.linalg.eigvals(tl.from_numpy(a)).numpy()
    for result in (values, alone):
        distance = np.abs(result[:, None] - np.linalg.eigvals(wide)[None])
        assert np.array_equal(np.sort(distance.argmin(1)), np.arange(ORDER))
        assert distance.min(1).max() <= bound(a, 30)
