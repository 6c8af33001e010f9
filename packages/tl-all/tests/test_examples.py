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
    program = """
import tl
assert "tl" in tl.__config__.show()
assert tl.__future__.get_overwrite_module_params_on_conversion() is False
assert not hasattr(tl, "__wrapped__") and not hasattr(tl.nn, "__wrapped__")
"""
    execute(program)
