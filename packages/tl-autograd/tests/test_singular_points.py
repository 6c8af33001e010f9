"""Derivatives where a formula divides by zero: forward mode gives what reverse mode gives, which is a subgradient.

The expected values are the subgradients that PyTorch's reverse mode returns: zero for norms, distances and deviations.
"""

import math

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import forward_ad

CONSTANT = tl.ones(3, dtype=tl.float64)
ZEROS = tl.zeros(3, dtype=tl.float64)
POWERS = (1.0, 1.5, 2.0, 3.0, math.inf)

CASES = [
    ("std", lambda a: a.std(), CONSTANT),
    ("std of one", lambda a: a.std(correction=0), tl.tensor(2.0, dtype=tl.float64)),
    ("std by rows", lambda a: a.expand(2, 3).std(1).sum(), CONSTANT),
    ("std_mean", lambda a: tl.std_mean(a)[0], CONSTANT),
    *((f"cdist {p}", lambda a, p=p: tl.cdist(a[None], CONSTANT[None], p=p).sum(), CONSTANT) for p in POWERS),
    *((f"pdist {p}", lambda a, p=p: tl.pdist(a.expand(2, 3), p=p).sum(), CONSTANT) for p in POWERS),
    *((f"norm {p}", lambda a, p=p: tl.norm(a, p=p), ZEROS) for p in (1.5, 2.0, 3.0)),
    ("cdist by products", lambda a: tl.cdist(a.expand(30, 3), a.detach().expand(30, 3)).sum(), CONSTANT),
]


@pytest.mark.parametrize(("name", "function", "x"), CASES, ids=[name for name, _, _ in CASES])
def test_derivatives_are_zero(name, function, x):
    leaf = x.clone().requires_grad_()
    (grad,) = tl_autograd.grad(function(leaf), leaf)
    assert not grad.isnan().any() and (grad == 0).all()
    with forward_ad.dual_level():
        result = function(forward_ad.make_dual(x, tl.ones_like(x)))
        tangent = forward_ad.unpack_dual(result).tangent
        assert tangent is None or tangent.item() == 0


@pytest.mark.parametrize("function", [tl.xlogy, tl.special.xlog1py])
@pytest.mark.parametrize("number", [2.0, 2, True])
def test_gradients_beside_a_number(function, number):
    x = tl.tensor([0.0, 1.0, 2.0], dtype=tl.float64, requires_grad=True)
    function(x, number).sum().backward()
    derivative = math.log(number) if function is tl.xlogy else math.log1p(number)
    assert x.grad.tolist() == pytest.approx([derivative] * 3)
    with forward_ad.dual_level():
        result = function(forward_ad.make_dual(x.detach(), tl.ones_like(x)), number)
        assert forward_ad.unpack_dual(result).tangent.tolist() == pytest.approx([derivative] * 3)


INTEGERS = tl.tensor([7, 8], dtype=tl.int8)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: tl.cat([a, INTEGERS]),
        lambda a: tl.stack([a, INTEGERS]),
        lambda a: tl.hstack([a, INTEGERS]),
        lambda a: tl.block_diag(a, INTEGERS),
        lambda a: tl.cat([a, tl.tensor([True])]),
    ],
)
def test_integers_beside_a_dual_have_no_tangent(function):
    x, tangent = tl.tensor([3.0, 4.0], dtype=tl.float64), tl.tensor([1.0, 2.0], dtype=tl.float64)
    with forward_ad.dual_level():
        result = forward_ad.unpack_dual(function(forward_ad.make_dual(x, tangent)))
    assert sorted(result.tangent.flatten().tolist())[-2:] == [1.0, 2.0]
    assert result.tangent.sum().item() == 3


def test_integers_written_into_a_dual_clear_its_tangent():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(tl.ones(2), tl.ones(2))
        assert forward_ad.unpack_dual(dual.clone().copy_(INTEGERS)).tangent.tolist() == [0, 0]


def test_writes_by_as_strided_reach_the_tangent_of_a_strided_input():
    x = tl.arange(4.0).reshape(2, 2)
    strided = tl.stack([x, x], -1)[..., 0]
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(strided, tl.ones(2, 2))
        dual.fill_diagonal_(3.0)
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [[0, 1], [1, 0]]
        assert dual.tolist() == [[3, 1], [2, 3]]
    row = tl.arange(6.0)[2:5]
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(row, tl.tensor([1.0, 2.0, 3.0]))
        dual.as_strided((2,), (1,), 3).zero_()
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [1, 0, 0]
