"""The examples in the documentation of the façade run as they are printed."""

import pytest


@pytest.mark.parametrize("name", ["tl", "tl.torch", "tl._release"])
def test_examples_of(execute, name):
    program = f"""
import doctest, importlib
module = importlib.import_module({name!r})
outcome = doctest.testmod(module, globs=dict(vars(module)))
assert outcome.attempted and not outcome.failed, outcome
"""
    execute(program)


def test_dunder_modules_of_the_core(execute):
    files = {"tl_core_dunder.py": "def show(): return 'made with care'"}
    program = """
import sys, tl_core, tl_core_dunder
sys.modules["tl_core.__config__"] = tl_core.__config__ = tl_core_dunder
import tl
assert tl.__config__.show() == "made with care"
assert not hasattr(tl, "__wrapped__") and not hasattr(tl.nn, "__wrapped__")
"""
    execute(program, files=files)
