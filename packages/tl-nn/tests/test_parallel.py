"""Modules on parts of a batch at the same time; the CPU stands for all devices here."""

from typing import NamedTuple

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn import parallel
from tl_nn.parallel import comm

TWO = ["cpu", "cpu"]


class Pair(NamedTuple):
    first: tl.Tensor
    second: int


def test_the_module_alone():
    model = nn.DataParallel(nn.Linear(2, 1))
    x = tl.ones(3, 2)
    assert model(x).tolist() == model.module(x).tolist()
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def test_parts_of_a_batch():
    layer = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = tl.arange(10.0).reshape(5, 2)
    model = nn.DataParallel(layer, device_ids=TWO)
    out = model(x)
    np.testing.assert_allclose(out.tolist(), layer(x).tolist(), rtol=1e-6)
    out.sum().backward()
    result = layer[0].weight.grad.tolist()
    layer.zero_grad()
    layer(x).sum().backward()
    np.testing.assert_allclose(result, layer[0].weight.grad.tolist(), rtol=1e-6)
    assert tuple(model(x[:1]).shape) == (1, 3)


def test_containers_are_divided_and_joined():
    source = {"a": tl.arange(4), "b": [tl.arange(2), 5], "c": Pair(tl.arange(2), 7)}
    first, second = parallel.scatter(source, TWO)
    assert first["a"].tolist() == [0, 1] and second["a"].tolist() == [2, 3]
    assert second["b"][0].tolist() == [1] and second["b"][1] == 5
    assert isinstance(first["c"], Pair) and first["c"].second == 7
    joined = parallel.gather([{"x": tl.tensor(1.0)}, {"x": tl.tensor(2.0)}], "cpu")
    assert joined["x"].tolist() == [1.0, 2.0]
    inputs, named = parallel.scatter_kwargs((tl.arange(2),), {"scale": 3}, TWO)
    assert [each[0].tolist() for each in inputs] == [[0], [1]] and named == ({"scale": 3}, {"scale": 3})


def test_an_error_in_one_of_them_is_raised():
    with pytest.raises(RuntimeError):
        parallel.parallel_apply([nn.Linear(2, 1), nn.Linear(2, 1)], [tl.ones(2), tl.ones(3)])
    with pytest.raises(AssertionError, match="not equal to the number of inputs"):
        parallel.parallel_apply([nn.ReLU()], [])
    with tl.no_grad():
        outs = parallel.parallel_apply([nn.Linear(1, 1), nn.Linear(1, 1)], [tl.ones(1), tl.ones(1)])
    assert not any(out.requires_grad for out in outs)


def test_sending():
    assert [each.tolist() for each in comm.broadcast(tl.ones(1), TWO)] == [[1.0], [1.0]]
    assert comm.reduce_add([tl.ones(2), tl.ones(2)]).tolist() == [2.0, 2.0]
    assert [each.tolist() for each in comm.scatter(tl.arange(3), TWO, chunk_sizes=[1, 2])] == [[0], [1, 2]]
    assert comm.gather([tl.zeros(1), tl.ones(1)]).tolist() == [0.0, 1.0]
    ((first,), (second,)) = comm.broadcast_coalesced([tl.ones(1)], TWO)
    assert first.tolist() == second.tolist()
    assert [each.tolist() for each in comm.reduce_add_coalesced([[tl.ones(1)], [tl.ones(1)]])] == [[2.0]]
    with pytest.raises(ValueError, match="different shapes"):
        comm.reduce_add([tl.ones(1), tl.ones(2)])
    with pytest.raises(RuntimeError, match="Exactly one of"):
        comm.broadcast(tl.ones(1))


def test_the_names_that_older_programs_call():
    from tl_nn.parallel._functions import Broadcast, Gather, ReduceAddCoalesced, Scatter

    x = tl.arange(4.0)
    assert [t.tolist() for t in Broadcast.apply(["cpu", "cpu"], x)] == [x.tolist()] * 2
    assert [t.tolist() for t in Scatter.apply(["cpu", "cpu"], None, 0, x)] == [[0, 1], [2, 3]]
    assert Gather.apply("cpu", 0, x, x).shape == (8,) and Gather.apply("cpu", 0, x[0], x[1]).tolist() == [
        0,
        1,
    ]
    assert ReduceAddCoalesced.apply("cpu", 1, x, x)[0].tolist() == (2 * x).tolist()
