"""Functions of distributed tensors on two dimensions of a mesh: values and gradients are those of the whole tensors."""

from __future__ import annotations

import itertools

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn.functional as F
from tl_core.testing import assert_close
from tl_distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

FUNCTIONS = {
    "softmax": lambda x, w: F.softmax(x, -1),
    "log softmax": lambda x, w: F.log_softmax(x, 1),
    "layer norm": lambda x, w: F.layer_norm(x, (6,), w[0]),
    "rms norm": lambda x, w: F.rms_norm(x, (6,), w[0]),
    "group norm": lambda x, w: F.group_norm(x, 2),
    "linear": lambda x, w: F.linear(x, w),
    "product": lambda x, w: x @ w.t(),
    "batched product": lambda x, w: x @ x.transpose(1, 2),
    "einsum": lambda x, w: tl.einsum("bsh,oh->bso", x, w),
    "reshape": lambda x, w: x.reshape(-1, 6) * 2,
    "split heads": lambda x, w: x.view(4, 4, 3, 2).transpose(1, 2),
    "flatten": lambda x, w: x.flatten(1),
    "permute": lambda x, w: x.permute(2, 0, 1) + 1,
    "chunk": lambda x, w: tl.cat([c * i for i, c in enumerate(x.chunk(3, 2))], 2),
    "unbind": lambda x, w: tl.stack(x.unbind(1), 0),
    "slice": lambda x, w: x[:, 1:3, ::2],
    "index": lambda x, w: x[:, index_like(x, [0, 2])],
    "index select": lambda x, w: x.index_select(1, index_like(x, [0, 2])),
    "expand": lambda x, w: x[:, :1].expand(4, 5, 6),
    "repeat": lambda x, w: x.repeat(1, 2, 1),
    "pad": lambda x, w: F.pad(x, (1, 2)),
    "flip": lambda x, w: x.flip(1),
    "roll": lambda x, w: x.roll(1, 2),
    "tril": lambda x, w: x.tril(),
    "cumsum": lambda x, w: x.cumsum(1),
    "sort": lambda x, w: x.sort(2).values,
    "topk": lambda x, w: x.topk(2, dim=2).values,
    "max": lambda x, w: x.max(1).values,
    "largest": lambda x, w: x.amax((0, 2)),
    "logsumexp": lambda x, w: x.logsumexp(2),
    "mean": lambda x, w: x.mean((0, 1)),
    "whole mean": lambda x, w: x.mean(),
    "variance": lambda x, w: x.var(2),
    "standard deviation": lambda x, w: x.std(),
    "norm": lambda x, w: x.norm(dim=2),
    "product of elements": lambda x, w: x.prod(1),
    "where": lambda x, w: tl.where(x > 1, x, x * x),
    "clamp": lambda x, w: x.clamp(0.7, 1.2),
    "masked fill": lambda x, w: x.masked_fill(x > 1, 0.0),
    "gelu": lambda x, w: F.gelu(x),
    "swiglu": lambda x, w: F.silu(x) * (x @ w.t())[..., :6],
    "power": lambda x, w: x**3,
    "division": lambda x, w: x / w[0],
    "cross entropy": lambda x, w: F.cross_entropy(x.flatten(0, 1), targets_like(x), reduction="sum"),
    "mean squared error": lambda x, w: F.mse_loss(x, x * 0.5),
    "attention": lambda x, w: F.scaled_dot_product_attention(*[x.view(4, 4, 3, 2).transpose(1, 2)] * 3),
    "causal attention": lambda x, w: F.scaled_dot_product_attention(
        *[x.view(4, 4, 3, 2).transpose(1, 2)] * 3, is_causal=True
    ),
    "convolution": lambda x, w: F.conv1d(x, w[:4, :4, None] if not isinstance(x, DTensor) else w[:4, :4].unsqueeze(2)),
    "average pool": lambda x, w: F.avg_pool1d(x, 2),
    "max pool": lambda x, w: F.max_pool1d(x, 2),
    "interpolation": lambda x, w: F.interpolate(x, scale_factor=2),
}  # fmt: skip


def index_like(x, values):
    if not isinstance(x, DTensor):
        return tl.tensor(values)
    return distribute_tensor(tl.tensor(values), x.device_mesh, [Replicate()] * x.device_mesh.ndim)


def targets_like(x):
    return index_like(x, [number % 6 for number in range(16)])


PLACEMENTS = [Shard(0), Shard(1), Shard(2), Replicate()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(ranks, name):
    function = FUNCTIONS[name]
    sample = tl.Generator().manual_seed(2)
    x = (tl.rand(4, 4, 6, generator=sample, dtype=tl.float64) + 0.5).requires_grad_()
    w = (tl.rand(6, 6, generator=sample, dtype=tl.float64) + 0.5).requires_grad_()
    expected = function(x, w)
    weights = tl.rand(expected.shape, generator=sample, dtype=tl.float64)
    (expected * weights).sum().backward()

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        for first, second in itertools.product(PLACEMENTS, PLACEMENTS):
            px = distribute_tensor(x.detach().clone().requires_grad_(), mesh, [first, second])
            placed = [p if not p.is_shard(2) else Shard(1) for p in (second, first)]
            pw = distribute_tensor(w.detach().clone().requires_grad_(), mesh, placed)
            result = function(px, pw)
            assert isinstance(result, DTensor) and result.shape == expected.shape, (first, second)
            full = result.full_tensor()
            assert_close(full, expected)
            (full * weights).sum().backward()
            assert_close(px.grad.full_tensor(), x.grad)
            if w.grad is not None:
                assert_close(pw.grad.full_tensor(), w.grad)

    ranks(4, body)
