"""The operators' rows as the tests see them: inputs of every layout, and the reference a row names or spells out."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
from scipy import special

import tl_core as tl

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen import collect
from opgen.row import COMPLEX, FLOATS, HALVES, INTS, Row

ROWS = collect.rows()
ELEMENTWISE = [r for r in ROWS if r.elementwise]
DTYPES = (
    "bool",
    "uint8",
    "int32",
    "int64",
    "uint16",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
SHAPE = (3, 4)


def numpy_dtype(dtype: str) -> type:
    """The wide type in which a reference computes."""
    if dtype == "bool":
        return np.bool_
    return np.int64 if dtype in INTS else np.complex128 if dtype.startswith("complex") else np.float64


def to_numpy(t: tl.Tensor) -> np.ndarray:
    """The elements in the wide type."""
    dtype = str(t.dtype).removeprefix("torch.")
    wide = {np.int64: tl.int64, np.complex128: tl.complex128, np.float64: tl.float64, np.bool_: tl.bool}
    return t.detach().to(wide[numpy_dtype(dtype)]).numpy()


def values(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, low: float = -3, high: float = 3
) -> tl.Tensor:
    """Numbers between low and high that the type holds."""
    if dtype == "bool":
        data = rng.integers(0, 2, shape).astype(bool)
    elif dtype in INTS:
        least = max(int(np.ceil(low)), 0 if dtype.startswith("u") else -100)
        data = rng.integers(least, max(int(high), least) + 1, shape)
    else:
        data = rng.uniform(low, high, shape)
        if dtype in COMPLEX:
            data = data + 1j * rng.uniform(low, high, shape)
    return tl.tensor(np.asarray(data).tolist(), dtype=getattr(tl, dtype)).reshape(shape)


def layouts(make):
    """The same kind of input in every layout: (name, tensor); `make(shape)` gives a dense one."""
    yield "dense", make(SHAPE)
    yield "number", make(())
    yield "empty", make((0, 3))
    yield "transposed", make(SHAPE[::-1]).t()
    yield "gaps", make((SHAPE[0] * 2, SHAPE[1] * 3))[::2, ::3]
    yield "expanded", make((1, SHAPE[1])).expand(SHAPE)
    yield "offset", make((SHAPE[0] * SHAPE[1] + 1,))[1:].reshape(SHAPE)
    yield "wide", make((5, 67))


NAMES = {
    "erf": special.erf,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "atan2": np.arctan2,
    "round": np.round,
    "polygamma": special.polygamma,
    "zeta": special.zeta,
}


def frexp_mantissa(x: np.ndarray) -> np.ndarray:
    """In [1/2, 1) or 0."""
    return np.frexp(x)[0]


def frexp_exponent(x: np.ndarray) -> np.ndarray:
    """The power of two that goes with the mantissa."""
    return np.frexp(x)[1].astype(np.float64)


def next_bits(x: np.ndarray, y: np.ndarray, infinity: int) -> np.ndarray:
    """numpy's nextafter on numbers of 16 bits given as integers."""
    assert infinity == 0x7C00
    halves = np.broadcast_arrays(x.astype(np.int16), y.astype(np.int16))
    first, second = (np.ascontiguousarray(h).view(np.float16) for h in halves)
    return np.nextafter(first, second).view(np.int16).astype(np.int64)


NAMES["next_bits"] = next_bits


def translated(expr: str) -> str:
    """The row's scalar expression, which is C, as Python on arrays."""
    match = re.fullmatch(r"(.+) \? (.+) : (.+)", expr)
    if match:
        return f"where({', '.join(translated(part) for part in match.groups())})"
    expr = re.sub(r"!(\w)", r"(\1 == 0)", expr)
    return re.sub(r"(\w) (&&|\|\|) (\w)", lambda m: f"(({m[1]} != 0) {m[2][0]} ({m[3]} != 0))", expr)


def expression(row: Row, inputs: list, parameters: dict) -> np.ndarray:
    """What the row's `expr` says of these arrays."""
    letters = "cxyz" if row.elementwise.condition else "xyz"
    text = translated(row.expr)
    functions = {name: getattr(np, name) for name in re.findall(r"\w+(?=\()", text) if hasattr(np, name)}
    scope = {**functions, **NAMES, **dict(zip(letters, inputs, strict=False)), **parameters}
    return eval(text, {"__builtins__": {}}, scope)


def reference(row: Row):
    """The function that `ref` names."""
    module, _, name = row.ref.rpartition(".")
    return getattr(importlib.import_module(module), name)


def result_dtype(row: Row, dtype: str) -> str:
    """What the row's promotion makes of a common type."""
    to = row.elementwise.to
    if to == "bool":
        return "bool"
    if to == "int" and dtype == "bool":
        return "int64"
    if to.endswith("float") and dtype not in HALVES + FLOATS + COMPLEX:
        return "float32"
    of_complex = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}
    if to == "complex":
        return of_complex[dtype]
    return {c: f for f, c in of_complex.items()}.get(dtype, dtype) if to.startswith("real") else dtype


TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 4e-6,
    "float64": 1e-12,
    "complex32": 2e-3,
    "complex64": 1e-5,
    "complex128": 1e-12,
}


def assert_close(got: tl.Tensor, want: np.ndarray, what: str = "") -> None:
    """Equal for exact types, else within a few units of the last place of the larger values."""
    dtype = str(got.dtype).removeprefix("torch.")
    assert tuple(got.shape) == np.shape(want), what
    want = np.asarray(want)
    if dtype in TOLERANCE:
        np.testing.assert_allclose(
            to_numpy(got), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], err_msg=what
        )
    else:
        np.testing.assert_array_equal(to_numpy(got), wrapped(want, dtype), err_msg=what)


def wrapped(array: np.ndarray, dtype: str) -> np.ndarray:
    """Integers and truth values as the narrow type holds them, in the wide type."""
    return array.astype(np.dtype(dtype)).astype(numpy_dtype(dtype))


def call(name: str, *args, **kwargs):
    """The operator of that full name."""
    return tl._C._call_operator((name,), *args, **kwargs)


def same(a: tl.Tensor, b: tl.Tensor) -> bool:
    """Whether the elements are equal, NaN to NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    x, y = to_numpy(a), to_numpy(b)
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))
