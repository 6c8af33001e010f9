"""Checkpoints give the same gradients and random numbers as the plain call, and save less."""

import gc
import weakref

import pytest

import tl_core as tl
from tl_autograd import checkpoint as cp
from tl_autograd import graph


def gradients(call, x, w):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    y = call(x, w)
    y.sum().backward()
    return y.detach(), x.grad, w.grad


def layer(x, w):
    return tl.dropout(x @ w, 0.5, True).sigmoid() * x


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_and_random_numbers_agree(reentrant):
    x, w = tl.randn(4, 4), tl.randn(4, 4)
    tl.manual_seed(3)
    plain = gradients(layer, x, w)
    after = tl.rand(1)
    tl.manual_seed(3)
    again = gradients(lambda x, w: cp.checkpoint(layer, x, w, use_reentrant=reentrant), x, w)
    assert all(tl.equal(a, b) for a, b in zip(plain, again, strict=True))
    assert tl.equal(after, tl.rand(1))


def test_what_the_function_saves_dies_with_the_call():
    seen = []

    def watched(x):
        middle = x.exp()
        seen.append(weakref.ref(middle))
        return middle.sin()

    x = tl.ones(3, requires_grad=True)
    y = cp.checkpoint(watched, x, use_reentrant=False)
    gc.collect()
    assert seen[0]() is None
    y.sum().backward()
    want = (tl.ones(3).exp().cos() * tl.ones(3).exp()).tolist()
    assert x.grad.tolist() == pytest.approx(want)
    assert len(seen) == 2


def test_it_stops_early_unless_told_otherwise():
    runs = []

    def function(x):
        y = x.exp()
        runs.append("middle")
        y = y.sin()
        runs.append("end")
        return y + 1

    for early, want in ((True, ["middle"]), (False, ["middle", "end"])):
        x = tl.ones(2, requires_grad=True)
        with cp.set_checkpoint_early_stop(early):
            y = cp.checkpoint(function, x, use_reentrant=False)
        runs.clear()
        y.sum().backward()
        assert runs == want


def test_nested_keyword_and_nested_structures():
    inner = lambda x: cp.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False) * 2  # noqa: E731
    x = tl.tensor([0.3], dtype=tl.float64, requires_grad=True)
    cp.checkpoint(
        lambda *, parts: inner(parts["x"][0]).exp(), parts={"x": [x]}, use_reentrant=False
    ).backward()
    got = x.grad.item()
    x.grad = None
    (x.exp().sin() * 2).exp().backward()
    assert got == pytest.approx(x.grad.item())


def test_grad_retained_and_second_order():
    x = tl.tensor([0.5], dtype=tl.float64, requires_grad=True)
    y = cp.checkpoint(lambda t: t.exp() * t, x, use_reentrant=False)
    (g,) = _grad(y, x)
    (second,) = _grad(g, x)
    e = x.exp().item()
    assert g.item() == pytest.approx(1.5 * e) and second.item() == pytest.approx(2.5 * e)
    y = cp.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
    for _ in range(2):
        y.backward(retain_graph=True)
    assert x.grad.item() == pytest.approx(2 * x.exp().cos().item() * e)


def _grad(y, x):
    from tl_autograd import grad

    return grad(y.sum(), [x], create_graph=True)


def test_sequential():
    steps = [tl.Tensor.exp, tl.Tensor.sin, tl.Tensor.cos, tl.Tensor.tanh, lambda x: x * 2]
    for reentrant in (True, False):
        x = tl.tensor([0.1, 0.2], requires_grad=True)
        cp.checkpoint_sequential(steps, 2, x, use_reentrant=reentrant).sum().backward()
        plain = x.detach().requires_grad_()
        (plain.exp().sin().cos().tanh() * 2).sum().backward()
        assert x.grad.tolist() == pytest.approx(plain.grad.tolist())


def test_differing_runs_are_found():
    calls = []

    def fickle(x):
        calls.append(0)
        return x.exp().sin() if len(calls) == 1 else x.exp()

    def growing(x):
        calls.append(0)
        return x.repeat(len(calls)).exp().sum()

    with cp.set_checkpoint_early_stop(False):
        y = cp.checkpoint(fickle, tl.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(
        cp.CheckpointError, match="saved during forward: 2\nNumber of tensors saved during recomp"
    ):
        y.sum().backward()
    calls.clear()
    y = cp.checkpoint(growing, tl.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(
        cp.CheckpointError, match=r"'shape': \(2,\).*\nrecomputed metadata: \{'shape': \(4,\)"
    ):
        y.backward()


def test_wrong_calls():
    x = tl.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed"):
        cp.checkpoint(tl.exp, x)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        cp.checkpoint(tl.exp, x, use_reentrant=False, determinism_check="often")
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        cp.checkpoint(tl.exp, x, use_reentrant=True, a=1)
    with pytest.raises(NotImplementedError, match="__torch_dispatch__ modes"):
        cp.create_selective_checkpoint_contexts([])
    y = cp.checkpoint(tl.exp, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\)"):
        _grad(y, x)


def test_context_managers_stand_around_both_runs():
    told = []

    class Told:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            told.append(self.name)

        def __exit__(self, *exc):
            pass

    x = tl.ones(2, requires_grad=True)
    y = cp.checkpoint(tl.exp, x, use_reentrant=False, context_fn=lambda: (Told("first"), Told("second")))
    assert told == ["first"]
    y.sum().backward()
    assert told == ["first", "second"]


def test_saved_tensors_may_change_where_that_is_allowed():
    with graph.allow_mutation_on_saved_tensors():
        a = tl.full((2,), 3.0, requires_grad=True)
        b = a.clone()
        c = (b**2).sum()
        b.zero_()
        c.backward()
    assert a.grad.tolist() == [6.0, 6.0]
