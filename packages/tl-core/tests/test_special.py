"""Special functions in double precision against mpmath: units in the last place, at difficult arguments too."""

import math
import os

import pytest

import tl_core as tl
from tl_core import special

np = pytest.importorskip("numpy", reason="arguments are drawn with numpy")
mp = pytest.importorskip("mpmath", reason="the references are mpmath's")

COUNT = 60 if os.environ.get("TL_HYPOTHESIS_PROFILE", "quick") == "quick" else 2000


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


def log_abs_gamma(x):
    return mp.log(abs(mp.gamma(x)))


def log_multigamma(x):
    return 3 * mp.log(mp.pi) / 2 + sum(mp.loggamma(x - mp.mpf(j) / 2) for j in range(3))


def signs(x):
    """With either sign."""
    return x * np.random.default_rng(5).choice([-1, 1], COUNT)


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
    ("digamma", mp.digamma, [*powers(-5, 4), *between(1.3, 1.6), 1.4616321449683622], 10),
    ("erf", mp.erf, signs(powers(-8, 0.7)), 1.5),
    ("erfc", mp.erfc, between(-5, 26), 4),
    ("erfinv", mp.erfinv, [*between(-1, 1), *1 - powers(-14, -1)], 3),
    ("expit", lambda x: 1 / (1 + mp.exp(-x)), between(-700, 40), 3),
    ("expm1", mp.expm1, signs(powers(-10, 2)), 1.5),
    ("exp2", lambda x: mp.mpf(2) ** x, between(-1000, 1000), 1.5),
    ("log1p", mp.log1p, [*powers(-15, 10), *-powers(-15, -0.01)], 1.5),
    ("entr", lambda x: -x * mp.log(x), powers(-10, 3), 2),
    ("logit", lambda x: mp.log(x / (1 - x)), [*between(0, 1), *powers(-300, -1), *0.5 + signs(powers(-15, -1))], 3),
    ("sinc", lambda x: mp.sinpi(x) / (mp.pi * x), [*between(-20, 20), *powers(-10, 6), 14.992251929344022], 4),
    ("gammaln", log_abs_gamma, powers(-5, 5), 3),
    ("i0", bessel(mp.besseli, 0), between(-700, 700), 5),
    ("i1", bessel(mp.besseli, 1), between(-700, 700), 5),
    ("multigammaln", log_multigamma, 1.5 + powers(-1, 4), 8),
]  # fmt: skip
ORDERS = {"multigammaln": (3,)}


@pytest.mark.parametrize(("name", "reference", "arguments", "bound"), BOUNDS, ids=[b[0] for b in BOUNDS])
def test_errors_stay_below_their_bounds(name, reference, arguments, bound):
    arguments = [float(x) for x in arguments]
    result = getattr(special, name)(tl.tensor(arguments, dtype=tl.float64), *ORDERS.get(name, ())).tolist()
    with mp.workdps(60):
        errors = [units(y, reference(mp.mpf(x))) for x, y in zip(arguments, result, strict=True)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    assert errors[worst] <= bound, f"{name}({arguments[worst]!r})"


# function, reference, arguments, what the error is measured against, bound: about zeros the terms cancel
SIZED = [
    ("digamma", mp.digamma, [*between(-30, 0), *-powers(-3, 5)],
     lambda x: max(1, abs(mp.digamma(1 - x)), abs(mp.pi * mp.cot(mp.pi * x))), 8),
    ("gammaln", log_abs_gamma, between(-30, 0), lambda x: max(1, abs(mp.loggamma(1 - x)), abs(log_abs_gamma(x))), 4),
    ("bessel_j0", lambda x: mp.besselj(0, x), between(-50, 50), lambda x: mp.sqrt(2 / (mp.pi * (1 + abs(x)))), 4),
    ("bessel_j1", lambda x: mp.besselj(1, x), between(-50, 50), lambda x: mp.sqrt(2 / (mp.pi * (1 + abs(x)))), 4),
    ("bessel_y0", lambda x: mp.bessely(0, x), between(0.01, 50), lambda x: abs(mp.hankel1(0, x)), 4),
    ("bessel_y1", lambda x: mp.bessely(1, x), between(0.01, 50), lambda x: abs(mp.hankel1(1, x)), 4),
]  # fmt: skip


@pytest.mark.parametrize("case", SIZED, ids=[c[0] for c in SIZED])
def test_errors_where_terms_cancel(case):
    name, reference, arguments, size, bound = case
    arguments = [float(x) for x in arguments]
    result = getattr(special, name)(tl.tensor(arguments, dtype=tl.float64)).tolist()
    with mp.workdps(40):
        pairs = zip(arguments, result, strict=True)
        errors = [units(y, reference(mp.mpf(x)), size(mp.mpf(x))) for x, y in pairs]
    worst = max(range(len(errors)), key=errors.__getitem__)
    assert errors[worst] <= bound, f"{name}({arguments[worst]!r})"


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_polygamma(order):
    arguments = [float(x) for x in powers(-3, 3)]
    result = tl.polygamma(order, tl.tensor(arguments, dtype=tl.float64)).tolist()
    with mp.workdps(40):
        pairs = zip(arguments, result, strict=True)
        assert max(units(y, mp.polygamma(order, mp.mpf(x))) for x, y in pairs) <= 10


# function of two, reference, arguments, bound in units of the result, to which more is added for each e-fold
PAIRS = [
    ("igamma", lambda a, x: x**a / mp.gamma(a + 1) * mp.hyp1f1(a, a + 1, -x), powers(-10, -1), powers(-10, 0, 1), 8),
    ("igammac", lambda a, x: 1 - x**a / mp.gamma(a + 1) * mp.hyp1f1(a, a + 1, -x), powers(-15, -1),
     powers(-15, 0, 1), 16),
    ("zeta", mp.zeta, 1 + powers(-3, 1.5), powers(-2, 2, 1), 4),
    ("xlogy", lambda x, y: x * mp.log(y), powers(-3, 3), powers(-3, 3, 1), 3),
    ("xlog1py", lambda x, y: x * mp.log1p(y), powers(-3, 3), powers(-8, 3, 1), 3),
]  # fmt: skip


@pytest.mark.parametrize("case", PAIRS, ids=[c[0] for c in PAIRS])
def test_functions_of_two_arguments(case):
    name, reference, x, y, bound = case
    function = getattr(special, name, None) or getattr(tl, name)
    result = function(tl.from_numpy(x), tl.from_numpy(y)).tolist()
    with mp.workdps(60):
        for a, b, value in zip(x.tolist(), y.tolist(), result, strict=True):
            want = reference(mp.mpf(a), mp.mpf(b))
            steep = a if name == "zeta" else 0  # q + n is rounded before it is raised to that power
            assert units(value, want, abs(want) * (1 + steep)) <= bound, (name, a, b)


def test_trigamma():
    arguments = [*powers(-5, 4), *between(0.9, 11), 1.0, 2.0, 10.0, 9.9999999]
    result = tl.polygamma(1, tl.tensor([float(x) for x in arguments], dtype=tl.float64)).tolist()
    with mp.workdps(40):
        assert (
            max(units(y, mp.polygamma(1, mp.mpf(float(x)))) for x, y in zip(arguments, result, strict=True))
            <= 4
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
    result = special.airy_ai(tl.tensor([float(x) for x in arguments], dtype=tl.float64)).tolist()
    with mp.workdps(40):
        errors = [
            units(y, mp.airyai(mp.mpf(float(x))), airy_size(mp.mpf(float(x))))
            for x, y in zip(arguments, result, strict=True)
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
                result = float(function(tl.tensor(a, dtype=tl.float64), tl.tensor(x, dtype=tl.float64)))
                want = mp.gammainc(shape, *ends, regularized=True)
                assert units(result, want, abs(want) * (1 + exponent)) <= 16, (function, a, x)


@pytest.mark.parametrize(
    ("a", "x", "lower"),
    [
        (0.0, 2.0, 1.0), (2.0, 0.0, 0.0), (2.0, math.inf, 1.0), (math.inf, 2.0, 0.0), (0.0, 0.0, math.nan),
        (math.inf, math.inf, math.nan), (-1.0, 2.0, math.nan), (2.0, -1.0, math.nan), (math.nan, 1.0, math.nan),
    ],
)  # fmt: skip
def test_incomplete_gamma_functions_at_the_ends(a, x, lower):
    args = tl.tensor(a, dtype=tl.float64), tl.tensor(x, dtype=tl.float64)
    result = float(tl.igamma(*args)), float(tl.igammac(*args))
    np.testing.assert_equal(result, (lower, 1 - lower))


def test_ends_of_the_bessel_and_airy_functions():
    ends = tl.tensor([-math.inf, -1.0, 0.0, math.inf, math.nan], dtype=tl.float64)
    inf, nan = math.inf, math.nan
    for name, expected in (
        ("modified_bessel_k0", [nan, nan, inf, 0, nan]), ("scaled_modified_bessel_k1", [nan, nan, inf, 0, nan]),
        ("modified_bessel_i0", [inf, None, 1, inf, nan]), ("modified_bessel_i1", [-inf, None, 0, inf, nan]),
        ("airy_ai", [0, None, None, 0, nan]), ("spherical_bessel_j0", [0, None, 1, 0, nan]),
    ):  # fmt: skip
        result = getattr(special, name)(ends).tolist()
        values = [(y, want) for y, want in zip(result, expected, strict=True) if want is not None]
        np.testing.assert_equal(*zip(*values, strict=True))


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
    result = getattr(special, name)(tl.tensor(arguments, dtype=tl.float64), degree).tolist()
    with mp.workdps(60):
        expected = [float(KINDS[name](degree, mp.mpf(x))) for x in arguments]
    np.testing.assert_allclose(result, expected, rtol=4e-13 * (degree + 1), atol=4e-16 * (degree + 1) ** 2)


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


@pytest.mark.parametrize("count", [1, 9])  # numbers and vectors
def test_beyond_the_bounds(count):
    left = tl.tensor([-27.0, -30.0, -1e3, -math.inf] * count, dtype=tl.float64)
    assert (special.erfcx(left) == math.inf).all()
    outside = tl.tensor([-1e-300, -1e-20, 1.0000000000000002, 2.0] * count, dtype=tl.float64)
    assert special.ndtri(outside).isnan().all()
    ends = special.ndtri(tl.tensor([0.0, 1.0] * count, dtype=tl.float64))
    assert ends.tolist() == [-math.inf, math.inf] * count
