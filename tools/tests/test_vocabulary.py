"""Retired words and the glossary's terms."""

from __future__ import annotations

import ast

import pytest

from tools import vocabulary


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TileIndex", "tile index"),
        ("tile_index_", "tile index"),
        ("kMaxRows", "k max rows"),
        ("LSTMCell", "lstm cell"),
    ],
)
def test_a_name_is_split_into_its_words(name, words):
    assert vocabulary.tokens(name) == words


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        ("tile_places", True),
        ("TilePlaces", True),
        ("replaces", False),
        ("placement", False),
        ("doubtful_rows", True),
    ],
)
def test_a_retired_word_is_found_in_names(name, is_found):
    assert bool(list(vocabulary.retired_in(name, "packages/a/src/a.py", True))) is is_found


def test_an_ordinary_word_may_stand_in_a_sentence_but_not_in_a_name():
    assert not list(vocabulary.retired_in("in place of that", "docs/a.md", False))
    assert list(vocabulary.retired_in("in_place_of", "packages/a/src/a.py", True))


def test_terms_that_hold_a_retired_word_are_allowed():
    assert not list(vocabulary.retired_in("clone_in_place", "packages/a/csrc/a.cpp", True))


def test_what_the_api_has_is_allowed():
    assert not list(vocabulary.retired_in("negative_slope", "packages/a/src/a.py", True))


def test_comments_and_strings_of_cpp_are_not_names():
    text = '#include "places.h"\n// places\nint rows = f("places"); /* places\n places */ int slot;\n'
    assert {name: line for line, name in vocabulary.names_of_cpp(text)} == {
        "int": 3,
        "rows": 3,
        "f": 3,
        "slot": 4,
    }


def test_names_and_docstrings_of_python_are_found():
    tree = ast.parse('"""Module."""\ndef f(a):\n    """Function."""\n    b = c\n    a.d = 1\n')
    texts = {(text, is_name) for _, text, is_name in vocabulary.texts_of_python(tree)}
    assert {text for text, is_name in texts if is_name} == {"f", "a", "b", "d"}
    assert {text for text, is_name in texts if not is_name} == {"Module.", "Function."}


def test_headings_are_found():
    assert list(vocabulary.headings("# A\ntext\n## B c\n")) == [(1, "A"), (3, "B c")]


def test_the_glossary_lists_the_terms_of_the_field():
    assert len(vocabulary.terms()) >= 78


def test_terms_name_files_folders_or_headings():
    missing = vocabulary.nameless()
    assert len(missing) <= vocabulary.MAY_BE_MISSING, missing


def test_no_retired_word_comes_back():
    assert list(vocabulary.violations()) == []
