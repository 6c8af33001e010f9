"""lightning.fabric: a raw loop with set-up, backward, clipping, saving and bfloat16."""

import torch
from lightning.fabric import Fabric
from torch import nn


def main():
    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    fabric.launch()
    fabric.seed_everything(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1))
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=0.01))
    x = torch.randn(32, 8)
    losses = []
    for _ in range(4):
        loss = nn.functional.mse_loss(model(x).float(), x[:, :1])
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    fabric.save("state.ckpt", {"model": model, "optimizer": optimizer, "step": 4})
    state = {"model": model, "optimizer": optimizer, "step": 0}
    fabric.load("state.ckpt", state)
    return {"losses": [round(loss, 2) for loss in losses], "step": state["step"]}
