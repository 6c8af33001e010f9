"""The examples in the documentation of every module run as they are printed."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import tl_backends

NAMES = sorted(info.name for info in pkgutil.walk_packages(tl_backends.__path__, "tl_backends."))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_examples_of(name):
    module = import_module(name)
    assert module.__doc__
    assert doctest.testmod(module, globs=dict(vars(module)), raise_on_error=False).failed == 0


def test_some_modules_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in NAMES for test in finder.find(import_module(name)) if test.examples]
    assert len(found) >= 8
