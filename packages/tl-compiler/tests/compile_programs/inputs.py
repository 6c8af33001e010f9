"""Programs whose arguments change: numbers, texts, containers, views, sizes."""

from __future__ import annotations

import math

import tl_core as tl

from .registry import program, x3


@program(graphs=1)
def plain(compile):
    f = compile(lambda x: (x.sin() + 1).relu())
    for _ in range(3):
        yield f(x3())


@program(graphs=2)
def other_sizes(compile):
    f = compile(lambda x: x / x.shape[0] + x.numel())
    for n in (2, 3, 5, 3):
        yield f(tl.arange(float(n)))


@program(graphs=3)
def other_dtypes(compile):
    f = compile(lambda x: x * 2 + 1)
    for dtype in (tl.float32, tl.float64, tl.int64, tl.float32):
        yield f(tl.ones(3, dtype=dtype))


@program(graphs=2)
def other_strides(compile):
    f = compile(lambda x: x.is_contiguous() * x + x.reshape(-1)[:3])
    for x in (tl.arange(9.0).reshape(3, 3), tl.arange(9.0).reshape(3, 3).t()):
        yield f(x)


@program(graphs=2)
def requires_grad(compile):
    f = compile(lambda x: x * 2 if x.requires_grad else x * 3)
    yield f(x3())
    x = x3().requires_grad_()
    f(x).sum().backward()
    yield x.grad


@program(graphs=3)
def numbers(compile):
    f = compile(lambda x, n: x * n)
    for n in (1, 1.0, True, 1):
        yield f(x3().to(tl.int64), n)


@program(graphs=2)
def zeros_of_both_signs(compile):
    f = compile(lambda x, n: x * n)
    for n in (0.0, -0.0, 0.0):
        yield f(x3(), n).signbit()


@program()
def not_a_number(compile):
    f = compile(lambda x, n: x * (2 if n != n else 3))
    for n in (math.nan, 1.0, math.nan):
        yield f(x3(), n)


@program(graphs=2)
def texts(compile):
    def f(x, how):
        return x.sum() if how == "sum" else x.mean()

    f = compile(f)
    for how in ("sum", "mean", "sum"):
        yield f(x3(), how)


@program(graphs=2)
def keyword_and_default(compile):
    def f(x, *, times=2):
        return x * times

    f = compile(f)
    yield f(x3())
    yield f(x3(), times=5)
    yield f(x3())


@program(graphs=2)
def containers(compile):
    f = compile(lambda pair, named: {"out": [a * named["w"] for a in pair], "n": len(pair)})
    yield f([x3(), x3()], {"w": x3()})
    yield f([x3()], {"w": x3()})
    yield f([x3(), x3() + 1], {"w": x3()})


@program(graphs=2)
def same_tensor_twice(compile):
    def f(a, b):
        a.add_(1)
        return a * b if a is b else a - b

    f = compile(f)
    x = x3()
    yield f(x, x)
    yield x
    yield f(x3(), x3())


@program(graphs=1)
def views_of_one_tensor(compile):
    def f(a, b):
        a.mul_(2)
        return b + 1

    f = compile(f)
    for _ in range(2):
        x = tl.arange(6.0)
        yield f(x[:4], x[2:])
        yield x


@program()
def an_argument_list_grows(compile):
    def f(x, kept):
        kept.append(x * 2)
        return x + len(kept)

    f, kept = compile(f), []
    for _ in range(3):
        yield f(x3(), kept)
    yield kept


@program()
def the_argument_itself(compile):
    f = compile(lambda x, y: (x, y + 1))
    x = x3()
    out, _ = f(x, x3())
    yield out is x


@program()
def the_list_itself(compile):
    f = compile(lambda items: (items, items[0] + 1))
    items = [x3()]
    yield f(items)[0] is items


@program()
def subclass_of_tensor(compile):
    class Named(tl.Tensor):
        pass

    f = compile(lambda x: x * 2)
    yield type(f(x3().as_subclass(Named))).__name__
    yield type(f(x3())).__name__


@program()
def sparse_input(compile):
    f = compile(lambda x: (x * 2).to_dense())
    yield f(tl.eye(3).to_sparse())


@program()
def many_lengths(compile):
    f = compile(lambda x: x.sum() / len(x))
    for n in range(1, 14):
        yield f(tl.arange(float(n)))
