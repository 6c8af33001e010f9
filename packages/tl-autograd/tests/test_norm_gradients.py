"""First and second derivatives of normalization and class losses against finite differences."""

import numpy
import pytest

import tl_core as tl
from tl_autograd import grad, gradcheck, gradgradcheck
from tl_core.functions import nn as nn_functions


def drawn(*shape, seed=0):
    return tl.tensor(numpy.random.default_rng(seed).standard_normal(shape)).requires_grad_()


def batch(x, w, b, training=True):
    mean, var = tl.arange(4.0).double(), tl.arange(1.0, 5.0).double()
    return tl.batch_norm(x, w, b, mean, var, training, 0.1, 1e-3, True)


CASES = {
    "batch_norm": batch,
    "batch_norm in evaluation": lambda x, w, b: batch(x, w, b, False),
    "batch_norm channels_last": lambda x, w, b: batch(x.contiguous(memory_format=tl.channels_last), w, b),
    "batch_norm of rows": lambda x, w, b: batch(x.reshape(-1, 4), w, b),
    "group_norm": lambda x, w, b: tl.group_norm(x, 2, w, b, 1e-3),
    "instance_norm": lambda x, w, b: tl.instance_norm(x, w, b, None, None, True, 0.1, 1e-3, True),
    "layer_norm": lambda x, w, b: tl.layer_norm(x.reshape(-1, 4), [4], w, b, 1e-3),
    "rms_norm": lambda x, w, b: tl.rms_norm(x.reshape(-1, 4), [4], w, 1e-3) + b,
}


@pytest.mark.parametrize("case", CASES)
def test_norm(case):
    inputs = (drawn(3, 4, 2, 3), drawn(4, seed=1), drawn(4, seed=2))
    assert gradcheck(CASES[case], inputs)
    assert gradgradcheck(CASES[case], inputs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("name", ["nll_loss_nd", "cross_entropy_loss"])
@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 5, 2)])
def test_class_losses(shape, name, reduction, weighted):
    loss = getattr(nn_functions, name)
    target = (tl.arange(0, 6).reshape(3, 2) * 2) % 5 if len(shape) == 3 else tl.tensor([3, 0, 1, 4])
    if len(shape) == 1:
        target = target[0]
    weight = tl.arange(1.0, 6.0).double() if weighted else None
    f = lambda x: loss(x, target, weight, reduction, 0)  # noqa: E731
    assert gradcheck(f, (drawn(*shape),))
    assert gradgradcheck(f, (drawn(*shape),))


def test_second_derivative_through_a_slice_of_a_permuted_tensor():
    assert gradgradcheck(lambda x: tl.exp(x.permute(1, 0)[:2]), (drawn(3, 4),))
    assert gradgradcheck(lambda x: tl.exp(x.t().as_strided((2, 2), (1, 3), 1)), (drawn(3, 4),))


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, float("inf")])
@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_distances(p, mode):
    inputs = drawn(2, 3, 2), drawn(4, 2, seed=1)
    assert gradcheck(lambda a, b: tl.cdist(a, b, p, mode), inputs)
    assert gradgradcheck(lambda a, b: tl.cdist(a, b, p, mode), inputs)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, float("inf")])
def test_distances_within_one_collection(p):
    assert gradcheck(lambda x: tl.pdist(x, p), drawn(5, 3))
    assert gradgradcheck(lambda x: tl.pdist(x, p), drawn(5, 3))


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_distances_of_many_vectors(p):
    """More than the kernels take at once; the other way recorded, in operators."""
    a, b = drawn(41, 37), drawn(35, 37, seed=1)
    for call in (lambda: tl.cdist(a, b, p, "donot_use_mm_for_euclid_dist"), lambda: tl.pdist(a, p)):
        inputs = (a, b) if call().dim() == 2 else (a,)
        recorded, not_recorded = (
            grad(call().sin().sum(), inputs, create_graph=recording) for recording in (True, False)
        )
        for one, other in zip(recorded, not_recorded, strict=True):
            assert tl.allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_equal_vectors_have_a_distance_without_gradient(mode):
    x = tl.ones(3, 2, requires_grad=True)
    tl.cdist(x, x, compute_mode=mode).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]] * 3


# ---- tangents ------------------------------------------------------------------------------------------------------


def _norms():
    mean, variance = (
        tl.tensor([0.3, -0.2, 0.1], dtype=tl.float64),
        tl.tensor([0.7, 1.1, 0.9], dtype=tl.float64),
    )

    def batch_norm(training):
        return lambda x, w, b: tl.batch_norm(
            x, w, b, mean.clone(), variance.clone(), training, 0.1, 1e-5, False
        )

    return {
        "batch_norm in training": (batch_norm(True), (4, 3, 2), (3,)),
        "batch_norm in evaluation": (batch_norm(False), (4, 3, 2), (3,)),
        "layer_norm": (lambda x, w, b: tl.layer_norm(x, (2, 3), w, b), (4, 2, 3), (2, 3)),
        "group_norm": (lambda x, w, b: tl.group_norm(x, 2, w, b), (3, 4, 5), (4,)),
        "rms_norm": (lambda x, w, b: tl.rms_norm(x, (3,), w) + b, (4, 3), (3,)),
    }


def _in_some(f, at, chosen):
    return lambda *x: f(*(x[chosen.index(i)] if i in chosen else at[i] for i in range(3)))


@pytest.mark.parametrize("name", _norms())
def test_tangents_of_normalizations_of_both_orders(name):
    from tl_autograd import func

    f, shape, parameters = _norms()[name]
    generator = tl.Generator().manual_seed(4)
    at = [tl.randn(*s, dtype=tl.float64, generator=generator) for s in (shape, parameters, parameters)]
    along = [tl.randn(*s, dtype=tl.float64, generator=generator) for s in (shape, parameters, parameters)]
    step = 1e-6
    for choice in ((0,), (1,), (2,), (0, 1, 2)):
        moved = [
            [x + h * v if i in choice else x for i, (x, v) in enumerate(zip(at, along))]
            for h in (step, -step)
        ]
        quotient = (f(*moved[0]) - f(*moved[1])) / (2 * step)
        tangent = func.jvp(
            _in_some(f, at, choice), tuple(at[i] for i in choice), tuple(along[i] for i in choice)
        )[1]
        assert tl.allclose(tangent, quotient, rtol=1e-5, atol=1e-6)
    cubed = lambda x: (f(x, *at[1:]) ** 3).sum()  # noqa: E731
    expected = func.jacrev(func.jacrev(cubed))(at[0])
    assert tl.allclose(func.jacfwd(func.jacrev(cubed))(at[0]), expected, rtol=1e-6, atol=1e-7)
    assert tl.allclose(func.jacfwd(func.jacfwd(cubed))(at[0]), expected, rtol=1e-6, atol=1e-7)
