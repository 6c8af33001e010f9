"""Programs whose functions write to tensors, raise, or call each other."""

from __future__ import annotations

import tl_core as tl

from .registry import program, x3


@program(graphs=1)
def in_place_on_the_input(compile):
    def f(x):
        x.add_(1)
        x[0] = 5
        return x * 2

    f = compile(f)
    for _ in range(3):
        x = x3()
        yield f(x)
        yield x


@program(graphs=1)
def in_place_on_an_intermediate(compile):
    def f(x):
        y = x * 1
        y[1:].mul_(3)
        y += 1
        return y

    f, x = compile(f), x3().requires_grad_()
    f(x).sum().backward()
    yield x.grad
    yield f(x)


@program(graphs=1)
def out_argument(compile):
    def f(x, out):
        tl.add(x, 1, out=out)
        return out * 2

    f, out = compile(f), tl.zeros(3)
    for i in range(3):
        yield f(x3() * i, out)
        yield out


@program()
def wrong_shapes_raise(compile):
    f = compile(lambda x, y: x + y)
    yield f(x3(), x3())
    try:
        f(x3(), tl.ones(2))
    except RuntimeError as error:
        yield str(error)
    yield f(x3(), x3())


@program()
def own_errors_raise(compile):
    def f(x, n):
        if n > 1:
            raise ValueError(f"n is {n}")
        return x * n

    f = compile(f)
    yield f(x3(), 1)
    for _ in range(2):
        try:
            f(x3(), 2)
        except ValueError as error:
            yield str(error)


@program()
def a_probe_that_fails(compile):
    def f(x, y):
        try:
            return x @ y
        except RuntimeError:
            return x * 2

    f = compile(f)
    yield f(x3(), x3())
    yield f(x3(), tl.ones(2))
    yield f(x3(), tl.ones(2))


@program(graphs=1)
def constants_of_the_program(compile):
    f = compile(lambda x: (x + tl.tensor([1.0, 2.0, 3.0]), 7, None, "text", x.dtype))
    for _ in range(2):
        yield f(x3())


@program()
def nothing_but_the_input(compile):
    f = compile(lambda x: x)
    yield f(x3())


@program(graphs=1)
def nested_compiled(compile):
    inner = compile(lambda x: x * 3)
    f = compile(lambda x: inner(x) + 1)
    yield f(x3())
    yield f(x3())


@program()
def recursion(compile):
    def fold(x, n):
        return x if n == 0 else fold(x * 2, n - 1)

    f = compile(fold)
    yield f(x3(), 3)
    yield f(x3(), 2)
