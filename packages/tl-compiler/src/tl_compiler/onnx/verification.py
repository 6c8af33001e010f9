"""Comparison of an ONNX model with the program that it was exported from."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import tl_core
from tl_core.pytree import tree_leaves

__all__ = ["VerificationInfo", "verify_onnx_program"]

_BINS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e6)


@dataclasses.dataclass(frozen=True)
class VerificationInfo:
    """The difference of one value between the program and the ONNX model.

    Args:
        name: the name of the value.
        max_abs_diff: the largest absolute difference.
        max_rel_diff: the largest difference relative to the expected value.
        abs_diff_hist: the histogram of absolute differences: counts, and the edges of the bins.
        rel_diff_hist: the same of relative differences.
        expected_dtype: the element type in the program.
        actual_dtype: the element type in the model.

    Example:
        >>> info = VerificationInfo.from_tensors("y", tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 2.5]))
        >>> info.max_abs_diff, info.max_rel_diff
        (0.5, 0.25)
    """

    name: str
    max_abs_diff: float
    max_rel_diff: float
    abs_diff_hist: tuple[Any, Any]
    rel_diff_hist: tuple[Any, Any]
    expected_dtype: Any
    actual_dtype: Any

    @classmethod
    def from_tensors(cls, name: str, expected: Any, actual: Any) -> VerificationInfo:
        """Compares two tensors or numbers.

        Args:
            name: the name of the value.
            expected: the value in the program.
            actual: the value in the model.

        Returns:
            The comparison. Values of different shapes differ by infinity.
        """
        expected, actual = _tensor(expected), _tensor(actual)
        absolute, relative = _differences(expected, actual)
        return cls(
            name,
            absolute.max().item() if absolute.numel() else 0.0,
            relative.max().item() if relative.numel() else 0.0,
            _histogram(absolute),
            _histogram(relative),
            expected.dtype,
            actual.dtype,
        )

    def asdict(self) -> dict[str, Any]:
        """The fields as numbers, lists and texts, which JSON accepts.

        Returns:
            The fields by name.
        """
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ("abs_diff_hist", "rel_diff_hist"):
            fields[name] = [part.tolist() for part in fields[name]]
        return {**fields, "expected_dtype": str(self.expected_dtype), "actual_dtype": str(self.actual_dtype)}

    def is_close(self, rtol: float = 1e-3, atol: float = 1e-4) -> bool:
        """Whether the difference is small, absolutely or relatively.

        Args:
            rtol: the bound of the relative difference.
            atol: the bound of the absolute difference.
        """
        return self.max_abs_diff <= atol or self.max_rel_diff <= rtol


def _tensor(value: Any) -> Any:
    value = value if isinstance(value, tl_core.Tensor) else tl_core.tensor(value)
    return tl_core.view_as_real(value.detach()) if value.dtype.is_complex else value.detach()


def _differences(expected: Any, actual: Any) -> tuple[Any, Any]:
    if expected.shape != actual.shape:
        worst = tl_core.tensor([math.inf], dtype=tl_core.float64)
        return worst, worst
    wide, other = expected.to(tl_core.float64).flatten(), actual.to(tl_core.float64).flatten()
    same = (wide == other) | (wide.isnan() & other.isnan())
    absolute = tl_core.where(same, 0.0, (wide - other).abs()).nan_to_num(math.inf, math.inf)
    relative = tl_core.where(same, 0.0, absolute / wide.abs()).nan_to_num(math.inf, math.inf)
    return absolute, relative


def _histogram(differences: Any) -> tuple[Any, Any]:
    edges = tl_core.tensor(_BINS)
    positions = tl_core.bucketize(differences.to(tl_core.float32), edges, right=True) - 1
    counts = tl_core.bincount(positions.clamp(0, len(_BINS) - 2), minlength=len(_BINS) - 1)
    return counts.to(tl_core.float32), edges


def verify_onnx_program(
    onnx_program: Any,
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    compare_intermediates: bool = False,
) -> list[VerificationInfo]:
    """Runs an ONNX model and its program on the same inputs, and compares the results.

    Args:
        onnx_program: the result of an export.
        args: the inputs. By default those of the export.
        kwargs: those by keyword.
        compare_intermediates: whether the values of all nodes that have the name of a node are compared too.

    Returns:
        A comparison for each output, and for each node in between.

    Raises:
        ValueError: there is no program or there are no inputs.
        MissingLibraryError: onnxruntime isn't installed.
    """
    program = onnx_program.exported_program
    if program is None:
        raise ValueError("verify_onnx_program(): onnx_program has no exported_program to compare with")
    if args is None and kwargs is None:
        if program.example_inputs is None:
            raise ValueError(
                "verify_onnx_program(): args must be given, because the program has no example inputs"
            )
        args, kwargs = program.example_inputs
    args, kwargs = tuple(args or ()), dict(kwargs or {})
    module = program.module()
    with tl_core.no_grad():
        expected = [value for value in tree_leaves(module(*args, **kwargs)) if value is not None]
    names = [value.name for value in onnx_program.model.graph.outputs]
    actual = onnx_program(*args, **kwargs)
    infos = [VerificationInfo.from_tensors(n, e, a) for n, e, a in zip(names, expected, actual, strict=True)]
    if compare_intermediates:
        infos += _intermediates(onnx_program, module, args, kwargs, set(names))
    return infos


def _intermediates(
    onnx_program: Any, module: Any, args: Any, kwargs: Any, outputs: set[str]
) -> list[VerificationInfo]:
    from ..fx.interpreter import Interpreter

    class Recorded(Interpreter):
        """Stores the tensor of each node."""

        def __init__(self, module: Any) -> None:
            super().__init__(module)
            self.tensors: dict[str, Any] = {}

        def run_node(self, n: Any) -> Any:
            """Runs a node.

            Args:
                n: the node.
            """
            result = super().run_node(n)
            if isinstance(result, tl_core.Tensor):
                self.tensors[n.name] = result
            return result

    recorded = Recorded(module)
    with tl_core.no_grad():
        recorded.run(*tree_leaves((args, kwargs)))
    values = {v.name for node in onnx_program.model.graph for v in node.outputs}
    names = [n for n in recorded.tensors if n in values and n not in outputs]
    actual = onnx_program.compute_values(names, args, kwargs)
    return [
        VerificationInfo.from_tensors(n, recorded.tensors[n], a) for n, a in zip(names, actual, strict=True)
    ]
