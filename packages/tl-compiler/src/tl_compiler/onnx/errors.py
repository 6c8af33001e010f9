"""Errors and warnings of the ONNX exporter."""

from __future__ import annotations

from typing import Any

__all__ = [
    "MissingLibraryError",
    "OnnxExporterError",
    "OnnxExporterWarning",
    "SymbolicValueError",
    "UnsupportedOperatorError",
]


class OnnxExporterWarning(UserWarning):
    """A warning of the ONNX exporter."""


class OnnxExporterError(RuntimeError):
    """A model can't be exported to ONNX."""


class MissingLibraryError(OnnxExporterError, ImportError):
    """A library that the exporter needs is not installed."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operator has no function in ONNX's operators.

    Args:
        name: the name of the operator, `namespace::name`.
        version: the operator set of the model.
        supported_version: the first operator set that has the operator, or None.

    Example:
        >>> print(UnsupportedOperatorError("mine::op", 18, None))
        mine::op has no translation to ONNX's operators (operator set 18)
    """

    def __init__(self, name: str, version: int, supported_version: int | None = None) -> None:
        text = f"{name} has no translation to ONNX's operators (operator set {version})"
        if supported_version is not None:
            text += f", but has one from operator set {supported_version} on"
        super().__init__(text)


class SymbolicValueError(OnnxExporterError):
    """A symbolic function can't use a value.

    Args:
        msg: the reason.
        value: the value.

    Example:
        >>> print(SymbolicValueError("expected a constant", "x"))
        expected a constant (value: x)
    """

    def __init__(self, msg: str, value: Any) -> None:
        super().__init__(f"{msg} (value: {value})")
