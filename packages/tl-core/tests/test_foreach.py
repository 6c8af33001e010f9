"""Operators over lists of tensors: each is the operator of one element, applied to all."""

import math
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core import _C  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen import collect  # noqa: E402


def by_element(function):
    return np.vectorize(function, otypes=[float])


# The references that numpy lacks under the operator's name.
REFERENCES = {
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "erf": by_element(math.erf),
    "erfc": by_element(math.erfc),
    "frac": lambda x: np.modf(x)[0],
    "lgamma": by_element(math.lgamma),
    "neg": np.negative,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
UNARY = [row.base for row in collect.rows() if row.foreach]
WITHIN_ONE = ("acos", "asin")
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
}


def arrays(seed=0, most=2.0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, most, size=shape) for shape in ((2, 3), (), (4,))]


def tensors(values):
    return [tl.tensor(value.tolist(), dtype=tl.float64) for value in values]


def check(got, wanted):
    assert len(got) == len(wanted)
    for tensor, value in zip(got, wanted, strict=True):
        np.testing.assert_allclose(tensor.tolist(), value, rtol=1e-12)


def both(name, wanted, *args, most=2.0):
    """The form that makes tensors, and the one in place."""
    source = arrays(most=most)
    check(getattr(_C, f"_foreach_{name}")(tensors(source), *args), wanted)
    lists = tensors(source)
    assert getattr(_C, f"_foreach_{name}_")(lists, *args) is None
    check(lists, wanted)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    most = 1.0 if name in WITHIN_ONE else 2.0
    function = REFERENCES.get(name) or getattr(np, name)
    both(name, [function(value) for value in arrays(most=most)], most=most)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    function, other, numbers = BINARY[name], arrays(1), [2.0, 3.0, 1.5]
    both(name, [function(a, b) for a, b in zip(arrays(), other, strict=True)], tensors(other))
    both(name, [function(a, b) for a, b in zip(arrays(), numbers, strict=True)], numbers)
    both(name, [function(a, 2.0) for a in arrays()], 2.0)


@pytest.mark.parametrize("name", ["add", "mul", "div"])
def test_one_tensor_for_all(name):
    both(name, [BINARY[name](a, 2.0) for a in arrays()], tl.tensor(2.0, dtype=tl.float64))


def test_alpha():
    expected = [a - 3 * b for a, b in zip(arrays(), arrays(1), strict=True)]
    check(_C._foreach_sub(tensors(arrays()), tensors(arrays(1)), alpha=3), expected)


def test_ternary():
    source = list(zip(arrays(), arrays(1), arrays(2), strict=True))
    second, third = tensors(arrays(1)), tensors(arrays(2))
    both("addcmul", [a + 0.5 * b * c for a, b, c in source], second, third, 0.5)
    both("addcdiv", [a + b / c for a, b, c in source], second, third)
    both("lerp", [a + c * (b - a) for a, b, c in source], second, third)
    both("lerp", [a + 0.25 * (b - a) for a, b, c in source], second, 0.25)


def test_others():
    source = arrays()
    check(_C._foreach_pow(2.0, tensors(source)), [2.0**a for a in source])
    check(_C._foreach_max(tensors(source)), [a.max() for a in source])
    lists = tensors(source)
    copies = _C._foreach_clone(lists)
    _C._foreach_copy_(copies, tensors(arrays(1)))
    check(copies, arrays(1))
    check(lists, source)
    _C._foreach_zero_(lists)
    check(lists, [0 * a for a in source])


def test_lengths_must_agree():
    source = tensors(arrays())
    with pytest.raises(RuntimeError, match="must have the same number of tensors, got 3 and 2"):
        _C._foreach_add(source, source[:2])
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        _C._foreach_add(source, [1.0, 2.0])
    with pytest.raises(RuntimeError, match="must have at least one tensor"):
        _C._foreach_exp([])
