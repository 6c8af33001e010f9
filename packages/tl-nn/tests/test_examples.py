"""The examples of all docstrings."""

import doctest
import importlib
import pkgutil

import pytest

import tl_nn


def modules():
    return [result.name for result in pkgutil.walk_packages(tl_nn.__path__, "tl_nn.")]


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")  # the examples of retired functions
@pytest.mark.parametrize("name", modules())
def test_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
