"""Hooks of saved tensors and checkpoints under transforms: derivatives of both orders are right, or refused."""

import pytest

import tl_core as tl
from tl_autograd.checkpoint import checkpoint
from tl_autograd.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from tl_autograd.graph import save_on_cpu, saved_tensors_hooks

X = tl.tensor([0.5, 1.5])
FIRST = X.cos() * X + X.sin()
SECOND = 2 * X.cos() - X.sin() * X
SEVERED = "the outer transform doesn't follow"

KEEPING = {
    "identity": (lambda t: t, lambda t: t),
    "clone": (lambda t: t.clone(), lambda t: t),
    "another type": (lambda t: t.double(), lambda t: t.float()),
    "halves": (lambda t: (t / 2, t / 2), lambda pair: pair[0] + pair[1]),
}
SEVERING = {
    "detach at packing": (lambda t: t.detach(), lambda t: t),
    "detach at unpacking": (lambda t: t, lambda t: t.detach()),
}


def hooked(hooks):
    def f(x):
        with saved_tensors_hooks(*hooks):
            return (x.sin() * x).sum()

    return f


def second_derivatives(f):
    """The diagonal of the Hessian in five ways."""
    ones = tl.ones(2)
    yield grad(lambda x: grad(f)(x).sum())
    yield lambda x: jacrev(jacrev(f))(x).diagonal()
    yield lambda x: jacfwd(grad(f))(x).diagonal()
    yield lambda x: jvp(grad(f), (x,), (ones,))[1]
    yield grad(lambda x: vjp(f, x)[1](tl.tensor(1.0))[0].sum())


@pytest.mark.parametrize("name", KEEPING)
def test_hooks_that_keep_gradients(name):
    f = hooked(KEEPING[name])
    assert tl.allclose(grad(f)(X), FIRST)
    assert tl.allclose(vmap(grad(f))(X.reshape(1, 2)), FIRST)
    for second in second_derivatives(f):
        assert tl.allclose(second(X), SECOND, atol=1e-6)


@pytest.mark.parametrize("name", SEVERING)
def test_hooks_that_sever_an_outer_transform(name):
    f = hooked(SEVERING[name])
    assert tl.allclose(grad(f)(X), FIRST)
    for second in second_derivatives(f):
        with pytest.raises(RuntimeError, match=SEVERED):
            second(X)


def test_copies_on_the_cpu():
    def f(x):
        with save_on_cpu():
            return (x.sin() * x).sum()

    assert tl.allclose(grad(f)(X), FIRST)
    with pytest.raises(RuntimeError, match=SEVERED):
        hessian(f)(X)


def checkpointed(x):
    return checkpoint(lambda z: (z.sin() * z).sum(), x, use_reentrant=False)


def test_checkpoints_of_both_orders():
    assert tl.allclose(grad(checkpointed)(X), FIRST)
    assert tl.allclose(grad(lambda x: grad(checkpointed)(x).sum())(X), SECOND, atol=1e-6)
    assert tl.allclose(jacfwd(grad(checkpointed))(X).diagonal(), SECOND, atol=1e-6)
    assert tl.allclose(vmap(grad(checkpointed))(X.reshape(1, 2)), FIRST)


def test_a_checkpoint_whose_transform_has_ended():
    _, product = vjp(checkpointed, X)
    with pytest.raises(RuntimeError, match="runs after the transform of the function ended"):
        product(tl.tensor(1.0))
