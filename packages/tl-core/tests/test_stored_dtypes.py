"""Element types that are only stored: packed floats, bits, quantized and narrow integers."""

from __future__ import annotations

import pickle

import pytest

import tl_core as tl

BITS = ["bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"]
QUANTIZED = ["quint8", "qint8", "qint32", "quint4x2", "quint2x4"]
NARROW = [f"{sign}int{n}" for sign in ("u", "") for n in range(1, 8)]
PACKED = "float4_e2m1fn_x2"
ALL = [PACKED, *BITS, *QUANTIZED, *NARROW]
SIZES = {"bits16": 2, "qint32": 4}
of_all = pytest.mark.parametrize("name", ALL)


def stored(name, n=4):
    dtype = getattr(tl, name)
    return tl.arange(n * dtype.itemsize).to(tl.uint8).view(dtype)


@of_all
def test_the_type_itself(name):
    dtype = getattr(tl, name)
    assert repr(dtype) == f"torch.{name}"
    assert dtype.itemsize == SIZES.get(name, 1)
    assert dtype.is_floating_point == (name == PACKED)
    assert not dtype.is_complex
    assert dtype.to_real() is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for"):
        dtype.to_complex()
    assert tl.promote_types(dtype, dtype) is dtype
    with pytest.raises(RuntimeError, match=r"[Pp]romot"):
        tl.promote_types(dtype, tl.float32)
    with pytest.raises(RuntimeError, match=r"[Pp]romot"):
        tl.promote_types(tl.int8, dtype)


def test_signs():
    assert tl.float4_e2m1fn_x2.is_signed
    assert tl.int3.is_signed
    assert not tl.uint3.is_signed
    for name in BITS + QUANTIZED:
        with pytest.raises(RuntimeError, match="is_signed"):
            assert getattr(tl, name).is_signed


@of_all
def test_memory_geometry_and_text(name):
    x = stored(name)
    raw = x.view(tl.uint8)
    assert x.shape == (4,)
    assert x.reshape(2, 2).t().shape == (2, 2)
    assert x[1:].view(tl.uint8).tolist() == raw[x.itemsize :].tolist()
    assert tl.cat([x, x]).view(tl.uint8).tolist() == raw.tolist() * 2
    assert not any(tl.zeros(3, dtype=x.dtype).view(tl.uint8).tolist())
    assert not any(tl.empty_like(x).zero_().view(tl.uint8).tolist())
    assert tl.empty(2, dtype=x.dtype, device="meta").shape == (2,)
    assert repr(x) == f"tensor(..., size=(4,), dtype=torch.{name})"


@pytest.mark.parametrize("name", [PACKED, *BITS, *QUANTIZED])
def test_copies(name):
    x = stored(name)
    for copy in (
        x.clone(),
        tl.empty_like(x).copy_(x),
        pickle.loads(pickle.dumps(x)),
        x.reshape(2, 2).t().contiguous(),
    ):
        assert copy.dtype is x.dtype
        assert sorted(copy.view(tl.uint8).flatten().tolist()) == x.view(tl.uint8).tolist()


@pytest.mark.parametrize("name", NARROW)
def test_narrow_integers_are_not_copied(name):
    with pytest.raises(NotImplementedError, match='"copy_kernel" not implemented for'):
        stored(name).clone()


@of_all
def test_operators_and_conversions_are_refused(name):
    x = stored(name)
    for call in (
        lambda: x + 1,
        lambda: x + x,
        lambda: x == x,
        lambda: x.sum(),
        lambda: x.float(),
        lambda: tl.ones(4).to(x.dtype),
        lambda: x.fill_(1),
        lambda: tl.ones(2, dtype=x.dtype),
        lambda: x.item() if x.numel() == 1 else x[0].item(),
        lambda: tl.arange(3, dtype=x.dtype),
        lambda: tl.rand(3, dtype=x.dtype),
        lambda: tl.ones(2).sum(dtype=x.dtype),
        lambda: x.sort(),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call()
    with pytest.raises(RuntimeError, match="are not numbers"):
        x.tolist()
    with pytest.raises(RuntimeError, match="are not numbers"):
        tl.tensor([1], dtype=x.dtype)


@of_all
def test_arrays_are_refused(name):
    pytest.importorskip("numpy", reason="arrays are numpy's")
    with pytest.raises(TypeError, match="unsupported ScalarType"):
        stored(name).numpy()


@of_all
def test_dlpack(name):
    x = stored(name)
    if name == PACKED:
        assert tl.from_dlpack(x).dtype is x.dtype
        return
    with pytest.raises(BufferError, match=f"the type {name} is not supported"):
        tl.to_dlpack(x)


def test_limits():
    assert (tl.iinfo(tl.quint8).min, tl.iinfo(tl.quint8).max) == (0, 255)
    assert (tl.iinfo(tl.qint32).min, tl.iinfo(tl.qint32).max) == (-(2**31), 2**31 - 1)
    for n in range(1, 8):
        signed, unsigned = tl.iinfo(getattr(tl, f"int{n}")), tl.iinfo(getattr(tl, f"uint{n}"))
        assert (signed.min, signed.max, signed.bits) == (-(2 ** (n - 1)), 2 ** (n - 1) - 1, n)
        assert (unsigned.min, unsigned.max) == (0, 2**n - 1)
    for name in (*BITS, "quint4x2", "quint2x4", PACKED):
        with pytest.raises(TypeError, match="requires an integer input type"):
            tl.iinfo(getattr(tl, name))
    packed = tl.finfo(tl.float4_e2m1fn_x2)
    assert (packed.max, packed.min, packed.eps, packed.tiny, packed.bits) == (6, -6, 0.5, 1, 4)


@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
)
def test_limits_of_float8_are_among_its_numbers(name):
    info = tl.finfo(getattr(tl, name))
    numbers = [
        x for x in tl.arange(256).to(tl.uint8).view(getattr(tl, name)).tolist() if abs(x) < float("inf")
    ]
    assert info.max == max(numbers)
    assert info.min == min(numbers)
    assert info.eps == min(x for x in numbers if x > 1) - 1
    assert info.bits == 8
    assert info.tiny in numbers


def test_complex_types_of_one_precision():
    for dtype in (tl.int64, tl.bool, tl.uint16):
        with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for"):
            dtype.to_complex()
    assert tl.bfloat16.to_complex() is tl.complex64
