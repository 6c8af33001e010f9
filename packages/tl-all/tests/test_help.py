"""`help`, `inspect` and `dir` of all public names."""

import contextlib
import importlib
import inspect
import pydoc
import sys
import types

import pytest

import tl
from tl._submodules import SUBMODULES

BELOW = [f"tl.{above}.{name}" for above, names in SUBMODULES.items() for name in names.split()]
TOPS = [f"tl.{name}" for name in dir(tl) if isinstance(getattr(tl, name), types.ModuleType)]
MODULES = ["tl", *sorted({*TOPS, *BELOW} - {"tl.torch", "tl.stubs"})]


def module_of(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"an optional dependency is missing: {error}")


def public_values(holder):
    values = {}
    for name in dir(holder):
        if not name.startswith("_"):
            with contextlib.suppress(ImportError):  # of an optional dependency
                values[name] = getattr(holder, name)
    return values


def own_functions(holder):
    """The functions of a module or class that tl defines, by name."""
    for name, value in public_values(holder).items():
        home = getattr(value, "__module__", None) or "tl"
        if inspect.isroutine(value) and str(home).startswith("tl"):
            yield name, value


def problem_of(function):
    """The part of a function's help that is missing, or None."""
    lines = [line for line in pydoc.plain(pydoc.render_doc(function)).splitlines() if line.strip()]
    if len(lines) < 3 or not inspect.getdoc(function):
        return "text"
    try:
        inspect.signature(function)
    except ValueError:
        return "signature"
    inner = inspect.unwrap(function)
    if isinstance(inner, types.FunctionType) and inspect.getsourcefile(inner) != inner.__code__.co_filename:
        return "source"
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_functions_have_text_signature_and_source(name):
    assert {key: problem_of(f) for key, f in own_functions(module_of(name)) if problem_of(f)} == {}


def test_methods_of_tensor_have_text_and_signature():
    assert {key: problem_of(f) for key, f in own_functions(tl.Tensor) if problem_of(f)} == {}


@pytest.mark.parametrize("function", [tl.nn.functional.cross_entropy, tl.nn.functional.relu, tl.einsum])
def test_functions_lead_to_the_written_one(function):
    inner = inspect.unwrap(function)
    assert isinstance(inner, types.FunctionType) and inner.__name__ == function.__name__
    assert function.__code__ is inner.__code__ and function.__doc__ == inner.__doc__
    assert inspect.getsourcefile(function) == inner.__code__.co_filename
    assert inspect.getsource(function) == inspect.getsource(inner)


def test_the_text_of_a_function_can_be_set():
    def add(a, b):
        """The sum."""

    function = tl.overrides.overridable(add)
    assert function.__doc__ == "The sum." and "The sum." in pydoc.render_doc(function)
    function.__doc__ = "Another text."
    assert "Another text." in pydoc.render_doc(function)
    del function.__doc__
    assert function.__doc__ == "The sum."
    assert pydoc.plain(pydoc.render_doc(tl.overrides.overridable(lambda a: a))).count("\n") == 3


def is_of_library(value):
    """Whether a value is one of Python's own library."""
    if isinstance(value, types.ModuleType):
        return not value.__name__.startswith("tl")
    home = getattr(value, "__module__", None)
    home = home if isinstance(home, str) else type(value).__module__
    return home != "builtins" and home.partition(".")[0] in sys.stdlib_module_names


# Names of PyTorch's modules of observers and configurations whose values are classes and types of Python's library.
PEER_NAMES = {"ABC", "ObserverOrFakeQuantize", "QConfigAny"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_dir_lists_public_names_and_no_imports(name):
    module = module_of(name)
    listed = set(getattr(module, "__all__", ()))
    assert listed <= set(dir(module))
    values = {key: value for key, value in public_values(module).items() if key not in listed | PEER_NAMES}
    assert [key for key, value in values.items() if is_of_library(value)] == []


def test_dir_lists_modules_that_programs_look_up():
    assert {"functional", "init", "utils", "parallel", "Linear"} <= set(dir(tl.nn))
    assert {"sampler", "dataset", "DataLoader", "default_collate"} <= set(dir(tl.utils.data))
    assert {"data", "checkpoint", "tensorboard"} <= set(dir(tl.utils))
    assert not {"arena", "spool", "importlib", "sys"} & set(dir(tl.utils.data))
    assert not {"annotations", "Any"} & set(dir(tl.linalg))
