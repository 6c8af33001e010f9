"""Masks of attention, and the choice of its implementation."""

import pytest

import tl_core as tl
import tl_nn.functional as F
from tl_nn.attention import bias, flash_implementations, flex_attention
from tl_nn.modules import masks

LEFT, RIGHT = [[True, False, False], [True, True, False]], [[True, True, False], [True, True, True]]


@pytest.mark.parametrize(
    ("corner", "variant", "visible"),
    [
        (bias.causal_upper_left, bias.CausalVariant.UPPER_LEFT, LEFT),
        (bias.causal_lower_right, bias.CausalVariant.LOWER_RIGHT, RIGHT),
    ],
)
def test_causal_masks(corner, variant, visible):
    mask = corner(2, 3)
    assert isinstance(mask, bias.CausalBias) and mask.variant is variant
    query, key, value = tl.zeros(1, 1, 2, 4), tl.zeros(1, 1, 3, 4), tl.eye(3).view(1, 1, 3, 3)
    weights = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)[0, 0]
    expected = tl.tensor(visible).double()
    assert tl.allclose(weights.double(), expected / expected.sum(-1, keepdim=True), atol=1e-6)
    with pytest.raises(NotImplementedError, match="only supports scaled_dot_product_attention"):
        mask + 1
    with pytest.raises(AssertionError):
        corner(2)
    with pytest.raises(AssertionError, match="CausalVariant"):
        bias.CausalBias("UPPER_LEFT", 2, 3)


def test_numbers_of_masks():
    like = tl.ones(1, dtype=tl.float64)
    mask = masks.canonical_mask(tl.tensor([True, False]), "mask", like)
    assert mask.tolist() == [-float("inf"), 0] and mask.dtype is tl.float64
    floating = tl.tensor([0.5])
    assert masks.canonical_mask(floating, "mask", like) is floating
    assert masks.canonical_mask(None, "mask", like) is None
    with pytest.raises(AssertionError, match="mask"):
        masks.canonical_mask(tl.tensor([1]), "mask", like)


def test_blocks():
    mask = flex_attention.create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device="cpu")
    assert isinstance(mask, flex_attention.BlockMask) and mask.shape == (1, 1, 256, 256)
    assert mask.kv_num_blocks.tolist() == [[[1, 1]]] and mask.full_kv_num_blocks.tolist() == [[[0, 1]]]
    assert flex_attention.AuxOutput() == (None, None)


def test_implementations():
    log = []

    class Handle:
        def remove(self):
            log.append("off")

    def install():
        log.append("on")
        return Handle()

    flash_implementations.register_flash_attention_impl("example", register_fn=install)
    assert "example" in flash_implementations.list_flash_attention_impls()
    assert flash_implementations.current_flash_attention_impl() is None and log == []
    flash_implementations.activate_flash_attention_impl("example")
    assert flash_implementations.current_flash_attention_impl() == "example"
    flash_implementations.restore_flash_attention_impl()
    assert flash_implementations.current_flash_attention_impl() is None and log == ["on", "off"]
    with pytest.warns(UserWarning, match="was activated"):
        flash_implementations.restore_flash_attention_impl()
    with pytest.raises(ValueError, match="Unknown flash attention impl 'other'"):
        flash_implementations.activate_flash_attention_impl("other")
