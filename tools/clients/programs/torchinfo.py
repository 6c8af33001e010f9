"""torchinfo: tables of a model's layers, parameters and multiply-adds."""

import torch
from torch import nn
from torchinfo import summary


def main():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10)
    )
    table = summary(model, input_size=(2, 3, 16, 16), verbose=0)
    text = [line.rstrip() for line in str(table).splitlines() if "─Conv2d" in line or "Total" in line]
    return {"parameters": table.total_params, "products": table.total_mult_adds, "text": text}
