"""What tests of tensor programs need: comparison within tolerances, and tensors of random numbers.

>>> import tl_core as tl
>>> assert_close(tl.tensor([1.0, 2.0]).exp().log(), tl.tensor([1.0, 2.0]))
"""

from __future__ import annotations

import unittest.mock  # test files of PyTorch programs use it without importing it

from .comparison import assert_allclose, assert_close
from .creation import make_tensor
from .file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
