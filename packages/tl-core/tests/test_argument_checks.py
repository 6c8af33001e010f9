"""Inputs that PyTorch refuses and a kernel could compute with: shapes that widen a result, types, bounds."""

import contextlib
import math
import re

import pytest

import tl_core as tl
from tl_core.functions import nn as _F

np = pytest.importorskip("numpy", reason="the references are numpy's")


@pytest.mark.parametrize(
    ("name", "size", "operands"),
    [
        ("addmm_", (3,), ((3, 3), (3, 3))),
        ("addmm_", (1, 3), ((3, 3), (3, 3))),
        ("addmv_", (1,), ((3, 3), (3,))),
        ("addr_", (3,), ((3,), (3,))),
        ("addbmm_", (3,), ((2, 3, 3), (2, 3, 3))),
        ("baddbmm_", (3, 3), ((2, 3, 3), (2, 3, 3))),
        ("add_", (3,), ((2, 3),)),
        ("addcmul_", (3,), ((2, 3), (3,))),
        ("lerp_", (3,), ((2, 3), (3,))),
    ],
)
def test_operators_in_place_leave_the_shape(name, size, operands):
    x = tl.ones(size)
    arguments = [tl.ones(s) for s in operands]
    with pytest.raises(RuntimeError, match=r"Bad in-place call|doesn't match the broadcast shape"):
        getattr(x, name)(*arguments)
    assert x.shape == size
    assert x.tolist() == tl.ones(size).tolist()


def test_rows_in_place_leave_the_shape():
    """Every operator in place with two tensors, whose second would widen the first."""
    widened = []
    for name in sorted(n for n in dir(tl.Tensor) if n.endswith("_") and not n.startswith("_")):
        if name.startswith(("resize", "set_", "unsqueeze", "squeeze", "swap", "t_", "trans", "as_strided")):
            continue
        x = tl.rand(3)
        with contextlib.suppress(RuntimeError, TypeError, IndexError, ValueError, NotImplementedError):
            getattr(x, name)(tl.rand(2, 3))
        if x.shape != (3,):
            widened.append(name)
    assert widened == []


def test_quotients_of_integers_are_refused():
    for x, y in [(tl.tensor([3]), tl.tensor([2])), (tl.tensor([True]), tl.tensor([2]))]:
        with pytest.raises(RuntimeError, match="Integer division with addcdiv"):
            tl.addcdiv(tl.ones(1), x, y)
    assert tl.addcdiv(tl.ones(1), tl.tensor([3.0]), tl.tensor([2])).tolist() == [2.5]


def test_interpolations_have_one_dtype():
    x = tl.ones(3)
    with pytest.raises(
        RuntimeError, match=re.escape("expected dtype float32 for `end` but got dtype float16")
    ):
        x.lerp(x.half(), 0.5)
    with pytest.raises(RuntimeError, match=re.escape("expected dtype float32 for `weight`")):
        x.lerp(x, x.double())
    assert x.lerp(x + 2, tl.tensor(0.5, dtype=tl.float64)).tolist() == [2.0, 2.0, 2.0]


def test_complex_numbers_have_no_modulus_in_place():
    z = tl.tensor([3 + 4j])
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        z.abs_()
    assert z.tolist() == [3 + 4j]
    assert tl.tensor([-1.0]).abs_().tolist() == [1.0]


def test_bounds_of_hardtanh():
    crossed = tl.ops.aten.hardtanh(tl.tensor([5.0, -5.0, 1.5, math.nan]), 2.0, 1.0)
    np.testing.assert_array_equal(crossed.numpy(), [1.0, 1.0, 1.0, math.nan])  # min(max(x, 2), 1)
    with pytest.raises(RuntimeError, match="cannot do hardtanh on an unsigned type with negative limits"):
        tl.ops.aten.hardtanh(tl.tensor([5], dtype=tl.uint8), -1, 1)


def test_norms_are_not_computed_in_narrower_types():
    vector_norm = tl.linalg.vector_norm
    for x, dtype, message in [
        (tl.ones(3), tl.float16, "convertible without narrowing"),
        (tl.ones(3).half(), tl.bfloat16, "convertible without narrowing"),
        (tl.ones(3), tl.complex64, "should be real for real inputs"),
        (tl.ones(3) + 0j, tl.float32, "should be complex for complex inputs"),
        (tl.ones(3), tl.int64, "should be floating point or complex"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            vector_norm(x, dtype=dtype)
    assert vector_norm(tl.ones(4).half(), dtype=tl.float64).item() == 2.0


def test_vecdot_of_numbers_and_of_other_types():
    vecdot = tl.linalg.vecdot
    assert vecdot(tl.tensor(3.0), tl.tensor(2.0)).item() == 6.0
    assert vecdot(tl.tensor(2.0), tl.tensor([2.0, 1.0])).item() == 6.0
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor"):
        vecdot(tl.tensor([1]), tl.tensor([2]))
    with pytest.raises(RuntimeError, match="Expected x and y to have the same dtype"):
        vecdot(tl.ones(3), tl.ones(3).double())


def test_losses_keep_the_shape_of_their_input():
    half = tl.full((2,), 0.5)
    for weight in (tl.ones(3, 2), tl.ones(1, 2)):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            _F.binary_cross_entropy(half, half, weight)
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            _F.binary_cross_entropy_with_logits(half, half, weight)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        _F.binary_cross_entropy_with_logits(half, half, pos_weight=tl.ones(3, 1))
    one = _F.binary_cross_entropy(half, half, tl.full((1,), 2.0))
    assert one.item() == pytest.approx(2 * math.log(2))


def test_losses_refuse_numbers_outside_of_their_domain():
    half = tl.full((2,), 0.5)
    for bad in (tl.tensor([0.5, 2.0]), tl.tensor([0.5, math.nan]), tl.tensor([-0.1, 0.0])):
        with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
            _F.binary_cross_entropy(half, bad)
        with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
            _F.binary_cross_entropy(bad, half)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        _F.binary_cross_entropy(tl.tensor([1]), tl.tensor([1]))
    with pytest.raises(RuntimeError, match="kl_div: Integral inputs not supported"):
        _F.kl_div(tl.tensor([1]), tl.tensor([1]))
    with pytest.raises(RuntimeError, match="huber_loss does not support non-positive values"):
        _F.huber_loss(half, half, delta=math.nan)
    with pytest.raises(RuntimeError, match="eps must be non-negative"):
        _F.cosine_similarity(half, half, 0, -1.0)
    with pytest.raises(RuntimeError, match="without overflow"):
        tl.celu(half, 1j)


def test_biases_do_not_widen_products():
    x, weight = tl.ones(4, 3), tl.ones(2, 3)
    linear = _F.linear
    for bias in (tl.ones(3, 4, 2), tl.ones(5, 1, 2)):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            linear(x, weight, bias)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        linear(tl.ones(3), weight, tl.ones(2, 2))
    assert linear(tl.ones(3), weight, tl.ones(1, 2)).tolist() == [4.0, 4.0]
    assert linear(x, weight, tl.ones(4, 1)).tolist() == [[4.0, 4.0]] * 4
    assert linear(x, weight, tl.tensor(1.0)).tolist() == [[4.0, 4.0]] * 4


def test_distances_of_samples_are_real():
    for name in ("trapezoid", "cumulative_trapezoid"):
        with pytest.raises(RuntimeError, match="only support dx as a real number"):
            getattr(tl, name)(tl.ones(3), dx=1j)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_powers_of_two_scale_exactly(dtype):
    """NumPy's ldexp in double precision, rounded once; scales beyond a type's range still give numbers within it."""
    x = tl.tensor([1.0, -1.5, 3.0, 0.0, math.inf, math.nan, 2.0**-14], dtype=getattr(tl, dtype))
    for power in (0, 1, -3, 10, 126, -126, 200, -140, 1000, -1020):
        got = tl.ldexp(x, tl.tensor(power))
        assert got.dtype == x.dtype
        with np.errstate(over="ignore", under="ignore"):
            exact = tl.from_numpy(np.ldexp(x.double().numpy(), power)).to(x.dtype)
        np.testing.assert_array_equal(got.double().numpy(), exact.double().numpy())


def test_powers_of_two_bring_small_numbers_back():
    assert tl.ldexp(tl.tensor([2.0**-100]), tl.tensor([200])).tolist() == [2.0**100]
    tiny = tl.tensor([5e-324], dtype=tl.float64)
    assert tl.ldexp(tiny, tl.tensor([2097])).tolist() == [2.0**1023]
    assert tl.ldexp(tl.tensor([1.0], dtype=tl.float64), tl.tensor([-1050])).tolist() == [2.0**-1050]
    assert tl.ldexp(tl.tensor([2, 4]), tl.tensor([1, 2])).dtype == tl.float32


def test_histograms_of_nothing_reach_from_0_to_1():
    hist, edges = tl.histogram(tl.empty(0), 4)
    assert hist.tolist() == [0.0] * 4
    np.testing.assert_array_equal(edges.numpy(), np.histogram(np.empty(0), 4)[1].astype(np.float32))


def test_blocks_have_the_dtype_of_all():
    assert tl.block_diag(tl.tensor(1.0, dtype=tl.float64), tl.ones(3, 1)).dtype == tl.float32
    assert tl.block_diag(tl.tensor(1), tl.tensor(1.5, dtype=tl.float64)).dtype == tl.float64
    assert tl.block_diag(tl.tensor([1]), tl.tensor([True])).dtype == tl.int64


def test_integers_take_no_fractions_in_place():
    """Every method in place whose result is a fraction, on integers."""
    for name in sorted(n for n in dir(tl.Tensor) if n.endswith("_") and not n.startswith("_")):
        for arguments in ((), (2,), (0.5,), (tl.tensor([0.5, 0.5, 0.5]),)):
            x = tl.tensor([2, 3, 1])
            try:
                result = getattr(x, name[:-1])(*arguments)
            except (AttributeError, RuntimeError, TypeError, IndexError, ValueError, NotImplementedError):
                continue
            if not isinstance(result, tl.Tensor) or not result.dtype.is_floating_point:
                continue
            with pytest.raises((RuntimeError, NotImplementedError)):
                getattr(x, name)(*arguments)


@pytest.mark.parametrize("name", ["isposinf", "isneginf", "signbit"])
@pytest.mark.parametrize("dtype", [tl.uint8, tl.float32, tl.complex64])
def test_answers_of_yes_or_no_take_a_bool_output(name, dtype):
    x = tl.tensor([1.0, -float("inf")])
    with pytest.raises(RuntimeError, match="does not support non-boolean outputs"):
        getattr(tl, name)(x, out=tl.empty(2, dtype=dtype))
    assert getattr(tl, name)(x, out=tl.empty(2, dtype=tl.bool)).tolist() == [False, name != "isposinf"]


@pytest.mark.parametrize("dtype", [tl.float64, tl.int32])
def test_a_mantissa_has_the_type_of_the_number(dtype):
    with pytest.raises(RuntimeError, match="expects mantissa to have dtype Float"):
        tl.frexp(tl.tensor([1.5]), out=(tl.empty(1, dtype=dtype), tl.empty(1, dtype=tl.int32)))


def test_values_at_indices_have_the_type_of_the_tensor():
    x = tl.zeros(3, dtype=tl.float64)
    for index in ([0, 1], tl.tensor([True, True, False]), (None, [0, 1])):
        with pytest.raises(RuntimeError, match="source and destination dtypes match"):
            x[index] = tl.tensor([1, 2])
    assert x.tolist() == [0, 0, 0]
