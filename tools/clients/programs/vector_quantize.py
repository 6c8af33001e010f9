"""vector-quantize-pytorch: codebooks, residual and scalar quantizers, with straight-through gradients."""

import torch
from torch import nn
from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize


def main():
    torch.manual_seed(0)
    x, outputs = torch.randn(1, 64, 16), {}
    for name, quantizer in (
        ("codebook", VectorQuantize(dim=16, codebook_size=32, decay=0.8, kmeans_init=True, kmeans_iters=3)),
        ("residual", ResidualVQ(dim=16, num_quantizers=3, codebook_size=32)),
        ("scalar", FSQ(levels=[8, 5, 5, 5], dim=16)),
    ):
        linear = nn.Linear(16, 16)
        values, codes, *_ = quantizer(linear(x))
        values.square().mean().backward()
        outputs[name] = [values, codes.float(), linear.weight.grad]
    return outputs
