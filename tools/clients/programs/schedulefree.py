"""schedulefree and lion-pytorch: optimizers without a schedule and with signs."""

import torch
from lion_pytorch import Lion
from schedulefree import AdamWScheduleFree, SGDScheduleFree
from torch import nn


def main():
    ends, x = {}, torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
    for kind in (AdamWScheduleFree, SGDScheduleFree, Lion):
        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        optimizer = kind(model.parameters(), lr=0.01)
        if hasattr(optimizer, "train"):
            optimizer.train()
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x[:, :1]).backward()
            optimizer.step()
        if hasattr(optimizer, "eval"):
            optimizer.eval()
        ends[kind.__name__] = model.weight
    return ends
