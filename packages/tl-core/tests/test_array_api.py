"""The Array API namespace: what differs from tl's own functions, with numpy and the standard's text as references."""

from __future__ import annotations

import math

import pytest

import tl_core as tl
from tl_core import array_api as xp
from tl_core.array_api import info as info_of_namespace
from tl_core.array_api import promotion, searching

np = pytest.importorskip("numpy", reason="the references are numpy's")


def test_tensors_name_their_namespace():
    x = tl.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2021.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="1999.01")


def test_to_device():
    x = tl.ones(2)
    assert x.to_device("cpu") is x
    assert x.to_device(tl.device("meta")).is_meta
    with pytest.raises(ValueError, match="there are no streams"):
        x.to_device("cpu", stream=1)


def test_every_name_of_the_standard_is_there():
    for name in xp.__all__:
        assert getattr(xp, name) is not None or name == "newaxis"
    for name in xp.linalg.__all__ + xp.fft.__all__:
        assert getattr(xp.linalg, name, None) or getattr(xp.fft, name)


def test_what_a_program_may_ask():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.default_device() == tl.device("cpu")
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["complex floating"] is tl.complex64
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32", "float64"]
    assert len(info.dtypes()) == 13


def test_arrays_without_dimensions_are_promoted_as_all_others():
    wide = tl.tensor(300, dtype=tl.int16)
    narrow = tl.tensor([1], dtype=tl.int8)
    assert xp.add(narrow, wide).tolist() == [301]
    assert (narrow + wide).dtype is tl.int8
    assert xp.result_type(narrow, wide) is tl.int16
    assert xp.result_type(narrow, 5) is tl.int8
    assert xp.result_type(tl.float32, 1j) is tl.complex64
    assert xp.equal(tl.tensor([44], dtype=tl.uint8), wide).tolist() == [False]
    with pytest.raises(ValueError, match="at least one array"):
        xp.result_type(1, 2)


def test_kinds_and_limits():
    assert xp.isdtype(tl.uint8, "unsigned integer")
    assert not xp.isdtype(tl.bool, "numeric")
    assert xp.isdtype(tl.int8, (tl.int16, "integral"))
    with pytest.raises(ValueError, match="kind must be one of"):
        xp.isdtype(tl.int8, "whole")
    with pytest.raises(TypeError, match="kind must be a dtype"):
        xp.isdtype(tl.int8, 3)
    assert xp.finfo(tl.ones(1)).dtype is tl.float32
    assert xp.iinfo(tl.int8).min == -128
    assert xp.can_cast(tl.int8, tl.int16)
    assert not xp.can_cast(tl.uint64, tl.int64)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "all", "any"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_those_of_numpy(name, axis, keepdims):
    array = np.arange(24.0).reshape(2, 3, 4) % 7
    result = getattr(xp, name)(tl.from_numpy(array), axis=axis, keepdims=keepdims)
    assert np.allclose(result.numpy(), getattr(np, name)(array, axis=axis, keepdims=keepdims))


def test_reductions_of_integers_and_wrong_axes():
    assert xp.sum(tl.ones(3, dtype=tl.uint8)).dtype is tl.uint64
    assert xp.prod(tl.ones(3, dtype=tl.int16)).dtype is tl.int64
    assert xp.sum(tl.ones(3), dtype=tl.float64).dtype is tl.float64
    assert xp.var(tl.tensor([1.0, 2.0, 4.0]), correction=0.5).item() == pytest.approx(
        np.var([1, 2, 4]) * 3 / 2.5
    )
    assert math.isnan(xp.var(tl.tensor([1.0]), correction=1))
    for axis in (2, (0, 0), (0, -2)):
        with pytest.raises(IndexError):
            xp.sum(tl.ones(2, 2), axis=axis)


def test_running_sums():
    x = tl.tensor([[1, 2], [3, 4]])
    assert xp.cumulative_sum(x, axis=1, include_initial=True).tolist() == [[0, 1, 3], [0, 3, 7]]
    assert xp.cumulative_prod(x, axis=0).tolist() == [[1, 2], [3, 8]]
    with pytest.raises(ValueError, match="axis is needed"):
        xp.cumulative_sum(x)


def test_sets():
    x = tl.tensor([[3.0, math.nan], [1.0, 3.0], [math.nan, 1.0]])
    values, indices, inverse, counts = xp.unique_all(x)
    assert values.tolist()[:2] == [1, 3]
    assert all(map(math.isnan, values.tolist()[2:]))
    assert counts.tolist() == [2, 2, 1, 1]
    assert indices.tolist() == [2, 0, 1, 4]
    assert inverse.shape == x.shape
    assert tl.equal(values[inverse].nan_to_num(9), x.nan_to_num(9))
    z = tl.tensor([1j, 1, 1j, -1])
    assert xp.unique_values(z).tolist() == [-1, 1j, 1]
    assert xp.unique_counts(tl.empty(0)).counts.tolist() == []


def test_moved_and_joined():
    x = tl.arange(6).reshape(2, 3)
    assert xp.concat([x, x[:1].to(tl.float32)], axis=None).dtype is tl.float32
    assert xp.stack([x, x], axis=2).shape == (2, 3, 2)
    assert xp.flip(x).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert xp.roll(x, (1, 1), axis=(0, 1)).tolist() == np.roll(x.numpy(), (1, 1), (0, 1)).tolist()
    assert xp.repeat(x, tl.tensor([1, 2]), axis=0).shape == (3, 3)
    assert xp.reshape(x, (3, 2), copy=False).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (3, 2), copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="isn't possible without a copy"):
        xp.reshape(x.T, (6,), copy=False)
    with pytest.raises(ValueError, match="expected one"):
        xp.squeeze(x, 0)


def test_found():
    x = tl.tensor([[5, 6, 7]])
    assert xp.take(x, tl.tensor([-1, 0]), axis=1).tolist() == [[7, 5]]
    assert xp.take_along_axis(x, tl.tensor([[2]]), axis=1).tolist() == [[7]]
    assert xp.searchsorted(tl.tensor([3, 1]), tl.tensor([2]), sorter=tl.tensor([1, 0])).tolist() == [1]
    assert xp.argmax(x, axis=1, keepdims=True).tolist() == [[2]]
    with pytest.raises(ValueError, match="without dimensions"):
        xp.nonzero(tl.tensor(1))
    with pytest.raises(ValueError, match="axis is needed"):
        xp.take(x, tl.tensor([0]))


def test_made():
    assert xp.arange(3, 1).shape == (0,)
    assert xp.linspace(0, 4, 4, endpoint=False).tolist() == [0, 1, 2, 3]
    assert xp.eye(2, 3, k=-1).tolist() == [[0, 0, 0], [1, 0, 0]]
    assert xp.eye(2, k=5).sum() == 0
    assert [g.shape for g in xp.meshgrid(tl.ones(2), tl.ones(3))] == [(3, 2), (3, 2)]
    assert xp.asarray([1, 2], dtype=tl.float32).dtype is tl.float32
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1], copy=False)


@pytest.mark.parametrize(
    ("name", "x", "real", "imag"),
    [
        ("sinh", complex(0, math.inf), 0, math.nan),
        ("sinh", complex(math.inf, math.nan), math.inf, math.nan),
        ("cosh", complex(0, math.nan), math.nan, 0),
        ("cosh", complex(math.inf, 0), math.inf, 0),
        ("tanh", complex(math.inf, 2), 1, 0),
        ("tanh", complex(0, math.inf), 0, math.nan),
        ("expm1", complex(-math.inf, math.nan), -1, 0),
        ("expm1", complex(math.inf, 0), math.inf, 0),
        ("expm1", complex(-1e5, math.inf), math.nan, math.nan),
    ],
)
def test_complex_special_cases(name, x, real, imag):
    for dtype in (tl.complex64, tl.complex128):
        result = getattr(xp, name)(tl.tensor([x], dtype=dtype)).item()
        assert np.array_equal([result.real, result.imag], [real, imag], equal_nan=True)


def test_complex_functions_elsewhere_are_tls_own():
    x = tl.tensor([0.5 + 1j, -2 - 3j])
    for name in ("sinh", "cosh", "tanh", "expm1"):
        assert tl.equal(getattr(xp, name)(x), getattr(tl, name)(x))


def test_real_special_cases():
    inf = tl.tensor([math.inf, -math.inf])
    assert xp.floor_divide(inf, 2.0).tolist() == [math.inf, -math.inf]
    assert math.copysign(1, xp.remainder(tl.tensor([-0.0]), 3.0).item()) == 1
    assert math.isnan(xp.sign(tl.tensor(math.nan)))
    assert xp.round(tl.tensor([1.5 + 2.5j])).tolist() == [2 + 2j]
    assert xp.ceil(tl.tensor([3])).tolist() == [3]
    assert xp.clip(tl.tensor([1, 200], dtype=tl.uint8), None, 1000).tolist() == [1, 200]
    assert xp.where(tl.tensor([True, False]), 1.5, 2).tolist() == [1.5, 2]


def test_linear_algebra():
    a = tl.tensor([[2.0, 0.0], [0.0, 4.0]])
    assert xp.linalg.solve(a, tl.ones(2)).tolist() == [0.5, 0.25]
    assert xp.vecdot(tl.tensor([1j, 1]), tl.tensor([1j, 1])).item() == 2
    with pytest.raises(ValueError, match="axis must be negative"):
        xp.vecdot(tl.ones(2), tl.ones(2), axis=0)
    assert xp.linalg.vector_norm(tl.tensor([[3.0, 4.0]]), axis=(0, 1), keepdims=True).tolist() == [[5]]
    assert xp.linalg.trace(tl.ones(2, 2, dtype=tl.uint8)).dtype is tl.uint64
    assert xp.linalg.cross(tl.tensor([1, 0, 0]), tl.tensor([[0, 1, 0]])).tolist() == [[0, 0, 1]]
    with pytest.raises(ValueError, match="must have 3 elements"):
        xp.linalg.cross(tl.ones(2), tl.ones(2))
    assert xp.tensordot(tl.ones(2, 3), tl.ones(3, 2), axes=1).shape == (2, 2)


def test_unsigned_integers_are_searched_for():
    for dtype, most in ((tl.uint16, 2**16 - 1), (tl.uint32, 2**32 - 1), (tl.uint64, 2**64 - 1)):
        line = tl.tensor([0, 5, most], dtype=dtype)
        assert xp.searchsorted(line, tl.tensor([most, 4, 5], dtype=dtype)).tolist() == [2, 1, 1]


def test_axes():
    x = np.arange(6).reshape(2, 3)
    t = tl.tensor(x)
    assert xp.matrix_transpose(t).tolist() == x.T.tolist()
    assert xp.permute_dims(t, (1, 0)).tolist() == x.transpose(1, 0).tolist()
    assert xp.expand_dims(t, 1).tolist() == np.expand_dims(x, 1).tolist()
    assert [part.tolist() for part in xp.unstack(t, axis=1)] == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(IndexError):
        xp.expand_dims(t, 4)


def test_unique_inverse():
    x = np.array([5, 3, 5, 7, 3])
    values, inverse = np.unique(x, return_inverse=True)
    result = xp.unique_inverse(tl.tensor(x))
    assert isinstance(result, searching.UniqueInverse) and result._fields == ("values", "inverse_indices")
    assert result.values.tolist() == values.tolist() and result.inverse_indices.tolist() == inverse.tolist()
    assert isinstance(xp.unique_counts(tl.tensor(x)), searching.UniqueCounts)
    assert xp.unique_counts(tl.tensor(x)).counts.tolist() == [2, 2, 1]
    everything = xp.unique_all(tl.tensor(x))
    assert isinstance(everything, searching.UniqueAll) and everything.indices.tolist() == [1, 0, 3]


def test_limits_of_types():
    single, byte = xp.finfo(tl.float32), xp.iinfo(tl.int8)
    assert isinstance(single, promotion.FloatInfo) and isinstance(byte, promotion.IntInfo)
    assert (single.bits, single.eps, single.max) == (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127)
    assert (single.min, single.smallest_normal) == (-single.max, 2.0**-126)
    assert (byte.bits, byte.max, byte.min) == (8, 127, -128)


def test_namespace_info():
    info = info_of_namespace.NamespaceInfo()
    assert info.capabilities()["boolean indexing"] and info.default_device() == tl.device("cpu")
    assert info.default_dtypes()["complex floating"] is tl.complex64
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert set(info.dtypes(kind="bool")) == {"bool"}
