"""numerics() stops at the operator that makes a nan or an infinity, and at no other."""

import math

import pytest

import tl_core as tl
from tl_core import _C


def test_the_first_operator_is_named_with_its_inputs():
    with tl.numerics(nan="raise", inf="raise"):
        a = tl.tensor([[1.0, 2.0], [3.0, -4.0]])
        with pytest.raises(RuntimeError) as caught:
            a.exp().log().sqrt() + 1
    text = str(caught.value)
    assert text.startswith(
        "numerics: sqrt made nan at position (1, 1): 1 of the 4 elements of its result, shape (2, 2)"
    )
    assert "input 0: shape (2, 2), torch.float32, min -4, max 3, mean 0.5" in text


def test_each_kind_alone():
    zero = tl.zeros(1)
    with tl.numerics(nan="raise"):
        assert (1 / zero).item() == math.inf
        with pytest.raises(RuntimeError, match=r"div.* made nan"):
            zero / zero
    with tl.numerics(inf="raise"):
        assert math.isnan((zero / zero).item())
        with pytest.raises(RuntimeError, match="made inf"):
            1 / zero


def test_numbers_that_were_there_pass():
    bad = tl.tensor([math.nan, math.inf, -math.inf])
    with tl.numerics(nan="raise", inf="raise"):
        bad + 1
        bad.clone().add_(1)
        tl.full((2,), math.inf)
        tl.tensor([math.nan])
        tl.ones(2).masked_fill(tl.tensor([True, False]), -math.inf)
        tl.empty(100_000), tl.empty_like(bad)
        with pytest.raises(RuntimeError, match="made nan"):
            bad[1:] - bad[1:]


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.float64, tl.complex64])
def test_types_and_forms(dtype):
    one, zero = tl.ones(3, dtype=dtype), tl.zeros(3, dtype=dtype)
    with tl.numerics(nan="raise", inf="raise"):
        for call in (
            lambda: one / zero,
            lambda: one.clone().div_(zero),
            lambda: tl.div(one, zero, out=tl.empty_like(one)),
        ):
            with pytest.raises(
                RuntimeError, match=r"numerics: div_?\.\w+ made (inf|nan) at position \(0,\): 3 of the 3"
            ):
                call()


def test_it_ends_with_its_block_and_stays_without_one():
    zero = tl.zeros(1)
    with tl.numerics(nan="raise"):
        with tl.numerics(nan="ignore"):
            zero / zero
        with pytest.raises(RuntimeError):
            zero / zero
        assert repr(tl.numerics()) == "numerics(nan='raise', inf='ignore')"
    zero / zero
    assert _C._observe(None, None) == (False, False)
    tl.numerics(inf="raise")
    with pytest.raises(RuntimeError):
        1 / zero
    tl.numerics(inf="ignore")
    1 / zero
    with pytest.raises(ValueError, match="'inf' must be 'raise' or 'ignore', got 'halt'"):
        tl.numerics(inf="halt")


def test_conjugates_are_looked_at():
    with tl.numerics(nan="raise"):
        assert (tl.tensor([1 + 1j]).conj() * 2).tolist() == [2 - 2j]
