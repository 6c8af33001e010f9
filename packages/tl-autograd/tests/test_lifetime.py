"""Graphs live and die: deep chains, garbage collection."""

import gc
import weakref

import pytest

import tl_autograd
import tl_core as tl


@pytest.mark.parametrize("step", [lambda y: y * 1.0000001, lambda y: y + 1.0, lambda y: -y])
def test_a_million_nodes(step):
    x = tl.ones(1, dtype=tl.float64, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = step(y)
    y.backward()
    assert x.grad is not None
    del y
    y = x
    for _ in range(1_000_000):
        y = step(y)
    del y


def test_a_deep_chain_of_grads():
    x = tl.ones(1, dtype=tl.float64, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y * 1.0001
    (g,) = tl_autograd.grad(y, x, create_graph=True)
    del y, g


class Probe:
    pass


def collect(make):
    probe = Probe()
    alive = weakref.ref(probe)
    make(probe)
    del probe
    gc.collect()
    return alive() is None


def test_a_hook_that_holds_its_tensor_is_collected():
    def make(probe):
        y = tl.ones(1, requires_grad=True) * 2
        y.register_hook(lambda g: (y, probe))

    assert collect(make)


def test_a_leaf_hook_that_holds_its_leaf_is_collected():
    def make(probe):
        x = tl.ones(1, requires_grad=True)
        x.register_hook(lambda g: (x, probe))

    assert collect(make)


def test_a_context_that_holds_its_output_is_collected():
    class F(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, probe):
            ctx.probe = probe
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    def make(probe):
        y = F.apply(tl.ones(1, requires_grad=True), probe)
        y.grad_fn.output = y

    assert collect(make)


def test_saved_outputs_make_no_cycle():
    class F(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, probe):
            ctx.probe = probe
            y = x * 2
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    gc.disable()
    try:
        probe = Probe()
        alive = weakref.ref(probe)
        F.apply(tl.ones(1, requires_grad=True), probe)
        del probe
        assert alive() is None
    finally:
        gc.enable()


def test_a_result_dies_with_its_graph():
    gc.disable()
    try:
        x = tl.ones(3, requires_grad=True)
        y = x.exp()
        alive = weakref.ref(y)
        z = y * 2
        del y
        z.sum().backward()
        del z
        assert alive() is None
    finally:
        gc.enable()


def test_attributes_survive_in_the_graph():
    x = tl.ones(1, requires_grad=True)
    y = x * 2
    y.note = "kept"
    z = y * y
    del y
    gc.collect()
    assert z.grad_fn._saved_self.note == "kept"


def test_a_shared_node_is_not_collected_early():
    x = tl.ones(4, requires_grad=True)
    a, b = (x * 2).split(2)
    a.register_hook(lambda g: g * 2)
    a.cycle = a
    gc.collect()
    (a + b).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0, 2.0, 2.0]


def test_a_leaf_that_died_takes_no_gradient():
    y = tl.ones(2, requires_grad=True) * 3
    gc.collect()
    y.sum().backward()
    assert y.grad_fn.next_functions[0][0].variable is None
