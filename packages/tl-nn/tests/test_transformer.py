"""Attention with several heads, and the transformer."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn


def array(tensor):
    return np.array(tensor.tolist())


def sample(*shape, seed=0):
    return tl.tensor(np.random.default_rng(seed).normal(size=shape).tolist(), dtype=tl.float64)


def attention(layer, query, key, value, hidden=None):
    """Result and weights by batch and head; all of shape (N, length, size)."""
    heads, size = layer.num_heads, layer.head_dim
    parts = zip(np.split(array(layer.in_proj_weight), 3), np.split(array(layer.in_proj_bias), 3), strict=True)
    inputs = (array(each) for each in (query, key, value))
    projected = [x @ w.T + b for x, (w, b) in zip(inputs, parts, strict=True)]
    q, k, v = (x.reshape(*x.shape[:2], heads, size).transpose(0, 2, 1, 3) for x in projected)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(size)
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    joined = (weights @ v).transpose(0, 2, 1, 3).reshape(*query.shape[:2], -1)
    return joined @ array(layer.out_proj.weight).T + array(layer.out_proj.bias), weights


@pytest.fixture
def layer():
    result = nn.MultiheadAttention(8, 2, batch_first=True).double()
    with tl.no_grad():
        result.in_proj_bias.copy_(sample(24, seed=5))
    return result


@pytest.mark.parametrize("need_weights", [True, False])
def test_attention(layer, need_weights):
    query, memory = sample(3, 4, 8), sample(3, 5, 8, seed=1)
    expected, weights = attention(layer, query, memory, memory)
    result, output = layer(query, memory, memory, need_weights=need_weights)
    np.testing.assert_allclose(array(result), expected, rtol=1e-8, atol=1e-10)
    if need_weights:
        np.testing.assert_allclose(array(output), weights.mean(1), rtol=1e-8, atol=1e-10)
        _, each = layer(query, memory, memory, average_attn_weights=False)
        np.testing.assert_allclose(array(each), weights, rtol=1e-8, atol=1e-10)
    else:
        assert output is None


@pytest.mark.parametrize("need_weights", [True, False])
def test_masks(layer, need_weights):
    x = sample(2, 4, 8)
    causal = np.triu(np.ones((4, 4), bool), 1)
    padded = np.array([[False] * 4, [False, False, False, True]])
    expected, _ = attention(layer, x, x, x, causal | padded[:, None, None])
    masks = {"attn_mask": tl.tensor(causal.tolist()), "key_padding_mask": tl.tensor(padded.tolist())}
    result, _ = layer(x, x, x, need_weights=need_weights, **masks)
    np.testing.assert_allclose(array(result), expected, rtol=1e-8, atol=1e-10)
    merged, kind = layer.merge_masks(masks["attn_mask"], masks["key_padding_mask"], x)
    assert kind == 2 and array(merged)[1, 0].tolist() == (causal | padded[1]).tolist()
    assert layer.merge_masks(None, None, x) == (None, None)


def test_the_order_of_dimensions(layer):
    other = nn.MultiheadAttention(8, 2).double()
    other.load_state_dict(layer.state_dict())
    x = sample(3, 4, 8)
    turned = x.transpose(0, 1)
    expected = array(layer(x, x, x)[0])
    np.testing.assert_allclose(array(other(turned, turned, turned)[0].transpose(0, 1)), expected, rtol=1e-8)
    np.testing.assert_allclose(array(layer(x[0], x[0], x[0])[0]), expected[0], rtol=1e-8)


def test_sizes_of_their_own_and_learned_keys():
    layer = nn.MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True)
    names = ["q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v"]
    assert list(layer.state_dict()) == [*names, "out_proj.weight", "out_proj.bias"]
    result, weights = layer(tl.ones(4, 2, 8), tl.ones(5, 2, 3), tl.ones(5, 2, 5))
    assert tuple(result.shape) == (4, 2, 8) and tuple(weights.shape) == (2, 4, 7)


def test_attention_faults():
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads, got 8 and 3"):
        nn.MultiheadAttention(8, 3)
    with pytest.raises(ValueError, match="must be greater than 0"):
        nn.MultiheadAttention(0, 1)


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(norm_first):
    layer = nn.TransformerEncoderLayer(
        8, 2, dim_feedforward=16, dropout=0.0, batch_first=True, norm_first=norm_first
    ).double()
    x = sample(2, 4, 8)

    def attend(values):
        source = tl.tensor(values.tolist(), dtype=tl.float64)
        return attention(layer.self_attn, source, source, source)[0]

    def network(values):
        inner = np.maximum(values @ array(layer.linear1.weight).T + array(layer.linear1.bias), 0)
        return inner @ array(layer.linear2.weight).T + array(layer.linear2.bias)

    values = array(x)
    if norm_first:
        values = values + attend(norm(values))
        values = values + network(norm(values))
    else:
        values = norm(values + attend(values))
        values = norm(values + network(values))
    np.testing.assert_allclose(array(layer(x)), values, rtol=1e-7, atol=1e-9)


def test_encoder_and_decoder_stack_copies():
    model = nn.Transformer(8, 2, 2, 3, dim_feedforward=16, dropout=0.0, batch_first=True)
    src, tgt = sample(2, 5, 8).float(), sample(2, 4, 8, seed=1).float()
    assert len(model.encoder.layers) == 2 and len(model.decoder.layers) == 3
    assert model.encoder.layers[0].linear1.weight is not model.encoder.layers[1].linear1.weight
    result = model(src, tgt)
    memory = model.encoder(src)
    np.testing.assert_allclose(array(model.decoder(tgt, memory)), array(result), rtol=1e-4, atol=1e-5)
    result.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_causal_decoder_doesnt_look_ahead():
    layer = nn.TransformerDecoderLayer(8, 2, dim_feedforward=16, dropout=0.0, batch_first=True)
    decoder = nn.TransformerDecoder(layer, 2)
    memory, tgt = sample(1, 5, 8).float(), sample(1, 4, 8, seed=1).float()
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    before = array(decoder(tgt, memory, tgt_mask=mask))
    tgt[0, 3] += 1.0
    after = array(decoder(tgt, memory, tgt_mask=mask))
    np.testing.assert_allclose(after[0, :3], before[0, :3], rtol=1e-4, atol=1e-5)
    assert np.abs(after[0, 3] - before[0, 3]).max() > 1e-3


def test_transformer_faults():
    model = nn.Transformer(8, 2, 1, 1, dim_feedforward=8)
    with pytest.raises(RuntimeError, match="batch number of src and tgt must be equal, got 2 and 3"):
        model(tl.zeros(5, 2, 8), tl.zeros(5, 3, 8))
    with pytest.raises(RuntimeError, match="must be equal to d_model, 8, got 4 and 4"):
        model(tl.zeros(5, 2, 4), tl.zeros(5, 2, 4))
    with pytest.raises(RuntimeError, match="activation should be relu/gelu, not swish"):
        nn.TransformerEncoderLayer(8, 2, activation="swish")


def test_any_activation():
    layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=8, activation=tl.tanh)
    assert layer.activation is tl.tanh
    assert nn.TransformerEncoderLayer(8, 2, activation="gelu").activation is nn.functional.gelu
