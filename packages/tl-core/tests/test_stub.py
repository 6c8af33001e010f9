"""The stub of the native module agrees with the module: type checkers and editors know what a program can call."""

import ast
import inspect
from pathlib import Path
from types import FunctionType

import pytest

import tl_core
from tl_core import _C, Tensor, return_types

STUB = Path(_C.__file__).parent / "_C.pyi"
# Attributes of every Python object, and the buffer's, which Python shows from 3.12 on.
OF_OBJECTS = {*dir(object), "__dict__", "__module__", "__weakref__", "__buffer__"}


@pytest.fixture(scope="module")
def classes():
    tree = ast.parse(STUB.read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def members(cls):
    """The names that a class of the stub defines."""
    targets = [node.target.id for node in cls.body if isinstance(node, ast.AnnAssign)]
    return {*targets, *(node.name for node in cls.body if isinstance(node, ast.FunctionDef))}


def test_the_stub_has_every_attribute_of_tensor(classes):
    listed = members(classes["Tensor"]) | members(classes["TensorOps"])
    assert set(dir(Tensor)) - OF_OBJECTS - listed == set()
    assert listed - OF_OBJECTS - set(dir(Tensor)) == set()
    assert "__getattr__" not in listed  # otherwise no misspelt method is an error


def test_methods_of_python_have_the_same_parameters(classes):
    # Overloads state the arguments of each result; `type_as` has PyTorch's name of its argument as well.
    rest = {"type", "nonzero", "unique", "unique_consecutive", "type_as"}
    checked = 0
    for node in classes["Tensor"].body:
        function = isinstance(node, ast.FunctionDef) and inspect.getattr_static(Tensor, node.name, None)
        if not isinstance(function, FunctionType) or node.name in rest or node.name.startswith("__"):
            continue
        arguments = node.args
        stated = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        real = inspect.signature(function).parameters.values()
        named = [p.name for p in real if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        open_ended = len(named) < len(real)
        assert named == stated or open_ended, node.name
        checked += 1
    assert checked > 40


def test_named_results_have_the_same_fields(classes):
    assert len(return_types.__all__) > 30
    for name in return_types.__all__:
        fields = [node.target.id for node in classes[f"_result_{name}"].body]
        real = getattr(return_types, name)
        assert [field for field in dir(real) if field in fields] == sorted(fields), name
        assert real.n_fields == len(fields), name


def test_functions_of_the_stub_exist():
    tree = ast.parse(STUB.read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {name for name in functions if not hasattr(_C, name)} == set()
    assert {"add", "topk", "where"} <= functions
    assert tl_core.topk(tl_core.arange(3), 1).indices.item() == 2
