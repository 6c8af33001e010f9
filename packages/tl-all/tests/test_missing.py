"""What is said of names whose package isn't installed, and of names that nobody has."""

from importlib.util import find_spec

import pytest

import tl
from tl import _grafts, _names
from tl_core.base import name_table

SAID = r"is part of the package tl-nowhere, which is not installed \(pip install tl-nowhere\)"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    """A package that the table knows and nobody has."""
    modules = {
        "nowhere": "tl_nowhere",
        "utils.elsewhere": "tl_nowhere.elsewhere",
        "linalg.far": "tl_nowhere.far",
    }
    objects = {"teleport": "tl_nowhere:teleport", "nn.parallel.Teleport": "tl_nowhere.parallel:Teleport"}
    reals = {real: name for name, real in modules.items()}
    for table, lines in ((_names.MODULES, modules), (_names.OBJECTS, objects), (name_table.FACADE, reals)):
        for name, line in lines.items():
            monkeypatch.setitem(table, name, line)
    monkeypatch.setattr(_names, "TOPS", _names.TOPS | {"nowhere", "teleport"})


@pytest.mark.parametrize(
    "statement",
    [
        "import tl.nowhere",
        "import tl.nowhere.deep as deep",
        "from tl import nowhere",
        "from tl.nowhere import anything",
        "import tl.utils.elsewhere",
        "from tl.utils import elsewhere",
        "from tl import teleport",
        "from tl.nn.parallel import Teleport",
    ],
)
def test_an_import_names_the_package_to_install(statement):
    with pytest.raises(ModuleNotFoundError, match=SAID) as caught:
        exec(statement)
    assert caught.value.name == "tl_nowhere"


@pytest.mark.parametrize("name", ["nowhere", "teleport", "utils.elsewhere", "nn.parallel.Teleport"])
def test_an_attribute_names_the_package_to_install(name):
    *parents, last = name.split(".")
    owner = tl
    for parent in parents:
        owner = getattr(owner, parent)
    assert not hasattr(owner, last)
    assert getattr(owner, last, None) is None
    with pytest.raises(AttributeError, match=SAID) as caught:
        getattr(owner, last)
    assert caught.value.name == last


def test_nobody_is_told_to_install_what_does_not_exist(monkeypatch):
    monkeypatch.setitem(_names.MODULES, "planned", "tl_planned")
    monkeypatch.setattr(_names, "TOPS", _names.TOPS | {"planned"})
    monkeypatch.setattr(_names, "PLANNED", frozenset({"tl_planned"}))
    text = "tl.planned is part of the package tl-planned, which does not exist yet$"
    with pytest.raises(AttributeError, match=text):
        tl.planned  # noqa: B018 - asked for its error
    with pytest.raises(ModuleNotFoundError, match=text):
        exec("import tl.planned")


def test_what_is_planned_is_not_there():
    """A package that has been written leaves the list."""
    planned = [root for root in _names.PLANNED if find_spec(root) is not None]
    assert planned == []


def test_a_module_that_its_package_does_not_have_yet(monkeypatch):
    monkeypatch.setattr(_names, "OBJECTS", {**_names.OBJECTS, "later": "tl_core.later:later"})
    monkeypatch.setattr(_names, "TOPS", _names.TOPS | {"later"})
    assert not hasattr(tl, "later")
    assert "later" not in dir(tl)
    with pytest.raises(ImportError, match="cannot import name 'later'"):
        exec("from tl import later")


def test_dir_leaves_out_what_is_missing():
    assert "nowhere" not in dir(tl)
    assert "teleport" not in dir(tl)


@pytest.mark.parametrize("owner", ["tl", "tl.nn", "tl.cuda"])
def test_names_that_nobody_has(owner):
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        eval(f"{owner}.nonsense")
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{owner}.nonsense'"):
        exec(f"import {owner}.nonsense")
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec(f"from {owner} import nonsense")


def test_an_error_inside_a_package_stays_what_it_is(execute):
    files = {"tl_broken/__init__.py": "import dependency_of_the_package", "tl_broken/deep.py": ""}
    program = """
from tl import _names
_names.MODULES["broken"] = "tl_broken"
_names.MODULES["deep"] = "tl_broken.deep"
_names.TOPS |= {"broken", "deep"}
import tl
from tl import _grafts
forms = ("tl.broken", "import tl.broken", "from tl import broken", "tl.deep", "import tl.deep", "from tl import deep")
for form in forms:
    try:
        exec(form)
    except ModuleNotFoundError as error:
        assert error.name == "dependency_of_the_package", error
    else:
        raise AssertionError("no error")
"""
    execute(program, files=files)


def test_every_line_of_the_table_is_used_once():
    reals = list(_names.MODULES.values())
    # One file has what PyTorch has in several.
    shared = {
        "tl_compiler.compat.onnx_names", "tl_compiler.jit.scripts", "tl_compiler.onnx.symbolic_functions",
        "tl_distributed.compat.shard.sharded_tensor", "tl_distributed.compat.shard.sharding_spec",
        "tl_distributed.fsdp.managed_states", "tl_quantization.compat.handlers", "tl_quantization.export.reference",
    }  # fmt: skip
    assert {real for real in reals if reals.count(real) > 1} == shared
    for name, real in _names.MODULES.items():
        assert _names.module_of(name) == real
        if reals.count(real) == 1:
            assert _names.facade_of(real) == name


def test_the_longest_prefix_wins():
    assert _names.module_of("distributed.checkpoint.state_dict") == "tl_checkpoint.distributed.state_dict"
    assert _names.module_of("distributed.rpc") == "tl_distributed.rpc"
    assert _names.module_of("linalg") == "tl_core.linalg"
    assert _names.facade_of("tl_nn.optim.adam") == "optim.adam"
    assert _names.facade_of("tl_nn.modules.linear") == "nn.modules.linear"
    assert _names.facade_of("tl_core.linalg") == "linalg"
    assert _names.facade_of("numpy.linalg") is None


def test_a_setting_is_read_without_a_search_of_the_facade(monkeypatch):
    """A compiled function reads settings at each call."""
    config = tl._dynamo.config

    def search(*arguments):
        raise AssertionError(arguments)

    monkeypatch.setattr(_grafts, "attribute", search)
    assert config.suppress_errors is False
