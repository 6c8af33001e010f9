"""torchsde: a stochastic differential equation, solved with a Brownian interval, and its adjoint."""

import torch
import torchsde
from torch import nn


class Equation(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = nn.Linear(3, 3)

    def f(self, t, y):
        return torch.tanh(self.drift(y))

    def g(self, t, y):
        return 0.1 * torch.sigmoid(y)


def main():
    torch.manual_seed(0)
    equation, start, times = Equation(), torch.full((4, 3), 0.1), torch.linspace(0, 1, 5)
    noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=5)
    paths = torchsde.sdeint(equation, start, times, bm=noise, dt=0.05, method="euler")
    torchsde.sdeint_adjoint(equation, start, times, bm=noise, dt=0.05, method="milstein")[-1].sum().backward()
    return {"paths": paths, "gradient": equation.drift.weight.grad}
