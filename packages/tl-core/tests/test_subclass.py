"""Subclasses of Tensor take part in operators and stay what they are."""

from __future__ import annotations

import pytest

import tl_core as tl
from tl_core.tensors.parameter import Buffer, Parameter


class Metres(tl.Tensor):
    pass


class Named(tl.Tensor):
    @staticmethod
    def __new__(cls, data, name):
        return tl.Tensor._make_subclass(cls, data)

    def __init__(self, data, name):
        self.name_of_it = name


@pytest.fixture
def x():
    return tl.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Metres)


def test_results_are_of_the_subclass(x):
    for result in (
        x + 1,
        1 + x,
        2 - x,
        2 / x,
        2**x,
        x @ x,
        -x,
        x > 1,
        x.sum(),
        x[0],
        x.T,
        x.mT,
        tl.exp(x),
        tl.cat([x, x]),
        x.reshape(4),
        x.float(),
        x.clone(),
        tl.zeros_like(x),
    ):
        assert type(result) is Metres
    assert all(type(part) is Metres for part in x.unbind())
    assert [type(part) for part in x.max(1)] == [Metres, Metres]


def test_reflected_operators_compute(x):
    assert (1 + x).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert (1 - x).tolist() == [[0.0, -1.0], [-2.0, -3.0]]
    assert (12 / x).tolist() == [[12.0, 6.0], [4.0, 3.0]]
    assert (2**x).tolist() == [[2.0, 4.0], [8.0, 16.0]]
    assert (7 % x).tolist() == [[0.0, 1.0], [1.0, 3.0]]
    assert (7 // x).tolist() == [[7.0, 3.0], [2.0, 1.0]]
    assert (x < 2).tolist() == [[True, False], [False, False]]


def test_what_is_no_tensor_stays_plain(x):
    assert type(x.shape) is tl.Size
    assert (x.dtype, x.dim(), x.numel(), x.tolist()) == (tl.float32, 2, 4, [[1.0, 2.0], [3.0, 4.0]])
    assert (len(x), bool(x.sum()), float(x.sum()), int(x.sum()), x.sum().item()) == (2, True, 10.0, 10, 10.0)


def test_as_subclass_shares_memory(x):
    plain = tl.ones(2)
    result = plain.as_subclass(Metres)
    result.add_(1)
    assert plain.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="derived from Tensor"):
        plain.as_subclass(int)


def test_constructors_of_their_own():
    result = Named(tl.ones(2), "two")
    assert (type(result), result.name_of_it, result.tolist()) == (Named, "two", [1.0, 1.0])


def test_gradients_flow_through(x):
    pytest.importorskip("tl_autograd", reason="tl-autograd, which records derivatives, is not installed")
    leaf = tl.tensor([1.0, 2.0], requires_grad=True)
    result = (leaf.as_subclass(Metres) * 3).sum()
    assert type(result) is Metres
    result.backward()
    assert leaf.grad.tolist() == [3.0, 3.0]


def test_of_related_classes_the_derived_one_wins():
    class Kilometres(Metres):
        pass

    near, far = tl.ones(1).as_subclass(Metres), tl.ones(1).as_subclass(Kilometres)
    assert type(near + far) is Kilometres
    assert type(far + near) is Kilometres
    assert type(tl.ones(1) + near) is Metres


def test_a_parameter_of_another_type_is_no_instance_of_classes_that_extend_parameter():
    class Pose(tl.Tensor):
        pass

    class PoseParameter(Pose, Parameter):
        pass

    pose = Parameter(tl.ones(2).as_subclass(Pose), requires_grad=False)
    assert type(pose) is Pose
    assert isinstance(pose, Parameter)
    assert not isinstance(pose, PoseParameter)
    assert not isinstance(pose, Buffer)
    own = PoseParameter(tl.ones(2), requires_grad=False)
    assert isinstance(own, PoseParameter)
    assert isinstance(own, Parameter)
