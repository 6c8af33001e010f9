"""`flex_attention` as an operator of graphs: results by the formula, gradients, and what a trace keeps."""

from __future__ import annotations

import math

import pytest

import tl_autograd
import tl_core as tl
import tl_core.operators.packets
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.higher_order import flex_attention, flex_attention_backward
from tl_nn.attention.flex_attention import create_block_mask

SCALE = 0.5


def causal(b, h, q, k):
    return q >= k


def mask(length=8):
    return create_block_mask(causal, 1, 1, length, length, device="cpu").as_tuple()


def inputs(grad=False):
    tl.manual_seed(0)
    return [tl.randn(1, 2, 8, 4, requires_grad=grad) for _ in range(3)]


def by_formula(q, k, v, bias):
    scores = (q @ k.mT * SCALE + bias).masked_fill(~tl.ones(8, 8, dtype=tl.bool).tril(), -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1) / math.log(2), scores.amax(-1) / math.log(2)


def biased(score, b, h, q, k):
    return score + (q - k) * 0.1


BIAS = (tl.arange(8)[:, None] - tl.arange(8)) * 0.1


def test_results():
    q, k, v = inputs()
    result = flex_attention(q, k, v, biased, mask(), SCALE, {})
    for a, b in zip(result, by_formula(q, k, v, BIAS), strict=True):
        assert tl.allclose(a, b, atol=1e-5)


def test_gradients():
    q, k, v = inputs(grad=True)
    flex_attention(q, k, v, biased, mask(), SCALE, {})[0].sin().sum().backward()
    result = [t.grad.clone() for t in (q, k, v)]
    out, lse, _ = by_formula(q, k, v, BIAS)
    expected = tl_autograd.grad(out.sin().sum(), [q, k, v])
    again = flex_attention_backward(q, k, v, out, lse, out.cos(), None, biased, None, mask(), SCALE, {})
    for a, b, c in zip(result, again[:3], expected, strict=True):
        assert tl.allclose(a, c, atol=1e-5) and tl.allclose(b, c, atol=1e-5)
    assert again[3] == ()


@pytest.mark.parametrize("tracing_mode", ["real", "fake"])
def test_a_trace_keeps_the_call_and_what_functions_read(tracing_mode):
    q, k, v = inputs()
    scales = tl.tensor([1.0, 0.5])

    def sloped(score, b, h, i, j):
        return score - (i - j).abs() * scales[h]

    record = mask()
    graph = make_fx(
        lambda q, k, v: flex_attention(q, k, v, sloped, record, SCALE, {}),
        tracing_mode=tracing_mode,
        _allow_non_fake_inputs=True,
    )(q, k, v)
    calls = [n for n in graph.graph.nodes if n.target is tl.ops.higher_order.flex_attention]
    assert len(calls) == 1 and len(calls[0].args[7]) == 1, "the scales are a buffer"
    assert str(calls[0].args[3]) == "sdpa_score_0" and str(calls[0].args[4][-1]) == "sdpa_mask_0"
    expected = flex_attention(q, k, v, sloped, mask(), SCALE, {})
    for a, b in zip(graph(q, k, v), expected, strict=True):
        assert tl.allclose(a, b, atol=1e-6)


def test_buffers_are_tensors_or_ints():
    q, k, v = inputs()
    with pytest.raises(RuntimeError, match="expected buffers to be tensors or ints, got <class 'str'>"):
        flex_attention(q, k, v, biased, mask(), SCALE, {}, ("a",))
