"""higher: an inner loop of learning that gradients go through."""

import higher
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(10, 3)
    with higher.innerloop_ctx(model, inner) as (functional, optimizer):
        for _ in range(3):
            optimizer.step(nn.functional.mse_loss(functional(x), x[:, :1]))
        loss = nn.functional.mse_loss(functional(x), x[:, :1])
        loss.backward()
    return {"loss": loss, "gradients": [p.grad for p in model.parameters()]}
