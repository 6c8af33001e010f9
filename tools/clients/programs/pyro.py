"""pyro: variational inference with a guide of its own making, and Hamiltonian sampling."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
from pyro.optim import Adam


def model(x, y=None):
    weight, offset = (
        pyro.sample("weight", dist.Normal(0.0, 2.0)),
        pyro.sample("offset", dist.Normal(0.0, 2.0)),
    )
    scale = pyro.sample("scale", dist.LogNormal(0.0, 0.5))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(weight * x + offset, scale), obs=y)


def main():
    pyro.set_rng_seed(0)
    x = torch.linspace(-1, 1, 30)
    y = 1.5 * x - 0.5 + 0.1 * torch.randn(30)
    guide = AutoNormal(model)
    inference = SVI(model, guide, Adam({"lr": 0.05}), Trace_ELBO())
    losses = [inference.step(x, y) for _ in range(100)]
    drawn = Predictive(model, guide=guide, num_samples=20)(x)["y"]
    pyro.set_rng_seed(1)
    sampler = MCMC(NUTS(model), num_samples=30, warmup_steps=30, disable_progbar=True)
    sampler.run(x, y)
    weights = sampler.get_samples()["weight"].mean().item()
    return {
        "losses": losses[::20],
        "median": guide.median(),
        "drawn": list(drawn.shape),
        "weight": round(weights, 1),
    }
