"""Errors of tracing, under the names of the reference."""

from __future__ import annotations

from tl_compiler.symbolic.errors import UserError, UserErrorType

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "ResetRequired",
    "RestartAnalysis",
    "SkipFrame",
    "SpeculationRestartAnalysis",
    "TensorifyScalarRestartAnalysis",
    "TorchDynamoException",
    "Unsupported",
    "UserError",
    "UserErrorType",
]


class TorchDynamoException(RuntimeError):
    """A program could not be traced."""


class InternalTorchDynamoError(TorchDynamoException):
    """The tracer itself failed."""


class Unsupported(TorchDynamoException):
    """A program does what can't be traced."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """A function has as many graphs as it may have, and would need another."""


class BackendCompilerFailed(TorchDynamoException):
    """A compiler failed."""


class RestartAnalysis(TorchDynamoException):
    """A trace begins again, as it has learned something."""


class TensorifyScalarRestartAnalysis(RestartAnalysis):
    """A trace begins again with numbers as tensors."""


class SpeculationRestartAnalysis(RestartAnalysis):
    """A trace begins again and leaves out what could not be traced."""


class SkipFrame(TorchDynamoException):
    """A function runs as it is."""


class ResetRequired(TorchDynamoException):
    """`reset` must be called first."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""
