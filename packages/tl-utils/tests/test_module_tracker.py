"""Which modules run."""

from __future__ import annotations

import pytest

import tl_core
import tl_nn
from tl_autograd.checkpoint import checkpoint
from tl_utils.module_tracker import ModuleTracker


class Block(tl_nn.Module):
    def __init__(self, log):
        super().__init__()
        self.log = log

    def forward(self, x):
        tracker = self.log["tracker"]
        self.log["forward"].append((tracker.parents, tracker.is_bw))
        y = x * 2
        if y.requires_grad:
            y.register_hook(lambda g: self.log["backward"].append((tracker.parents, tracker.is_bw)))
        return {"y": y * 3}


class Model(tl_nn.Module):
    def __init__(self, log):
        super().__init__()
        self.a, self.b = Block(log), tl_nn.ModuleList([Block(log)])

    def forward(self, x):
        return self.b[0](self.a(x)["y"])["y"]


def new_log():
    return {"forward": [], "backward": []}


def test_names_forward_and_backward():
    log = new_log()
    model = Model(log)
    with ModuleTracker() as tracker:
        log["tracker"] = tracker
        for _ in range(2):
            model(tl_core.ones(2, requires_grad=True) * 1).sum().backward()
            assert tracker.parents == {"Global"}
            assert not tracker.is_bw
    a, b = {"Global", "Model", "Model.a"}, {"Global", "Model", "Model.b.0"}
    assert log["forward"] == [(a, False), (b, False)] * 2
    assert log["backward"] == [(b, True), (a, True)] * 2


def test_inputs_without_gradient():
    log = new_log()
    block = Block(log)
    with ModuleTracker() as tracker:
        log["tracker"] = tracker
        block(tl_core.ones(2))
    assert log["forward"] == [({"Global", "Block"}, False)]
    linear = tl_nn.Linear(2, 2)
    with ModuleTracker() as tracker:
        linear(tl_core.ones(2)).sum().backward()
        assert tracker.parents == {"Global"}


def test_recursion_checkpoints_and_errors():
    class Again(tl_nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.ran = tl_nn.Linear(2, 2), False

        def forward(self, x):
            self.ran = not self.ran
            if not self.ran:
                return self.inner(x)
            y = self(x)
            assert "Again" in tracker.parents
            return y

    model, x = Again(), tl_core.ones(1, 2, requires_grad=True)
    with ModuleTracker() as tracker:
        model(x).sum().backward()
    with ModuleTracker() as tracker:
        checkpoint(model, x, use_reentrant=False).sum().backward()
    assert tracker.parents == {"Global"}
    with ModuleTracker() as tracker:
        with pytest.raises(RuntimeError):
            tl_nn.Sequential(tl_nn.Linear(3, 3))(x)
        assert tracker.parents == {"Global"}
