"""safetensors: files of tensors of many types, lazily read slices, models with shared weights."""

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn


def main():
    torch.manual_seed(0)
    types = (
        torch.float32,
        torch.float64,
        torch.bfloat16,
        torch.float16,
        torch.int64,
        torch.uint8,
        torch.bool,
    )
    tensors = {str(t): (torch.randn(4, 6) * 3).to(t) for t in types} | {"empty": torch.empty(0, 2)}
    save_file(tensors, "t.safetensors", metadata={"made": "here"})
    with safe_open("t.safetensors", "pt") as file:
        part, made = file.get_slice("torch.float32")[1:3, ::1], file.metadata()
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    save_model(model, "m.safetensors")
    missing, unexpected = load_model(model, "m.safetensors")
    return {
        "read": {name: t.float() for name, t in load_file("t.safetensors").items()},
        "bytes": {name: t.float() for name, t in load(save(tensors)).items()},
        "part": part,
        "made": made,
        "model": [list(missing), list(unexpected)],
    }
