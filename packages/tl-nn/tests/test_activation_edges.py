"""Activations at infinities, NaN, zeros and far from zero, in all floating types, beside their formulas."""

import math

import pytest

np = pytest.importorskip("numpy", reason="the formulas are numpy's")
special = pytest.importorskip("scipy.special", reason="the formulas are scipy's")

import tl_core  # noqa: E402
from tl_nn import functional as F  # noqa: E402

EDGES = [0.0, 1.0, -1.0, 1e-30, -1e30, math.inf, -math.inf, math.nan, 3.0, 40.0, -40.0, 1e30]
_ROOT = math.sqrt(2 / math.pi)
FORMULAS = {
    "gelu": (F.gelu, lambda x: x * 0.5 * special.erfc(-x / math.sqrt(2))),
    "gelu_tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(_ROOT * (x + 0.044715 * x**3))),
    ),
    "silu": (F.silu, lambda x: x / (1 + np.exp(-x))),
    "mish": (F.mish, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "softplus": (F.softplus, lambda x: np.logaddexp(0, x)),
    "logsigmoid": (F.logsigmoid, lambda x: -np.logaddexp(0, -x)),
    "elu": (F.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "hardswish": (F.hardswish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "hardsigmoid": (F.hardsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6),
    "softsign": (F.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - np.tanh(x)),
    "leaky_relu": (F.leaky_relu, lambda x: np.where(x > 0, x, 0.01 * x)),
    "relu6": (F.relu6, lambda x: np.clip(x, 0, 6)),
}


@pytest.mark.parametrize("copies", [1, 5])  # the rest of a vector, and whole vectors
@pytest.mark.parametrize("dtype", [tl_core.float32, tl_core.float64, tl_core.bfloat16, tl_core.float16])
@pytest.mark.parametrize("name", FORMULAS)
def test_edges_of_activations(name, dtype, copies):
    function, formula = FORMULAS[name]
    x = tl_core.tensor(EDGES * copies, dtype=dtype)
    with np.errstate(all="ignore"):
        expected = tl_core.tensor(formula(x.double().numpy())).to(dtype)
    step = max(tl_core.finfo(dtype).eps, 1e-6)
    # A float32 far below 0 may end as 0 where the formula's last digits remain.
    tl_core.testing.assert_close(function(x), expected, rtol=4 * step, atol=1e-30, equal_nan=True)


@pytest.mark.parametrize("dtype", [tl_core.float32, tl_core.float64])
@pytest.mark.parametrize("count", [1, 9])
def test_celu_of_a_negative_alpha_grows(dtype, count):
    x = tl_core.tensor([-2.0, -115.0] * count, dtype=dtype)
    expected = [-math.expm1(2.0), -math.expm1(115.0) if dtype == tl_core.float64 else -math.inf] * count
    assert F.celu(x, alpha=-1.0).tolist() == pytest.approx(expected, rel=1e-6)
