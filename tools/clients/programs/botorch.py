"""botorch: a Gaussian process, and the point where its expected improvement is greatest."""

import torch
from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood


def main():
    torch.manual_seed(0)
    x = torch.rand(12, 2, dtype=torch.float64)
    y = -((x - 0.4) ** 2).sum(1, keepdim=True)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    best = LogExpectedImprovement(model, best_f=y.max())
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    point, value = optimize_acqf(best, bounds, q=1, num_restarts=2, raw_samples=16)
    several = qExpectedImprovement(model, best_f=y.max())(torch.full((1, 2, 2), 0.4, dtype=torch.float64))
    near = bool((point - 0.4).abs().max() < 0.2)
    return {"near": near, "finite": bool(value.isfinite()), "several": bool(several >= 0)}
