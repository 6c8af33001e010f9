"""Elementary functions of float64: their errors in units in the last place, and their values at the ends."""

import math

import pytest

import tl_core as tl

numpy = pytest.importorskip("numpy", reason="longdouble of NumPy is the reference")
if numpy.finfo(numpy.longdouble).nmant < 63:
    pytest.skip("longdouble is no wider than float64 here", allow_module_level=True)

# The bound, and the intervals of the arguments; of `small`, powers of two below 1.
FUNCTIONS = {
    "sin": (1, [(-100, 100), (-4e6, 4e6)]), "cos": (1, [(-100, 100), (-4e6, 4e6)]),
    "tan": (2.5, [(-100, 100), (-4e6, 4e6)]),
    "asin": (1, [(-1, 1)]), "acos": (1, [(-1, 1)]), "atan": (1, [(-4, 4), (-1e9, 1e9)]),
    "sinh": (2.5, [(-3, 3), (-710, 710)]), "cosh": (2.5, [(-3, 3), (-710, 710)]),
    "exp2": (1.5, [(-3, 3), (-1000, 1000)]), "expm1": (2.5, [(-2, 2), (-40, 709)]),
    "log1p": (1, [(-0.999, 2), (0, 1e10)]), "log2": (1.5, [(0.01, 4), (0, 1e300)]),
    "log10": (1.5, [(0.01, 4), (0, 1e300)]), "atanh": (2.5, [(-0.999, 0.999)]),
}  # fmt: skip
NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atanh": "arctanh"}
SMALL = ("sin", "tan", "asin", "atan", "sinh", "expm1", "log1p", "atanh")
EDGES = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1.7976931348623157e308,
         -1.7976931348623157e308, 1e-20, -1e-20, 0.5, -0.5, 710.1, -710.1, 750.0, -750.0, 1e22, 4194304.5,
         1.0000000000000002, 0.9999999999999999, 2.0, 1000.0, -745.2, -1080.0]  # fmt: skip


def errors(result, exact):
    """How many units in the last place apart: the unit is that of the exact value as a float64."""
    unit = numpy.spacing(numpy.abs(exact.astype(numpy.float64)))
    return numpy.abs(result.astype(numpy.longdouble) - exact) / unit


def draw(low, high, n=4001):
    return numpy.random.default_rng(0).uniform(low, high, n)


def exact(name, x):
    return getattr(numpy, NUMPY_NAMES.get(name, name))(x.astype(numpy.longdouble))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name):
    bound, intervals = FUNCTIONS[name]
    for low, high in intervals:
        x = draw(low, high)
        result = getattr(tl, name)(tl.from_numpy(x)).numpy()
        assert errors(result, exact(name, x)).max() <= bound, (low, high)


@pytest.mark.parametrize("name", SMALL)
def test_errors_of_small_numbers(name):
    x = numpy.exp2(draw(-60, -1)) * numpy.resize([1, -1], 4001)
    result = getattr(tl, name)(tl.from_numpy(x)).numpy()
    assert errors(result, exact(name, x)).max() <= FUNCTIONS[name][0]


@pytest.mark.parametrize("bounds", [(0, 10, -300, 300), (0.9, 1.1, -5000, 5000), (0, 100, 0, 3)])
def test_errors_of_powers(bounds):
    x, y = draw(*bounds[:2]), draw(*bounds[2:])[::-1].copy()
    with numpy.errstate(over="ignore"):
        want = numpy.power(x.astype(numpy.longdouble), y.astype(numpy.longdouble))
    inside = (want > 1e-300) & (want < 1e300)
    result = tl.pow(tl.from_numpy(x), tl.from_numpy(y)).numpy()
    assert errors(result[inside], want[inside]).max() <= 1.5 and inside.sum() > 1000


def test_errors_of_angles():
    y, x = draw(-5, 5), draw(-3, 3)[::-1].copy()
    scales = numpy.exp2(numpy.round(draw(-300, 300)))
    want = numpy.arctan2(y.astype(numpy.longdouble), x.astype(numpy.longdouble))
    result = tl.atan2(tl.from_numpy(y * scales), tl.from_numpy(x * scales)).numpy()
    assert errors(result, want).max() <= 1


@pytest.mark.parametrize("divisors", [(0.1, 5), (-7, -1e-3), (1e-9, 1e-6)])
def test_remainders_are_exact(divisors):
    x, y = draw(-1e6, 1e6), draw(*divisors)[::-1].copy()
    want = [math.fmod(a, b) for a, b in zip(x, y, strict=True)]
    assert tl.fmod(tl.from_numpy(x), tl.from_numpy(y)).tolist() == want


def error_function(name, x):
    return numpy.array([getattr(math, name)(v) for v in x])


@pytest.mark.parametrize(("name", "low", "high", "bound"), [("erf", -4, 4, 3), ("erfc", -3, 26, 5.5)])
def test_errors_of_error_functions(name, low, high, bound):
    """The C library's functions are about a unit off themselves."""
    x = draw(low, high)
    result = getattr(tl, name)(tl.from_numpy(x)).numpy()
    assert errors(result, error_function(name, x).astype(numpy.longdouble)).max() <= bound


def test_the_inverse_error_function_inverts():
    x = numpy.concatenate([draw(-1, 1), 1 - numpy.exp2(draw(-50, -1)), [-1.0, 1.0, 0.0]])
    y = tl.erfinv(tl.from_numpy(x)).numpy()
    back = error_function("erf", y)
    assert numpy.allclose(back, x, rtol=4e-16 * 4, atol=0)
    tail = numpy.abs(y[(x > 0.9) & (x < 1)])
    assert numpy.allclose(error_function("erfc", tail), 1 - x[(x > 0.9) & (x < 1)], rtol=1e-13)
    assert y[-3] == -math.inf and y[-2] == math.inf and math.isnan(tl.erfinv(tl.tensor(1.5).double()).item())


@pytest.mark.parametrize("base", [2, 10])
def test_powers_of_the_base_have_whole_logarithms(base):
    full = range(23)
    powers = tl.tensor([float(base**n) for n in full], dtype=tl.float64)
    assert getattr(tl, f"log{base}")(powers).tolist() == [float(n) for n in full]


def at_edge(name, x):
    try:
        return getattr(math, name)(x)
    except ValueError:
        ends = {"log1p": -1, "log2": 0, "log10": 0}
        if name == "atanh" and abs(x) == 1:
            return math.copysign(math.inf, x)
        return -math.inf if x == ends.get(name) else math.nan
    except OverflowError:
        return math.copysign(math.inf, x) if name == "sinh" else math.inf


@pytest.mark.parametrize("name", [*FUNCTIONS, "erf", "erfc"])
def test_ends_of_the_range(name):
    results = getattr(tl, name)(tl.tensor(EDGES, dtype=tl.float64)).tolist()
    for x, result in zip(EDGES, results, strict=True):
        want = at_edge(name, x)
        if math.isnan(want):
            assert math.isnan(result), x
        elif want == 0 or math.isinf(want):
            assert (result, math.copysign(1, result)) == (want, math.copysign(1, want)), x
        else:
            assert math.isclose(result, want, rel_tol=1e-15, abs_tol=5e-324), x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_does_not_depend_on_its_neighbours(name):
    together = getattr(tl, name)(tl.tensor(EDGES, dtype=tl.float64))
    alone = tl.stack([getattr(tl, name)(x) for x in tl.tensor(EDGES, dtype=tl.float64)])
    assert together.view(tl.int64).tolist() == alone.view(tl.int64).tolist()


def test_sinc_at_and_about_whole_numbers():
    x = tl.tensor([0.0, 1.0, -3.0, 2.0**60, 0.5, -2.5, 1e5 + 0.25, 3 + 1e-9], dtype=tl.float64)
    want = [1.0, 0, 0, 0, 2 / math.pi, 2 / (5 * math.pi), math.sin(math.pi / 4) / (math.pi * (1e5 + 0.25)),
            -math.sin(math.pi * (float(x[7]) - 3)) / (math.pi * float(x[7]))]  # fmt: skip
    assert tl.allclose(tl.sinc(x), tl.tensor(want, dtype=tl.float64), rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", [tl.float32])
def test_angles_of_large_floats(dtype):
    x = numpy.exp2(draw(5, 127)).astype(numpy.float32)
    want = numpy.sin(x.astype(numpy.longdouble))  # glibc reduces by as many digits as it takes
    result = tl.sin(tl.from_numpy(x)).numpy().astype(numpy.longdouble)
    assert (numpy.abs(result - want) / numpy.spacing(numpy.abs(want).astype(numpy.float32))).max() <= 1
