"""Attention with scores and masks given as functions, and the choice of how it is computed."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_core.settings import switches
from tl_nn.attention import SDPBackend, sdpa_kernel
from tl_nn.attention import flex_attention as flex


def draw(*shape):
    values = np.random.default_rng(sum(shape)).normal(size=shape)
    return values, tl.tensor(values.tolist(), dtype=tl.float64)


def attend(q, k, v, change=lambda scores: scores):
    scores = change(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return weights / np.where(total == 0, 1, total) @ v, (top + np.log(total))[..., 0]


def test_scores_are_changed():
    (q, a), (k, b), (v, c) = draw(2, 3, 4, 8), draw(2, 3, 5, 8), draw(2, 3, 5, 6)
    bias, table = draw(3, 9)

    def mod(score, batch, head, i, j):
        return score * 2 + table[head, i - j + 4]

    offsets = np.arange(4)[:, None] - np.arange(5) + 4
    expected, lse = attend(q, k, v, lambda s: s * 2 + bias[:, offsets])
    result, output = flex.flex_attention(a, b, c, mod, return_lse=True)
    np.testing.assert_allclose(result.tolist(), expected, rtol=1e-9)
    np.testing.assert_allclose(output.tolist(), lse, rtol=1e-9)
    _, aux = flex.flex_attention(a, b, c, mod, return_aux=flex.AuxRequest(max_scores=True))
    assert aux.lse is None and tuple(aux.max_scores.shape) == (2, 3, 4)


def test_masks():
    (q, a), (k, b), (v, c) = draw(1, 2, 5, 4), draw(1, 2, 5, 4), draw(1, 2, 5, 4)
    causal = flex.create_block_mask(lambda batch, head, i, j: i > j, 1, 1, 5, 5, BLOCK_SIZE=2)
    hidden = np.arange(5)[:, None] <= np.arange(5)
    expected, _ = attend(q, k, v, lambda s: np.where(hidden, -np.inf, s))
    result = flex.flex_attention(a, b, c, block_mask=causal)
    np.testing.assert_allclose(result.tolist(), expected, rtol=1e-9)
    assert result[0, 0, 0].tolist() == [0.0] * 4  # the first query sees nothing


def test_grouped_heads_and_gradients():
    (q, a), (k, b), (v, c) = draw(1, 4, 3, 4), draw(1, 2, 3, 4), draw(1, 2, 3, 4)
    expected, _ = attend(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))
    a.requires_grad_()
    result = flex.flex_attention(a, b, c, enable_gqa=True)
    np.testing.assert_allclose(result.tolist(), expected, rtol=1e-9)
    result.sum().backward()
    assert a.grad.abs().max().item() > 0


def test_blocks():
    mask = flex.create_block_mask(lambda b, h, i, j: i >= j, 1, 2, 6, 6, BLOCK_SIZE=2)
    assert mask.shape == (1, 2, 6, 6) and mask.numel() == 72 and mask.BLOCK_SIZE == (2, 2)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 1]] * 2]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 2]] * 2]
    assert mask.full_kv_indices[0, 0, 2, :2].tolist() == [0, 1]
    assert mask.full_q_num_blocks.tolist() == [[[2, 1, 0]] * 2]
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask.sparsity() == pytest.approx(100 / 3)
    assert mask.to_string().split("\n")[0] == "██    "
    assert mask[0, 1].shape == (1, 1, 6, 6) and len(mask.as_tuple()) == len(mask.as_tuple(flatten=False)) + 2
    merged = flex.create_block_mask(
        lambda b, h, i, j: i >= j, 1, 2, 6, 6, BLOCK_SIZE=2, separate_full_blocks=False
    )
    assert merged.full_kv_indices is None and merged.to_dense().tolist() == mask.to_dense().tolist()
    assert mask.to("cpu").kv_indices.tolist() == mask.kv_indices.tolist()


def test_masks_are_combined():
    def low(b, h, i, j):
        return i >= j

    def near(b, h, i, j):
        return abs(i - j) <= 1

    both = flex.create_mask(flex.and_masks(low, near), None, None, 3, 3)[0, 0]
    assert both.tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    either = flex.create_mask(flex.or_masks(low, near), None, None, 3, 3)[0, 0]
    assert either.tolist() == [[True, True, False], [True, True, True], [True, True, True]]
    assert flex.create_mask(flex.noop_mask, 2, 3, 4, 5).all().item()
    scores = flex.create_mask(lambda s, b, h, i, j: tl.where(i < j, float("-inf"), s), 1, 1, 2, 2)
    assert scores[0, 0].tolist() == [[True, False], [True, True]]
    with pytest.raises(RuntimeError, match="should be callable mask_mods"):
        flex.and_masks(low, 3)


def test_flex_faults():
    q = tl.zeros(1, 2, 3, 4)
    with pytest.raises(ValueError, match="to be 4D tensors"):
        flex.flex_attention(q[0], q, q)
    with pytest.raises(ValueError, match="same dtype"):
        flex.flex_attention(q, q.double(), q)
    with pytest.raises(ValueError, match="Try setting enable_gqa=True"):
        flex.flex_attention(q, q[:, :1], q[:, :1])
    with pytest.raises(ValueError, match="same embedding dimension"):
        flex.flex_attention(q, q[..., :2], q)
    mask = flex.create_block_mask(flex.noop_mask, 1, 1, 5, 5)
    with pytest.raises(ValueError, match="block_mask was created for"):
        flex.flex_attention(q, q, q, block_mask=mask)


def test_the_choice_is_a_context():
    assert switches.get("backends.cuda.flash_sdp")
    with sdpa_kernel(SDPBackend.MATH):
        assert switches.get("backends.cuda.math_sdp") and not switches.get("backends.cuda.flash_sdp")
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            assert switches.get("backends.cuda.flash_sdp")
    assert switches.get("backends.cuda.flash_sdp")
    assert SDPBackend.MATH.name == "MATH" and SDPBackend(1) is SDPBackend.FLASH_ATTENTION
    with pytest.raises(AssertionError, match="must be an instance of SDPBackend"), sdpa_kernel("math"):
        pass


def test_programs_name_it_by_the_reference_path():
    from tl_nn.modules import activation

    assert activation.MultiheadAttention is nn.MultiheadAttention


def test_a_way_is_no_number_but_stands_for_one():
    assert int(SDPBackend.MATH) == 0 and [10, 20][SDPBackend.FLASH_ATTENTION] == 20
    assert not isinstance(SDPBackend.MATH, int) and SDPBackend.MATH.value == 0


def test_attention_is_computed_in_an_allowed_way_or_not_at_all():
    x = tl.rand(1, 2, 3, 4)
    expected = F.scaled_dot_product_attention(x, x, x)
    for kinds in (SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]):
        with sdpa_kernel(kinds):
            assert tl.equal(F.scaled_dot_product_attention(x, x, x), expected)
    for kinds in (SDPBackend.EFFICIENT_ATTENTION, [SDPBackend.CUDNN_ATTENTION], []):
        with (
            sdpa_kernel(kinds),
            pytest.raises(RuntimeError, match="No viable backend for scaled_dot_product"),
        ):
            F.scaled_dot_product_attention(x, x, x)
    assert tl.equal(F.scaled_dot_product_attention(x, x, x), expected)


def test_padding_is_computed_unless_the_short_cut_is_allowed():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x, padding = tl.rand(2, 3, 8), tl.tensor([[False, False, True], [False, False, False]])
    with tl.no_grad():
        assert encoder(x, src_key_padding_mask=padding)[0, 2].abs().sum() == 0
        before = switches.set("backends.mha.fastpath", False)
        try:
            out = encoder(x, src_key_padding_mask=padding)
        finally:
            switches.set("backends.mha.fastpath", before)
        assert out[0, 2].abs().sum() > 0


@pytest.mark.parametrize("shape", [(0, 5, 8), (2, 0, 8), (0, 0, 8)])
@pytest.mark.parametrize("keys", [None, 0, 3])
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("options", [{}, {"add_zero_attn": True}, {"add_bias_kv": True}])
@pytest.mark.parametrize("padded", [False, True])
def test_attention_of_nothing(shape, keys, averaged, options, padded):
    layer = nn.MultiheadAttention(8, 2, batch_first=True, **options)
    query = tl.empty(shape, requires_grad=True)
    key = query if keys is None else tl.empty(shape[0], keys, 8, requires_grad=True)
    mask = tl.zeros(key.shape[:2], dtype=tl.bool) if padded else None
    result, weights = layer(query, key, key, key_padding_mask=mask, average_attn_weights=averaged)
    records = key.shape[1] + len(options)
    assert result.shape == shape
    assert weights.shape == ((shape[0], shape[1], records) if averaged else (shape[0], 2, shape[1], records))
    result.sum().backward()
    assert query.grad.shape == shape
    again, nothing = layer(query, key, key, key_padding_mask=mask, need_weights=False)
    assert again.shape == shape and nothing is None
