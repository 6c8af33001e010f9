"""Derivatives through conjugates and negatives that are views."""

import warnings

import pytest

import tl_core as tl
from tl_autograd import grad
from tl_autograd.gradcheck import gradcheck, gradgradcheck
from tl_core.tensors.conj_neg_bits import with_conj_neg_bits


def drawn(*shape, dtype=tl.complex128):
    generator = tl.Generator().manual_seed(1)
    return tl.randn(*shape, dtype=dtype, generator=generator).requires_grad_()


def written_conj(x):
    y = x * 1
    c = y.conj()
    c.mul_(2j)
    c[0].add_(x[1].conj())
    return y


def written_imag(x):
    y = x * 1
    y.conj().imag.mul_(x.real)
    return y


def written_real_view(x):
    y = x * 1
    with_conj_neg_bits(tl.view_as_real(y), neg=True)[..., 0] *= x.imag
    return y


def filled(x):
    y = x * 1
    y.mH[0] = x[0].conj()
    return y.conj()


FUNCTIONS = {
    "conj": lambda x: x.conj(),
    "conj twice": lambda x: x.conj().conj() * x,
    "imag": lambda x: x.conj().imag,
    "real": lambda x: x.conj().real * x.real,
    "mH": lambda x: x @ x.mH,
    "H": lambda x: x.H.clone(),
    "neg_view": lambda x: with_conj_neg_bits(x, neg=True) * x,
    "resolved": lambda x: with_conj_neg_bits(x.conj(), neg=True).resolve_conj().resolve_neg(),
    "conj_physical": lambda x: x.conj().conj_physical(),
    "index": lambda x: x.conj()[tl.tensor([1, 0, 1])],
    "cat": lambda x: tl.cat([x.conj(), x]),
    "composite": lambda x: tl.einsum("ij,kj->ik", x, x.conj()),
    "written conj": written_conj,
    "written imag": written_imag,
    "written real view": written_real_view,
    "filled": filled,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    assert gradcheck(FUNCTIONS[name], drawn(2, 2))
    assert gradgradcheck(FUNCTIONS[name], drawn(2, 2))


def test_gradients_of_a_conjugate_are_views():
    x = drawn(3)
    (g,) = grad(x.conj(), x, tl.tensor([1j, 2.0, 3.0], dtype=tl.complex128))
    assert g.is_conj() and g.tolist() == [-1j, 2, 3]


def test_names_of_nodes():
    x = drawn(2, 2)
    assert x.conj().grad_fn.name() == "ConjBackward0"
    assert x.mH.grad_fn.name() == "ConjBackward0"
    assert with_conj_neg_bits(x, neg=True).grad_fn.name() == "NegViewBackward0"


def test_a_leaf_may_be_marked():
    x = tl.tensor([1j]).conj().requires_grad_()
    (x * x).backward(tl.tensor([1 + 0j]))
    assert x.is_leaf and x.is_conj() and x.grad.tolist() == [2j]


def test_a_write_through_a_marked_base():
    x = drawn(2)
    base = tl.zeros(2, dtype=tl.complex128).conj().detach()
    base[0] = x[1]
    assert base.is_conj() and base.tolist() == [x[1].item(), 0]
    base.backward(tl.tensor([1j, 1], dtype=tl.complex128))
    assert x.grad.tolist() == [0, 1j]


def test_complex_powers_of_negative_numbers():
    exponent = tl.tensor([0.5 - 0.25j, -1.5 + 1j], requires_grad=True)
    exponent = exponent.detach().to(tl.complex128).requires_grad_()
    base = tl.tensor([-1.0, -2.0], dtype=tl.float64)
    assert gradcheck(lambda e: tl.pow(base, e), exponent)
    assert gradcheck(lambda e: tl.pow(-1, e), exponent)


def test_gradients_of_real_numbers_that_became_complex():
    """The real part is taken on purpose: no warning."""
    x = tl.tensor([1.0, -2.0], dtype=tl.float64, requires_grad=True)
    assert gradcheck(lambda x: x.to(tl.complex128) * (1 + 2j), x)
    assert gradcheck(lambda x: tl.zeros(3, 2, dtype=tl.complex128).copy_(x) * 1j, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.zeros(2, dtype=tl.complex64).copy_(x).abs().sum().backward()
    assert x.grad.dtype == tl.float64 and x.grad.tolist() == [1.0, -1.0]
