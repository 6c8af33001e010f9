"""Rates of words in the documentation."""

import tomllib
from collections import Counter

import pytest

from tools.prose import LIMITS, PATTERNS, counts, pages, rates


@pytest.mark.parametrize(
    ("text", "name", "number"),
    [
        ("a; b; c", "semicolons", 2),
        ("What it returns is what it got; whatever", "what", 2),
        ("The engine knows, asks and tells.", "says, tells, knows, asks", 3),
        ("code `a; b` and\n```\nx; y\n```\nand [link](a;b)", "semicolons", 0),
        ("<!-- figures -->\na; b\n<!-- /figures -->", "semicolons", 0),
        ("the reference raises, the reference page", "the reference for PyTorch", 1),
    ],
)
def test_matches(text, name, number):
    assert counts(text)[name] == number


def test_rates_are_per_thousand_words():
    total = counts("one two three four;") + Counter(words=996)
    assert rates(total)["semicolons"] == 1


def test_every_pattern_has_a_limit_and_pages_are_there():
    assert set(tomllib.loads(LIMITS.read_text())) == set(PATTERNS)
    assert len(list(pages())) > 50
