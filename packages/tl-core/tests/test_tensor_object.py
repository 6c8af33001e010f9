"""A tensor in Python: one object for life, attributes, weak references, collection of cycles."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import weakref

import pytest

import tl_core as tl


class Witness:
    """Something whose death can be seen."""


def test_attributes_and_dict():
    x = tl.ones(2)
    assert x.__dict__ == {}
    x.tag = [1]
    assert x.__dict__ == {"tag": [1]}
    del x.tag
    assert not hasattr(x, "tag")
    with pytest.raises(AttributeError):
        x.shape = (1,)


def test_the_object_lives_as_long_as_the_tensor():
    x = tl.ones(4)
    x.tag = Witness()
    records = weakref.ref(x)
    view = x[1:]
    address, tag = id(x), x.tag
    del x
    gc.collect()
    back = view._base
    assert (id(back), back.tag) == (address, tag)
    assert records() is back
    assert view._base is back
    del back, view
    gc.collect()
    assert records() is None


def test_the_same_object_comes_back_again_and_again():
    class Sub(tl.Tensor):
        pass

    x = tl.ones(3).as_subclass(Sub)
    x.tag = 1
    view = x.view(3).as_subclass(tl.Tensor)
    for _ in range(3):
        base = view
        while base._base is not None:
            base = base._base
        del base
    assert (type(x), x.tag) == (Sub, 1)


def test_weak_references():
    x = tl.ones(2)
    missing = []
    reference = weakref.ref(x, missing.append)
    assert reference() is x
    del x
    assert reference() is None
    assert missing == [reference]
    holder = weakref.WeakKeyDictionary()
    key = tl.ones(1)
    holder[key] = 1
    assert key in list(holder)
    del key
    assert len(holder) == 0


def test_cycles_through_attributes_are_collected():
    x = tl.ones(2)
    x.itself, x.witness = x, Witness()
    records = weakref.ref(x.witness)
    del x
    gc.collect()
    assert records() is None


def test_cycles_through_hooks_are_collected():
    pytest.importorskip("tl_autograd", reason="tl-autograd, which has hooks, is not installed")
    x = tl.ones(2, requires_grad=True)
    y = x * 2
    witness = Witness()
    records = weakref.ref(witness)
    y.register_hook(lambda grad, kept=(witness, y): None)
    del x, y, witness
    gc.collect()
    assert records() is None


def test_identity_hash_and_equality():
    x, y = tl.ones(2), tl.ones(2)
    assert hash(x) != hash(y) or x is y
    assert len({x, y, x}) == 2
    assert (x == y).tolist() == [True, True]
    assert x in [x]


def test_one_object_for_a_gradient():
    pytest.importorskip("tl_autograd", reason="tl-autograd, which makes gradients, is not installed")
    p = tl.ones(2, requires_grad=True)
    (p * 3).sum().backward()
    assert p.grad is p.grad
    assert p.grad.tolist() == [3.0, 3.0]


def test_deepcopy():
    x = tl.arange(6.0).reshape(2, 3).t()
    x.tag = [1]
    result = copy.deepcopy(x)
    assert result.tolist() == x.tolist()
    assert result.stride() == x.stride()
    assert result.data_ptr() != x.data_ptr()
    assert result.tag == [1]
    assert result.tag is not x.tag
    shared = [x, x[1:], x]
    a, b, c = copy.deepcopy(shared)
    b.fill_(7)
    assert a is c
    assert a[1:].tolist() == b.tolist()


def test_shallow_copy_shares_memory():
    x = tl.ones(2)
    result = copy.copy(x)
    assert result is not x
    assert result.data_ptr() == x.data_ptr()


def test_leaves_are_copied_with_what_they_require():
    pytest.importorskip("tl_autograd", reason="tl-autograd, which records derivatives, is not installed")
    x = tl.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    result = copy.deepcopy(x)
    assert result.requires_grad
    assert result.is_leaf
    assert result.grad.tolist() == [2.0, 2.0]
    assert result.grad is not x.grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_numbers():
    assert (int(tl.tensor(3.7)), float(tl.tensor(2)), complex(tl.tensor(1j))) == (3, 2.0, 1j)
    assert [10, 20][tl.tensor(1)] == 20
    assert bool(tl.tensor([[0.5]]))
    assert len(tl.ones(3, 2)) == 3
    assert [t.item() for t in tl.arange(3)] == [0, 1, 2]
    assert 2 in tl.arange(3)
    assert 5 not in tl.arange(3)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (
            lambda: bool(tl.ones(2)),
            RuntimeError,
            "Boolean value of Tensor with more than one value is ambiguous",
        ),
        (lambda: bool(tl.ones(0)), RuntimeError, "Boolean value of Tensor with no values is ambiguous"),
        (lambda: float(tl.ones(2)), ValueError, "only one element tensors .* got 2 elements"),
        (lambda: int(tl.ones(0)), ValueError, "only one element tensors .* got 0 elements"),
        (lambda: complex(tl.ones(2)), ValueError, "only one element tensors .* got 2 elements"),
        (lambda: tl.ones(2).item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: len(tl.ones(())), TypeError, r"len\(\) of a 0-d tensor"),
        (lambda: iter(tl.ones(())), TypeError, "iteration over a 0-d tensor"),
        (lambda: [1][tl.tensor(0.5)], TypeError, "can be converted to an index"),
        (lambda: float(tl.tensor(1j)), RuntimeError, "without overflow"),
        (lambda: tl.ones(1) + "x", TypeError, "unsupported operand"),
    ],
)
def test_what_a_tensor_cannot_do(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_the_older_constructor():
    assert tl.Tensor().shape == (0,)
    assert tl.Tensor(2, 3).shape == (2, 3)
    assert tl.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert tl.Tensor(tl.Size([2])).shape == (2,)


def test_a_python_function_on_each_element():
    x = tl.arange(6.0).view(2, 3)
    assert x.t().apply_(lambda e: e * 2) is not x and x.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert x.map_(tl.tensor([1.0, 2.0, 3.0]), lambda a, b: a + b).tolist() == [
        [1.0, 4.0, 7.0],
        [7.0, 10.0, 13.0],
    ]
    assert tl.tensor(2).is_nonzero() and not tl.tensor([0.0]).is_nonzero()


def test_what_tells_of_a_graph_without_one():
    x = tl.ones(2)
    assert x.detach_() is x
    assert (x.output_nr, x.retains_grad, x._backward_hooks, x.is_leaf) == (0, False, None, True)


def test_memory_for_an_accelerator_needs_one():
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        tl.ones(2).pin_memory()


AT_THE_END = """
import sys
import tl_core as tl

class Note:
    pass

views = []
for _ in range(50):
    base = tl.arange(6.0)
    base.note = Note()
    base.note.tensor = base
    views.append(base.view(2, 3))
sys.views = views
"""


# The views, which hold their bases alone, die with `sys`, before the last run of the collector.
def test_bases_with_attributes_when_python_ends():
    process = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stderr) == (0, "")
