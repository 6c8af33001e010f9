"""`compile` across the packages: the wrapper of modules is where programs look for it, and the alias is one with it."""

import subprocess
import sys

import tl


def test_compiled_modules_are_wrapped():
    model = tl.nn.Linear(2, 1)
    result = tl.compile(model, backend="eager")
    assert isinstance(result, tl._dynamo.eval_frame.OptimizedModule) and result._orig_mod is model
    assert list(result.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert isinstance(tl.compile(backend="eager")(model), tl._dynamo.OptimizedModule)
    assert tl.compile(model, disable=True) is model
    x = tl.randn(3, 2)
    assert tl.equal(result(x), model(x))


PROGRAM = """
import torch
import torch.nn.functional as F
from torch._dynamo.backends.registry import lookup_backend

graphs = []

def backend(gm: torch.fx.GraphModule, example_inputs):
    graphs.append(gm)
    return lookup_backend("eager")(gm, example_inputs)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.norm = torch.nn.BatchNorm2d(2)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return F.adaptive_avg_pool2d(x, 1).flatten(1)

model = Net()
made = torch.compile(model, backend=backend, fullgraph=True)
x = torch.randn(2, 1, 8, 8)
made(x).sum().backward()
assert len(graphs) == 1 and model.conv.weight.grad is not None
with torch.autocast("cpu", torch.bfloat16):
    assert made(x).dtype is model(x).dtype
assert len(graphs) == 2
model.eval()
assert torch.equal(made(x), model(x)) and len(graphs) == 3
model.compile(backend=backend)
assert torch.equal(model(x), made._orig_mod(x))
print(torch._dynamo.explain(model)(x).graph_count)
"""


def test_programs_that_say_torch():
    command = [sys.executable, "-m", "tl.torch", "-c", PROGRAM]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stdout) == (0, "1\n"), process.stderr
