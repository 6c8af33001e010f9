"""Batch normalization in steps: two parts together are what the whole is alone."""

from __future__ import annotations

import pytest

import tl_core as tl
from tl_core.functions import batch_statistics as steps


@pytest.mark.parametrize("shape", [(6, 3), (6, 3, 4), (6, 3, 2, 2)])
def test_parts_are_the_whole(shape):
    x = tl.randn(shape, dtype=tl.float64)
    parts = x[:2], x[2:]
    means, roots = zip(*(steps.batch_norm_stats(part, 1e-5) for part in parts), strict=True)
    counts = tl.tensor([part.numel() / 3 for part in parts], dtype=tl.float64)
    running = tl.zeros(3, dtype=tl.float64), tl.ones(3, dtype=tl.float64)
    mean, root = steps.batch_norm_gather_stats_with_counts(
        x, tl.stack(means), tl.stack(roots), *running, 0.5, 1e-5, counts
    )
    dims = [d for d in range(x.dim()) if d != 1]
    var = x.var(dims, correction=0)
    assert tl.allclose(mean, x.mean(dims)) and tl.allclose(root, (var + 1e-5).rsqrt())
    assert tl.allclose(running[0], 0.5 * mean) and tl.allclose(running[1], 0.5 + 0.5 * x.var(dims))
    alone = steps.batch_norm_update_stats(x, None, None, 0.1)
    assert tl.allclose(alone[0], mean) and tl.allclose(alone[1], var)
    weight, bias = tl.rand(3, dtype=tl.float64), tl.rand(3, dtype=tl.float64)
    y = tl.cat([steps.batch_norm_elemt(part, weight, bias, mean, root, 1e-5) for part in parts])
    assert tl.allclose(y, tl.batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5, False))


def test_equal_parts_by_their_count():
    x = tl.randn(8, 2)
    result = [steps.batch_norm_stats(part, 0.0) for part in x.chunk(2)]
    means, roots = (tl.stack(each) for each in zip(*result, strict=True))
    mean, root = steps.batch_norm_gather_stats(x, means, roots, None, None, 0.1, 0.0, 4)
    assert tl.allclose(mean, x.mean(0)) and tl.allclose(root, x.var(0, correction=0).rsqrt())


def test_the_gradient_by_differences():
    x, g = tl.randn(5, 2, dtype=tl.float64), tl.randn(5, 2, dtype=tl.float64)
    weight, count = tl.rand(2, dtype=tl.float64), tl.tensor([5])

    def loss(values):
        mean, root = steps.batch_norm_stats(values, 1e-5)
        return (steps.batch_norm_elemt(values, weight, None, mean, root, 1e-5) * g).sum()

    mean, root = steps.batch_norm_stats(x, 1e-5)
    total, moment, of_weight, of_bias = steps.batch_norm_backward_reduce(
        g, x, mean, root, weight, True, True, True
    )
    gradient = steps.batch_norm_backward_elemt(g, x, mean, root, weight, total, moment, count)
    step = 1e-6
    for i, j in ((0, 0), (3, 1)):
        moved = x.clone()
        moved[i, j] += step
        back = x.clone()
        back[i, j] -= step
        derivative = (loss(moved) - loss(back)) / (2 * step)
        assert abs(float(derivative - gradient[i, j])) < 1e-6
    assert tl.allclose(of_bias, g.sum(0)) and tl.allclose(of_weight, (g * (x - mean) * root).sum(0))
    assert steps.batch_norm_backward_reduce(g, x, mean, root, None, False, False, False) == (None,) * 4


def test_halves_have_statistics_of_float32():
    x = tl.randn(4, 2).bfloat16()
    mean, root = steps.batch_norm_stats(x, 1e-5)
    assert mean.dtype is tl.float32
    assert steps.batch_norm_elemt(x, None, None, mean, root, 1e-5).dtype is tl.bfloat16
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        steps.batch_norm_stats(tl.ones(3), 1e-5)
