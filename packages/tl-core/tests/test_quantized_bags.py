"""Embedding bags of integers, against sums in float64."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="the references are numpy's")
ROWS = 30


def table(bits: int, byte_count: int, rng: Any) -> tuple[tl.Tensor, Any]:
    """Packed rows, and the numbers of them."""
    integers = rng.integers(0, 256, (ROWS, byte_count)).astype(np.uint8)
    kind = np.float32 if bits == 8 else np.float16
    tails = rng.uniform(0.1, 2, (ROWS, 2)).astype(kind)
    shifts = np.arange(0, 8, bits)
    numbers = (integers[..., None] >> shifts & (1 << bits) - 1).reshape(ROWS, -1)
    packed = np.concatenate([integers, tails.view(np.uint8)], 1)
    return tl.from_numpy(packed), numbers * tails[:, :1].astype(np.float64) + tails[:, 1:]


@pytest.mark.parametrize("bits", [8, 4, 2])
@pytest.mark.parametrize("byte_count", [0, 1, 7, 16, 17, 40, 64, 100, 300])
def test_sums_and_means(bits, byte_count):
    rng = np.random.default_rng(byte_count)
    packed, numbers = table(bits, byte_count, rng)
    indices, offsets = rng.integers(0, ROWS, 40), np.array([0, 0, 3, 25, 40])
    factors = rng.random(40).astype(np.float32)
    bounds = [*offsets, 40]
    sums = np.stack([(numbers[indices[a:b]] * factors[a:b, None]).sum(0) for a, b in pairwise(bounds)])
    bags = tl.from_numpy(indices), tl.from_numpy(offsets)
    result = tl._quantized_embedding_bag(packed, bits, *bags, 0, tl.from_numpy(factors))
    np.testing.assert_allclose(result.numpy(), sums, rtol=2e-6)
    means = [numbers[indices[a:b]].mean(0) if b > a else 0 * numbers[0] for a, b in pairwise(offsets)]
    result = tl._quantized_embedding_bag(packed, bits, *bags, 1, None, True)
    np.testing.assert_allclose(result.numpy(), np.stack(means), rtol=2e-6)


def test_rows_of_a_negative_index_are_left_out():
    packed, numbers = table(8, 5, np.random.default_rng(0))
    indices = tl.tensor([3, -1, 4], dtype=tl.int32)
    result = tl._quantized_embedding_bag(packed, 8, indices, tl.tensor([0, 1]), 1)
    np.testing.assert_allclose(result.numpy(), numbers[[3, 4]], rtol=2e-6)


def test_results_are_the_same_with_several_threads():
    packed, _ = table(4, 64, np.random.default_rng(0))
    indices, offsets = tl.arange(6000) % ROWS, tl.arange(0, 6000, 3)
    single = tl.get_num_threads()
    results = []
    for threads in (1, 4):
        tl.set_num_threads(threads)
        results.append(tl._quantized_embedding_bag(packed, 4, indices, offsets))
    tl.set_num_threads(single)
    assert tl.equal(*results)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"bits": 3}, "bits must be 8, 4 or 2, got 3"),
        ({"weight": tl.ones(2, 12)}, "weight must be a matrix of uint8, got Float"),
        (
            {"weight": tl.ones(2, 7, dtype=tl.uint8)},
            "must have 8 bytes for its scale and bias, got rows of 7",
        ),
        ({"indices": tl.tensor([2])}, "Index 0 is out of bounds: 2, range 0 to 2"),
        ({"indices": tl.tensor([-2])}, "Index 0 is out of bounds: -2, range 0 to 2"),
        ({"indices": tl.tensor([[0]])}, "indices must be a vector of int64 or int32"),
        ({"indices": tl.tensor([0.0])}, "indices must be a vector of int64 or int32, got Float"),
        ({"offsets": tl.tensor([0, 2])}, "offsets"),
        ({"offsets": tl.tensor([1])}, r"offsets\[0\] has to be 0"),
        ({"mode": 2}, r"mode must be 0 \(sum\) or 1 \(mean\), got 2"),
        ({"per_sample_weights": tl.ones(2)}, "one number an index, got 2 for 1 indices"),
        ({"offsets": tl.tensor([], dtype=tl.int64), "include_last_offset": True}, "should be at least 1"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    arguments = {
        "weight": tl.ones(2, 12, dtype=tl.uint8),
        "bits": 8,
        "indices": tl.tensor([0]),
        "offsets": tl.tensor([0]),
    }
    with pytest.raises(RuntimeError, match=message):
        tl._quantized_embedding_bag(**(arguments | change))
