"""Functions without writes: they give what the function with its writes gives, and below them nothing is written."""

import sys
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import _C, func

sys.path.insert(0, str(Path(__file__).parent))

from test_row_gradients import CALLS, COMPLEX_CALLS, ROWS, operator

WAYS = ["mutations", "mutations_and_views"]
VIEWS = [row for row in ROWS.values() if row.view]


def data(*shape, dtype=tl.float64):
    return tl.randn(*shape, dtype=dtype, generator=tl.Generator().manual_seed(3))


@pytest.fixture(autouse=True)
def no_level_is_left():
    yield
    assert _C.top_level() is None


def leaves_of(call, row):
    """The tensor that the row's call takes."""
    shapes = []

    def leaf(*shape):
        shapes.append(shape)
        return data(*shape, dtype=tl.complex128 if row.name in (*COMPLEX_CALLS, "_conj") else tl.float64)

    call(operator(row.name), leaf)
    return shapes[0]


def view_call(row):
    extra = {
        "view.dtype": lambda op, t: op(t(2, 4), tl.int64),
        "_conj": lambda op, t: op(t(2, 3)),
        "_neg_view": lambda op, t: op(t(2, 3)),
        "view_as_complex": lambda op, t: op(t(3, 2)),
        "detach": lambda op, t: op(t(2, 3)),
        "unfold": lambda op, t: op(t(7), 0, 2, 3),
        "as_strided": lambda op, t: op(t(12), (2, 3), (5, 1), 1),
    }
    return extra.get(row.name) or {**CALLS, **COMPLEX_CALLS}[row.name]


@pytest.mark.parametrize("remove", WAYS)
@pytest.mark.parametrize("row", [r for r in VIEWS if r.name != "expand"], ids=lambda row: row.name)
def test_a_write_through_every_view(row, remove):
    call, op = view_call(row), operator(row.name)
    shape = leaves_of(call, row)
    complex_ = row.name in (*COMPLEX_CALLS, "_conj", "view_as_real")
    x = data(*shape, dtype=tl.complex128 if complex_ else tl.float64)

    def f(x):
        y = x.clone()
        views = call(op, lambda *_: y)
        for i, v in enumerate(views if isinstance(views, (tuple, list)) else [views]):
            v.add_(i + 1)
            y.mul_(2)
            v.mul_(3)
        return y, views

    y, views = f(x)
    pure, pure_views = func.functionalize(f, remove=remove)(x)
    assert tl.equal(y, pure)
    for a, b in zip(views, pure_views, strict=True):
        assert tl.equal(a, b)


def test_an_expanded_view_is_not_written():
    def f(x):
        return x.clone().expand(3, 4).add_(1)

    for g in (f, func.functionalize(f)):
        with pytest.raises(RuntimeError):
            g(data(1, 4))


def writes(x):
    y = x.clone()
    y[0] = 5
    y[:, 1].mul_(2)
    y.t()[1:].clamp_(max=1)
    first, second = y.split(1)
    first.copy_(second)
    y.unsqueeze_(0)
    y.diagonal(0, 1, 2).fill_(3)
    y.index_put_((tl.tensor([0]), tl.tensor([1])), tl.zeros(3, dtype=x.dtype))
    tl.exp(y, out=y)
    return y.squeeze_(0), y.zero_()[0], first


@pytest.mark.parametrize("remove", WAYS)
def test_writes_of_many_kinds(remove):
    x = data(2, 3)
    for a, b in zip(writes(x), func.functionalize(writes, remove=remove)(x), strict=True):
        assert tl.equal(a, b)


def test_below_nothing_is_written():
    """What a gradient needs is as it was saved, which it is not where the writes take place."""

    def f(x):
        y = x.sin()
        y[0] = y[1] * x[2]
        y.mul_(x)
        return y.sum()

    x = data(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        func.grad(f)(x)
    a, b, c = x.unbind()
    expected = tl.stack(
        [b.sin() * c, a * c * b.cos() + b.sin() + b * b.cos(), a * b.sin() + c.sin() + c * c.cos()]
    )
    assert tl.allclose(func.grad(func.functionalize(f))(x), expected)


def test_arguments_are_written_at_the_end():
    x, y = data(3), data(3)
    before = x.clone()

    total = func.functionalize(lambda a, b: (a[0].add_(1), a.sum())[1])(x, y)
    before[0] += 1
    assert tl.equal(x, before) and total.item() == pytest.approx(before.sum().item())


def test_among_other_transforms():
    def f(x):
        y = x.sin()
        y[0] = 2 * x[1]
        y.add_(x)
        return (y * y).sum()

    x, v = data(3), data(3)
    pure = func.functionalize(f)
    assert tl.allclose(func.grad(pure)(x), func.grad(f)(x))
    assert tl.allclose(func.functionalize(func.grad(f))(x), func.grad(f)(x))
    assert tl.allclose(func.jvp(pure, (x,), (v,))[1], func.jvp(f, (x,), (v,))[1])
    batch = tl.stack([x, v])
    assert tl.allclose(func.vmap(pure)(batch), func.vmap(f)(batch))
    assert tl.allclose(func.functionalize(func.vmap(f))(batch), func.vmap(f)(batch))
    assert tl.allclose(func.vmap(func.grad(pure))(batch), func.vmap(func.grad(f))(batch))


def test_a_captured_tensor_is_not_written():
    captured = tl.zeros(2, dtype=tl.float64)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor"):
        func.functionalize(lambda x: captured.add_(x))(data(2))
    assert tl.equal(captured, tl.zeros(2, dtype=tl.float64))


def test_what_a_write_may_not_change():
    with pytest.raises(RuntimeError, match="broadcast shape"):
        func.functionalize(lambda x: x.clone().add_(tl.zeros(2, 3)))(data(3))
    with pytest.raises(RuntimeError, match="cast"):
        func.functionalize(lambda x: x.to(tl.int64).add_(0.5))(data(3))
    with pytest.raises(RuntimeError, match="mutations_and_views"):
        func.functionalize(tl.sin, remove="views")


def test_values_are_known():
    def f(x):
        y = x.clone().fill_(2.5)
        return x * y[0].item() if y.sum() > 0 else x

    x = data(2)
    assert tl.equal(func.functionalize(f)(x), x * 2.5)


def test_a_tensor_of_a_level_that_has_ended_is_its_value():
    values = []
    func.functionalize(lambda x: values.append(x.clone().add_(1)) or x)(tl.zeros(2))
    assert tl.equal(values[0] + 0, tl.ones(2))
