"""Gradients where an index is smaller than what it reads or writes, and where a source has no dimension."""

import pytest

import tl_core as tl
from tl_autograd.gradcheck import gradcheck, gradgradcheck

INDEX = tl.tensor([[2, 0], [1, 1]])


def drawn(*shape):
    """Other numbers for other shapes, so that no two inputs tie."""
    generator = tl.Generator().manual_seed(sum(shape) + 1)
    return tl.randn(shape, dtype=tl.float64, generator=generator).requires_grad_()


def both(f, *inputs):
    assert gradcheck(f, inputs) and gradgradcheck(f, inputs)


@pytest.mark.parametrize("dim", [0, 1])
def test_gather(dim):
    both(lambda x: x.gather(dim, INDEX), drawn(3, 4))


@pytest.mark.parametrize("dim", [0, 1])
def test_scatter(dim):
    unique = tl.tensor([[0, 1], [2, 0]])
    both(lambda x, s: x.scatter(dim, unique, s), drawn(3, 4), drawn(3, 3))


@pytest.mark.parametrize("dim", [0, 1])
def test_scatter_add(dim):
    both(lambda x, s: x.scatter_add(dim, INDEX, s), drawn(3, 4), drawn(3, 3))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin", "prod"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduce, include_self):
    both(
        lambda x, s: x.scatter_reduce(0, INDEX, s, reduce, include_self=include_self),
        drawn(3, 4),
        drawn(3, 3),
    )


def test_a_source_without_dimensions():
    at = tl.tensor(1)
    both(lambda x, s: x.scatter(0, at, s), drawn(3), drawn())
    both(lambda x, s: x.scatter_add(0, at, s), drawn(3), drawn())
    both(lambda x, s: x.scatter(0, tl.tensor(0), s), drawn(), drawn())
    both(lambda x, s: x.index_add(0, at, s), drawn(3), drawn())
    both(lambda x: x.gather(0, at), drawn(3))


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes_of_few_elements(name):
    """Ties share the gradient; no element, no gradient."""
    x = tl.tensor([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]], requires_grad=True)
    getattr(x if name == "amax" else -x, name)(1).sum().backward()
    share = tl.tensor([[0, 0.5, 0.5], [1 / 3] * 3])
    assert tl.allclose(x.grad, share if name == "amax" else -share)
    both(lambda a: getattr(a, name)((0, 1)), drawn(3, 4))
    both(lambda a: getattr(a, name)(0, True), drawn(1, 4))
    both(lambda a: getattr(a, name)(()), drawn())
    empty = tl.zeros(0, 3, requires_grad=True)
    getattr(empty, name)(1).sum().backward()
    assert empty.grad.shape == (0, 3)


@pytest.mark.parametrize("by_freq", [False, True])
def test_embeddings_of_complex_numbers(by_freq):
    weight = tl.randn(4, 3, dtype=tl.complex128, generator=tl.Generator().manual_seed(1)).requires_grad_()
    indices = tl.tensor([[0, 2], [2, 3]])
    grad = tl.ops.aten.embedding_dense_backward(
        weight.detach()[:2, None].expand(2, 2, 3), indices, 4, 3, by_freq
    )
    want = tl.zeros(4, 3, dtype=tl.complex128)
    for i, row in zip([0, 0, 1], [0, 2, 2], strict=True):
        want[row] += weight.detach()[i] / (2 if by_freq and row == 2 else 1)
    assert tl.allclose(grad, want)
    if not by_freq:
        both(lambda w: tl.embedding(w, indices), weight)
