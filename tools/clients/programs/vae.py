"""The examples of PyTorch: a variational autoencoder."""

import torch
from torch import nn
from torch.nn import functional as F


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.mean, self.spread = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.decode = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x):
        hidden = F.relu(self.encode(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        sample = mean + torch.randn_like(spread) * torch.exp(0.5 * spread)
        return self.decode(sample), mean, spread


def main():
    torch.manual_seed(0)
    model, x = Autoencoder(), torch.rand(32, 64)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    for _ in range(5):
        out, mean, spread = model(x)
        divergence = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())
        loss = F.binary_cross_entropy(out, x, reduction="sum") + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses}
