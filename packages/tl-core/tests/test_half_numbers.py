"""Halves and numbers: products, quotients and lerp use the last input as it is, if it is a number; any other number
that stands for a tensor is rounded to the tensors' type, as alpha and bounds are; other parameters aren't. All
operators compute in float32 and round once, where PyTorch's kernels of xlogy, logit, huber_loss and some others round
in between.
"""

import pytest

import tl_core as tl
from tl_core import special
from tl_core.functions import nn as nn_functions

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")
import row_cases as r  # noqa: E402

NUMBERS = [0.1, 1 / 3, 3.14159, -257.3, 1e-3]
HALVES = [tl.float16, tl.bfloat16]
rng = np.random.default_rng(0)
X, Y = (rng.uniform(-4, 4, 999).astype(np.float32) for _ in range(2))


def rounded(a, dtype):
    """float32 numbers to the nearest of a half type, halves to even."""
    if dtype is tl.float16:
        return a.astype(np.float16).astype(np.float32)
    bits = a.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def half(a, dtype):
    return tl.from_numpy(rounded(a, dtype).copy()).to(dtype)


def check(got, want, dtype):
    assert got.dtype is dtype
    np.testing.assert_array_equal(got.float().numpy(), rounded(want, dtype))


EXACT = {
    "mul": (lambda x, s: x * s, lambda x, s: x * s),
    "mul from the left": (lambda x, s: s * x, lambda x, s: x * s),
    "mul in place": (lambda x, s: x.clone().mul_(s), lambda x, s: x * s),
    "mul out": (lambda x, s: tl.mul(x, s, out=tl.empty_like(x)), lambda x, s: x * s),
    "mul by a tensor": (lambda x, s: x * tl.tensor(s), lambda x, s: x * s),
    "mul by a wide tensor": (lambda x, s: x * tl.tensor(s, dtype=tl.float64), lambda x, s: x * s),
    "div": (lambda x, s: x / s, lambda x, s: x / s),
    "div in place": (lambda x, s: x.clone().div_(s), lambda x, s: x / s),
    "div trunc": (lambda x, s: tl.div(x, s, rounding_mode="trunc"), lambda x, s: np.trunc(x / s)),
    "foreach": (lambda x, s: tl._foreach_mul([x], s)[0], lambda x, s: x * s),
    "foreach of numbers": (lambda x, s: tl._foreach_div([x], [s])[0], lambda x, s: x / s),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("call", "want"), EXACT.values(), ids=EXACT)
def test_a_number_is_used_as_it_is(call, want, number, dtype):
    x = half(X, dtype)
    check(call(x, number), want(rounded(X, dtype), np.float32(number)), dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("number", NUMBERS)
def test_layouts(number, dtype):
    x = half(X[:990], dtype)
    want = rounded(X[:990], dtype) * np.float32(number)
    check(x[::3] * number, want[::3], dtype)
    check((x.reshape(30, 33).t() * number).t().reshape(-1), want, dtype)
    check(x[5] * number, want[5:6].reshape(()), dtype)
    check((x[:1].expand(7)) * number, np.repeat(want[:1], 7), dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("number", NUMBERS)
def test_alpha_is_of_the_tensors_type(number, dtype):
    x, y = half(X, dtype), half(Y, dtype)
    a, b, s = rounded(X, dtype), rounded(Y, dtype), rounded(np.array([number], np.float32), dtype)
    with np.errstate(over="ignore"):
        check(tl.add(x, y, alpha=number), a + s * b, dtype)
        check(tl.sub(x, y, alpha=number), a - s * b, dtype)
        check(x.clone().add_(y, alpha=number), a + s * b, dtype)
        check(tl._foreach_add([x], [y], alpha=number)[0], a + s * b, dtype)
        check(x + number, a + s, dtype)
        check(x - number, a - s, dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7, 2.3])
def test_lerp(weight, dtype):
    x, y = half(X, dtype), half(Y, dtype)
    a, b, w = rounded(X, dtype), rounded(Y, dtype), np.float32(weight)
    want = a + w * (b - a) if weight < 0.5 else b - (b - a) * (np.float32(1) - w)
    for result in (tl.lerp(x, y, weight), tl._foreach_lerp([x], [y], weight)[0], x.clone().lerp_(y, weight)):
        check(result, want, dtype)


# ---- the sweep: every elementwise row that takes numbers -----------------------------------------------------------

EXACT_LAST = {"mul", "div", "floor_divide", "_div_trunc", "lerp"}
TYPED = {"add": {"alpha"}, "sub": {"alpha"}, "threshold": {"value"}, "hardtanh": {"min_val", "max_val"},
         "hardshrink": {"lambd"}, "_logit": {"low", "high"}}  # fmt: skip
UNLIKE_FLOATS = {"nextafter", "_frexp_exponent", "_frexp_mantissa", "signbit"}  # that see the type itself


def takes_halves(row):
    e = row.elementwise
    return bool(e) and not e.condition and "bfloat16" in e.dtypes and row.base not in UNLIKE_FLOATS


ROWS = [row for row in r.ELEMENTWISE if takes_halves(row) and not row.writes_self]
WITH_OPERANDS = [row for row in ROWS if row.elementwise.inputs > 1]
WITH_PARAMETERS = [row for row in ROWS if any(a.type == "Scalar" for a in row.args[row.elementwise.inputs :])]


def number_for(number, dtype):
    return rounded(np.array([number], np.float32), dtype)[0].item()


def inputs(row, dtype):
    return [
        half(np.abs(X[:99] if i % 2 else Y[:99]) / 8 + 0.125, dtype) for i in range(row.elementwise.inputs)
    ]


def parameters(row, number):
    """Keyword arguments that the rows' order of numbers suits: 0.1, then more."""
    names = [a.name for a in row.args[row.elementwise.inputs :]]
    return {name: number + i for i, name in enumerate(names)}


def call(row, operands, keywords):
    keyword_only = {a.name for a in row.args if a.keyword_only}
    positional = [v for k, v in keywords.items() if k not in keyword_only]
    named = {k: v for k, v in keywords.items() if k in keyword_only}
    return r.call(row.name, *operands, *positional, **named)


def same(got, want, dtype):
    if not want.dtype.is_floating_point:
        return np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert got.dtype is dtype
    np.testing.assert_array_equal(got.float().numpy(), want.to(dtype).float().numpy())
    return None


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("row", WITH_OPERANDS, ids=lambda row: row.name)
def test_operands_of_every_row(row, dtype):
    """Numbers, and tensors without dimensions, in the place of each tensor but one."""
    if not takes(row, dtype):
        pytest.skip("has no such halves")
    keywords = parameters(row, 0.5)
    for at in range(row.elementwise.inputs):
        exact = row.base in EXACT_LAST and (at == row.elementwise.inputs - 1 or row.base == "mul")
        for number in (0.1, 1 / 3, 3.14159):
            plain = inputs(row, dtype)
            wide = [t.float() for t in plain]
            stand_in = number if exact else number_for(number, dtype)
            tensors = [plain[:at], plain[at + 1 :]]
            if row.args[at].type in ("Operand", "Scalar"):
                want = call(row, [*wide[:at], stand_in, *wide[at + 1 :]], keywords)
                same(call(row, [*tensors[0], number, *tensors[1]], keywords), want, dtype)
            if row.args[at].type == "Scalar" or any(
                a.type == "Scalar" for a in row.args[: row.elementwise.inputs]
            ):
                continue
            if row.base == "lerp" and at < 2:  # start and end have one type
                continue
            if row.base == "mul" and at == 0:
                stand_in = number_for(number, dtype)
            want = call(row, [*wide[:at], tl.tensor(stand_in), *wide[at + 1 :]], keywords)
            same(call(row, [*tensors[0], tl.tensor(number), *tensors[1]], keywords), want, dtype)


def takes(row, dtype):
    return str(dtype).removeprefix("torch.") in row.elementwise.dtypes


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("row", WITH_PARAMETERS, ids=lambda row: row.name)
def test_parameters_of_every_row(row, dtype):
    if not takes(row, dtype):
        pytest.skip("has no such halves")
    typed = TYPED.get(row.base, set())
    for number in (0.1, 1 / 3):
        plain = inputs(row, dtype)
        keywords = parameters(row, number)
        wide = {k: number_for(v, dtype) if k in typed else v for k, v in keywords.items()}
        same(call(row, plain, keywords), call(row, [t.float() for t in plain], wide), dtype)


# ---- numbers beyond the range --------------------------------------------------------------------------------------

CHECKED = {
    "add alpha": lambda x, n: tl.add(x, x, alpha=n),
    "rsub alpha": lambda x, n: tl.rsub(x, x, alpha=n),
    "pow": lambda x, n: x**n,
    "clamp": lambda x, n: x.clamp(max=n),
    "clamp both": lambda x, n: x.clamp(-n, n),
    "clamp_min": lambda x, n: x.clamp_min(n),
    "fill_": lambda x, n: x.fill_(n),
    "full": lambda x, n: tl.full((2,), n, dtype=x.dtype),
    "full_like": lambda x, n: tl.full_like(x, n),
    "new_full": lambda x, n: x.new_full((2,), n),
    "masked_fill": lambda x, n: x.masked_fill(x > 0, n),
    "index_fill": lambda x, n: x.index_fill(0, tl.tensor([0]), n),
    "scatter": lambda x, n: x.scatter(0, tl.tensor([0]), n),
    "linspace": lambda x, n: tl.linspace(0, n, 3, dtype=x.dtype),
    "logspace": lambda x, n: tl.logspace(0, n, 3, dtype=x.dtype),
    "addmv beta": lambda x, n: tl.addmv(x[:1], x[:1, None], x[:1], beta=n),
    "addr alpha": lambda x, n: tl.addr(x[:1, None], x[:1], x[:1], alpha=n),
    "foreach": lambda x, n: tl._foreach_add([x], [x], alpha=n),
}
OF_FLOATS = {
    "threshold": lambda x, n: tl.threshold(x, 0.5, n),
    "hardtanh": lambda x, n: nn_functions.hardtanh(x, -n, n),
    "hardshrink": lambda x, n: tl.hardshrink(x, n),
    "softshrink": lambda x, n: nn_functions.softshrink(x, n),
    "logit": lambda x, n: tl.logit(x, n),
    "histc": lambda x, n: tl.histc(x, 2, 0, n),
}
TOO_LARGE = {tl.float16: 70000.0, tl.bfloat16: 1e39, tl.float32: 1e39, tl.int8: 300}


@pytest.mark.parametrize("name", [*CHECKED, *OF_FLOATS])
@pytest.mark.parametrize("dtype", TOO_LARGE, ids=str)
def test_numbers_beyond_the_range_are_refused(name, dtype):
    if name in OF_FLOATS and not dtype.is_floating_point:
        pytest.skip("of floating numbers only")
    if name == "pow" and dtype is tl.float32:
        pytest.skip("an exponent of single precision may be infinite")
    x, number = tl.ones(3, dtype=dtype), TOO_LARGE[dtype]
    with pytest.raises(RuntimeError, match=r"without overflow|must be in range"):
        {**CHECKED, **OF_FLOATS}[name](x, number)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_numbers_that_become_infinite(dtype):
    """Where PyTorch makes a tensor of the number first, and what has no limit of its own."""
    x, number = tl.ones(3, dtype=dtype), TOO_LARGE[dtype]
    inf = [float("inf")] * 3
    assert (x + number).tolist() == (x * number).tolist() == inf
    assert tl.where(x > 0, number, x).tolist() == tl.tensor([number] * 3, dtype=dtype).tolist() == inf
    x[:] = number
    assert x.tolist() == inf
    assert tl.full((3,), float("inf"), dtype=dtype).tolist() == inf
    assert tl.nan_to_num(x, posinf=number).tolist() == inf
    assert tl.searchsorted(tl.ones(3, dtype=dtype), number).item() == 3


# ---- other forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_divided_by_halves_multiplies_their_rounded_reciprocals(number, dtype):
    x = half(X, dtype)
    with np.errstate(over="ignore"):
        check(number / x, rounded(1 / rounded(X, dtype), dtype) * np.float32(number), dtype)


def test_the_signs_of_zeros_of_activations():
    zeros = tl.tensor([-0.0, 0.0])
    for name, negative in (("elu", True), ("celu", True), ("selu", True), ("softshrink", False)):
        for dtype in (tl.float32, tl.float64, *HALVES):
            f = getattr(tl, name, None) or getattr(nn_functions, name)
            assert f(zeros.to(dtype)).signbit().tolist() == [negative, False], (name, dtype)


@pytest.mark.parametrize("name", ["maximum", "minimum", "floor_divide", "remainder", "pow", "fmax"])
def test_numbers_in_tensors_are_wrapped_before_small_integers_compute(name):
    x = tl.tensor([1, 7, 100], dtype=tl.uint8)
    for wide in (300, 259):
        result = getattr(tl, name)(x, tl.tensor(wide))
        assert result.tolist() == getattr(tl, name)(x, tl.tensor(wide % 256, dtype=tl.uint8)).tolist()


# ---- the sweep of what is no elementwise row, or reaches one by another name ----------------------------------------

INPUTS = {
    "x": X, "y": Y, "z": X[::-1], "q": np.abs(Y) + 0.125, "m": X[:221].reshape(17, 13) / 4, "v": Y[:13] / 4,
    "n": Y[:143].reshape(13, 11) / 4, "o": Y[200:387].reshape(17, 11) / 4, "w": Y[:17] / 4,
    "b": X[:210].reshape(5, 7, 6) / 4, "c": Y[:120].reshape(5, 6, 4) / 4, "d": Y[300:328].reshape(7, 4) / 4,
    "e": Y[400:540].reshape(5, 7, 4) / 4,
}  # fmt: skip
AS_IT_IS = [
    "tl.true_divide(x, s)", "x.clone().true_divide_(s)", "tl.div(x, s, rounding_mode='floor')", "x // s",
    "x.clone().floor_divide_(s)", "tl.addcmul(x, y, z, value=s)", "tl.addcdiv(x, y, q, value=s)",
    "tl.addmm(o, m, n, beta=s)", "tl.addmm(o, m, n, alpha=s)", "tl.addmm(o, m, n, beta=0, alpha=s)",
    "tl.baddbmm(e, b, c, beta=s, alpha=s)", "tl.addbmm(d, b, c, beta=s)", "tl.addbmm(d, b, c, alpha=s)",
    "d.clone().addbmm_(b, c, beta=s, alpha=s)", "tl.arange(0, abs(s), abs(s) / 7, dtype=dt)",
    "tl.arange(s, s + 20, 0.37, dtype=dt)", "tl.linspace(s, 3, 17, dtype=dt)", "tl.logspace(s, 2, 17, dtype=dt)",
    "tl.tensor([s, s + 1], dtype=dt)", "tl.full_like(x, s)", "x.clone().copy_(tl.tensor(s))",
    "tl.index_fill(x, 0, tl.tensor([0, 3]), s)",
    "nn_functions.huber_error(x, y, abs(s))", "nn_functions.smooth_l1_error(x, y, abs(s))",
    "tl.layer_norm(m, (13,), eps=abs(s))", "tl.rms_norm(m, (13,), eps=abs(s))", "tl.std(m, 1, correction=abs(s))",
    "tl.norm(m, abs(s), dim=1)", "tl.dist(x, y, abs(s))", "tl._foreach_mul([x], s)[0]", "tl._foreach_div([x], s)[0]",
    "tl._foreach_addcmul([x], [y], [z], [s])[0]", "tl._foreach_addcdiv([x], [y], [q], value=s)[0]",
    "tl._foreach_lerp([x], [y], s)[0]", "tl._foreach_mul([x], tl.tensor(s))[0]", "x / tl.tensor(s)",
]  # fmt: skip
OF_THE_TENSORS_TYPE = [
    "x + s", "s - x", "s // x", "s % x", "x % s", "tl.fmod(x, s)", "q**s", "abs(s)**x", "tl.rsub(x, y, alpha=s)",
    "tl.rsub(x, s, alpha=s)", "tl.add(x, s, alpha=s)", "tl.atan2(x, tl.tensor(s))", "tl.atan2(tl.tensor(s), x)",
    "tl.atan2(x, tl.tensor(s, dtype=tl.float64))", "tl.hypot(x, tl.tensor(s))", "tl.logaddexp(x, tl.tensor(s))",
    "tl.xlogy(x, abs(s))", "tl.xlogy(s, q)", "special.xlog1py(x, abs(s))", "special.xlog1py(s, q)",
    "tl.scatter(x, 0, tl.tensor([0, 3]), s, reduce='multiply')", "tl.scatter(x, 0, tl.tensor([0, 3]), s, reduce='add')",
    "tl.addmv(w, m, v, beta=s)",
    "tl.addmv(w, m, v, alpha=s)", "tl.addmv(w, m, v, beta=0, alpha=s)", "w.clone().addmv_(m, v, beta=s, alpha=s)",
    "tl._foreach_add([x], s)[0]", "tl._foreach_sub([x], [s])[0]", "tl._foreach_pow([q], s)[0]",
    "tl._foreach_pow(abs(s), [x])[0]", "q.clone().pow_(s)", "q.clone().xlogy_(abs(s))", "tl.tensor(s) * x",
    "tl.tensor(s) / x", "x - tl.tensor(s)", "tl.addcmul(x, tl.tensor(s, dtype=dt), z)",
]  # fmt: skip


def evaluated(text, number, dtype, values):
    scope = {"tl": tl, "nn_functions": nn_functions, "special": special, "s": number, "dt": dtype, **values}
    return eval(text, scope)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("text", [*AS_IT_IS, *OF_THE_TENSORS_TYPE])
def test_calls_round_once(text, dtype):
    """Each is that of float32, rounded, with the number as it is or as the type holds it."""
    plain = {name: half(a.copy(), dtype) for name, a in INPUTS.items()}
    wide = {name: t.float() for name, t in plain.items()}
    for number in (0.1, 1 / 3, 3.14159, 0.7, 1e-3, -1.7):
        typed = number_for(number, dtype) if text in OF_THE_TENSORS_TYPE else number
        want = evaluated(text, typed, tl.float32, wide)
        same(evaluated(text, number, dtype, plain), want, dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("number", NUMBERS)
def test_factors_of_an_outer_product_are_of_the_tensors_type(number, dtype):
    """Each product is rounded: with a first factor of 1 as well."""
    o, v, w = (half(INPUTS[name].copy(), dtype) for name in ("o", "v", "w"))
    x, y, s = (
        w.float().numpy()[:, None],
        v.float().numpy()[:11],
        rounded(np.array([number], np.float32), dtype),
    )
    with np.errstate(over="ignore", invalid="ignore"):
        product = rounded(rounded(x * s, dtype) * y, dtype)
        check(tl.addr(o, w, v[:11], alpha=number), o.float().numpy() + product, dtype)
        both = rounded(o.float().numpy() * s, dtype) + product
        check(tl.addr(o, w, v[:11], beta=number, alpha=number), both, dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_reflected_quotient_of_tensors_has_the_type_of_the_reciprocal(dtype):
    full, x = tl.tensor([3, 4]), tl.tensor([1.0, 2.0], dtype=dtype)
    assert full.__rtruediv__(x).dtype is tl.float32 and (x / full).dtype is dtype
    assert full.__rtruediv__(x).tolist() == (full.reciprocal() * x).tolist()
    assert full.__rtruediv__(2).tolist() == (2 / full).tolist()
    with pytest.raises(TypeError):
        full.__rtruediv__("a") / 1
