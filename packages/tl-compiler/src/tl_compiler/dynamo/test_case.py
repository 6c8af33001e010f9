"""The test case of the reference's own tests."""

from __future__ import annotations

import unittest

__all__ = ["TestCase"]


class TestCase(unittest.TestCase):
    """A test case."""
