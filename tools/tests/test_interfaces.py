"""The record of the names that packages use of each other."""

import ast
import sys

import pytest

from tools import interfaces
from tools.packages import packages


@pytest.fixture
def sources(repository, monkeypatch):
    """Two importable packages: tla_core, and tla_nn, which uses a function, a class and a constant of tla_core."""
    repository.package("tla-core", "tla_core", [])
    repository.package("tla-nn", "tla_nn", [])
    repository.write(
        "tla-core/src/tla_core/math.py", "LIMIT = 3\ndef add(a, b=1, *, c=()): return a\nclass Box: pass\n"
    )
    text = "import tla_core.math as m\nfrom tla_core.math import Box\nx = m.add(m.LIMIT.real)\n"
    repository.write("tla-nn/src/tla_nn/layer.py", text)
    every = [p.source for p in packages(repository.root).values() if p.import_name.startswith("tla")]
    for source in every:
        monkeypatch.syspath_prepend(str(source.parent))
    yield every
    for name in [name for name in sys.modules if name.startswith("tla_")]:
        del sys.modules[name]


def test_the_record_has_names_signatures_and_users(sources):
    signatures, users, missing = interfaces.uses(sources)
    assert interfaces.lines(signatures, users) == [
        "tla_core.math: module <- tla_nn",
        "tla_core.math.Box: class <- tla_nn",
        "tla_core.math.LIMIT: int <- tla_nn",
        "tla_core.math.add(a, b=1, *, c=Ellipsis) <- tla_nn",
    ]
    assert missing == []


def test_a_name_that_is_gone_is_missing(sources, repository):
    repository.write("tla-core/src/tla_core/math.py", "LIMIT = 3\nclass Box: pass\n")
    assert interfaces.uses(sources)[2] == [interfaces.Missing("tla_nn", "tla_core.math.add")]


def test_a_module_that_is_gone_is_missing(sources, repository):
    repository.write("tla-nn/src/tla_nn/other.py", "from tla_core import nowhere\nimport tla_core.nothing\n")
    names = [each.name for each in interfaces.uses(sources)[2]]
    assert names == ["tla_core.nothing", "tla_core.nowhere"]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        ("(a, b=1)", None),
        ("(a, b=2, c=3, *, d=4)", None),
        ("(a, *, b=1)", "another order than a, b"),
        ("(a)", "takes no b"),
        ("(a, b)", "b has no default"),
        ("(a, b=1, *, c)", "asks for c"),
        (": int", "became : int"),
    ],
)
def test_changes_that_break_a_call(new, reason):
    found = list(interfaces.broken({"f": "(a, b=1)"}, {"f": new}))
    assert found == ([f"f(a, b=1): {reason}"] if reason else [])


def test_names_of_special_methods_are_no_uses():
    assert list(interfaces.chains(ast.parse("m.__name__"), {"m": "tla_core"})) == []


def test_only_broken_calls_fail(capsys):
    assert interfaces.compare(["f(a) <- tl_nn"], ["f(a) <- tl_nn", "g(a) <- tl_nn"]) == 0
    assert "1 lines of interfaces.txt differ" in capsys.readouterr().out
    assert interfaces.compare(["f(a) <- tl_nn"], ["f(b) <- tl_nn"]) == 1


def test_a_module_of_an_extra_needs_its_library(sources, repository, monkeypatch):
    monkeypatch.setattr(interfaces, "_family", lambda: frozenset({"tla_core", "tla_nn"}))
    loader = repository.root / "packages" / "tla-core" / "src" / "tla_core"
    (loader / "board.py").write_text('raise ImportError("needs a library", name="tensorboard")\n')
    (loader / "old.py").write_text("from tla_core import gone\n")
    text = "from tla_core.board import Writer\nfrom tla_core.old import Box\nfrom tla_core.math import add, absent\n"
    repository.write("tla-nn/src/tla_nn/layer.py", text)
    record = [
        "tla_core.board.Writer(folder) <- tla_nn",
        "tla_core.math.add(a) <- tla_nn",
        "tla_core.math.sub(a) <- tla_nn",
    ]
    assert list(interfaces.meeting("tla_nn", record)) == [
        "tla_nn uses tla_core.math.absent, which is not there",
        "tla_nn uses tla_core.old.Box, which is not there",
    ]
    assert list(interfaces.meeting("tla_core", record)) == ["tla_core lacks tla_core.math.sub"]
