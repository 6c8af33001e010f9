"""snntorch: leaky and synaptic neurons learn through surrogate gradients."""

import snntorch
import torch
from snntorch import surrogate
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(10, 16), nn.Linear(16, 3)
        self.leaky = snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(slope=25), learn_beta=True)
        self.synaptic = snntorch.Synaptic(alpha=0.8, beta=0.9, spike_grad=surrogate.atan())

    def forward(self, steps):
        membrane = self.leaky.init_leaky()
        current, voltage = self.synaptic.init_synaptic()
        voltages = []
        for step in steps:
            spikes, membrane = self.leaky(self.first(step), membrane)
            spikes, current, voltage = self.synaptic(self.second(spikes), current, voltage)
            voltages.append(voltage)
        return torch.stack(voltages)


def main():
    torch.manual_seed(0)
    net, steps, losses = Net(), torch.randn(6, 4, 10).abs() * 3, []
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        loss = net(steps).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "voltages": net(steps)}
