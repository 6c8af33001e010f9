"""Programs whose course the elements of a tensor decide."""

from __future__ import annotations

import pytest

import tl_core as tl

from .registry import program, x3


@program(graphs=0)
def branch_on_a_value(compile):
    def f(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    f = compile(f)
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def loop_on_a_value(compile):
    def f(x):
        n = 0
        while x.abs().max() > 1:
            x, n = x / 2, n + 1
        return x, n

    f = compile(f)
    yield f(x3() * 10)
    yield f(x3())


@program(graphs=0)
def item(compile):
    f = compile(lambda x: x * x.max().item())
    yield f(x3())
    yield f(x3() * 3)


@program(graphs=0)
def int_of_a_tensor(compile):
    f = compile(lambda x, n: x.repeat(int(n)))
    yield f(x3(), tl.tensor(2))
    yield f(x3(), tl.tensor(3))


@program(graphs=0)
def tolist(compile):
    f = compile(lambda x: [v * 2 for v in x.tolist()])
    yield f(x3())
    yield f(x3() + 1)


@program(graphs=0)
def numpy_of_a_tensor(compile):
    numpy = pytest.importorskip("numpy")
    f = compile(lambda x: tl.from_numpy(numpy.sort(x.numpy())))
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def swallowed(compile):
    def f(x):
        try:
            if x.sum() > 0:
                return x + 1
        except Exception:
            return x * 100
        return x - 1

    f = compile(f)
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def a_value_of_what_is_held(compile):
    flag = tl.tensor(1.0)

    def f(x):
        return x + 1 if flag > 0 else x - 1

    f = compile(f)
    yield f(x3())
    flag.neg_()
    yield f(x3())


@program(graphs=0)
def sizes_that_values_decide(compile):
    def f(x):
        value = x[x > 0]
        return value[:2].sum() / value.shape[0], value.view(-1, 1), x.nonzero()[-1:]

    f = compile(f)
    for x in (x3(), tl.ones(5), tl.arange(4.0)):
        yield f(x)


@program(graphs=0)
def a_loop_over_sizes_that_values_decide(compile):
    f = compile(lambda x: sum(i * x for i in range(len(x.nonzero()))))
    yield f(x3())
    yield f(tl.tensor([0.0, 1.0, 0.0]))


@program(graphs=0)
def arrays_and_clocks(compile):
    import os
    import time

    numpy = pytest.importorskip("numpy")
    table = numpy.arange(3.0)
    f = compile(lambda x: x + tl.tensor(table))
    yield f(x3())
    table[:] = 7
    yield f(x3())
    os.environ["TL_TEST_FACTOR"] = "2"
    g = compile(lambda x: x * float(os.environ.get("TL_TEST_FACTOR", "1")))
    yield g(x3())
    os.environ["TL_TEST_FACTOR"] = "3"
    yield g(x3())
    del os.environ["TL_TEST_FACTOR"]
    h = compile(lambda x: x * (time.perf_counter() > 0))
    yield h(x3())


@program(graphs=0)
def mask_selects(compile):
    f = compile(lambda x: x[x > 0] * 2)
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def equal(compile):
    f = compile(lambda x, y: x if tl.equal(x, y) else x - y)
    yield f(x3(), x3())
    yield f(x3(), x3() + 1)


@program(graphs=0)
def text_of_a_tensor(compile):
    f = compile(lambda x: (f"{x}", x + 1))
    yield f(x3())
    yield f(x3() + 1)
