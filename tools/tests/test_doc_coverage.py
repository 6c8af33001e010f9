"""What the site's check counts as a public name, and how it reads an inventory."""

import sys
import types
import zlib

import pytest

from tools import doc_coverage, public_names


@pytest.fixture
def package(monkeypatch):
    """A package `pack` whose module `pack.inner` defines what the package offers."""
    pack, inner = types.ModuleType("pack"), types.ModuleType("pack.inner")
    pack.__path__ = []

    def made():
        """A function."""

    def borrowed():
        """Of another package."""

    made.__module__, borrowed.__module__ = "pack.inner", "elsewhere"
    for module in (pack, inner):
        module.made, module.borrowed, module._private = made, borrowed, made
        monkeypatch.setitem(sys.modules, module.__name__, module)
    inner.LIMIT, inner.e = 3, 2.7
    return pack, inner


def test_a_module_offers_what_it_defines(package):
    pack, inner = package
    assert public_names.names(inner) == ["made", "LIMIT"]
    assert public_names.names(pack) == ["made"]


def test_all_says_what_a_module_offers(package):
    _, inner = package
    inner.__all__ = ["borrowed", "_private"]
    assert public_names.names(inner) == ["borrowed"]


def test_an_object_is_listed_where_its_package_offers_it(package, monkeypatch):
    monkeypatch.setattr(public_names, "modules", lambda name: list(package))
    assert [names for _, names in public_names.entries("pack")] == [["made"], ["LIMIT"]]


def test_private_parts_and_versions_are_not_public():
    assert public_names.is_public("pack.inner")
    assert not public_names.is_public("pack._inner.more")
    assert not public_names.is_public("pack.version")


def test_the_inventory_is_read(tmp_path):
    head = b"# Sphinx inventory version 2\n# Project: x\n# Version: 1\n# The rest is compressed.\n"
    body = b"pack.made py:function 1 page.html#$ -\nintro std:label -1 page.html#intro Intro\n"
    (tmp_path / "objects.inv").write_bytes(head + zlib.compress(body))
    assert doc_coverage.inventory(tmp_path / "objects.inv") == {"pack.made"}


def test_names_resolve_to_objects(package):
    _, inner = package
    assert doc_coverage.resolve("pack.inner.made") is inner.made
    assert doc_coverage.resolve("pack.made.__name__") == "made"
    assert doc_coverage.resolve("absent.name") is None


def test_what_is_ours_needs_a_docstring(package):
    pack, _ = package
    pack.silent = types.FunctionType((lambda: None).__code__, {"__name__": "pack.inner"}, "silent")
    pack.standard = types.FunctionType(
        (lambda: None).__code__, {"__name__": "multiprocessing.context"}, "standard"
    )
    known = {"pack.made", "pack.silent", "pack.standard"}
    assert list(doc_coverage.undescribed(known)) == ["pack.silent"]
