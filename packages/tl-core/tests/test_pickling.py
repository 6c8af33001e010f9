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
    result = roundtrip(x)
    assert result.dtype is x.dtype
    assert result.tolist() == x.tolist()


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
    result = roundtrip(x)
    assert (result.shape, result.stride(), result.storage_offset()) == (
        x.shape,
        x.stride(),
        x.storage_offset(),
    )
    assert result.tolist() == x.tolist()


def test_a_tensor_without_memory():
    result = roundtrip(tl.empty(2, 3, device="meta"))
    assert (result.device, result.shape) == (tl.device("meta"), (2, 3))


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
    for result in (roundtrip(weight), roundtrip(weight, 2), copy.copy(weight)):
        assert type(result) is tl.Parameter and result.role == "table"


def test_subclasses():
    x = tl.ones(2).as_subclass(Point)
    x.label = "p"
    result = roundtrip(x)
    assert (type(result), result.label, result.tolist()) == (Point, "p", [1.0, 1.0])


def test_what_requires_grad():
    pytest.importorskip("tl_autograd", reason="tl-autograd, which records derivatives, is not installed")
    x = tl.ones(2, requires_grad=True)
    result = roundtrip(x)
    assert result.requires_grad
    assert result.is_leaf
    assert roundtrip(tl.Parameter(tl.ones(1), requires_grad=False)).requires_grad is False
    assert type(roundtrip(tl.Parameter(tl.ones(1)))) is tl.Parameter
    result = roundtrip(x * 2)
    assert (result.tolist(), result.requires_grad, result.is_leaf) == ([2.0, 2.0], True, True)
    result = roundtrip((x * 2).to_sparse())
    assert (result.to_dense().tolist(), result.is_leaf) == ([2.0, 2.0], True)
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


def test_generators_continue_their_stream():
    generator = tl.Generator().manual_seed(5)
    tl.rand(3, generator=generator)
    result = roundtrip(generator)
    assert tl.rand(3, generator=result).tolist() == tl.rand(3, generator=generator).tolist()


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
    result = again(x)
    assert type(result) is kind and result.label == ["a"] and not hasattr(result, "unset")
    assert kind is Slotted or result.extra == 3
