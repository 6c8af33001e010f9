"""Graphs recorded and run back by several threads at once, with several threads inside each operator."""

import threading
from collections.abc import Callable

import pytest

import tl_autograd
import tl_core as tl


@pytest.fixture(autouse=True)
def several_threads():
    before = tl.get_num_threads()
    tl.set_num_threads(4)
    yield
    tl.set_num_threads(before)


def together(count: int, work: Callable[[int], None]) -> None:
    """Runs work(0), work(1), … at the same time; an error of one is the caller's."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def run(i: int) -> None:
        try:
            start.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def loss(x: tl.Tensor, w: tl.Tensor) -> tl.Tensor:
    return ((x @ w).tanh() * x.exp()).sum() + (w * w).sum(0).sqrt().sum()


def test_the_number_of_threads_changes_no_gradient():
    x = tl.rand(300, 300, generator=tl.Generator().manual_seed(1)).requires_grad_()
    w = tl.rand(300, 300, generator=tl.Generator().manual_seed(2)).requires_grad_()
    parallel = tl_autograd.grad(loss(x, w), (x, w))
    tl.set_num_threads(1)
    for a, b in zip(parallel, tl_autograd.grad(loss(x, w), (x, w)), strict=True):
        assert tl.equal(a, b)


def test_threads_with_graphs_of_their_own_share_leaves():
    w = tl.rand(200, 200, generator=tl.Generator().manual_seed(3)).requires_grad_()
    inputs = [tl.rand(200, 200, generator=tl.Generator().manual_seed(9 + i)) for i in range(4)]
    alone = [tl_autograd.grad(loss(x, w), w)[0] for x in inputs]

    def work(i: int) -> None:
        for _ in range(5):
            assert tl.equal(tl_autograd.grad(loss(inputs[i], w), w)[0], alone[i])

    together(4, work)


def test_threads_add_to_one_gradient_without_losing_any():
    w = tl.ones(1000, requires_grad=True)

    def work(i: int) -> None:
        for _ in range(50):
            (w * (i + 1)).sum().backward()

    together(4, work)
    assert w.grad is not None
    assert tl.equal(w.grad, tl.full((1000,), 500.0))


def test_threads_run_one_graph_back():
    x = tl.rand(100, 100, generator=tl.Generator().manual_seed(4)).requires_grad_()
    y = (x.exp() * x).sum()
    (alone,) = tl_autograd.grad(y, x, retain_graph=True)

    def work(_: int) -> None:
        for _ in range(10):
            assert tl.equal(tl_autograd.grad(y, x, retain_graph=True)[0], alone)

    together(4, work)


def test_grad_modes_are_the_threads_own():
    def work(i: int) -> None:
        for _ in range(20):
            with tl.set_grad_enabled(i % 2 == 0):
                assert (tl.ones(3, requires_grad=True) * 2).requires_grad == (i % 2 == 0)

    together(4, work)


def test_threads_train_one_set_of_parameters():
    """A convolution, a product and a loss in each thread; what they add to the shared gradients are whole numbers."""
    sign = tl.tensor([1.0, -1.0])
    kernel = (tl.ones(4, 3, 3, 3) * 2).requires_grad_()
    weight = tl.ones(10, 4 * 6 * 6, requires_grad=True)
    scale = tl.ones(4, requires_grad=True)
    inputs = [(tl.arange(2 * 3 * 8 * 8) % (3 + i)).reshape(2, 3, 8, 8).float() for i in range(4)]

    def step(i: int) -> tl.Tensor:
        x = tl.conv2d(inputs[i], kernel).relu() * scale.reshape(1, 4, 1, 1)
        return ((x.flatten(1) @ weight.t()).sum(1) * sign).sum()

    for i in range(4):
        step(i).backward()
    alone = [p.grad.clone() for p in (kernel, weight, scale)]
    for p in (kernel, weight, scale):
        p.grad = None
    together(4, lambda i: step(i).backward())
    assert all(tl.equal(a, p.grad) for a, p in zip(alone, (kernel, weight, scale), strict=True))


def test_threads_normalize_and_differentiate_twice():
    inputs = [tl.rand(8, 5, 6, generator=tl.Generator().manual_seed(i), dtype=tl.float64) for i in range(4)]
    weight = tl.rand(6, generator=tl.Generator().manual_seed(7), dtype=tl.float64).requires_grad_()

    def gradient(i: int) -> tl.Tensor:
        y = tl.layer_norm(inputs[i], (6,), weight).softmax(-1)
        (first,) = tl_autograd.grad((y * inputs[i]).sum(), weight, create_graph=True)
        return tl_autograd.grad((first * first).sum(), weight)[0]

    alone = [gradient(i) for i in range(4)]

    def work(i: int) -> None:
        for _ in range(5):
            assert tl.equal(gradient(i), alone[i])

    together(4, work)


def test_two_threads_take_one_graph_and_one_of_them_its_last_pass():
    """Who comes after the graph was freed gets an error, and nothing else happens."""
    for _ in range(20):
        x = tl.ones(1000, requires_grad=True)
        y = (x.exp() * x).sum()
        errors: list[str] = []

        def work(_: int, y: tl.Tensor = y, errors: list[str] = errors) -> None:
            try:
                y.backward()
            except RuntimeError as error:
                errors.append(str(error))

        together(2, work)
        assert x.grad is not None
        assert all("second time" in e for e in errors)
