"""tensordict: nested dictionaries of tensors that are indexed, stacked and moved as one; modules that read them."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn


def main():
    torch.manual_seed(0)
    data = TensorDict({"x": torch.randn(6, 4), "deep": {"y": torch.arange(6)}}, batch_size=[6])
    stacked = torch.stack([data, data.clone()], 0)
    first = TensorDictModule(nn.Linear(4, 8), in_keys=["x"], out_keys=["h"])
    second = TensorDictModule(nn.Linear(8, 2), in_keys=["h"], out_keys=["out"])
    result = TensorDictSequential(first, second)(data)
    result["out"].sum().backward()
    return {
        "out": result["out"],
        "part": data[2:4]["deep", "y"],
        "shape": list(stacked.shape),
        "flat": sorted(map(str, data.flatten_keys(".").keys())),
        "gradient": first.module.weight.grad,
    }
