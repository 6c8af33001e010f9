"""The examples in the documentation of the package run as they are printed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tl_core
import tl_quantization

MODULES = sorted(m.name for m in pkgutil.walk_packages(tl_quantization.__path__, "tl_quantization."))


@pytest.mark.filterwarnings("ignore:.*fbgemm:UserWarning")  # as PyTorch warns of operators that will go
@pytest.mark.parametrize("name", ["tl_quantization", *MODULES])
def test_examples_of(name):
    module = importlib.import_module(name)
    names = {**vars(tl_quantization), **vars(module), "tl_core": tl_core}
    assert doctest.testmod(module, extraglobs=names).failed == 0
