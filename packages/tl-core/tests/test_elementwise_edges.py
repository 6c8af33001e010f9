"""What the generated row tests do not draw: infinities, NaN, zeros' signs, errors, and other forms."""

import math

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")
special = pytest.importorskip("scipy.special", reason="the references are scipy's")

import tl_core as tl  # noqa: E402
import tl_core.functions.nn  # noqa: E402

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, -1e30, math.inf, -math.inf, math.nan, 3.0, 40.0, -40.0]
UNARY = {
    "exp2": np.exp2, "log2": np.log2, "log10": np.log10, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erfc": special.erfc, "erfinv": special.erfinv,
    "trunc": np.trunc, "round": np.round, "isfinite": np.isfinite, "isinf": np.isinf, "isposinf": np.isposinf,
    "isneginf": np.isneginf, "signbit": np.signbit, "logit": special.logit,
    # I0 grows without bound; scipy says nan at infinity.
    "i0": lambda x: np.where(np.isinf(x), x.dtype.type(math.inf), special.i0(x)),
    "deg2rad": np.deg2rad, "rad2deg": np.rad2deg, "angle": lambda x: np.angle(x + 0.0),
}  # fmt: skip
BINARY = {
    "fmod": np.fmod, "fmax": np.fmax, "fmin": np.fmin, "copysign": np.copysign, "heaviside": np.heaviside,
    "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2, "hypot": np.hypot, "nextafter": np.nextafter,
    "xlogy": special.xlogy,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_edges_of_functions_of_one_number(name, dtype):
    x = np.array(EDGES * 3, dtype=dtype)
    with np.errstate(all="ignore"):
        want = UNARY[name](x)
    result = getattr(tl, name)(tl.from_numpy(x)).numpy()
    np.testing.assert_allclose(result, want, rtol=2e-6 if dtype == "float32" else 1e-14)
    zero = want == 0
    if name not in ("angle", "round", "erfinv"):
        np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_edges_of_functions_of_two_numbers(name, dtype):
    x, y = np.array([(a, b) for a in EDGES for b in EDGES], dtype=dtype).T.copy()
    with np.errstate(all="ignore"):
        want = BINARY[name](x, y)
    if name == "heaviside":
        want = np.where(np.isnan(x), 0, want)  # the reference answers 0 for NaN
    result = getattr(tl, name)(tl.from_numpy(x), tl.from_numpy(y)).numpy()
    np.testing.assert_allclose(result, want, rtol=2e-6 if dtype == "float32" else 1e-14)


def test_float_remainders_are_exact():
    rng = np.random.default_rng(1)
    x = (rng.normal(size=20000) * 10.0 ** rng.uniform(-20, 20, 20000)).astype(np.float32)
    y = (rng.normal(size=20000) * 10.0 ** rng.uniform(-20, 20, 20000)).astype(np.float32)
    np.testing.assert_array_equal(tl.fmod(tl.from_numpy(x), tl.from_numpy(y)).numpy(), np.fmod(x, y))


@pytest.mark.parametrize(("name", "reference"), [("digamma", special.digamma), ("lgamma", special.gammaln)])
def test_gamma_functions_below_zero_and_at_poles(name, reference):
    x = np.array([-0.5, -2.25, -7.9, 1e-10, -1e-10, 170.0, 1e10])
    np.testing.assert_allclose(getattr(tl, name)(tl.from_numpy(x)).numpy(), reference(x), rtol=1e-12)
    assert tl.digamma(tl.tensor([0.0, -0.0])).tolist() == [-math.inf, math.inf]
    assert math.isnan(tl.digamma(tl.tensor(-3.0)).item())


def test_integers_divide_shift_and_wrap():
    big = tl.tensor([-(2**63), 2**62, 12, -18])
    assert tl.gcd(big, tl.tensor([6, 2**40, -18, 0])).tolist() == [2, 2**40, 6, 18]
    assert tl.lcm(tl.tensor([4, 0, -6]), tl.tensor([6, 5, 4])).tolist() == [12, 0, 12]
    assert tl.gcd(tl.tensor([-128], dtype=tl.int8), tl.tensor([0], dtype=tl.int8)).tolist() == [-128]
    x = tl.tensor([1, -8], dtype=tl.int32)
    assert (x << 3).tolist() == [8, -64]
    assert (x << 32).tolist() == [0, 0]
    assert (x << -1).tolist() == [0, 0]
    assert (x >> 40).tolist() == [0, -1]
    assert (2 << tl.tensor([1, 2])).tolist() == [4, 8]
    assert (tl.tensor([2**63], dtype=tl.uint64) >> 62).tolist() == [2]
    y = tl.tensor([3])
    y <<= 2
    y >>= 1
    assert y.tolist() == [6]
    with pytest.raises(NotImplementedError, match=r"\"bitwise_left_shift_cpu\" not implemented for 'Float'"):
        tl.tensor([1.0]) << 1
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        tl.fmod(tl.tensor([1]), 0)


def test_nan_to_num_fills_in_the_types_limits():
    x = [math.nan, math.inf, -math.inf, 1.5]
    assert tl.nan_to_num(tl.tensor(x, dtype=tl.float16)).tolist() == [0, 65504, -65504, 1.5]
    assert tl.nan_to_num(tl.tensor(x), 2, 3.0, -4).tolist() == [2, 3, -4, 1.5]
    assert tl.nan_to_num(tl.tensor([complex(math.nan, math.inf)]), posinf=7).tolist() == [7j]
    assert tl.nan_to_num(tl.tensor([True])).tolist() == [True]
    assert tl.nan_to_num(tl.tensor([3], dtype=tl.uint8)).tolist() == [3]


def test_rounding_to_decimals():
    x = tl.tensor([1.2345, -2.5, 1250.0], dtype=tl.float64)
    assert tl.round(x, decimals=2).tolist() == [1.23, -2.5, 1250]
    assert tl.round(x, decimals=-2).tolist() == [0, 0, 1200]
    assert x.round_(decimals=1).tolist() == [1.2, -2.5, 1250]
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        tl.round(tl.tensor([1]), decimals=1)


def test_frexp_gives_mantissa_and_exponent():
    mantissa, exponent = tl.frexp(tl.tensor([6.0, 0.0, -0.1, math.inf]))
    assert mantissa.tolist()[:2] == [0.75, 0.0]
    assert exponent.dtype is tl.int32
    assert exponent.tolist()[:3] == [3, 0, -3]
    assert tl.frexp(tl.tensor([6.0])).mantissa.item() == 0.75
    with pytest.raises(RuntimeError, match="only supports floating-point dtypes"):
        tl.frexp(tl.tensor([1]))


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16])
def test_nextafter_steps_through_half_formats(dtype):
    x = tl.tensor([1.0, -1.0, 0.0, -0.0, math.inf, 2.0], dtype=dtype)
    up = tl.nextafter(x, tl.full((6,), math.inf, dtype=dtype)).view(tl.int16)
    assert (up - x.view(tl.int16)).tolist()[:2] == [1, -1]
    assert up.tolist()[2:4] == [1, 1]
    assert tl.nextafter(x, x).view(tl.int16).tolist() == x.view(tl.int16).tolist()
    assert tl.nextafter(x, -x).view(tl.int16).tolist()[5] == x.view(tl.int16).tolist()[5] - 1


def test_closeness():
    a = tl.tensor([1.0, math.inf, math.nan, 0.0])
    b = tl.tensor([1.000001, math.inf, math.nan, 1e-9])
    assert tl.isclose(a, b).tolist() == [True, True, False, True]
    assert tl.isclose(a, b, equal_nan=True).tolist() == [True] * 4
    assert tl.isclose(a, b, rtol=0, atol=0).tolist() == [False, True, False, False]
    assert not tl.allclose(a, b)
    assert a.allclose(b, equal_nan=True)
    assert tl.isclose(tl.tensor([10**15]), tl.tensor([10**15 + 1])).tolist() == [True]
    assert tl.equal(tl.tensor([1]), tl.tensor([1.0]))
    assert not tl.equal(tl.zeros(2), tl.zeros(1, 2))
    with pytest.raises(RuntimeError, match="Long did not match Float"):
        tl.isclose(tl.tensor([1]), tl.tensor([1.0]))
    with pytest.raises(RuntimeError, match="rtol must be greater than or equal to zero"):
        tl.isclose(a, b, rtol=-1)
    assert tl.isreal(tl.tensor([1 + 0j, 1j])).tolist() == [True, False]
    assert tl.isreal(tl.tensor([1])).tolist() == [True]


def test_complex_numbers_from_their_parts():
    re, im = tl.tensor([1.0, -2.0]), tl.tensor([0.5, 4.0])
    z = tl.complex(re, im)
    assert z.dtype is tl.complex64
    assert z.tolist() == [1 + 0.5j, -2 + 4j]
    np.testing.assert_allclose(tl.polar(z.abs(), z.angle()).numpy(), z.numpy(), rtol=1e-6)
    out = tl.empty(0, dtype=tl.complex64)
    assert tl.complex(re, im, out=out) is out
    with pytest.raises(
        RuntimeError, match="Expected both inputs to be Half, Float or Double tensors but got Long and Long"
    ):
        tl.complex(tl.tensor([1]), tl.tensor([1]))
    with pytest.raises(
        RuntimeError,
        match="Expected object of scalar type Float but got scalar type Double for second argument",
    ):
        tl.complex(re, im.double())


def test_powers_in_double_precision():
    assert tl.float_power(tl.tensor([2, 3]), 2).dtype is tl.float64
    assert tl.float_power(2, tl.tensor([2, -1])).tolist() == [4.0, 0.5]
    assert tl.float_power(tl.tensor([1j]), 2).dtype is tl.complex128
    x = tl.tensor([2.0], dtype=tl.float64)
    assert x.float_power_(3) is x
    assert x.item() == 8
    with pytest.raises(
        RuntimeError,
        match="the base given to float_power_ has dtype Long but the operation's result requires dtype Double",
    ):
        tl.tensor([2]).float_power_(2)
    with pytest.raises(RuntimeError, match="the output given to float_power has dtype Float"):
        tl.float_power(tl.tensor([2]), 2, out=tl.empty(1))


def test_other_forms_of_arithmetic():
    x = tl.tensor([1, 2])
    assert tl.rsub(x, 5, alpha=2).tolist() == [3, 1]
    assert x.rsub(x).tolist() == [0, 0]
    assert tl.ldexp(tl.tensor([1.5]), tl.tensor([3])).tolist() == [12.0]
    assert tl.mvlgamma(tl.tensor([3.0]), 2).item() == pytest.approx(special.multigammaln(3.0, 2), rel=1e-6)
    assert tl.polygamma(2, tl.tensor([1.5])).item() == pytest.approx(special.polygamma(2, 1.5), rel=1e-6)
    assert tl.positive(x) is x or tl.equal(tl.positive(x), x)
    for wrong, message in (
        (lambda: tl.positive(tl.tensor([True])), r"The `\+` operator, on a bool tensor"),
        (lambda: tl.deg2rad(tl.tensor([1j])), "deg2rad is not supported for complex tensors"),
        (lambda: tl.polygamma(-1, tl.tensor([1.0])), "does not support negative n"),
        (lambda: tl.mvlgamma(tl.tensor([1.0]), 0), "p has to be greater than or equal to 1"),
        (lambda: tl.heaviside(tl.tensor([1]), tl.tensor([1.0])), "tensors with different dtypes"),
        (lambda: tl.rsub(tl.tensor([True]), tl.tensor([True])), "with two bool tensors is not supported"),
    ):
        with pytest.raises(RuntimeError, match=message):
            wrong()


def test_complex_infinities_add_as_logarithms():
    z = tl.tensor([complex(-math.inf, 0), 1 + 2j])
    assert tl.logaddexp(z, z[1].expand(2)).tolist()[0] == 1 + 2j
    assert tl.logaddexp(z, tl.tensor(complex(-np.inf, np.nan))).isnan().all()


# ---- activation functions --------------------------------------------------------------------------------------------
def test_activations_at_their_bounds():
    nn = tl.nn_functions
    x = tl.tensor([-4.0, -3.0, -1.0, 0.0, 3.0, 100.0, -math.inf, math.nan])
    assert nn.hardtanh(x).tolist()[:6] == [-1, -1, -1, 0, 1, 1]
    assert nn.hardsigmoid(x).tolist()[:2] == [0, 0]
    assert nn.hardswish(x).tolist()[4:6] == [3, 100]
    assert nn.softplus(x).tolist()[5] == 100
    assert nn.silu(tl.tensor([200.0])).item() == 200
    assert nn.mish(tl.tensor([200.0, -200.0])).tolist() == [200, 0]
    assert nn.log_sigmoid(tl.tensor([-1000.0, 1000.0])).tolist() == [-1000, 0]
    assert nn.elu(tl.tensor([-math.inf, math.inf])).tolist() == [-1, math.inf]
    assert tl.hardshrink(tl.tensor([0.5, -0.6])).tolist() == pytest.approx([0, -0.6])
    assert tl.threshold(tl.tensor([1, 5]), 1, 20).tolist() == [20, 5]
    for name in (
        "hardtanh",
        "hardsigmoid",
        "hardswish",
        "silu",
        "softplus",
        "elu",
        "leaky_relu",
        "gelu",
        "mish",
        "log_sigmoid",
    ):
        assert math.isnan(getattr(nn, name)(x).tolist()[-1]), name


def test_gelu_names_its_approximation():
    x = tl.linspace(-3, 3, 50, dtype=tl.float64)
    want = x.numpy() * special.ndtr(x.numpy())
    np.testing.assert_allclose(tl.nn_functions.gelu(x).numpy(), want, atol=1e-15)
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
        tl.nn_functions.gelu(x, approximate="sin")


def test_gelu_of_every_bfloat16():
    x = tl.tensor(np.arange(65536, dtype=np.uint16).view(np.int16)).view(tl.bfloat16)
    x = x[tl.isfinite(x) & (x.abs() > 1e-30)]
    exact = x.double().numpy() * special.ndtr(x.double().numpy())
    records = tl.nn_functions.gelu(x).double().numpy()
    shown = np.abs(exact) > 1e-37  # what is smaller has fewer bits
    assert (np.abs(records - exact)[shown] <= np.abs(exact)[shown] * 2.0**-8).all()
    assert (np.abs(records)[~shown] <= 1e-37).all()


def test_rrelu_of_negative_elements():
    x = tl.tensor([-1.0] * 1000 + [2.0] * 1000)
    y = tl.rrelu(x, 0.25, 0.5, True)
    assert tl.equal(y[1000:], x[1000:])
    assert -0.5 <= y[:1000].min().item() < -0.49
    assert -0.26 < y[:1000].max().item() <= -0.25
    assert tl.rrelu(x, 0.25, 0.5)[0].item() == -0.375


def test_prelu_checks_its_weight():
    x = tl.ones(2, 3)
    for weight, message in (
        (tl.ones(2), "Mismatch of parameter numbers and input channel size"),
        (tl.ones(1, 3), "Expected `weight` to be a scalar or 1D tensor, but got: ndim = 2"),
        (tl.ones(3, dtype=tl.float64), "Type promoting not supported. Got Float and Double"),
    ):
        with pytest.raises(RuntimeError, match=message):
            tl.prelu(x, weight)


# ---- integers beyond int64 -------------------------------------------------------------------------------------------
def test_integers_beyond_int64_fit_uint64_only():
    big = 2**63
    assert tl.full((1,), big, dtype=tl.uint64).tolist() == [big]
    assert tl.tensor(big, dtype=tl.uint64).item() == big
    assert tl.full((1,), big, dtype=tl.float64).item() == 2.0**63
    assert (tl.tensor([1.0], dtype=tl.float64) + big).item() == 2.0**63
    assert (tl.tensor([1], dtype=tl.uint64) + big).item() == big + 1
    assert tl.zeros(1, dtype=tl.uint64).fill_(big).item() == big
    assert (tl.tensor([big], dtype=tl.uint64) == big).item()
    with pytest.raises(RuntimeError, match="cannot be converted to type int64_t without overflow"):
        tl.full((1,), big)
    with pytest.raises(RuntimeError, match="cannot be converted to type int64_t without overflow"):
        tl.tensor([1]).clamp(max=big)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        tl.tensor(big)
    with pytest.raises(OverflowError):
        tl.tensor([1.0]) + 2**64


FLOATS = {
    "exp": 1.1, "log": 1.1, "log2": 1.6, "log10": 2.0, "log1p": 1.1, "sin": 1.1, "cos": 1.1, "tan": 2.3,
    "asin": 1.4, "acos": 1.4, "atan": 1.4, "tanh": 2.6, "sqrt": 0.51, "rsqrt": 1.6,
    "erfc": 4.6, "erfinv": 2.6,
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_close_in_ulps(name):
    rng = np.random.default_rng(2)
    turns = np.arange(1, 20_000) * (math.pi / 2)
    samples = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    near = np.concatenate([rng.uniform(-10, 10, 50_000), rng.uniform(-1, 1, 50_000), turns])
    x = np.concatenate([samples, near.astype(np.float32)])
    functions = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "erfc": special.erfc,
                 "erfinv": special.erfinv, "rsqrt": lambda x: 1 / np.sqrt(x)}  # fmt: skip
    with np.errstate(all="ignore"):
        want = functions.get(name, getattr(np, name, None))(x.astype(np.float64))
        result = getattr(tl, name)(tl.from_numpy(x)).numpy()
        rounded = want.astype(np.float32)
        units = np.abs(result - want) / np.spacing(np.abs(rounded))
    finite = np.isfinite(rounded)
    assert units[finite].max() <= FLOATS[name]
    np.testing.assert_array_equal(result[~finite], rounded[~finite])


@pytest.mark.parametrize("power", [lambda x, y: x**y, tl.float_power, lambda x, y: x.clone().pow_(y)])
def test_numbers_that_ask_for_a_root_take_it(power):
    x = tl.tensor([4.0, 0.0, -0.0, math.inf, -math.inf, -1.0], dtype=tl.float64)
    root = power(x, 0.5).numpy()
    np.testing.assert_array_equal(root, [2, 0, -0.0, math.inf, math.nan, math.nan])
    assert np.signbit(root).tolist()[1:3] == [False, True]
    np.testing.assert_array_equal(power(x, -0.5).numpy(), [0.5, math.inf, -math.inf, 0, math.nan, math.nan])
    exponent = tl.tensor([0.5], dtype=tl.float64)
    np.testing.assert_array_equal(power(x, exponent).numpy(), [2, 0, 0, math.inf, math.inf, math.nan])


def test_integers_to_the_power_of_a_half():
    assert (tl.tensor([4, 9]) ** 0.5).tolist() == [2.0, 3.0]
    assert (tl.tensor([4, 16]) ** -0.5).tolist() == [0.5, 0.25]


def test_logarithms_of_powers_of_ten_are_whole():
    powers = np.arange(-37, 39)
    assert tl.log10(tl.from_numpy(np.power(10.0, powers).astype(np.float32))).tolist() == powers.tolist()


def test_results_beyond_the_caches():
    n = 9_000_003
    x = np.arange(n, dtype=np.float32)
    a = tl.from_numpy(x)
    np.testing.assert_array_equal((a + 1).numpy(), x + 1)
    np.testing.assert_array_equal((a * a).numpy(), x * x)
    np.testing.assert_array_equal(a.clone().numpy(), x)
    assert (a > 7).sum().item() == n - 8
    tail = tl.zeros(n + 1)[1:]
    tail.fill_(3)
    assert (tail == 3).all()
    wide = a.view(-1, 3)
    np.testing.assert_array_equal(
        (wide + tl.tensor([1.0, 2.0, 3.0])).numpy(), wide.numpy() + np.float32([1, 2, 3])
    )


@pytest.mark.parametrize("power", [lambda x: x**-1, lambda x: x.pow_(-2), lambda x: tl.pow(x, -1)])
@pytest.mark.parametrize("dtype", [tl.int64, tl.uint8, tl.bool])
def test_an_integer_has_no_negative_power(power, dtype):
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        power(tl.ones(2, dtype=dtype))


def test_other_negative_powers():
    assert (tl.tensor([2, 4]) ** -1.0).tolist() == [0.5, 0.25]
    assert (tl.tensor([2.0, 4.0]) ** -1).tolist() == [0.5, 0.25]
    assert tl.pow(2, tl.tensor([-1, 0, 1])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["floor_divide_", "remainder_", "fmod_"])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_an_integer_division_by_zero_is_refused_before_anything_is_written(name, dtype):
    x = tl.tensor([7, 8, 9], dtype=getattr(tl, dtype))
    for divisor in (
        tl.tensor([1, 0, 2], dtype=x.dtype),
        tl.tensor([[2, 1], [1, 0], [1, 1]], dtype=x.dtype)[:, 1],
        0,
    ):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            getattr(x, name)(divisor)
        assert x.tolist() == [7, 8, 9]


def test_zero_divisors_of_an_empty_result_are_not_looked_at():
    empty = tl.ones((0, 3), dtype=tl.int64)
    assert (empty // tl.zeros(3, dtype=tl.int64)).shape == (0, 3)
    assert (empty // 0).shape == (0, 3)


@pytest.mark.parametrize(
    "dtype", [tl.float32, tl.float64, tl.float16, tl.bfloat16, tl.complex64, tl.int16, tl.bool]
)
@pytest.mark.parametrize("at", [0, 63, 64, 5000, 199_999])
def test_equal_finds_the_one_that_differs(dtype, at):
    x = (tl.arange(200_000) % 2).to(dtype)
    y = x.clone()
    assert tl.equal(x, y)
    y[at] = 1 - int(at % 2)
    assert not tl.equal(x, y)
    assert tl.equal(x[::2], y[::2]) is (at % 2 == 1)
    if dtype.is_floating_point or dtype.is_complex:
        y[at] = x[at]
        y[0] = -0.0
        assert tl.equal(x, y)
        y[at] = tl.nan
        assert not tl.equal(y, y)
    empty = tl.empty(0, dtype=dtype)
    assert tl.equal(empty, empty)


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 4100])
def test_all_and_any_of_floats(dtype, n):
    ones, none = tl.ones(n, dtype=dtype), tl.zeros(n, dtype=dtype)
    assert tl.all(ones) and not tl.any(none) and not tl.any(-none)
    for at in {0, n // 2, n - 1}:
        one, zero = none.clone(), ones.clone()
        one[at], zero[at] = tl.nan, -0.0
        assert tl.any(one) and not tl.all(zero)
