"""Pickles of tensors and what belongs to them."""

from __future__ import annotations

import copy
import pickle

import pytest

import tl_core as tl


def roundtrip(value, protocol=pickle.DEFAULT_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(protocol):
    assert roundtrip(tl.tensor([1.5, -2.0]), protocol).tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64", "complex128"]
)
def test_types(name):
    x = tl.tensor([1, 0, 1]).to(getattr(tl, name))
    made = roundtrip(x)
    assert made.dtype is x.dtype
    assert made.tolist() == x.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tl.tensor(3),
        lambda: tl.empty(0, 3),
        lambda: tl.arange(6).reshape(2, 3).t(),
        lambda: tl.ones(3).expand(2, 3),
        lambda: tl.arange(10)[3:7:2],
    ],
)
def test_geometry(make):
    x = make()
    made = roundtrip(x)
    assert (made.shape, made.stride(), made.storage_offset()) == (x.shape, x.stride(), x.storage_offset())
    assert made.tolist() == x.tolist()


def test_a_tensor_without_memory():
    made = roundtrip(tl.empty(2, 3, device="meta"))
    assert (made.device, made.shape) == (tl.device("meta"), (2, 3))


def test_attributes_travel():
    x = tl.ones(1)
    x.tag = {"a": 1}
    assert roundtrip(x).tag == {"a": 1}


class Point(tl.Tensor):
    """At the top of the module, so that pickles find it."""


def test_attributes_of_parameters_travel():
    weight = tl.Parameter(tl.ones(2), requires_grad=False)
    assert not hasattr(roundtrip(weight), "role")
    weight.role = "table"
    for made in (roundtrip(weight), roundtrip(weight, 2), copy.copy(weight)):
        assert type(made) is tl.Parameter and made.role == "table"


def test_subclasses():
    x = tl.ones(2).as_subclass(Point)
    x.label = "p"
    made = roundtrip(x)
    assert (type(made), made.label, made.tolist()) == (Point, "p", [1.0, 1.0])


def test_what_requires_grad():
    pytest.importorskip("tl_autograd", reason="tl-autograd, which records derivatives, is not installed")
    x = tl.ones(2, requires_grad=True)
    made = roundtrip(x)
    assert made.requires_grad
    assert made.is_leaf
    assert roundtrip(tl.Parameter(tl.ones(1), requires_grad=False)).requires_grad is False
    assert type(roundtrip(tl.Parameter(tl.ones(1)))) is tl.Parameter
    made = roundtrip(x * 2)
    assert (made.tolist(), made.requires_grad, made.is_leaf) == ([2.0, 2.0], True, True)
    made = roundtrip((x * 2).to_sparse())
    assert (made.to_dense().tolist(), made.is_leaf) == ([2.0, 2.0], True)
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


def test_generators_continue_their_stream():
    generator = tl.Generator().manual_seed(5)
    tl.rand(3, generator=generator)
    made = roundtrip(generator)
    assert tl.rand(3, generator=made).tolist() == tl.rand(3, generator=generator).tolist()


def test_functions_and_types_are_found_by_name():
    assert roundtrip(tl.add) is tl.add
    assert roundtrip(tl.Tensor) is tl.Tensor
    assert roundtrip([tl.strided, tl.channels_last]) == [tl.strided, tl.channels_last]


class Slotted(tl.Tensor):
    __slots__ = ("label", "unset")


class MoreSlots(Slotted):
    __slots__ = ("extra",)


@pytest.mark.parametrize("again", [roundtrip, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("kind", [Slotted, MoreSlots])
def test_slots_of_a_class(kind, again):
    x = tl.ones(2).as_subclass(kind)
    x.label = ["a"]
    if kind is MoreSlots:
        x.extra = 3
    made = again(x)
    assert type(made) is kind and made.label == ["a"] and not hasattr(made, "unset")
    assert kind is Slotted or made.extra == 3
