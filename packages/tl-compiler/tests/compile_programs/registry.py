"""The table of programs, and what several of them use."""

from __future__ import annotations

import tl_core as tl
import tl_nn

PROGRAMS: dict = {}


def program(graphs=None):
    """Notes a program; `graphs` is how many graphs its backend gets, where that is part of what is promised."""

    def note(function):
        PROGRAMS[function.__name__] = function, graphs
        return function

    return note


def x3():
    return tl.tensor([0.5, -1.5, 2.0])


class Net(tl_nn.Module):
    def __init__(self):
        super().__init__()
        tl.manual_seed(1)
        self.first = tl_nn.Linear(3, 4)
        self.second = tl_nn.Linear(4, 2)
        self.flag, self.calls = True, 0
        self.register_buffer("seen", tl.zeros(()))

    def forward(self, x):
        x = self.first(x)
        return self.second(x.relu() if self.flag else x.tanh())


class CountedNet(Net):
    def forward(self, x):
        self.calls += 1
        self.seen += x.sum()
        return super().forward(x) * self.calls


def gradients(model, out):
    model.zero_grad()
    out.square().sum().backward()
    return [p.grad for p in model.parameters()]
