"""Two tensors that exchange all they are."""

import copy
import gc
import weakref

import pytest

import tl_core as tl
from tl_core.tensors.swapping import swap_tensors


class Named(tl.Tensor):
    __slots__ = ("label",)


def test_objects_exchange_elements_class_and_attributes():
    a, b = tl.zeros(2), tl.Parameter(tl.ones(3, dtype=tl.float64), False)
    a.mark = "a"
    swap_tensors(a, b)
    assert type(a) is tl.Parameter and a.dtype is tl.float64 and a.tolist() == [1, 1, 1]
    assert type(b) is tl.Tensor and b.tolist() == [0, 0] and b.mark == "a" and not hasattr(a, "mark")
    swap_tensors(a, b)
    assert type(a) is tl.Tensor and a.mark == "a" and type(b) is tl.Parameter


def test_whoever_holds_the_object_has_the_other_contents():
    a, b = tl.tensor([1.0]), tl.tensor([2.0, 3.0])
    values = [a]
    swap_tensors(a, b)
    assert values[0] is a and values[0].tolist() == [2.0, 3.0]
    a.add_(1)
    assert values[0].tolist() == [3.0, 4.0] and b.tolist() == [1.0]


def test_slots_go_along():
    a, b = tl.ones(1).as_subclass(Named), tl.zeros(2).as_subclass(Named)
    a, b = copy.deepcopy(a), copy.deepcopy(b)
    a.label = "first"
    swap_tensors(a, b)
    assert b.label == "first" and not hasattr(a, "label")
    with pytest.raises(TypeError, match=r"the slots \['label'\]"):
        swap_tensors(a, tl.ones(1))


def test_a_tensor_with_itself():
    a = tl.ones(2)
    swap_tensors(a, a)
    assert a.tolist() == [1, 1]


def test_a_weak_reference_or_a_view_stands_in_the_way():
    a, b = tl.ones(2), tl.zeros(2)
    ref = weakref.ref(b)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        swap_tensors(a, b)
    del ref
    view = a[:1]
    with pytest.raises(RuntimeError, match="Cannot swap t1"):
        swap_tensors(a, b)
    del view
    swap_tensors(a, b)
    assert a.tolist() == [0, 0]


@pytest.mark.parametrize("other", [None, 3, [1.0]])
def test_what_is_no_tensor_is_refused(other):
    with pytest.raises(TypeError, match="argument 't2' must be Tensor"):
        swap_tensors(tl.ones(1), other)


def test_the_garbage_collector_finds_what_a_swapped_tensor_holds():
    a, b = tl.ones(1), tl.zeros(1)
    a.me = a
    swap_tensors(a, b)
    b.me = b
    missing = weakref.ref(b)
    del a, b
    gc.collect()
    assert missing() is None
