"""ema-pytorch and rotary-embedding-torch: averaged weights, and positions as rotations."""

import torch
from ema_pytorch import EMA
from rotary_embedding_torch import RotaryEmbedding
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    average = EMA(model, beta=0.9, update_after_step=0, update_every=1)
    for _ in range(5):
        with torch.no_grad():
            model.weight.add_(torch.randn(4, 4))
        average.update()
    queries = torch.randn(1, 2, 6, 16)
    return {
        "average": average.ema_model.weight,
        "rotated": RotaryEmbedding(dim=16).rotate_queries_or_keys(queries),
    }
