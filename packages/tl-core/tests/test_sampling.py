"""Gamma, Dirichlet, Poisson and binomial samples: their streams, distributions, derivatives and refusals."""

import math

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="the references are numpy's")
stats = pytest.importorskip("scipy.stats", reason="the distributions are held against scipy's")
special = pytest.importorskip("scipy.special", reason="the derivatives are held against scipy's inverses")


def generator(seed=5):
    return tl.Generator().manual_seed(seed)


def doubles(values):
    return tl.tensor(values, dtype=tl.float64)


RATES = [0.0, 0.5, 3.0, 9.99, 10.0, 40.0, 1e4, 2e9, 1e-3, 12.5]
SHAPES = [0.01, 0.5, 1.0, 2.0, 30.0, 1e4]

# ---- streams: recorded once from the reference implementation ----------------------------------------------


def test_counts_are_those_of_the_reference_stream():
    result = tl.poisson(doubles(RATES), generator=generator())
    assert result.tolist() == [0, 1, 2, 11, 9, 40, 9971, 1999980434, 0, 9]
    trials = doubles([10, 10, 50, 50, 1000, 1000, 1e6, 3, 20, 0])
    chances = doubles([0.1, 0.9, 0.5, 0.7, 0.02, 0.6, 0.3, 1, 0, 0.5])
    assert tl.binomial(trials, chances, generator=generator()).tolist() == [
        1, 9, 26, 31, 18, 585, 299348, 3, 0, 0,
    ]  # fmt: skip


def test_gamma_and_dirichlet_are_those_of_the_reference_stream():
    gamma = ["0x1.1848178bc48b5p-149", "0x1.5a766d614debdp+0", "0x1.ab74cf9ada8b8p-5", "0x1.ba05047ec104ap-1",
             "0x1.abb269983807bp+4", "0x1.3aa72c20eac31p+13"]  # fmt: skip
    result = tl._standard_gamma(doubles(SHAPES), generator=generator()).numpy()
    np.testing.assert_allclose(result, [float.fromhex(x) for x in gamma], rtol=1e-14)
    shares = ["0x1.3546ec37beeadp-154", "0x1.7e4df5f34488ap-5", "0x1.d7ad56b06e648p-10",
              "0x1.e7bf3b714a0edp-6", "0x1.d7f15019e92fdp-1"]  # fmt: skip
    result = tl._sample_dirichlet(doubles(SHAPES[:5]), generator=generator()).numpy()
    np.testing.assert_allclose(result, [float.fromhex(x) for x in shares], rtol=1e-14)


def test_the_default_generator_is_drawn_from():
    tl.manual_seed(5)
    result = tl.poisson(doubles(RATES))
    assert result.tolist() == tl.poisson(doubles(RATES), generator=generator()).tolist()


# ---- distributions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0, 150.0])
@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
def test_gamma_is_distributed_as_gamma(shape, dtype):
    x = tl._standard_gamma(tl.full((20_000,), shape, dtype=dtype), generator=generator())
    assert x.dtype == dtype
    assert stats.kstest(x.double().numpy(), stats.gamma(shape).cdf).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.2, 6.0, 15.0, 300.0])
@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.float32, tl.float64])
def test_poisson_has_its_mean_and_variance(rate, dtype):
    x = tl.poisson(tl.full((20_000,), rate, dtype=dtype), generator=generator())
    assert x.dtype == dtype
    values, rate = x.double().numpy(), float(tl.tensor(rate, dtype=dtype))
    assert abs(values.mean() - rate) < 4 * math.sqrt(rate / 20_000)
    assert abs(values.var() / rate - 1) < 0.1


@pytest.mark.parametrize(("count", "chance"), [(5, 0.3), (5, 0.8), (200, 0.4), (200, 0.95), (10**6, 0.5)])
def test_binomial_has_its_mean_and_variance(count, chance):
    x = tl.binomial(doubles([float(count)] * 20_000), doubles(chance), generator=generator()).numpy()
    variance = count * chance * (1 - chance)
    assert x.min() >= 0
    assert x.max() <= count
    assert abs(x.mean() - count * chance) < 4 * math.sqrt(variance / 20_000)
    assert abs(x.var() / variance - 1) < 0.05


def test_dirichlet_sums_to_one_and_has_its_mean():
    concentration = doubles([0.5, 1.0, 3.5])
    x = tl._sample_dirichlet(concentration.expand(20_000, 3), generator=generator())
    np.testing.assert_allclose(x.sum(-1).numpy(), 1, rtol=1e-14)
    np.testing.assert_allclose(x.mean(0).numpy(), concentration.numpy() / 5, atol=0.01)


# ---- edges -------------------------------------------------------------------------------------------------


def test_edges_of_the_parameters():
    least = np.finfo(np.float32).tiny
    assert tl._standard_gamma(tl.tensor([0.0, -1.0, math.nan])).tolist() == [least] * 3
    assert tl._standard_gamma(tl.tensor([math.inf])).tolist() == [math.inf]
    assert tl._sample_dirichlet(tl.tensor([1.0])).tolist() == [1 - 2**-24]
    assert tl.poisson(tl.tensor([0.0, math.inf])).tolist() == [0, math.inf]
    counts = tl.binomial(tl.tensor([-1.0, 3.0, 3.0, 3.0, 0.0]), tl.tensor([0.5, -1.0, 2.0, 1.0, 0.5]))
    assert counts.tolist() == [0, 0, 3, 3, 0]
    unknown = tl.binomial(tl.tensor([math.nan, 3.0]), tl.tensor([0.5, math.nan]))
    assert all(math.isnan(x) for x in unknown.tolist())


def test_layouts_follow_the_order_of_elements():
    rates = doubles(RATES).reshape(2, 5)
    turned = tl.poisson(rates.t(), generator=generator())
    assert turned.stride() == (2, 1)
    assert turned.tolist() == tl.poisson(rates.t().contiguous(), generator=generator()).tolist()
    assert tl.binomial(tl.ones(2, 1), tl.ones(3)).shape == (2, 3)


@pytest.mark.parametrize("draw", [tl.poisson, tl._standard_gamma, tl._sample_dirichlet])
def test_empty_and_meta(draw):
    assert draw(tl.empty(0, 3)).shape == (0, 3)
    on_meta = draw(tl.empty(2, 3, device="meta"))
    assert on_meta.is_meta
    assert on_meta.shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tl.poisson(tl.tensor([1, 2])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.poisson(tl.tensor([-1.0])), RuntimeError, "expected rate to be non-negative"),
        (lambda: tl.poisson(tl.tensor([math.nan])), RuntimeError, "expected rate to be non-negative"),
        (lambda: tl.binomial(tl.tensor([1]), tl.tensor([0.5])), ValueError, "dtypes for count, got: Long"),
        (lambda: tl.binomial(tl.ones(1), tl.tensor([1])), ValueError, "dtypes for prob, got: Long"),
        (
            lambda: tl.binomial(tl.ones(1), doubles([0.5])),
            RuntimeError,
            "Found dtype Double but expected Float",
        ),
        (lambda: tl._standard_gamma(tl.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl._sample_dirichlet(tl.ones(2).half()), NotImplementedError, "not implemented for 'Half'"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- derivatives of samples --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [1e-3, 0.2, 1.0, 7.0, 99.0, 101.0, 3e3])
@pytest.mark.parametrize("level", [0.02, 0.4, 0.97])
def test_the_derivative_of_gamma_variates_is_that_of_the_quantile(shape, level):
    """At one level of the distribution function, a variate is a function of the shape."""
    x, step = special.gammaincinv(shape, level), shape * 1e-5
    if x < 1e-290:
        pytest.skip("the variate is not a normal number")
    derivative = (special.gammaincinv(shape + step, level) - special.gammaincinv(shape - step, level)) / (
        2 * step
    )
    np.testing.assert_allclose(
        float(tl._standard_gamma_grad(doubles(shape), doubles(x))), derivative, rtol=2e-6
    )


@pytest.mark.parametrize("alpha", [0.05, 0.7, 4.0, 60.0])
@pytest.mark.parametrize("beta", [0.05, 0.7, 4.0, 60.0])
@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_the_derivative_of_beta_variates_is_that_of_the_quantile(alpha, beta, level):
    x, step = special.betaincinv(alpha, beta, level), alpha * 1e-5
    if not 1e-200 < x < 1 - 1e-6:
        pytest.skip("the variate is too close to an end for finite differences")
    above, below = (special.betaincinv(alpha + s, beta, level) for s in (step, -step))
    result = float(tl._dirichlet_grad(doubles(x), doubles(alpha), doubles(alpha + beta))) * (1 - x)
    np.testing.assert_allclose(result, (above - below) / (2 * step), rtol=1e-5)


def test_derivatives_at_the_ends():
    assert tl._standard_gamma_grad(doubles([1.0, 2.0]), doubles([0.0, math.inf])).tolist() == [0, math.inf]
    assert math.isnan(float(tl._standard_gamma_grad(doubles(-1.0), doubles(1.0))))
    assert float(tl._dirichlet_grad(doubles(0.0), doubles(1.0), doubles(2.0))) == 0
    assert math.isnan(float(tl._dirichlet_grad(doubles(1.5), doubles(1.0), doubles(2.0))))
