"""The modules below `torch.testing._internal` that tests of quantization import: PyTorch's own, or the stand-in's.

PyTorch's helpers of quantization are in its wheel and run as they are. The modules on which they rest, such as
`common_utils`, are those of `tools.peer_tests.stand_in`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

from tools.peer_quantization.exported_case import exported_case
from tools.peer_tests import stand_in
from tools.peer_tests.test_case import TestCase

OF_THE_WHEEL = frozenset(
    [
        *("common_quantization", "common_quantized", "common_pruning", "hypothesis_utils"),
        "quantization_torch_package_models",
    ]
)


class QuantizationTestCase(TestCase):
    """Compares tensors, and prepares a test as PyTorch's class does."""

    def setUp(self) -> None:
        """Every test begins with the same random numbers."""
        set_rng_seed()
        super().setUp()

    def assertEqual(self, first: Any, second: Any, msg: Any = None, **options: Any) -> None:
        """Compares values; arrays of NumPy element by element."""
        import numpy

        if isinstance(first, numpy.ndarray) and isinstance(second, numpy.ndarray):
            numpy.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-8, err_msg=str(msg or ""))
        else:
            super().assertEqual(first, second, msg, **options)

    def assertEqualBroadcasting(self, first: Any, second: Any, **options: Any) -> None:
        """Compares a tensor with a number, or with numbers for its last dimension."""
        import torch

        numbers = (
            second if isinstance(second, torch.Tensor) else torch.ones_like(first) * torch.tensor(second)
        )
        self.assertEqual(first, numbers, **options)

    def assertObjectIn(self, obj: Any, iterable: Any) -> None:
        """Whether an object is among others."""
        self.assertTrue(any(obj is item for item in iterable))

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        """Compares texts."""
        self.assertEqual(actual, expect)


class Finder(stand_in.Finder):
    """Finds the helpers of the wheel before those of the stand-in."""

    def __init__(self, wheel: Path):
        self._wheel = wheel

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A module of the wheel or of the stand-in."""
        parent, _, last = name.rpartition(".")
        if parent == stand_in.INTERNAL and last in OF_THE_WHEEL:
            return importlib.util.spec_from_file_location(name, self._wheel / f"{last}.py")
        return super().find_spec(name, path, target)

    def exec_module(self, module: Any) -> None:
        """Fills a module; its test cases compare the texts of errors."""
        super().exec_module(module)
        if not module.__name__.startswith("functorch"):
            module.__dict__.update(
                TestCase=QuantizationTestCase,
                JitTestCase=QuantizationTestCase,
                set_rng_seed=set_rng_seed,
            )


def set_rng_seed(seed: int = 1234) -> None:
    """Seeds the generators of random numbers.

    Args:
        seed: the seed.
    """
    import numpy
    import torch

    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def install(wheel: str) -> None:
    """Makes tl the module `torch`, and the helpers importable.

    Args:
        wheel: the folder `torch/testing/_internal` of PyTorch's wheel.
    """
    import tl.torch

    sys.meta_path.insert(0, Finder(Path(wheel)))
    tl.torch.install()
    helpers: Any = importlib.import_module(f"{stand_in.INTERNAL}.common_quantized")
    helpers.override_cpu_allocator_for_qnnpack = lambda _: contextlib.nullcontext()  # there is one allocator
    dynamo: Any = importlib.import_module("torch._dynamo")
    dynamo.is_inductor_supported = lambda: True  # the tests of its quantizer compile no code
    cases: Any = importlib.import_module(f"{stand_in.INTERNAL}.common_quantization")
    if not hasattr(cases, "PT2EQuantizationTestCase"):
        cases.PT2EQuantizationTestCase = exported_case(cases)
