"""The test case of PyTorch's own tests."""

from __future__ import annotations

import contextlib
import unittest
from typing import Any

import tl_core
from tl_compiler.compiler.annotations import reset
from tl_compiler.compiler.counters import counters
from tl_core.testing import assert_close

__all__ = ["TestCase"]


class TestCase(unittest.TestCase):
    """A test case that compares tensors, and containers of them, by their elements.

    Each test begins without graphs. `_exit_stack` has the regions of the class.
    """

    _exit_stack: contextlib.ExitStack

    @classmethod
    def setUpClass(cls) -> None:
        """Enters the regions of the class."""
        super().setUpClass()
        cls._exit_stack = contextlib.ExitStack()

    @classmethod
    def tearDownClass(cls) -> None:
        """Leaves the regions of the class."""
        cls._exit_stack.close()
        super().tearDownClass()

    def setUp(self) -> None:
        """Forgets all graphs and counts."""
        super().setUp()
        reset()
        counters.clear()

    def assertEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # type: ignore[override]
        """Raises unless two values are equal.

        Args:
            x, y: the values.
            msg: what is told.
            options: `rtol`, `atol` and others of `assert_close`.
        """
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            super().assertEqual(len(x), len(y), msg)
            for a, b in zip(x, y, strict=True):
                self.assertEqual(a, b, msg, **options)
        elif isinstance(x, dict) and isinstance(y, dict):
            super().assertEqual(x.keys(), y.keys(), msg)
            for key in x:
                self.assertEqual(x[key], y[key], msg, **options)
        elif type(x).__module__ == "numpy" or type(y).__module__ == "numpy":
            self.assertEqual(tl_core.as_tensor(x), tl_core.as_tensor(y), msg, **options)
        elif isinstance(x, tl_core.Tensor) and isinstance(y, (bool, int, float, complex)):
            self.assertEqual(x, tl_core.full_like(x, y), msg, **options)
        elif isinstance(y, tl_core.Tensor) and isinstance(x, (bool, int, float, complex)):
            self.assertEqual(tl_core.full_like(y, x), y, msg, **options)
        elif isinstance(x, tl_core.Tensor) or isinstance(y, tl_core.Tensor):
            tolerances = {
                k: v for k, v in options.items() if k in ("rtol", "atol", "equal_nan", "check_dtype")
            }
            assert_close(x, y, **tolerances)
        else:
            super().assertEqual(x, y, msg)

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        """Raises unless two texts are equal.

        Args:
            actual, expect: the texts.
            skip: accepted.
        """
        self.assertMultiLineEqual(str(expect), str(actual))
