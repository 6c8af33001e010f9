"""backpack-for-pytorch: gradients of single samples, their variance, and curvature in one backward pass."""

import torch
from backpack import backpack, extend
from backpack.extensions import KFAC, BatchGrad, BatchL2Grad, DiagGGNExact, Variance
from torch import nn


def main():
    torch.manual_seed(0)
    model = extend(nn.Sequential(nn.Conv2d(1, 3, 3), nn.Sigmoid(), nn.Flatten(), nn.Linear(108, 5)))
    loss = extend(nn.CrossEntropyLoss())(model(torch.randn(4, 1, 8, 8)), torch.tensor([0, 1, 2, 3]))
    with backpack(BatchGrad(), BatchL2Grad(), Variance(), DiagGGNExact(), KFAC()):
        loss.backward()
    return {
        name: [p.grad_batch, p.batch_l2, p.variance, p.diag_ggn_exact, p.kfac]
        for name, p in model.named_parameters()
    }
