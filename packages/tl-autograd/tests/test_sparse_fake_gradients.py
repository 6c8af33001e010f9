"""Gradients of fakes of sparse and jagged tensors."""

import pytest

import tl_autograd  # noqa: F401
import tl_core as tl
from tl_core import nested, sparse
from tl_core.subclasses import FakeTensorMode

DENSE = tl.tensor([[1.0, 0, 2], [0, 3, 0]])
REAL = {
    "coo": DENSE.to_sparse(),
    "csr": DENSE.to_sparse_csr(),
    "csc": DENSE.to_sparse_csc(),
    "bsr": tl.eye(4).to_sparse_bsr((2, 2)),
    "bsc": tl.eye(4).to_sparse_bsc((2, 2)),
}


def facts(t):
    return t.layout, tuple(t.shape), t.dtype


@pytest.mark.parametrize("kind", REAL)
def test_gradients_of_a_product(kind):
    mode, real = FakeTensorMode(), REAL[kind]
    fake = mode.from_tensor(real)
    leaf = fake.detach().requires_grad_()
    sparse.mm(leaf, mode.from_tensor(tl.ones(real.shape[1], 5))).sum().backward()
    assert facts(leaf.grad) == facts(real)


def test_a_fake_has_the_gradient_of_its_tensor():
    leaf = REAL["coo"].detach().requires_grad_()
    (leaf * 2).to_dense().sum().backward()
    fake = FakeTensorMode().from_tensor(leaf)
    assert fake.requires_grad and fake.is_leaf and facts(fake.grad) == facts(leaf.grad)
    assert FakeTensorMode().from_tensor(leaf * 2).requires_grad


def test_conversions_are_recorded():
    x = FakeTensorMode().from_tensor(DENSE).requires_grad_()
    (x.to_sparse() * 2).to_dense().sum().backward()
    assert tuple(x.grad.shape) == (2, 3)


def test_gradients_of_jagged_fakes():
    mode = FakeTensorMode()
    fake = mode.from_tensor(
        nested.nested_tensor([tl.ones(2, 3), tl.ones(4, 3)], layout=tl.jagged, requires_grad=True)
    )
    assert fake.requires_grad and fake.is_leaf
    weight = mode.from_tensor(tl.ones(5, 3, requires_grad=True))
    fake.matmul(weight.t()).sum().backward()
    assert tuple(fake.grad.values().shape) == (6, 3) and tuple(weight.grad.shape) == (5, 3)
