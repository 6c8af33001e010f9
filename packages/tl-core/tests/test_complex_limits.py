"""Complex functions at infinite, nan and zero arguments, as Annex G of the C standard has them."""

import itertools
import sys
from pathlib import Path

import pytest

import tl_core as tl

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen import collect

np = pytest.importorskip("numpy")

PARTS = (float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 1.0, -2.5, 800.0)
VALUES = [complex(re, im) for re, im in itertools.product(PARTS, PARTS)]
OF_THE_STANDARD = ("exp", "log", "sqrt")
FUNCTIONS = [
    row.base
    for row in collect.rows()
    if row.elementwise and "complex64" in row.elementwise.dtypes and row.ref.startswith("numpy.")
    if row.base in OF_THE_STANDARD or (row.family == "trigonometric" and row.base != "sinc")
]


@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_those_of_the_standard(name, dtype, size):
    values = np.array(VALUES, dtype=dtype)
    x = tl.tensor(VALUES, dtype=getattr(tl, dtype))
    result = tl.cat([getattr(tl, name)(part) for part in x.split(size)]).tolist()
    with np.errstate(all="ignore"):
        expected = getattr(np, {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
                              "atan": "arctan", "atanh": "arctanh"}.get(name, name))(values)  # fmt: skip
    tolerance = 1e-5 if dtype == "complex64" else 1e-13
    for value, a, b in zip(VALUES, result, expected.tolist(), strict=True):
        for part, other in ((a.real, b.real), (a.imag, b.imag)):
            assert part == pytest.approx(other, rel=tolerance, abs=1e-300, nan_ok=True), (value, a, b)
