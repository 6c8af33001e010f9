"""The operators `prims::…`: schemas of PyTorch 2.13, values of NumPy and SciPy, errors of PyTorch, modes, fakes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import tl_core as tl
from tl_core import ops
from tl_core.compat import prims as module
from tl_core.schemas.tags import Tag
from tl_core.subclasses import FakeTensorMode
from tl_core.subclasses.python_dispatch import TorchDispatchMode

np = pytest.importorskip("numpy")
special = pytest.importorskip("scipy.special")
prims = ops.prims

X = tl.tensor([[1.0, -2.0], [3.0, 4.0]])
Y = tl.tensor([[1.0, 3.0], [-2.0, 4.0]])
N = tl.tensor([1, 2])
Z = tl.tensor([1 + 2j, 3 - 1j])
OPTIONS = {"device": tl.device("cpu"), "requires_grad": False}


def _own_schema(name: str) -> str:
    # PyTorch's default is the integer 1 in the place of a float.
    return str(getattr(prims, name).default._schema).replace("correction=1.0", "correction=1")


def _schemas() -> list[str]:
    return (Path(__file__).parent / "prims_schemas.txt").read_text().splitlines()


@pytest.mark.parametrize("schema", _schemas())
def test_schema(schema: str) -> None:
    name = schema.removeprefix("prims::").partition("(")[0]
    assert _own_schema(name) == schema


def test_no_further_operators() -> None:
    own = {_own_schema(name) for name in module._OPERATORS}
    assert own == set(_schemas())


_POSITIVE = np.array([0.25, 0.5, 0.75])
_UNARY = {
    "abs": np.abs, "acos": np.arccos, "acosh": lambda x: np.arccosh(x + 1), "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "bessel_i0": special.i0,
    "bessel_i0e": special.i0e, "bessel_i1": special.i1, "bessel_i1e": special.i1e, "bessel_j0": special.j0,
    "bessel_j1": special.j1, "cbrt": np.cbrt, "ceil": np.ceil, "digamma": special.digamma, "erf": special.erf,
    "erf_inv": special.erfinv, "erfc": special.erfc, "erfcx": special.erfcx, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "floor": np.floor, "isfinite": np.isfinite, "lgamma": special.gammaln, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "ndtri": special.ndtri, "neg": np.negative,
    "reciprocal": np.reciprocal, "round": np.round, "rsqrt": lambda x: 1 / np.sqrt(x), "sign": np.sign,
    "signbit": np.signbit, "sin": np.sin, "sinh": np.sinh,
    "spherical_bessel_j0": lambda x: special.spherical_jn(0, x), "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "trunc": np.trunc,
}  # fmt: skip


@pytest.mark.parametrize("name", _UNARY)
def test_unary(name: str) -> None:
    values = _POSITIVE + 1 if name == "acosh" else _POSITIVE
    result = getattr(prims, name)(tl.from_numpy(values.copy()))
    np.testing.assert_allclose(result.numpy(), _UNARY[name](_POSITIVE), rtol=1e-12)


_FLOAT_PAIRS = {
    "add": np.add, "atan2": np.arctan2, "div": np.divide, "eq": np.equal, "fmax": np.fmax, "fmin": np.fmin,
    "fmod": np.fmod, "ge": np.greater_equal, "gt": np.greater, "hypot": np.hypot, "igamma": special.gammainc,
    "igammac": special.gammaincc, "le": np.less_equal, "lt": np.less, "maximum": np.maximum, "minimum": np.minimum,
    "mul": np.multiply, "ne": np.not_equal, "nextafter": np.nextafter, "pow": np.power, "remainder": np.mod,
    "sub": np.subtract, "zeta": lambda a, b: special.zeta(a, b),
}  # fmt: skip
_INTEGER_PAIRS = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "gcd": np.gcd,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift,
    "div": lambda a, b: np.trunc(a / b).astype(np.int64),
}  # fmt: skip


@pytest.mark.parametrize("name", _FLOAT_PAIRS)
def test_binary(name: str) -> None:
    a, b = np.array([1.5, 2.5, 3.0]), np.array([0.5, 2.5, 1.25])
    result = getattr(prims, name)(tl.from_numpy(a.copy()), tl.from_numpy(b.copy()))
    np.testing.assert_allclose(result.numpy(), _FLOAT_PAIRS[name](a, b), rtol=1e-12)


@pytest.mark.parametrize("name", _INTEGER_PAIRS)
def test_integers(name: str) -> None:
    a, b = np.array([-7, 12, 5]), np.array([2, 3, 4])
    result = getattr(prims, name)(tl.from_numpy(a.copy()), tl.from_numpy(b.copy()))
    assert result.dtype == tl.int64
    np.testing.assert_array_equal(result.numpy(), _INTEGER_PAIRS[name](a, b))


# A call, and what PyTorch 2.13 returns: the elements, and the strides of a matrix.
_CALLS: list[tuple[Any, Any, Any]] = [
    (lambda: prims.add(X, 2.5), [[3.5, 0.5], [5.5, 6.5]], None),
    (lambda: prims.add(N, 2.5), [3.5, 4.5], None),
    (lambda: prims.add(2, N), [3, 4], None),
    (lambda: prims.add(X, tl.ones(())), [[2.0, -1.0], [4.0, 5.0]], None),
    (lambda: prims.sin(N), [math.sin(1), math.sin(2)], None),
    (lambda: prims.maximum(X, 1.0), [[1.0, 1.0], [3.0, 4.0]], None),
    (lambda: prims.where(X > 0, X, Y), [[1.0, 3.0], [3.0, 4.0]], None),
    (lambda: prims.sum(X, [0]), [4.0, 2.0], None),
    (lambda: prims.sum(X, []), 6.0, None),
    (lambda: prims.prod(X, [0]), [3.0, -8.0], None),
    (lambda: prims.amax(X, [0, 1]), 4.0, None),
    (lambda: prims.amin(X, [1]), [-2.0, 3.0], None),
    (lambda: prims.xor_sum(tl.tensor([[5, 3], [6, 6]]), [1]), [6, 0], None),
    (lambda: prims.var(X, [0], 1.0), [2.0, 18.0], None),
    (lambda: prims.var(X, [0], correction=0), [1.0, 9.0], None),
    (lambda: prims.cat([X, Y], 0), [[1.0, -2.0], [3.0, 4.0], [1.0, 3.0], [-2.0, 4.0]], (2, 1)),
    (lambda: prims.broadcast_in_dim(X, [2, 2, 1], [0, 1]), [[[1.0], [-2.0]], [[3.0], [4.0]]], (2, 1, 1)),
    (lambda: prims.collapse(X.t(), 0, 1), [1.0, 3.0, -2.0, 4.0], (1,)),
    (lambda: prims.collapse_view(X, 0, 1), [1.0, -2.0, 3.0, 4.0], (1,)),
    (lambda: prims.split_dim(tl.arange(6), 0, 2), [[0, 1, 2], [3, 4, 5]], (3, 1)),
    (lambda: prims.squeeze(tl.ones(1, 2, 1), [0]), [[1.0], [1.0]], (1, 1)),
    (lambda: prims.transpose(X, [1, 0]), [[1.0, 3.0], [-2.0, 4.0]], (1, 2)),
    (lambda: prims.reshape(X.t(), [4]), [1.0, 3.0, -2.0, 4.0], (1,)),
    (lambda: prims.rev(X, [0]), [[3.0, 4.0], [1.0, -2.0]], None),
    (lambda: prims.view_of_dtype(X, tl.int32)[0], [1065353216, -1073741824], (1,)),
    (lambda: prims.as_strided(X, [2], [1], 1), [-2.0, 3.0], (1,)),
    (lambda: prims.as_strided_scatter(X, tl.zeros(2), [2], [1], 1), [[1.0, 0.0], [0.0, 4.0]], None),
    (lambda: prims.conj(Z), [1 - 2j, 3 + 1j], None),
    (lambda: prims.conj_physical(Z), [1 - 2j, 3 + 1j], None),
    (lambda: prims.real(Z), [1.0, 3.0], (2,)),
    (lambda: prims.imag(Z), [2.0, -1.0], (2,)),
    (lambda: prims.clone(X.t()), [[1.0, 3.0], [-2.0, 4.0]], (1, 2)),
    (lambda: prims.convert_element_type(X.t(), tl.int32), [[1, 3], [-2, 4]], (1, 2)),
    (lambda: prims.copy_strided(X, [1, 2]), [[1.0, -2.0], [3.0, 4.0]], (1, 2)),
    (lambda: prims.copy_to(X.clone(), Y), [[1.0, 3.0], [-2.0, 4.0]], None),
    (lambda: prims.resize(tl.ones(4), [2]), [1.0, 1.0], None),
    (lambda: prims.device_put(X, "cpu"), [[1.0, -2.0], [3.0, 4.0]], None),
    (lambda: prims.fill(X, 2), [[2.0, 2.0], [2.0, 2.0]], None),
    (lambda: prims.full([2], 3, dtype=tl.float32, **OPTIONS), [3.0, 3.0], None),
    (lambda: prims.full_like(X, 3, dtype=tl.int64, **OPTIONS), [[3, 3], [3, 3]], None),
    (lambda: prims.iota(3, start=1, step=2, dtype=tl.int64, **OPTIONS), [1, 3, 5], None),
    (lambda: prims.scalar_tensor(3.5, dtype=tl.float64, device="cpu"), 3.5, None),
    (lambda: prims.frexp(X)[1], [[1, 2], [2, 3]], None),
    (lambda: prims.fft_c2c(tl.ones(4, dtype=tl.complex64), dim=[0], forward=True), [4, 0, 0, 0], None),
    (lambda: prims.fft_c2r(tl.ones(3, dtype=tl.complex64), dim=[0], last_dim_size=4), [4, 0, 0, 0], None),
    (lambda: prims.fft_r2c(tl.ones(4), dim=[0], onesided=True), [4, 0, 0], None),
    (lambda: module.expand_dims(X, [1]), [[[1.0, -2.0]], [[3.0, 4.0]]], (2, 2, 1)),
    (lambda: module.view_element_type(X, tl.int32)[0, 0], 1065353216, None),
    (lambda: module.mul(tl.tensor([2.0]), 1 + 1j), [2 + 2j], None),
    (lambda: prims._make_token(), [], None),
]


@pytest.mark.parametrize("case", range(len(_CALLS)))
def test_call(case: int) -> None:
    call, expected, strides = _CALLS[case]
    result = call()
    np.testing.assert_allclose(np.array(result.tolist()), np.array(expected), rtol=1e-6)
    if strides is not None:
        assert result.stride() == strides


def test_numbers() -> None:
    assert prims.item(tl.tensor(2.5)) == 2.5
    assert prims.maximum_value(tl.int8) == 127 and prims.minimum_value(tl.bool) is False
    assert prims.minimum_value(tl.float32) == -float(np.finfo(np.float32).max)


def test_singular_values() -> None:
    u, s, v = prims.svd(X, full_matrices=True)
    np.testing.assert_allclose((u @ tl.diag(s) @ v).numpy(), X.numpy(), atol=1e-5)
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(X.numpy())[1], rtol=1e-5)


def test_views_share_memory_and_copies_do_not() -> None:
    x = tl.zeros(2, 2)
    for view in (
        prims.broadcast_in_dim(x, [2, 2], [0, 1]),
        prims.collapse_view(x, 0, 1),
        prims.transpose(x, [1, 0]),
        prims.view_of(x),
        prims.as_strided(x, [4], [1], 0),
    ):
        view.add_(1)
    assert x.tolist() == [[5.0, 5.0], [5.0, 5.0]]
    for copied in (prims.collapse(x, 0, 1), prims.reshape(x, [4]), prims.convert_element_type(x, tl.float32)):
        copied.add_(1)
    assert x.tolist() == [[5.0, 5.0], [5.0, 5.0]]


# A wrong call, and the class and words of PyTorch's error.
_ERRORS: list[tuple[Any, type[Exception], str]] = [
    (
        lambda: prims.add(X, N),
        RuntimeError,
        "Tensor with dtype torch.int64 is not the expected dtype of torch.float32",
    ),
    (lambda: prims.add(X, tl.ones(2)), RuntimeError, "is not the expected shape"),
    (lambda: prims.where(N, N, N), RuntimeError, "expected condition to be a boolean tensor"),
    (lambda: prims.sum(X, [-1]), AssertionError, "idx -1 is out of bounds for rank 2"),
    (lambda: prims.cat([X, Y], -1), AssertionError, "dim must be non-negative, got -1"),
    (lambda: prims.cat([X, N], 0), AssertionError, "same number of dimensions"),
    (lambda: prims.broadcast_in_dim(X, [2, 2], [1, 0]), AssertionError, "strictly ascending"),
    (lambda: prims.collapse_view(X.t(), 0, 1), RuntimeError, "no such view exists"),
    (lambda: prims.collapse(X, 0, 2), AssertionError, "idx 2 is out of bounds"),
    (lambda: prims.split_dim(tl.arange(6), 0, 4), ValueError, "with a remainder"),
    (lambda: prims.squeeze(tl.ones(1, 2), [1]), AssertionError, "Cannot squeeze dimension 1 with size 2"),
    (lambda: prims.transpose(X, [1, 1]), ValueError, "invalid permutation"),
    (lambda: prims.reshape(X, [3]), ValueError, "4 elements to a shape with 3 elements"),
    (lambda: prims.as_strided(X, [9], [1], 1), ValueError, "requires a storage of size 10"),
    (lambda: prims.conj(X), RuntimeError, "Expected complex dtype"),
    (lambda: prims.conj_physical(X), RuntimeError, "only defined for complex dtypes"),
    (lambda: prims.real(X), RuntimeError, "Only complex dtype is supported"),
    (lambda: prims.copy_to(X.clone(), N), RuntimeError, "Attempting to copy 2 elements"),
    (lambda: prims.iota(3, start=1, step=0, dtype=tl.int64, **OPTIONS), RuntimeError, "step must be nonzero"),
    (
        lambda: prims.iota(3, start=1, step=2, dtype=tl.float32, **OPTIONS),
        RuntimeError,
        "only supports integer dtypes",
    ),
    (lambda: module.nothing, AttributeError, "no attribute 'nothing'"),
]


@pytest.mark.parametrize("case", range(len(_ERRORS)))
def test_error(case: int) -> None:
    call, kind, text = _ERRORS[case]
    with pytest.raises(kind, match=text):
        call()


def test_random_numbers_follow_the_generator() -> None:
    tl.manual_seed(3)
    uniform = prims.uniform([4], low=1, high=3, dtype=tl.float64, device="cpu", stride=[1])
    normal = prims.normal([4], mean=0, std=1, dtype=tl.float64, **OPTIONS)
    tl.manual_seed(3)
    assert uniform.tolist() == tl.empty(4, dtype=tl.float64).uniform_(1, 3).tolist()
    assert normal.tolist() == tl.empty(4, dtype=tl.float64).normal_().tolist()
    assert Tag.nondeterministic_seeded in prims.normal.default.tags
    assert Tag.nondeterministic_seeded not in prims.sin.default.tags


class _Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_modes_see_the_operators() -> None:
    with _Names() as mode:
        prims.sin(X)
        prims.sum(X, [0])
        module.broadcast_in_dim(X, [3, 2, 2], [1, 2])
    assert mode.names == ["prims.sin.default", "prims.sum.default", "prims.broadcast_in_dim.default"]


def test_fakes_and_meta_tensors() -> None:
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(X)
        assert prims.sum(fake, [0]).shape == (2,)
        assert prims.cat([fake, fake], 0).shape == (4, 2)
        assert prims.add(fake, 1.0).dtype == tl.float32
    assert prims.sin(X.to("meta")).device.type == "meta"


def test_operators_by_examples() -> None:
    assert tl.ops.prims.sin.default is module.sin and str(module.sin) == "prims.sin.default"
    assert module.RETURN_TYPE.VIEW != module.RETURN_TYPE.NEW
