"""The names by which programs write ONNX files, a format that tl doesn't write yet.

Programs import them at their top and use few of them: a model asks whether it is being exported, and `export` is called
at the end, when it is asked for. So the question is answered, functions that write operators are kept, and `export` is
refused.
"""

from typing import Any, NoReturn

from tl_backends.compat.onnx.symbolic_registry import (
    register_custom_op_symbolic,
    unregister_custom_op_symbolic,
)

__all__ = [
    "OnnxExporterError",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


class OnnxExporterError(RuntimeError):
    """A model can't be written as ONNX."""


def is_in_onnx_export() -> bool:
    """Whether a model is being written as ONNX: False.

    Example:
        >>> is_in_onnx_export()
        False
    """
    return False


def export(model: Any, args: tuple[Any, ...] = (), f: Any = None, **options: Any) -> NoReturn:
    """Would write a model as an ONNX file.

    Args:
        model, args, f, options: as in PyTorch.

    Raises:
        OnnxExporterError: always.
    """
    raise OnnxExporterError(
        "tl.onnx.export: ONNX files are not written yet; tl.save(model.state_dict(), path) saves a model"
    )
