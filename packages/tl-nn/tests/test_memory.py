"""What training asks of memory."""

from __future__ import annotations

import resource

import tl_core as tl
import tl_nn
from tl_core.memory import usage as memory
from tl_nn import functional, optim


def perceptron():
    return tl_nn.Sequential(tl_nn.Linear(784, 512), tl_nn.ReLU(), tl_nn.Linear(512, 10))


def test_a_steady_step_takes_less_than_a_page_fault_an_operator():
    model = perceptron()
    optimizer = optim.Adam(model.parameters())
    x, y = tl.randn(128, 784), tl.randint(0, 10, (128,))

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    for _ in range(20):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        step()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    operators = 50 * 10  # forward, backward and step have more
    assert faults < operators


def test_a_snapshot_names_modules_by_their_path():
    model = perceptron()
    model[1].register_forward_pre_hook(lambda module, inputs: values.append(inputs[0] * 2))
    values = []
    with memory.record_memory(model):
        out = model(tl.randn(128, 784))
        modules = {g["module"] for g in memory.memory_snapshot() if g["bytes"] == 128 * 512 * 4}
    assert "1" in modules and out.shape == (128, 10)
