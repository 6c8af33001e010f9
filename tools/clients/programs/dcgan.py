"""The examples of PyTorch: a generator and a discriminator against each other, as the DCGAN example trains them."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    generator = nn.Sequential(
        *(nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True)),
        *(nn.ConvTranspose2d(16, 3, 4, 4, 0, bias=False), nn.Tanh()),
    )
    critic = nn.Sequential(
        nn.Conv2d(3, 8, 4, 4, bias=False), nn.LeakyReLU(0.2, True), nn.Conv2d(8, 1, 4), nn.Sigmoid()
    )
    rates = {"lr": 2e-3, "betas": (0.5, 0.999)}
    optimizers = [torch.optim.Adam(net.parameters(), **rates) for net in (critic, generator)]
    loss_of, real, history = nn.BCELoss(), torch.rand(4, 3, 16, 16) * 2 - 1, []
    for _ in range(3):
        critic.zero_grad()
        fake = generator(torch.randn(4, 8, 1, 1))
        loss = loss_of(critic(real).flatten(), torch.ones(4)) + loss_of(
            critic(fake.detach()).flatten(), torch.zeros(4)
        )
        loss.backward()
        optimizers[0].step()
        generator.zero_grad()
        cheat = loss_of(critic(fake).flatten(), torch.ones(4))
        cheat.backward()
        optimizers[1].step()
        history.append([loss.item(), cheat.item()])
    return {"history": history}
