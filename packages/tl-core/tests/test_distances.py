"""Distances of all pairs of vectors."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")
distance = pytest.importorskip("scipy.spatial.distance", reason="the references are scipy's")

import tl_core as tl  # noqa: E402

USE, NEVER = "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"


def drawn(*shape):
    return np.random.default_rng(0).normal(size=shape)


def reference(a, b, p):
    if p == 0:
        return (a[:, None] != b[None]).sum(-1)
    return distance.cdist(a, b, "chebyshev") if np.isinf(p) else distance.cdist(a, b, "minkowski", p=p)


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, float("inf")])
@pytest.mark.parametrize("sizes", [(5, 7), (70, 40)])
def test_distances_of_two_collections(p, sizes):
    a, b = drawn(sizes[0], 3), drawn(sizes[1], 3) + 1
    result = tl.cdist(tl.from_numpy(a), tl.from_numpy(b), p=p)
    np.testing.assert_allclose(result.numpy(), reference(a, b, p), rtol=1e-12)


@pytest.mark.parametrize("mode", [USE, NEVER, None])
def test_batches_are_broadcast(mode):
    a, b = drawn(2, 1, 30, 4), drawn(3, 20, 4) + 2
    result = tl.cdist(tl.from_numpy(a), tl.from_numpy(b), compute_mode=mode)
    assert result.shape == (2, 3, 30, 20)
    for i in range(2):
        for j in range(3):
            np.testing.assert_allclose(result[i, j].numpy(), distance.cdist(a[i, 0], b[j]), rtol=1e-10)


def test_many_differences_are_made_in_parts():
    a, b = drawn(301, 40), drawn(302, 40)
    result = tl.cdist(tl.from_numpy(a), tl.from_numpy(b), p=1)
    np.testing.assert_allclose(result.numpy(), reference(a, b, 1), rtol=1e-12)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, float("inf")])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_distances_of_narrow_types(p, dtype):
    a, b = (tl.from_numpy(drawn(n, 19)).to(getattr(tl, dtype)) for n in (90, 85))
    expected = reference(a.double().numpy(), b.double().numpy(), p)
    result = tl.cdist(a, b, p, NEVER).double().numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == "float32" else 1e-2)


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, float("inf")])
def test_distances_within_one_collection(p):
    a = drawn(150, 5)
    expected = reference(a, a, p)[np.triu_indices(150, 1)]
    np.testing.assert_allclose(tl.pdist(tl.from_numpy(a), p).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", [USE, NEVER])
def test_what_is_no_number_has_no_distance(mode):
    a = tl.tensor([[1.0, float("nan")], [0.0, 0.0]])
    assert tl.cdist(a, tl.ones(1, 2), compute_mode=mode).isnan().tolist() == [[True], [False]]


def test_types_are_promoted():
    assert tl.cdist(tl.ones(2, 3), tl.ones(2, 3, dtype=tl.float64)).dtype == tl.float64


def test_nothing_to_compare():
    assert tl.cdist(tl.zeros(0, 3), tl.zeros(2, 3)).shape == (0, 2)
    assert tl.cdist(tl.zeros(40, 3), tl.zeros(0, 3)).shape == (40, 0)
    assert tl.cdist(tl.zeros(30, 0), tl.zeros(30, 0)).tolist() == [[0.0] * 30] * 30
    assert tl.pdist(tl.zeros(1, 3)).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tl.cdist(tl.ones(2), tl.ones(2, 2)), "at least 2D tensors, X1 got: 1D"),
        (lambda: tl.cdist(tl.ones(2, 3), tl.ones(2, 4)), "same number of columns. X1: 3 X2: 4"),
        (lambda: tl.cdist(tl.ones(2, 3), tl.ones(2, 3, dtype=tl.int64)), "X2 got: Long"),
        (lambda: tl.cdist(tl.ones(2, 3), tl.ones(2, 3), -1), "non-negative p"),
        (lambda: tl.pdist(tl.ones(2, 3, 4)), "2D tensors, got: 3D"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()
    with pytest.raises(ValueError, match="quickly is not a valid value for compute_mode"):
        tl.cdist(tl.ones(2, 3), tl.ones(2, 3), compute_mode="quickly")
