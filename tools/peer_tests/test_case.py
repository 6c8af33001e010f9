"""A test case that compares tensors as PyTorch's does: by value with the tolerances of their dtype."""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence
from typing import Any

from tools.peer_tests.sparse_samples import SparseSamples, coordinate_tensor


class TestCase(SparseSamples, unittest.TestCase):
    """Compares tensors by `torch.testing.assert_close`, containers element by element."""

    __test__ = False  # a file that imports the name has no tests by that
    device_type = "cpu"
    precision = 0.0
    rel_tol = 0.0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__test__ = True

    def setUp(self) -> None:
        """Every test begins with the same random numbers."""
        import torch

        torch.manual_seed(1234)
        super().setUp()

    def assertEqual(self, first: Any, second: Any, msg: Any = None, **options: Any) -> None:
        """Compares values, with the tolerances of their dtype; containers element by element."""
        import torch

        if isinstance(first, torch.Tensor) or isinstance(second, torch.Tensor):
            self._tensors(first, second, msg, options)
        elif isinstance(first, Mapping) and isinstance(second, Mapping):
            self.assertEqual(list(first), list(second), msg)
            for key in first:
                self.assertEqual(first[key], second[key], msg, **options)
        elif _is_sequence(first) and _is_sequence(second):
            super().assertEqual(len(first), len(second), msg)
            for one, other in zip(first, second, strict=True):
                self.assertEqual(one, other, msg, **options)
        elif isinstance(first, float | complex) or isinstance(second, float | complex):
            tolerances = {name: options[name] for name in ("atol", "rtol") if name in options}
            torch.testing.assert_close(first, second, check_dtype=False, equal_nan=True, **tolerances)
        else:
            super().assertEqual(first, second, msg)

    def _tensors(self, first: Any, second: Any, msg: Any, options: dict[str, Any]) -> None:
        import torch

        if not isinstance(first, torch.Tensor):
            first = _as_tensor_like(second, first)
        elif not isinstance(second, torch.Tensor):
            second = _as_tensor_like(first, second)
        tolerances = {name: options[name] for name in ("atol", "rtol") if options.get(name) is not None}
        tolerances |= dict.fromkeys({"atol", "rtol"} - set(tolerances), 0.0) if len(tolerances) == 1 else {}
        text = msg if isinstance(msg, str) else None
        same_dtype = options.get("exact_dtype", True)
        torch.testing.assert_close(
            first, second, check_dtype=same_dtype, equal_nan=True, msg=text, **tolerances
        )

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None, **options: Any) -> None:
        """Raises unless values differ."""
        try:
            self.assertEqual(first, second, **options)
        except AssertionError:
            return
        raise self.failureException(msg or f"{first!r} == {second!r}")

    def assertEqualIgnoreType(self, first: Any, second: Any, **options: Any) -> None:
        """Compares values of any dtype."""
        self.assertEqual(first, second, **{**options, "exact_dtype": False})

    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Any:
        """A context in which a warning is given."""
        return self.assertWarnsRegex(category, regex)

    def genSparseTensor(
        self,
        size: Any,
        sparse_dim: int,
        nnz: int,
        is_uncoalesced: bool,
        device: Any = "cpu",
        dtype: Any = None,
    ) -> Any:
        """A random tensor of coordinates, its indices and its values."""
        import torch

        kind = torch.float64 if dtype is None else dtype
        return coordinate_tensor(size, sparse_dim, nnz, is_uncoalesced, device, kind)

    def assertGreaterAlmostEqual(self, first: float, second: float, **digits: Any) -> None:
        """Raises unless a number is larger than another, or as large."""
        if first < second:
            self.assertAlmostEqual(first, second, **digits)


def _as_tensor_like(tensor: Any, value: Any) -> Any:
    """A value as a tensor of the dtype of another one. A number has the shape of a tensor of one element."""
    import torch

    result = torch.as_tensor(value, dtype=tensor.dtype)
    return result.reshape(tensor.shape) if result.dim() == 0 and tensor.numel() == 1 else result


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
