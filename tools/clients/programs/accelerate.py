"""accelerate: prepares a model, an optimizer, a loader and a schedule; accumulates, clips, saves, loads."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(64, 10)
    data = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8, shuffle=False)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    losses = []
    for inputs, labels in data:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss).mean().item())
    accelerator.save_state("state")
    accelerator.load_state("state")
    return {"losses": losses, "rate": schedule.get_last_lr(), "out": model(x)}
