"""Arguments that modules hand on to the functions that make their tensors."""

import pytest

import tl_nn as nn


def test_they_are_taken_from_both():
    assert nn.factory_kwargs(None) == {}
    source = {"dtype": 1, "factory_kwargs": {"device": 2}}
    assert nn.factory_kwargs(source) == {"device": 2, "dtype": 1}
    assert source == {"dtype": 1, "factory_kwargs": {"device": 2}}


def test_wrong_arguments():
    with pytest.raises(TypeError, match="unexpected kwargs bias"):
        nn.factory_kwargs({"bias": True})
    with pytest.raises(TypeError, match="dtype specified twice"):
        nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})
