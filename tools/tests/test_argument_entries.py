"""Entries of docstrings that name no parameter."""

import ast

from tools.argument_entries import entries, stale

SOURCE = '''
def fit(sizes, *more):
    """The fit.

    Args:
        sizes (tuple of int): The sizes: of all.
        known: The values.
        *more: Others.
    """

class Grid:
    """A grid.

    Args:
        rows, columns: The sizes.
    """
    columns: int

    def __init__(self, rows): pass

class Child(Grid):
    """A grid with its own constructor elsewhere.

    Args:
        layout: A name.
    """

def options(**settings):
    """Options.

    Args:
        eps: A number.
    """
'''


def test_entry_without_a_parameter():
    assert list(stale(ast.parse(SOURCE))) == [(2, "fit", "known")]


def test_names_of_entries():
    doc = "A sum.\n\nArgs:\n    x, y (Tensor, shape (N,)): Of all.\n        More: here.\n    z\n\nReturns:\n    w: A."
    assert list(entries(doc)) == ["x", "y", "z"]
