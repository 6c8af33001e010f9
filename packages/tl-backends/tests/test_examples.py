"""The examples in the documentation of every module run as they are printed."""

import doctest
import inspect
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


def made():
    """What the device modules have from the table: doctest's finder knows functions of files only."""
    for kind in ("cuda", "xpu", "mtia", "mps", "cpu", "accelerator"):
        for name in (n for n in NAMES if f"{n}.".startswith(f"tl_backends.{kind}.")):
            module = import_module(name)
            for result in (getattr(module, n) for n in module.__all__):
                if getattr(result, "__module__", "") == name and inspect.getdoc(result):
                    yield f"{name}.{result.__name__}", result


@pytest.mark.parametrize(("name", "found"), [pytest.param(*of, id=of[0]) for of in made()])
def test_examples_of_what_the_table_makes(name, found):
    names = dict(vars(import_module(found.__module__)))
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(found), names, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_some_modules_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    matches = [test for name in NAMES for test in finder.find(import_module(name)) if test.examples]
    assert len(matches) >= 8
