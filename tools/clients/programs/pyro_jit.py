"""pyro: inference whose losses and potential are traced once."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import (
    HMC,
    MCMC,
    SVI,
    JitTrace_ELBO,
    JitTraceEnum_ELBO,
    JitTraceGraph_ELBO,
    Trace_ELBO,
    config_enumerate,
)
from pyro.infer.autoguide import AutoDelta, AutoNormal
from pyro.optim import Adam


def model(x, y):
    weight = pyro.sample("weight", dist.Normal(0.0, 2.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 0.5))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(weight * x, scale), obs=y)


@config_enumerate
def mixture(x):
    share = pyro.param("share", torch.tensor([0.5, 0.5]), constraint=dist.constraints.simplex)
    centers = pyro.param("centers", torch.tensor([-0.5, 0.5]))
    with pyro.plate("points", len(x)):
        kind = pyro.sample("kind", dist.Categorical(share))
        pyro.sample("x", dist.Normal(centers[kind], 0.5), obs=x)


def losses(program, guide, loss, *data, steps=30):
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    inference = SVI(program, guide, Adam({"lr": 0.05}), loss)
    return [inference.step(*data) for _ in range(steps)][::10]


def main():
    pyro.set_rng_seed(0)
    x = torch.linspace(-1, 1, 20)
    y = 1.5 * x + 0.1 * torch.randn(20)
    results = {
        "plain": losses(model, AutoDelta(model), Trace_ELBO(), x, y),
        "traced": losses(model, AutoDelta(model), JitTrace_ELBO(ignore_jit_warnings=True), x, y),
        "graph": losses(model, AutoDelta(model), JitTraceGraph_ELBO(ignore_jit_warnings=True), x, y),
        "enumerated": losses(
            mixture, lambda x: None, JitTraceEnum_ELBO(max_plate_nesting=1, ignore_jit_warnings=True), y
        ),
        "centers": pyro.param("centers"),
    }
    first, *_, last = losses(
        model, AutoNormal(model), JitTrace_ELBO(ignore_jit_warnings=True), x, y, steps=200
    )
    pyro.clear_param_store()
    pyro.set_rng_seed(2)
    kernel = HMC(model, step_size=0.05, num_steps=4, jit_compile=True, ignore_jit_warnings=True)
    sampler = MCMC(kernel, num_samples=40, warmup_steps=20, disable_progbar=True)
    sampler.run(x, y)
    return results | {
        "learns": last < first / 2,
        "weight": round(sampler.get_samples()["weight"].mean().item(), 1),
    }
