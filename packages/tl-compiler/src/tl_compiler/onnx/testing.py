"""Assertions about exported models."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.testing
from tl_core.pytree import tree_leaves

__all__ = ["assert_onnx_program"]

_EXPORT = ("TorchExportNonStrictStrategy", "TorchExportStrictStrategy", "TorchExportStrategy")


def assert_onnx_program(
    program: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    strategy: str | None = "TorchExportNonStrictStrategy",
    backend: str = "onnxruntime",
) -> None:
    """Asserts that an ONNX model computes what its program computes.

    Args:
        program: the result of an export.
        rtol: the relative tolerance, by default that of `testing.assert_close`.
        atol: the absolute tolerance.
        args: the inputs, by default those of the export.
        kwargs: the inputs by keyword.
        strategy: the strategy that captured the model, by PyTorch's names. One that begins with `TorchExport` means
            `export`; None means any.
        backend: "onnxruntime" or "reference", the evaluator of the package onnx.

    Raises:
        AssertionError: outputs differ, or another strategy captured the model.
        ValueError: there is no such backend.
        MissingLibraryError: the backend isn't installed.
    """
    if backend not in ("onnxruntime", "reference"):
        raise ValueError(
            f"assert_onnx_program(): backend must be 'onnxruntime' or 'reference', got {backend!r}"
        )
    if strategy in _EXPORT and program._strategy == "trace":
        raise AssertionError(
            f"assert_onnx_program(): the model was captured by {program._strategy}, not {strategy}"
        )
    exported = program.exported_program
    if args is None and kwargs is None:
        args, kwargs = exported.example_inputs
    args, kwargs = tuple(args or ()), dict(kwargs or {})
    with tl_core.no_grad():
        expected = [value for value in tree_leaves(exported.module()(*args, **kwargs)) if value is not None]
    actual = (program if backend == "onnxruntime" else program.call_reference)(*args, **kwargs)
    assert len(expected) == len(actual), f"the program has {len(expected)} outputs, the model {len(actual)}"
    for target, result in zip(expected, actual, strict=True):
        tensor = target if isinstance(target, tl_core.Tensor) else tl_core.tensor(target, dtype=result.dtype)
        tensor = tl_core.view_as_real(tensor) if tensor.dtype.is_complex else tensor
        tl_core.testing.assert_close(result, tensor.detach(), rtol=rtol, atol=atol, equal_nan=True)
