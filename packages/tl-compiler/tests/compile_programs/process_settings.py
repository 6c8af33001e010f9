"""Programs whose process changes: modes of gradients, autocast, dtypes, seeds, what is printed."""

from __future__ import annotations

import contextlib
import itertools
import random

import tl_core as tl
from tl_core.dispatch import autocast

from .registry import Net, program, x3


@contextlib.contextmanager
def amp_region(enabled=True):
    before = autocast.is_autocast_enabled("cpu")
    autocast.set_autocast_enabled("cpu", enabled)
    try:
        yield
    finally:
        autocast.set_autocast_enabled("cpu", before)


@program(graphs=2)
def no_grad(compile):
    f = compile(lambda x: x * 2)
    x = x3().requires_grad_()
    yield f(x).requires_grad
    with tl.no_grad():
        yield f(x).requires_grad
    yield f(x).requires_grad


@program(graphs=1)
def no_grad_inside(compile):
    def f(x):
        with tl.no_grad():
            a = x * 2
        return a * x

    f, x = compile(f), x3().requires_grad_()
    f(x).sum().backward()
    yield x.grad
    yield tl.is_grad_enabled()


@program(graphs=1)
def the_grad_mode_stays_changed(compile):
    def f(x):
        tl.set_grad_enabled(False)
        return x * 2

    f = compile(f)
    yield f(x3())
    yield tl.is_grad_enabled()
    tl.set_grad_enabled(True)


@program(graphs=2)
def default_dtype(compile):
    f = compile(lambda x: tl.ones(3) / 3 + x.to(tl.get_default_dtype()))
    yield f(x3())
    tl.set_default_dtype(tl.float64)
    try:
        yield f(x3())
    finally:
        tl.set_default_dtype(tl.float32)
    yield f(x3())


@program(graphs=2)
def autocast_around(compile):
    tl.manual_seed(0)
    model = Net()
    f = compile(lambda x: model(x).float().softmax(-1).sum() + (x @ x.t()).sum())
    x = tl.rand(2, 3)
    yield f(x)
    with amp_region():
        yield f(x)
    yield f(x)


@program(graphs=1)
def autocast_off_inside(compile):
    def f(x):
        with amp_region(False):
            a = x @ x
        return a, x @ x

    f = compile(f)
    for _ in range(2):
        with amp_region():
            yield f(tl.rand(3, 3, generator=tl.Generator().manual_seed(3)))


@program(graphs=1)
def random_numbers(compile):
    f = compile(lambda x: x + tl.rand(3) + tl.randn_like(x))
    tl.manual_seed(7)
    for _ in range(3):
        yield f(x3())
    yield tl.rand(1)


@program(graphs=1)
def a_random_number_nobody_uses(compile):
    def f(x):
        tl.rand(5)
        return x + 1

    f = compile(f)
    tl.manual_seed(7)
    yield f(x3())
    yield tl.rand(1)
    yield f(x3())
    yield tl.rand(1)


@program(graphs=0)
def pythons_random_numbers(compile):
    f = compile(lambda x: x * random.random())
    random.seed(1)
    for _ in range(3):
        yield f(x3())


@program(graphs=0)
def seeds(compile):
    def f(x):
        tl.manual_seed(3)
        return x + tl.rand(3)

    f = compile(f)
    for _ in range(2):
        yield f(x3())


@program(graphs=0)
def prints(compile):
    def f(x):
        print("called")
        return x + 1

    f = compile(f)
    for _ in range(3):
        yield f(x3())


@program(graphs=0)
def iterators(compile):
    numbers = itertools.count()
    f = compile(lambda x: x * next(numbers))
    for _ in range(3):
        yield f(x3())


@program(graphs=0)
def generators(compile):
    def f(x):
        for n in range(3):
            yield x * n

    f = compile(f)
    yield list(f(x3()))
    yield list(f(x3() + 1))
