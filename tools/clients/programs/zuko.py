"""zuko: normalizing flows; densities, samples with gradients and a few steps of learning."""

import torch
import zuko


def main():
    torch.manual_seed(0)
    outputs = {}
    for flow in (
        zuko.flows.NSF(2, context=1, transforms=2, hidden_features=(16, 16)),
        zuko.flows.MAF(2, context=1),
    ):
        x, c = torch.randn(32, 2) * 0.5 + 1, torch.randn(32, 1)
        optimizer, losses = torch.optim.Adam(flow.parameters(), lr=1e-2), []
        for _ in range(5):
            loss = -flow(c).log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        outputs[type(flow).__name__] = {"losses": losses, "sample": flow(c).rsample()}
    return outputs
