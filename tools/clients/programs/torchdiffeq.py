"""torchdiffeq: a neural differential equation by several solvers, the adjoint method, and an event."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


def main():
    torch.manual_seed(0)
    field, start, times = Field(), torch.tensor([[2.0, 0.0]]), torch.linspace(0, 2, 5)
    paths = {
        method: odeint(field, start, times, method=method)
        for method in ("dopri5", "rk4", "dopri8", "explicit_adams")
    }
    odeint_adjoint(field, start, times).sum().backward()
    gradient = field.net[0].weight.grad
    fall = lambda t, y: torch.stack([y[1], torch.full_like(y[0], -9.81)])  # noqa: E731
    when, _ = odeint_event(fall, torch.tensor([10.0, 0.0]), torch.tensor(0.0), event_fn=lambda t, y: y[0])
    return {"paths": paths, "gradient": gradient, "when": when}
