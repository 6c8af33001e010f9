"""nflows: autoregressive and spline flows; densities and their gradients."""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation


def main():
    torch.manual_seed(0)
    spline = MaskedPiecewiseRationalQuadraticAutoregressiveTransform(3, 8, tails="linear", tail_bound=3.0)
    steps = [MaskedAffineAutoregressiveTransform(3, 8), ReversePermutation(3), spline]
    flow = Flow(CompositeTransform(steps), StandardNormal([3]))
    density = flow.log_prob(torch.randn(10, 3))
    density.mean().backward()
    samples = flow.sample(5)
    gradient = next(p.grad for p in flow.parameters() if p.grad is not None)
    return {"density": density, "gradient": gradient, "samples": samples}
