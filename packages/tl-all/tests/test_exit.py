"""Daemon threads in the middle of work when the program ends: it ends as if they were not there."""

import os
import subprocess
import sys

import pytest

START = """
import threading, time
import tl
from tl import nn
{work}
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""
WORK = {
    "operators": "def work():\n    while True: tl.rand(300, 300) @ tl.rand(300, 300)",
    "short operators": "def work():\n    x = tl.ones(3)\n    while True: x + x",
    "backward": (
        "x = tl.rand(300, 300, requires_grad=True)\ndef work():\n    while True: (x @ x).sum().backward()"
    ),
    "hooks": (
        "def hook(g):\n    for _ in range(100): g = g * 1\n    return g\n"
        "def work():\n    while True:\n        x = tl.rand(9, requires_grad=True)\n        y = x * 2\n"
        "        y.register_hook(hook)\n        y.sum().backward()"
    ),
    "a function of its own": (
        "class Double(tl.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x): return sum([x for _ in range(50)])\n"
        "    @staticmethod\n    def backward(ctx, g): return sum([g for _ in range(50)])\n"
        "def work():\n    while True: Double.apply(tl.rand(9, requires_grad=True)).sum().backward()"
    ),
    "a handler": (
        "from tl.utils._python_dispatch import TorchDispatchMode\n"
        "class Mode(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, f, types, a=(), k=None):\n"
        "        for _ in range(1000): pass\n        return f(*a, **(k or {}))\n"
        "def work():\n    while True:\n        with Mode(): tl.ones(9) + 1"
    ),
    "a handler that sleeps": (
        "class Sleepy(tl.Tensor):\n"
        "    @classmethod\n    def __torch_function__(cls, f, types, a=(), k=None):\n"
        "        time.sleep(0.01)\n        return super().__torch_function__(f, types, a, k)\n"
        "def work():\n    x = tl.ones(9).as_subclass(Sleepy)\n    while True: x + 1"
    ),
    "sparse rules": "def work():\n    x = tl.eye(20).to_sparse()\n    while True: x.sum(0)",
    "printing": "def work():\n    while True: repr(tl.rand(30, 30))",
    "files": (
        "import tempfile, os\n"
        "def work():\n    name = os.path.join(tempfile.mkdtemp(), 'f')\n"
        "    while True:\n        tl.save(tl.rand(300, 300), name)\n        tl.load(name)"
    ),
    "a loader": (
        "from tl.utils.data import DataLoader\n"
        "def work():\n    while True:\n        for b in DataLoader(list(tl.rand(64, 300)), batch_size=8): b.sum()"
    ),
    "training": (
        "def work():\n    m = nn.Sequential(nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 1))\n"
        "    o = tl.optim.Adam(m.parameters())\n"
        "    while True:\n        o.zero_grad()\n        m(tl.rand(300, 200)).sum().backward()\n        o.step()"
    ),
    "vmap": "def work():\n    while True: tl.func.vmap(tl.func.grad(lambda x: (x * x).sum()))(tl.rand(50, 50))",
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_the_program_ends(work, tmp_path):
    for _ in range(2):
        process = subprocess.run(
            [sys.executable, "-c", START.format(work=work)],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert process.returncode == 0, (process.returncode, process.stderr[-2000:])
