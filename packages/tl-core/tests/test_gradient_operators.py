"""Gradients by the names that others know, against closed forms in numpy."""

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
import tl_core.operators.packets  # noqa: E402
from tl_core.operators.packets import aten  # noqa: E402

RNG = np.random.default_rng(0)


def of(*sizes):
    return RNG.normal(size=sizes)


def tensors(*arrays):
    return [tl.tensor(a.tolist(), dtype=tl.float64) for a in arrays]


def same(found, expected):
    np.testing.assert_allclose(np.array(found.tolist()), expected, rtol=1e-9, atol=1e-12)


def normalized_gradient(g, x_hat, rstd, axes):
    """Of (x - mean) rstd by x: rstd (g - mean(g) - x_hat mean(g x_hat))."""
    centre = g.mean(axes, keepdims=True)
    return rstd * (g - centre - x_hat * (g * x_hat).mean(axes, keepdims=True))


def test_layer_norm():
    x, g, w, b = of(3, 2, 4), of(3, 2, 4), of(2, 4), of(2, 4)
    mean = x.mean((1, 2), keepdims=True)
    rstd = 1 / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
    x_hat = (x - mean) * rstd
    grad, xt, m, r, wt, bt = tensors(g, x, mean, rstd, w, b)
    output = aten.native_layer_norm_backward.default(grad, xt, [2, 4], m, r, wt, bt, [True] * 3)
    for result, expected in zip(
        output, (normalized_gradient(g * w, x_hat, rstd, (1, 2)), (g * x_hat).sum(0), g.sum(0)), strict=True
    ):
        same(result, expected)
    assert aten.native_layer_norm_backward.default(grad, xt, [2, 4], m, r, wt, bt, [False, True, False])[
        ::2
    ] == (
        None,
        None,
    )


def test_group_norm():
    x, g, w = of(2, 4, 5), of(2, 4, 5), of(4)
    parts = x.reshape(2, 2, 10)
    mean, rstd = parts.mean(2), 1 / np.sqrt(parts.var(2) + 1e-5)
    x_hat = ((parts - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    grad, xt, m, r, wt = tensors(g, x, mean, rstd, w)
    result = aten.native_group_norm_backward.default(grad, xt, m, r, wt, 2, 4, 5, 2, [True] * 3)
    inner = normalized_gradient(
        (g * w[:, None]).reshape(2, 2, 10), x_hat.reshape(2, 2, 10), rstd[..., None], (2,)
    )
    same(result[0], inner.reshape(x.shape))
    same(result[1], (g * x_hat).sum((0, 2)))
    same(result[2], g.sum((0, 2)))


@pytest.mark.parametrize("train", [True, False])
def test_batch_norm(train):
    x, g, w = of(4, 3, 5), of(4, 3, 5), of(3)
    running_mean, running_var = of(3), np.abs(of(3)) + 1
    mean, var = (x.mean((0, 2)), x.var((0, 2))) if train else (running_mean, running_var)
    rstd = 1 / np.sqrt(var + 1e-5)
    x_hat = (x - mean[:, None]) * rstd[:, None]
    grad, xt, wt, rm, rv, m, r = tensors(g, x, w, running_mean, running_var, mean, rstd)
    result = aten.native_batch_norm_backward.default(grad, xt, wt, rm, rv, m, r, train, 1e-5, [True] * 3)
    fixed = g * w[:, None] * rstd[:, None]
    same(result[0], normalized_gradient(g * w[:, None], x_hat, rstd[:, None], (0, 2)) if train else fixed)
    same(result[1], (g * x_hat).sum((0, 2)))
    same(result[2], g.sum((0, 2)))


def test_negative_log_likelihood():
    target, weight = np.array([2, 0, 1]), np.array([1.0, 2.0, 3.0])
    expected = np.zeros((3, 3))
    expected[[0, 1], [2, 0]] = -weight[[2, 0]] / weight[[2, 0]].sum()  # class 1 is ignored
    scores, w, total = tensors(of(3, 3), weight, np.array(4.0))
    result = aten.nll_loss_backward.default(
        tl.ones((), dtype=tl.float64), scores, tl.tensor(target.tolist()), w, 1, 1, total
    )
    same(result, expected)


@pytest.mark.parametrize(("name", "mode"), [("reflection", "reflect"), ("replication", "edge")])
def test_padding(name, mode):
    x, g = of(2, 3, 4), of(2, 3, 7)
    columns = np.pad(np.arange(4), (1, 2), mode)
    expected = np.zeros(x.shape)
    for at, column in enumerate(columns):
        expected[..., column] += g[..., at]
    same(getattr(aten, f"{name}_pad1d_backward").default(*tensors(g, x), [1, 2]), expected)


def test_sampling_at_the_points_of_the_grid():
    """At the centres of the elements, the gradient by the input is the gradient itself."""
    x, g = of(1, 2, 3, 3), of(1, 2, 3, 3)
    line = np.linspace(-1, 1, 3)
    points = np.stack(np.meshgrid(line, line), -1)[None]
    grad, xt, grid = tensors(g, x, points)
    of_input, of_grid = aten.grid_sampler_2d_backward.default(grad, xt, grid, 0, 0, True, [True, False])
    same(of_input, g)
    assert of_grid is None


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k, v, g = of(1, 2, 3, 4), of(1, 2, 3, 4), of(1, 2, 3, 4), of(1, 2, 3, 4)
    scores = q @ k.swapaxes(2, 3) * 0.5 + (np.triu(np.full((3, 3), -np.inf), 1) if causal else 0)
    sums = np.log(np.exp(scores).sum(-1))
    p = np.exp(scores - sums[..., None])
    query, key, value, grad = tensors(q, k, v, g)
    out, found_sums = aten._scaled_dot_product_flash_attention_for_cpu.default(query, key, value, 0.0, causal)
    same(out, p @ v)
    same(found_sums, sums)
    gp = g @ v.swapaxes(2, 3)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True)) * 0.5
    output = aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        grad, query, key, value, out, found_sums, 0.0, causal
    )
    for result, expected in zip(output, (gs @ k, gs.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ g), strict=True):
        same(result, expected)
    with pytest.raises(NotImplementedError, match="dropout"):
        aten._scaled_dot_product_flash_attention_for_cpu.default(query, key, value, 0.5)
