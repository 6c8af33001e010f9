"""Covariances and correlations."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402


def drawn(*shape, complex=False):
    result = np.random.default_rng(0).normal(size=(2, *shape))
    return result[0] + 1j * result[1] if complex else result[0]


@pytest.mark.parametrize(
    "x", [drawn(3, 9), drawn(9), drawn(3, 9, complex=True), np.arange(12).reshape(3, 4) ** 2]
)
@pytest.mark.parametrize("correction", [0, 1, 2])
def test_covariance(x, correction):
    result = tl.cov(tl.from_numpy(x), correction=correction)
    rtol = 1e-12 if x.dtype.kind != "i" else 1e-5
    np.testing.assert_allclose(result.numpy(), np.cov(x, ddof=correction), rtol=rtol)


@pytest.mark.parametrize("correction", [0, 1])
def test_weighted_covariance(correction):
    x, often, much = drawn(3, 5), np.array([1, 2, 1, 4, 2]), np.array([0.5, 1.0, 2.0, 1.0, 0.1])
    for f, a in ((often, None), (None, much), (often, much)):
        weights = {"fweights": f, "aweights": a}
        result = tl.from_numpy(x).cov(
            correction=correction, **{k: w if w is None else tl.from_numpy(w) for k, w in weights.items()}
        )
        np.testing.assert_allclose(result.numpy(), np.cov(x, ddof=correction, **weights), rtol=1e-12)


@pytest.mark.parametrize("x", [drawn(3, 9), drawn(3, 9, complex=True)])
def test_correlation(x):
    np.testing.assert_allclose(tl.from_numpy(x).corrcoef().numpy(), np.corrcoef(x), rtol=1e-12)
    assert tl.corrcoef(tl.tensor([1.0, 2.0])).item() == 1


def test_what_does_not_fit_is_refused():
    x = tl.ones(2, 3)
    for call, message in (
        (lambda: tl.cov(tl.ones(1, 2, 3)), "two or fewer dimensions"),
        (lambda: tl.cov(x > 0), "bool dtype"),
        (lambda: tl.cov(x, fweights=tl.ones(3)), "expected fweights to have integral dtype"),
        (lambda: tl.cov(x, aweights=tl.ones(2)), "aweights to have the same numel .* got 2 != 3"),
        (lambda: tl.cov(x, aweights=-tl.ones(3)), "aweights cannot be negative"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert tl.cov(tl.ones(2, 1)).isnan().all()
