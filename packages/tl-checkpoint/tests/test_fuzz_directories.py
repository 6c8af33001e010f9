"""Some damaged directories; `nox -s fuzz-checkpoint` loads many."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location(
    "fuzz_directories", Path(__file__).parent / "fuzz_directories.py"
)
assert _spec is not None and _spec.loader is not None
fuzz = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fuzz)


def test_ours(tmp_path):
    result = fuzz.run(fuzz.make(tmp_path), 300, 0, has_checksums=True)
    assert result["fault"] == 0 and result["refused"] > 250


@pytest.mark.parametrize("name", ["one_rank", "two_ranks"])
def test_those_of_the_reference(name):
    result = fuzz.run(fuzz.DATA / name, 300, 0, has_checksums=False)
    assert result["fault"] == 0 and result["refused"] > 200 and result["other values"] < 10
