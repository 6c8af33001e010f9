"""A name that is both a function and a module stays the function, whichever way its module is imported."""

from __future__ import annotations

import pytest

WALK = """
import importlib
import pkgutil
import sys
from types import ModuleType

import tl
from tl import _names, _packages

def loaded(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        return None  # it needs an extra

def walk(real, facade):
    # every module of a package, and what its parent had at its name before it was imported
    package = loaded(real)
    for info in pkgutil.iter_modules(getattr(package, "__path__", ())):
        if info.name in ("__main__", "_C"):
            continue
        before = package.__dict__.get(info.name)
        if loaded(f"{ROOT}.{facade}{info.name}") is None:
            continue
        after = package.__dict__.get(info.name)
        if before is not None and not isinstance(before, ModuleType):
            both.append(f"{facade}{info.name}")
            assert after is before, f"{facade}{info.name} was {before!r} and is {after!r}"
            assert getattr(package, info.name) is before
        if info.ispkg:
            walk(f"{real}.{info.name}", f"{facade}{info.name}.")

both = []
if ROOT == "torch":
    import tl.torch
    tl.torch.install()
for facade, real in {"": "tl_core", **_names.MODULES}.items():
    if _packages.find_real(real) is not None and not facade.startswith("_"):
        walk(real, facade + "." if facade else "")
assert "autograd.gradcheck" in both, both
print(len(both), *both)
"""

ONE = """
import tl
before = tl.autograd.gradcheck
import tl.autograd.gradcheck as module
from tl.autograd.gradcheck import GradcheckError
import importlib
assert tl.autograd.gradcheck is before and callable(before), tl.autograd.gradcheck
assert importlib.import_module("tl.autograd.gradcheck").gradcheck is before
assert importlib.import_module("tl_autograd.gradcheck").gradcheck is before
import tl_autograd
assert tl_autograd.gradcheck is before
from tl.autograd import gradcheck
assert gradcheck is before
tl.autograd.gradcheck = len  # programs may still put something else there
assert tl.autograd.gradcheck is len
"""


@pytest.mark.parametrize("root", ["tl", "torch"])
def test_functions_stay_functions_when_their_modules_are_imported(root, execute):
    assert "autograd.gradcheck" in execute(f"ROOT = {root!r}\n{WALK}")


def test_gradcheck_is_the_function_whichever_import_came_first(execute):
    execute(ONE)
    execute("import tl.autograd.gradcheck\n" + ONE)


def test_a_module_that_is_no_function_is_an_attribute_as_ever(execute):
    execute("import tl\nimport tl.autograd.forward_ad as m\nassert tl.autograd.forward_ad is m")
