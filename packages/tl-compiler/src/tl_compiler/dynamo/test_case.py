"""The test case of the reference's own tests."""

from __future__ import annotations

import unittest
from typing import Any

import tl_core
from tl_core.pytree import tree_leaves

__all__ = ["TestCase"]


class TestCase(unittest.TestCase):
    """A test case that compares tensors, and containers of them, by their elements."""

    def assertEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # type: ignore[override]
        """Raises unless two values are equal.

        Args:
            x, y: the values.
            msg: what is told.
            options: `rtol`, `atol` and others of `assert_close`.
        """
        if not any(isinstance(leaf, tl_core.Tensor) for leaf in tree_leaves((x, y))):
            super().assertEqual(x, y, msg)
            return
        from tl_core.testing import assert_close

        kept = {k: v for k, v in options.items() if k in ("rtol", "atol", "equal_nan", "check_dtype")}
        assert_close(x, y, **kept)

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        """Raises unless two texts are equal.

        Args:
            actual, expect: the texts.
            skip: accepted.
        """
        self.assertMultiLineEqual(expect, actual)
