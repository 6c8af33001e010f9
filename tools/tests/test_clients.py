"""The programs of libraries: what is compared, and what the page says."""

import pytest

from tools.clients.__main__ import FOLDER, RECORDED, difference, state
from tools.clients.table import CLIENTS, MEASURED, client, requirements


def test_every_program_stands_in_the_table_and_was_recorded():
    import json

    assert {path.stem for path in (FOLDER / "programs").glob("*.py")} == set(CLIENTS)
    assert set(json.loads(RECORDED.read_text())) == set(CLIENTS)
    assert set(MEASURED) <= set(CLIENTS) and len(MEASURED) == 10


def test_requirements_are_installed_one_way():
    with_what_they_ask, alone = requirements(list(CLIENTS))
    assert not set(with_what_they_ask) & set(alone)


@pytest.mark.parametrize(
    "error, shown",
    [
        ("", "agree"),
        ("ImportError: no 'x' from 'a.b' (/some/where/a/b.py)", "ImportError: no 'x' from 'a.b'"),
        ("OSError: /some/where/lib.so: not found", "OSError: lib.so: not found"),
        ("see https://example.org/a/b.html", "see https://example.org/a/b.html"),
        ("a | b", "a \\| b"),
        ("x" * 200, "x" * 100),
    ],
)
def test_the_page_holds_no_paths(error, shown):
    assert state(error) == shown


def test_differences_are_found():
    row = client("", rtol=1e-3, atol=1e-6)
    assert (
        difference({"a": [1.0, float("nan")], "b": "x"}, {"a": [1.0005, float("nan")], "b": "x"}, row) == ""
    )
    assert difference({"a": [1.0]}, {"a": [1.01]}, row) == ".a[0]: 1.01 instead of 1"
    assert difference({"a": [1.0]}, {"a": [1.0, 2.0]}, row) == ".a: 2 values instead of 1"
    assert difference({"a": 1}, {"b": 1}, row) == ": ['b'] instead of ['a']"
    assert difference({"a": True}, {"a": False}, row) == ".a: False instead of True"
