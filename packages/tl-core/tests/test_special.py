"""Special functions in double precision against mpmath: units in the last place, at difficult arguments too."""

import math

import pytest

import tl_core as tl
from tl_core import special

np = pytest.importorskip("numpy", reason="arguments are drawn with numpy")
mp = pytest.importorskip("mpmath", reason="the references are mpmath's")

COUNT = 60


def powers(low, high, seed=0):
    """Arguments of all sizes between powers of ten."""
    return 10 ** np.random.default_rng(seed).uniform(low, high, COUNT)


def between(low, high, seed=0):
    return np.random.default_rng(seed).uniform(low, high, COUNT)


def units(got, want, size=None):
    """The error in units in the last place of the result, or of `size`."""
    scale = abs(want) if size is None else size
    return float(abs(mp.mpf(got) - want) / mp.ldexp(1, int(mp.floor(mp.log(scale, 2))) - 52))


def airy_size(x):
    """The larger of the two Airy functions, between whose zeros the error of either is measured."""
    return max(abs(mp.airyai(x)), abs(mp.airybi(x)))


def bessel(function, order, scale=0):
    return lambda x: function(order, x) * mp.exp(scale * x)


def normal_quantile(p):
    return -mp.sqrt(2) * mp.findroot(lambda t: mp.log(mp.erfc(t)) - mp.log(2 * p), mp.sqrt(-mp.log(2 * p)))


# function, reference, arguments, bound in units in the last place
BOUNDS = [
    ("airy_ai", mp.airyai, [*between(0, 3), *powers(0, 2), 8.5, 9.9, 100.0], 4.5),
    ("modified_bessel_i0", bessel(mp.besseli, 0), [*powers(-5, 2.85), 19.99, 20.01, 712.0], 4),
    ("modified_bessel_i1", bessel(mp.besseli, 1), [*powers(-5, 2.85), 19.99, 20.01, 712.0], 4),
    ("modified_bessel_k0", bessel(mp.besselk, 0), [*powers(-300, 2.8), *between(0.9, 1.2)], 4),
    ("modified_bessel_k1", bessel(mp.besselk, 1), [*powers(-300, 2.8), *between(0.9, 1.2)], 4),
    ("scaled_modified_bessel_k0", bessel(mp.besselk, 0, 1), [*powers(-5, 4), *between(15, 25)], 4),
    ("scaled_modified_bessel_k1", bessel(mp.besselk, 1, 1), [*powers(-5, 4), *between(15, 25)], 4),
    ("i0e", bessel(mp.besseli, 0, -1), [*powers(-5, 4), *between(15, 25)], 4),
    ("i1e", bessel(mp.besseli, 1, -1), [*powers(-5, 4), *between(15, 25)], 4),
    ("spherical_bessel_j0", lambda x: mp.sin(x) / x, powers(-5, 5), 4),
    ("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), [*powers(-5, 4), *-powers(-5, 1.4), *between(20, 27)], 4),
    ("ndtr", lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, [*between(-37, 8), -1e-9], 4),
    ("ndtri", normal_quantile, [*powers(-300, -1), 0.02425, 0.2499, 0.2501], 4),
    ("log_ndtr", lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), [*between(-6, 4), *-powers(0, 4)], 4),
    ("i0e", bessel(mp.besseli, 0, -1), [*between(0, 8.5), 7.999999, 8.0, 64.0], 4),
    ("ndtri", normal_quantile, [*between(0.001, 0.08), 0.075, 0.0750001], 4),
    ("digamma", mp.digamma, [*powers(-5, 4), *between(1.3, 1.6), 1.4616321449683622], 6),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reference", "arguments", "bound"), BOUNDS, ids=[b[0] for b in BOUNDS])
def test_errors_stay_below_their_bounds(name, reference, arguments, bound):
    arguments = [float(x) for x in arguments]
    got = getattr(special, name)(tl.tensor(arguments, dtype=tl.float64)).tolist()
    with mp.workdps(60):
        errors = [units(y, reference(mp.mpf(x))) for x, y in zip(arguments, got, strict=True)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    assert errors[worst] <= bound, f"{name}({arguments[worst]!r})"


def test_trigamma():
    arguments = [*powers(-5, 4), *between(0.9, 11), 1.0, 2.0, 10.0, 9.9999999]
    got = tl.polygamma(1, tl.tensor([float(x) for x in arguments], dtype=tl.float64)).tolist()
    with mp.workdps(40):
        assert (
            max(units(y, mp.polygamma(1, mp.mpf(float(x)))) for x, y in zip(arguments, got, strict=True)) <= 4
        )


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize(
    "name",
    [
        "airy_ai",
        "modified_bessel_i1",
        "modified_bessel_k0",
        "erfcx",
        "log_ndtr",
        "ndtri",
        "spherical_bessel_j0",
    ],
)
def test_an_element_does_not_depend_on_its_neighbours(name, dtype):
    """All pieces side by side, each element alone."""
    x = tl.tensor(
        [float(v) for v in [*powers(-3, 2.5), *between(-12, 0), *between(0, 1), math.inf, math.nan]],
        dtype=dtype,
    )
    function = getattr(special, name)
    together, alone = function(x).tolist(), [float(function(v)) for v in x]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"])
def test_cylinder_functions_of_floats_are_those_of_doubles(name):
    x = tl.tensor([*powers(-20, 8), *between(0, 20), *-between(0, 20), 0.0, -0.0, 8.0, math.inf, math.nan])
    function = getattr(special, name)
    want = function(x.double()).tolist()
    np.testing.assert_allclose(function(x).tolist(), np.asarray(want, np.float32), rtol=2e-7, atol=1e-13)
    assert function(x[-4]).signbit() == function(x[-4].double()).signbit()


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
def test_an_incomplete_gamma_function_does_not_depend_on_its_neighbours(dtype):
    pairs = [*gamma_arguments(), (0.0, 1.0), (1.0, math.inf), (math.nan, 1.0)]
    a, x = (tl.tensor(column, dtype=dtype) for column in zip(*pairs, strict=True))
    for function in (tl.igamma, tl.igammac):
        alone = [float(function(s, t)) for s, t in zip(a, x, strict=True)]
        np.testing.assert_array_equal(function(a, x).tolist(), alone)


def test_airy_oscillates_with_small_errors():
    arguments = [*between(-9, 0.5), *-powers(0, 4), -8.5, -8.500001, 0.0]
    got = special.airy_ai(tl.tensor([float(x) for x in arguments], dtype=tl.float64)).tolist()
    with mp.workdps(40):
        errors = [
            units(y, mp.airyai(mp.mpf(float(x))), airy_size(mp.mpf(float(x))))
            for x, y in zip(arguments, got, strict=True)
        ]
    assert max(errors) <= 5


def gamma_arguments():
    """Shapes of all sizes, arguments around them and far away."""
    rng = np.random.default_rng(3)
    for shape in 10 ** rng.uniform(-3, 4, 150):
        yield shape, float(rng.gamma(shape)) if rng.random() < 0.5 else shape * 10 ** rng.uniform(-1.5, 1.5)


def test_incomplete_gamma_functions_lose_only_what_their_exponent_loses():
    """The bound grows with the logarithm of x^a exp(-x) / gamma(a + 1): it is rounded before exp takes it."""
    with mp.workdps(60):
        for a, x in gamma_arguments():
            shape, at = mp.mpf(a), mp.mpf(x)
            exponent = abs(shape * mp.log(at) - at - mp.loggamma(shape + 1))
            if x < 1e-290 or exponent > 690:
                continue
            for function, ends in ((tl.igamma, (0, at)), (tl.igammac, (at, mp.inf))):
                got = float(function(tl.tensor(a, dtype=tl.float64), tl.tensor(x, dtype=tl.float64)))
                want = mp.gammainc(shape, *ends, regularized=True)
                assert units(got, want, abs(want) * (1 + exponent)) <= 16, (function, a, x)


@pytest.mark.parametrize(
    ("a", "x", "lower"),
    [
        (0.0, 2.0, 1.0), (2.0, 0.0, 0.0), (2.0, math.inf, 1.0), (math.inf, 2.0, 0.0), (0.0, 0.0, math.nan),
        (math.inf, math.inf, math.nan), (-1.0, 2.0, math.nan), (2.0, -1.0, math.nan), (math.nan, 1.0, math.nan),
    ],
)  # fmt: skip
def test_incomplete_gamma_functions_at_the_ends(a, x, lower):
    args = tl.tensor(a, dtype=tl.float64), tl.tensor(x, dtype=tl.float64)
    got = float(tl.igamma(*args)), float(tl.igammac(*args))
    np.testing.assert_equal(got, (lower, 1 - lower))


def test_ends_of_the_bessel_and_airy_functions():
    ends = tl.tensor([-math.inf, -1.0, 0.0, math.inf, math.nan], dtype=tl.float64)
    inf, nan = math.inf, math.nan
    for name, wanted in (
        ("modified_bessel_k0", [nan, nan, inf, 0, nan]), ("scaled_modified_bessel_k1", [nan, nan, inf, 0, nan]),
        ("modified_bessel_i0", [inf, None, 1, inf, nan]), ("modified_bessel_i1", [-inf, None, 0, inf, nan]),
        ("airy_ai", [0, None, None, 0, nan]), ("spherical_bessel_j0", [0, None, 1, 0, nan]),
    ):  # fmt: skip
        got = getattr(special, name)(ends).tolist()
        kept = [(y, want) for y, want in zip(got, wanted, strict=True) if want is not None]
        np.testing.assert_equal(*zip(*kept, strict=True))


# ---- polynomials -------------------------------------------------------------------------------------------


def laguerre(n, x):
    """DLMF 18.5.12 with order 0: mpmath's own stops at zeros."""
    return sum(mp.binomial(n, k) * (-x) ** k / mp.factorial(k) for k in range(n + 1))


KINDS = {"chebyshev_polynomial_t": mp.chebyt, "chebyshev_polynomial_u": mp.chebyu,
         "hermite_polynomial_h": mp.hermite, "laguerre_polynomial_l": laguerre,
         "legendre_polynomial_p": mp.legendre}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("degree", [0, 1, 2, 7, 8, 63, 64, 200])
def test_polynomials(name, degree):
    arguments = [-1.5, -1.0, -0.9999, -0.3, 0.0, 0.4, 0.99, 1.0, 1.25]
    got = getattr(special, name)(tl.tensor(arguments, dtype=tl.float64), degree).tolist()
    with mp.workdps(60):
        wanted = [float(KINDS[name](degree, mp.mpf(x))) for x in arguments]
    np.testing.assert_allclose(got, wanted, rtol=4e-13 * (degree + 1), atol=4e-16 * (degree + 1) ** 2)


@pytest.mark.parametrize("x", [-3.0, -1.0, -0.99, 0.2, 1.0, 1.1])
@pytest.mark.parametrize("degree", [0, 1, 5, 9, 70])
def test_the_third_and_fourth_kind_are_differences_and_sums_of_the_second(x, degree):
    at = tl.tensor(x, dtype=tl.float64)
    second = (
        float(special.chebyshev_polynomial_u(at, degree)),
        float(special.chebyshev_polynomial_u(at, degree - 1)),
    )
    third, fourth = special.chebyshev_polynomial_v(at, degree), special.chebyshev_polynomial_w(at, degree)
    np.testing.assert_allclose(float(third), second[0] - second[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(float(fourth), second[0] + second[1], rtol=1e-12, atol=1e-12)


def test_degrees_are_rounded_towards_zero_and_negative_ones_give_zero():
    degrees = tl.tensor([-2.0, -0.7, 2.7, math.nan, math.inf])
    assert special.chebyshev_polynomial_t(0.5, degrees).tolist() == [0, 1, -0.5, 0, 0]
    assert math.isnan(float(special.hermite_polynomial_h(tl.tensor(0.5), 513)))
    assert special.legendre_polynomial_p(tl.tensor([1, 2]), tl.tensor([2, 3])).tolist() == [1.0, 17.0]


# ---- refusals ----------------------------------------------------------------------------------------------


def test_refusals():
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        tl.igamma(tl.tensor([1]), tl.tensor([2]))
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        special.airy_ai(tl.tensor([1j]))
    with pytest.raises(TypeError):
        special.chebyshev_polynomial_t(2, 2)
    with pytest.raises(TypeError):
        special.gammainc(tl.ones(1), 2)
