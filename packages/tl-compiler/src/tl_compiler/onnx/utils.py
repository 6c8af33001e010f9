"""Functions of the exporter by the names of PyTorch's former exporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .exporting import export
from .model_mode import select_model_mode_for_export
from .state import is_in_onnx_export
from .symbolic_registry import register_custom_op_symbolic, unregister_custom_op_symbolic

__all__ = [
    "export",
    "exporter_context",
    "is_in_onnx_export",
    "model_signature",
    "register_custom_op_symbolic",
    "select_model_mode_for_export",
    "unconvertible_ops",
    "unregister_custom_op_symbolic",
]


def model_signature(model: Any) -> Any:
    """The signature of a model's `forward`, or of a function.

    Args:
        model: the model.

    Example:
        >>> import tl_nn
        >>> str(model_signature(tl_nn.ReLU()).replace(return_annotation=0)).startswith("(input")
        True
    """
    import inspect

    return inspect.signature(model.forward if hasattr(model, "forward") else model)


@contextmanager
def exporter_context(model: Any, mode: Any, verbose: bool) -> Iterator[None]:
    """The mode of a model and the state of the thread during an export.

    Args:
        model: the model.
        mode: the mode, a `TrainingMode`.
        verbose: accepted.

    Example:
        >>> import tl_nn
        >>> from tl_compiler.onnx import TrainingMode
        >>> with exporter_context(tl_nn.ReLU(), TrainingMode.EVAL, False):
        ...     is_in_onnx_export()
        True
    """
    from .state import exporting

    with select_model_mode_for_export(model, mode), exporting():
        yield


def unconvertible_ops(model: Any, args: Any, training: Any = None, opset_version: int | None = None) -> Any:
    """The operators of a model that have no translation to ONNX.

    Args:
        model: the model.
        args: the example inputs.
        training: the mode of the model, a `TrainingMode`.
        opset_version: the operator set.

    Returns:
        The program of the model, and the names of the operators.

    Raises:
        MissingLibraryError: the extra `onnx` isn't installed.
    """
    from .capture import Attempt, as_module, capture
    from .exporting import DEFAULT_OPSET
    from .lowering.function_table import FunctionTable, names_of_node
    from .lowering.model import prepared_program
    from .options import TrainingMode

    table = FunctionTable(opset_version or DEFAULT_OPSET)
    attempts: list[Attempt] = []
    args = args if isinstance(args, tuple) else (args,)
    with select_model_mode_for_export(model, TrainingMode.EVAL if training is None else training):
        program = prepared_program(capture(as_module(model), args, {}, None, attempts), table)
    nodes: Iterable[Any] = (n for n in program.graph.nodes if n.op == "call_function")
    return program, sorted({names_of_node(n)[-1] for n in nodes if table.of_node(n) is None})
