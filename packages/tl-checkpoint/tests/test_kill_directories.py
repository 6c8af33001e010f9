"""A few kills of programs that save into directories; `nox -s kill-checkpoint` makes a thousand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location(
    "kill_directories", Path(__file__).parent / "kill_directories.py"
)
assert _spec is not None and _spec.loader is not None
kills = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kills)


@pytest.mark.parametrize("kind", kills.KINDS)
def test_the_newest_complete_checkpoint_loads(tmp_path, kind):
    result = kills.run(tmp_path, kind, count=6, seed=len(kind))
    assert result["killed"] == 6 and result["lost"] == result["processes left"] == 0
