"""Queries that see no key: zeros for a result, zeros for weights, and no gradient that is nan."""

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_autograd import func
from tl_nn.attention.flex_attention import create_block_mask, flex_attention

INF = float("-inf")
VISIBLE = tl.tensor([[True, True, False], [False, False, False], [False, True, True], [False, False, False]])
BLIND = [1, 3]


def masks(dtype):
    yield VISIBLE
    yield tl.zeros(4, 3, dtype=dtype).masked_fill(~VISIBLE, INF)


def check(result, leaves, blind=(..., BLIND, slice(None))):
    assert not result.isnan().any()
    assert not result[blind].any()
    (result * tl.arange(1.0, 1.0 + result.numel(), dtype=result.dtype).reshape(result.shape)).sum().backward()
    for leaf in leaves:
        assert not leaf.grad.isnan().any(), leaf.shape
        assert leaf.grad.any()


@pytest.mark.parametrize("dtype", [tl.float64, tl.float32, tl.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)])
@pytest.mark.parametrize("mask_grad", [False, True])
def test_scaled_dot_product_attention(dtype, shape, mask_grad):
    for mask in masks(dtype):
        q, k, v = (tl.rand(*shape, n, 4, dtype=dtype, requires_grad=True) for n in (4, 3, 3))
        if mask_grad and mask.dtype is not tl.bool:
            mask = mask.clone().requires_grad_()
        result = F.scaled_dot_product_attention(q, k, v, mask)
        check(result, [q, k, v])
        assert mask.grad is None or not mask.grad.isnan().any()
        assert not q.grad[..., BLIND, :].any()
        want = tl.softmax((q @ k.mT / 2).detach().masked_fill(~VISIBLE, INF), -1).nan_to_num(0.0) @ v.detach()
        assert tl.allclose(
            result,
            want,
            rtol=3e-2 if dtype is tl.bfloat16 else 1e-5,
            atol=1e-2 if dtype is tl.bfloat16 else 1e-6,
        )


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_other_ways_through_attention(dropout):
    """Grouped heads, dropout, second derivatives, batches of a transform, tangents."""
    for mask in masks(tl.float64):
        q = tl.rand(1, 4, 4, 2, dtype=tl.float64, requires_grad=True)
        k, v = (tl.rand(1, 2, 3, 2, dtype=tl.float64, requires_grad=True) for _ in range(2))
        check(F.scaled_dot_product_attention(q, k, v, mask, dropout, enable_gqa=True), [q, k, v])
        leaves = [t.detach()[:, :2].clone().requires_grad_() for t in (q, k, v)]
        if dropout == 0.0:
            check_transforms(mask, leaves)


def check_transforms(mask, leaves):
    def attend(*qkv):
        return F.scaled_dot_product_attention(*qkv, mask)

    result = tl_autograd.grad(attend(*leaves).exp().sum(), leaves, create_graph=True)
    second = tl_autograd.grad(sum(f.exp().sum() for f in result), leaves)
    assert not any(t.isnan().any() for t in (*result, *second))
    plain = tuple(t.detach() for t in leaves)
    value, tangent = func.jvp(attend, plain, plain)
    assert not value.isnan().any() and not tangent.isnan().any()
    batch = tuple(tl.stack([t, 2 * t]) for t in plain)
    each = func.vmap(func.grad(lambda *qkv: attend(*qkv).exp().sum(), argnums=(0, 1, 2)))(*batch)
    assert not any(g.isnan().any() for g in each)
    assert all(tl.allclose(g[0], f) for g, f in zip(each, result, strict=True))


def test_more_queries_than_keys_that_are_causal():
    q, k, v = (tl.rand(2, n, 4, dtype=tl.float64, requires_grad=True) for n in (4, 3, 3))
    result = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    check(result, [q, k, v], (..., slice(0, 0), slice(None)))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("boolean", [True, False])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention(need_weights, average, boolean, padded, batch_first):
    module = nn.MultiheadAttention(4, 2, batch_first=batch_first, bias=False, dtype=tl.float64)
    attn = ~VISIBLE if boolean else tl.zeros(4, 3, dtype=tl.float64).masked_fill(~VISIBLE, INF)
    padding = None
    if padded:  # the first key, which query 0 and nobody else sees besides the second one
        padding = tl.tensor([[False, False, False], [True, True, True]])
        padding = padding if boolean else tl.zeros(2, 3, dtype=tl.float64).masked_fill(padding, INF)
    q, k = tl.rand(2, 4, 4, dtype=tl.float64), tl.rand(2, 3, 4, dtype=tl.float64)
    if not batch_first:
        q, k = q.transpose(0, 1), k.transpose(0, 1)
    q, k = q.clone().requires_grad_(), k.clone().requires_grad_()
    y, w = module(q, k, k, padding, need_weights, attn, average)
    y = y if batch_first else y.transpose(0, 1)
    assert not y.isnan().any() and not y[:, BLIND].any()
    assert not padded or not y[1].any()
    if need_weights:
        assert not w.isnan().any() and not w[..., BLIND, :].any()
        assert tl.allclose(w[0].sum(-1)[..., [0, 2]], tl.ones(2, dtype=tl.float64))
    (y**2).sum().backward()
    for t in (q, k, *module.parameters()):
        assert not t.grad.isnan().any() and t.grad.any()


@pytest.mark.filterwarnings("ignore:Support for mismatched")
def test_a_mask_that_only_padding_completes():
    module = nn.MultiheadAttention(4, 1)
    x = tl.rand(4, 2, 4)
    padding = tl.tensor([[False] * 4, [False, False, True, True]])
    attn = tl.tensor([[0.0, INF, INF, INF], [0.0, 0.0, INF, INF], [INF, 0.0, 0.0, INF], [INF, INF, 0.0, 0.0]])
    y, w = module(x, x, x, key_padding_mask=padding, attn_mask=attn)
    y[:2].sum().backward()
    assert not y.isnan().any() and not w.isnan().any()
    assert not module.in_proj_weight.grad.isnan().any()


def test_encoder_layers():
    layer = nn.TransformerEncoderLayer(4, 1, 8, dropout=0.0, batch_first=True)
    x = tl.rand(2, 3, 4, requires_grad=True)
    padding = tl.tensor([[False, False, True], [True, True, True]])
    for training in (True, False):
        layer.train(training)
        y = layer(x, src_key_padding_mask=padding)
        assert not y.isnan().any()
    y.sum().backward()
    assert not x.grad.isnan().any()


@pytest.mark.parametrize("used", ["result", "lse", "both"])
def test_flex_attention(used):
    q, k, v = (tl.rand(1, 2, n, 4, dtype=tl.float64, requires_grad=True) for n in (4, 3, 3))
    block = create_block_mask(lambda b, h, i, j: VISIBLE[i, j], 1, 1, 4, 3, device="cpu")
    result, lse = flex_attention(q, k, v, block_mask=block, return_lse=True)
    assert not result.isnan().any() and not result[..., BLIND, :].any()
    assert (lse[..., BLIND] == INF).all() and lse[..., [0, 2]].isfinite().all()
    loss = result.sum() if used != "lse" else 0.0
    if used != "result":
        loss = loss + lse[..., [0, 2]].sum()
    loss.backward()
    for t in (q, k, v):
        assert t.grad is None or not t.grad.isnan().any()
    scored = flex_attention(q, k, v, lambda s, b, h, i, j: tl.where(VISIBLE[i, j], s, INF))
    assert tl.allclose(scored, result)
    scored.sum().backward()
    assert not q.grad.isnan().any()
