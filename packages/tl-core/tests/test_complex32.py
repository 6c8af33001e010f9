"""Complex numbers of halves: what they compute with is wider, what they give is rounded. Answers recorded from
PyTorch 2.13.
"""

import math

import pytest

import tl_core as tl

INF, NAN = math.inf, math.nan
VALUES = {
    "a": [3 + 4j, 0, -1.5 + 0.25j, 2j],
    "b": [1 - 1j, 0.5j, -1.5 + 0.25j, -2],
    "m": [[1 + 2j, -3j, 0.5], [2 - 1j, 0, 4 + 3j]],
    "e": [complex(INF, 0), complex(NAN, 1), complex(0, -INF), 1 + 1j, 0],
}
RECORDED = {
    "a.abs()": ("float16", [5.0, 0.0, 1.5205078125, 2.0]),
    "a.sgn()": ("complex32", [(0.60009765625 + 0.7998046875j), 0j, (-0.986328125 + 0.1644287109375j), 1j]),
    "tl.abs(e)": ("float16", [INF, NAN, INF, 1.4140625, 0.0]),
    "tl.isfinite(e)": ("bool", [False, False, False, True, True]),
    "tl.isinf(e)": ("bool", [True, False, True, False, False]),
    "tl.isnan(e)": ("bool", [False, True, False, False, False]),
    "tl.isclose(a, b, rtol=0.5, atol=0.1)": ("bool", [False, False, True, False]),
    "tl.isclose(e, e, equal_nan=True)": ("bool", [True, True, True, True, True]),
    "tl.allclose(a, a)": True,
    "tl.allclose(a, b)": False,
    "tl.norm(a)": ("float16", 5.59765625),
    "tl.norm(m, dim=1)": ("float16", [3.775390625, 5.4765625]),
    "tl.norm(m, 1, dim=0)": ("float16", [4.47265625, 3.0, 5.5]),
    'tl.norm(m, float("inf"), dim=1, keepdim=True)': ("float16", [[3.0], [5.0]]),
    'tl.norm(m, float("-inf"), dim=1)': ("float16", [0.5, 0.0]),
    "tl.norm(m, 3)": ("float16", 5.58984375),
    "tl.norm(m, 0.5, dim=1)": ("float16", [15.4765625, 13.921875]),
    "tl.norm(m, 0)": ("float16", 5.0),
    "tl.linalg.vector_norm(m, 3, dim=(0, 1))": ("float16", 5.58984375),
    'tl.linalg.matrix_norm(m, "fro")': ("float16", 6.65234375),
    "tl.linalg.matrix_norm(m, 1)": ("float16", 5.5),
    'tl.linalg.matrix_norm(m, float("inf"))': ("float16", 7.234375),
    "tl.linalg.norm(a)": ("float16", 5.59765625),
    "tl.dist(a, b)": ("float16", 6.1015625),
    "tl.dist(a, b, 1)": ("float16", 8.7109375),
    'tl.dist(a, b, float("inf"))': ("float16", 5.38671875),
    "tl.addcmul(a, b, b)": ("complex32", [(3 + 2j), (-0.25 + 0j), (0.6875 - 0.5j), (4 + 2j)]),
    "tl.addcmul(a, b, b, value=0.5)": ("complex32", [(3 + 3j), (-0.125 + 0j), (-0.40625 - 0.125j), (2 + 2j)]),
    "a.clone().sgn_()": (
        "complex32",
        [(0.60009765625 + 0.7998046875j), 0j, (-0.986328125 + 0.1644287109375j), 1j],
    ),
    "(a - b).abs().sum()": ("float16", 8.71875),
    "m[:, :2].t().abs()": ("float16", [[2.236328125, 2.236328125], [3.0, 0.0]]),
}


def plain(result):
    """The type, and the elements in a list."""
    if isinstance(result, bool):
        return result
    wide = result.to(tl.complex64) if result.is_complex() else result
    return str(result.dtype).removeprefix("torch."), wide.flatten().tolist()


def scope():
    return {"tl": tl, **{k: tl.tensor(v, dtype=tl.complex64).to(tl.complex32) for k, v in VALUES.items()}}


def flat(values):
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("text", RECORDED)
def test_recorded_answers(text):
    result, want = plain(eval(text, scope())), RECORDED[text]
    if isinstance(want, bool):
        assert result is want
        return
    assert result[0] == want[0]
    for x, y in zip(result[1], flat(want[1]), strict=True):
        assert x == pytest.approx(y, rel=2e-3, nan_ok=True)


@pytest.mark.parametrize("name", ["abs", "sgn", "isfinite", "isinf", "isnan"])
def test_layouts(name):
    """As complex64 has it, rounded, in every layout."""
    x = (tl.arange(24).reshape(4, 6) - 11 + 1j).to(tl.complex32)
    f = getattr(tl, name)
    for t in (x, x.t(), x[::2, 1::3], x[0, 0], x[:0], x[:1].expand(3, 6), x.conj()):
        result, want = f(t), f(t.to(tl.complex64))
        assert result.shape == want.shape and result.is_complex() == want.is_complex()
        assert result.dtype in (tl.bool, tl.float16, tl.complex32)
        wide = result.to(want.dtype)
        assert tl.allclose(wide, want, rtol=1e-3) if want.dtype != tl.bool else tl.equal(wide, want)


def test_powers_that_need_no_loop():
    x = tl.tensor([1 + 1j, 2, 0]).to(tl.complex32)
    assert tl.equal(x**1, x) and tl.equal(x.pow(1.0), x) and tl.equal(x**0, tl.ones_like(x))
    out = tl.empty(0, dtype=tl.complex32)
    assert tl.pow(x, 1, out=out) is out and tl.equal(out, x)
    assert tl.equal(x.clone().pow_(0), tl.ones_like(x))
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexHalf'"):
        tl.pow(x, 2)
