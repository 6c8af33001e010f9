"""The switches of a program that must be deterministic, and what they put into uninitialized memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

import tl_core as tl
from tl_core.settings import uninitialized_fill

LARGEST = {
    tl.bool: True,
    tl.uint8: 2**8 - 1,
    tl.int8: 2**7 - 1,
    tl.uint16: 2**16 - 1,
    tl.int16: 2**15 - 1,
    tl.uint32: 2**32 - 1,
    tl.int32: 2**31 - 1,
    tl.uint64: 2**64 - 1,
    tl.int64: 2**63 - 1,
}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    tl.use_deterministic_algorithms(False)
    uninitialized_fill.fill_uninitialized_memory = True


def test_the_forms_of_the_switch() -> None:
    assert not tl.are_deterministic_algorithms_enabled()
    tl.use_deterministic_algorithms(True)
    assert tl.are_deterministic_algorithms_enabled()
    assert not tl.is_deterministic_algorithms_warn_only_enabled()
    assert tl.get_deterministic_debug_mode() == 2
    tl.use_deterministic_algorithms(True, warn_only=True)
    assert tl.is_deterministic_algorithms_warn_only_enabled()
    for number, word in enumerate(("default", "warn", "error")):
        tl.set_deterministic_debug_mode(word)
        assert tl.get_deterministic_debug_mode() == number
        tl.set_deterministic_debug_mode(2 - number)
        assert tl.get_deterministic_debug_mode() == 2 - number


def test_wrong_modes() -> None:
    with pytest.raises(RuntimeError, match="`default`, `warn`, `error`, but got loud"):
        tl.set_deterministic_debug_mode("loud")
    with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 3"):
        tl.set_deterministic_debug_mode(3)
    with pytest.raises(TypeError, match="must be str or int"):
        tl.set_deterministic_debug_mode(1.0)


@pytest.mark.parametrize("dtype", LARGEST, ids=str)
def test_integers_hold_the_largest(dtype: tl.dtype) -> None:
    tl.use_deterministic_algorithms(True)
    assert tl.empty(2, 3, dtype=dtype).tolist() == [[LARGEST[dtype]] * 3] * 2


@pytest.mark.parametrize(
    "dtype", [tl.float16, tl.bfloat16, tl.float32, tl.float64, tl.complex64, tl.complex128], ids=str
)
def test_floats_hold_nan(dtype: tl.dtype) -> None:
    tl.use_deterministic_algorithms(True)
    result = [
        tl.empty(3, dtype=dtype),
        tl.empty(1, 3, 2, 2, dtype=dtype, memory_format=tl.channels_last),
        tl.empty_strided((2, 2), (1, 3), dtype=dtype),
        tl.empty_permuted((2, 3), (1, 0), dtype=dtype),
        tl.empty_like(tl.zeros(4, dtype=dtype)),
    ]
    assert all(bool(t.isnan().all()) for t in result)


def test_what_is_written_stays() -> None:
    tl.use_deterministic_algorithms(True)
    assert tl.zeros(2).tolist() == [0, 0]
    assert tl.zeros_like(tl.ones(2)).tolist() == [0, 0]
    assert tl.empty(0).tolist() == []
    assert tl.empty(3, device="meta").shape == (3,)
    t = tl.arange(3.0)
    t.resize_(5)
    assert t[:3].tolist() == [0, 1, 2]
    assert all(map(math.isnan, t[3:].tolist()))
    assert t.resize_(2).tolist() == [0, 1]
    assert t.resize_(5)[:3].tolist() == [0, 1, 2]
    base = tl.zeros(4)
    wide = base[2:3].expand(10)  # more elements than lie behind the offset
    assert wide.resize_(10).tolist() == [0] * 10 and base.tolist() == [0] * 4


def test_filling_can_be_left_out() -> None:
    uninitialized_fill.fill_uninitialized_memory = False
    tl.use_deterministic_algorithms(True)
    t = tl.zeros(3)
    assert t.resize_(4)[:3].tolist() == [0, 0, 0]
    assert not uninitialized_fill.fill_uninitialized_memory
    with pytest.raises(TypeError, match="takes bool"):
        uninitialized_fill.fill_uninitialized_memory = "yes"


def test_precision_of_products() -> None:
    assert tl.get_float32_matmul_precision() == "highest"
    tl.set_float32_matmul_precision("high")
    assert tl.get_float32_matmul_precision() == "high"
    with pytest.warns(UserWarning, match="'exact' is not one of"):
        tl.set_float32_matmul_precision("exact")
    assert tl.get_float32_matmul_precision() == "high"
    tl.set_float32_matmul_precision("highest")


def test_warnings_each_time_are_only_remembered() -> None:
    assert not tl.is_warn_always_enabled()
    tl.set_warn_always(True)
    assert tl.is_warn_always_enabled()
    tl.set_warn_always(False)
    with pytest.raises(TypeError, match="takes bool, got int"):
        tl.set_warn_always(1)


def test_warn_only_is_remembered_while_there_is_no_demand():
    try:
        for mode in (True, False):
            for warn_only in (True, False):
                tl.use_deterministic_algorithms(mode, warn_only=warn_only)
                assert tl.are_deterministic_algorithms_enabled() is mode
                assert tl.is_deterministic_algorithms_warn_only_enabled() is warn_only
        with pytest.raises(TypeError, match=r"argument 'mode' \(position 1\) must be bool, not int"):
            tl.use_deterministic_algorithms(1)
        with pytest.raises(TypeError, match="argument 'warn_only' must be bool, not int"):
            tl.use_deterministic_algorithms(False, warn_only=1)
    finally:
        tl.use_deterministic_algorithms(False)
