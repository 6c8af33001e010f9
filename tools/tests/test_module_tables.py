"""Tables of modules: planted gaps, and the tables of this repository."""

import pytest

from tools import module_tables
from tools.tests.conftest import Repository

TABLE = "| module | contents |\n|---|---|\n| {} | text with `other` |\n"


@pytest.fixture
def folder(tmp_path):
    folder = Repository(tmp_path).package("tl-one", "tl_one", [])
    (folder / "src/tl_one/alpha.py").write_text("")
    return folder


def test_the_tables_of_this_repository_are_complete():
    assert list(module_tables.missing()) == []


@pytest.mark.parametrize("cell", ["`alpha`", "`alpha.py`, `beta`", "`src/tl_one/alpha.py`", "`alpha/`"])
def test_a_module_in_the_first_column_is_found(folder, tmp_path, cell):
    (folder / "README.md").write_text(TABLE.format(cell))
    assert list(module_tables.missing(tmp_path)) == []


@pytest.mark.parametrize(
    "text", ["`alpha` in a sentence\n", TABLE.format("`beta`"), TABLE.format("alpha"), ""]
)
def test_a_module_outside_of_the_first_column_is_missing(folder, tmp_path, text):
    (folder / "README.md").write_text(text)
    assert list(module_tables.missing(tmp_path)) == [("tl-one", "alpha")]


def test_a_package_without_a_readme_lacks_all(folder, tmp_path):
    assert list(module_tables.missing(tmp_path)) == [("tl-one", "alpha")]


def test_folders_and_native_files_count(folder, tmp_path):
    (folder / "src/tl_one/room").mkdir()
    (folder / "src/tl_one/compat").mkdir()
    (folder / "csrc").mkdir()
    (folder / "csrc/engine.h").write_text("")
    (folder / "csrc/exports.map").write_text("")
    assert [name for _, name in module_tables.missing(tmp_path)] == ["alpha", "engine", "room"]


def test_a_linked_design_page_counts(folder, tmp_path):
    (tmp_path / "docs/design").mkdir(parents=True)
    (tmp_path / "docs/design/one.md").write_text(TABLE.format("`alpha`"))
    assert len(list(module_tables.missing(tmp_path))) == 1
    (folder / "README.md").write_text("[one](../../docs/design/one.md#rooms)\n")
    assert list(module_tables.missing(tmp_path)) == []
