"""Attributes that packages import when they are asked for."""

import sys

import pytest

from tl_core.base.lazy_attributes import attach

INIT = """
from tl_core.base.lazy_attributes import attach

__getattr__, __dir__, __all__ = attach(__name__, {"red": ["Red"], "blue": ["blue", "Navy"]}, ["green"])
"""


@pytest.fixture
def paints(tmp_path, monkeypatch):
    """A package whose modules say that they are loaded."""
    folder = tmp_path / "paints"
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "red.py").write_text("class Red: pass\n")
    (folder / "blue.py").write_text("def blue(): return 'blue'\nclass Navy: pass\n")
    (folder / "green.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    import paints

    yield paints
    for name in [name for name in sys.modules if name.partition(".")[0] == "paints"]:
        del sys.modules[name]


def loaded():
    return {name for name in sys.modules if name.startswith("paints.")}


def test_only_what_is_asked_for_is_imported(paints):
    assert loaded() == set()
    assert paints.Red is sys.modules["paints.red"].Red
    assert loaded() == {"paints.red"}
    assert vars(paints)["Red"] is paints.Red, "the second time, nobody asks the function"


def test_submodules_are_attributes(paints):
    assert paints.green is sys.modules["paints.green"]
    assert paints.red is sys.modules["paints.red"]


def test_a_function_is_not_hidden_by_the_module_of_its_name(paints):
    import paints.blue

    assert paints.blue() == "blue"
    from paints.blue import Navy

    assert paints.Navy is Navy
    paints.blue = lambda: "ultramarine"
    assert paints.blue() == "ultramarine"


def test_names_are_listed_before_they_are_loaded(paints):
    assert {"Red", "Navy", "blue", "green", "__name__"} <= set(dir(paints)) and "red" not in dir(paints)
    assert paints.__all__ == ["Navy", "Red", "blue"]
    assert loaded() == set()
    space = {}
    exec("from paints import *", space)
    assert {"Navy", "Red", "blue"} <= set(space)


def test_what_is_not_there_is_missed(paints):
    with pytest.raises(AttributeError, match="module 'paints' has no attribute 'Yellow'"):
        paints.Yellow  # noqa: B018
    with pytest.raises(ImportError):
        from paints import Yellow  # noqa: F401
    assert attach("paints", {})[2] == []
