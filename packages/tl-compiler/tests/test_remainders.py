"""Results that only nodes hold stay uncomputed until a backward, or anybody else, reads them."""

import copy
import gc
import threading

import numpy as np
import pytest

import tl_core as tc
from tl_autograd import checkpoint, grad, graph
from tl_compiler import _C
from tl_compiler.compiler import compile as compiled
from tl_compiler.compiler import is_compiling
from tl_nn import Linear, Module, Parameter


@pytest.fixture
def x():
    return tc.randn(64, 48, dtype=tc.float64, generator=tc.Generator().manual_seed(1)).requires_grad_()


def left_by(function, *args):
    """What a call returns, and how many results it has left to nodes."""
    before = _C.counters()["left"]
    result = function(*args)
    return result, _C.counters()["left"] - before


def product(x):
    """exp(x + 1) * exp(2x): nodes hold both factors, which take twice the bytes of x."""
    return (x + 1).exp() * (x * 2).exp()


def derivative(x):
    return 3 * np.exp(3 * x + 1)


def values(x):
    """A copy: the memory of x itself stays unknown to others, who might write to it."""
    return x.detach().clone().numpy()


def gelu(x):
    return 0.5 * x * (1 + tc.tanh(0.7978845608 * (x + 0.044715 * x**3)))


class Block(Module):
    def __init__(self, width):
        super().__init__()
        generator = tc.Generator().manual_seed(3)
        self.weight = Parameter(tc.randn(width, generator=generator))
        self.first, self.second = Linear(width, 2 * width), Linear(2 * width, width)
        for parameter in (*self.first.parameters(), *self.second.parameters()):
            parameter.data.copy_(tc.randn(parameter.shape, generator=generator) * 0.2)

    def forward(self, x):
        scaled = x * tc.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        return x + self.second(gelu(self.first(scaled)))


def gradients(model, x, loss=lambda y: y.square().mean()):
    model.zero_grad()
    loss(model(x)).backward()
    return [p.grad.clone() for p in model.parameters()]


def test_a_model_whose_loss_and_backward_are_outside():
    blocks = [Block(64), Block(64)]

    class Model(Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = blocks

        def forward(self, x):
            return self.b(self.a(x))

    model = Model()
    x = tc.randn(96, 64, generator=tc.Generator().manual_seed(2))
    expected = gradients(model, x)
    before = _C.counters()
    fast = compiled(model)
    found = gradients(model, x, lambda _: fast(x).square().mean())
    after = _C.counters()
    assert all(tc.equal(a, b) for a, b in zip(expected, found, strict=True))
    # Of each GELU tanh and two factors.
    assert after["left"] - before["left"] >= 6
    assert after["absorbed"] > before["absorbed"]


def test_the_derivative_of_what_was_left(x):
    y, left = left_by(compiled(product), x)
    assert left == 2
    np.testing.assert_allclose(y.detach().numpy(), np.exp(3 * values(x) + 1))
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), derivative(values(x)))


def test_what_takes_no_fewer_bytes_is_stored(x):
    """One factor of the bytes of x, which no node holds, and small results of rows."""
    _, left = left_by(compiled(lambda x: (x + 1).exp()), x)
    assert left == 0
    y, left = left_by(compiled(lambda x: (x * (x.square().mean(-1, keepdim=True) + 1).rsqrt()).sin()), x)
    assert left <= 1  # the argument of sin, but never the row's factor
    (found,) = grad(y.sum(), x)
    (expected,) = grad((x * (x.square().mean(-1, keepdim=True) + 1).rsqrt()).sin().sum(), x)
    assert tc.equal(found, expected)


def test_what_python_holds_is_stored(x):
    def function(x):
        factor = (x + 1).exp()
        return factor * (x * 2).exp(), factor

    (y, factor), left = left_by(compiled(function), x)
    assert left <= 1
    np.testing.assert_allclose(factor.detach().numpy(), np.exp(values(x) + 1))
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), derivative(values(x)))


# ---- writes
WRITES = {
    "add_": lambda x: x.add_(1),
    "a view": lambda x: x[3].zero_(),
    "a part": lambda x: x.__setitem__((slice(2, 5), 0), 7.0),
    "detached": lambda x: x.detach().t().mul_(3),
    "data": lambda x: x.data.fill_(2),
    "numpy": lambda x: x.detach().numpy().fill(5),
    "out": lambda x: tc.add(tc.ones(64, 48, dtype=tc.float64), 1, out=x.detach()),
    "storage": lambda x: x.untyped_storage().fill_(0),
    "resize": lambda x: x.untyped_storage().resize_(0),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_what_was_read_computes_first(x, write):
    """No node has saved x itself, so the gradients are those of its values at the call."""
    before = values(x)
    y, left = left_by(compiled(product), x)
    assert left == 2
    with tc.no_grad():
        WRITES[write](x)
    (found,) = grad(y.sum(), x)
    np.testing.assert_allclose(found.numpy(), derivative(before))


def test_a_write_to_what_a_node_has_saved_is_an_error(x):
    y, left = left_by(compiled(lambda x: gelu(x * 2)), x)
    assert left > 0
    z = compiled(lambda x: gelu(x))(x)
    with tc.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    y.sum().backward()
    assert x.grad.shape == x.shape


def test_a_write_within_the_region(x):
    def function(x):
        base = x * 1
        first = product(base)
        base.mul_(2)
        base[1] = 0
        return first + product(base)

    def one(function):
        y = function(x)
        return y.detach(), grad(y.sum(), x)[0]

    for a, b in zip(one(function), one(compiled(function)), strict=True):
        assert tc.equal(a, b)


# ---- views
def test_views_of_what_was_left(x):
    def function(x):
        wide = (x + 1).exp().view(32, 96).t()
        return (wide * (x * 2).exp().reshape(96, 32)).expand(2, 96, 32)[1]

    expected, found = function(x), compiled(function)(x)
    assert tc.equal(expected, found)
    assert tc.equal(grad(expected.sum(), x)[0], grad(found.sum(), x)[0])


def test_a_saved_tensor_that_python_reads(x):
    y, left = left_by(compiled(product), x)
    assert left == 2
    saved = y.grad_fn._saved_self
    np.testing.assert_allclose(saved.detach().numpy(), np.exp(values(x) + 1))
    saved.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# ---- graphs that live on
def test_a_graph_that_is_kept(x):
    y, left = left_by(compiled(product), x)
    assert left == 2
    expected = derivative(values(x))
    for _ in range(7):
        (found,) = grad(y.sum(), x, retain_graph=True)
        np.testing.assert_allclose(found.numpy(), expected)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y.sum(), x)


@pytest.mark.parametrize("inside", [False, True])
def test_second_derivatives(x, inside):
    def twice(function):
        (first,) = grad(function(x).sum(), x, create_graph=True)
        (second,) = grad((first * first).sum(), x, create_graph=True)
        return first, second, grad(second.sum(), x)[0]

    results = compiled(lambda: twice(product))() if inside else twice(compiled(product))
    e = np.exp(3 * values(x) + 1)
    for found, expected in zip(results, (3 * e, 54 * e * e, 324 * e * e), strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)
    for found, expected in zip(results, twice(product), strict=True):
        assert tc.equal(found, expected)


def test_a_graph_that_is_let_go(x):
    y, left = left_by(compiled(product), x)
    assert left == 2
    del y
    gc.collect()
    with tc.no_grad():
        x.add_(1)  # nobody reads it any more
    before = _C.counters()["batches"]
    with tc.no_grad():
        x.add_(1)
    assert _C.counters()["batches"] == before


def test_copies_and_pickles_of_results(x):
    y = compiled(lambda x: product(x).detach())(x)
    np.testing.assert_allclose(copy.deepcopy(y).numpy(), np.exp(3 * values(x) + 1))


# ---- hooks, checkpoints, modes
def test_hooks_of_saved_tensors_see_elements(x):
    packed = []

    def pack(t):
        packed.append(t.detach().numpy().copy())
        return len(packed) - 1

    with graph.saved_tensors_hooks(pack, lambda i: tc.tensor(packed[i])):
        y, left = left_by(compiled(product), x)
    assert left == 0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), derivative(values(x)))
    assert len(packed) >= 2


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_checkpoints(x, reentrant, outside):
    function = compiled(product)
    if outside:
        y = checkpoint.checkpoint(function, x, use_reentrant=reentrant)
    else:
        y = compiled(lambda x: checkpoint.checkpoint(product, x, use_reentrant=reentrant))(x)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), derivative(values(x)))


def test_a_backward_is_no_compiled_function(x):
    seen = []
    y = compiled(product)(x)
    y.register_hook(lambda g: seen.append(is_compiling()))
    x.register_hook(lambda g: seen.append((is_compiling(), g.numpy().copy())))
    y.sum().backward()
    assert seen[0] is False
    assert seen[1][0] is False
    np.testing.assert_allclose(seen[1][1], derivative(values(x)))


# ---- errors
def test_an_error_in_the_call(x):
    held = []

    def function(x):
        held.append(product(x))
        raise ValueError("after the product")

    with pytest.raises(ValueError, match="after the product"):
        compiled(function)(x)
    held[0].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), derivative(values(x)))


def test_an_error_in_a_backward(x):
    def fail(_):
        raise ValueError("in a hook")

    middle = x * 1
    y = compiled(product)(middle)
    handle = middle.register_hook(fail)
    with pytest.raises(ValueError, match="in a hook"):
        grad(y.sum(), x, retain_graph=True)
    handle.remove()
    assert _C.in_region() is False
    (found,) = grad(y.sum(), x)
    np.testing.assert_allclose(found.numpy(), derivative(values(x)))
    before = _C.counters()["operators"]
    _ = x.detach() * 2 + 1
    assert _C.counters()["operators"] == before  # nothing waits after the error


# ---- threads
def test_a_backward_on_another_thread(x):
    y = compiled(product)(x)
    thread = threading.Thread(target=lambda: y.sum().backward())
    thread.start()
    thread.join()
    np.testing.assert_allclose(x.grad.numpy(), derivative(values(x)))


def test_threads_that_share_what_was_left(x):
    expected, errors = derivative(values(x)), []
    for _ in range(10):
        y = compiled(product)(x)
        start = threading.Barrier(4)

        def run(y=y, start=start):
            start.wait()
            (found,) = grad(y.sum(), x, retain_graph=True)
            if not np.allclose(found.numpy(), expected):
                errors.append(found)

        def read(y=y, start=start):
            start.wait()
            if not np.allclose(y.grad_fn._saved_other.detach().numpy(), np.exp(2 * values(x))):
                errors.append(y)

        threads = [threading.Thread(target=f) for f in (run, run, run, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


def test_long_programs(x):
    """More steps than a batch has, the backward of which absorbs several remainders."""

    def function(x):
        total = x * 0.01
        for i in range(300):
            total = (total + 0.001 * i).tanh() * (total * 0.5).cos()
        return total

    expected, found = function(x), compiled(function)(x)
    assert tc.equal(expected, found)
    assert tc.equal(grad(expected.sum(), x)[0], grad(found.sum(), x)[0])
