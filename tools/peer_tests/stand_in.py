"""Modules that stand in for `torch.testing._internal` and `functorch`, for the CPU, written from the public API.

A name that the stand-in lacks is a `Blank`: false, empty, a decorator that changes nothing. A test that needs more of
it fails, which the run under a sanitizer does not count.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import itertools
import tempfile
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from tools.peer_tests import device_tests, sparse_samples
from tools.peer_tests.test_case import TestCase

INTERNAL = "torch.testing._internal"
# Decorators of tests that run on other devices, are made from tables of operators, or take gigabytes or minutes.
DROPPED = frozenset(
    [
        *("ops", "modules", "optims", "reduction_ops_only", "onlyCUDA", "onlyAccelerator", "onlyMPS"),
        *("deviceCountAtLeast", "slowTest", "largeTensorTest", "skipIfNoDill"),
    ]
)


class Blank:
    """What a name of PyTorch's test helpers is that the stand-in lacks."""

    def __bool__(self) -> bool:
        return False

    def __call__(self, *args: Any, **options: Any) -> Any:
        is_decorated = (
            len(args) == 1 and not options and (inspect.isfunction(args[0]) or inspect.isclass(args[0]))
        )
        return args[0] if is_decorated else self

    def __enter__(self) -> Blank:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __getattr__(self, name: str) -> Blank:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Blank:
        return self

    def __contains__(self, key: Any) -> bool:
        return False

    def __mro_entries__(self, bases: Any) -> tuple[()]:
        return ()

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__


class MemoryTestCase(TestCase):
    """Asks for the class of an error; its words are not the question here."""

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        """Compares texts; the text stands in the test."""
        super().assertEqual(actual, expect)

    def assertRaisesRegex(  # type: ignore[override]  # typeshed has two overloads
        self, error: Any, text: Any, *args: Any, **options: Any
    ) -> Any:
        """Asks for the error."""
        return super().assertRaises(error, *args, **options)

    @contextlib.contextmanager
    def assertRaisesOp(self, error: Any, *_: Any, **__: Any) -> Iterator[None]:
        """Asks for the error."""
        with super().assertRaises(error):
            yield

    def assertNotWarn(self, function: Callable[[], Any], msg: str = "") -> None:
        """Runs a function."""
        function()

    def compare_with_numpy(self, function: Any, reference: Any, value: Any, device: Any = None,
                           dtype: Any = None, **options: Any) -> None:  # fmt: skip
        """Compares a function with NumPy's."""
        import torch

        tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value, device=device, dtype=dtype)
        array = tensor.detach().float().numpy() if tensor.dtype == torch.bfloat16 else tensor.detach().numpy()
        self.assertEqual(torch.as_tensor(reference(array)), function(tensor), exact_dtype=False)

    def safeToDense(self, tensor: Any) -> Any:
        """A tensor of any layout as a strided one."""
        return tensor if str(tensor.layout) == "torch.strided" else tensor.to_dense()


class ModuleTestCase(MemoryTestCase):
    """What tests of layers ask for."""

    def _forward(self, module: Any, *inputs: Any) -> Any:
        return module(*inputs)


class TableTest:
    """A test of a layer that PyTorch's helpers make of a table; here it only has a name of its own."""

    test_cpu = False
    test_cuda = with_tf32 = None
    _names = itertools.count()

    def __init__(self, *_: Any, **__: Any) -> None:
        self._name = f"test_of_a_table_{next(self._names)}"

    def get_name(self) -> str:
        """The name."""
        return self._name


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves the stand-in under every name below `torch.testing._internal`, and `torch.func` as `functorch`."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A module of the stand-in."""
        is_internal = name == INTERNAL or name.startswith(f"{INTERNAL}.")
        if is_internal or name.partition(".")[0] == "functorch":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The usual module."""
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Fills a module with what the stand-in has."""
        if module.__name__.startswith("functorch"):
            transforms = importlib.import_module("torch.func")
            module.__dict__.update({n: v for n, v in vars(transforms).items() if not n.startswith("_")})
        else:
            module.__dict__.update(_names())
        module.__dict__["__getattr__"] = _missing


def _missing(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return device_tests.drop if name in DROPPED else Blank()


@functools.cache
def _names() -> dict[str, Any]:
    import torch

    return {
        "TestCase": MemoryTestCase,
        "JitTestCase": MemoryTestCase,
        "NestedTensorTestCase": MemoryTestCase,
        "NewModuleTest": TableTest,
        "CriterionTest": TableTest,
        "NNTestCase": ModuleTestCase,
        "TEST_NUMPY": True,
        "TEST_SCIPY": importlib.util.find_spec("scipy") is not None,
        "IS_LINUX": True,
        "SEED": 1234,
        "GRADCHECK_NONDET_TOL": 0.0,
        "parametrize": device_tests.parametrize,
        "coalescedonoff": device_tests.parametrize("coalesced", (True, False)),
        "is_coalesced_indices": sparse_samples.is_sorted,
        "subtest": device_tests.Subtest,
        "dtypes": device_tests.dtypes,
        "dtypesIfCPU": device_tests.dtypes_of_cpu,
        "instantiate_parametrized_tests": device_tests.instantiate_parametrized_tests,
        "instantiate_device_type_tests": device_tests.instantiate_device_type_tests,
        "onlyOn": lambda device: _unchanged if "cpu" in device else device_tests.drop,
        "make_tensor": torch.testing.make_tensor,
        "gradcheck": torch.autograd.gradcheck,
        "gradgradcheck": torch.autograd.gradgradcheck,
        "run_tests": lambda *_, **__: None,
        "freeze_rng_state": torch.random.fork_rng,
        "set_default_dtype": _default_dtype,
        "TemporaryFileName": _file_name,
        "TemporaryDirectoryName": tempfile.TemporaryDirectory,
        "noncontiguous_like": _noncontiguous_like,
        "find_library_location": _no_library,
        **_dtype_lists(torch),
        **_matrices(torch),
        **_numpy_dtypes(torch),
    }


def _unchanged(test: Any) -> Any:
    return test


def _no_library(name: str) -> str:
    raise unittest.SkipTest(f"{name} is a library of PyTorch's own tests")


@contextlib.contextmanager
def _default_dtype(dtype: Any) -> Iterator[None]:
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def _file_name(*_: Any, **__: Any) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"{folder}/file"


def _noncontiguous_like(tensor: Any) -> Any:
    import torch

    if tensor.numel() < 2 or not tensor.is_contiguous():
        return tensor.clone()
    return torch.repeat_interleave(tensor.detach().unsqueeze(-1), 2, -1)[..., 0].requires_grad_(
        tensor.requires_grad
    )


def _dtype_lists(torch: Any) -> dict[str, Callable[..., Any]]:
    integers = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    floats, complexes = (torch.float32, torch.float64), (torch.complex64, torch.complex128)
    families = {
        "integral_types": integers,
        "floating_types": floats,
        "complex_types": complexes,
        "floating_and_complex_types": floats + complexes,
        "all_types": floats + integers,
        "all_types_and_complex": floats + integers + complexes,
        "double_types": (torch.float64, torch.complex128),
    }
    lists: dict[str, Callable[..., Any]] = {}
    for name, members in families.items():
        lists[name] = lambda members=members: members
        lists[f"{name}_and"] = lambda *more, members=members: members + more
    every = (*floats, *integers, *complexes, torch.half, torch.bfloat16, torch.bool)
    lists["get_all_dtypes"] = lambda *_, **__: list(every)
    lists["get_all_math_dtypes"] = lambda _: list(floats + integers + complexes)
    return lists


def _numpy_dtypes(torch: Any) -> dict[str, Any]:
    import numpy

    names = ["bool", "uint8", "int8", "int16", "int32", "int64"]
    names += ["float16", "float32", "float64", "complex64", "complex128"]
    pairs = [(getattr(torch, name), numpy.dtype(name).type) for name in names]
    return {
        "numpy_to_torch_dtype_dict": {array: tensor for tensor, array in pairs},
        "torch_to_numpy_dtype_dict": {**dict(pairs), torch.bfloat16: numpy.float32},
    }


def _matrices(torch: Any) -> dict[str, Callable[..., Any]]:
    def square(size: int, *batch: int, dtype: Any = torch.double, device: str = "cpu") -> Any:
        return torch.randn(*batch, size, size, dtype=dtype, device=device)

    def positive(size: int, *batch: int, dtype: Any = torch.double, device: str = "cpu") -> Any:
        half = square(size, *batch, dtype=dtype, device=device)
        return half @ half.mT.conj() + torch.eye(size, dtype=dtype)

    def symmetric(size: int, *batch: int, dtype: Any = torch.double, device: str = "cpu") -> Any:
        half = square(size, *batch, dtype=dtype, device=device)
        return (half + half.mT.conj()) / 2

    def full_rank(
        *shape: int, dtype: Any = torch.double, device: str = "cpu", requires_grad: bool = False
    ) -> Any:
        left, _, right = torch.linalg.svd(torch.randn(*shape, dtype=dtype), full_matrices=False)
        values = torch.arange(2, min(shape[-2:]) + 2, dtype=left.real.dtype).to(dtype)
        return ((left * values) @ right).requires_grad_(requires_grad)

    def low_rank(rank: int, rows: int, columns: int, *batch: int, dtype: Any = torch.double,
                 device: str = "cpu") -> Any:  # fmt: skip
        return torch.randn(*batch, rows, rank, dtype=dtype) @ torch.randn(*batch, rank, columns, dtype=dtype)

    return {
        "random_symmetric_matrix": symmetric,
        "random_hermitian_matrix": symmetric,
        "random_symmetric_pd_matrix": positive,
        "random_symmetric_psd_matrix": positive,
        "random_hermitian_pd_matrix": positive,
        "random_hermitian_psd_matrix": positive,
        "random_well_conditioned_matrix": full_rank,
        "make_fullrank_matrices_with_distinct_singular_values": full_rank,
        "random_lowrank_matrix": low_rank,
    }
