"""Halves and numbers: products, quotients and lerp use the number as it is, alpha is rounded to the tensors' type."""

import pytest

import tl_core as tl

np = pytest.importorskip("numpy")
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
    for got in (tl.lerp(x, y, weight), tl._foreach_lerp([x], [y], weight)[0], x.clone().lerp_(y, weight)):
        check(got, want, dtype)
