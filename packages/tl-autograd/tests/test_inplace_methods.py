"""Every in-place method on a result that is recorded: what its out-of-place form gives, in both modes."""

import warnings

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import forward_ad

X = tl.tensor([[0.7, 0.3], [0.2, 0.4]], dtype=tl.float64)
OTHER = tl.tensor([[0.5, 0.9], [0.6, 0.8]], dtype=tl.float64)
INDEX = tl.tensor([0])
ARGUMENTS = [
    (),
    (OTHER,),
    (2,),
    (0.5,),
    (OTHER > 0.55, 1.0),
    (OTHER > 0.55, OTHER),
    (0, INDEX, 1.0),
    (0, INDEX, OTHER[:1]),
    (0, tl.tensor([[0, 0]]), OTHER[:1]),
    (OTHER, OTHER),
    (OTHER, 0.5),
    (0, 0),
    (0, 1),
    (0.2, 0.6),
    (2, 0, 0.5),
]
# They draw numbers, set what a tensor is, or have no derivative.
SKIPPED = """
    apply_ as_strided_ bernoulli_ cauchy_ coalesced_ data_ detach_ exponential_ floor_divide_ geometric_ igamma_
    igammac_ index_reduce_ ldexp_ log_normal_ map2_ map_ names_ normal_ random_ rename_ requires_grad_ resize_
    resize_as_ resize_as_sparse_ set_ share_memory_ sparse_resize_ sparse_resize_and_clear_ squeeze_ swapaxes_
    swapdims_ t_ transpose_ uniform_ unsqueeze_
"""
NAMES = sorted(
    name
    for name in dir(tl.Tensor)
    if name.endswith("_")
    and not name.startswith("_")
    and not name.endswith("__")
    and name not in SKIPPED.split()
)


def outcome(name, args):
    """The method's result on a plain tensor; None if it doesn't take these arguments."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return getattr(X.clone(), name)(*args)
    except (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError):
        return None


def gradient(function):
    leaf = X.clone().requires_grad_()
    (grad,) = tl_autograd.grad((function(leaf * 1) * OTHER).sum(), leaf, allow_unused=True)
    return tl.zeros_like(X) if grad is None else grad


def tangent(function):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X.clone(), OTHER)
        found = forward_ad.unpack_dual(function(dual)).tangent
        return tl.zeros_like(X) if found is None else found.clone()


CALLS = [
    (name, number)
    for name in NAMES
    for number, args in enumerate(ARGUMENTS)
    if outcome(name, args) is not None and hasattr(tl.Tensor, name[:-1])
]


def test_most_methods_are_called():
    assert len({name for name, _ in CALLS}) >= 108


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize(("name", "number"), CALLS, ids=[f"{name}-{number}" for name, number in CALLS])
def test_in_place_gives_the_derivatives_of_its_other_form(name, number):
    args = ARGUMENTS[number]
    plain = getattr(tl.Tensor, name[:-1])
    if plain(X, *args).dtype != X.dtype:
        assert getattr(X.clone(), name)(*args).dtype == X.dtype
        return
    expected = plain(X, *args)
    assert tl.allclose(getattr(X.clone(), name)(*args), expected, equal_nan=True)
    for derivative in (gradient, tangent):
        wanted = derivative(lambda x: plain(x, *args))
        assert tl.allclose(derivative(lambda x: getattr(x, name)(*args)), wanted, equal_nan=True)
