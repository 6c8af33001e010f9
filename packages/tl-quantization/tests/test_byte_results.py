"""The bytes of results, products and files of quantized tensors, against the formulas in numpy."""

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_quantization.arithmetic import mul

LIMITS = {tq.quint8: (0, 255), tq.qint8: (-128, 127)}


@pytest.fixture
def x():
    numbers = np.random.default_rng(0).normal(size=10_003).astype(np.float32) * 3
    numbers[:3] = np.nan, np.inf, -np.inf
    return numbers


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("end", [0, 1])
def test_results_are_rounded_before_the_zero_point_is_added(x, dtype, end):
    low, high = LIMITS[dtype]
    zero = LIMITS[dtype][end]
    integers = tq.PerTensor(0.05, zero, dtype).requantized(tl.from_numpy(x)).numpy()
    steps = np.rint(x * (np.float32(1) / np.float32(0.05))).astype(np.float64) + zero
    expected = np.nan_to_num(steps, nan=0, posinf=high, neginf=low).clip(low, high)
    assert (integers == expected).all()


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("relu", [False, True])
def test_products_are_rounded_once(x, dtype, relu):
    a = tq.quantize_per_tensor(tl.from_numpy(x[3:]), 0.05, 7, dtype)
    b = tq.quantize_per_tensor(tl.from_numpy(x[:2:-1].copy()), 0.03, 5, dtype)
    first, second = (t.int_repr().numpy().astype(np.int32) - t.q_zero_point() for t in (a, b))
    factor = np.float32(0.05) * np.float32(0.03) * (np.float32(1) / np.float32(0.07))
    steps = (first * second).astype(np.float32) * factor
    steps = np.maximum(steps, 0) if relu else steps
    expected = np.clip(np.rint(steps).astype(np.float64) + 9, *LIMITS[dtype])
    assert (mul(a, b, 0.07, 9, relu).int_repr().numpy() == expected).all()


def test_a_quantized_tensor_is_a_plain_tensor():
    q = tq.quantize_per_tensor(tl.linspace(-1, 1, 20).reshape(4, 5), 0.1, 3, tq.quint8)
    assert type(q) is type(q[1:]) is tl.Tensor and q[1:]._base is q
    for other in (copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
        assert type(other) is tl.Tensor and tl.equal(other, q)
