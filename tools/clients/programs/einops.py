"""einops: rearrange, reduce, repeat, pack, einsum, and its layers in a model."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn


def main():
    torch.manual_seed(0)
    x = torch.randn(2, 6, 8, 3, requires_grad=True)
    packed, shapes = pack([x, torch.ones(2, 5, 3)], "b * c")
    mix = EinMix("b h w c -> b h w d", weight_shape="c d", bias_shape="d", c=3, d=4)
    model = nn.Sequential(
        Rearrange("b h w c -> b c h w"), nn.Conv2d(3, 4, 3), Reduce("b c h w -> b c", "max")
    )
    out = model(x)
    out.sum().backward()
    return {
        "patches": rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2),
        "mean": reduce(x, "b h w c -> b c", "mean"),
        "wide": repeat(x, "b h w c -> b (h r) w c", r=2),
        "unpacked": unpack(packed, shapes, "b * c")[0],
        "product": einsum(x, x, "b h w c, b h w d -> b c d"),
        "mix": mix(x),
        "model": out,
        "gradient": x.grad,
    }
