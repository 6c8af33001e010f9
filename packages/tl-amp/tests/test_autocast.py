"""Regions that are switched off do nothing; others say that they are not there yet."""

from __future__ import annotations

import pytest

import tl_autograd
import tl_core as tl
from tl_amp import (
    autocast,
    cpu,
    cuda,
    custom_bwd,
    custom_fwd,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
)


def test_a_region_that_is_switched_off():
    with autocast("cpu", enabled=False) as region:
        assert (tl.ones(1, 1) @ tl.ones(1, 1)).dtype == tl.float32
    assert not region.enabled and region.fast_dtype == tl.bfloat16 and region.device == "cpu"

    @autocast("cpu", enabled=False)
    def double(x, times=2):
        """Doubles."""
        return x * times

    assert double(3, times=3) == 9 and double.__name__ == "double"


def test_a_device_that_is_not_there():
    with pytest.warns(UserWarning, match="'cuda' is not available"):
        region = autocast("cuda")
    with region:
        assert not region.enabled and region.fast_dtype == tl.float16
    with pytest.warns(FutureWarning, match="deprecated"):
        cuda.autocast(enabled=False)
    with pytest.warns(FutureWarning, match="deprecated"):
        cpu.autocast(enabled=False)


def test_types_that_are_not_short():
    with pytest.warns(UserWarning, match="torch.float64 is not a type for cpu"):
        assert not autocast("cpu", dtype=tl.float64).enabled
    assert not autocast("cpu", dtype=tl.float32).enabled


def test_what_is_not_there_yet():
    with pytest.raises(NotImplementedError, match="not there yet"), autocast("cpu"):
        pass


def test_what_is_refused():
    with pytest.raises(ValueError, match="must be a str, got int"):
        autocast(3)
    with pytest.raises(RuntimeError, match="'meta'"):
        autocast("meta")
    with pytest.raises(ValueError, match="must be a str, got int"):
        custom_fwd(lambda ctx: None, device_type=3)
    assert [is_autocast_available(kind) for kind in ("cpu", "cuda", "meta")] == [True, True, False]


def test_functions_outside_of_a_region():
    class Square(tl_autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    x = tl.tensor([3.0], requires_grad=True)
    Square.apply(x).backward()
    assert x.grad.tolist() == [6]


def test_no_region_is_on():
    assert not is_autocast_enabled() and not is_autocast_enabled("cpu")
    with autocast("cpu", enabled=False):
        assert not is_autocast_enabled("cpu")
    with pytest.raises(RuntimeError, match="meta"):
        is_autocast_enabled("meta")


def test_types_by_default():
    assert get_autocast_dtype("cpu") is tl.bfloat16 and get_autocast_dtype("cuda") is tl.float16
    with pytest.raises(RuntimeError, match="does not know the device type 'meta'"):
        get_autocast_dtype("meta")
