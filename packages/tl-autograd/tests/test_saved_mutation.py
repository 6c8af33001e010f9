"""Blocks in which what was saved for the backward may be written."""

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd.graph import allow_mutation_on_saved_tensors
from tl_autograd.saved_mutation import SavedCopies


def leaf(*values):
    return tl.tensor(values, dtype=tl.float64, requires_grad=True)


def test_the_backward_sees_what_was_saved():
    a = leaf(2.0, 3.0)
    with allow_mutation_on_saved_tensors():
        b = a.clone()
        out = (b**2).sum()
        b.view(2)[:1].mul_(10)
        b.zero_()
        out.backward()
    assert a.grad.tolist() == [4.0, 6.0]


def test_copies_are_made_only_when_they_are_needed():
    with allow_mutation_on_saved_tensors() as copies:
        a = leaf(2.0).clone()
        first, second = a**2, a**2
        assert len(copies.tid_to_weakhandle) == 1 and not copies.cloned
        a.sin_()
        assert len(copies.cloned) == 1
        third = a**2
        a.sin_()
        assert len(copies.cloned) == 2
        del first, second
        assert len(copies.cloned) == 1
        third.backward()
        assert not copies.cloned
        a.sin_()
        assert not copies.cloned and not copies.original


def test_writes_by_out_and_to_lists():
    a, b, c = leaf(2.0), tl.tensor([5.0], dtype=tl.float64), tl.tensor([7.0], dtype=tl.float64)
    with allow_mutation_on_saved_tensors():
        out = a * b + a * c
        tl.sin(a.detach(), out=b)
        tl._foreach_zero_([c])
        out.backward()
    assert a.grad.tolist() == [12.0]


def test_second_derivatives():
    a = leaf(2.0)
    with allow_mutation_on_saved_tensors():
        b = a.clone()
        out = (b**3).sum()
        b.zero_()
        (first,) = tl_autograd.grad(out, a, create_graph=True)
        (second,) = tl_autograd.grad(first, a)
    assert first.item() == 12.0 and second.item() == 12.0


def test_blocks_do_not_nest_and_have_their_own_graphs():
    with allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="cannot be nested"), allow_mutation_on_saved_tensors():
            pass
        out = leaf(2.0) ** 2
    with pytest.raises(AssertionError, match="Trying to backward outside"):
        out.backward()
    with allow_mutation_on_saved_tensors(), pytest.raises(AssertionError, match="Trying to backward outside"):
        out.backward()


def test_copies_by_hand():
    copies = SavedCopies()
    x = tl.tensor([1.0, 2.0])
    handle = copies.pack(x)
    assert copies.pack(x) is handle and copies.unpack(handle) is x
    copies.copy_before_writing(x)
    x.zero_()
    assert copies.unpack(handle).tolist() == [1.0, 2.0] and copies.original[handle] is x
    assert copies.pack(x) is not handle
    copies.clear()
    with pytest.raises(AssertionError, match="Trying to backward outside"):
        copies.unpack(handle)
