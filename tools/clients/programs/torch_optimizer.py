"""torch-optimizer: a dozen optimizers walk down Rosenbrock's valley."""

import torch
import torch_optimizer

NAMES = [
    "AdaBound",
    "AdamP",
    "DiffGrad",
    "Lamb",
    "NovoGrad",
    "QHAdam",
    "RAdam",
    "Yogi",
    "Ranger",
    "SGDP",
    "MADGRAD",
    "AdaBelief",
    "Apollo",
    "Shampoo",
]


def main():
    ends = {}
    for name in NAMES:
        # in double precision, as Shampoo inverts a matrix that is all but singular
        point = torch.tensor([-2.0, 2.0], dtype=torch.float64, requires_grad=True)
        optimizer = getattr(torch_optimizer, name)([point], lr=0.01)
        for _ in range(20):
            optimizer.zero_grad()
            value = (1 - point[0]) ** 2 + (point[1] - point[0] ** 2) ** 2
            value.backward()
            optimizer.step()
        ends[name] = point
    return ends
