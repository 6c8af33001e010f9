"""The layer in which operators choose their precision, without the regions that tl-amp makes of it."""

from __future__ import annotations

import contextlib

import pytest

import tl_core as tl
from tl_core.dispatch.autocast import (
    AutocastSnapshot,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from tl_core.dispatch.autocast_inputs import converted, in_float32, in_own_type
from tl_core.functions import nn as nn_functions


@contextlib.contextmanager
def region(dtype=tl.bfloat16, caches=True):
    before = AutocastSnapshot()
    set_autocast_dtype("cpu", dtype)
    set_autocast_cache_enabled(caches)
    set_autocast_enabled("cpu", True)
    autocast_increment_nesting()
    try:
        yield
    finally:
        autocast_decrement_nesting()
        before.restore()


def ones(dtype, *shape):
    return tl.ones(*shape, dtype=dtype)


# What is called with tensors of a type, and the type of what it gives in a region of bfloat16.
CALLS = {
    "mm": (lambda d: ones(d, 2, 3).mm(ones(d, 3, 2)), tl.bfloat16, tl.bfloat16),
    "a list": (lambda d: tl.cat([ones(d, 2), ones(tl.float32, 1)]), tl.float32, tl.float32),
    "a list of one type": (lambda d: tl.stack([ones(d, 2), ones(d, 2)]), tl.float32, tl.bfloat16),
    "no elements": (lambda d: ones(d, 0, 3) @ ones(d, 3, 2), tl.bfloat16, tl.bfloat16),
    "an optional tensor": (
        lambda d: nn_functions.linear(ones(d, 2, 3), ones(d, 2, 3), None),
        tl.bfloat16,
        tl.bfloat16,
    ),
    "a view of a conversion": (lambda d: tl.view_as_complex(ones(d, 3, 2)), tl.complex64, tl.complex64),
    "several results": (lambda d: tl.linalg.qr(ones(d, 2, 2))[1], tl.float32, tl.float32),
    "strided": (lambda d: ones(d, 4, 6)[::2, ::3] @ ones(d, 2, 2).t(), tl.bfloat16, tl.bfloat16),
    "in place": (lambda d: ones(d, 2, 2).addmm_(ones(d, 2, 2), ones(d, 2, 2)), tl.float32, tl.bfloat16),
    "with out": (
        lambda d: tl.mm(ones(d, 2, 2), ones(d, 2, 2), out=ones(d, 2, 2)),
        tl.float32,
        tl.bfloat16,
    ),
    "no policy": (lambda d: ones(d, 2).exp(), tl.float32, tl.bfloat16),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    call, of_float32, of_bfloat16 = CALLS[name]
    with region():
        assert call(tl.float32).dtype == of_float32
        assert call(tl.bfloat16).dtype == of_bfloat16
    assert call(tl.float32).dtype in (tl.float32, tl.complex64)


@pytest.mark.parametrize("dtype", [tl.float64, tl.int64])
def test_types_that_stay(dtype):
    with region():
        assert (ones(dtype, 2, 2) @ ones(dtype, 2, 2)).dtype == dtype
        assert tl.cat([ones(dtype, 1), ones(dtype, 1)]).dtype == dtype


def test_meta_tensors_of_a_device_without_a_region_stay():
    with region():
        a = tl.empty(2, 2, device="meta")
        assert (a @ a).dtype == tl.float32


def test_errors_leave_the_region_as_it_was():
    with region():
        for _ in range(2):
            with pytest.raises(RuntimeError, match="2x3"):
                ones(tl.float32, 2, 3) @ ones(tl.float32, 2, 3)
        assert (ones(tl.float32, 2, 2) @ ones(tl.float32, 2, 2)).dtype == tl.bfloat16


@pytest.mark.parametrize("caches", [True, False])
def test_parameters(caches):
    weight = tl.Parameter(tl.ones(2, 2), requires_grad=False)
    with region(caches=caches):
        for factor in (1, 2, 3):
            weight.fill_(factor)
            for _ in range(2):
                assert (ones(tl.float32, 1, 2) @ weight).tolist() == [[2 * factor, 2 * factor]]
            clear_autocast_cache()
        with region(tl.float16):
            assert (ones(tl.float32, 1, 2) @ weight).dtype == tl.float16
        assert (ones(tl.float32, 1, 2) @ weight).dtype == tl.bfloat16
        del weight


def test_functions_that_say_their_type():
    kinds = []

    @in_float32
    def wide(x, *, weight=None):
        kinds.append((x.dtype, weight.dtype, (x @ x).dtype))

    @in_own_type
    def own(x):
        kinds.append((x @ x).dtype)

    half = ones(tl.bfloat16, 2, 2)
    with region():
        wide(half, weight=half)
        own(half.float())
    wide(half, weight=half)
    assert kinds == [(tl.float32,) * 3, tl.float32, (tl.bfloat16,) * 3]


def test_conversions():
    source = {"a": [ones(tl.bfloat16, 1), "x"], "b": (ones(tl.float64, 1), 3)}
    result = converted(source, tl.float32, "cpu")
    assert result["a"][0].dtype == tl.float32 and result["a"][1] == "x"
    assert result["b"][0].dtype == tl.float64 and result["b"][1] == 3
    assert converted(source, tl.float32)["a"][0].dtype == tl.bfloat16


def test_a_snapshot():
    with region(tl.float16):
        inside = AutocastSnapshot()
    a = ones(tl.float32, 2, 2)
    with inside.entered():
        assert (a @ a).dtype == tl.float16
    assert (a @ a).dtype == tl.float32


def test_devices_of_other_builds_know_autocast():
    for name, lower in (("mps", tl.float16), ("hpu", tl.bfloat16)):
        assert is_autocast_available(name) and not is_autocast_enabled(name)
        assert get_autocast_dtype(name) == lower
        before = AutocastSnapshot(name)
        set_autocast_enabled(name, True)
        set_autocast_dtype(name, tl.float64)
        assert is_autocast_enabled(name) and get_autocast_dtype(name) == tl.float64
        assert tl.mm(tl.ones(1, 1), tl.ones(1, 1)).dtype == tl.float32
        before.restore()
        assert not is_autocast_enabled(name) and get_autocast_dtype(name) == lower
    assert not is_autocast_available("vulkan")
    with pytest.raises(RuntimeError, match="does not know the device type 'vulkan'"):
        is_autocast_enabled("vulkan")
