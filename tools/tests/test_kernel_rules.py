"""Kernels raise nothing that a user can cause, and the rule of opmath types stands once."""

from __future__ import annotations

import re

from tools.packages import ROOT
from tools.vocabulary import without_comments

CSRC = ROOT / "packages" / "tl-core" / "csrc"
RAISES = re.compile(r"\b(?:TL_CHECK|fail|throw|raise_\w+)\b")
HALVES_TO_FLOAT = re.compile(r"is_half\([^()]*(?:\([^()]*\))?[^()]*\)\s*\?\s*DType::Float32")


def sources(folder: str) -> list:
    return sorted(f for f in (CSRC / folder).rglob("*") if f.suffix in {".h", ".cpp"})


def test_kernels_raise_nothing():
    found = [f.name for f in sources("kernels") if RAISES.search(without_comments(f.read_text()))]
    assert found == []


def test_halves_become_floats_in_one_function():
    found = [f.name for f in sources("") if HALVES_TO_FLOAT.search(without_comments(f.read_text()))]
    assert found == ["dtypes.cpp"]
