"""Private operators of PyTorch that libraries call: packed linear layers, scales of losses, slices put back."""

from __future__ import annotations

import warnings

import pytest

import tl_core as tl
from tl_core.compat import fbgemm
from tl_core.compat.ordered_set import OrderedSet
from tl_core.functions import loss_scale
from tl_core.functions import private as functions


@pytest.mark.filterwarnings("ignore:fbgemm")
def test_packed_linear_layers():
    x, w, b = tl.randn(5, 16), tl.randn(4, 16), tl.randn(4)
    packed = fbgemm.fbgemm_pack_gemm_matrix_fp16(w)
    assert tl.allclose(fbgemm.fbgemm_linear_fp16_weight(x, packed, b), x @ w.half().float().t() + b)
    numbers, sums, scale, zero = fbgemm.fbgemm_linear_quantize_weight(w)
    assert numbers.dtype is tl.int8 and ((numbers.float() - zero) * scale - w).abs().max() <= scale / 2 + 1e-6
    assert sums.tolist() == (numbers.long().sum(1) - 16 * zero).tolist()
    packed = fbgemm.fbgemm_pack_quantized_matrix(numbers)
    y = fbgemm.fbgemm_linear_int8_weight(x, numbers, packed, sums, scale, zero, b)
    assert (y - (x @ w.t() + b)).abs().max() < 0.3
    with pytest.raises(RuntimeError, match="do not fit a weight"):
        fbgemm.fbgemm_linear_fp16_weight(x[:, :3], packed.half(), b)


def test_packing_warns():
    with warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("always")
        fbgemm.fbgemm_pack_gemm_matrix_fp16(tl.full((1, 1), 1e6))
    assert "deprecated" in str(result[0].message)


def test_the_scale_of_losses():
    gradients = [tl.ones(2) * 4, tl.ones(3, dtype=tl.float64)]
    infinite = tl.zeros(())
    loss_scale._amp_foreach_non_finite_check_and_unscale_(gradients, infinite, tl.tensor(0.5))
    assert gradients[0].tolist() == [2, 2] and infinite.item() == 0
    gradients[1][1] = float("inf")
    loss_scale._amp_foreach_non_finite_check_and_unscale_(gradients, infinite, tl.tensor(0.5))
    assert infinite.item() == 1
    with pytest.raises(RuntimeError, match="found_inf"):
        loss_scale._amp_foreach_non_finite_check_and_unscale_(gradients, tl.zeros(2), tl.tensor(0.5))
    scale, steps = tl.tensor(8.0), tl.tensor(1, dtype=tl.int32)
    loss_scale._amp_update_scale_(scale, steps, tl.tensor(0.0), 2.0, 0.5, 2)
    assert (scale.item(), steps.item()) == (16, 0)
    loss_scale._amp_update_scale_(scale, steps, tl.tensor(1.0), 2.0, 0.5, 2)
    assert (scale.item(), steps.item()) == (8, 0)


def test_slices_put_back():
    full = tl.arange(24.0).view(4, 6)
    for dim, start, end, step in ((0, 1, 3, 1), (1, 2, None, 2), (1, -4, None, 1), (0, None, None, 1)):
        index = [slice(None)] * 2
        index[dim] = slice(start, end, step)
        back = functions.slice_inverse(full[tuple(index)], full, dim, start, end, step)
        assert tl.equal(back, full) and back.data_ptr() == full.data_ptr()


def test_norms_by_the_older_name():
    x = tl.tensor([[3.0, 4.0]])
    assert tl.native_norm(x).item() == 5 and tl.native_norm(x, 1, [1], True, None).tolist() == [[7]]
    with pytest.raises(NotImplementedError, match="CUDA"):
        functions._cslt_compress(x)


def test_sets_keep_their_order():
    s = OrderedSet([3, 1, 2])
    assert list(s) == [3, 1, 2] and list(reversed(s)) == [2, 1, 3] and s == OrderedSet([3, 1, 2])
    assert s != OrderedSet([1, 2, 3]) and s == {1, 2, 3} and list(s | [5, 1]) == [3, 1, 2, 5]
    assert list(s & [2, 3]) == [3, 2] and list([9, 1] - s) == [9] and list(s ^ {1, 4}) == [3, 2, 4]
    assert s <= OrderedSet([1, 2, 3, 4]) and s.issubset([1, 2, 3]) and s.pop() == 2 and len(s) == 2
    s |= [7]
    s -= [3]
    assert repr(s) == "OrderedSet([1, 7])"
    with pytest.raises(KeyError):
        OrderedSet().pop()
