"""Under `tl.torch` a public class says that it is torch's, as libraries ask; its pickle has the name that it has
alone."""

import os
import pkgutil
import subprocess
import sys

import tl_core
from tl_core.base import name_table

PROGRAM = """
import importlib, inspect, pickle, sys, typing, warnings
warnings.simplefilter("ignore")
import tl, tl.torch
from tl_nn import Conv2d  # loaded before
tl.torch.install()
import torch
from pathlib import Path

count, wrong = 0, []
for line in Path(sys.argv[1]).read_text().splitlines()[1:]:
    name, _, names = line.partition(": ")
    try:
        module = importlib.import_module("torch" if name == "-" else f"torch.{name}")
    except ImportError:
        continue
    for each in names.partition(" | ")[0].split():
        kind = getattr(module, each, None)
        if not isinstance(kind, type) or not getattr(kind.__module__, "own", kind.__module__).startswith("tl"):
            continue
        count += 1
        if not kind.__module__.startswith("torch") and not each.startswith("_"):
            wrong.append((name, each, kind.__module__))
        elif kind.__module__ != "torch" and "<locals>" not in kind.__qualname__:
            home = importlib.import_module(kind.__module__)
            if getattr(home, kind.__qualname__.split(".")[0], None) is None:
                wrong.append((name, each, kind.__module__, "not there"))
assert count > 900, count
assert not wrong, sorted({w[2]+(' '+w[1] if len(w)>3 else '') for w in wrong})

assert torch.nn.Parameter.__module__ == "torch.nn.parameter" and torch.Tensor.__module__ == "torch"
assert type(torch.nn.Parameter(torch.ones(1))).__module__.startswith("torch")
assert torch.nn.Conv2d.__module__ == "torch.nn.modules.conv" and torch.optim.SGD.__module__ == "torch.optim.sgd"
for kind in (torch.optim.lr_scheduler.StepLR, torch.optim.lr_scheduler.OneCycleLR, torch.cuda.device):
    assert kind.__module__ in ("torch.optim.lr_scheduler", "torch.cuda"), kind.__module__  # as PyTorch 2.13
assert repr(torch.UntypedStorage) == "<class 'torch.storage.UntypedStorage'>"
assert repr(torch.Generator) == "<class 'torch._C.Generator'>"
assert repr(torch.nn.Linear) == "<class 'torch.nn.modules.linear.Linear'>"
assert inspect.getsource(torch.nn.Linear).startswith("class Linear") and inspect.getmodule(torch.nn.Linear).__name__
typing.get_type_hints(torch.nn.Linear)
from torch.distributed._sharded_tensor import Shard, ShardedTensor  # the former name of the module
assert repr(ShardedTensor) == "<class 'torch.distributed._shard.sharded_tensor.api.ShardedTensor'>"
from torch.distributed._sharding_spec import ChunkShardingSpec
assert ChunkShardingSpec.__module__ == "torch.distributed._shard.sharding_spec.chunk_sharding_spec"
class Own(torch.nn.Linear): pass
assert Own.__module__ == "__main__"
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
for protocol in (2, 4, 5):
    again = pickle.loads(pickle.dumps((model, torch.nn.Linear), protocol))
    assert type(again[0]) is torch.nn.Sequential and again[1] is torch.nn.Linear
sys.stdout.buffer.write(pickle.dumps((model, torch.nn.ReLU, torch.optim.SGD(model.parameters(), 0.1).defaults)))
"""

ALONE = """
import pickle, sys
model, kind, defaults = pickle.load(sys.stdin.buffer)
assert kind.__module__ == "tl_nn.modules.activation" and type(model).__module__ == "tl_nn.modules.container"
assert "tl" not in sys.modules and defaults["lr"] == 0.1
"""


def test_public_classes_say_that_they_are_torchs_and_pickles_are_read_alone():
    names = os.path.join(os.path.dirname(__file__), "star_names.txt")
    process = subprocess.run([sys.executable, "-c", PROGRAM, names], capture_output=True, timeout=300)
    assert process.returncode == 0, process.stderr.decode()[-2000:]
    read = subprocess.run(
        [sys.executable, "-c", ALONE], input=process.stdout, capture_output=True, timeout=100
    )
    assert read.returncode == 0, read.stderr.decode()[-2000:]


# Folders of tl_core that hold names of PyTorch, under PyTorch's name or by a row of the table.
OF_PYTORCH = {"array_api", "library", "masked", "multiprocessing", "nested", "signal", "sparse_layouts", "subclasses",
              "testing"}  # fmt: skip


def test_the_facade_knows_the_rooms_of_the_core():
    folders = {module.name for module in pkgutil.iter_modules(tl_core.__path__) if module.ispkg}
    assert {f"tl_core.{name}" for name in folders - OF_PYTORCH} == set(name_table.ROOMS)
    assert name_table.facade_of("tl_core.base.ranks") is None
    assert name_table.facade_of("tl_core.pytree") == "utils._pytree"
