"""Which arguments a docstring describes."""

import pytest

from tools.docstrings import described, has_example, missing, user_modules, wants_example


def documented(first, second, *rest, third=None, **options):
    """A function.

    Args:
        first, second (int): two numbers,
            on two lines.
        *rest: more of them.
        third: None for none.
        **options: by name.

    Returns:
        fourth: no argument.
    """


def half(first, second, third):
    """A function.

    Args:
        first: described.
    """


def test_every_name_under_args_is_described():
    assert missing(documented) == []
    assert {"first", "second", "rest", "third", "options"} <= described(documented.__doc__)
    assert "fourth" not in described(documented.__doc__)


def test_what_is_left_out_is_named():
    assert missing(half) == ["second", "third"]


@pytest.mark.parametrize("nothing", ["", "A function."])
def test_no_docstring_describes_nothing(nothing):
    assert described(nothing) == set()


def shown():
    """A function.

    Example:
        >>> shown()
    """


@pytest.mark.parametrize(("value", "has"), [(shown, True), (half, False), (lambda: None, False)])
def test_an_example_is_a_session_in_the_docstring(value, has):
    assert has_example(value) is has


@pytest.mark.parametrize(
    ("name", "value", "counts"),
    [
        ("sum", shown, True),
        ("_private", shown, False),
        ("sum_", shown, False),
        ("alone_", shown, True),
        ("Oops", type("Oops", (ValueError,), {}), False),
        ("three", 3, False),
    ],
)
def test_functions_and_classes_of_this_repository_count(name, value, counts, monkeypatch):
    monkeypatch.setattr(value, "__module__", "tl_core", raising=False) if callable(value) else None
    assert wants_example(name, value, {"sum", "sum_", "alone_"}) is counts


def test_the_pages_for_users_are_those_of_the_reference():
    assert {"tl", "tl.nn", "tl.optim.lr_scheduler"} <= user_modules()
