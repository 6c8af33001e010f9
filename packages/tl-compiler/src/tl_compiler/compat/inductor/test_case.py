"""The test case of PyTorch's own tests of its code generator."""

from __future__ import annotations

from ..dynamo.test_case import TestCase

__all__ = ["TestCase"]
