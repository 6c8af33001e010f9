"""Attention: fused kernels, FlexAttention with masks and scores of your own, a cache of keys and values."""

import tl as torch
import tl.nn.functional as F
from tl import Tensor, nn
from tl.nn.attention import SDPBackend, sdpa_kernel
from tl.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention


def causal(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return query >= key


def distance(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return score - (query - key).abs() * 0.1


class Attention(nn.Module):
    keys: Tensor

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size, bias=False)
        self.register_buffer("keys", torch.zeros(0), persistent=False)

    def forward(self, x: Tensor, mask: BlockMask | None = None) -> Tensor:
        batch, length, size = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        if mask is not None:
            y = torch.as_tensor(flex_attention(q, k, v, score_mod=distance, block_mask=mask))
        return y.transpose(1, 2).reshape(batch, length, size)


def main() -> None:
    model, x = Attention(8, 2), torch.randn(1, 16, 8)
    mask = create_block_mask(causal, B=None, H=None, Q_LEN=16, KV_LEN=16, device="cpu")
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        print(model(x).shape)
    print(model(x, mask).shape, mask.sparsity() >= 0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=F.gelu, batch_first=True, norm_first=True)
    square = nn.Transformer.generate_square_subsequent_mask(16)
    print(nn.TransformerEncoder(layer, num_layers=2)(x, mask=square, is_causal=True).shape)
    attended, weights = nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    print(attended.shape, weights.shape)


if __name__ == "__main__":
    main()
