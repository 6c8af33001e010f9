"""`Size`: a tuple that stays one."""

import copy
import pickle

import pytest

import tl_core as tl


def test_it_is_what_shape_returns():
    size = tl.ones(2, 3).shape
    assert type(size) is tl.Size
    assert size == (2, 3)
    assert tl.ones(2, 3).size() == size
    assert tl.ones(()).shape == tl.Size([])


def test_it_prints_as_the_reference_does():
    assert repr(tl.Size([2, 3])) == str(tl.Size((2, 3))) == "torch.Size([2, 3])"
    assert repr(tl.Size([])) == "torch.Size([])"


def test_parts_and_sums_are_sizes():
    size = tl.Size([2, 3, 4])
    for result, expected in (
        (size[1:], (3, 4)),
        (size.__add__((5,)), (2, 3, 4, 5)),
        (size.__radd__((1,)), (1, 2, 3, 4)),
        (size[:1] * 2, (2, 2)),
    ):
        assert type(result) is tl.Size
        assert result == expected
    assert size[0] == 2
    assert size.numel() == 24
    assert tl.Size([]).numel() == 1
    assert hash(size) == hash((2, 3, 4))


def test_it_takes_integers_only():
    assert tl.Size([tl.tensor(2), True]) == (2, 1)
    with pytest.raises(TypeError, match=r"item 1 is 'float'"):
        tl.Size([1, 2.0])
    with pytest.raises(TypeError):
        tl.Size([1]) * "x"


def test_it_survives_copies():
    for result in (pickle.loads(pickle.dumps(tl.Size([2]))), copy.deepcopy(tl.Size([2]))):
        assert type(result) is tl.Size
        assert result == (2,)
