"""The examples in the documentation of the package run as they are printed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tl_core
import tl_profiler

MODULES = sorted(m.name for m in pkgutil.walk_packages(tl_profiler.__path__, "tl_profiler."))


@pytest.mark.parametrize("name", ["tl_profiler", *MODULES])
def test_examples_of(name):
    module = importlib.import_module(name)
    names = {**vars(tl_profiler), **vars(module), "tl_core": tl_core}
    assert doctest.testmod(module, extraglobs=names).failed == 0
