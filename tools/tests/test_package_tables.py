"""The tables and lists that follow tools/packages.py."""

from __future__ import annotations

from tools import package_tables
from tools.packages import ROOT, TABLE, packages


def test_every_package_is_in_the_table_and_no_other():
    assert set(TABLE) == set(packages())


def test_all_files_follow_the_table():
    assert [path.name for path, text in package_tables.updated(ROOT) if path.read_text() != text] == []


def test_a_table_stands_between_its_comments():
    text = f"a\n{package_tables.BEGIN}old{package_tables.END}\nb\n"
    assert (
        package_tables.marked(text, "new") == f"a\n{package_tables.BEGIN}\nnew\n\n{package_tables.END}\nb\n"
    )


def test_a_table_has_a_line_below_its_head():
    assert package_tables.table(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |"


def test_packages_import_only_packages_of_the_table():
    names = {p.import_name for p in packages().values()}
    assert all(set(design.may_import) <= names for design in TABLE.values())


def test_a_wheel_is_tested_beside_all_that_it_requires():
    assert package_tables.requirements("tl-core") == []
    assert package_tables.requirements("tl-distributed") == ["tl-core"]
    # tl-nn needs tl-autograd, and tl-compiler names both.
    assert package_tables.requirements("tl-compiler") == ["tl-core", "tl-autograd", "tl-nn", "tl-checkpoint"]
    text = (ROOT / package_tables.WHEELS).read_text()
    assert '{ package: tl-compiler, needs: "./tl-core ./tl-autograd ./tl-nn ./tl-checkpoint" }' in text
