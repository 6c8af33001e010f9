"""spikingjelly: a convolutional net of integrating neurons over several steps."""

import torch
from spikingjelly.activation_based import functional, layer, neuron, surrogate
from torch import nn


def main():
    torch.manual_seed(0)
    net = nn.Sequential(
        layer.Conv2d(1, 4, 3, padding=1),
        layer.BatchNorm2d(4),
        neuron.LIFNode(surrogate_function=surrogate.ATan()),
        layer.MaxPool2d(2),
        layer.Flatten(),
        layer.Linear(64, 5),
        neuron.IFNode(surrogate_function=surrogate.Sigmoid()),
    )
    functional.set_step_mode(net, "m")
    rates = net(torch.randn(4, 2, 1, 8, 8) * 9).mean(0)
    (rates - 0.5).square().mean().backward()
    return {"rates": rates, "gradient": net[0].weight.grad, "linear": net[5].weight.grad}
