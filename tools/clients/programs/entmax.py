"""entmax: sparse softmaxes and their losses, through custom autograd functions."""

import torch
from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, sparsemax


def main():
    torch.manual_seed(0)
    x = torch.randn(4, 7, requires_grad=True)
    alpha = torch.tensor(1.3, requires_grad=True)
    targets = torch.tensor([1, 0, 3, 6])
    loss = SparsemaxLoss()(x, targets) + Entmax15Loss()(x, targets)
    loss.backward()
    bisected = entmax_bisect(x, alpha)
    bisected.square().sum().backward()
    return {
        "sparse": sparsemax(x),
        "entmax": entmax15(x),
        "bisected": bisected,
        "gradients": [x.grad, alpha.grad],
    }
