"""Which arguments a docstring describes."""

import pytest

from tools.docstrings import described, missing


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
